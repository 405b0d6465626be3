"""Decides from its words whether a sentence of the user's is a rule for good.

A rule addresses the assistant ("always …", "you must …", "I prefer …"), and holds from now on or
each time rather than for the task at hand. A sentence about somebody else, a question or a report
of what somebody said is none. Pure: it looks at one sentence; who said it is for others to check.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Literal

from treemem.patterns import folded, folded_regex, for_folded, lazy_regex
from treemem.rules import languages, lexicon
from treemem.rules.lexicon import (
    ENDING_IN_S,
    MANNER,
    NOT_VERBS,
    QUOTED,
    RECURRING,
    VERBS,
    without_quoted,
)
from treemem.text.cache import SENTENCES_CACHED_MAX

# lasting: a rule by itself. manner: a wish about the way of answering, which is a rule if its
# message says nothing else.
Form = Literal["lasting", "manner"]
# How a clause relates to the assistant. "preference" lasts without further words.
_ClauseKind = Literal["addressed", "lasting", "preference", "revoked", "condition", "narrated"]

_FLAGS = re.IGNORECASE | re.VERBOSE
# A sentence without any of these words is no rule. A look-up is faster than the expressions.
_HINTS = frozenset(
    """
    abbreviations acronyms all always anymore anytime apologies apologise apologize apologizing
    blunt brief bullet bullets call celsius circumstances concise dashes default disclaimers each
    emoji emojis emoticons ever every everything everywhere exception exceptions exclamation
    fahrenheit filler flatter forget formal formally forward forwards future general generally
    globally guess hate headings henceforth hereafter honest imperial informal informally jargon
    keep lecture like longer love markdown matter metric mind more never nothing once permanently
    polite preamble prefer preference preferred preferences rather remember rule short shorter slang
    stand stop succinct sugarcoat swear terse undo until unless whenever without your first before
    now today answer reply respond speak talk commit commits replies answers responses prs emails
    docstrings requests when ask ignore disregard scratch scrap drop cancel instead again time any
    """.split()
)
# The expressions from here on are for folded sentences, but for that of a polite question.
_AT_HAND, _EVERYWHERE, _LABEL, _LASTING, _OPENERS, _REPORTED, _REVOKED, _SUBORDINATE = map(
    for_folded,
    (
        lexicon.AT_HAND, lexicon.EVERYWHERE, lexicon.LABEL, lexicon.LASTING, lexicon.OPENERS,
        lexicon.REPORTED, lexicon.REVOKED, lexicon.SUBORDINATE,
    ),
)  # fmt: skip
_MANNER = for_folded(MANNER)
_BOUNDARY = folded_regex(
    r"""\s*(?P<mark>[;:,—–]|\.\.+|\s--?(?=\s)|[.!](?=\s))\s+
    |\s+(?P<word>and|but|or|so|then)\ +(?=\w)
    |(?<!\bit)\s+(?=(?:because|since|when|whenever|if|unless|before|after|until|while|every\ time
    |each\ time
        |any\ ?time)\b)""",
    _FLAGS,
)
_POLITE = lazy_regex(
    r"^\W*(?:\w+,?\ ){0,2}?(?:can|could|would|will)\ (?:you|u)\ (?:please\ |kindly\ |also\ )*"
    r"(?P<wish>(?!mind\b).+?)\?+\W*$", _FLAGS,
)  # fmt: skip
_IMPERATIVE = folded_regex(
    r"""(?P<adverbs>(?:(?:always|never|ever|don't|dont|do|not|only|please|also|just|kindly)\s+)*)
    (?P<verb>[a-z][a-z'-]*)""",
    _FLAGS,
)
_YOU = folded_regex(
    r"""you\ (?:\w+\ )?(?:must(?:n't)?|should(?:n't)?|shall|have\ to|need\ to|ought\ to
    |are\ (?:always\ |never\ |not\ |only\ )?(?:to|allowed\ to)|may\ (?:not|only
    |never))\b(?!\ have\b)""",
    _FLAGS,
)
_NO_DUTY = folded_regex(r"\b(?:do\ not|don't|needn't|not)\ (?:have|need)\b|\bneedn't\b", _FLAGS)
_WE = folded_regex(
    r"""(?:we|one|everyone|everybody|nobody|no\ one)\ (?:must|should|shall|are\ to|may\ (?:not
        |only))
    \b(?!(?:\ \w+)?\ have\b)|let(?:'s|\ us)\ (?:always|never|not\ ever)\b""",
    _FLAGS,
)
# A rule for what the assistant makes, in the passive: "All commit messages must be in English."
_MADE = rf"""(?:{RECURRING}|code|functions?|methods?|class(?:es)?|modules?|tests?|files?|names?
    |variables?|identifiers?|docs?|documentation|dates?|times?|timestamps?|numbers?|strings?|units?
    |amounts?|prices?|migrations?|quer(?:y|ies)|scripts?|endpoints?|tables?|figures?|charts?|text
    |words?|sentences?|paragraphs?|lists?|examples?|errors?|logs?|imports?|dependencies|secrets?)"""
_OF_WORK = folded_regex(
    rf"""(?P<all>(?:all|every|each|any|no)\ )?(?:(?:our|my|your|new|future)\ )*
    (?:(?!(?:this|that|the|these|those|an?|its?)\b)[\w-]+\ ){{0,2}}?{_MADE}\b[^,;:]{{0,60}}?
        \b(?:must|should|shall|(?:is|are)\ to\ be|may)\b(?!\ have\b)
    |(?:everything|nothing|anything)\b[^,;:]{{0,60}}?\b(?:must|should|shall)\b(?!\ have\b)""",
    _FLAGS,
)
_ADVERB = r"(?:(?:really|strongly|generally|always|usually|much|do|still|definitely|now|also|only|"
_ADVERB += r"normally|mostly|just|personally|never|greatly|simply|clearly|typically|would)\ )*"
_PREFERS = folded_regex(
    rf"""i(?:'d)?\ {_ADVERB}prefer\b(?P<object>.*)
    |i(?:'d|\ would)\ {_ADVERB}rather\ (?:you\b|see|have|get|read|use|be|not\ (?:be|see
    |have))(?P<other>.*)
    |my\ (?:general\ |strong\ )?(?:preference|preferred\ [\w ]+)\ (?:is|are)\b(?P<third>.*)""",
    _FLAGS,
)
_TASTE = folded_regex(
    rf"""i\ (?:\w+\ )?(?:like|love|hate|dislike|appreciate|can't\ stand|cannot\ stand
        |don't\ (?:like|want)|do\ not\ (?:like|want))\ (?:it\ )?(?:when|if)\ you\b
    |i\ (?:\w+\ )?(?:like|want|need|prefer)\ (?:my|your)\ {RECURRING}\b
    |i\ (?:do\ not|don't)\ (?:ever\ )?(?:like|want)\ (?:any\ )?(?:more\ )?(?:{MANNER.pattern})""",
    _FLAGS,
)
# "I never want to go there again" is about the user; "I always want to see the plan" is not.
_NOT_MINE = (
    r"(?!\ (?:to\ (?!(?:see|hear|read|get|know|have|be\ (?:told|asked|warned|shown|informed))\b)"
    r"\w|\w+ing\b))"
)
_WANTS = folded_regex(
    rf"""i(?:'d|\ would|'m|\ am)?\ (?:\w+\ )?{_ADVERB}(?:want|need|expect|like|ask(?:ing)?
        |insist|wish|love|hate)\b{_NOT_MINE}|i\ (?:don't|do\ not)\ (?:\w+\ )?want\b{_NOT_MINE}
    |i\ (?:already\ )?(?:told|asked|said\ to)\ you\b
    |it(?:'s|\ is)\ (?:\w+\ )?(?:important|essential|crucial|vital|critical)
        \ (?:to\ me\ )?that\ you\b""",
    _FLAGS,
)
# A choice among what was just offered is no preference for good.
_OFFERED = folded_regex(
    r"""^\W*(?:this|that(?!\ you)|these|those|it(?!\ (?:if|when))|to\ (?:wait|leave|start|stay
        |think|discuss|finish|keep)|[abc]\W*$)\b
    |\b(?:option|version|variant|approach|idea|suggestion|draft|design|plan|solution|proposal|yours
        |ones?|first|second|third|latter|former|last|other|original|previous|current)\b
    |\b(?:did|didn't|had|hadn't|were|was)\b(?!.*\b(?:always|never)\b)|\w_\w""",
    _FLAGS,
)
_STOP = folded_regex(
    r"stop\ \w+ing\b(?!\ (?:the|this|that|these|those|it|here|now)\b)", re.IGNORECASE | re.VERBOSE
)
_MEMO = folded_regex(
    r"""^\W*(?:please\ |always\ )*(?:remember|keep\ in\ mind|bear\ in\ mind|(?:don't|never)\ forget)
    (?:\ that|\ to|:|,)?\ (?:always|never|(?:i|i'm|i'd|my|me|we\ (?:always|never|only|must))\b
    (?!\ (?:asked|told|said|sent|gave|had|have|want(?:ed)?|need(?:ed)?|was|were|will|just
        |already)\b))""",
    _FLAGS,
)
_NO_EVER = folded_regex(
    r"^\W*(?:please,?\ )?no\ (?:more\ )?[\w -]{2,40},?\ (?:ever|please|anymore)\b", _FLAGS
)
# What follows a colon after one of these is to be written or sent, not to be followed.
_DICTATES = folded_regex(
    r"""(?:(?:and|so|then|also|please|now|ok|could\ you|can\ you)\ )*(?:
    write|add|put|document|reply|say
    |tell|send|post|insert
    |append|print|paste|mention|type|enter|record|text|message|mail|email)\b""",
    _FLAGS,
)
_TRANSCRIPT = folded_regex(r"^\W*(?P<label>[\w .'-]{1,40}):\s")
# A clause about a thing, in which "always" is not about what is asked.
_RELATIVE = folded_regex(
    r"\b(?:that(?!\ you)|which|who|whose|whom|where|why|how|whether)\b.*", _FLAGS | re.DOTALL
)
# "always" or "never" before the verb, or right behind it.
_NEAR_ADVERB = folded_regex(
    r"(?:(?:please|do|not|don't|only|also|just|ever)\ )*(?:(?:always|never)\b"
    r"|[a-z'-]+\ (?:(?:to\ )?(?:me|us)\ |sure\ )?(?:that\ )?(?:you\ |to\ )?(?:always|never)\b"
    r"(?!\ [a-z]+(?:ed|ing)\b))", _FLAGS,
)  # fmt: skip
_FAR_ADVERB = folded_regex(r"\b(?:always|never)\b(?!\W*$)", _FLAGS)
_ONLY_MARKER = folded_regex(r"(?:always|ever|never|all\ the\ time|please|each\ time)\W*", _FLAGS)
_EVER = folded_regex(r"ever\W*")
# What begins what a clause is about; in small letters only, also in a sentence that is not folded.
_INFINITIVE = lazy_regex(r"\b(?:to|always|never)\b")
_ABOUT_ME = folded_regex(r"\W*i(?:'m| am| have|'ve| live| work)\b")
_NO = folded_regex(r"no (?:more )?\w")
_MANNER_WORDS_MAX = 14
# "I want the unit in every heading": of a wish, this is for good; "add it to every heading" is a
# task.
_WISH_FOR_EACH = folded_regex(r"i\ (?:want|expect|need|would\ like)\b.*\b(?:every|each)\b", _FLAGS)
_NOT_HEAD = frozenset(
    "know worry mind understand care see think believe remember you we they".split()
)


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def form_of(sentence: str) -> Form | None:
    """Whether a sentence is a rule for good, by itself or if its message says nothing else; None
    if it is not one.

    Example:
        >>> form_of("Always answer in German."), form_of("My sister always answers in German.")
        ('lasting', None)
        >>> form_of("Please don't use emoji."), form_of("Avoid labels.")
        ('manner', None)
    """
    text = without_quoted(sentence.replace("’", "'")).replace("never, ever", "never ever").strip()
    words = languages.words_in(text)
    has_hint = not _HINTS.isdisjoint(words)
    if not has_hint and not languages.may_last(text, words):
        return None
    polite = _POLITE.match(text)
    if polite:
        text = polite["wish"]
    elif text.rstrip("\"') ").endswith("?"):
        return None
    low = folded(text)
    if _is_transcript(low) or text.endswith(":"):
        return None
    if languages.is_lasting(text):
        return "lasting"
    if not has_hint or (polite and _HINTS.isdisjoint(languages.words_in(text))):
        return None
    if _AT_HAND.search(low):
        return None
    if _MEMO.match(low):
        return "lasting"
    form = _form_of_clauses(text, low)
    if form is None and _NO_EVER.match(low) and _MANNER.search(low):
        return "manner"
    return form


def addresses(sentence: str) -> bool:
    """Whether a clause of a sentence is said to the assistant, be it for good or not.

    Example:
        >>> addresses("You don't have to use tabs."), addresses("We went by train instead.")
        (True, False)
    """
    text = without_quoted(sentence.replace("’", "'"))
    clauses = _clauses(text, folded(text))
    return any(kind not in ("narrated", "condition") for kind, _ in clauses)


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def holds_everywhere(sentence: str) -> bool:
    """Whether the user said that a rule holds in every project.

    Example:
        >>> holds_everywhere("In all my projects, always use tabs."), holds_everywhere("Use tabs.")
        (True, False)
    """
    return _EVERYWHERE.search(folded(QUOTED.sub("", sentence))) is not None


def _form_of_clauses(text: str, low: str) -> Form | None:
    """low: the text, folded; so are all clauses below."""
    is_lasting = is_addressed = False
    has_marker = _EVERYWHERE.search(low) is not None
    for kind, clause in _clauses(text, low):
        if kind in ("lasting", "preference"):
            is_lasting = True
        elif kind == "addressed":
            is_addressed = True
        if kind != "narrated":
            clause = _RELATIVE.sub("", clause)
            if kind == "addressed":
                clause = _without_far_adverbs(clause)
            # What replaces a rule is one, without further words: "forget the tabs, use spaces".
            has_marker = has_marker or kind == "revoked" or _is_for_good(clause)
    if is_lasting or (is_addressed and has_marker):
        return "lasting"
    if is_addressed and len(text.split()) <= _MANNER_WORDS_MAX and _MANNER.search(low):
        return "lasting" if _WISH_FOR_EACH.match(low) else "manner"
    return None


def _is_for_good(clause: str) -> bool:
    label = "rule" in clause and _LABEL.fullmatch(clause) is not None
    is_ever = _EVER.fullmatch(clause) is not None
    return label or is_ever or _LASTING.search(clause) is not None


def _without_far_adverbs(clause: str) -> str:
    """An imperative without "always" and "never" where they belong to another word: "make the
    header always visible"."""
    opener = _OPENERS.match(clause)
    head = clause[opener.end() if opener else 0 :].lstrip(" \"'(*_-")
    if not _is_imperative(head) or _NEAR_ADVERB.match(head):
        return clause
    return _FAR_ADVERB.sub(" ", clause)


def _is_transcript(text: str) -> bool:
    """Whether a sentence begins like a line of a transcript: a name or a role, and a colon."""
    match = _TRANSCRIPT.match(text) if ":" in text else None
    if match is None:
        return False
    label = match["label"]
    opener = _OPENERS.match(label)
    is_rule_label = _LABEL.fullmatch(label) or (opener and opener.end() == len(label))
    return not (is_rule_label or _SUBORDINATE.match(label) or len(label.split()) > 4
                or _LASTING.search(label))  # fmt: skip


def _clauses(text: str, low: str) -> Iterator[tuple[_ClauseKind, str]]:
    """The clauses of a sentence, folded, with their kinds. low: the text, folded.

    A clause without a subject has that of the clause that "and", "but", "or" or a comma joins it
    to: "My parents always bring bread, and never ask."
    """
    subject: _ClauseKind | None = None
    is_reported = False
    before = ""
    for joint, start, end in _split(low):
        clause = low[start:end].strip()
        is_dictated = joint == ":" and _DICTATES.match(before) and not _LASTING.search(before)
        before = clause
        if (
            is_reported
            or is_dictated
            or (
                _REPORTED.search(clause)
                and _REPORTED.search(folded(_head(text[start:end].strip())))
            )
        ):
            is_reported = True
            yield "narrated", clause
            continue
        kind = _kind_of(clause)
        is_joined = joint in ("and", "but", "or", ",") and subject == "narrated"
        if is_joined and kind == "addressed" and not clause.startswith("please"):
            kind = "narrated"
        if kind != "condition":
            subject = "condition" if _is_about_me(clause) and kind == "narrated" else kind
        yield kind, clause


def _head(clause: str) -> str:
    """A clause up to its first infinitive or imperative adverb, which is about the rule itself."""
    return _INFINITIVE.split(clause, maxsplit=1)[0]


def _is_about_me(clause: str) -> bool:
    """Whether the user tells about himself: "I'm vegetarian, never suggest meat"."""
    return _ABOUT_ME.match(clause) is not None


def _split(text: str) -> Iterator[tuple[str, int, int]]:
    """Where the clauses of a sentence begin and end, each with the mark or word that joins it to
    the one before."""
    at, joint = 0, ""
    for match in _BOUNDARY.finditer(text):
        if text[at : match.start()].strip():
            yield joint, at, match.start()
        at, joint = match.end(), (match["mark"] or match["word"] or "").strip()
    if text[at:].strip():
        yield joint, at, len(text)


def _kind_of(clause: str) -> _ClauseKind:
    if _LABEL.fullmatch(clause):
        return "condition"
    opener = _OPENERS.match(clause)
    clause = clause[opener.end() if opener else 0 :].lstrip(" \"'(*_-").rstrip()
    if not clause or _SUBORDINATE.match(clause) or _ONLY_MARKER.fullmatch(clause):
        return "condition"
    if _REVOKED.match(clause):
        return "revoked"
    prefers = _PREFERS.match(clause)
    if prefers:
        chosen = prefers["object"] or prefers["other"] or prefers["third"] or ""
        if _OFFERED.search(chosen) and not _LASTING.search(clause):
            return "narrated"
        return "preference" if chosen.strip(" .!") else "narrated"
    if _STOP.match(clause) or _TASTE.match(clause):
        return "lasting"
    work = _OF_WORK.match(clause)
    if work and work["all"]:
        return "lasting"
    if _NO_DUTY.search(clause):
        return "narrated"
    is_wish = _YOU.match(clause) or _WE.match(clause) or _WANTS.match(clause) or work
    if is_wish or _is_imperative(clause):
        return "addressed"
    return "addressed" if _NO.match(clause) else "narrated"


def _is_imperative(clause: str) -> bool:
    match = _IMPERATIVE.match(clause)
    if match is None:
        return False
    verb, adverbs = match["verb"], match["adverbs"].split()
    if verb in VERBS:
        return True
    is_firm = not {"always", "never", "don't", "dont"}.isdisjoint(adverbs) or (
        "do" in adverbs and "not" in adverbs
    )
    if not is_firm or verb in NOT_VERBS or verb in _NOT_HEAD:
        return False
    is_third = verb.endswith("s") and not verb.endswith("ss") and verb not in ENDING_IN_S
    return not (is_third or verb.endswith(("ed", "ing", "'s", "'t")))
