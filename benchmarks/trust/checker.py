"""Checks independently whether the cited messages support a statement.

Pure, and imports nothing of treemem, so that a fault in its checks cannot hide here. Looks for
single items that a statement has and its messages have not, and reports nothing where it is unsure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.trust import quantities
from benchmarks.wording import STOP_WORDS, content_stems, folded, sentences, straight

# Share of a clause's content words that another clause needs to be taken for its source.
COVERED_MIN = 0.6
# Clauses of fewer content words are not compared.
CONTENT_MIN = 2


@dataclass(frozen=True, slots=True)
class Cited:
    """A cited message. speaker: the author's name, or the role if it is unknown."""

    speaker: str
    text: str
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Finding:
    """An item of a statement that its messages do not support.

    kind: "number", "date", "name", "identifier", "quotation", "negation" or "speaker".
    """

    kind: str
    item: str


def unsupported(
    text: str, cited: Sequence[Cited], known_names: Collection[str] = ()
) -> list[Finding]:
    """The items of a statement that no cited message has in its text or as its speaker.

    known_names: names of people, which count as names even at the start of a sentence.

    Example:
        >>> unsupported("Ana ordered 12 pumps.", [Cited("Ana", "I ordered two pumps.")])
        [Finding(kind='number', item='12')]
    """
    source = "\n".join(f"{message.speaker}: {message.text}" for message in cited)
    quotations, plain = _quotations(straight(text), source)
    identifiers, plain = _identifiers(plain, source)
    dates, plain = quantities.unknown_dates(plain, source)
    return [
        *quotations,
        *identifiers,
        *(Finding("date", item) for item in dates),
        *(Finding("number", item) for item in quantities.unknown_numbers(plain, source)),
        *_names(plain, source, known_names),
        *_negation(text, cited),
    ]


# -- quotations, identifiers, names ----------------------------------------------------

_QUOTED = re.compile(r"\"([^\"\n]{2,120})\"|`([^`\n]{1,120})`|(?<!\w)'([^'\n]{2,120})'(?!\w)")
_IDENTIFIER = re.compile(
    r"""https?://[^\s<>()\[\]"']+ | www\.[^\s<>()"']+ | [\w.+-]+@[\w-]+\.[\w.]+
    | (?:~|\.{1,2})?(?:/[\w.@-]+)+/? | \w[\w.@-]*(?:/[\w.@-]+)+
    | (?<!\w)--?[a-z][\w-]*\b | \b\w*_\w+\b | \b[a-z]+[A-Z]\w*\b | \b[A-Z][a-z]+[A-Z]\w*\b
    | \bv?\d+(?:\.\d+){2,}\b | \b[A-Z]{2,}-?\d[\w-]*\b | \b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b
    | \b\w{2,}\.(?:[a-z]{2,4}|[chrs]|py|js|ts|md)\b | \b\w+\(\)""",
    re.VERBOSE,
)
_SLASHED_WORDS = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)+")
_NAME = re.compile(r"\b[A-Z][\w]*(?:'[A-Za-z]+)?")
_STARTS = re.compile(r"(?:^|[.!?:;\"(]\s+|\n)[\"'(\[]*(?=\w)")
_PERSON_DOES = re.compile(
    r"\s+(?:said|says|asked|asks|told|tells|wants|wanted|likes|liked|loves|loved|thinks|thought"
    r"|decided|suggested|suggests|agreed|agrees|went|bought|ordered|plans|planned|works|worked"
    r"|lives|lived|mentioned|explained|shared|visited|sent|wrote|met|felt|feels|hopes|hoped)\b"
)


def _quotations(text: str, source: str) -> tuple[list[Finding], str]:
    """Quotations that are not in the source, and the text with "it" for each."""
    known, findings = folded(source), []
    for match in _QUOTED.finditer(text):
        quoted = next(group for group in match.groups() if group is not None)
        if folded(quoted).strip(" .,;:!?") not in known:
            findings.append(Finding("quotation", quoted))
    return findings, _QUOTED.sub(" it ", text)


def _identifiers(text: str, source: str) -> tuple[list[Finding], str]:
    """Paths, addresses and identifiers not in the source, and the text with "it" for each."""
    known, findings = folded(source), []
    for match in _IDENTIFIER.finditer(text):
        item = match.group().rstrip(".,;:/")
        words = _SLASHED_WORDS.fullmatch(item)  # "read/write" may stand for "read and write"
        parts = folded(item).split("/") if words else [folded(item)]
        if folded(item) not in known and not (words and _all_words(parts, known)):
            findings.append(Finding("identifier", item))
    return findings, _IDENTIFIER.sub(" it ", text)


def _all_words(words: Sequence[str], known: str) -> bool:
    return all(re.search(rf"\b{re.escape(word)}\b", known) or word in STOP_WORDS for word in words)


def _names(text: str, source: str, known_names: Collection[str]) -> Iterator[Finding]:
    known = set(re.findall(r"\w+", folded(source)))
    people = {word for name in known_names for word in folded(name).split()}
    starts = {match.end() for match in _STARTS.finditer(text)}
    for match in _NAME.finditer(text):
        word = folded(match.group()).partition("'")[0]
        if len(word) < 2 or word in STOP_WORDS or word in ("user", "assistant"):
            continue
        if {word, word.removesuffix("s"), word.removesuffix("es"), word + "s"} & known:
            continue
        # The first word of a sentence has a capital anyway: it is a name only if it is a known
        # one, or if its verb is one for people.
        does = _PERSON_DOES.match(text, match.end())
        if match.start() in starts and word not in people and not does:
            continue
        if match.start() in starts and does and content_stems(word) <= content_stems(source):
            continue
        yield Finding("name", match.group())


# -- negation --------------------------------------------------------------------------

_NOT = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n't)\b"
)
# Words that can reverse a sentence without a not: beside one of them nothing is certain.
_TURNING = re.compile(
    r"\b(?:fail\w*|unable|impossible|miss(?:es|ed|ing)|lack\w*|refus\w*|reject\w*|avoid\w*|stop\w*"
    r"|prevent\w*|forb[ia]d\w*|instead|rather|except|unless|hardly|barely|un\w{4,}|off|den(?:y|ied)"
    r"|only|until|few|little|wrong|against|skip\w*|drop\w*|remov\w*|exclud\w*|less)\b"
)
_NO_NEGATION = re.compile(
    r"^\W*no\s*[,.!]|\bno (?:problem|worries|doubt)\b|\bnot only\b|\bwhy not\b|\bno\.\s*\d"
    r"|\b(?:\w+n't|not) (?:you|it|we|they|he|she|i)\b[^.]*\?"
)
_CLAUSE_END = re.compile(
    r"[,;:()]|\s-+\s|\b(?:but|because|since|although|though|while|whereas|so)\b"
)


def _negation(text: str, cited: Sequence[Cited]) -> Iterator[Finding]:
    """A negation that was lost or gained, clause by clause."""
    lines = [line for message in cited for line in sentences(message.text)]
    stems = [(content_stems(clause), clause) for line in lines for clause in _cut(line)]
    for clause in (clause for line in sentences(text) for clause in _cut(line)):
        change = _change(clause, stems)
        if change:
            yield Finding("negation", change)


def _change(clause: str, source: Sequence[tuple[set[str], str]]) -> str:
    """ "lost" or "gained", compared with the source clauses that share most words; else ""."""
    own = content_stems(clause)
    negative = _is_negative(clause)
    if len(own) < CONTENT_MIN or _TURNING.search(clause) or clause.endswith("?"):
        return ""
    most = max((len(own & stems) for stems, _ in source), default=0)
    if most < COVERED_MIN * len(own):
        # No single clause says it, but one of them must have the negation.
        known = any(_is_negative(other) or _TURNING.search(other) for _, other in source)
        return "gained" if negative and not known else ""
    nearest = [other for stems, other in source if len(own & stems) == most]
    if any(_TURNING.search(other) or other.endswith("?") for other in nearest):
        return ""
    if all(_is_negative(other) != negative for other in nearest):
        return "gained" if negative else "lost"
    return ""


def _cut(sentence: str) -> list[str]:
    """The clauses of a sentence."""
    plain = _NO_NEGATION.sub(" ", folded(sentence))
    question = "?" if plain.endswith("?") else ""
    return [piece.strip() + question for piece in _CLAUSE_END.split(plain) if piece.strip()]


def _is_negative(text: str) -> bool:
    return _NOT.search(_NO_NEGATION.sub(" ", folded(text))) is not None


# -- who said it -----------------------------------------------------------------------

_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b")
_ROLES = ("user", "assistant")


def wrong_speaker(text: str, cited: Sequence[Cited], speakers: Collection[str]) -> list[Finding]:
    """Whether a statement attributes to a speaker what somebody else said of themselves.

    speakers: all speakers of the conversation. A statement that does not begin with one of them
    is about a thing, and passes.

    Example:
        >>> talk = [Cited("Ben", "I bought a boat.")]
        >>> wrong_speaker("Ana bought a boat.", talk, ["Ana", "Ben"])
        [Finding(kind='speaker', item='Ana, who is neither author nor named')]
    """
    subject = _subject(text, speakers)
    if subject is None:
        return []
    own = [message for message in cited if _is_by(message, subject)]
    others = [message for message in cited if not _is_by(message, subject)]
    if not own and not any(_names_person(message.text, subject) for message in cited):
        return [Finding("speaker", f"{subject}, who is neither author nor named")]
    best_own = max((_nearest(text, message)[0] for message in own), default=0)
    for message in others:
        shared, sentence = _nearest(text, message)
        is_of_self = _FIRST_PERSON.search(folded(sentence)) is not None
        if is_of_self and shared > 2 * best_own and not _names_person(sentence, subject):
            return [Finding("speaker", f"{subject}, but {message.speaker} said it of themselves")]
    return []


def _subject(text: str, speakers: Collection[str]) -> str | None:
    """The speaker that the statement begins with; None for an address ("Ana, look")."""
    head = re.sub(r"^(?:the|both)\s+", "", folded(text).lstrip("\"'( "))
    for name in sorted({*speakers, *_ROLES}, key=len, reverse=True):
        plain = re.escape(folded(name))
        if re.match(rf"{plain}\b(?!,\s*(?!who\b))(?!-)(?!\s*[/.]\w)", head):
            return name
    return None


def _is_by(message: Cited, subject: str) -> bool:
    return folded(subject) in (folded(message.speaker), folded(message.role))


def _names_person(text: str, subject: str) -> bool:
    """Whether a text mentions a person: by name, or by "you" beside the name as an address."""
    plain, name = folded(text), re.escape(folded(subject))
    addressed = rf"(?:^|[,.!?]\s*|\b(?:hey|hi|hello|thanks|wow|yeah|yes|no|oh)\s+){name}\s*[,.!?]"
    if re.search(rf"\b{name}\b", re.sub(addressed, " ", plain)):
        return True
    return bool(re.search(rf"\b{name}\b", plain) and re.search(r"\byou(?:r|'\w+)?\b", plain))


def _nearest(text: str, message: Cited) -> tuple[int, str]:
    """The message's sentence that shares most content words with the statement, and how many."""
    own = content_stems(text) - content_stems(message.speaker)
    scored = [(len(own & content_stems(line)), line) for line in sentences(straight(message.text))]
    return max(scored, key=lambda pair: pair[0], default=(0, ""))
