"""A column that is named for a secret has secrets, in every kind of table."""

from __future__ import annotations

import pytest

from tests.helpers.secret_samples import ALNUM
from treemem.privacy.redactor import MARKER, Redactor

redactor = Redactor(bytes(32))
TABLES = [
    "| user | password |\n|---|---|\n| bob | {} |\n",
    "| Host | User | Password | Port |\n| --- | :-- | --- | --- |\n| db | bob | {} | 5 |\n",
    "+------+----------+\n| user | password |\n+------+----------+\n| bob  | {} |\n+------+\n",
    " user | password \n------+----------\n bob  | {}\n",
    "user     password\n----     --------\nbob      {}\n",
    "user,password,host\nbob,{},db1\n",
    '"user","passwd"\n"bob","{}"\n',
    "user;pw;host\nbob;{};db1\n",
    "user\tpassword\nbob\t{}\n",
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("before", ["", "Here they are:\n\n"])
def test_the_values_below_the_name_are_replaced(table: str, before: str) -> None:
    text = before + table.format("Harbor-41")
    redacted = redactor.redact_text(text)
    marker = MARKER.search(redacted)
    assert marker is not None
    assert redacted == before + table.format(marker[0])


def test_every_row_and_every_column_is_looked_at() -> None:
    rows = "".join(f"| bob{n} | Harbor-{n}1 | {ALNUM[n:]} |\n" for n in range(5))
    redacted = redactor.redact_text("| user | password | api token |\n|---|---|---|\n" + rows)
    assert redacted.count("[redacted: password #") == 5
    assert redacted.count("[redacted: token #") == 5


@pytest.mark.parametrize(
    "text",
    [
        "| field | password |\n|---|---|\n| type | string |\n",
        "| model | token |\n|---|---|\n| small | 4096 |\n",
        "    user,\n    password,\n    host1=host1,\n    name2=name2,\n",
        "'get_password',\n'ssh2_connect',\n'ssh2_exec',\n",
        "apt\tpasswd\t1:4.13+dfsg1\napt\tpatch\t2.7.6-7\n",
        "The user and the password\nare kept in file1.txt\n",
        "name,password\n\nbob1 said so2\n",
    ],
)
def test_other_lines_and_lists_are_left(text: str) -> None:
    assert redactor.redact_text(text) == text
