"""Judges values: whether one is random, a password, or stands in the place of a secret.

Pure.

Tested in tests/privacy/test_values.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from treemem.patterns import lazy_regex
from treemem.privacy.patterns import ALGORITHM, EXAMPLE, PLACEHOLDERS, SEQUENCE

_DIGIT = lazy_regex(r"[0-9]")
_LETTER_BESIDE_DIGIT = lazy_regex(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
# Of the neighbors in a random run of letters and digits, at least every fourth are a letter and a
# digit; in names with words, years and numbers hardly any are. The share that makes a run random.
SCATTERED_SHARE = 0.1
_MEMBER = lazy_regex(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+")
_PATH = lazy_regex(r"(?:~|\.{0,2})/[\w.~/-]*|[A-Za-z]:\\.*|[A-Za-z][A-Za-z0-9+.-]{1,20}://.*")
_DIGEST = lazy_regex(r"(?:sha(?:1|256|384|512)|md5)[-:]", re.IGNORECASE)
_CASES = lazy_regex(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_VOWEL = lazy_regex(r"[aeiouy]", re.IGNORECASE)
_CONSONANTS = lazy_regex(r"[b-df-hj-np-tv-xz]{5}", re.IGNORECASE)
_WORD = lazy_regex(r"[a-z]{5}|[A-Z]{5}")
_VERSION = lazy_regex(r"v?[0-9]{1,5}(?:\.[0-9]{1,8}){1,4}(?:-[0-9]{14}-[0-9a-f]{12})?")
_FINGERPRINT = lazy_regex(r"[0-9A-F]{40}")
_WORDS = lazy_regex(r"[A-Za-z]*[0-9]{0,2}")


def is_scattered(value: str, chars_min: int) -> bool:
    """Whether a value mixes letters and digits all over, as only random values do.

    Example:
        >>> is_scattered("a8f3k2m9x7c1v5b4n6q0", 20), is_scattered("report_of_2024_part_17", 20)
        (True, False)
    """
    if len(value) < chars_min or _DIGIT.search(value) is None:
        return False
    changes = len(_LETTER_BESIDE_DIGIT.findall(value))
    if changes < max(3, SCATTERED_SHARE * len(value)) or SEQUENCE.search(value) is not None:
        return False
    return entropy_bits(value) >= 3.0


def is_random(value: str, chars_min: int, digits_min: int = 1) -> bool:
    """Whether a value looks random, unlike names, numbers and words. digits_min: applies to values
    with digits; a value without any must be long letters of both cases."""
    if len(value) < chars_min or not value.isascii() or SEQUENCE.search(value):
        return False
    letters = sum(char.isalpha() for char in value)
    digits = sum(char.isdigit() for char in value)
    if not letters or letters + digits < 0.7 * len(value):
        return False
    if 0 < digits < digits_min:
        return is_jumbled(value, 20)
    if not digits:
        mixed = not value.islower() and not value.isupper()
        letters_only = value.rstrip("=").isalpha()
        return len(value) >= 20 and mixed and letters_only and entropy_bits(value) >= 4.0
    if all(_WORDS.fullmatch(piece) for piece in re.split(r"[-_./:+=]", value)):
        return False
    return entropy_bits(value) >= min(3.0, 0.8 * math.log2(len(value)))


def is_jumbled(value: str, chars_min: int) -> bool:
    """Whether a value mixes capitals and small letters and cannot be pronounced, as random letters
    do and cannot.

    Example:
        >>> is_jumbled("tGByzDenGxNVqWhLkYuI", 20), is_jumbled("getUserTokenFromCache", 20)
        (True, False)
    """
    if len(value) < chars_min or value.islower() or value.isupper() or not value.isascii():
        return False
    if _WORD.search(value) is not None or len(_CASES.findall(value)) < 0.2 * len(value):
        return False
    vowels = len(_VOWEL.findall(value))
    sounds = _CONSONANTS.search(value) is None and vowels > 0.25 * sum(map(str.isalpha, value))
    return not sounds and entropy_bits(value) >= min(3.7, 0.8 * math.log2(len(value)))


def is_mixed(value: str) -> bool:
    """Whether a value after "Basic" or "Bearer" is not a word: it mixes upper and lower case."""
    return len(value) >= 8 and not value.isupper() and not value.islower() and not is_member(value)


def is_password(value: str) -> bool:
    """Whether a value that is announced as a password looks like one: it mixes letters with digits
    or marks, unlike words and the names of algorithms.

    Example:
        >>> is_password("Harbor-41"), is_password("required"), is_password("sha256")
        (True, False, False)
    """
    if len(value) < 6 or ALGORITHM.match(value) is not None or is_placeholder(value):
        return False
    has_letter = any(map(str.isalpha, value))
    has_digit = any(map(str.isdecimal, value))
    has_mark = any(char in "!#%&*+=?@^~$" for char in value[1:])
    if is_jumbled(value, 10):
        return True
    return has_letter and (has_digit or has_mark) and not is_member(value)


def is_fingerprint(value: str) -> bool:
    """Whether a value is the fingerprint of a public key: 40 hexadecimal digits with capitals."""
    return _FINGERPRINT.fullmatch(value) is not None


def is_member(value: str) -> bool:
    """Whether a value is code that reads a member: self.token."""
    return _MEMBER.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret, an example, a path, a digest or a variable."""
    low = value.lower().strip("<>[]{}()*_-.:;,! ")
    return (
        low in PLACEHOLDERS
        or len(set(low)) <= 2
        or EXAMPLE.search(value) is not None
        or _PATH.fullmatch(value) is not None
        or _DIGEST.match(value) is not None
        or _VERSION.fullmatch(value) is not None
        or (value[:1] in "$%@<{[(*" and not value[1:2].isdigit())
    )


def entropy_bits(value: str) -> float:
    """The Shannon entropy of the characters of a value, in bits per character.

    Example:
        >>> entropy_bits("aaaa"), entropy_bits("abcd")
        (0.0, 2.0)
    """
    total = len(value)
    shares = (count / total for count in Counter(value).values())
    return -sum(share * math.log2(share) for share in shares) + 0.0
