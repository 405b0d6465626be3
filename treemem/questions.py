"""What kind of answer a question wants, told from its words alone.

Pure rules over English phrases, no model. What no rule knows is narrow: something said once.
"""

from __future__ import annotations

import re
from typing import Literal

from treemem.model import StatementKind

QuestionKind = Literal["narrow", "about", "order", "decisions", "open", "rules"]

_RULES: tuple[tuple[QuestionKind, str], ...] = (
    ("rules", r"""
        must\ (?:never|not|always)|never\ (?:be\ done|do)|(?:what|which)\ (?:are\ )?(?:the\ )?
        (?:hard\ |standing\ )?(?:rules|constraints|limits|requirements|instructions)
        |not\ allowed|forbidden|off[ -]limits"""),
    ("open", r"""
        (?:still|remains?|left|yet)\ (?:open|unfinished|unanswered|unresolved|undecided
            |to\ (?:do|be))
        |open\ (?:points?|questions?|items?|issues?|ends|loops?)|loose\ ends|unfinished
        |to[ -]?dos?\b
        |(?:what|which|anything)\b.{0,40}\b(?:pending|outstanding|missing|left)\b
        |what\ (?:is|are)\ (?:the\ )?next\ steps?"""),
    ("decisions", r"""
        (?:what|which)\b.{0,40}\b(?:decide[ds]?|decisions?|agree[ds]?(?:\ (?:on|to))?
            |settle[ds]?)\b
        |decisions?\ (?:we|were|was|have|did|made|about|on|so\ far)
        |(?:the|our|all|any)\ decisions"""),
    ("order", r"""
        (?:in|the)\ (?:what\ |which\ )?(?:chronological\ )?(?:order|sequence)\b(?!\ to\b)
        |time ?line|chronolog|step\ by\ step\ how\ (?:we|i)|one\ after\ the\ other
        |(?:what|anything)\ (?:has\ |have\ |had\ )?happened|what\ did\ (?:we|i|they)\ do\b
        |history\ of
        |(?:progress(?:ed)?|develop(?:ed)?|evolve[ds]?|change[ds]?)\b.{0,60}
        \b(?:over\ time|throughout|across|in\ order|through\ our)"""),
    ("about", r"""
        \bsummar(?:y|ies|i[sz]e|i[sz]ing)\b|\boverview\b|\brecap\b|\bgist\b|\bin\ short\b
        |what\ (?:is|was|are|were)\ (?:this|that|it|these|the\ (?:project|session|conversation
        |discussion|meeting|chat))\b.{0,20}\babout
        |(?:tell|remind)\ me\ (?:about|what)\ (?:the|this|our|my)\ (?:project|session|work)
        |what\ (?:have|did)\ (?:we|i|they)\ (?:discuss|talk|cover|work)|everything\ (?:about|we|i)
        |main\ (?:points|topics|ideas|takeaways)|bring\ me\ up\ to\ (?:speed|date)"""),
)  # fmt: skip
_COMPILED = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.VERBOSE)) for kind, pattern in _RULES
)
QUESTION_CHARS_MAX = 2_000
STATEMENTS_FIRST: dict[QuestionKind, StatementKind] = {
    "decisions": "decision", "open": "open", "rules": "constraint",
}  # fmt: skip
"""The kind of statement that answers such a question by itself."""


def kind_of(question: str) -> QuestionKind:
    """The kind of a question.

    Example:
        >>> kind_of("what did we decide about the cache?"), kind_of("who wrote the parser?")
        ('decisions', 'narrow')
    """
    start = question[:QUESTION_CHARS_MAX]
    return next((kind for kind, pattern in _COMPILED if pattern.search(start)), "narrow")
