"""The browser over real memories: what its screen shows, and what its keys do."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.conftest import DEMO, FakeClock
from tests.helpers.command_line import run
from treemem import Memory, Message

pytest.importorskip("textual", reason="needs the extra: browse")
from textual.pilot import Pilot
from textual.widgets import Input

from treemem_cli.browse.app import EMPTY, NOTHING, Browser
from treemem_cli.start import INTERRUPTED

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "browse.md"
SESSION = "69cb1603-6279-4281-ab6f-b4eac46a4057"
POLL_SECONDS, POLLS_MAX = 0.02, 1_500
HOSTILE = "[bold]loud[/bold] [@click=app.quit]press[/] \x1b[31mred \x9b2J \u202edlrow [/nothing]"

Steps = Callable[["Screen"], Awaitable[None]]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Recording(Browser):
    """A browser that notes what it would open in the editor."""

    def __init__(self, memory: Memory, words: str = "") -> None:
        super().__init__(memory, words)
        self.opened: list[tuple[Path, int | None]] = []

    def open_log(self, path: Path, line: int | None) -> None:
        self.opened.append((path, line))


class Screen:
    """The screen of a running browser, and its keys."""

    def __init__(self, app: Recording, pilot: Pilot[None]) -> None:
        self.app, self._pilot = app, pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self.settle()

    async def type(self, words: str) -> None:
        await self.press("slash", "ctrl+u", *("space" if char == " " else char for char in words))
        await self.until(lambda: self.app._query == words)
        await self.settle()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for what comes by a timer, however busy the machine is."""
        for _ in range(POLLS_MAX):
            if condition():
                return
            await self._pilot.pause(POLL_SECONDS)
        pytest.fail(f"this did not come to the screen:\n{self.text}")

    async def settle(self) -> None:
        for _ in range(3):
            await self._pilot.pause()
            await self.app.workers.wait_for_complete()
        await self._pilot.pause()

    @property
    def lines(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> str:
        """The words on the screen, without the frames between them."""
        return " ".join(re.sub("[│▌]", " ", self.text).split())

    @property
    def pane(self) -> list[str]:
        """The lines of the words beside or below the tree."""
        region = self.app.query_one("#words").region
        return [line[region.x : region.right] for line in self.lines[region.y : region.bottom]]

    @property
    def underlined(self) -> set[str]:
        """The stretches of the screen that are underlined, in lower case."""
        stretches = set()
        for strip in self.app.screen._compositor.render_strips():
            for is_underlined, segments in groupby(
                strip, lambda segment: bool(segment.style and segment.style.underline)
            ):
                if is_underlined:
                    stretches.add("".join(segment.text for segment in segments).lower())
        return stretches

    def metas(self) -> list[dict[str, object]]:
        strips = self.app.screen._compositor.render_strips()
        styles = (segment.style for strip in strips for segment in strip)
        return [style.meta for style in styles if style is not None]


def record(session: str, role: str, text: str, day: str, **fields: object) -> str:
    """A line of a Claude Code log."""
    message = {"role": role, "content": text}
    return json.dumps({
        "type": role, "uuid": f"{session}-{text}", "sessionId": session, "cwd": "/w",
        "timestamp": f"{day}T10:00:00Z", "message": message, **fields,
    }) + "\n"  # fmt: skip


def browse(memory: Memory, steps: Steps, size: tuple[int, int] = (80, 24), words: str = "") -> None:
    async def go() -> None:
        app = Recording(memory, words)
        async with app.run_test(size=size, notifications=True) as pilot:
            screen = Screen(app, pilot)
            await screen.settle()
            await steps(screen)

    asyncio.run(go())


# -- reading -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (200, 50)])
def test_a_source_its_tree_and_a_node_are_shown(demo: Memory, size: tuple[int, int]) -> None:
    async def steps(screen: Screen) -> None:
        assert "milkround · Nasty one" in screen.text
        assert "claude-code/69cb1603" in screen.text
        await screen.press("enter", "down")
        assert "level 1  23,445 tokens" in screen.text
        await screen.press("down")
        assert re.search(r"leaf  [\d,]+ tokens", screen.text)
        assert "assistant · 2025-11-05" in screen.text
        assert len(screen.lines) == size[1]
        assert max(map(len, screen.lines)) <= size[0]

    browse(demo, steps, size)


def test_the_screen_in_the_documentation_is_real(demo: Memory) -> None:
    shown = re.search(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown is not None

    async def steps(screen: Screen) -> None:
        await screen.press("enter", "down")
        assert screen.lines == shown[1].rstrip("\n").split("\n")

    browse(demo, steps)


def test_the_words_are_beside_the_tree_or_below_it_as_the_width_allows(demo: Memory) -> None:
    def is_beside(screen: Screen) -> bool:
        return any("│" in line for line in screen.lines)

    async def wide(screen: Screen) -> None:
        assert is_beside(screen)

    async def narrow(screen: Screen) -> None:
        assert not is_beside(screen)

    browse(demo, wide)
    browse(demo, narrow, (60, 24))


def test_sub_agents_are_below_their_session(memory: Memory, tmp_path: Path) -> None:
    for name, agent in (("herd", {}), ("helper", {"agentId": "a1b2", "isSidechain": True})):
        line = record(SESSION, "user", f"Feed the {name} today.", "2026-01-01", **agent)
        (tmp_path / f"{name}.jsonl").write_text(line)
    memory.ingest([tmp_path])

    async def steps(screen: Screen) -> None:
        assert len(screen.app._tree.root.children) == 1
        assert "Feed the helper" not in screen.text
        await screen.press("enter")
        assert "Feed the helper" in screen.text

    browse(memory, steps, (120, 24))


def test_without_an_editor_the_path_of_a_log_is_shown(
    demo: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem_cli.content.editor.chosen", lambda: None)

    async def steps(screen: Screen) -> None:
        Browser.open_log(screen.app, Path("/logs/a.jsonl"), 7)
        await screen.settle()
        assert "The log" in screen.text
        assert "/logs/a.jsonl:7" in screen.text

    browse(demo, steps)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
def test_a_row_shows_the_last_day_of_its_source_and_the_tool_where_there_is_room(
    memory: Memory, tmp_path: Path, size: tuple[int, int]
) -> None:
    for number in range(1, 30):  # more than the screen has rows, so that there is a scrollbar
        text = f"Feed the {'very ' * 40}hungry herd. 予算の会議"
        log = tmp_path / f"{number}.jsonl"
        log.write_text("".join(record(str(number), "user", f"{text} {n}", f"2026-01-{number:02}")
                               for n in range(4)))  # fmt: skip
    memory.ingest([tmp_path])

    async def steps(screen: Screen) -> None:
        rows = [line.partition("│")[0].rstrip(" ▁▂▃▄▅▆▇█") for line in screen.lines[1:7]]
        for number, row in enumerate(rows):
            assert re.fullmatch(rf"▶ w · Feed the very .*…  .*2026-01-{29 - number}", row)
            assert ("claude-code" in row) == (size[0] != 80)
        await screen.press("enter", "down")
        assert screen.lines[2].partition("│")[0].rstrip(" ▁▂▃▄▅▆▇█").endswith("…")

    browse(memory, steps, size)


def test_sources_in_which_hardly_anything_was_said_come_last(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "warm.jsonl").write_text(record("warm", "user", "Reply with OK.", "2026-01-03"))
    long = "".join(record("herd", "user", f"Feed the herd {n}.", "2026-01-02") for n in range(9))
    (tmp_path / "herd.jsonl").write_text(long)
    (tmp_path / "agents.jsonl").write_text("".join(
        record("agents", "user", f"Shear the sheep {n}.", "2026-01-01") for n in range(9)
    ))  # fmt: skip
    memory.ingest([tmp_path])

    async def steps(screen: Screen) -> None:
        ids = [node.data.id for node in screen.app._tree.root.children if node.data is not None]
        assert ids == [f"claude-code/{name}" for name in ("herd", "agents", "warm")]

    browse(memory, steps)


def test_an_empty_memory_says_what_to_do(memory: Memory) -> None:
    async def steps(screen: Screen) -> None:
        assert EMPTY in screen.words
        await screen.press("enter", "o", "r", "down")

    browse(memory, steps)


def test_text_of_a_log_is_neither_markup_nor_control(memory: Memory) -> None:
    message = Message(text=f"The walrus. {HOSTILE}", author=f"Eve {HOSTILE}")
    memory.append("chat/[bold]x[/bold]", [message], title=f"Walrus {HOSTILE}", project=HOSTILE)

    async def steps(screen: Screen) -> None:
        for keys in ((), ("enter", "down"), ("down",), ("r",)):
            await screen.press(*keys)
            assert "[bold]" in screen.text
            assert not any(char in screen.text for char in "\x1b\x9b\u202e")
            assert not any("@click" in meta for meta in screen.metas())
        await screen.press("escape")
        await screen.type("walrus")
        assert "[bold]loud[/bold]" in screen.text
        assert not any(char in screen.text for char in "\x1b\x9b\u202e")
        assert not any("@click" in meta for meta in screen.metas())

    browse(memory, steps, (200, 40))


# -- searching ---------------------------------------------------------------------------


def test_results_appear_while_typing_and_escape_leads_back(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("cents rounded")
        await screen.press("enter", "tab", "home")
        assert "treemem/demo/session.jsonl" in "".join("".join(screen.pane).split())
        assert len(screen.app._hits) > 1
        scores = [hit.score for hit in screen.app._hits]
        assert scores == sorted(scores, reverse=True)
        await screen.press("escape")
        assert screen.app._tree.display
        assert "247 messages" in screen.words

    browse(demo, steps)


def test_keys_that_are_typed_at_once_are_words_and_not_commands(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        screen.app.action_search()
        assert isinstance(screen.app.focused, Input)  # before the next key is handled

    browse(demo, steps)


def test_words_that_match_are_marked(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("coffee rain outside")
        assert "coffee" in screen.underlined

    browse(demo, steps)


@pytest.fixture(scope="module")
def farm_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hundred messages of a day's chores, and in three of them what is searched."""

    def said(number: int) -> str:
        if number == 259:
            return "Where are the keys? 259"
        if number == 270:
            return "\n".join(["The feed is low. [bold]x[/bold]"] * 40 + ["Buy a [b]harrow[/b]."])
        return f"{number} " + "the list of all that must be done before it snows " * 3

    path = tmp_path_factory.mktemp("farm") / "memory.sqlite3"
    with Memory.open(path, clock=FakeClock()) as memory:
        memory.append("chat/farm", [
            Message(text=said(number), sent_at="2026-01-01T10:00:00Z", external_id=str(number))
            for number in range(400)
        ])  # fmt: skip
        memory.work(max_calls=0)
    return path


@pytest.fixture
def farm(farm_file: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory.open(shutil.copy(farm_file, tmp_path / "farm.sqlite3"), clock=clock) as memory:
        yield memory


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
def test_a_result_scrolls_to_its_message_and_marks_its_words(
    farm: Memory, size: tuple[int, int]
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("keys")
        await screen.until(lambda: any("the keys? 259" in line for line in screen.pane))
        assert screen.underlined == {"keys"}
        await screen.type("harrow")  # behind forty lines of its message
        await screen.until(lambda: any("Buy a [b]harrow[/b]." in line for line in screen.pane))
        assert screen.underlined == {"harrow"}

    browse(farm, steps, size)


def test_nothing_found_is_said(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("xyzzyplugh")
        words = " ".join(" ".join(line.partition("│")[2] for line in screen.lines).split())
        assert words.startswith(NOTHING)

    browse(demo, steps)


def test_words_of_the_command_are_searched_at_the_start(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.until(lambda: bool(screen.app._hits))

    browse(demo, steps, words="cents rounded")


# -- opening -----------------------------------------------------------------------------


def test_enter_opens_the_log_at_the_line_of_a_leaf_or_a_result(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("enter", "down", "down")
        await screen.press("enter")
        ((path, line),) = screen.app.opened
        assert path == DEMO
        record = json.loads(DEMO.read_text().split("\n")[(line or 0) - 1])
        assert record["timestamp"].startswith("2025-11-05T10:49")
        await screen.type("who decided how the cents are rounded?")
        await screen.press("enter", "enter")
        assert screen.app.opened[-1][1] == screen.app._hits[0].place.line  # type: ignore[union-attr]

    browse(demo, steps)


def test_o_opens_the_log_of_a_source(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("o")
        assert screen.app.opened == [(DEMO, None)]

    browse(demo, steps)


def test_r_shows_the_command_or_why_there_is_none(demo: Memory) -> None:
    demo.append("chat/1", [Message(text="The walrus swims.", sent_at="2026-01-01T10:00:00Z")])

    async def steps(screen: Screen) -> None:
        await screen.press("r")
        assert "which has no command to continue a session." in screen.words
        await screen.press("down", "r")
        assert "cd /home/neza/src/milkround && claude --resume" in screen.words
        await screen.press("escape")
        assert "claude --resume" not in screen.text

    browse(demo, steps)


def test_what_is_not_in_a_log_is_an_error_on_the_screen(memory: Memory) -> None:
    memory.append("chat/1", [Message(text="The walrus swims.")])

    async def steps(screen: Screen) -> None:
        await screen.press("o")
        assert "has no log file that is known" in screen.words
        assert screen.app.opened == []

    browse(memory, steps, (120, 24))


def test_the_keys_are_shown_and_q_quits(demo: Memory) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("question_mark")
        assert "show the command that continues the session" in screen.text
        await screen.press("q")
        assert "show the command" not in screen.text
        await screen.press("q")
        assert not screen.app.is_running

    browse(demo, steps)


@pytest.mark.parametrize("before", [(), ("slash", "k"), ("r",), ("question_mark",)])
def test_ctrl_c_quits_from_everywhere(demo: Memory, before: tuple[str, ...]) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(*before, "ctrl+c")
        assert not screen.app.is_running
        assert screen.app.return_code == INTERRUPTED

    browse(demo, steps)


@pytest.mark.parametrize("key", ["r", "question_mark"])
def test_a_search_begins_from_a_dialog(demo: Memory, key: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(key)
        assert "Esc closes" in screen.text
        await screen.press(*"/cents")
        assert "Esc closes" not in screen.text
        assert screen.app.query_one(Input).value == "cents"

    browse(demo, steps)


# -- the command -------------------------------------------------------------------------


def test_without_textual_the_error_names_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    result = run("browse")
    assert result.exit_code == 1
    assert "needs the package Textual. Install it: " in result.stderr
    assert "-m pip install" in result.stderr


def test_without_a_terminal_it_is_refused() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The walrus swims.")])
    result = run("browse")
    assert result.exit_code == 1
    assert "needs a terminal" in result.stderr


class Terminal:
    """`treemem browse` on a terminal of its own. shown: all that it has written."""

    def __init__(self, **variables: str) -> None:
        import pty

        self.shown = b""
        self._child, self._terminal = pty.fork()
        if self._child == 0:
            os.environ.pop("VISUAL", None)
            os.environ |= {"TERM": "xterm-256color"} | variables
            os.execv(sys.executable, [sys.executable, "-m", "treemem_cli.main", "browse"])

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def wait_for(self, is_done: Callable[[], bool]) -> None:
        until = time.monotonic() + 30
        while not is_done():
            assert time.monotonic() < until, self.shown[-2_000:]
            if select.select([self._terminal], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self._terminal, 65_536)
                except OSError:  # the terminal is closed
                    return

    def exit_code(self) -> int:
        """Waits for the end, and returns the exit code."""
        self.wait_for(lambda: False)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


@pytest.fixture
def memory_at_home() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The walrus swims.")])


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_on_a_terminal_the_editor_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "notes.md"
    log.write_text("# Notes\n\nThe walrus swims in the water.\n")
    with Memory.open() as memory:
        memory.ingest([log])
    arguments = tmp_path / "arguments.json"
    program = tmp_path / "vim"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(arguments)!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
    )
    program.chmod(0o700)
    terminal = Terminal(EDITOR=str(program))
    terminal.wait_for(lambda: b"walrus" in terminal.shown)
    terminal.press(b"o")
    terminal.wait_for(arguments.exists)
    terminal.press(b"q")
    assert terminal.exit_code() == 0
    assert json.loads(arguments.read_text()) == [str(log)]


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_with_no_color_no_colours_are_written(memory_at_home: None) -> None:
    terminal = Terminal(NO_COLOR="1")
    terminal.wait_for(lambda: b"1 message" in terminal.shown)
    terminal.press(b"\x03")
    assert terminal.exit_code() == INTERRUPTED
    styles = re.findall(rb"\x1b\[([0-9;:]*)m", terminal.shown)
    codes = {code for style in styles for code in re.split(b"[;:]", style)}
    assert b"7" in codes  # the selection is still seen
    assert codes <= {b"", b"0", b"1", b"2", b"4", b"7", b"39", b"49"}  # 39 and 49: the terminal's


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_a_terminal_that_only_takes_lines_is_refused(memory_at_home: None) -> None:
    terminal = Terminal(TERM="dumb")
    assert terminal.exit_code() == 1
    assert b"TERM is 'dumb'" in terminal.shown
    assert b"treemem tree --help" in terminal.shown
    assert b"\x1b" not in terminal.shown
