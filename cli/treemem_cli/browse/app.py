"""The browser: sources and their trees on one side, words on the other, and a search above.

All reads of the memory run on threads, since a search may take long; the newest of a kind counts.

Tested in tests/cli/browse/test_app.py.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode
from textual.worker import get_current_worker

from treemem import Location, Memory, Message, Node, Passage, Scope, SearchResult, TreememError
from treemem_cli.browse import dialogs, views
from treemem_cli.content import editor
from treemem_cli.content.source import in_groups
from treemem_cli.render import safe
from treemem_cli.start import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from treemem import SourceView

# Below this width, in columns, the words are below the tree instead of beside it.
NARROW = 76
# How long no key must be pressed before a search starts, in seconds.
DEBOUNCE_SECONDS = 0.25
LAYOUT_SECONDS, LAYOUT_TRIES = 0.05, 40
# The tokens of all results of a search.
BUDGET_TOKENS = 6_000
# The rows of words that are shown above or below a match, where there is room.
ROWS_AROUND = 2
NOTHING = "Nothing was found. Try fewer or other words."
EMPTY = "Nothing is stored yet. Quit with q, then: treemem discover"


@dataclass(frozen=True, slots=True)
class Item:
    """A row of the tree: a source or a node."""

    id: str
    source: SourceView | None = None
    is_leaf: bool = False


class SourceTree(Tree[Item]):
    """A tree whose rows are cut at its width. Those of sources end in their last day."""

    def render_label(self, node: TreeNode[Item], base_style: Style, style: Style) -> Text:
        label = super().render_label(node, base_style, style)
        if not self.size.width:  # not laid out yet
            return label
        # A scrollbar covers the last column.
        room = self.size.width - self.scrollbar_size_vertical - self.guide_depth * _depth(node)
        source = None if node.data is None else node.data.source
        end = Text() if source is None else views.source_end(source, room)
        end.stylize(style)
        label.truncate(room - end.cell_len, overflow="ellipsis", pad=bool(end))
        return label.append_text(end)


def _depth(node: TreeNode[Item]) -> int:
    """The number of rows that a row is below; the root has none."""
    depth = -1
    while (above := node.parent) is not None:
        node, depth = above, depth + 1
    return max(0, depth)


class Browser(App[None]):
    """Browses a memory. words: searched at the start; "" for none."""

    TITLE = "treemem"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #query { border: none; height: 1; padding: 0 1; background: $surface; }
    #query:focus { background: $boost; }
    #body { layout: horizontal; height: 1fr; }
    #side { width: 45%; height: 1fr; border-right: solid $primary; }
    #side > Tree, #side > OptionList {
        height: 1fr; padding: 0; border: none; overflow-x: hidden; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    #words { width: 1fr; height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    #words > Static { height: auto; width: 1fr; }
    Tree:nocolor > .tree--cursor, OptionList:nocolor > .option-list--option-highlighted {
        text-style: reverse;
    }
    .narrow #body { layout: vertical; }
    .narrow #side {
        width: 1fr; height: 45%; border-right: none; border-bottom: solid $primary;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        Binding("o", "open", "Open log"),
        Binding("r", "resume", "Resume"),
        Binding("question_mark", "keys", "Keys", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("escape", "sources", "Sources", show=False),
        # Before the focused widget's and any dialog's, which would copy a text.
        Binding("ctrl+c", "interrupt", "Quit", show=False, priority=True),
    ]

    def __init__(self, memory: Memory, words: str = "") -> None:
        # Textual leaves out colours only from a terminal's own, and shows greys otherwise.
        super().__init__(ansi_color=bool(os.environ.get("NO_COLOR")))
        self._memory = memory
        self._words = words
        self._agents: dict[str, list[SourceView]] = {}
        self._hits: tuple[Passage, ...] = ()
        self._query = ""
        self._waiting: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Input(self._words, placeholder="press / to search", id="query", compact=True)
        with Container(id="body"):
            with Container(id="side"):
                yield SourceTree(Text("sources"), id="sources")
                yield OptionList(id="hits", markup=False)
            with VerticalScroll(id="words"):
                yield Static(id="text", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._hits_list.display = False
        self._tree.show_root = False
        self._tree.guide_depth = 2
        self.set_focus(self._tree)
        self._load_sources()

    @property
    def _tree(self) -> SourceTree:
        return self.query_one("#sources", SourceTree)

    @property
    def _hits_list(self) -> OptionList:
        return self.query_one("#hits", OptionList)

    @on(Resize)
    def _fit(self, event: Resize) -> None:
        self.screen.set_class(event.size.width < NARROW, "narrow")

    def _show(self, words: RenderableType) -> None:
        self.query_one("#text", Static).update(words)
        self.query_one("#words", VerticalScroll).scroll_home(animate=False)

    def _fail(self, error: TreememError) -> None:
        self.notify(safe(error.for_shell()), severity="error", markup=False, timeout=10)

    def _then(self, act: Callable[..., object], *arguments: object) -> None:
        """Has the app do something with what a worker has read, unless that is no longer wanted.
        Subtle: call_from_thread would wait for it, and for ever if the app has ended meanwhile."""
        if not get_current_worker().is_cancelled:
            self.call_later(act, *arguments)

    # -- sources and nodes -----------------------------------------------------------------

    @work(thread=True, group="sources")
    def _load_sources(self) -> None:
        try:
            sources = self._memory.sources()
        except TreememError as error:
            self._then(self._fail, error)
            return
        self._then(self._add_sources, sources)

    def _add_sources(self, sources: list[SourceView]) -> None:
        sessions, self._agents = in_groups(sources)
        for view in sessions:
            self._add_source(self._tree.root, view)
        self._tree.root.expand()
        self._tree.cursor_line = 0
        if not sources:
            self._show(Text(EMPTY))

    def _add_source(self, branch: TreeNode[Item], view: SourceView) -> None:
        branch.add(views.source_label(view), Item(view.source.id, view))

    @on(Tree.NodeExpanded, "#sources")
    def _expand(self, event: Tree.NodeExpanded[Item]) -> None:
        if event.node.data is not None and not event.node.children:
            self._load_children(event.node, event.node.data)

    @work(thread=True, group="children")
    def _load_children(self, branch: TreeNode[Item], item: Item) -> None:
        try:
            node_id = item.id if item.source is None else item.source.root_id
            nodes = [] if node_id is None else self._below(node_id, is_root=bool(item.source))
        except TreememError as error:
            self._then(self._fail, error)
            return
        self._then(self._add_nodes, branch, item, nodes)

    def _below(self, node_id: str, *, is_root: bool) -> list[Node]:
        """The children of a node; of a root that is a leaf, the leaf itself."""
        below = self._memory.expand(node_id)
        nodes = [one for one in below if isinstance(one, Node)]
        return nodes or ([self._memory.node(node_id)] if is_root else [])

    def _add_nodes(self, branch: TreeNode[Item], item: Item, nodes: list[Node]) -> None:
        if branch.children:  # expanded twice
            return
        for node in nodes:
            branch.add(views.node_label(node), Item(node.id, is_leaf=node.is_leaf),
                       allow_expand=not node.is_leaf)  # fmt: skip
        for view in self._agents.get(item.id, []):
            self._add_source(branch, view)

    @on(Tree.NodeHighlighted, "#sources")
    def _highlight(self, event: Tree.NodeHighlighted[Item]) -> None:
        if event.node.data is not None and self._tree.display:
            self._load_words(event.node.data)

    @work(thread=True, group="words", exclusive=True)
    def _load_words(self, item: Item) -> None:
        try:
            words = self._words_of(item)
        except TreememError as error:
            self._then(self._fail, error)
            return
        self._then(self._show, words)

    def _words_of(self, item: Item) -> RenderableType:
        if item.source is not None:
            return views.source_words(item.source, self._memory.digest(Scope.source(item.id)))
        node = self._memory.node(item.id)
        below = self._memory.expand(item.id) if node.is_leaf else []
        return views.node_words(node, [one for one in below if isinstance(one, Message)])

    @on(Tree.NodeSelected, "#sources")
    def _select(self, event: Tree.NodeSelected[Item]) -> None:
        if event.node.data is not None and event.node.data.is_leaf:
            self.action_open()

    # -- search ----------------------------------------------------------------------------

    @on(Input.Changed, "#query")
    def _type(self, event: Input.Changed) -> None:
        if self._waiting is not None:
            self._waiting.stop()
        words = event.value.strip()
        if words:
            self._waiting = self.set_timer(DEBOUNCE_SECONDS, lambda: self._search(words))
        else:
            self.workers.cancel_group(self, "search")
            self._show_hits(None)

    @work(thread=True, group="search", exclusive=True)
    def _search(self, words: str) -> None:
        try:
            result = self._memory.search(words, budget_tokens=BUDGET_TOKENS, order="score")
            result = self._memory.places.with_lines(result, words)
        except TreememError as error:
            self._then(self._fail, error)
            return
        self._then(self._show_hits, result, words)

    def _show_hits(self, result: SearchResult | None, query: str = "") -> None:
        """Shows the passages of a search; None for the sources again."""
        self._query = query
        self._hits = () if result is None else result.passages
        self._hits_list.clear_options()
        self._hits_list.add_options(Option(views.hit_label(passage)) for passage in self._hits)
        self._hits_list.display = result is not None
        self._tree.display = result is None
        if self._hits:
            self._hits_list.highlighted = 0
        elif result is not None:
            self._show(Text(NOTHING))
        elif (node := self._tree.cursor_node) is not None and node.data is not None:
            self._load_words(node.data)

    @on(Input.Submitted, "#query")
    def _submit(self) -> None:
        self.set_focus(self._hits_list if self._hits_list.display else self._tree)

    @on(OptionList.OptionHighlighted, "#hits")
    def _highlight_hit(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._hits):
            self._show(views.hit_words(self._hits[event.option_index], self._query))
            self.call_after_refresh(self._scroll_to_match, LAYOUT_TRIES)

    def _scroll_to_match(self, tries: int) -> None:
        """Scrolls to the match of the selected result: with the beginning of its message if both
        fit, and otherwise with the rows above it. Subtle: the rows of the words are known once they
        are laid out, which on a busy machine may be after a refresh; tries is how often to wait."""
        pane, text = self.query_one("#words", VerticalScroll), self.query_one("#text", Static)
        strips = text.render_lines(text.size.region)
        rows = {
            name: row
            for row, strip in reversed(list(enumerate(strips)))
            for segment in strip
            if segment.style is not None
            for name in segment.style.meta
        }
        if views.MATCH not in rows and tries:
            self.set_timer(LAYOUT_SECONDS, lambda: self._scroll_to_match(tries - 1))
            return
        match = rows.get(views.MATCH, 0)
        start = rows.get(views.START, match)
        fits = match - start < pane.size.height - ROWS_AROUND
        pane.scroll_to(y=start if fits else match - ROWS_AROUND, animate=False)

    @on(OptionList.OptionSelected, "#hits")
    def _select_hit(self) -> None:
        self.action_open()

    # -- keys ------------------------------------------------------------------------------

    def action_search(self) -> None:
        # Subtle: Widget.focus() waits its turn, so that the next keys would still be commands.
        self.set_focus(self.query_one("#query", Input))

    def action_sources(self) -> None:
        self.query_one("#query", Input).value = ""
        self._show_hits(None)
        self.set_focus(self._tree)

    def action_keys(self) -> None:
        self.push_screen(dialogs.keys_dialog())

    def action_interrupt(self) -> None:
        self.exit(return_code=INTERRUPTED)

    def action_resume(self) -> None:
        self._locate(is_resumed=True)

    def action_open(self) -> None:
        self._locate(is_resumed=False)

    @work(thread=True, group="locate", exclusive=True)
    def _locate(self, *, is_resumed: bool) -> None:
        try:
            location = self._selected()
            if location is None:
                return
            if is_resumed:
                command = self._memory.places.resume_command(location)
                self._then(self._show_line, command, "Continue this session")
            else:
                path = self._memory.places.log_path(location)
                self._then(self.open_log, path, location.place.line)
        except TreememError as error:
            self._then(self._fail, error)

    def _selected(self) -> Location | None:
        """The place of what is selected: a passage, a node or a source."""
        at = self._hits_list.highlighted
        if self._hits_list.display:
            if at is None or at >= len(self._hits):
                return None
            hit = self._hits[at]
            if hit.place is not None:
                return Location(hit.source_id, hit.best.id, hit.place)
            return self._memory.places.find(hit.best.id or "")
        node = self._tree.cursor_node
        if node is None or node.data is None:
            return None
        return self._memory.places.find(node.data.id)

    def _show_line(self, line: str, title: str) -> None:
        self.push_screen(dialogs.Dialog(Text(safe(line)), title))

    def open_log(self, path: Path, line: int | None) -> None:
        """Opens a log in the editor, in place of the browser until it ends."""
        try:
            program = editor.chosen()
            if program is None:
                self._show_line(f"{path}:{line}" if line else str(path), "The log")
                return
            with self.suspend():
                editor.run(program, path, line)
        except TreememError as error:
            self._fail(error)
        self.refresh(layout=True)
