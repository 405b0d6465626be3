"""Recognizes decisions: something was chosen or agreed.

Pure. Between people a word such as "let's" decides nothing; the numbered steps of an assistant's
explanation are no decisions either. Sentences have plain apostrophes here.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

from treemem.patterns import folded_regex
from treemem.summarize.kinds.phrases import FLAGS, Phrases, Sentence
from treemem.summarize.kinds.place import Place

_WHO = r"(?:we|i|they|you|he|she|everyone|everybody|the\ \w+|(?-i:[A-Z])\w+)"
_HAS = r"(?:'ve|'s|\ have|\ has|\ had|'d)?\ (?:(?:both|all|now|just|finally|also|already)\ )?"
_WILL = r"""(?:we|i)(?:'ll|\ will|'m\ going\ to|'re\ going\ to|\ are\ going\ to|\ am\ going\ to
    |'d\ rather)\ (?:(?:just|now|only)\ )?"""
# In any voice: a choice was made.
_CHOSEN = Phrases(
    ("decided chose chosen opted settled picked voted agreed made concluded went ruled signed",
     rf"""\b{_WHO}{_HAS}(?:decided\ (?!whether|yet)|chose(?:n)?\b|opted\ for|settled\ on
        |picked\ (?!up\b)|voted\ (?:to|for|against)|agreed\ (?:on|to|that|with\ \w+\ (?:to|that
        |on))|made\ up\ (?:my|our|their)\ mind|concluded|went\ with|ruled\ out|signed\ off)"""),
    ("decided agreed approved", r"""\b(?:it\ (?:is|was|has\ been)|we're|is|are|was|were|been|it's)
        \ (?:now\ |finally\ )?(?:decided|agreed|approved)\b|:\ approved\b|\bapproved\ in\b"""),
    ("approved signed", r"\b(?-i:[A-Z])\w+\ (?:has\ )?(?:approved|signed\ off)\b"),
    ("decision decided agreed settled approved resolved", r"""^\W*(?:(?:ok|okay|so|well|right
        |alright|all\ right|great|good|fine|yes|yep|then|and)\b\W+){0,2}
        (?:(?:final\ )?decision|decided
        |agreed|settled|approved|resolved)\b[^.:,]{0,40}[:,]\ \S"""),
    ("plan", r"\bthe\ plan\ is\ (?:to|that)\b"),
    ("ahead final", r"\bgo\ ahead\ with\b|\bfinal\ (?:answer|choice|decision)\ is\b"),
)  # fmt: skip
# What a user settles in the first person, or an assistant at work.
_SETTLED = Phrases(
    ("let's let", r"""\b(?:let's|let\ us)\ (?:(?:just|rather|then)\ )?(?:use|switch
        |move\ (?!on\b)|drop|store
        |put|take|call|leave|split|skip|go\ (?:with|for)|stick|stay\ with|postpone|rename|replace
        |remove|merge|build|ship|keep\ (?:the|it\ at|it\ as|to|using|\w+\ as)|make\ it|limit
        |wait\ with|do\ (?!it\b|this\b|that\b|our\b|so\b)\w+\ \w+)"""),
    ("we'll i'll will going rather", rf"""\b{_WILL}(?:use|switch|drop|store|split|rename
        |go\ (?:with|for)|stick|stay\ with|call\ it|postpone|defer|leave\ (?:the|it|that)
        |keep\ (?:the|it\ at|it\ as|using|\w+\ as)|move\ (?:the|it|to)|take\ the
        )\b"""),
    ("then with", r"""\bthen\ we\ (?:use|take|leave|keep|go|drop|split|move)\b
        |\b(?:we|i)\ (?:just\ )?(?:go|stick|stay)\ with\b"""),
    ("instead rather because", r"""\bwe\ (?:just\ )?(?:take|keep|drop|use)\ [^.;]{2,60}\ (?:instead
        |rather|because)|\b(?:use|using|keep|take|go\ with)\ [^.,;]{2,60}\ (?:instead\ of
        |rather\ than)\b"""),
)  # fmt: skip
# What an assistant takes: a thing with a name or in code.
_NAMED = Phrases(
    ("we'll i'll will going used chose chosen went switched picked", r"""\b(?:(?:we|i)(?:'ll
        |\ will|'m\ going\ to)\ (?:use|go\ with|switch\ to|stick\ (?:to|with)|store|keep\ using)
        |i(?:'ve|\ have)?\ (?:used|chose|chosen|went\ with|switched\ to|picked))\ (?:the\ )?
        (?-i:[`*"]?[A-Z]\w*|`[^`]+`|\w+[._/-]\w+)"""),
)  # fmt: skip
# What people arrange with each other.
_ARRANGED = Phrases(
    ("let's let we'll will going", r"""\b(?:let's|let\ us|we'll|we\ will
        |we're\ going\ to)\ (?:(?:all
        |just|then)\ )?(?:use|go\ with|switch\ to|stick\ (?:to|with)|move\ (?:it|the|to)
        |drop\ (?:the|it)|skip|postpone|cancel|schedule|meet|reschedule|buy|book|order
        |do\ (?:it|that)\ on|take\ the\ (?!(?:simple|case|example|time|easy|first|fact)\b)
        |put\ (?:the|it)|leave\ (?:the|it|that)|call\ it)\b"""),
    ("gonna going", r"""\b(?:i|we)(?:'m|'re|\ am|\ are)?\ (?:gonna|going\ to)\ (?:go\ with|use|buy
        |book|switch)\b"""),
)  # fmt: skip
# A choice that is asked about, supposed, awaited or denied.
_UNMADE = folded_regex(
    r"""^\W*(?:(?:and|so|but|well)\W+)?(?:if|when|once)\b|(?:n't|\b(?:if|whether|unless|until
        |once|before|when(?:ever)?|had\ to|has\ to|have\ to
        |needs?\ to|should|would|could|can|might|not|never|yet|nobody|no\ one|still))
        \ (?:\w+\ ){0,4}?(?:be\ )?(?:decide|chose|choose|pick|agree|settle|approve|opt|sign)""",
    FLAGS,
)
# A figure of speech with one of the words, what somebody is told, and what breaks off.
_FIGURE = folded_regex(
    r"""\bagreed\ to\ disagree|^\W*(?:agreed|settled|resolved)\W+[\w']+\W*$
    |\b(?:that|which|what|how)\ (?:we|i)(?:'re|'ll|'m|\ will|\ are|\ am)\b
    |\b(?:what|which|how|where|who|things)\ (?:we|i|they|you|he|she)(?:'ve|'d|\ have
        |\ had)?\ (?:decided|chosen|chose|picked
        |agreed)|\b(?:set|fixed)\ for\b|\bfor\ this\ (?:proof|example|problem|case|question
        |purpose)\b|\bcall\ it\ a\ day
        |\byou(?:'ve)?\ (?:picked|chose|decided)
    |\b(?:decided|agreed)\ (?:to|that)\W*$""",
    FLAGS,
)


# What between people only says yes.
_NODS = folded_regex(r"\W*(?:agreed|settled|resolved)\b", FLAGS)


def is_decision(said: Sentence, place: Place) -> bool:
    """Whether a sentence says that something was decided.

    Example:
        >>> words = "we agreed to meet at the mill".split()
        >>> is_decision(Sentence.of("We agreed to meet at the mill.", words), Place("person"))
        True
        >>> words = "let's keep chasing our dreams".split()
        >>> is_decision(Sentence.of("Let's keep chasing our dreams!", words), Place("person"))
        False
    """
    if said.text.endswith("?") or not _is_chosen(said, place):
        return False
    return not (_UNMADE.search(said.low) or _FIGURE.search(said.low))


def _is_chosen(said: Sentence, place: Place) -> bool:
    if place.is_advice:
        return not place.is_listed and _NAMED.find(said) is not None
    if place.voice == "person" and _NODS.match(said.low):
        return False
    if _CHOSEN.find(said):
        return True
    if place.voice == "person":
        return _ARRANGED.find(said) is not None
    if place.voice == "document":
        return False
    is_chat = place.voice == "assistant" and place.turn.setting == "assisted"
    if is_chat:
        return _NAMED.find(said) is not None
    return _SETTLED.find(said) is not None
