"""Tests mailboxes and single mails: threads, encodings, quotes and attachments."""

from __future__ import annotations

import io
import time
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.reading import (
    assert_reads,
    events_of,
    messages_in,
    mutated,
    reasons_in,
    sources_in,
)
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.mail.html_text import text_of
from treemem.importers.mail.importer import _mails
from treemem.types import Source


def mail(
    number: int, body: str, *, answers: int | None = None, sender: str = "Ana K <ana@farm.example>"
) -> EmailMessage:
    message = EmailMessage()
    message["From"] = sender
    message["To"] = "ben@farm.example"
    message["Subject"] = "Tank" if answers is None else "Re: Tank"
    message["Date"] = f"Mon, 4 Mar 2024 10:0{number}:00 +0100"
    message["Message-ID"] = f"<m{number}@farm.example>"
    if answers is not None:
        message["In-Reply-To"] = f"<m{answers}@farm.example>"
    message.set_content(body)
    return message


def mbox(*mails: EmailMessage) -> bytes:
    target = io.BytesIO()
    for message in mails:
        target.write(b"From ana@farm.example Mon Mar  4 10:00:00 2024\n")
        lines = message.as_bytes().splitlines(keepends=True)
        target.writelines(b">" + line if line.lstrip(b">").startswith(b"From ") else line
                          for line in lines)  # fmt: skip
        target.write(b"\n")
    return target.getvalue()


FIRST = mail(1, "The tank is full.\nFrom here on we need the second.\n")
ANSWER = mail(2, "Then order it.\n\nOn Monday Ana wrote:\n> The tank is full.\n> From here on\n",
              answers=1, sender="=?utf-8?q?Ben_=C3=96de?= <ben@farm.example>")  # fmt: skip
OTHER = mail(3, "Unrelated: naïve ☃\n")
AGAIN = mail(4, "Ordered.\n", answers=2)


def test_a_mailbox_is_a_source_for_every_thread() -> None:
    events = events_of(mbox(FIRST, ANSWER, OTHER, AGAIN), "Inbox", "mail")
    assert [event for event in events if isinstance(event, Source)] == [
        Source("mail/m1@farm.example", "mail", "Tank", "Inbox"),
        Source("mail/m3@farm.example", "mail", "Tank", "Inbox"),
        Source("mail/m1@farm.example", "mail", "Tank", "Inbox"),
    ]
    imported = messages_in(events)
    assert [(message.author, message.text) for message in imported] == [
        ("Ana K", "Tank\n\nThe tank is full.\nFrom here on we need the second."),
        ("Ben Öde", "Then order it.\n\nOn Monday Ana wrote:\n> The tank is full.\n> From here on"),
        ("Ana K", "Tank\n\nUnrelated: naïve ☃"),
        ("Ana K", "Ordered."),
    ]
    assert imported[0].sent_at == "2024-03-04T10:01:00+01:00"
    assert (imported[0].external_id, imported[0].unique_id) == ("m1@farm.example", True)
    quoted = imported[1].parts[0]
    assert (quoted.kind, quoted.name) == ("marker", "quote")
    assert imported[1].text[quoted.start : quoted.end] == "> The tank is full.\n> From here on"


def test_references_identify_the_thread_even_of_missing_mails() -> None:
    late = mail(9, "Late.\n", answers=8)
    late["References"] = "<m1@farm.example> <m8@farm.example>"
    assert sources_in(events_of(late.as_bytes(), "late.eml", "mail")) == ["mail/m1@farm.example"]


def test_mails_that_answer_each_other_in_a_circle_are_one_thread() -> None:
    events = events_of(mbox(mail(1, "a", answers=2), mail(2, "b", answers=1)), "x", "mail")
    assert set(sources_in(events)) == {"mail/m1@farm.example"}


def test_attachments_are_markers_and_their_bytes_are_blobs() -> None:
    message = mail(5, "See the plan.\n")
    message.add_alternative("<p>See the <b>plan</b>.</p>", subtype="html")
    message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="plän.pdf")
    inner = mail(6, "The words of somebody else.\n", sender="Cy <cy@x.example>")
    message.add_attachment(inner)
    (first,) = messages_in(events_of(message.as_bytes(), "m.eml", "mail"))
    (blob,) = first.blobs
    assert blob.content == b"%PDF-1.7"
    assert first.text.startswith("Tank\n\nSee the plan.\n\n[attachment: ")
    assert (
        f"[attachment: plän.pdf, application/pdf, 8 bytes, sha256:{blob.digest[:12]}]" in first.text
    )
    forwarded = first.parts[-1]
    assert (forwarded.kind, forwarded.name) == ("marker", "forwarded")
    assert first.text[forwarded.start : forwarded.end] == (
        "From: Cy <cy@x.example>\nDate: Mon, 04 Mar 2024 10:06:00 +0100\nSubject: Tank\n\n"
        "The words of somebody else."
    )


def raw(headers: str, body: bytes) -> bytes:
    start = (
        "From: ana@farm.example\r\nMessage-ID: <r@x>\r\nDate: Mon, 4 Mar 2024 10:00:00 -0000\r\n"
    )
    return (start + headers + "\r\n").encode("latin-1") + body


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ("Content-Type: text/plain; charset=koi8-r\r\n", "Привет\r\n".encode("koi8-r"), "Привет"),
        ("Content-Type: text/plain; charset=no-such\r\n", "grüß\r\n".encode(), "grüß"),
        ("Content-Type: text/plain; charset=utf-8\r\n", "grüß".encode("cp1252"), "grüß"),
        ("Content-Transfer-Encoding: quoted-printable\r\n"
         "Content-Type: text/plain; charset=utf-8\r\n",
         b"one long =\r\nline =E2=80=93 5 =3D 5\r\n", "one long line – 5 = 5"),
        ("Content-Transfer-Encoding: base64\r\nContent-Type: text/html; charset=utf-8\r\n",
         b"PHA+b25lPC9wPjxwPnR3byAmYW1wOyB0aHJlZTwvcD4=", "one\n\ntwo & three"),
        ("Subject: =?utf-8?b?w4TDtg==?= done\r\n", b"", "Äö done"),
    ],
)  # fmt: skip
def test_bodies_are_decoded(headers: str, body: bytes, text: str) -> None:
    (message,) = messages_in(events_of(raw(headers, body), "m.eml", "mail"))
    assert message.text == text
    assert message.author == "ana@farm.example"
    assert message.sent_at == "2024-03-04T10:00:00"


def test_a_mail_quoted_below_is_not_the_senders_text() -> None:
    body = "Agreed.\n\n-----Original Message-----\nFrom: Cy\nNever deploy on Fridays.\n"
    (message,) = messages_in(events_of(mail(1, body).as_bytes(), "m.eml", "mail"))
    quoted = message.parts[-1]
    assert message.text[: quoted.start] == "Tank\n\nAgreed.\n\n"
    assert quoted.end == len(message.text)


def test_an_html_body_becomes_plain_text() -> None:
    page = (
        "<html><head><style>p{}</style></head><body><h1>Plan</h1><ul><li>one<li>two</ul>"
        "<blockquote>said <i>before</i><br>and after</blockquote><pre>a\n  b</pre>"
        "<table><tr><td>x</td><td>y</td></tr></table><script>no()</script>"
    )
    assert text_of(page) == "Plan\n\n- one\n- two\n\n> said before\n> and after\n\na\n  b\n\nx y"


@pytest.mark.parametrize(
    "page", ["<![foo[x]]>word", "<p><![endif]>word", "&#xd800; word", "<" * 99]
)
def test_damaged_pages_are_read(page: str) -> None:
    assert "word" in text_of(page) or "<" in text_of(page)


def test_the_same_mail_from_another_file_is_not_stored_twice(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        (tmp_path / "Inbox").write_bytes(mbox(FIRST, ANSWER))
        (tmp_path / "first.eml").write_bytes(FIRST.as_bytes())
        assert memory.ingest(tmp_path / "first.eml").added == 1
        assert memory.ingest(tmp_path / "Inbox").added == 1
        (tmp_path / "Inbox").write_bytes(mbox(FIRST, ANSWER, AGAIN))
        report = memory.ingest(tmp_path / "Inbox")
        assert (report.added, report.known) == (1, 2)
        assert len(memory.messages("mail/m1@farm.example")) == 3


def test_deleted_and_empty_mails_are_skipped() -> None:
    gone = mail(1, "gone\n")
    gone["X-Mozilla-Status"] = "0009"
    empty = mail(2, "")
    del empty["Subject"]
    events = events_of(mbox(gone, empty, OTHER), "x", "mail")
    assert reasons_in(events) == ["deleted message", "empty message"]


def test_a_mail_over_the_limit_does_not_affect_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treemem.importers.mail.importer.MAIL_BYTES_MAX", 2_000)
    events = events_of(mbox(FIRST, mail(2, "long\n" * 900), OTHER), "x", "mail")
    assert reasons_in(events) == ["mail over the size limit"]
    assert len(messages_in(events)) == 2


def test_a_body_that_begins_with_from_does_not_begin_a_mail() -> None:
    body = "one\n\nFrom the minutes of 2024\n\nFrom: me\n"
    data = mbox(FIRST).replace(b"The tank is full.", body.encode())
    assert sum(1 for _ in _mails(LogFile("x", data=data))) == 1


def test_nesting_without_end_is_bounded() -> None:
    levels = 3_000
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(levels)
    )
    events = events_of(
        raw("", b"").replace(b"\r\n\r\n", b"\r\n") + nested.encode(), "m.eml", "mail"
    )
    assert messages_in(events) or reasons_in(events)


@pytest.mark.parametrize(
    "text",
    [
        "Subject: notes\n\nDear diary\n",
        "From: here\nto there\n",
        "Date: today\nFrom: me\nplain talk\n",
        "From Monday on, we meet at 9:00 in 2024\n\nNo header.\n",
    ],
)
def test_other_texts_are_not_recognized(text: str) -> None:
    assert detect(LogFile("x.txt", data=text.encode())).name == "plain-text"


def test_an_encoded_word_in_an_impossible_charset_stays_as_it_is() -> None:
    data = "From: a@x.example\nMessage-ID: <1@x>\nDate: 1\nSubject: =?uôf-8?q?plan?=\n\nword\n"
    (message,) = messages_in(events_of(data.encode(), "a.eml", "mail"))
    assert message.text == "=?uôf-8?q?plan?=\n\nword"


@given(st.integers(0, 2**32))
@example(30651)
@settings(deadline=None, max_examples=80)
def test_a_damaged_mailbox_never_breaks_the_import(seed: int) -> None:
    message = mail(5, "See the plan.\n")
    message.add_alternative("<p>See <b>it</b>.</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="ä.pdf")
    message.add_attachment(mail(6, "Inner\n"))
    assert_reads("mail", mutated(mbox(FIRST, message, ANSWER), seed), "Inbox")


def test_a_long_thread_and_a_long_subject_take_linear_time() -> None:
    began = time.process_time()
    chain = b"".join(
        b"From a@x.example Mon Mar  4 10:00:00 2024\nFrom: a@x.example\nMessage-ID: <%d@x>\n"
        b"In-Reply-To: <%d@x>\n\nword %d\n\n" % (number, number - 1, number)
        for number in range(1, 8_001)
    )
    assert set(sources_in(events_of(chain, "a.mbox", "mail"))) == {"mail/0@x"}
    subject = "=?utf-8?q?a?= " * 20_000
    data = f"From: a@x.example\nMessage-ID: <1@x>\nDate: 1\nSubject: {subject}\n\nword\n"
    (message,) = messages_in(events_of(data, "a.eml", "mail"))
    assert message.text.startswith("aaaa")
    assert message.text.endswith("word")
    assert time.process_time() - began < 15


def test_an_answer_to_a_circle_of_mails_belongs_to_its_thread() -> None:
    mails = [mail(2, "two", answers=3), mail(3, "three", answers=2), mail(1, "one", answers=2)]
    assert len(set(sources_in(events_of(mbox(*mails), "a.mbox", "mail")))) == 1
