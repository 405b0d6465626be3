"""Lists the English words and phrases used to split and compare statements.

Data only; alignment.py and clauses.py explain their use. Tested in tests/verify/test_check.py.
"""

from __future__ import annotations

import re

from treemem.patterns import lazy_regex
from treemem.text.counting import DAYS

CLAUSE_END = lazy_regex(
    r"(?<=[,;:])\s+|(?<=[()–—])\s*|\s*(?:\{[^{}]{0,40}\}|\.\.\.|…)\s*|\s+[-–—]\s+"
    r"|\s+(?=(?:and|but|so|because|although|while|which|since|until|unless|before|after|then)\b)",
    re.IGNORECASE,
)
NEGATION = lazy_regex(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t|hardly"
    r"|stop(?:s|ped)? \w+ing|no longer|instead of"
    r"|rather than|fail(?:s|ed)? to|refus(?:e|es|ed) to)\b",
    re.IGNORECASE,
)
DOUBTFUL = (
    r"might|can|(?-i:may)|maybe|perhaps|probably|possibly|could|would|should|will|shall"
    r"|\w+['’](?:ll|d)|want(?:s|ed)?|wish(?:es|ed)?|hop(?:e|es|ed|ing)|plan(?:s|ned|ning)?"
    r"|intend(?:s|ed)?|try|tries|tried|trying|need(?:s|ed)?|going to|gonna|wanna|about to"
    r"|consider(?:s|ed|ing)?|think(?:s|ing)? (?:of|about)|almost|nearly|supposed to|suppose"
    r"|suggest(?:s|ed)?|ask(?:s|ed)?|look(?:s|ing)? forward|can you|could you|let['’]?s|must"
    r"|ha(?:s|ve|d) to|yet|todo|still|promis(?:e|es|ed)|forg[eo]ts?|doubts?|dream(?:s|ed|t)?"
    r"|imagin\w*|claim(?:s|ed)?|thought|believed?|offer\w* to|false|pretend\w*"
    r"|(?:say|write|answer) that"
)
DOUBT = lazy_regex(rf"\b(?:{DOUBTFUL})\b", re.IGNORECASE)
AFTER = lazy_regex(
    r"\b(?:want\w*|need\w*|plan\w*|hop(?:e|es|ed|ing)|wish\w*|try|tries|trying|tried|like to"
    r"|love to|can you|could you|please|let['’]?s|going to|looking (?:to|for)|would|should"
    r"|how about|must|ha(?:s|ve) to)\b",
    re.IGNORECASE,
)
# Matched in the whole sentence, since a condition applies to all of it.
CONDITION = lazy_regex(
    r"\b(?:if|unless|in case|as long as|as soon as|provided|whenever"
    r"|once (?:the|we|i|you|he|she|it|they))\b|^\W*when\b",
    re.IGNORECASE,
)
ASKING = lazy_regex(r"\b(?:ask|wonder|question|whether|if|unclear)\w*\b", re.IGNORECASE)
REQUEST = lazy_regex(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
REPORT = lazy_regex(
    r"\b(?:says?|said|writes?|wrote|thinks?|believes?|claims?|told (?:me|us)) that\b", re.IGNORECASE
)
ASKS = lazy_regex(r"\bask(?:s|ed)\b", re.IGNORECASE)
LIMITING = frozenset("few half only rarely seldom sometimes".split())
AMOUNTS = frozenset(
    "all every each only both most few some many half always sometimes often rarely usually "
    "everyone nobody everything first last more less".split()
)
OPPOSITES = tuple(
    (frozenset(left.split()), frozenset(right.split()))
    for left, right in (
        ("enable enabled enables enabling on", "disable disabled disables disabling off"),
        ("before earlier", "after later"),
        ("more above increase increased increases up higher larger rise rose",
         "less below decrease decreased decreases down lower smaller fall fell"),
        ("true", "false"), ("accept accepted accepts approved", "reject rejected rejects refused"),
        ("start started starts begin began", "stop stopped stops end ended"),
        ("open opened opens", "close closed closes"), ("add added adds", "remove removed removes"),
        ("success succeeded succeeds passed passes", "failure failed fails"),
        ("allow allowed allows", "forbid forbidden forbids deny denied denies"),
        ("always", "never"), ("old older", "new newer"), ("left", "right"),
        ("buy bought buys", "sell sold sells"), ("love loves loved like likes", "hate hates hated"),
        ("won wins win", "lost loses lose"), ("minimum least", "maximum most"),
        ("first", "last"), ("to into", "from"), ("with", "without"),
        ("inside", "outside"), ("push pushed", "pull pulled"),
    )
)  # fmt: skip
# By word, the words of its own side and those of the opposite side.
OPPOSED: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
for _pair in OPPOSITES:
    for _own, _other in (_pair, _pair[::-1]):
        for _word in _own:
            OPPOSED.setdefault(_word, []).append((_own, _other))
PRONOUNS = {
    "i": "i", "i'm": "i", "i've": "i", "i'll": "i", "i'd": "i", "me": "i", "we": "i",
    "we're": "i", "we've": "i", "we'll": "i", "us": "i", "let's": "i", "you": "you",
    "you're": "you",
    "you've": "you", "your": "you", "yours": "you",
    "he": "he", "she": "he", "they": "he", "it": "it", "he's": "he",
    "she's": "he", "they're": "he", "it's": "it", "them": "it", "that": "it", "that's": "it",
    "this": "it", "which": "it", "there": "it", "there's": "it", "these": "it", "those": "it",
}  # fmt: skip
SUBORDINATE = frozenset(
    "because while when since until unless before after although if which that who".split()
)
OPENING = SUBORDINATE | frozenset("and but so".split())
THEIRS = frozenset("his her their hers theirs".split())
FINITE = lazy_regex(
    r"\b(?:is|are|was|were|am|has|have|had|do|does|did|will|would|can|could|should|may|might|must"
    r"|goes|\w{3,}ed|\w+n['’]t|\w+['’](?:s|re|ve|ll|m|d))\b",
    re.IGNORECASE,
)
LINKS = frozenset("and but so or while because then".split())
JOINTS = frozenset("but because while when since until unless before after although".split())
DETERMINERS = frozenset("the a an there this that these those his her their its it no".split())
INVERTED = frozenset(
    "should shall do does did is are am was were can could will would have has what why how who "
    "when where which may might".split()
)
LEADING = frozenset(
    "and so also just finally then been already yeah yes well oh btw anyway actually really "
    "thanks today yesterday".split()
)
SELF = lazy_regex(
    r"\b(?:i|i['’]\w+|my|me|mine|we|we['’]\w+|our|us|you|you['’]\w+|your)\b", re.IGNORECASE
)
QUOTED = lazy_regex(r'"[^"]*"|“[^”]*”')
BETWEEN = lazy_regex(r'[:"“”\[]|[.!?]\s')
OWN = frozenset("my our mine ours".split())
TIMES = frozenset(
    "yesterday today tomorrow tonight week weekend month year morning evening night ago last next "
    "now recently".split()
).union(DAYS)
