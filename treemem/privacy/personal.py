"""Tells whether a user speaks of themselves, so that other agents need not know it. Pure.

Knows English wordings, and addresses, numbers of phones, cards and accounts in any language.

Tested in tests/privacy/test_personal.py.
"""

from __future__ import annotations

import re

from treemem.patterns import lazy_regex
from treemem.privacy import redactor

# Characters at both ends of a message that are read: what a user types of themselves is not in the
# middle of a long text.
CHARS_READ = 4_000

_SELF = lazy_regex(
    r"""\b(?:
    my\ (?:(?:own|late|new|old|older|younger|eldest|little|big|dear|ex-?|first|last|home|private
        |personal|middle|maiden|full|real)[ ]?){0,2}
      (?:name|nickname|birthday|birth\ date|age|address|phone|number|e-?mail|wife|husband|partner
        |spouse|fianc[ée]e?|girlfriend|boyfriend|son|daughter|child(?:ren)?|kids?|baby|sister
        |brother|siblings?|mother|father|mom|mum|dad|parents|grandmother|grandfather|grandma|grandpa
        |grandparents|aunt|uncle|cousin|niece|nephew|family|friends?|dog|cat|pets?|house|flat
        |apartment|home|neighbou?rs?|doctor|dentist|therapist|boss|manager|job|salary|income|rent
        |mortgage|savings|taxes|pension|insurance|passport|health|diagnosis|illness|disease
        |allerg(?:y|ies)|medication|medicines?|pills|surgery|weight|height|religion|church|hobby
        |hobbies|wedding|divorce|pregnancy|hometown|nationality|mother\ tongue)
    |call\ me\ (?-i:[A-Z])\w*
    |i(?:'m|’m|\ am|\ was|'ve\ been|’ve\ been|\ have\ been)\ (?:\w+\ ){0,2}?
      (?:called|named|born|raised|from|allergic|intolerant|diabetic|asthmatic|pregnant|ill|sick
        |depressed|disabled|deaf|blind|dyslexic|autistic|vegan|vegetarian|married|divorced|single
        |engaged|widowed|retired|unemployed|gay|lesbian|bisexual|trans|christian|muslim|jewish
        |hindu|buddhist|atheist|years\ old|\d{1,3}(?:\ years)?(?=[.,;!]|$))
    |i(?:'m|’m|\ am|\ was)\ an?\ (?:\w+\ ){0,2}?
      (?:\w+(?:er|or|ist|ian|ant|man|woman)|nurse|student|chef|judge)
    |i\ (?:\w+ly\ |also\ |still\ |used\ to\ )?(?:live|lived|reside|grew\ up|moved\ (?:to|from)
        |work\ (?:as|at|for)|worked\ (?:as|at|for)|stud(?:y|ied)|suffer|suffered|earn|earned|weigh
        |speak|smoke|drink|vote|voted|pray|hate|love|adore|dislike|can't\ stand|cannot\ stand)
    |i(?:\ have|'ve\ got|’ve\ got|\ take)\ (?:an?\ |two\ |three\ |\d\ |my\ )?(?:\w+\ )?
      (?:wife|husband|partner|sons?|daughters?|child(?:ren)?|kids?|sisters?|brothers?|dogs?|cats?
        |allergy|allergies|diabetes|asthma|cancer|migraines?|depression|anxiety|adhd|insulin
        |medication|pills|appointment\ with\ (?:my|the)\ (?:doctor|dentist))
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)


def is_personal(text: str) -> bool:
    """Whether somebody tells something of themselves.

    Example:
        >>> is_personal("My sister Ida is ill."), is_personal("My build is broken.")
        (True, False)
        >>> is_personal("I'm allergic to nuts."), is_personal("I am sure that it works.")
        (True, False)
    """
    read = text if len(text) <= 2 * CHARS_READ else f"{text[:CHARS_READ]}\n{text[-CHARS_READ:]}"
    return _SELF.search(read) is not None or redactor.has_personal_data(read)
