"""Recognizes open points: something is still to be done or answered by somebody.

Pure. What a user is not sure about and asks an assistant is answered in the next turn; a step of
an explanation is nobody's task; what says of itself that it is done is done. Sentences have plain
apostrophes here.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

from treemem.patterns import folded_regex
from treemem.summarize.kinds.phrases import ASKED, FLAGS, Phrases, Sentence
from treemem.summarize.kinds.place import Place

_QUESTION = r"""(?:questions?|issues?|points?|matters?|tickets?|tasks?|decisions?|choices?|problems?
    |bugs?|requests?|prs?|items?|topics?|discussions?|threads?|defects?|votes?|actions?)"""
_LEFT_OPEN = (
    r"(?:is|are|was|remains?|stays?|left|still)\ (?:(?:still|left)\ )?open\b"
    r"(?!\ (?:at|from|until|on|late|early|to|now|all|every|for\ (?:business|visitors))\b)"
)
# Said of a thing or a question, in any voice.
_STATED = Phrases(
    ("todo fixme tbd", r"""(?-i:\b(?:TODO|FIXME|TBD)\b)(?!\ (?:list|part|app|comment|item)s?\b)
        (?=.*\w)|^\W*todo:\ \w"""),
    ("open later next action do", r"""^\W*(?:open|to\ do|for\ later|next\ steps?(?:\ for\ \w+)?
        |action\ items?)\b[^.:]{0,40}:\ \S"""),
    ("open", rf"""\bopen\ (?:question|point|item|issue)s?\b|^\W*open\ as\ well\b
        |\bas\ (?:still\ )?open\b
        |\b{_QUESTION}\b(?:\ (?!and\b|but\b|because\b)[\w'-]+){{0,6}}?\ {_LEFT_OPEN}
        |\b(?:this|that|it|which|everything|all|rest|one|two|three|\d+)(?:\ of\ (?:them|these
            |those))?\ {_LEFT_OPEN}
        |\b{ASKED}\b[^.?;]{{3,120}}\ (?:is|are|remains?|stays?)\ (?:(?:still|left)\ )?open\b
            (?![^.]*\?)
        |\b(?:left|leave|leaves)\ open\b|\bopen,?\ (?:as\ to\ )?{ASKED}\b"""),
    ("unresolved undecided unclear unanswered unfinished pending outstanding air investigation "
     "confirmed decided done settled clarified", r"""(?:'s|\b(?:is|are|was|remains?|stays?|left))
        \ (?:still\ )?(?:unresolved|undecided|unclear|unanswered|unfinished|pending
        |outstanding(?!\ \w)|up\ in\ the\ air|under\ investigation|to\ be\ (?:decided|confirmed
        |done|settled|clarified))\b"""),
    ("still", r"""\bstill\ (?:missing|unclear|undecided|unresolved|pending|outstanding|to\ do\b
        |to\ be\ |waiting)"""),
    ("waiting blocked awaiting", r"""\b(?:waiting\ (?:for|on)|blocked\ (?:on|by)|awaiting|waiting
        \ to\ be)\ (?!the\ (?:api|response|promise|results?)\b)\w"""),
    ("answer reply word news response", r"""\bno\ (?:answer|reply|word|news|response)\b(?=.*\b(?:yet
        |so\ far|from|on)\b)|^\W*no\ (?:word|news|reply|answer)\b"""),
    ("heard answered replied decided said told got gotten get",
     r"""\b(?:have|has)(?:n't|\ not)\ (?:heard|answered|replied|decided|said|told\ us
        |got(?:ten)?\ (?:a)?round)\b|\b(?:did|do)(?:n't|\ not)\ get\ (?:a)?round\ to\b"""),
    ("ran queue owe over off scheduled unaddressed", r"""\bran\ out\ of\ time\b|\bin\ the\ queue\b
        |\b(?:i|we)\ (?:still\ )?owe\b|\bthink\ it\ over\b|\bholding\ off\b|\bscheduled\ but\b
        |\bunaddressed\b"""),
    ("back forget left follow postponed postpone agree",
     r"""(?:'ll|\b(?:will|to|please))\ get\ back\ to\ (?:me|us|you\ (?:on|about|with|when|by))\b
        |\b(?:let's|let\ us
        |do)\ not\ forget\ to\b
        |\bwhat(?:'s|\ is)\ left\b|\bleft\ to\ do\b|\bto\ follow\b(?=[.!]|$)
        |\bpostponed?\ (?:until|till|to)\b|\bcould(?:n't|\ not)\ agree\b(?!\ more)"""),
)  # fmt: skip
_NOT = r"(?:n't|\ not)"
# A task that is left, in the voice of a user or of an assistant at work.
_LEFT_TO_DO = Phrases(
    ("i'll", r"""\bi'll\ (?:then\ |just\ )?(?:mail|email|ask|call|write\ to|check\ with|talk\ to)
        \ (?-i:[A-Z])\w+\b"""),
    ("still", r"""\bstill\ (?:(?:needs?|has|have|had|must|should)\ to\b
        |needs?\ (?:\w+'s\b|an?\b|the\b|some\b))"""),
    ("yet far", rf"""\b(?:is|are|was|were|do|does|did|have|has|had|can|could|we've|i've){_NOT}\b
        [^.!?]{{0,60}}\b(?:yet|so\ far)\b|\bnot\ yet\ [a-z]+|\bso\ far\ (?:no|nobody
        |nothing)\b|\bnobody\ (?:has|have)\ [^.]{{2,60}}\ (?:yet|so\ far)\b"""),
    ("yet", r"\byet\ to\ (?!be\ seen\b)[a-z]+"),
    ("remains", r"\bremains\ to\ be\b"),
    ("someone somebody one", r"""\b(?:someone|somebody|one\ of\ us)\ (?:still\ )?(?:has\ to
        |needs\ to
        |should|must)\b"""),
    ("need needs", rf"""\bneeds?\ to\ (?:decide|ask|confirm|find\ out|figure\ out|clarify
        |follow\ up)\b|\bneed\ to\ (?:check|see|talk\ about)\ {ASKED}\b"""),
    ("remind forget forgetting", r"""^\W*(?:please\ )?remind\ me\ (?!of|how|that|why|what)
        |\bremind\ me\ (?:to|about|on|tomorrow|next)\b|\bkeeps?\ forgetting\b
        |^\W*(?:please\ )?(?:don't|do\ not)\ forget\ (?:to|the|about)\b"""),
    ("stuck", r"""\buntil\ [^,.]{3,60},?\ (?:we|i)(?:\ are|'re|\ am|'m)\ stuck
        |\b(?:we|i)(?:'re|'m|\ are|\ am)\ stuck\ (?:on|until|because|without)"""),
    ("can't cannot couldn't", rf"""\b(?:can't|cannot|couldn't)\ (?:figure\ out|find\ out|tell)
        \ {ASKED}"""),
)  # fmt: skip
_UNSURE = Phrases(
    ("know", r"""\b(?:don't|do\ not)\ know\ (?:yet\b|(?:whether|if|why)\b)
        |\b(?:don't|do\ not)\ yet\ know\b"""),
    ("sure", r"\bnot\ (?:yet\ )?sure\ (?:yet\b|(?:whether|if)\b)"),
    ("decided", rf"\bnot\ decided\ (?:yet\ )?{ASKED}\b"),
)  # fmt: skip
# What people await, owe or have to decide, not what they have never tried.
_AWAITED = Phrases(
    ("yet", rf"""\b(?:have|has|had|we've|is|are){_NOT}\ (?:yet\ )?(?:decided|heard|answered|replied
        |received|gotten|got|confirmed|finished|sent|fixed|finali[sz]ed|settled|signed|paid|booked
        |approved|arrived|ordered|chosen|picked|agreed|started|written|set|told|submitted|resolved
        |shipped|scheduled|ready|sure|clear)\b[^.!?]{{0,60}}\byet\b
        |\b(?:don't|do\ not)\ know\ (?:yet\ )?(?:which|what|who|when|where|how|whether|if)\b
            [^.!?]{{3,60}}\byet\b
        |\bnot\ sure\ yet\ (?:which|what|who|when|where|how|whether|if)\b"""),
    ("still", r"""(?<!\byou)\ still\ (?:needs?|have|has)\ to\ (?!(?:do|go|see|learn|be
        |keep)\b)[a-z]+\ (?!for
        \b)\w+"""),
    ("i'll", r"""\bi'll\ (?:then\ |just\ )?(?:send|email|forward|draft|prepare|write|ask|book|order
        |submit|schedule|bring|call)\ (?!(?:you|it)\W|of\b|around\b)\w+\ \w+"""),
    ("task step assignment job", r"""\b(?:(?:next|first|remaining)\ (?:task|step)|assignment|job)
        \ (?:for\ [^.,;]{2,30}\ )?is\ (?:to\ [a-z]+|for\ \w+\ to)\b"""),
    ("need needs", r"""(?<!\byou)\ needs?\ to\ (?:decide|find\ out|figure\ out|ask|confirm
        |clarify|follow\ up
        |discuss|sort\ out|talk\ to)\b"""),
)  # fmt: skip
# Ways of speaking with the same words.
_NO_TASK = folded_regex(
    r"""\bhow\ (?:much|many|far|long|hard)\b[^.]{0,40}\bstill\ (?:have|need)\b|\bif\ you\b
    |\bwhat\ are\ you\ waiting\b|\bcan't\ wait\b|\bworth\ the\ wait|\bwhile\ (?:we\ |i\ |you\ )?wait
    |\bremind(?:s|ed|ing|er)?\ (?:me|us|you|him|her|them)\ (?:of|how|that|why|what)\b
    |\bif\ (?:anything|something|it)\ is\ unclear\b|\bopen[ -](?:source|mind|air|door)
    |\bbeen\ waiting\ for\ (?:this|that|it)\b|\bwaiting\ for\ (?:you\ to|it\ all)\b
        |\bwhat\ you\ still\b
    |\bask\ (?:one|a|you|another)\ |\bask\ you\b|\bnot\ yet\ (?:time|another)|^\W*(?:but\ |and
        \ |please\ )?(?:don't|do\ not)\ (?!forget)
    |^\W*(?:since|because|as|although|while)\b[^,]*\byet,|\bthat\ aren't\b[^.]*\byet\ and\b""",
    FLAGS,
)
# What says of something that it is over, and what takes that back.
_OVER = folded_regex(
    r"""(?:'s|\b(?:is|are|was|now|been|got))\ (?:(?:now|all|finally)\ )?(?:done|closed|resolved
        |settled|answered|clear|fixed|solved|obsolete|off\ the\ list)\b
    |\b(?:closes?|resolves?|settles?|answers?|closed|resolved|settled|answered|solves?|solved)
        \ (?:that|the|this|our|my|both|all|one|two)\b
    |\bno\ longer\ (?:open|pending|blocked|waiting|an\ open)|\bnothing\ (?:is\ )?(?:left|open)
    |\bno\ (?:more\ )?open\ (?:question|point|item|issue|task)s?\b""",
    FLAGS,
)
_NOT_OVER = folded_regex(r"n't\b|\b(?:not|until|once|before|whether|if|when|remains?|but)\b", FLAGS)
# What a question leaves open until it is answered.
_IN_QUESTION = folded_regex(r"\b(?:still|left|missing|undecided|pending|remind)\b", FLAGS)
# What somebody is not sure of who wants to hear whether it is right.
_OWN_WAY = folded_regex(
    r"""\b(?:if|whether)\ (?:this|that|it|i|i'm|i've|i'd|there(?:'s)?|my|the\ (?:issue|problem)|they
    |these|those)\b""",
    FLAGS,
)
# How an assistant advises the user.
_REMINDER = folded_regex(r"^\W*(?:and\ |also,?\ |please\ )?(?:don't|do\ not)\ forget\b", FLAGS)
_DUE = folded_regex(r"\bstill\ (?:need|needs|have|has)\ to\b", FLAGS)
_YET = frozenset(("yet", "still", "far"))


def is_open(said: Sentence, place: Place) -> bool:
    """Whether a sentence leaves something to be done or answered.

    Example:
        >>> words = "we still need to ask lea about the key".split()
        >>> is_open(Sentence.of("We still need to ask Lea about the key.", words), Place("person"))
        True
        >>> words = "these moments remind me of home".split()
        >>> is_open(Sentence.of("These moments remind me of home.", words), Place("person"))
        False
    """
    if place.is_advice and place.turn.setting == "assisted":
        return False
    if place.voice == "assistant" and _REMINDER.match(said.low):
        return False
    if not _is_left(said, place):
        return False
    return not (_NO_TASK.search(said.low) or is_over(said.low))


def is_due(said: Sentence, place: Place) -> bool:
    """Whether a task is still to be done; this comes before any rule in the sentence."""
    return _DUE.search(said.low) is not None and is_open(said, place)


def _is_left(said: Sentence, place: Place) -> bool:
    if place.voice == "user" and said.text.endswith("?") and not _IN_QUESTION.search(said.low):
        return False
    if _STATED.find(said):
        return True
    if place.voice == "person":
        return _AWAITED.find(said) is not None
    if _LEFT_TO_DO.find(said):
        return True
    if not _UNSURE.find(said):
        return False
    # An assistant that is asked answers in the next turn, unless nobody can know it yet.
    is_asking = place.voice == "user" and (place.turn.asks or bool(_OWN_WAY.search(said.low)))
    return not is_asking or not _YET.isdisjoint(said.words)


def is_over(low: str) -> bool:
    """Whether a sentence, folded, says of what it names that it is done.

    Example:
        >>> is_over("that closes the question of the two labels.")
        True
        >>> is_over("the question of the labels is not settled.")
        False
    """
    return _OVER.search(low) is not None and not _NOT_OVER.search(low)
