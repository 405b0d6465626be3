"""Decides from the words of a question what kind of answer it asks for.

Pure: rules over English phrases, no model. A question that no rule matches is narrow: it asks for
something that was said once.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from treemem.patterns import lazy_regex
from treemem.text import bm25
from treemem.types import StatementKind

QuestionKind = Literal["narrow", "about", "order", "decisions", "open", "rules"]

_RULES: tuple[tuple[QuestionKind, str], ...] = (
    ("rules", r"""
        \bmust\ (?:never|not|always)|\bnever\ (?:be\ done|do)\b
        |\b(?:what|which)\ (?:are\ )?(?:the\ |our\ |my\ )?(?:hard\ |standing\ )?
        (?:rules|constraints|limits|requirements|instructions)\b
        |\bnot\ allowed\b|\bforbidden\b|\boff[ -]limits\b"""),
    ("open", r"""
        \b(?:still|remains?|left|yet)\ (?:open|unfinished|unanswered|unresolved|undecided
            |to\ (?:do|be))\b
        |(?<!\bto\ )(?<!\bdid\ i\ )(?<!\bdid\ we\ )\bopen\ (?:points?|questions?|items?|issues?
            |ends|loops?)\b
        |\bloose\ ends\b|\bto-?dos?\b
        |\bunfinished\b(?=\W*\Z|\ (?:tasks?|work|business|things?|items?|points?|parts?)\b)
        |\b(?:what|which\ \w+|anything|something)(?:\ (?:is|are)|'s)?\ (?:still\ |yet\ )?
        (?:pending|outstanding|missing|left)\b
        |\bwhat(?:\ (?:is|are)|'s)\ (?:the\ |our\ |my\ )?next\ steps?\b
        |\bwhat(?:\ (?:is|are)|'s|\ do\ (?:we|i)\ have)\ (?:there\ )?(?:left\ )?to\ do\b"""),
    ("decisions", r"""
        \b(?:what|which)\b.{0,40}\b(?:we|i|they|team)\b.{0,15}\b(?:decided?|agreed?|settled?)\b
        |\b(?:what|which)\b.{0,40}\b(?:decide[ds]?|agree[ds]?|settle[ds]?)\b(?!\ to\b)
        |\b(?:what|which)\ (?:(?:is|was|were|are)\ )?(?:the\ |our\ |my\ )?decisions?\b
        |\bdecisions?\ (?:we|were|was|have|did|made|about|on|so\ far)\b
        |\b(?:the|our|all|any)\ decisions\b"""),
    ("order", r"""
        \bin\ (?:the\ |what\ |which\ )?(?:chronological\ )?(?:order|sequence)\b(?!\ to\b)
        |\b(?:the|chronological)\ (?:order|sequence)\ (?:in\ which|of\ (?:events|things)|they
            |we|i)\b
        |\btime\ ?line\b|\bchronolog|\bstep\ by\ step\ how\ (?:we|i)\b
        |\bone\ after\ the\ other\b
        |\b(?:what|anything)\ (?:has\ |have\ |had\ |all\ |else\ )*happened\b(?!\ (?:to|with)\b)
        |\bwhat\ (?:did|have|had)\ (?:we|i|they)\ (?:do|done)\b
            (?!\ (?:to|with|about|for|if|when|at)\b)
        |\bthe\ history\ of\ (?:this|that|it|the|our|my)\b
        |\b(?:progress(?:ed)?|develop(?:ed)?|evolve[ds]?|change[ds]?)\b.{0,60}
        \b(?:over\ time|throughout|across|in\ order|through\ our)\b"""),
    ("about", r"""
        \bsummari[sz](?:e|ing)\b
        |\b(?:an?|the|any|short|brief|quick|full|clear|detailed|\w+ive|thorough)
        \ (?:summary|overview|recap|gist)\b(?!\ (?:page|file|table|say|said|mention|contain)\w*)
        |\A\W*(?:summary|overview|recap|gist)\b|\bin\ short\b|\brecap\ (?:of|the|what|our)\b
        |\bwhat\ (?:is|was|are|were)\ (?:this|that|it|these|the\ (?:project|session|conversation
        |discussion|meeting|chat))\b.{0,20}\babout\b
        |\b(?:tell|remind)\ me\ (?:about|what)\ (?:the|this|our|my)\ (?:project|session|work)\b
        |\bwhat\ (?:have|did)\ (?:we|i|they)\ (?:discuss|talk|cover|work)
        |\beverything\ (?:about|we|i)\b
        |\bmain\ (?:points|topics|ideas|takeaways)\b|\bbring\ me\ up\ to\ (?:speed|date)\b"""),
)  # fmt: skip
_COMPILED = tuple(
    (kind, lazy_regex(pattern, re.IGNORECASE | re.VERBOSE)) for kind, pattern in _RULES
)
_SENTENCE = lazy_regex(r"[^.?!\n]+")
# Questions for a person, a place, a time, a number or a reason are narrow, whatever else they
# contain.
_NARROW = lazy_regex(
    r"""\A\W*(?:(?:so|and|but|also|ok|okay|please|hey|(?:can|could|would)\ you|tell\ me|remind\ me
        |do\ you\ (?:know|remember))[,:\ ]+)*
    (?:who|whom|whose|why|how\ (?:many|much|long|often|old|far|big|late|early)
    |(?:at\ |on\ |in\ |by\ )?(?:what|which)\ (?:time|day|date|year|month|number|file|person|place)
    |(?:when|where)\ (?:did|does|do|was|were|is|are|will|has|have|had|can|could|should|would)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A question for several things: "which books …", "how many …", "where has Ana been".
_LIST = lazy_regex(
    r"""\bhow\ many\b(?!\ (?:second|minute|hour|day|week|month|year)s)|\blist\b
    |\b(?:all|each|every)\ (?:of\ )?(?:the|my|our|his|her|their)\b
    |\b(?:what|which)\ (?:(?:are|were)\ (?:the|some|all)\ |(?:kind|type|sort)s?\ of\ |\w+\ ){0,2}
        (?!(?:does|was|has|this|his|its|always|besides|perhaps|towards|less|across)\b)
        \w{2,}[^\Wsuia]s\b
    |\b(?:what|where|who|whom|which\ \w+)\ (?:all\ )?(?:has|have)\ """,
    re.IGNORECASE | re.VERBOSE,
)
# A question for advice asks for nothing that was said here and there.
_ADVICE = lazy_regex(r"\b(?:would\ you|should\ (?:i|we))\b", re.IGNORECASE | re.VERBOSE)
# Characters of a question that are read.
QUESTION_CHARS_MAX = 2_000
# The kinds of statements that answer a kind of question by themselves, in order of preference.
STATEMENTS_FIRST: dict[QuestionKind, tuple[StatementKind, ...]] = {
    "decisions": ("decision",), "open": ("open",), "rules": ("constraint",),
    "about": ("gist", "decision", "constraint"),
}  # fmt: skip
# What is said where there is no such statement, though a search has found something.
NONE_FOUND: dict[QuestionKind, str] = {
    "decisions": "No decision that holds was found, only what comes nearest.",
    "open": "No open point was found, only what comes nearest.",
    "rules": "No rule that holds was found, only what comes nearest.",
}
# Words of questions for a summary; any other words of the question name its subject.
FORMS = frozenset(
    "give get provide please short brief quick full clear detailed thorough comprehensive complete "
    "summary summaries summarize summarise overview recap gist main points topics ideas takeaways "
    "tell remind bring speed date everything all project session conversation conversations "
    "discussion discussions meeting chat work memory history far discuss discussed talk talked "
    "cover covered just let us am now again today here".split()
)

# Words of them that say what is wanted, and nothing of what it is about.
_ASKING = (
    "summary summaries summarize summarise overview recap gist comprehensive thorough detailed"
)

# Words of other broad questions.
_BROAD_FORMS = frozenset(
    "decide decided decision decisions agree agreed settle settled made make still open unfinished "
    "unanswered unresolved undecided pending outstanding missing left yet remain remains point "
    "questions items issues loose ends todo todos next step steps done rule rules constraint "
    "constraints limits requirements instructions standing hard must never always allowed "
    "forbidden order sequence chronological timeline happen happened change changed events things "
    "hold holds there exist one after another".split()
)


def kind_of(question: str) -> QuestionKind:
    """The kind of answer that a question asks for.

    Example:
        >>> kind_of("what did we decide about the cache?"), kind_of("who wrote the parser?")
        ('decisions', 'narrow')
    """
    sentences = _SENTENCE.findall(question[:QUESTION_CHARS_MAX])
    broad = [sentence for sentence in sentences if not _NARROW.match(sentence)]
    for kind, pattern in _COMPILED:
        if any(pattern.search(sentence) for sentence in broad):
            return kind
    return "narrow"


def asks_for_list(question: str) -> bool:
    """Whether a question asks for several things, which were probably said here and there.

    Example:
        >>> asks_for_list("which books did Ana read?"), asks_for_list("what does Ana read?")
        (True, False)
    """
    asked = question[:QUESTION_CHARS_MAX]
    return bool(_LIST.search(asked)) and not _ADVICE.search(asked)


@cache
def asking() -> frozenset[str]:
    """The stems of words that only ask for a summary."""
    return frozenset(bm25.content_stems(_ASKING))


def subject_of(question: str, *, kind: QuestionKind) -> frozenset[str]:
    """The stems of what a broad question names besides what it asks for; empty if nothing.

    Example:
        >>> sorted(subject_of("what did we decide about the cache?", kind="decisions"))
        ['cach']
    """
    forms = FORMS if kind == "about" else FORMS | _BROAD_FORMS
    return frozenset(bm25.content_stems(question)).difference(
        bm25.content_stems(" ".join(sorted(forms)))
    )
