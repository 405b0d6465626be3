"""Secrets are found and replaced, equal ones by equal markers; nothing else is touched."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.secret_samples import ALNUM, HEX, ORDINARY, PEM, SECRETS
from treemem.privacy.assignments import assigned
from treemem.privacy.redactor import MARKER, Redactor, markers
from treemem.types import Message, Part

KEY = bytes(range(32))
redactor = Redactor(KEY)
SECONDS_A_MEGABYTE_MAX = 60.0  # measured: at most 5 on one busy core; a square would take hours

texts = st.lists(
    st.one_of(
        st.sampled_from([text for text, _, _ in SECRETS] + ORDINARY),
        st.text(max_size=12),
        st.sampled_from([" ", "\n", '"', "'", "=", ": ", "\\", "-", "_", "@", "://", ";", "İ"]),
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize(
    ("text", "secret", "label"), SECRETS, ids=[sample[0] for sample in SECRETS]
)
def test_a_secret_is_replaced_and_the_text_around_it_is_not(
    text: str, secret: str, label: str
) -> None:
    redacted = redactor.redact_text(text)
    assert secret not in redacted
    (marker,) = markers(redacted)
    assert MARKER.fullmatch(marker)[1] == label  # type: ignore[index]
    assert redacted == text.replace(secret, marker)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_code_is_left_as_it_is(text: str) -> None:
    assert redactor.redact_text(text) is text


@given(texts)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redactor.redact_text(text)
    assert redactor.redact_text(once) == once


@given(st.lists(st.sampled_from(SECRETS), min_size=1, max_size=6))
def test_no_secret_survives_among_others(samples: list[tuple[str, str, str]]) -> None:
    redacted = redactor.redact_text("\n\n".join(text for text, _, _ in samples))
    assert [secret for _, secret, _ in samples if secret in redacted] == []


@given(texts, st.lists(st.integers(0, 400), min_size=2, max_size=8))
def test_parts_cover_the_same_words_after_redaction(text: str, cuts: list[int]) -> None:
    """What lies between secrets is the same in the new text, part by part."""
    edges = sorted({min(cut, len(text)) for cut in cuts})
    parts = tuple(Part("text", start, end) for start, end in itertools.pairwise(edges))
    message = redactor.redact(Message(text=text, parts=parts))
    assert [part.start for part in message.parts] == sorted(part.start for part in message.parts)
    secrets = redactor.secrets(text)
    alone = redactor.secrets(message.text) == [] and len(markers(text)) == 0
    for before, after in zip(parts, message.parts, strict=True):
        assert 0 <= after.start <= after.end <= len(message.text)
        crossed = [s for s in secrets if s.start < before.end and before.start < s.end]
        if not crossed and alone:
            assert message.text[after.start : after.end] in (
                text[before.start : before.end],
                redactor.redact_text(text[before.start : before.end]),
            )


def test_a_part_that_begins_within_a_secret_begins_behind_its_marker() -> None:
    text = "a ghp_" + ALNUM + " z"
    parts = (
        Part("text", 0, 10),
        Part("tool_use", 10, len(text)),
        Part("marker", 5, 9),
        Part("thinking", 2, 42),
    )
    message = redactor.redact(Message(text=text, parts=parts))
    covered = [message.text[part.start : part.end] for part in message.parts]
    (marker,) = markers(message.text)
    assert covered == [f"a {marker}", " z", marker, marker]


def test_a_message_without_secrets_is_the_same_object() -> None:
    message = Message(text="nothing here", author="Ana")
    assert redactor.redact(message) is message


def test_an_authors_name_is_redacted_too() -> None:
    message = redactor.redact(Message(text="hi", author="bot ghp_" + ALNUM))
    assert message.author is not None
    assert MARKER.search(message.author)


def test_equal_secrets_have_equal_markers_under_one_key_only() -> None:
    one, two = 'password = "hunter2"', "login --password hunter2"
    assert markers(redactor.redact_text(one)) == markers(redactor.redact_text(two))
    other = Redactor(b"x" * 32)
    assert markers(other.redact_text(one)) != markers(redactor.redact_text(one))


def test_a_private_key_is_the_same_however_its_lines_are_broken() -> None:
    in_json = PEM.replace("\n", "\\n")
    assert redactor.redact_text(PEM) == redactor.redact_text(in_json)


def test_a_private_key_that_was_cut_is_redacted() -> None:
    head, tail = PEM[:200], PEM[200:]
    for text in (f"{head}\n\nThat was it.", f"It ends so:\n\n{tail}\nThat was it."):
        redacted = redactor.redact_text(text)
        assert redacted.endswith("That was it.")
        assert ALNUM not in redacted
        assert redacted.startswith(("[redacted: ", "It ends so:"))


def test_a_marker_is_never_taken_for_a_secret() -> None:
    text = 'password = "[redacted: password #3f2a]", token=[redacted: jwt #00ff]'
    assert redactor.redact_text(text) is text


def test_many_tokens_in_one_run_are_all_found() -> None:
    text = ("ghp_" + ALNUM + "-") * 300
    assert ALNUM not in redactor.redact_text(text)


def test_an_allowed_value_stays() -> None:
    text = 'password = "hunter2" and "ghp_' + ALNUM + '"'
    (fingerprint,) = (marker[-6:-1] for marker in markers(redactor.redact_text(text))
                      if "password" in marker)  # fmt: skip
    for pattern in (fingerprint, "hunter2", "h?nter*"):
        redacted = Redactor(KEY, [pattern]).redact_text(text)
        assert "hunter2" in redacted
        assert ALNUM not in redacted
    assert "hunter2" not in Redactor(KEY, ["hunter", "#ffff"]).redact_text(text)


def test_an_excerpt_loses_pieces_of_secrets_as_well() -> None:
    for cut in (ALNUM[5:25] + " rest", '{"x":1,"password": "hun', "token=ab", HEX[3:20]):
        redacted = redactor.redact_excerpt(f"120 characters: {cut}")
        assert redacted.startswith("120 characters: ")
        assert not any(piece in redacted for piece in ("hun", "ab", HEX[3:12], ALNUM[5:15]))


PII = {
    "mail ana.b@example.org now": "ana.b@example.org",
    "call +43 660 123 45 67 now": "+43 660 123 45 67",
    "call (555) 010-9999 now": "(555) 010-9999",
    "pay DE89 3704 0044 0532 0130 00 now": "DE89 3704 0044 0532 0130 00",
    "card 4111 1111 1111 1111 now": "4111 1111 1111 1111",
}


@pytest.mark.parametrize(("text", "datum"), PII.items())
def test_personal_data_is_redacted_only_on_request(text: str, datum: str) -> None:
    assert redactor.redact_text(text) is text
    redacted = Redactor(KEY, pii=True).redact_text(text)
    assert datum not in redacted
    assert redacted.endswith("] now")


@pytest.mark.parametrize(
    "text",
    ["version 1.2.3", "2026-01-05 09:00:12", "id 4111 1111 1111 1112", "1234567890123",
     "DE00 3704 0044 0532 0130 00",
     "192.168.100.200", "5c0375b4-57a5-4f26-b12d-d022ee4e51b7", "@decorator"],
)  # fmt: skip
def test_ordinary_numbers_are_not_personal_data(text: str) -> None:
    assert Redactor(KEY, pii=True).redact_text(text) is text


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "sk-a", "password=", 'password="', "password:", "token=", "token: ", "a_" * 10, "eyJ-",
     "-----BEGIN PRIVATE " + "KEY-----", "-----END PRIVATE " + "KEY-----", "://u:p@", "curl -u a:",
     "authorization: bearer ", "QUJDabcd0123QUJDabcd0123\n", "+1 2", "a@a.", "DE12 ", '="\\',
     "[redacted: x #1234] password='hunter2z' ", "pw ", "password|", "user,password\nbob,a1b2c3\n",
     "mysql -pabc ", "docker login -p x ", "echo -n a:b|", "*:*:", "cookie: ", "kind: Secret\n",
     "data:\n a: bcde\n kind: Secret\n", '{"kty":"d":"' + ALNUM + '",', "Private-Lines: 3\n",
     "LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVk\n", "a\\\n", "\u200b", "\x1b[0m", "?key=" + ALNUM,
     "token " + ALNUM + " ", "foo_live_" + ALNUM + "_", "https://hook/" + ALNUM + "/", "$6$a$",
     'password" type: string\n', '"name":"token","value":"', "<td>token</td>",
     "the key for a b c "],
)  # fmt: skip
def test_no_text_takes_long(piece: str) -> None:
    """A tenth of a megabyte each: where time grew with the square, this would take minutes."""
    size = 100_000
    text = (piece * (size // len(piece) + 1))[:size]
    began = time.perf_counter()
    Redactor(KEY, pii=True).redact_text(text)
    assert time.perf_counter() - began < SECONDS_A_MEGABYTE_MAX / 10


def test_offsets_are_right_behind_letters_that_get_longer_in_lower_case() -> None:
    text = "İİİ password = 'hunter2' İ"
    ((start, end, _),) = assigned(text)
    assert text[start:end] == "hunter2"
