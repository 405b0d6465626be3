"""treemem tree: draws the summary tree of everything, a source or a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.past import as_of_option, print_json_of, say_when, seen
from treemem_cli.context import NOTHING_STORED, note, open_memory
from treemem_cli.parameters import (
    full_option,
    json_option,
    no_pager_option,
    scope_options,
    utc_option,
)

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree as RichTree

    from treemem import Node, Scope, SourceView, Tree


BEHIND = (
    "The latest messages are not included yet; ingest, watch and work add them, at most every "
    "15 minutes."
)


@click.command("tree")
@click.argument("source", required=False, shell_complete=ids("source"))
@click.option(
    "--topic", metavar="ID", shell_complete=ids("topic"), help="Draw the tree of a topic."
)
@scope_options("tool", "project")
@click.option("--depth", type=click.IntRange(min=0), help="Show this many levels below the root.")
@as_of_option
@utc_option
@json_option
@full_option
@no_pager_option
@click.pass_context
def tree_command(
    context: click.Context,
    source: str | None,
    topic: str | None,
    scope: Scope,
    depth: int | None,
    as_of: str | None,
    as_json: bool,
    full: bool,
) -> None:
    """Draw the summary tree of everything, a source or a topic.

    SOURCE is a part of an id or a title that no other source has, or "latest"; --tool and --project
    may leave one of several. Each node shows its id, size, time range and gist. The tree of
    everything is updated at most every 15 minutes.

    \b
    Example:
      treemem tree --depth 1
      treemem tree latest
      treemem tree settlement --tool claude-code
    """
    wanted = _scope(source, topic, scope)
    with open_memory(context) as now, seen(now, as_of, wanted) as memory:
        is_empty = now.is_empty
        tree = memory.tree(wanted, cite=as_json and full)
        sources = {view.root_id: view for view in memory.sources()}
        digest = memory.digest(tree.scope)
        is_behind = tree.scope.kind == "everything" and memory.is_behind("global")
    if as_json:
        print_json_of(memory, [tree], full=full)
        return
    from treemem_cli.content.digest import counts_line
    from treemem_cli.render import console, paged, safe

    say_when(memory)
    if tree.root_id is None and is_behind:
        note("The tree of everything has not been built yet. Run: treemem work")
        return
    if tree.root_id is None:
        if is_empty:
            note(NOTHING_STORED)
        return
    screen = console()
    with paged(screen):
        screen.print(safe(str(tree.scope)), style="bold", markup=False, soft_wrap=True)
        screen.print(safe(digest.headline), markup=False)
        if counts := counts_line(digest):
            screen.print(safe(counts), style="dim", markup=False)
        screen.print(_tree_view(tree, depth, screen.width, sources))
    if is_behind:
        note(BEHIND)


def _scope(source: str | None, topic: str | None, filters: Scope) -> Scope:
    """filters: the scope of --tool and --project."""
    from treemem import Scope

    if topic is not None and source is not None:
        raise click.UsageError("Give a source or --topic, not both.")
    if topic is not None and filters.kind != "everything":
        raise click.UsageError("A topic has one tree: leave out --tool and --project.")
    if topic is not None:
        return Scope.topic(topic)
    if filters.kind == "everything":
        return filters if source is None else Scope.source(source)
    return Scope.where(source=source, tool=filters.tool, project=filters.project)


def _tree_view(
    tree: Tree, depth: int | None, width: int, sources: Mapping[str | None, SourceView]
) -> RichTree:
    """sources: by their root's id, shown where such a root is below another node."""
    nodes = {node.id: node for node in tree.nodes()}
    assert tree.root_id is not None
    return _branch(nodes, tree.root_id, depth, width, sources, set(), is_root=True)


def _branch(
    nodes: dict[str, Node],
    node_id: str,
    depth: int | None,
    width: int,
    sources: Mapping[str | None, SourceView],
    shown: set[str],
    *,
    is_root: bool = False,
) -> RichTree:
    """shown: the statements that have been drawn, since those of a group are of its children."""
    from rich.text import Text
    from rich.tree import Tree as RichTree

    node = nodes[node_id]
    source = None if is_root else sources.get(node_id)
    below_titles = [] if node_id in sources else _titles_below(nodes, node_id, sources)
    gists = [] if below_titles else _gists(node, shown, 2 if is_root else 1)
    shown.update(gists)
    label = _node_label(node, width, gists, is_root=is_root, source=source, titles=below_titles)
    branch = RichTree(label, guide_style="dim")
    if node.child_ids and depth == 0:
        branch.add(Text(f"… {len(node.child_ids)} below", style="dim"))
        return branch
    below = None if depth is None else depth - 1
    for child_id in node.child_ids:
        branch.children.append(_branch(nodes, child_id, below, width - 4, sources, shown))
    return branch


def _gists(node: Node, shown: set[str], count: int) -> list[str]:
    """What a node is about: its first gists that are not shown yet, or else other statements."""
    gists = [s.text for s in node.statements if s.kind == "gist"]
    texts = [*gists, *(s.text for s in node.statements if s.kind != "gist")]
    new = [text for text in dict.fromkeys(texts) if text not in shown]
    return [text for text in new if text in gists][:count] or new[:1] or texts[:1]


def _titles_below(
    nodes: dict[str, Node], node_id: str, sources: Mapping[str | None, SourceView]
) -> list[str]:
    """The titles of the sources whose roots are below a node, the latest first."""
    titles: list[str] = []
    stack = [node_id]
    while stack:
        at = stack.pop()
        if at in sources:
            titles.append(sources[at].title)
        else:
            stack += nodes[at].child_ids
    return titles


def _node_label(
    node: Node,
    width: int,
    gists: list[str],
    *,
    is_root: bool,
    source: SourceView | None,
    titles: list[str],
) -> Text:
    """gists: what the node is about. titles: of the sources below a node of the tree of everything,
    which say more than words of one of them."""
    from rich.text import Text

    from treemem.reports import count_of
    from treemem_cli.content.node import node_size
    from treemem_cli.render import clip, period, safe, short

    title = Text(clip(source.title, max(40, width - 8)) + "\n", "bold") if source else Text()
    label = title + Text.assemble((short(node.id), "bold cyan"), (f"  {node_size(node)}", "dim"))
    if when := period(node.started_at, node.ended_at):
        label.append(f"  {when}", "dim")
    if source is not None:
        label.append(f"\nsource {safe(source.source.id)}", "cyan")
    if titles:
        if not is_root:
            named = f"{count_of(len(titles), 'source')}: {'; '.join(titles)}"
            label.append("\n" + clip(named, max(40, width - 8)))
        return label
    for text in gists:
        label.append("\n" + clip(text, max(40, width - 8)))
    return label
