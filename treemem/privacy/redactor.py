"""Finds secrets in texts and replaces them with markers such as `[redacted: aws-key #3f2a]`.

Pure. A marker contains four hex digits of a keyed hash, so that equal secrets get equal markers.
Markers are never treated as secrets, so redaction is idempotent. patterns.py lists the formats of
secrets, and assignments.py finds values assigned to names.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.privacy.assignments import assigned
from treemem.privacy.commands import find_passwords
from treemem.privacy.denied import LABEL as DENIED
from treemem.privacy.denied import Denied, digest
from treemem.privacy.disguises import joined, span_before, without_breaks
from treemem.privacy.patterns import EXAMPLE, ODD_TOKENS, PII
from treemem.privacy.private_keys import find_private_keys
from treemem.privacy.tokens import Secret, find_tokens
from treemem.types import Message, Part

FINGERPRINT = lazy_regex(r"#[0-9a-f]{4}")
MARKER = lazy_regex(r"\[redacted: ([a-z0-9-]{1,40}) #[0-9a-f]{4}\]")
# The length of the key for fingerprints.
KEY_BYTES = 32
# A text is searched at most this many times, again after each round of replacements.
ROUNDS_MAX = 8
# In a text that was cut, a run of this many characters may be part of a secret.
CUT_RUN_CHARS = 16


def markers(text: str) -> Counter[str]:
    """The markers in a text, and how often each occurs.

    Example:
        >>> dict(markers("use [redacted: jwt #00ff]"))
        {'[redacted: jwt #00ff]': 1}
    """
    if "[redacted: " not in text:
        return Counter()
    return Counter(match[0] for match in MARKER.finditer(text))


def markers_in(text: str, author: str | None) -> Counter[str]:
    """The markers in a message's text and author's name."""
    return markers(f"{author or ''}\n{text}")


def labels_added(before: Message, after: Message) -> list[str]:
    """The labels of the secrets that were redacted in a message, one per secret."""
    added = markers_in(after.text, after.author) - markers_in(before.text, before.author)
    return [label_of(marker) for marker in added.elements()]


def label_of(marker: str) -> str:
    """The label in a marker.

    Example:
        >>> label_of("[redacted: jwt #00ff]")
        'jwt'
    """
    match = MARKER.fullmatch(marker)
    assert match is not None, marker
    return match[1]


class Redactor:
    """Replaces secrets with markers.

    key: KEY_BYTES random bytes of one memory file, for fingerprints. allow: exceptions, each a
    value with the wildcards * and ?, or a fingerprint such as "#3f2a". pii: also redacts e-mail
    addresses, phone numbers, IBANs and card numbers. deny: what is always redacted, see denied.py.
    """

    def __init__(
        self,
        key: bytes,
        allow: Sequence[str] = (),
        *,
        pii: bool = False,
        deny: Sequence[str] = (),
    ) -> None:
        self._key = key
        self._denied = Denied(deny, key) if deny else None
        self._pii = pii
        self._allowed = frozenset(filter(FINGERPRINT.fullmatch, allow))
        patterns = [fnmatch.translate(value) for value in allow if value not in self._allowed]
        self._patterns = re.compile("|".join(patterns)) if patterns else None

    def redact(self, message: Message) -> Message:
        """The message without secrets in its text and author's name; the same object if there are
        none. Its parts cover the same words as before: a part within a secret covers the marker,
        and one that begins or ends within a secret begins or ends after the marker."""
        text, moves = self._redacted(message.text)
        author = None if message.author is None else self.redact_text(message.author)
        if text is message.text and author == message.author:
            return message
        parts = tuple(_moved(part, moves) for part in message.parts) if moves else message.parts
        return replace(message, text=text, author=author, parts=parts)

    def redact_text(self, text: str) -> str:
        """The text without secrets; the same object if there are none."""
        return self._redacted(text)[0]

    def redact_excerpt(self, text: str) -> str:
        """Like redact_text, for a text that was cut: also replaces long runs of characters, which
        may be parts of secrets, and everything after the name of a secret with "…"."""
        text = self.redact_text(text)
        text = _LONG_RUN.sub("…", text)
        name = _NAME.search(text)
        return text if name is None else text[: name.end()] + "…"

    def secrets(self, text: str) -> list[Secret]:
        """The secrets of a text, in order. They overlap neither each other nor a marker."""
        candidates = self._candidates(text)
        if (whole := joined(text)) is not None:
            candidates += [
                Secret(*span_before(whole, secret.start, secret.end), secret.label)
                for secret in self._candidates(whole.text)
            ]
        if not candidates:
            return []
        return _united([
            secret for secret in _outside_markers(text, candidates)
            if secret.label == DENIED
            or not self._is_allowed(text[secret.start : secret.end], secret.label)
        ])  # fmt: skip

    def _candidates(self, text: str) -> list[Secret]:
        """What may be secrets, the more specific first: what is denied, formats, assignments, and
        what is announced."""
        formatted, announced = find_tokens(text)
        candidates = [] if self._denied is None else list(self._denied.secrets(text))
        candidates += [
            *find_private_keys(text),
            *formatted,
            *_odd_tokens(text),
            *find_passwords(text),
        ]
        candidates += [Secret(*assignment) for assignment in assigned(text)]
        candidates += announced
        if self._pii:
            candidates += _personal(text)
        return candidates

    def marker(self, secret: str, label: str) -> str:
        """The marker that replaces a secret."""
        return f"[redacted: {label} {self._fingerprint(secret, label)}]"

    def _fingerprint(self, secret: str, label: str) -> str:
        if label == "private-key":  # equal keys may have different line breaks
            secret = re.sub(r"\\[nrt]|\s", "", secret)
        return "#" + digest(without_breaks(secret), self._key)[:4]

    def _is_allowed(self, secret: str, label: str) -> bool:
        if self._allowed and self._fingerprint(secret, label) in self._allowed:
            return True
        return self._patterns is not None and self._patterns.match(secret) is not None

    def _redacted(self, text: str) -> tuple[str, list[_Moves]]:
        """The redacted text, and the moves of each round: some secrets are found only after a
        neighboring one is replaced."""
        moves = []
        for _ in range(ROUNDS_MAX):
            secrets = self.secrets(text)
            if not secrets:
                break
            replacements = [self.marker(text[s.start : s.end], s.label) for s in secrets]
            moves.append(_Moves.of(secrets, replacements))
            text = _replaced(text, secrets, replacements)
        return text, moves


def _outside_markers(text: str, secrets: Iterable[Secret]) -> Iterator[Secret]:
    taken = [match.span() for match in MARKER.finditer(text)]
    ends = [end for _, end in taken]
    for secret in secrets:
        at = bisect_right(ends, secret.start)
        if secret.start < secret.end and (at == len(taken) or taken[at][0] >= secret.end):
            yield secret


def _replaced(text: str, secrets: Sequence[Secret], replacements: Sequence[str]) -> str:
    pieces, at = [], 0
    for secret, marker in zip(secrets, replacements, strict=True):
        pieces += [text[at : secret.start], marker]
        at = secret.end
    return "".join([*pieces, text[at:]])


# -- offsets ---------------------------------------------------------------------------


class _Moves(NamedTuple):
    """The offsets of one round's secrets, and by how many characters the text after each moves."""

    starts: list[int]
    ends: list[int]
    shifts: list[int]

    @classmethod
    def of(cls, secrets: Sequence[Secret], replacements: Sequence[str]) -> _Moves:
        shifts, shift = [], 0
        for secret, marker in zip(secrets, replacements, strict=True):
            shift += len(marker) - (secret.end - secret.start)
            shifts.append(shift)
        return cls([secret.start for secret in secrets], [secret.end for secret in secrets], shifts)

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """Maps a range of the old text to the new one. A range within a secret becomes the whole
        marker; otherwise an offset within a secret moves to the end of its marker."""
        first, last = self._within(start), self._within(end)
        inside = first is not None and end <= self.ends[first]
        new_start = self._shifted(start)
        if first is not None:
            new_start = self._shifted(self.starts[first] if inside else self.ends[first])
        return new_start, self._shifted(end if last is None else self.ends[last])

    def _within(self, offset: int) -> int | None:
        """The index of the secret that contains an offset; None if no secret does."""
        at = bisect_right(self.starts, offset) - 1
        return at if at >= 0 and self.starts[at] < offset < self.ends[at] else None

    def _shifted(self, offset: int) -> int:
        """The new value of an offset that is not within a secret."""
        at = bisect_right(self.ends, offset) - 1
        return offset + (self.shifts[at] if at >= 0 else 0)


def _moved(part: Part, rounds: Iterable[_Moves]) -> Part:
    start, end = part.start, part.end
    for moves in rounds:
        start, end = moves.moved(start, end)
    return replace(part, start=start, end=end)


def _united(secrets: Sequence[Secret]) -> list[Secret]:
    """Sorts the secrets and merges overlapping ones. A merged one gets the label that comes first
    in the argument, since a format is more specific than an assignment."""
    rank = {secret: number for number, secret in reversed(list(enumerate(secrets)))}
    united: list[tuple[int, Secret]] = []
    for secret in sorted(rank):
        if united and secret.start < united[-1][1].end:
            number, before = united[-1]
            label = secret.label if rank[secret] < number else before.label
            joined = Secret(before.start, max(before.end, secret.end), label)
            united[-1] = min(number, rank[secret]), joined
        else:
            united.append((rank[secret], secret))
    return [secret for _, secret in united]


# -- texts that were cut ---------------------------------------------------------------

_LONG_RUN = lazy_regex(rf"[A-Za-z0-9+/=_-]{{{CUT_RUN_CHARS},}}")
_NAME = lazy_regex(
    r"(?:pass(?:word|wd|phrase)?|pwd?|secret|token|key|auth\w{0,10}|credentials?)[\"'\\]{0,4}\s{0,4}[=:]",
    re.IGNORECASE,
)  # fmt: skip


# -- tokens without a long run of characters -------------------------------------------

_ODD = tuple((rule.label, rule.begins, lazy_regex(rule.rest)) for rule in ODD_TOKENS)


def _odd_tokens(text: str) -> Iterator[Secret]:
    for label, literal, pattern in _ODD:
        if literal[-1] in text and literal in text:
            for token in pattern.finditer(text):
                if EXAMPLE.search(token[0]) is None:
                    yield Secret(*token.span(), label)


# -- personal data ---------------------------------------------------------------------

_PII = tuple((rule.label, lazy_regex(rule.rest)) for rule in PII)


def has_personal_data(text: str) -> bool:
    """Whether a text has an address, or a number of a phone, a card or an account."""
    return next(_personal(text), None) is not None


def _personal(text: str) -> Iterator[Secret]:
    for label, pattern in _PII:
        if label == "email" and "@" not in text:
            continue
        for match in pattern.finditer(text):
            digits = [int(char) for char in match[0] if char.isdecimal()]
            if label == "credit-card" and not (13 <= len(digits) <= 19 and _luhn(digits)):
                continue
            if label == "iban" and not _iban(match[0]):
                continue
            yield Secret(*match.span(), label)


def _luhn(digits: Sequence[int]) -> bool:
    """Whether the check digit of a card number is valid (ISO/IEC 7812-1)."""
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10))
               for at, digit in enumerate(reversed(digits))]  # fmt: skip
    return sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    """Whether the check digits of an IBAN are valid (ISO 13616): it is 1 modulo 97."""
    plain = text.replace(" ", "")
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1
