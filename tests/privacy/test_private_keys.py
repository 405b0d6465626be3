"""Private keys are found in every form in which they are written."""

from __future__ import annotations

import base64

import pytest

from tests.helpers.secret_samples import ALNUM, PEM
from treemem.privacy.redactor import Redactor

redactor = Redactor(bytes(32))
LINES = "\n".join([ALNUM + ALNUM[:28]] * 3)
PUTTY = (
    "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: bob\nPublic-Lines: 1\n"
    f"{ALNUM}\nPrivate-Lines: 3\n{LINES}\nPrivate-MAC: 00ff\n"
)


def test_a_putty_key_loses_its_private_lines_only() -> None:
    redacted = redactor.redact_text(PUTTY)
    assert redacted.startswith(PUTTY[: PUTTY.index("Private-Lines")])
    assert LINES.split("\n")[2] not in redacted.partition("Private-Lines")[2]
    assert redacted.endswith("]\nPrivate-MAC: 00ff\n")


@pytest.mark.parametrize("kind", ["RSA PRIVATE", "PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE"])
@pytest.mark.parametrize("wrap", [0, 76])
def test_a_key_in_base64_is_found_and_a_certificate_is_not(kind: str, wrap: int) -> None:
    pem = PEM.replace("RSA PRIVATE", kind)
    for text, is_secret in ((pem, True), (pem.replace(f"{kind} " + "KEY", "CERTIFICATE"), False)):
        encoded = base64.b64encode(text.encode()).decode()
        if wrap:
            encoded = "\n".join(encoded[at : at + wrap] for at in range(0, len(encoded), wrap))
        redacted = redactor.redact_text(f"tls:\n{encoded}\nafter it")
        assert (encoded[20:60] in redacted) != is_secret
        assert redacted.startswith("tls:\n")
        assert redacted.endswith("\nafter it")


def test_the_private_parts_of_a_jwk_are_found_and_the_public_ones_are_not() -> None:
    public, private = ALNUM[::-1], ALNUM
    text = f'{{"kty": "EC", "x": "{public}", "d": "{private}"}} {{"d": "{private}"}}'
    redacted = redactor.redact_text(text)
    assert public in redacted
    assert redacted.count(private) == 1
    escaped = text.replace('"', '\\"')
    assert redactor.redact_text(escaped).count(private) == 1
