"""An importer of another package is used as treemem's own, and what it breaks is one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from tests.plugins.conftest import Install
from treemem import Memory
from treemem.importers import IMPORTERS, LogFile, by_name, detect, every

JOURNAL = """\
[2026-03-02 09:30] The scale is off. It shows 3 kg too much.
We weigh again tomorrow.

[2026-03-03 10:00] Mended.
"""
# A format of lines that begin with "plug:". MODE is what goes wrong.
CODE = """
from treemem import Importer, Message, Source

class Plug(Importer):
    name, version, description, kept, dropped = "plug", 1, "plugs", "words", ""
    mode = "MODE"
    def recognizes(self, file, head):
        if self.mode == "recognizes":
            raise KeyError("score")
        odd = {"greedy": 9.0, "nan": float("nan")}
        return odd.get(self.mode, 0.8 * head.startswith(b"plug:"))
    def read(self, file):
        if self.mode == "source":
            yield Message(text="no source")
        yield Source("plug/1", "plug")
        yield Message(text="one", role="user")
        if self.mode == "read":
            raise ValueError("what is this?")
        if self.mode == "event":
            yield "two"
"""
POINTS = {"treemem.importers": {"plug": ".:Plug"}}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "work.txt"
    path.write_text(JOURNAL)
    return path


@pytest.mark.usefixtures("sample")
def test_an_importer_is_detected_chosen_and_listed(memory: Memory, journal: Path) -> None:
    (report,) = memory.ingest(journal).files
    assert (report.format, report.added) == ("jrnl", 2)
    assert [message.text for message in memory.messages("jrnl/work")] == [
        "The scale is off. It shows 3 kg too much.\nWe weigh again tomorrow.", "Mended.",
    ]  # fmt: skip
    assert memory.ingest(journal).files[0].added == 0
    assert by_name("JRNL").name == "jrnl"
    assert memory.notices == ()


@pytest.mark.usefixtures("sample")
def test_the_command_line_knows_it(journal: Path) -> None:
    assert "2 messages added" in run("ingest", "--format", "jrnl", str(journal)).output
    (row,) = [row for row in run_json("formats") if row["name"] == "jrnl"]
    assert row["description"].endswith("(of treemem-sample 1.0)")
    assert "jrnl" in run("ingest", "--format", "jrnll", str(journal)).output
    assert "nearest: jrnl reads it" in run("formats", "explain", str(journal)).output


def test_without_the_package_the_format_is_not_known(journal: Path) -> None:
    assert [importer.name for importer in every()] == [importer.name for importer in IMPORTERS]
    assert run("ingest", "--format", "jrnl", str(journal)).exit_code != 0


@pytest.mark.parametrize("mode", ["read", "event", "source"])
def test_an_importer_that_fails_fails_its_file_only(
    mode: str, memory: Memory, install: Install, journal: Path, tmp_path: Path
) -> None:
    install("plugin-a", POINTS, CODE.replace("MODE", mode))
    (tmp_path / "a.plug").write_text("plug: one\n")
    broken, fine = memory.ingest([tmp_path / "a.plug", journal]).files
    assert "plug of the package plugin-a 1.0 failed: " in str(broken.error)
    assert fine.error is None
    assert fine.added


@pytest.mark.parametrize("mode", ["recognizes", "nan"])
def test_an_importer_that_cannot_tell_its_files_leaves_them_to_others(
    mode: str, install: Install, journal: Path
) -> None:
    before = detect(LogFile(str(journal), journal)).name
    install("plugin-a", POINTS, CODE.replace("MODE", mode))
    assert detect(LogFile(str(journal), journal)).name == before


def test_no_score_outbids_a_certain_format_of_treemems_own(install: Install) -> None:
    install("plugin-a", POINTS, CODE.replace("MODE", "greedy"))
    own = {importer.name for importer in IMPORTERS}
    demo = Path(__file__).parent.parent.parent / "treemem" / "demo" / "session.jsonl"
    score = max(one.recognizes(LogFile("x", demo), LogFile("x", demo).head()) for one in IMPORTERS)
    assert (detect(LogFile(str(demo), demo)).name in own) == (score == 1.0)


@pytest.mark.parametrize(
    ("points", "code", "reason"),
    [
        ({"plug": ".:Plug"}, "1 / 0", "ZeroDivisionError"),
        ({"plug": ".:Plug"}, "Plug = 3", "it is 3, not an instance of treemem.Importer"),
        ({"codex": ".:Plug"}, CODE, "'codex' is a name of treemem's own"),
    ],
)
def test_one_that_cannot_be_used_is_told_of_once(
    points: dict[str, str], code: str, reason: str, memory: Memory, install: Install, journal: Path
) -> None:
    install("plugin-a", {"treemem.importers": points}, code)
    assert memory.ingest(journal).files[0].error is None
    memory.ingest(journal)
    (notice,) = memory.notices
    assert reason in notice
    assert "plugin-a 1.0" in notice
    assert by_name("codex") in IMPORTERS
    assert reason in run("formats").stderr
