"""A value behind the name of a secret is found in every syntax, and code is left as it is."""

from __future__ import annotations

import pytest

from tests.helpers.secret_samples import ALNUM
from treemem.privacy.redactor import MARKER, Redactor

redactor = Redactor(bytes(32))
SYNTAXES = [
    "pw: {}",
    "DB_PASSWD={}",
    "  password: {}\n  port: 5432",
    "ENV DB_PASSWORD {}",
    "ENV A=1 DB_PASSWORD={} B=2",
    "setx DB_PASSWORD {}",
    "- name: DB_PASSWORD\n  value: {}\n",
    "admin_password:\n    value: {}\n",
    '{{"name": "DB_PASSWORD", "value": "{}"}}',
    'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
    'variable "db_password" {{\n  description = "x"\n  default     = "{}"\n}}',
    '<add key="Password" value="{}" />',
    "<tr><td>Password</td><td>{}</td></tr>",
    "<key>Password</key>\n  <string>{}</string>",
    "the password is {}, as before",
    "the root password for the new box is {}.",
    "Password (for bob): {}",
    "* **Password:** {}",
    "Password → {}",
    "login with password {} please",
    "<td>x</td> passphrase: {}",
    'setPassword("{}")',
    'os.environ.get("DB_PASSWORD", "{}")',
    'process.env.DB_PASSWORD || "{}"',
    'secret_password_value = "{}"',
    "-Dpassword={} deploy",
    "keystore.password={}\n",
]
SECRET_SYNTAXES = [
    "REFRESH_TOKEN={}",
    "access token = {}",
    "API_KEY := {}",
    "Stripe-Key: {}",
    "openai_key: {}",
    "api_key_prod={}",
    'getenv("API_TOKEN") ?: "{}"',
    "| API key | {} |",
    "API key:\n{}\n",
    "{{'clientSecret': '{}'}}",
]


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("password", ["Harbor-417", "marble216!", "tGByzDenGxNV"])
def test_a_password_is_replaced_and_nothing_else(syntax: str, password: str) -> None:
    redacted = redactor.redact_text(syntax.format(password))
    marker = MARKER.search(redacted)
    assert marker is not None
    assert redacted == syntax.format(marker[0])


@pytest.mark.parametrize("syntax", SECRET_SYNTAXES)
@pytest.mark.parametrize("value", [ALNUM, ALNUM[:10] + "/" + ALNUM[12:30] + "==",
                                   ALNUM[:12] + "." + ALNUM[12:] + "." + ALNUM[:20]])  # fmt: skip
def test_a_secret_is_replaced_with_its_padding_and_its_dots(syntax: str, value: str) -> None:
    redacted = redactor.redact_text(syntax.format(value))
    marker = MARKER.search(redacted)
    assert marker is not None
    assert redacted == syntax.format(marker[0])


@pytest.mark.parametrize(
    "text",
    [
        "the password is required for users",
        "We have to pass `extras` along and pass --verbose",
        "hash_password(password1)",
        "password: Optional[str] = None",
        'os.environ.get("DB_PASSWORD", "")',
        '<string name="password">Password</string>',
        "<td>Password</td><td>required</td>",
        'CHALLENGE_PASSWORD: "challengePassword"',
        "cache_key = '9f86d081884c7d659a2feaa0c55ad015'",
        "<releaseManagerKey>" + "B6E73D84EA4FCC47" + "166087253FAAD2CD5ECBB314</releaseManagerKey>",
        "'Test::Pass' => '1.302103',",
        "the token is an integer between 1 and 3",
        'METHOD can be "trust", "password", "scram-sha-256"',
        "encode(private_key: ed25519.Ed25519PrivateKey)",
        'CONV_PW1: "a.blk.{bid}.conv_pw1"',
    ],
)
def test_code_and_prose_are_left(text: str) -> None:
    assert redactor.redact_text(text) == text
