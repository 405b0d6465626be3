"""Tokens are found by their formats, by beginnings that tell, and by what announces them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.secret_samples import ALNUM, HEX
from treemem.privacy.patterns import PREFIXES, RUN_CHARS
from treemem.privacy.tokens import find_tokens, runs


def found(text: str) -> list[tuple[str, str]]:
    formatted, announced = find_tokens(text)
    return [(text[s.start : s.end], s.label) for s in [*formatted, *announced]]


@pytest.mark.parametrize(
    "prefix", [prefix for line in PREFIXES.values() for prefix in line.split()]
)
@pytest.mark.parametrize("place", ["use {} now", '"{}"', "x={}", "\x1b[32m{}\x1b[0m", "{}."])
def test_every_listed_beginning_is_found_in_every_place(prefix: str, place: str) -> None:
    token = prefix + ALNUM
    ((value, _),) = found(place.format(token))
    assert value.lstrip("m0123456789[") == token.lstrip("m0123456789[")


@pytest.mark.parametrize(
    "begin", ["acme_live_", "zz-api-", "foo_pat_", "test_", "my-live-", "key-"]
)
def test_an_unknown_beginning_that_tells_of_a_key_is_enough(begin: str) -> None:
    assert found(f"x {begin}{HEX[:32]} y") == [(begin + HEX[:32], "api-key")]


def test_a_token_in_base64_or_with_dots_is_found_to_its_end() -> None:
    token = f"acme_live_{ALNUM}+{ALNUM[:9]}/{ALNUM[9:14]}.{ALNUM[:20]}=="
    assert found(f"/keys/{token}, {token}/details") == [(token, "api-key")] * 2
    assert found(f"See acme_live_{ALNUM}. Then go on.")[0][0] == f"acme_live_{ALNUM}"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The Datadog API key is {}.", "api-key"),
        ("| billing token | {} |", "token"),
        ("access token (staging) -> {}", "token"),
        ("https://x.test/a?sig={}&v=1", "url-secret"),
        ("GET /maps?v=3&key={} HTTP/1.1", "url-secret"),
        ("https://chat.test/api/webhooks/123/{}", "webhook"),
    ],
)
def test_a_random_value_is_found_if_something_announces_it(text: str, label: str) -> None:
    assert found(text.format(ALNUM)) == [(ALNUM, label)]


@pytest.mark.parametrize(
    "text",
    [
        f"commit {HEX[:40]}",
        f"the token at commit {HEX[:40]} was wrong",
        f"session {ALNUM}",
        f"token count of id {ALNUM}",
        f"sha256=sk_{ALNUM}",
        f"https://x.test/{ALNUM}/hooks",
        f"toolu_{ALNUM[:24]}",
        "a token such as test_that_2_imports_of_1000_files_are_quick",
        "token = create_token_2_from_base64_and_3_more_parts(x)",
    ],
)
def test_other_random_values_are_left(text: str) -> None:
    assert found(text) == []


@given(st.text(alphabet="ab9_-. é\ud800\n", max_size=120))
def test_runs_are_all_long_stretches_of_word_characters(text: str) -> None:
    expected = []
    start = None
    for at, char in enumerate(text + " "):
        if char.isascii() and (char.isalnum() or char in "_-"):
            start = at if start is None else start
        elif start is not None:
            begins = start + len(text[start:at]) - len(text[start:at].lstrip("-"))
            if at - begins >= RUN_CHARS:
                expected.append((begins, at))
            start = None
    assert list(runs(text)) == expected
