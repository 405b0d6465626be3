"""Recognizes sentences that state nothing: openings and closings, praise, greetings, scraps.

Pure. In doubt a sentence states something, since one that is left out is lost to every summary.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

import re

from treemem.patterns import folded, folded_regex, lazy_regex
from treemem.summarize.kinds.place import Place
from treemem.text.stop_words import STOP_WORDS

# The fewest words with a meaning of their own that a statement has.
CONTENT_WORDS_MIN = 2
_FLAGS = re.IGNORECASE | re.VERBOSE
# Scripts whose words are not set apart by spaces or are short, so that words cannot be counted.
_OTHER_SCRIPT = lazy_regex("[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]")
# How an assistant begins and ends an answer, and what it says while it works.
_FRAME = folded_regex(
    r"""^\W*(?:
    (?:sure|certainly|absolutely|of\ course|great|good|perfect|excellent|okay|ok|alright|got\ it
        |no\ problem|thanks|thank\ you|you're\ welcome|welcome|sorry|i\ apologi[sz]e|understood
        |congratulations|congrats|happy\ to|glad\ to|hello|hi)\b[^.:;]{0,60}$
    |(?:sure|certainly|absolutely|of\ course|great|perfect)[!,]
    |here(?:'s|\ is|\ are|\ you)\b
    |(?:(?:now|next|first|then|finally|so|okay|ok|and|also|sure|certainly|great)\W+){0,2}
        (?:let\ me\b|let's\ (?:start|begin|dive|look|take\ a\ look|break|go\ (?:through|over)
        |address
            |see|explore|walk|get\ started|continue|proceed|tackle|discuss|review|examine|check|move
            |verify|find|update|create|try|add|fix|run|make\ sure|ensure|focus|implement|now|refine
            |set\ up|build|consider|analy[sz]e|work|first|do\ (?:it|this|that)|compute|calculate
            |solve|define|apply)\b
        |i(?:'ll|\ will|'m\ going\ to|\ can|'d\ be|\ would\ be|\ need\ to)\ (?:now\ |first
        \ |then\ |also\ |just\ )?
            (?:help|start|begin|check|look|take\ a\ look|search|read|find|explore|go\ ahead|happy
        |glad
            |provide|guide|walk|show|explain|examine|create|update|run|review|analy[sz]e
        |do\ my\ best
            |assist|implement|make|fix|add|continue|proceed|investigate|verify|inspect|see|list
        |try))
    |(?:i|we)\ hope\b|feel\ free|let\ me\ know|please\ let\ me\ know|if\ you\ (?:have|need|want
        |'d\ like
        |would\ like|share|provide|prefer|run\ into|encounter|give|tell)\b.{0,80}\b(?:let\ me\ know
        |feel\ free|i\ can|i'll|ask|happy|help|questions)
    |would\ you\ like|do\ you\ (?:want|have\ any)|is\ there\ anything|shall\ i
        |what\ would\ you\ like
    |i(?:'d|\ would)\ be\ (?:happy|glad)|i'm\ (?:happy|glad|here|sorry|excited)
    |by\ (?:following|implementing|using|incorporating|adding|making|doing|breaking|understanding)\b
    |(?:the\ )?(?:following|below)\b|below\ (?:is|are)|looking\ at\b
    |(?:these|this)\ (?:steps?|changes?|improvements?|tips|setup|approach|implementation|plan
        |example
        |adjustments?|enhancements?|structure|schedule|code)\ (?:will|should|can|ensures?
        |provides?|is
        |are|allows?|helps?)
    |(?:that's|it's|this\ is|what)\ (?:a\ |an\ )?(?:really\ |very\ )?(?:great|good|excellent
        |wonderful
        |fantastic|interesting)\ (?:question|idea|choice|start|news|point|progress|approach|job)
    |(?:great|good|excellent|nice)\ (?:job|work|question|idea|choice|start|point|luck|progress
        |decision)
    |i(?:'m|\ am)\ (?:an?\ |just\ an?\ )?(?:ai|language\ model|artificial)|as\ an\ ai\b
    |your\ [^.]{0,60}\ (?:looks|is)\ (?:good|great|solid|well)\b
    |step\ \d+|note:?\ |example:|output:
    )""",
    _FLAGS,
)
# What people say to please each other, to greet and to agree.
_PLEASANTRY = folded_regex(
    r"""^\W*(?:(?:oh|wow|aww?|yay|hey|hi|yeah|yep|yes|nope?|hmm|haha|lol|omg|absolutely|definitely
        |exactly|totally|totes|for\ sure|of\ course|true|right|agreed|indeed|well|so|and|but|ok|okay
        |sure|cool|nice|great|awesome|sweet|amazing)\W+){0,3}
    (?:(?:[A-Z][a-z]+)\W+)?
    (?:thanks|thank\ you|thx|hi|hey|hello|time\ flies|(?:this|that|those
        |these)\ [\w' ]{2,30}\ (?:is|are|looks?|sounds?)\ (?:so\ |really\ |very\ )?(?:great
        |amazing|awesome|lovely|cool|beautiful|nice|wonderful|inspiring|sweet|adorable|gorgeous
        |stunning)|good\ (?:morning|evening|luck|job|to\ (?:see|hear))|bye
    |goodbye|take\ care|see\ (?:you|ya)|talk\ (?:to\ you\ )?soon|congrat\w*|well\ done|way\ to\ go
    |no\ (?:problem|worries)|you're\ welcome|my\ pleasure|can't\ wait|sounds?\ (?:good|great|like
        |fun
        |awesome|amazing|so|lovely|perfect)|keep\ (?:it\ up|going|up|at\ it|pushing|shining|on|me
        |being)
    |never\ give\ up|you\ (?:can|could|got|have\ got|'ve\ got|will|'ll)\ (?:do\ )?(?:it|this|that)
    |you've\ got\ this|go\ for\ it|hang\ in|cheers|wishing|sending|i'm\ (?:here\ for|so\ (?:proud
        |happy
        |glad)|proud|glad|happy\ (?:for|to\ hear)|rooting|sure\ (?:you|it|they))|so\ (?:proud
        |happy|glad)
    |glad\ (?:to|you|it)|happy\ (?:for|to\ hear)|proud\ of|what's\ up|what\ about\ you
        |how\ (?:about|are)
        \ you|how's\ it|that\ (?:is|was|sounds|must)|that's|that'd|it\ (?:sounds|must|looks)
        |must\ (?:be
        |feel|have)|looks?\ (?:so|like|amazing|great|awesome)|i\ (?:totally\ |completely
        \ |really\ )?
        (?:agree|appreciate|understand|hear\ you|feel\ you|love\ (?:that|it|how|your))
        |love\ (?:that|it
        |how|your)|let's\ (?:do|keep|make|go|chase|stay|get)|we'?ll\ (?:keep|make|get|do)
        |you(?:'re|\ are
        |r)\b|your\b|don't\ (?:give|stop|worry|let|forget\ to\ (?:take|believe|stay)|be)|believe\ in
    |stay\ (?:positive|strong|safe|true|focused)|anyway|whatever|why\ not|me\ too|same\ here
        |what\ an?\b
    |how\ (?:cool|nice|great|awesome|sweet|fun)|hope\ (?:you|it|your|to)|i'll\ (?:keep|do\ my\ best
        |be\ there|definitely))
    """,
    _FLAGS,
)  # fmt: skip
# Words by which a pleasantry says something after all: about the speaker, or a time.
_SUBSTANCE = folded_regex(
    r"""\d|\b(?:my|mine|yesterday|today|tonight|tomorrow|last|ago|monday|tuesday|wednesday|thursday
    |friday|saturday|sunday|january|february|march|april|june|july|august|september|october
    |november|december|week(?:end)?|month|year|next)\b
    |\b(?:i|we)(?:'ve|\ have|\ just|\ also|\ (?!see\b|bet\b|know\b|can\b|hear\b|love\b|like\b
        |hope\b|guess\b
        |think\b|agree\b|mean\b|am\b|'m\b|'ll\b|appreciate\b|understand\b|totally\b)[a-z]+)""",
    _FLAGS,
)
_ENDS_OPEN = (":", ":**", ":*", "：")
_PLEASANTRY_WORDS_MAX = 24
_LEAD_WORDS_MAX = 10


def is_lead(sentence: str, place: Place) -> bool:
    """Whether a sentence only leads to what follows. A user's long one says more: "I'm getting an
    error when I open the form, here is the code:".

    Example:
        >>> is_lead("Then the next part:", Place("typed"))
        True
    """
    if not sentence.endswith(_ENDS_OPEN):
        return False
    if place.voice != "user" or sentence[:4].lower() == "here":
        return True
    return len(sentence.split()) <= _LEAD_WORDS_MAX


def is_scrap(sentence: str, lower_words: frozenset[str]) -> bool:
    """Whether a sentence has too few words to say anything.

    Example:
        >>> is_scrap("Just do it.", frozenset({"just", "do", "it"}))
        True
    """
    if content_words(lower_words) >= CONTENT_WORDS_MIN:
        return False
    return not _OTHER_SCRIPT.search(sentence)


def content_words(lower_words: frozenset[str]) -> int:
    """The number of words that have a meaning of their own.

    Example:
        >>> content_words(frozenset({"we", "never", "do", "that"}))
        0
    """
    return len([word for word in lower_words - STOP_WORDS if len(word) > 2 and word[1].isalnum()])


def is_frame(sentence: str, place: Place) -> bool:
    """Whether a sentence that is no rule and no open point only opens or closes an answer, or
    pleases somebody.

    Example:
        >>> is_frame("Let me know if you need anything else.", Place("assistant"))
        True
        >>> is_frame("The gate opens at noon.", Place("assistant"))
        False
    """
    if place.voice == "assistant":
        return sentence.endswith("?") or _FRAME.match(folded(sentence)) is not None
    if place.voice != "person":
        return False
    low = folded(sentence)
    if not (sentence.endswith("?") or _PLEASANTRY.match(low)):
        return False
    return len(sentence.split()) <= _PLEASANTRY_WORDS_MAX and not _SUBSTANCE.search(low)
