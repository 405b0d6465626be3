"""Tests that HTML, Word and PDF files yield their visible text, and that others are refused."""

from __future__ import annotations

import builtins
import contextlib
import io
import random
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.document_files import document_xml, docx, paragraph, pdf
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.common.base import Event
from treemem.importers.common.documents import PIECE_CHARS_MAX
from treemem.importers.pdf import NO_TEXT
from treemem.packages import extra_command
from treemem.types import Message, Source


def events(data: bytes, label: str) -> list[Event]:
    file = LogFile(label, data=data)
    result = list(detect(file).read(file))
    assert all(isinstance(event, Source | Message | Skipped) for event in result)
    return result


def messages(data: bytes, label: str) -> list[Message]:
    return [event for event in events(data, label) if isinstance(event, Message)]


def source(data: bytes, label: str) -> Source:
    (own_source,) = [event for event in events(data, label) if isinstance(event, Source)]
    return own_source


def html(body: str) -> bytes:
    return f"<!DOCTYPE html><html><body>{body}</body></html>".encode()


def texts(body: str) -> list[str]:
    return [message.text for message in messages(html(body), "x.html")]


# -- HTML ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>We ship\n  on <i>Fri</i>day,<b> not</b> Monday.", "We ship on Friday, not Monday."),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<h2>A  <em>b</em></h2>text", "## A b\n\ntext"),
        ("<ul><li>a<ul><li>b</ul><li><p>c</p></ul>d", "- a\n  - b\n- c\n\nd"),
        ("<table><tr><th>k<th>v</tr><tr><td>a<td><p>b</p></table>", "k | v\na | b"),
        ("<pre>\nif x:\n    y  &lt; z\n</pre>", "```\nif x:\n    y  < z\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<p>a</p><script>var x = '<p>no</p>';</script><style>p {}</style>", "a"),
        ("<p>a<!-- no -- > no --><template>no</template><svg><title/><text>no</svg>b", "ab"),
        ("1 &lt; 2 &amp;&eacute;&#8364; 3 < 4 &#999999999999999999999999;",
         "1 < 2 &é€ 3 < 4 &#999999999999999999999999;"),
        ("<textarea>a &amp; <b></textarea>", "a & <b>"),
        ("<p>a<img src='p.png' alt='A  chart'><img src='deco.png' alt=''>", "a[image: A chart]"),
        ("<p>before <a href='never closed", "before"),
    ],
)  # fmt: skip
def test_a_page_yields_its_visible_text(body: str, text: str) -> None:
    assert texts(body) == [text]


def test_every_heading_begins_a_message() -> None:
    assert texts("intro<h1>A</h1><p>a</p><h2>B</h2><p>b</p>") == [
        "intro", "# A\n\na", "## B\n\nb"
    ]  # fmt: skip


def test_a_page_has_an_author_and_a_date() -> None:
    page = (
        b"<html><head><title>The &amp; plan</title><meta name='Author' content='Ana'>"
        b"<meta property=article:published_time content=2026-03-04T10:00:00+01:00></head>"
        b"<body>We ship on Friday."
    )
    assert source(page, "x.html").title == "The & plan"
    (message,) = messages(page, "x.html")
    assert (message.role, message.author) == ("document", "Ana")
    assert message.sent_at == "2026-03-04T10:00:00+01:00"
    assert source(html("x"), "notes.html").title == "notes"


def test_a_picture_in_a_page_leaves_its_digest_and_its_bytes() -> None:
    (message,) = messages(html('<p>See <img src="data:image/png;base64,AAAA"> here'), "x.html")
    marker = "[image: image/png, 3 bytes, sha256:709e80c88487]"
    assert message.text == f"See {marker} here"
    (part,) = message.parts
    assert message.text[part.start : part.end] == marker
    assert (part.kind, part.name) == ("marker", "image/png")
    assert message.blobs[0].content == b"\0\0\0"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<html><meta charset="iso-8859-1">caf\xe9 \x93ok\x94'.encode("latin-1"), "café “ok”"),
        ('<html><meta charset="windows-1251">Привет'.encode("cp1251"), "Привет"),
        ('<html><meta charset="utf-16">café'.encode(), "café"),
        ('<html><meta charset="UTF-16LE">café'.encode(), "café"),
        ('<html><meta charset="no-such">café'.encode(), "café"),
        ('<html><meta charset="zip">café'.encode(), "café"),
        ("\ufeff<html>café".encode(), "café"),
        ("\ufeff<html>café".encode("utf-16-le"), "café"),
    ],
)
def test_a_page_is_read_in_its_declared_encoding(page: bytes, text: str) -> None:
    assert [message.text for message in messages(page, "x.html")] == [text]


@pytest.mark.parametrize(
    "piece",
    ["<!--", "<a", "<a ", '<a "', "<a b='", "<p>", "&", "<", "<td>x", "</a ", "<ul><li>x",
     "<pre>```", "<h1>a", "<script>", "`", "<pre> <td>", "<svg>", "<noscript></svg>"],
)  # fmt: skip
def test_a_hostile_page_takes_no_longer_than_others(piece: str) -> None:
    began = time.process_time()
    events(html(piece * (200_000 // len(piece))), "x.html")
    events(html("<pre>" + piece * (200_000 // len(piece))), "x.html")
    assert time.process_time() - began < 5


def test_a_paragraph_of_many_megabytes_is_cut_in_linear_time() -> None:
    began = time.process_time()
    imported = messages(html("€ word " * 3_000_000), "x.html")
    assert sum(len(message.text) for message in imported) > 20_000_000
    assert time.process_time() - began < 20


# -- Word ------------------------------------------------------------------------------


def test_a_word_document_yields_its_visible_text() -> None:
    item = '<w:pPr><w:numPr><w:ilvl w:val="{}"/></w:numPr></w:pPr><w:r><w:t>{}</w:t></w:r>'
    body = (
        paragraph("The plan", "Titel")
        + paragraph("We ship ", inner="<w:r><w:t>on Friday.</w:t><w:br/><w:t>Or not.</w:t></w:r>")
        + paragraph("Details", "berschrift2")
        + f"<w:p>{item.format(0, 'one')}</w:p><w:p>{item.format(1, 'two')}</w:p>"
        + f"<w:tbl><w:tr><w:tc>{paragraph('k')}{paragraph('l')}</w:tc>"
        + f"<w:tc>{paragraph('v')}</w:tc></w:tr></w:tbl>"
    )
    assert [message.text for message in messages(docx(body), "x.docx")] == [
        "# The plan\n\nWe ship on Friday.\nOr not.",
        "## Details\n\n- one\n  - two\n\nk l | v",
    ]
    (first, _) = messages(docx(body), "x.docx")
    assert (first.role, first.author) == ("document", "Ana")
    assert first.sent_at == "2026-03-04T10:00:00Z"
    assert source(docx(body), "x.docx").title == "The plan"


def test_deleted_text_and_second_copies_are_omitted() -> None:
    deleted = "<w:del><w:r><w:delText>Monday</w:delText></w:r></w:del>"
    box = "<w:txbxContent>" + paragraph("in a box") + "</w:txbxContent>"
    copied = f"<w:r><w:AlternateContent><w:Choice>{box}</w:Choice><w:Fallback>{box}</w:Fallback>"
    body = paragraph("Friday", inner=deleted) + paragraph(
        "around", inner=copied + "</w:AlternateContent></w:r>"
    )
    assert messages(docx(body), "x.docx")[0].text == "Friday\n\nin a box\n\naround"


def test_notes_come_last_and_comments_have_their_authors() -> None:
    notes = document_xml(
        f'<w:footnote w:type="separator">{paragraph("-")}</w:footnote>'
        f"<w:footnote>{paragraph('See the annex.')}</w:footnote>", "footnotes"
    )  # fmt: skip
    comments = document_xml(
        '<w:comment w:author="Ben" w:date="2026-03-05T09:00:00Z">'
        f"{paragraph('Why Friday?')}</w:comment>", "comments"
    )  # fmt: skip
    more: dict[str, str | bytes] = {"word/footnotes.xml": notes, "word/comments.xml": comments}
    first, second = messages(docx(paragraph("We ship."), more=more), "x.docx")
    assert first.text == "We ship.\n\nSee the annex."
    assert (second.text, second.author) == ("Why Friday?", "Ben")
    assert second.sent_at == "2026-03-05T09:00:00Z"


def test_a_picture_in_a_word_document_is_stored_once() -> None:
    drawn = '<w:r><w:drawing><a:blip r:embed="rId7"/></w:drawing></w:r>'
    body = paragraph("See", "berschrift2") + paragraph("One ", inner=drawn)
    data = docx(body + paragraph("Two ", inner=drawn), pictures=[("rId7", "media/a.png", b"png")])
    (message,) = messages(data, "x.docx")
    marker = "[image: image/png, 3 bytes, sha256:8f8cbb7dcf46]"
    assert message.text == f"## See\n\nOne {marker}\n\nTwo {marker}"
    assert [message.text[part.start : part.end] for part in message.parts] == [marker, marker]
    assert [blob.content for blob in message.blobs] == [b"png", None]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("word/document.xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'),
        ("docProps/core.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("word/document.xml", "<a>" * 5_000),
        ("word/document.xml", "<a><b></a>"),
        ("word/document.xml", b"\xff\xfe\x00"),
        ("word/document.xml", document_xml(" " * 130 * 1024 * 1024)),
    ],
    ids=["entity", "external", "core", "deep", "damaged", "bytes", "bomb"],
)
def test_a_hostile_word_document_is_refused(name: str, content: str | bytes) -> None:
    with pytest.raises(
        ImportFileError, match=r"^x\.docx is (not a complete Word document|refused)"
    ):
        events(docx("", more={name: content}), "x.docx")


def test_other_office_files_are_not_recognized() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(ImportFileError, match=r"binary data \(ZIP\)"):
        events(target.getvalue(), "x.xlsx")


# -- PDF -------------------------------------------------------------------------------


def test_every_page_is_a_message_with_its_number() -> None:
    first, second = messages(pdf(["We ship\non Friday.", "Page two"]), "plan.pdf")
    assert (first.text, second.text) == ("We ship\non Friday.", "Page two")
    assert (first.session, second.session) == ("doc/plan#page=1", "doc/plan#page=2")
    assert (first.author, first.sent_at) == ("Ana", "2026-03-04T10:00:00+01:00")
    assert source(pdf(["x"]), "plan.pdf").title == "The plan"


def test_a_page_without_text_is_counted_and_a_file_without_text_is_refused() -> None:
    imported = events(pdf(["words", b"/Im1 Do"], picture=b"\xff\xd8jpeg"), "x.pdf")
    assert [event for event in imported if isinstance(event, Skipped)] == [
        Skipped(NO_TEXT, detail="page 2, 1 pictures")
    ]
    with pytest.raises(ImportFileError, match=r"x\.pdf holds no text: pages 2.* ocrmypdf"):
        events(pdf([b"/Im1 Do", b""], picture=b"\xff\xd8jpeg"), "x.pdf")


def test_a_picture_in_a_pdf_leaves_its_digest_and_its_bytes() -> None:
    first, second = messages(pdf(["a", "b"], picture=b"jpeg"), "x.pdf")
    marker = "[image: image/jpeg, 4 bytes, sha256:2d6aa23ac4ef]"
    assert first.text.startswith("a\n\n[image: image/jpeg, 4 bytes, sha256:")
    assert len(first.text) == len(f"a\n\n{marker}")
    assert [blob.content for blob in (*first.blobs, *second.blobs)] == [b"jpeg", None]


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\nnothing more",
        pdf(["x"])[:400],
        pdf(["x"]).replace(b"/Pages", b"/Sages"),
        pdf([]),
    ],
)
def test_a_damaged_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(ImportFileError, match=r"^x\.pdf "):
        events(data, "x.pdf")


def test_a_locked_pdf_is_refused() -> None:
    locked = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /Length 40 /O <{0}> /U <{0}> >>"
    trailer = locked.format("ab" * 32) + " /ID [<00> <00>]"
    with pytest.raises(ImportFileError, match=r"^x\.pdf is encrypted with a password\. Save a"):
        events(pdf(["x"], encrypt=trailer), "x.pdf")


def test_a_page_that_unpacks_to_a_bomb_is_skipped() -> None:
    imported = events(pdf(["words", b"q Q " * (5 * 1024 * 1024)]), "x.pdf")
    assert [event.text for event in imported if isinstance(event, Message)] == ["words"]
    (skipped,) = [event for event in imported if isinstance(event, Skipped)]
    assert skipped.problem


def test_without_the_extra_only_pdf_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_pypdf(name: str, *rest: object) -> object:
        if name.split(".")[0] == "pypdf":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_pypdf)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.pdf").write_bytes(pdf(["We ship on Friday."]))
    (tmp_path / "logs" / "b.docx").write_bytes(docx(paragraph("We ship on Friday.")))
    (tmp_path / "logs" / "c.html").write_bytes(html("We ship on Friday."))
    report = memory.ingest(tmp_path / "logs")
    refused, *others = report.files
    assert refused.error is not None
    assert extra_command("documents") in refused.error
    assert [file.added for file in others] == [1, 1]


# -- all of them -----------------------------------------------------------------------


def test_an_edited_document_adds_only_new_text_whatever_its_date(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "plan.docx"
    parts = [paragraph(f"Part {n}", "berschrift2") + paragraph(f"Words {n}.") for n in range(5)]
    path.write_bytes(docx("".join(parts)))
    assert memory.ingest(path).added == 5
    assert memory.ingest(path).known == 5
    parts[2] = paragraph("Part 2", "berschrift2") + paragraph("Other words.")
    path.write_bytes(docx("".join(parts), modified="2026-05-06T10:00:00Z"))
    again = memory.ingest(path)
    assert (again.added, again.known) == (1, 4)
    shown = memory.messages(memory.sources()[0].source.id)
    dates = {message.text[-8:]: message.sent_at for message in shown}
    assert dates["r words."] == "2026-05-06T10:00:00Z"
    assert dates["Words 4."] == "2026-03-04T10:00:00Z"
    assert memory.diagnose().healthy


def test_a_repeated_part_is_stored_each_time() -> None:
    imported = messages(docx((paragraph("A", "Titel") + paragraph("same")) * 3), "x.docx")
    assert len({message.external_id for message in imported}) == 3


def test_a_long_paragraph_is_cut_but_never_in_a_marker() -> None:
    image = '<img src="data:image/png;base64,AAAA">'
    imported = messages(html(f"<p>{'word ' * 1_599}{image}{'word ' * 2_000}"), "x.html")
    assert max(len(message.text) for message in imported) <= PIECE_CHARS_MAX
    parts = [(message.text, part) for message in imported for part in message.parts]
    assert [text[part.start : part.end] for text, part in parts] == [
        "[image: image/png, 3 bytes, sha256:709e80c88487]"
    ]
    assert sum(message.text.count("word") for message in imported) == 3_599


SAMPLES = [
    ("x.html", html("<h1>A</h1><ul><li>b<p>c</ul><table><tr><td>d<pre>e</pre><img src=x>")),
    ("x.docx", docx(paragraph("A", "Titel") + paragraph("b"))),
    ("x.xml", document_xml(paragraph("A", "Titel") + f"<w:tbl>{paragraph('b')}</w:tbl>").encode()),
    ("x.pdf", pdf(["a", "b"], picture=b"jpeg")),
]


@given(st.sampled_from(SAMPLES), st.integers(0, 2**32), st.integers(1, 12))
def test_any_damage_raises_import_errors_only(
    sample: tuple[str, bytes], seed: int, times: int
) -> None:
    label, data = sample
    chance, broken = random.Random(seed), bytearray(data)
    for _ in range(times):
        at = chance.randrange(max(1, len(broken)))
        kind = chance.randrange(4)
        if kind == 0:
            broken[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del broken[at : at + chance.randrange(40)]
        elif kind == 2:
            broken[at:at] = broken[at : at + chance.randrange(40)]
        elif chance.random() < 0.1:
            del broken[at + 1 :]
    damaged = bytes(broken)
    if label == "x.xml":
        label, damaged = "x.docx", docx("", more={"word/document.xml": damaged})
    with contextlib.suppress(ImportFileError):
        for event in by_name(label[2:]).read(LogFile(label, data=damaged)):
            assert isinstance(event, Source | Message | Skipped)
