"""How nodes, statements and passages look in a terminal.

Text from logs is untrusted: control characters, which could move the cursor, set the title
or hide what was printed, are shown as symbols instead.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as RichTree

if TYPE_CHECKING:
    from treemem import Message, Node, Statement, Tree
    from treemem.tree.browse import SourceView

KIND_STYLES = {
    "gist": "bold", "decision": "green", "constraint": "yellow", "open": "cyan",
    "error": "red", "fact": "",
}  # fmt: skip
NARROW = 100
_KEPT_CONTROLS = "\n\t"
_CONTROL_PICTURES = 0x2400


def console(*, stderr: bool = False) -> Console:
    """Rich output that wraps at the terminal's width, and never cuts where it is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, highlight=False, soft_wrap=False, width=width, emoji=False)


def safe(text: str) -> str:
    """The text with everything that could steer a terminal made visible.

    Example:
        >>> safe("red \\x1b[31m")
        'red ␛[31m'
    """
    if text.isprintable():
        return text
    return "".join(map(_safe_character, text))


def _safe_character(character: str) -> str:
    if character in _KEPT_CONTROLS or character.isprintable():
        return character
    code = ord(character)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if unicodedata.category(character) in ("Zs", "Zl", "Zp"):
        return " "
    if character in "\u200c\u200d":  # joiners inside words and emoji
        return character
    return "\ufffd"


def short(node_id: str) -> str:
    return node_id[:8]


def clip(text: str, width: int) -> str:
    """One line of at most width characters."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def count_of(number: int, noun: str) -> str:
    """A number with its noun, which takes an s unless there is one.

    Example:
        >>> count_of(1, "message"), count_of(2_000, "node")
        ('1 message', '2,000 nodes')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def size(tokens: int) -> str:
    return f"{tokens:,} tokens"


def period(started_at: str | None, ended_at: str | None) -> str:
    """From when to when, to the minute, the day only once."""
    if not started_at:
        return ""
    start = started_at[:16].replace("T", " ")
    if not ended_at or ended_at[:16] == started_at[:16]:
        return start
    end = ended_at[:16].replace("T", " ")
    return f"{start} – {end[11:]}" if end[:10] == start[:10] else f"{start} – {end}"


# -- trees -----------------------------------------------------------------------------


def tree_view(
    tree: Tree, depth: int | None, width: int, roots: Mapping[str | None, str]
) -> RichTree:
    """The tree from its root down; each node with its id, size, time and gist.

    roots: the sources by their roots, which are named where they stand below another root.
    """
    nodes = {node.id: node for node in tree.nodes()}
    assert tree.root_id is not None
    return _branch(nodes, tree.root_id, depth, width, roots, is_root=True)


def _branch(
    nodes: dict[str, Node],
    node_id: str,
    depth: int | None,
    width: int,
    roots: Mapping[str | None, str],
    *,
    is_root: bool = False,
) -> RichTree:
    node = nodes[node_id]
    label = _node_label(
        node, width, is_root=is_root, source=None if is_root else roots.get(node_id)
    )
    branch = RichTree(label, guide_style="dim")
    if node.child_ids and depth == 0:
        branch.add(Text(f"… {len(node.child_ids)} below", style="dim"))
        return branch
    for child_id in node.child_ids:
        branch.children.append(
            _branch(nodes, child_id, None if depth is None else depth - 1, width - 4, roots)
        )
    return branch


def _node_label(node: Node, width: int, *, is_root: bool, source: str | None) -> Text:
    kind = "leaf" if node.is_leaf else f"level {node.level}"
    if node.is_leaf and node.provisional:
        kind = "open tail"
    name = f"root, {kind}" if is_root else kind
    label = Text.assemble(
        (short(node.id), "bold cyan"), (f"  {name}  ", ""), (size(node.tokens), "dim"),
        (f"  {period(node.started_at, node.ended_at)}", "dim"), ("  ", ""),
        (_counts(node), "dim"),
    )  # fmt: skip
    if source is not None:
        label.append("\n" + clip(f"source {source}", max(40, width - 8)), "cyan")
    gists = [s for s in node.statements if s.kind == "gist"] or list(node.statements)
    for statement in gists[: 2 if is_root else 1]:
        label.append("\n" + clip(statement.text, max(40, width - 8)))
    return label


def _counts(node: Node) -> str:
    """How many decisions, rules, open points and errors the node's summary holds."""
    words = {"decision": "decisions", "constraint": "rules", "open": "open", "error": "errors"}
    found = {kind: sum(s.kind == kind for s in node.statements) for kind in words}
    return " · ".join(f"{number} {words[kind]}" for kind, number in found.items() if number)


# -- nodes -----------------------------------------------------------------------------


def statements_view(statements: tuple[Statement, ...], width: int) -> Table:
    """Statements by kind with who said it, and the messages they cite."""
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    table.add_column("kind", no_wrap=True)
    table.add_column("statement", ratio=1)
    table.add_column("said by", no_wrap=True, max_width=16)
    table.add_column("cites", no_wrap=True)
    for statement in statements:
        cites = " ".join(short(message.id or "") for message in statement.messages[:2])
        more = len(statement.messages) - 2
        table.add_row(
            Text(statement.kind, style=KIND_STYLES[statement.kind]),
            _told(statement, max(200, width * 3)),
            Text(clip(statement.speaker or "", 16), style="dim"),
            Text(cites + (f" +{more}" if more > 0 else ""), style="dim"),
        )
    return table


def _told(statement: Statement, width: int) -> Text:
    """The statement, and below it what became of it later on."""
    text = Text(clip(statement.text, width))
    for word, later in (("closed by", statement.closed_by),
                        ("superseded by", statement.superseded_by)):  # fmt: skip
        if later is not None:
            cites = " ".join(short(message_id) for message_id in later.message_ids[:2])
            text.append(f"\n{word}: {clip(later.text, 160)}  {cites}", style="dim")
    return text


def message_view(message: Message) -> Text:
    """A message word for word, under a line that says whose and when."""
    head = " · ".join(
        part for part in (message.speaker, str(message.sent_at or "")[:19].replace("T", " "),
                          short(message.id or ""), f"id {message.external_id}"
                          if message.external_id else "") if part
    )  # fmt: skip
    return Text.assemble((safe(head), "bold cyan"), "\n", safe(message.text))


def sources_view(sources: list[SourceView], width: int) -> Table:
    """One line a source; the id, which other commands take, stands whole below its title. Where
    there is little room for it, only days are told."""
    digits = len("2026-11-08") if width < NARROW else None
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("source", ratio=1, overflow="fold")
    for name in ("messages", "leaves", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    for view in sources:
        label = Text(safe(view.source.id), style="cyan")
        if view.source.title:
            label = Text.assemble(clip(view.source.title, 60), "\n", label)
        table.add_row(
            label, f"{view.messages:,}", f"{view.leaves:,}", f"{view.tokens:,}",
            Text(
                period((view.started_at or "")[:digits], (view.ended_at or "")[:digits]),
                style="dim",
            ),
        )  # fmt: skip
    return table
