"""Recognizes errors: a failure that happened, or its cause.

Pure. What could fail, what handles a failure and what prevents one is no error. Sentences have
plain apostrophes here.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

import re

from treemem.patterns import folded_regex, lazy_regex
from treemem.summarize.kinds.phrases import FLAGS, Phrases, Sentence
from treemem.summarize.kinds.place import Place

_ERROR = r"""(?:\w+(?:Error|Exception)|(?<!percent\ )(?<!%\ )(?<!word\ )errors?\b(?!\ (?:handling
        |codes?|boundar|rates?|states?
        |pages?
    |cases?|logs?|types?|messages?\b(?!\ (?:that|saying|[\"`']))))|exception|traceback|stack\ trace
    |exit\ code\ [1-9]\d*|(?:status\ |code\ |http\ |a\ )[45]\d\d)\b"""
# A failure that happened.
_HAPPENED = Phrases(
    ("failed crashed broke timed deadlocked panicked segfaulted bounced ran stopped hung",
     r"""(?<!\ba\ )(?<!\ban\ )(?<!\bthe\ )(?<!\bany\ )(?<!\beach\ )(?<!\bof\ )(?<!\bfor\ )
        (?<!\bmultiple\ )(?<!\ball\ )(?<!\band\ )(?<!\bor\ )(?<!\d\ )(?<!\bto\ )(?<!\bwith\ )
        \b(?:failed|crashed|broke(?:\ down)?|timed\ out|deadlocked|panicked|segfaulted|bounced
        |ran\ out\ of\ \w+|stopped\ working|hung)\b(?!\ (?:attempts?|requests?|logins?|my\ heart
        |up\b|the\ news|calls?|records?|ground|out\b))"""),
    ("broken corrupt corrupted down crashed failing crashing deadlocked",
     r"""(?:'s|\b(?:is|are|was|were))\ (?:(?:completely|totally|still|again)\ )?(?:broken
        |corrupt(?:ed)?|down\ again|crashed|failing|crashing|deadlocked)\b"""),
    ("fails fail crashes breaks dies hangs", r"""\b(?:fails|crashes|breaks|dies|hangs)\ (?:with
        |because|since|on|in|at|every|whenever|after|again)\b|\b(?:tests?|build|job|import|deploy
        |deployment|run|request|upload|check|ci|pipeline|query|migration)\ fails?\b"""),
    ("exit", r"\bexit\ (?:code|status)\ [1-9]\d*\b"),
    ("work working start starting compile compiling load loading connect connecting respond",
     r"""(?:n't|\bnot)\ (?:work(?:ing)?|start(?:ing)?|compil(?:e|ing)|load(?:ing)?|connect(?:ing)?
        |respond(?:ing)?)\b(?=.*\b(?:any\ ?more|since|because|still|at\ all)\b|\W*$)"""),
    ("lost dropped swallowed loss", r"""\bdata\ (?:was|were|got|is)\ lost\b|\bdata\ loss\b
        |\b(?:lost|dropped|swallowed)\ \d+"""),
)  # fmt: skip
# An error that somebody met. Between people the words are about anything: "the word error".
_MET = Phrases(
    ("raise raised raises threw throws got gets get getting hit hits hitting seeing saw gave gives "
     "returned returns report reports reported says with show shows showing died",
     rf"""\b(?:raise[sd]?|threw|throws|got|gets?|getting|hits?|hitting|seeing|saw|gave|gives
        |returned
        |returns|reports?|reported|says|with\ (?:an?|the|this|these)|shows?|showing
        |died\ with)\b[^.?]{{0,60}}\b{_ERROR}"""),
    ("failure failures crash error errors bug", r"""\bthere(?:'s|\ (?:is|was|were|are))\ (?:an?|\d+
        |two|three|some)\ (?:\w+\ ){0,3}(?:failures?|crash|errors?|bug)\b"""),
)  # fmt: skip
# The cause of one.
_CAUSE = Phrases(
    ("cause caused", r"""\broot\ cause\b(?=.*\b(?:is|was|were|of)\b)|\bthe\ (?:real
        \ |actual\ )?cause
        \ (?:is|was)\b|\b(?:was|were|is|are)\ (?:probably\ |likely\ )?caused\ by\b"""),
    ("because due since", r"""\b(?:failed|fails|crashed|broke|failure|crash|error|bug|outage)\b
        [^.?]{0,60}\b(?:because|due\ to|since)\b"""),
    ("bug regression race deadlock leak", r"""\b(?:the|an?|this|that)\ (?:bug|regression|race
        |deadlock|leak)\ (?:is|was|came|comes|sits|lies|in)\b"""),
    ("turned turns", r"""\bturn(?:ed|s)\ out\b.*\b(?:bug|broken|wrong|corrupt|stale|missing
        |error)\b"""),
)  # fmt: skip
# An error with a name, explained.
_EXPLAINED = lazy_regex(
    r"""\w(?:Error|Exception|Warning)\b[^.?]{0,80}\b(?:indicates|means|says|suggests|occurs|occurred
        |happens|happened|is\ (?:caused|raised|thrown|due)|comes\ from|was\ (?:raised|thrown
        |caused))\b
    |\b(?:error|exception|failure)\b[^.?]{0,60}\b(?:indicates|means\ that|occurs\ because
        |is\ (?:caused|due)|happens\ because|was\ caused)\b""",
    re.VERBOSE,
)
# What is planned against a failure, supposed, tested or over.
_SUPPOSED = folded_regex(
    r"""n't\b|\b(?:not|want|never|if|when(?:ever)?|whether|unless|in\ case|should|would|could|may
        |might|can|will|to|by
    |ensur\w+|prevent\w*|avoid\w*|handl\w+|catch\w*|simulat\w+|mock\w*|test(?:s|ing)?\b(?=.*\bfor\b)
    |verif\w+|trigger\w*|debug\w*|resolv\w+|fix(?:es|ing)?|display\w*|log(?:s|ging)|implement\w*
    |add(?:s|ed|ing)?|until|once|retry|retries|fallback|usually|often|each|every|custom|case)\b""",
    FLAGS,
)
_OWN = frozenset("getting got get seeing see saw hit hitting".split())
_MINE = folded_regex(
    r"""\b(?:i'm|i\ am|we're|we\ are|i|we)\ (?:(?:keep|just|still|now)\ )?(?:getting|got|get|seeing
    |see|saw|hit|hitting)\b""",
    FLAGS,
)


def is_failure(said: Sentence, place: Place) -> bool:
    """Whether a sentence says that something failed, or why.

    Example:
        >>> words = "the nightly import failed on tuesday".split()
        >>> is_failure(Sentence.of("The nightly import failed on Tuesday.", words), Place("typed"))
        True
        >>> words = "this setup should resolve the error".split()
        >>> said = Sentence.of("This setup should resolve the error.", words)
        >>> is_failure(said, Place("assistant"))
        False
    """
    if place.is_advice and place.is_listed:
        return False
    is_mine = False
    if place.voice in ("user", "person"):
        is_mine = not _OWN.isdisjoint(said.words) and _MINE.search(said.low) is not None
    elif ("rror" in said.text or "xception" in said.text) and _EXPLAINED.search(said.text):
        return True
    if place.is_advice or (said.text.endswith("?") and not is_mine):
        return False
    happened = _HAPPENED.find(said)
    if happened is None and (place.voice != "person" or is_mine):
        happened = _MET.find(said)
    if happened and (is_mine or not _SUPPOSED.search(said.low, 0, happened.start())):
        return True
    if place.voice == "person":
        return False
    cause = _CAUSE.find(said)
    return cause is not None and not _SUPPOSED.search(said.low, 0, cause.start())
