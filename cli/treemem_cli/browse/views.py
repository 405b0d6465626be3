"""Words and labels for the browser, as Rich texts, so that nothing in a log is taken for markup.

Tested in tests/cli/browse/test_app.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from treemem_cli.content import tool_input
from treemem_cli.content.message import message_view
from treemem_cli.render import Indented, day, fitted, moment, period, safe, short, shorten

if TYPE_CHECKING:
    from treemem import Digest, Message, Node, Passage, SourceView

# The characters of a label, which the side cuts at its width.
LABEL_CHARS = 160
_GIST_CHARS = 600
# The columns of a row from which on it shows the tool, and those of the tool.
_TOOL_ROOM = 50
_TOOL_COLUMNS = 11
# The metas of the first character of the message that was found, and of the match in it.
START, MATCH = "treemem_start", "treemem_match"
# Marks text that was left out of an excerpt.
GAP = "…"
# Stands before each message of a passage but the first.
_MESSAGE = re.compile(r"\n(?=[^\s])")


def source_label(view: SourceView) -> Text:
    """The title of a source."""
    return Text(_line(view.title or view.source.id), "dim" if view.is_trivial else "")


def source_end(view: SourceView, room: int) -> Text:
    """The last day of a source, after its tool in a row of much room."""
    tool = f"  {fitted(view.source.format, _TOOL_COLUMNS)}" if room >= _TOOL_ROOM else ""
    last = day(view.ended_at)
    return Text(f"{tool}  {last}" if last else tool, "dim")


def node_label(node: Node) -> Text:
    """The time and the gist of a node."""
    when = period(node.started_at, node.ended_at)
    return Text.assemble((_start(when), "dim"), " ", _line(_gist(node)))


def hit_label(passage: Passage) -> Text:
    """The title of a passage's source above the time and the words of its best part."""
    message = passage.best
    sent_at = None if message.sent_at is None else str(message.sent_at)
    parts = [part for part in passage.explanation if part.message_id == message.id]
    best = max(parts, key=lambda part: part.score, default=None)
    words = message.text if best is None else message.text[best.start : best.end]
    return Text.assemble(
        (_line(passage.title), "bold"), "\n", (moment(sent_at), "dim"), " ", _line(words)
    )


def source_words(view: SourceView, digest: Digest) -> RenderableType:
    """What a source is about: its counts, its log, its gists and entries."""
    from treemem.reports import count_of

    source = view.source
    facts = [
        f"{period(view.started_at, view.ended_at)}  {count_of(view.messages, 'message')}",
        source.id,
        *([f"log {source.origin}"] if source.origin else []),
        *([f"folder {source.project}"] if source.project else []),
    ]
    parts: list[RenderableType] = [
        Text(_line(view.title or source.id, _GIST_CHARS), "bold"),
        *(Text(safe(fact), "dim") for fact in facts),
    ]
    parts += [_statement("gist", gist.text, gist.speaker) for gist in digest.gists]
    parts += [_statement(entry.kind, entry.text, entry.speaker) for entry in digest.entries]
    return Group(*parts)


def node_words(node: Node, messages: list[Message]) -> RenderableType:
    """The messages of a leaf, or the statements of a group."""
    from treemem.reports import count_of

    kind = "leaf" if node.is_leaf else f"level {node.level}"
    facts = f"{kind}  {count_of(node.tokens, 'token')}  {count_of(node.message_count, 'message')}"
    parts: list[RenderableType] = [
        Text(f"{short(node.id)}  {period(node.started_at, node.ended_at)}", "bold"),
        Text(facts, "dim"),
    ]
    for message in messages:
        parts += [Text(), message_view(message)]
    if not messages:
        parts += [_statement(one.kind, one.text, one.speaker) for one in node.statements]
    return Group(*parts)


def hit_words(passage: Passage, query: str) -> RenderableType:
    """A passage below the place where it was said, with the words that match in bold. The best
    message and where it matches carry the metas START and MATCH, by which the app scrolls."""
    from treemem import matching_words

    place = passage.place
    parts: list[RenderableType] = [Text(_line(passage.title, _GIST_CHARS), "bold")]
    parts.append(Text(safe(passage.source_id), "dim"))
    if place is not None and place.path is not None:
        line = "" if place.line is None else f":{place.line}"
        parts.append(Text(_line(place.path, 4_096) + line, "cyan"))
    above, best, below = _around_best(passage)
    text = Text("\n".join(filter(None, (above, best, below))))
    for start, end in matching_words(text.plain, query):
        text.stylize("bold underline", start, end)
    start = len(above) + 1 if above else 0
    match = start + _match(best, query, passage)
    text.stylize(Style(meta={START: True}), start, start + 1)
    text.stylize(Style(meta={MATCH: True}), match, match + 1)
    return Group(*parts, Text(), Indented(text))


def _around_best(passage: Passage) -> tuple[str, str, str]:
    """What is shown above the best message of a passage, of it, and below it. Nothing is around it
    if it is not shown, but only cited."""
    # Subtle: further lines of a message are indented, so that each other line begins one.
    blocks = _MESSAGE.split(passage.text.partition("\n")[2])
    whole = _flat(passage.best.text)
    shared = [_shared_chars(block, whole) for block in blocks]
    at = max(range(len(blocks)), key=shared.__getitem__)
    if not shared[at]:
        blocks, at = ["\n".join(blocks)], 0
    above, best, below = (
        safe(tool_input.of_passage(passage, "\n".join(some)))
        for some in (blocks[:at], blocks[at : at + 1], blocks[at + 1 :])
    )
    return above, best, below


def _shared_chars(block: str, whole: str) -> int:
    """The length of a block of a passage if it is a message or an excerpt from it; otherwise 0."""
    said = _flat(block.partition(": ")[2])
    pieces = [piece.strip() for piece in said.split(GAP)]
    return len(said) if said and all(piece in whole for piece in pieces) else 0


def _match(shown: str, query: str, passage: Passage) -> int:
    """Where a message matches a query: in the part that has the best score, and there in the line
    with most words of the query. 0 if it has none of them."""
    from treemem import matching_words

    best = passage.best
    parts = [part for part in passage.explanation if part.message_id == best.id]
    part = max(parts, key=lambda part: part.score, default=None)
    wanted = "" if part is None else _flat(best.text[part.start : part.end])
    lines: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for start, end in matching_words(shown, query):
        line = (shown.rfind("\n", 0, start) + 1, (shown + "\n").find("\n", end))
        lines.setdefault(line, []).append((start, end))

    def fit(line: tuple[int, int]) -> tuple[bool, int]:
        said = _flat(shown[slice(*line)])
        said = said if line[0] else said.partition(": ")[2]
        is_within = any(piece.strip() in wanted for piece in said.split(GAP) if piece.strip())
        return is_within, len({shown[start:end].lower() for start, end in lines[line]})

    return lines[max(lines, key=fit)][0][0] if lines else 0


def _statement(kind: str, text: str, speaker: str | None) -> RenderableType:
    who = f"  {_line(speaker, 40)}" if speaker else ""
    return Padding(Text.assemble((f"{kind} ", "cyan"), _line(text, _GIST_CHARS), (who, "dim")),
                   (1, 0, 0, 0))  # fmt: skip


def _flat(text: str) -> str:
    return " ".join(text.split())


def _gist(node: Node) -> str:
    gists = [one.text for one in node.statements if one.kind == "gist"]
    gists += [one.text for one in node.statements]
    return gists[0] if gists else f"{node.message_count:,} messages"


def _start(when: str) -> str:
    """The beginning of a period, without its year."""
    return when.partition(" – ")[0][5:] or "no time"


def _line(text: str, characters: int = LABEL_CHARS) -> str:
    return shorten(text, characters)
