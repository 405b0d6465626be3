"""The page of figures and its chart: from fixed figures, and from those in the repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.scale import chart, page, report
from benchmarks.scale.page import BEGIN, END, Part

SVG = "{http://www.w3.org/2000/svg}"
MACHINE = {
    "cpu": "Some CPU", "cores": 2, "system": "Linux 6.1", "python": "3.11.7", "sqlite": "3.53.4",
    "fsync_ms": 0.1, "load_before": 0.3,
}  # fmt: skip
AIMS = [
    {"name": page.SPEED_AIM, "wanted": 3, "reached": 1.5, "at_most": False, "verdict": "missed"},
    {"name": page.MEMORY_AIM, "wanted": 250, "reached": 200.0, "at_most": True, "verdict": "met"},
]
EMPTY = f"# Figures\n\nBefore.\n\n{BEGIN}\nstale\n{END}\n\nAfter.\n"


def _ingest(**changes: Any) -> Part:
    sizes = [
        {"log": "Claude Code", "megabytes": size, "messages": int(860 * size), "speed": speed,
         "parts_speed": 2 * speed, "ratio": 0.5, "cpu_per_mb": 0.6, "peak_mb": peak,
         "file_ratio": 1.9, "grown_seconds": 0.4}
        for size, speed, peak in ((5.004, 3.0, 100.0), (50.0, 1.5, 200.0))
    ]  # fmt: skip
    chat = {"log": "whatsapp", "megabytes": 5.0, "messages": 40_000, "speed": 1.6,
            "cpu_per_mb": 0.6, "peak_mb": 90.0, "file_ratio": 2.0}  # fmt: skip
    part = Part("ingest", "python benchmarks/ingest.py", "abc123", "2026-11-29T22:00:31+00:00",
                MACHINE, [*sizes, chat], AIMS)  # fmt: skip
    return replace(part, **changes)


def _search(**changes: Any) -> Part:
    rows = [
        {"messages": count, "file_mb": 5.0, "one source": [1.0, 2.0], "everything": times,
         "a tenth of the time": [1.0, 2.0], "bare": [0.2, 0.4], "cold": None, "peak_mb": 80.0}
        for count, times in ((1_000, [4.0, 9.0]), (10_000, [15.5, 33.0]))
    ]  # fmt: skip
    part = Part("search", "python benchmarks/latency.py", "abc123", "2026-11-29T22:05:00+00:00",
                MACHINE, rows)  # fmt: skip
    return replace(part, **changes)


def _queue(**changes: Any) -> Part:
    rows = [{"queue": "huey", "single": 8_682.4, "batch": None, "cpu_ms": 0.1, "kills": 20,
             "lost": 19, "doubled": 0, "repeated": 1}]  # fmt: skip
    part = Part("queue", "python benchmarks/queue.py", "abc123", "2026-11-29T22:09:00+00:00",
                MACHINE, rows)  # fmt: skip
    return replace(part, **changes)


PARTS = [_ingest(), _search(), _queue()]


def test_the_page_is_filled_between_its_markers_alone() -> None:
    text = page.filled(EMPTY, PARTS)
    assert text.startswith("# Figures\n\nBefore.\n\n")
    assert text.endswith("\n\nAfter.\n")
    assert "stale" not in text
    assert page.filled(text, PARTS) == text


def test_each_table_says_its_command_commit_time_and_machine() -> None:
    text = page.filled(EMPTY, PARTS)
    for part, minute in zip(PARTS, ("22:00", "22:05", "22:09"), strict=True):
        where = "on Some CPU, 2 cores, Linux 6.1, Python 3.11.7, SQLite 3.53.4"
        assert f"`{part.command}`, commit abc123, 2026-11-29 {minute} UTC, {where};" in text
    assert "of several" not in text


def test_rows_have_their_figures_and_a_dash_for_what_was_not_measured() -> None:
    lines = page.filled(EMPTY, PARTS).splitlines()
    assert "| Claude Code | 50 | 43,000 | 1.50 | 3 | 0.50 | 0.60 | 200 | 1.90 | 0.40 |" in lines
    assert "| whatsapp | 5 | 40,000 | 1.60 | – | – | 0.60 | 90 | 2 | – |" in lines
    assert "| 10,000 | 5 | 1 / 2 | 15.5 / 33 | 1 / 2 | 0.20 / 0.40 | – | 80 |" in lines
    assert "| huey | 8,682 | – | 0.10 | 20 | 19 | 0 | 1 |" in lines
    assert "| (b) MB/s | ≥ 3 | 1.50 | missed |" in lines
    assert "| (b) peak memory, MB | ≤ 250 | 200 | met |" in lines


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (_search(commit="def456"), "several commits: ingest of abc123; search of def456."),
        (_search(commit="abc123+"), "search of abc123 with uncommitted changes."),
        (_search(machine={**MACHINE, "cores": 8}), "several machines: ingest of Some CPU, 2 cores"),
    ],
)
def test_figures_of_several_commits_or_machines_are_refused_or_said_to_be(
    other: Part, said: str
) -> None:
    parts = [_ingest(), other]
    assert said in page.mixture(parts)
    assert said in page.filled(EMPTY, parts)
    assert said in page.drawn(parts)
    with pytest.raises(SystemExit, match="Measure all"):
        report._refuse_mixed(parts)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the page, its chart and its figures, of PARTS, into a folder; nothing is measured."""
    for name in ("FIGURES", "PAGE", "CHART"):
        monkeypatch.setattr(report, name, tmp_path / name)
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "RAW", tmp_path / "raw")
    report.FIGURES.write_bytes(report.written(PARTS))
    report.PAGE.write_text(EMPTY)
    monkeypatch.setattr(report, "measured", lambda *_: _queue(commit="def456"))
    return tmp_path


def _make(monkeypatch: pytest.MonkeyPatch, *words: str, commit: str) -> None:
    monkeypatch.setattr("sys.argv", ["report", *words])
    now = {"commit": commit, "date": "2026-11-30T01:00:00+00:00", "machine": MACHINE}
    monkeypatch.setattr(report.harness, "circumstances", lambda _: now)
    report.main()


def test_a_part_of_another_commit_is_refused_before_it_is_measured(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "measured", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(SystemExit, match="ingest of abc123; search of abc123; these of def456"):
        _make(monkeypatch, "--only", "queue", commit="def456")
    assert report.PAGE.read_text() == EMPTY


def test_a_commit_that_changes_in_between_is_refused(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="queue of def456"):
        _make(monkeypatch, "--only", "queue", commit="abc123")
    assert report.PAGE.read_text() == EMPTY


def test_mixed_figures_are_written_if_they_are_asked_for(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _make(monkeypatch, "--only", "queue", "--mixed", commit="def456")
    assert "**The figures are of several commits: ingest of abc123;" in report.PAGE.read_text()
    assert [part.commit for part in report.read(report.FIGURES)] == ["abc123", "abc123", "def456"]
    assert report.CHART.read_text().startswith("<svg ")
    assert capsys.readouterr().out == "Written: FIGURES, PAGE, CHART\n"


def test_an_unknown_part_is_refused(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="no part speed; there are ingest, search, queue"):
        _make(monkeypatch, "--only", "speed", commit="abc123")


def test_the_load_of_a_machine_does_not_make_it_another() -> None:
    busy = _search(machine={**MACHINE, "load_before": 9.0, "fsync_ms": 4.0})
    assert page.mixture([_ingest(), busy]) == ""


def test_figures_of_a_busy_machine_are_said_to_be() -> None:
    parts = [_ingest(), _search(machine={**MACHINE, "load_before": 9.0})]
    said = "measured beside other work (load 9.0 on 2 cores)"
    assert page.filled(EMPTY, parts).count(said) == 1
    words = " ".join(page.drawn(parts).replace("</text>", "").split())
    assert words.count("measured beside other work") == 2  # in the footer, and in the description
    assert "beside other work" not in page.filled(EMPTY, PARTS) + page.drawn(PARTS)


def _bars(svg: str) -> list[ElementTree.Element]:
    bars = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [bar for bar in bars if bar.get("rx") == "2"]


def test_bars_are_as_high_as_their_figures_and_stand_on_one_line() -> None:
    heights = [float(bar.attrib["height"]) for bar in _bars(page.drawn(PARTS))]
    assert len(heights) == 10
    small, parts_small, large, parts_large = heights[:4]
    assert small / large == pytest.approx(3.0 / 1.5, rel=0.01)
    assert parts_small / small == pytest.approx(2, rel=0.01)
    assert parts_large / large == pytest.approx(2, rel=0.01)
    ends = {float(bar.attrib["y"]) + float(bar.attrib["height"])
            for bar in _bars(page.drawn(PARTS))}  # fmt: skip
    assert max(ends) - min(ends) <= 0.11


def test_aims_are_lines_at_their_height() -> None:
    root = ElementTree.fromstring(page.drawn(PARTS))
    aims = [line for line in root.iter(f"{SVG}line") if line.get("class") == "aim"]
    bar = _bars(page.drawn(PARTS))[0]  # 3 MB/s, which is the aim
    assert [line.get("y1") for line in aims if line.get("y1") == bar.get("y")] == [bar.get("y")]
    assert len(aims) == 4  # and its sample in the legend, for two panels


def test_the_chart_says_in_words_what_it_shows() -> None:
    root = ElementTree.fromstring(page.drawn(PARTS))
    assert root.get("role") == "img"
    named = {child.get("id"): child.text or "" for child in root}
    title, words = (named[name] for name in (root.get("aria-labelledby") or "").split())
    assert title == page.TITLE
    assert "5 MB: treemem 3, its parts alone 6; 50 MB: treemem 1.50" in words
    assert "10,000: median 15.5, 95 % 33" in words
    assert "abc123, 2026-11-29, Some CPU" in words


def test_a_long_footer_goes_on_in_another_line() -> None:
    panel = chart.Panel("title", ["group"], {"series": [1.0]})
    short, long = (ElementTree.fromstring(chart.svg("", [panel], "word " * n)) for n in (5, 60))
    assert int(long.attrib["height"]) > int(short.attrib["height"])
    lines = [text.text or "" for text in long.iter(f"{SVG}text") if text.get("class") == "muted"]
    assert len(lines) == 3
    assert max(map(len, lines)) <= 125


def test_words_of_a_chart_are_no_markup() -> None:
    panel = chart.Panel("<b>&", ["a<b"], {"x>y": [None]})
    root = ElementTree.fromstring(chart.svg("<title>", [panel], "</svg>"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts == ["<b>&", "x>y", "a<b", "–", "</svg>"]


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    assert report.read(path) == []
    path.write_bytes(report.written(PARTS))
    assert report.read(path) == PARTS


def test_the_page_and_its_chart_are_made_of_the_figures_in_the_repository() -> None:
    parts = report.read(report.FIGURES)
    text = report.PAGE.read_text("utf-8")
    assert page.filled(text, parts) == text, "Run: make bench"
    assert page.drawn(parts) == report.CHART.read_text("utf-8"), "Run: make bench"
    assert f"({report.CHART.relative_to(report.ROOT)})" in (report.ROOT / "README.md").read_text()
    assert f"({report.CHART.relative_to(report.PAGE.parent)})" in text


def test_a_search_is_summarized_by_its_median_and_its_slow_end() -> None:
    runs = [{"one source": n, "everything": 10 * n, "a tenth of the time": n, "bare": n}
            for n in range(1, 101)]  # fmt: skip
    result = {"settings": {"messages": 1_000}, "filled": {"file_bytes": 2_000_000}, "cold": [],
              "warm": {"runs": runs, "peak_bytes": 90_000_000}}  # fmt: skip
    (row,) = report._search_rows(result)
    assert row["everything"] == [500, 950]
    assert (row["cold"], row["file_mb"], row["peak_mb"]) == (None, 2, 90)
