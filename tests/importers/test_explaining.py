"""Tests that a file of any format can be explained without its words."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks.data.export_logs import BUILDERS, Talk
from tests.fuzz.fuzz_importers import label_of
from treemem import FileExplanation, LogFile, explain_format
from treemem.importers import IMPORTERS, by_name

# No explanation of a file that has this in its values and keys may have it.
SECRET = "quorvex"


def explain(value: Any) -> FileExplanation:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return explain_format(LogFile("log.json", data=data))


def paths(explanation: FileExplanation) -> list[str]:
    return [field.path for field in explanation.fields]


def test_fields_have_types_counts_and_lengths_but_no_values() -> None:
    lines = [
        {"kind": f"say {SECRET}", "at": "2026-01-05T08:00:00Z", "body": {"count": 1}},
        {"kind": SECRET, "at": "2026-01-06T08:00:00Z", "body": None, "more": [SECRET]},
    ]
    seen = explain(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert (seen.content, seen.records, seen.format) == ("JSON Lines", 2, None)
    by_path = {field.path: field for field in seen.fields}
    assert list(by_path) == ["(record)", "kind", "at", "body", "body.count", "more", "more.[]"]
    kind, body, more = by_path["kind"], by_path["body"], by_path["more"]
    assert (kind.seen, kind.chars_min, kind.chars_max) == (2, 7, 11)
    assert kind.first == "string (11)"
    assert by_path["at"].looks == "time"
    assert body.types == {"object": 1, "null": 1}
    assert (more.seen, more.first) == (1, None)
    assert SECRET not in str(seen)


def test_a_document_with_an_object_on_each_line_is_one_record() -> None:
    seen = explain(b'{"turns": [\n{"text": "a"},\n{"text": "b"}\n]}')
    assert (seen.content, seen.records) == ("a JSON object", 1)
    assert "turns.[].text" in paths(seen)


@pytest.mark.parametrize(
    "key",
    [
        f"{SECRET}@example.com", f"/home/{SECRET}/x", f"{SECRET}7", f"my {SECRET}", f"{SECRET}é",
        SECRET * 7, f"{SECRET}.md",
    ],
)  # fmt: skip
def test_a_key_that_looks_like_data_is_hidden(key: str) -> None:
    seen = explain([{"name": "a", key: {"text": "b"}}, {"name": "c"}])
    assert SECRET not in str(seen)
    assert "<hidden>.text" in paths(seen)


def test_the_only_key_of_an_object_and_words_after_a_dot_are_hidden(tmp_path: Path) -> None:
    seen = explain([{"users": {SECRET: {"text": "a"}}, "turns": [{SECRET: "b"}]}, {"name": "c"}])
    assert SECRET not in str(seen)
    assert "users.<hidden>.text" in paths(seen)
    letter = tmp_path / f"Letter to Dr. {SECRET[:4]}"
    letter.write_text("Dear doctor")
    assert explain_format(letter).suffix == "<hidden>"


def test_names_as_keys_are_hidden_and_names_of_fields_are_not() -> None:
    seen = explain({"users": {SECRET: {"role": "x"}, "ana": {"role": "y"}},
                    "usage": {"input_tokens": 1, "output_tokens": 2}})  # fmt: skip
    assert SECRET not in str(seen)
    assert "ana" not in paths(seen)
    assert {"users.<hidden>.role", "usage.input_tokens"} <= set(paths(seen))


def test_tables_of_sqlite_are_shown_with_the_json_in_them(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE turns (id INTEGER, "data" TEXT, who TEXT)')
        connection.execute(f"CREATE TABLE {SECRET}_2 (body BLOB)")
        body = json.dumps({"parts": [{"text": SECRET}]})
        connection.executemany("INSERT INTO turns VALUES (?, ?, ?)", [(1, body, SECRET)] * 3)
    seen = explain_format(path)
    assert [(table.name, table.rows) for table in seen.tables] == [("<hidden>", 0), ("turns", 3)]
    assert [field.path for field in seen.tables[0].fields] == ["body"]
    fields = {field.path: field.seen for field in seen.tables[1].fields}
    assert fields["data.parts.[].text"] == 3
    assert fields["who"] == 3
    assert SECRET not in str(seen)


def test_the_nearest_format_is_named_with_what_is_missing() -> None:
    seen = explain(b'{"timestamp": "x", "type": "y", "load": 1}\n' * 3)
    assert seen.format is None
    near = next(near for near in seen.nearest if near.format == "codex")
    assert (near.score, near.has, near.lacks) == (0.0, ("timestamp", "type"), ("payload",))


@pytest.mark.parametrize("name", [name for name in BUILDERS if by_name(name).marks])
def test_a_log_has_the_marks_of_its_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / label_of(name)
    path.write_bytes(BUILDERS[name](Talk(1, 4)))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            member = max(archive.namelist(), key=lambda inner: "/" in inner)
            path = Path(archive.extract(member, tmp_path))
    seen = explain_format(path)
    assert (seen.format, seen.nearest[0].format, seen.nearest[0].lacks) == (name, name, ())


@pytest.mark.parametrize("name", BUILDERS)
def test_no_word_of_a_log_is_in_what_is_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / label_of(name)
    path.write_bytes(BUILDERS[name](Talk(1, 6)))
    shown = json.dumps(asdict(explain_format(path)))
    texts = [turn.text for turn in Talk(1, 6)]
    pairs = {" ".join(pair) for text in texts for pair in zip(text.split(), text.split()[1:],
                                                              strict=False)}  # fmt: skip
    assert pairs
    assert not [pair for pair in pairs if pair in shown]


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"", "nothing"), (b"\n\n", "nothing"), (b"one\ntwo\n", "text; of its first"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"), (b'{"a": [1, ', "a JSON object"), (b"[1, 2]", "array"),
    ],
)  # fmt: skip
def test_any_content_can_be_explained(data: bytes, content: str) -> None:
    assert content in explain(data).content


def test_an_archive_is_explained_by_the_kinds_of_its_files(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{SECRET}/{number}.json", "{}")
        archive.writestr(f"{SECRET}.png", "x")
    seen = explain_format(path)
    assert seen.members == {".json": 3, ".png": 1}
    assert SECRET not in str(seen)


def test_marks_are_names_and_never_empty() -> None:
    for importer in IMPORTERS:
        assert all(marks and all(map(str.strip, marks)) for marks in importer.marks), importer.name
