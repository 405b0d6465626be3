"""Tests that Markdown and plain text are cut at the right places and lose no character."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.common.documents import PIECE_CHARS_MAX, split_lines
from treemem.importers.markdown import SECTION_CHARS_MAX
from treemem.importers.plain_text import PASSAGE_CHARS_MAX
from treemem.importers.streams.compressed import method_of
from treemem.importers.streams.utf16 import encoding_of
from treemem.types import Message, Source


def texts(data: bytes | str, name: str = "markdown") -> list[str]:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    events = list(by_name(name).read(LogFile("notes.md", data=raw)))
    assert not any(isinstance(event, Skipped) for event in events)
    return [event.text for event in events if isinstance(event, Message)]


# -- nothing is lost ---------------------------------------------------------------------

PIECES = st.sampled_from(
    ["# a\n", "\n", "\r\n", "\r", "b c. ", "```\n", "~~~~\n", "---\n", "===\n", "- x\n", "<!--\n",
     "-->\n", "\ufeff", "\x00", "é", "\u2028", "    ", "x" * 9_000, "y. " * 700, "\n" * 9_000]
)  # fmt: skip
DOCUMENTS = st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join)


@given(DOCUMENTS, st.sampled_from(["markdown", "plain-text"]))
@example("---\ntitle: x\n---\n# a\n", "markdown")
@example("\n\nTitle\n===\n", "markdown")
def test_the_joined_texts_are_the_document(document: str, name: str) -> None:
    assume(encoding_of(document.encode("utf-8", "surrogatepass")[:4_096]) is None)
    result = texts(document, name)
    # If the file's first character could be a BOM, it is one and belongs to the encoding.
    expected = document.removeprefix("\ufeff")
    assert "".join(result) == (expected if expected.strip() else "")
    assert max(map(len, result), default=1) <= PIECE_CHARS_MAX
    assert "" not in result


@given(st.binary(max_size=300), st.sampled_from(["markdown", "plain-text"]))
@example(b"\xff\xfea\x00\x00\xd8b\x00c", "plain-text")
@example(b"\xe4\xe9\xfc\x80\x81", "plain-text")
def test_any_bytes_are_read(data: bytes, name: str) -> None:
    assume(method_of(data) is None)
    texts(data, name)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 9))
def test_lines_do_not_depend_on_the_chunks(text: str, size: int) -> None:
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(split_lines(chunks, 4)) == list(split_lines([text], 4))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF8 + "é\r\nb".encode(), "é\r\nb"),
        (codecs.BOM_UTF16_LE + "é😀".encode("utf-16-le"), "é😀"),
        (codecs.BOM_UTF16_BE + "é😀".encode("utf-16-be"), "é😀"),
        (codecs.BOM_UTF16_LE + b"a\x00b", "a\ufffd"),
        (codecs.BOM_UTF16_LE + b"a\x00\x00\xd8", "a\ud800"),
        ("caf\xe9 \u201cok\u201d \u20ac".encode("cp1252"), "café “ok” €"),
        (b"\x81\x8d", "\x81\x8d"),
        ("ééé".encode() + b"\xe9 ok", "ééé\udce9 ok"),
    ],
)
def test_a_text_is_read_in_its_encoding(data: bytes, text: str) -> None:
    assert texts(data, "plain-text") == [text]


@pytest.mark.parametrize("data", [b"", b"\n\r\n  \t\n", codecs.BOM_UTF8])
@pytest.mark.parametrize("name", ["markdown", "plain-text"])
def test_a_blank_document_has_no_messages(data: bytes, name: str) -> None:
    assert texts(data, name) == []


def test_a_document_is_a_snapshot_with_an_id_of_its_name_and_path(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# a\n", "utf-8")
    source, message = list(by_name("markdown").read(LogFile("notes.md", path)))
    assert isinstance(source, Source)
    assert (source.snapshot, source.title, source.origin) == (True, "notes", "notes.md")
    assert source.id.startswith("doc/notes-")
    assert message == Message(role="document", text="# a\n")


# -- plain text --------------------------------------------------------------------------


def test_short_paragraphs_are_merged_and_long_ones_are_not_cut() -> None:
    short, long = "word " * 40 + "\n\n", "word " * 500 + "\n\n"
    result = texts(short * 20 + long + short, "plain-text")
    assert all(len(text) <= PASSAGE_CHARS_MAX for text in result if text != long)
    assert long in result
    assert all(text.endswith("\n\n") for text in result)


def test_a_giant_line_is_cut_after_sentences_or_else_after_blanks() -> None:
    sentences = texts("One sentence after the other. " * 2_000, "plain-text")
    assert all(text.endswith(". ") for text in sentences)
    words = texts("word " * 5_000, "plain-text")
    assert all(text.endswith("word ") for text in words)
    solid = texts("x" * 20_000, "plain-text")
    assert [len(text) for text in solid] == [8_000, 8_000, 4_000]
    assert all(len(text) <= PIECE_CHARS_MAX for text in sentences + words)


# -- Markdown ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "sections"),
    [
        ("intro\n\n# A\n\ntext\n\n## B\ntext\n", ["intro\n\n", "# A\n\ntext\n\n", "## B\ntext\n"]),
        ("A\n===\ntext\n\nB\n---\ntext\n", ["A\n===\ntext\n\n", "B\n---\ntext\n"]),
        ("text\n\ntwo\nlines\n---\nx\n", ["text\n\n", "two\nlines\n---\nx\n"]),
        ("#hashtag\n\n####### seven\n", ["#hashtag\n\n####### seven\n"]),
        ("a\n\n---\n\nb\n", ["a\n\n---\n\nb\n"]),
        ("- item\n---\nb\n", ["- item\n---\nb\n"]),
        ("- item\nlazy\n---\nb\n", ["- item\nlazy\n---\nb\n"]),
        ("> quote\n---\nb\n", ["> quote\n---\nb\n"]),
        ("| a | b |\n|---|---|\n", ["| a | b |\n|---|---|\n"]),
        ("\n\n# A\n", ["\n\n# A\n"]),
        ("\n\nA\n===\n", ["\n\nA\n===\n"]),
        ("# A\r\n\r\n# B\r\n", ["# A\r\n\r\n", "# B\r\n"]),
        ("# A\r# B\r", ["# A\r", "# B\r"]),
        ("   # A\n    # code\n", ["   # A\n    # code\n"]),
    ],
)
def test_a_document_is_cut_at_its_headings(document: str, sections: list[str]) -> None:
    assert texts(document) == sections


@pytest.mark.parametrize(
    "inside",
    [
        "```\n# no\n```\n",
        "```py\n# no\n\n# no\n```\n",
        "~~~\n# no\n```\n# no\n~~~\n",
        "````md\n```\n# no\n```\n# no\n````\n",
        "```\n# no\n    ```\n# no\n```\n",
        "- ```sh\n  # no\n  ```\n",
        "1. step\n   ```sh\n   # no\n   ```\n",
        "<!-- a\n# no\n-->\n",
        "<pre>\n# no\n\n# no\n</pre>\n",
        "text\n\n    # no\n",
    ],
)
def test_a_heading_in_code_or_comments_is_content(inside: str) -> None:
    assert texts(f"# A\n\n{inside}\n# B\n") == [f"# A\n\n{inside}\n", "# B\n"]


@pytest.mark.parametrize(
    "line", ["<!-- a --> # b\n", "``` a ``` b\n", "<pre>a</pre>\n", "<prefix>\n"]
)
def test_a_mark_that_opens_nothing_hides_no_heading(line: str) -> None:
    assert texts(f"{line}\n# B\n") == [f"{line}\n", "# B\n"]


@pytest.mark.parametrize(
    ("document", "sections"),
    [
        ("---\ntitle: a\n# note\n---\n# A\n", ["---\ntitle: a\n# note\n---\n", "# A\n"]),
        ("+++\ntitle = 1\n# note\n+++\n# A\n", ["+++\ntitle = 1\n# note\n+++\n", "# A\n"]),
        ("---\n\n# A\n\n---\n\n# B\n", ["---\n\n", "# A\n\n---\n\n", "# B\n"]),
        ("---\n# A\n", ["---\n", "# A\n"]),
        ("---\nNo field\n\n# A\n", ["---\nNo field\n\n", "# A\n"]),
    ],
)
def test_front_matter_is_a_message_of_its_own(document: str, sections: list[str]) -> None:
    assert texts(document) == sections


def test_front_matter_without_an_end_hides_headings_for_a_while_only() -> None:
    document = "---\ntitle: a\n" + "x\n" * 300 + "\n# A\n"
    assert texts(document)[-1] == "# A\n"


def test_a_long_section_is_cut_at_blank_lines_outside_of_fences() -> None:
    paragraph, fence = "word " * 100 + "\n\n", "```\n" + "code\n\n" * 300 + "```\n\n"
    result = texts("# A\n\n" + paragraph * 6 + fence + paragraph)
    assert result[0].startswith("# A\n\nword")
    assert fence in result
    assert all(len(text) <= SECTION_CHARS_MAX for text in result)


def test_a_heading_stays_with_its_long_paragraph() -> None:
    document = "# A\n\n" + "word " * 600 + "\n"
    assert texts(document) == [document]
