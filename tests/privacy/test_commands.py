"""Passwords are found where commands, headers and files of credentials have them."""

from __future__ import annotations

import pytest

from tests.helpers.secret_samples import ALNUM, HEX
from treemem.privacy.commands import find_passwords
from treemem.privacy.redactor import MARKER, Redactor

redactor = Redactor(bytes(32))
HASHES = {
    "apr1": "$apr1$" + ALNUM[:8] + "$" + ALNUM[:22],
    "bcrypt": "$2b$12$" + (ALNUM * 2)[:53],
    "sha512": "$6$" + ALNUM[:16] + "$" + (ALNUM * 3)[:86],
    "yescrypt": "$y$j9T$" + ALNUM[:22] + "$" + (ALNUM * 2)[:43],
    "argon2": "$argon2id$v=19$m=65536,t=3,p=4$" + ALNUM[:22] + "$" + (ALNUM * 2)[:43],
    "django": "pbkdf2_sha256$600000$" + ALNUM[:22] + "$" + (ALNUM * 2)[:43] + "=",
}
LINES = [
    "mysql -u root -p{} farm",
    "mysqldump -h db -ubob -p'{}' farm > x.sql",
    "sshpass -p {} ssh bob@host",
    "docker login -u bob -p {} r.test",
    "echo {} | docker login -u bob --password-stdin",
    "redis-cli -h cache -a {} ping",
    "smbclient //h/s -U bob%{}",
    "ldapsearch -D cn=admin -w {} -b dc=farm",
    "openssl rsa -in a.pem -passin pass:{}",
    "keytool -list -keystore a.jks -storepass {}",
    "zip -P {} a.zip b",
    "htpasswd -bB .htpasswd bob {}",
    "http -a bob:{} https://x.test",
    "sqlcmd -S db -U sa -P {} -Q 'x'",
    "curl -fsSu bob:{} https://x.test",
    "rabbitmqctl add_user bob {}",
    "echo 'bob:{}' | sudo chpasswd",
    "ConvertTo-SecureString '{}' -AsPlainText",
    "CREATE USER bob IDENTIFIED BY '{}';",
    "machine git.test login bob password {}",
    "machine x.test\n  login bob\n  password {}\n",
    "db.farm.test:5432:farm:bob:{}",
    "*:*:*:bob:{}",
    "postgres://bob:{}@db:5432/farm",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("password", ["Harbor-41", "tr0ub4dor"])
def test_the_password_of_a_line_is_replaced_and_nothing_else(line: str, password: str) -> None:
    redacted = redactor.redact_text(line.format(password))
    marker = MARKER.search(redacted)
    assert marker is not None
    assert redacted == line.format(marker[0])


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("instead", ["$PASSWORD", "${PASS}", "<password>", "changeme"])
def test_what_stands_for_a_password_is_left(line: str, instead: str) -> None:
    text = line.format(instead)
    assert redactor.redact_text(text) == text


@pytest.mark.parametrize(
    "text",
    ["mkdir -p build/dir", "cp -a one two", "docker run -p 8080:80 nginx",
     "docker run --name mongodb -p 27017:27017 mongo", "mysql -u root -p",
     "git login page -p", "main.py:120:5:E501:too-long1", "see mysql docs -- port 3306",
     "http://x.test:8080/a -a", "login and password are required", "echo done | tee log",
     "default login anonymous password user@site"],
)  # fmt: skip
def test_other_commands_are_left(text: str) -> None:
    assert list(find_passwords(text)) == []


@pytest.mark.parametrize(("kind", "value"), HASHES.items())
@pytest.mark.parametrize("line", ["bob:{}", "bob:{}:19000:0:99999:7:::", "password_hash = '{}'"])
def test_a_hash_of_a_password_is_found_in_its_file(kind: str, value: str, line: str) -> None:
    assert value[-20:] not in redactor.redact_text(line.format(value)), kind


@pytest.mark.parametrize(
    "line",
    ["Cookie: lang=en; sessionid={}; theme=dark", "Set-Cookie: sid={}; Path=/; HttpOnly",
     "curl -b 'session={}' https://x.test", "cookie: connect.sid=s%3A{}"],
)  # fmt: skip
def test_a_cookie_with_a_session_is_found(line: str) -> None:
    redacted = redactor.redact_text(line.format(ALNUM))
    assert ALNUM not in redacted
    assert redacted.count("[redacted: cookie #") == 1
    assert "lang=en; " in redacted or "lang" not in line


@pytest.mark.parametrize("scheme", ["Basic", "basic", "Token", "SSWS", "ApiKey", "Bearer"])
@pytest.mark.parametrize("padding", ["", "=", "=="])
def test_a_header_with_any_scheme_and_padding_is_found(scheme: str, padding: str) -> None:
    value = ALNUM[:22] + padding
    for text in (f"Authorization: {scheme} {value}", f"-H 'authorization: {scheme} {value}'",
                 f'"Authorization": "{scheme} {value}",'):  # fmt: skip
        redacted = redactor.redact_text(text)
        marker = MARKER.search(redacted)
        assert marker is not None
        assert redacted == text.replace(value, marker[0])


def test_a_secret_of_kubernetes_loses_all_its_values() -> None:
    head, data = "apiVersion: v1\nkind: Secret\n", f"data:\n  farm: {HEX[:20]}==\n  b: aGVsbG8=\n"
    for text in (head + data, data + head):
        redacted = redactor.redact_text(text)
        assert redacted.count("[redacted: secret #") == 2
        assert "apiVersion: v1" in redacted
    plain = text.replace("Secret", "ConfigMap")
    assert redactor.redact_text(plain) == plain
