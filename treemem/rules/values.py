"""Lists values of which only one can hold at a time, and words that say nothing about a subject.

Tested in tests/rules/test_succession.py.
"""

from __future__ import annotations

from treemem.verify.words import stems

# One line for each group of alternatives.
_GROUPS = """
english german french spanish italian portuguese dutch swedish danish norwegian finnish polish czech
 slovak slovenian croatian serbian hungarian romanian greek turkish russian ukrainian arabic hebrew
 hindi chinese mandarin japanese korean vietnamese thai latin irish welsh catalan basque esperanto
tabs spaces
metric imperial
celsius fahrenheit kelvin
british american
formal informal casual
short brief briefly concise terse / long detailed thorough verbose lengthy extensive
window aisle
dark light
camelcase snake_case pascalcase snake camel kebab pascal
npm yarn pnpm bun
pip uv poetry conda pipenv
merge rebase squash
markdown html latex rst
bash zsh fish
vim emacs nano
upper lower uppercase lowercase
ascending descending
euros dollars pounds francs yen
morning evening afternoon
single double
sie du
celsius fahrenheit
postgres mysql sqlite
"""
# Words of form, politeness and general use. What is left says what a rule is about.
_GENERIC = """
always never ever please use using used make makes making sure ensure keep keeping remember avoid
stop start begin want wants prefer prefers preferred preference like rather would should must shall
have need needs future now time every each whenever going forward default rule general instead
longer any more forget forgot said say told tell change changed mind again allow allowed fine okay
ok can may let do don't doing done thing things way one only just really also still new old earlier
previous stick switch try go put set give take get treat apply choose follow consider ask first
kindly feel free good permanently everywhere globally myself yourself anymore henceforth today
whatever whichever generally actually correction second thought thoughts instruction instructions
note reminder short-term style format formatting form indent indentation code work working write
writing everything anything nothing something else matter exception exceptions
""".replace("short-term ", "")  # fmt: skip
# All of these ask for answers.
_ANSWERING = """
answer answers reply replies respond response responses speak talk chat communicate conversation
conversations messages message explain explanations
"""

GENERIC: frozenset[str] = stems(_GENERIC)
ANSWERING: dict[str, str] = dict.fromkeys(stems(_ANSWERING), "answer")


def _alternatives() -> dict[str, str]:
    """The group of each stem, named by its first member. Words before and after a slash are two
    sides of a group, and words on one side mean the same."""
    group_of: dict[str, str] = {}
    for line in _GROUPS.replace("\n ", " ").strip().splitlines():
        name = line.split()[0]
        for word in line.split():
            for stem in stems(word):
                group_of.setdefault(stem, name)
    return group_of


ALTERNATIVES = _alternatives()
