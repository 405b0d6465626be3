"""Makes minimal pairs: a note, and the same note with one thing exchanged.

A model that cannot say whether a text supports a note can often tell which of two almost equal
notes it makes more likely. The thing exchanged is a speaker, a number, a date, a name, a *not*, an
opposite, or how certain something is; the other value comes from the text where it has one, since
mistaking one thing of a text for another is the usual error. Pure. English wording; of notes in
other languages, numbers and names are exchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from treemem.checkers import wording
from treemem.patterns import lazy_regex

VariantKind = Literal["speaker", "number", "date", "name", "not", "opposite", "certain"]
KINDS: tuple[VariantKind, ...] = get_args(VariantKind)

# The most variants of a kind, and of a note.
OF_KIND_MAX = 2
OF_NOTE_MAX = 9

_WORD = lazy_regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = lazy_regex(r"(?<![\w.,:])\d+(?:[.,:]\d+)*(?=(?:st|nd|rd|th|[a-z%€$]{0,3})\b|\W|$)")
_CAPITAL = lazy_regex(r"(?<![\w.])[A-Z][\w’'-]*[^\W_](?:\s[A-Z][\w-]*[^\W_])*")
_SPEAKER = lazy_regex(r"\s*([^:\n]{1,60}):\s")
_ROLES = {"user": "the user", "assistant": "the assistant"}
_ENDS = {1: "st", 2: "nd", 3: "rd"}
_OPENING = frozenset(
    "The A An This That These Those Its His Her Their Our My Your From In On At By For With After "
    "Before Since While When As Of To If Most Many Some All Each Every No Not And But".split()
)
_SUBJECTS = frozenset("user assistant he she they who it nobody everybody team group".split())


@dataclass(frozen=True, slots=True)
class Variant:
    """A note in which one stretch is exchanged.

    start: of the stretch, in characters of the note. text: the whole note with the exchange.
    """

    kind: VariantKind
    start: int
    text: str


def variants_of(note: str, lines: Sequence[str]) -> list[Variant]:
    """The minimal pairs of a note on lines "Speaker: words", the latest change first, so that
    neighbours have a long start in common.

    Example:
        >>> lines = ["Ana: I paid 12.", "Tom: I, 15."]
        >>> [variant.text for variant in variants_of("Ana paid 12 euros.", lines)][:2]
        ['Ana paid 15 euros.', 'Ana paid 13 euros.']
    """
    makers = (_speakers, _numbers, _dates, _names, _negations, _opposites, _certainties)
    found: dict[str, Variant] = {}
    for make in makers:
        fresh = (v for v in make(note, lines) if v.text != note and v.text not in found)
        for variant in islice(fresh, OF_KIND_MAX):
            found[variant.text] = variant
    chosen = list(found.values())[:OF_NOTE_MAX]
    return sorted(chosen, key=lambda variant: -variant.start)


def _exchanged(kind: VariantKind, note: str, start: int, end: int, other: str) -> Variant:
    """Replaces a stretch; a word at the beginning of the sentence keeps its capital."""
    if note[start:end][:1].isupper() and other[:1].islower():
        other = other[:1].upper() + other[1:]
    if not other:  # the space before the word goes with it
        start = max(0, start - 1)
    return Variant(kind, start, note[:start] + other + note[end:])


# -- speakers and names ----------------------------------------------------------------


def speakers_of(lines: Sequence[str]) -> list[str]:
    """The speakers of lines, in order of their first line."""
    found = (_SPEAKER.match(line) for line in lines)
    return list(dict.fromkeys(match[1].strip() for match in found if match))


def _speakers(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    """Each speaker that the note names becomes another one; two of them change places. A name
    that the lines do not have would prove nothing, since no model would expect it."""
    speakers = [name for name in speakers_of(lines) if name.lower() != "tool"]
    found = [(name, form) for name in speakers if (form := _form_in(note, name))]
    if len(found) > 1:
        yield _swapped(note, found[0][1], found[1][1])
    unnamed = [name for name in speakers if not _form_in(note, name)]
    if not unnamed and all(name in _ROLES for name in speakers):
        unnamed = [name for name in _ROLES if name not in speakers]
    for _, form in found:
        match = _occurrence(note, form)
        if match is not None and unnamed:
            yield _exchanged("speaker", note, *match.span(), _called(unnamed[0]))


def _form_in(note: str, speaker: str) -> str | None:
    """How the note calls a speaker: by the whole name, or by a part of it ("the clinic")."""
    parts = [] if speaker in _ROLES else [part for part in speaker.split() if len(part) > 2]
    for form in (_called(speaker), *parts):
        match = _occurrence(note, f"the {form}") or _occurrence(note, form)
        if match is not None:
            return match[0]
    return None


def _occurrence(note: str, form: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", note, re.IGNORECASE)


def _swapped(note: str, one: str, other: str) -> Variant:
    """The note with all places of two speakers exchanged."""
    either = re.compile(rf"(?<!\w)(?:{re.escape(one)}|{re.escape(other)})(?!\w)", re.IGNORECASE)
    matches = list(either.finditer(note))
    text = note
    for match in reversed(matches):
        shown = other if match[0].lower() == one.lower() else one
        text = _exchanged("speaker", text, *match.span(), shown).text
    return Variant("speaker", matches[0].start(), text)


def _called(name: str) -> str:
    return _ROLES.get(name, name)


def _names(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    """Each name that is not a speaker's becomes another name of the lines."""
    speakers = {part.lower() for name in speakers_of(lines) for part in (name, *name.split())}
    text = " ".join(_SPEAKER.sub("", line, count=1) for line in lines)
    known = [name for name in _names_in(text) if not speakers & {*name.lower().split()}]
    for match in _CAPITAL.finditer(note):
        name = re.sub(r"['’]s$", "", match[0])
        first = match.start() == 0
        if name.lower() in speakers or (first and name not in known) or _is_date(name):
            continue
        if first and not re.search(rf"[\w,;] {re.escape(name)}\b", text):
            continue
        others = [n for n in known if n != name and n not in note and not _is_date(n)]
        # A name of as many words is the likelier mistake.
        alike = [other for other in others if other.count(" ") == name.count(" ")]
        for other in (alike or others)[:1]:
            yield _exchanged("name", note, match.start(), match.start() + len(name), other)


def _names_in(text: str) -> list[str]:
    """The words with a capital inside sentences of a text."""
    inside = re.finditer(rf"(?<=[\w,;]\s){_CAPITAL.pattern}", text)
    names = (re.sub(r"['’]\w+$", "", match[0]) for match in inside)
    return list(dict.fromkeys(name for name in names if len(name) > 2))


def _is_date(word: str) -> bool:
    return word in wording.MONTHS or word.removesuffix("s") in wording.WEEKDAYS


# -- numbers and dates -----------------------------------------------------------------


def _numbers(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    """Each number becomes another one of the lines in the same form, and one near to it."""
    text = "\n".join(_SPEAKER.sub("", line, count=1) for line in lines)
    written = list(dict.fromkeys(match[0] for match in _NUMBER.finditer(text)))
    for match in _NUMBER.finditer(note):
        start, end = match.span()
        others = [n for n in written if n != match[0] and _form(n) == _form(match[0])]
        for other in [*others[:1], _near(match[0])]:
            ordinal = re.match(r"(?:st|nd|rd|th)\b", note[end:])
            ending = _ending(other) if ordinal else ""
            yield _exchanged("number", note, start, end + 2 * bool(ordinal), other + ending)
    for word in _WORD.finditer(note):
        if (lower := word[0].lower()) in wording.NUMBER_WORDS:
            at = wording.NUMBER_WORDS.index(lower)
            said = [n for n in wording.NUMBER_WORDS if re.search(rf"\b{n}\b", text) and n != lower]
            for other in [*said[:1], wording.NUMBER_WORDS[at + 1 if at < 10 else at - 1]]:
                yield _exchanged("number", note, *word.span(), other)


def _form(number: str) -> tuple[int, str]:
    return len(re.split(r"[.,:]", number)[0]), re.sub(r"\d+", "", number)


def _near(number: str) -> str:
    """The next number, with as many digits.

    Example:
        >>> _near("12"), _near("99"), _near("3,609"), _near("09:59")
        ('13', '98', '3,608', '09:58')
    """
    parts = re.split(r"([.,:])", number)
    last = parts[-1]
    value = int(last)
    value += 1 if value % 10 < 9 else -1
    return "".join([*parts[:-1], f"{value:0{len(last)}d}"])


def _ending(number: str) -> str:
    value = int(re.split(r"[.,:]", number)[-1])
    return "th" if 10 <= value % 100 <= 20 else _ENDS.get(value % 10, "th")


def _dates(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    """Each month, weekday or call of a time becomes another one."""
    text = " ".join(lines)
    for match in _WORD.finditer(note):
        word, (start, end) = match[0], match.span()
        plural = word.removesuffix("s") in wording.WEEKDAYS and word.endswith("s")
        single = word.removesuffix("s") if plural else word
        # "May" at the beginning of a note is mostly the verb.
        names = next((n for n in (wording.MONTHS, wording.WEEKDAYS) if single in n), None)
        if names is not None and (single != "May" or start > 0):
            at = names.index(single)
            said = [n for n in names if n != single and re.search(rf"\b{n}s?\b", text)]
            for other in [*said[:1], names[(at + 2) % len(names)]]:
                yield _exchanged("date", note, start, end, other + "s" * plural)
        elif (opposed := wording.RELATIVE.get(word.lower())) is not None:
            yield _exchanged("date", note, start, end, opposed)
        elif word in ("last", "next") and _is_period(note[end:]):
            yield _exchanged("date", note, start, end, "next" if word == "last" else "last")


def _is_period(rest: str) -> bool:
    word = _WORD.match(rest.lstrip())
    return word is not None and (word[0] in wording.PERIODS or _is_date(word[0]))


# -- negation, opposites, certainty ----------------------------------------------------


def _negations(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    """A *not* goes, or comes in after the first auxiliary, or a *never* before the verb."""
    del lines
    words = list(_WORD.finditer(note))
    negated = [word for word in words if word[0].lower().replace("’", "'") in wording.AFFIRMED]
    for word in negated:
        if word[0] == "no" and note[word.end() :].startswith((" longer", " more")):
            continue
        other = wording.AFFIRMED[word[0].lower().replace("’", "'")]
        yield _exchanged("not", note, *word.span(), other)
    if negated:
        return
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        start, end = word.span()
        if word[0].lower() in wording.AUXILIARIES and _is_auxiliary(word[0], after[0]):
            yield Variant("not", end, f"{note[:end]} not{note[end:]}")
            return
        subject = _is_subject(before)
        if subject and before.end() + 1 == start and _is_verb(word[0]):
            yield Variant("not", start, f"{note[:start]}never {note[start:]}")
            return


def _is_subject(word: re.Match[str]) -> bool:
    """Whether a verb may follow: after a name or a pronoun, not after "The"."""
    is_name = word[0][0].isupper() and word[0] not in _OPENING
    return is_name or word[0].lower() in _SUBJECTS


def _is_auxiliary(word: str, after: str) -> bool:
    """Whether "not" can follow a form of an auxiliary: "has paid", but not "has a dog"."""
    if word.lower() not in ("has", "had", "have"):
        return True
    return after in wording.PARTICIPLES or after.endswith(("ed", "en"))


def _is_verb(word: str) -> bool:
    """Whether a word right after a subject is likely a finite verb."""
    if not word.islower() or len(word) < 3:
        return False
    return word in wording.PAST_VERBS or word.endswith("ed") or bool(re.search(r"[^s']s$", word))


def _opposites(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    del lines
    for word in _WORD.finditer(note):
        if other := wording.OPPOSITES.get(word[0].lower()):
            yield _exchanged("opposite", note, *word.span(), other)


def _certainties(note: str, lines: Sequence[str]) -> Iterator[Variant]:
    del lines
    for word in _WORD.finditer(note):
        if other := wording.LESS_CERTAIN.get(word[0].lower()):
            # "May" in the middle of a note is the month.
            if word[0] == "May" and word.start() > 0:
                continue
            yield _exchanged("certain", note, *word.span(), other)
