"""treemem search: prints the passages that answer a question, within a token budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from treemem_cli.content import several_files
from treemem_cli.content.past import as_of_option, print_json_of, say_when, seen
from treemem_cli.context import (
    NOTHING_STORED,
    for_shell,
    is_lasting,
    note,
    open_memory,
    print_json,
)
from treemem_cli.parameters import full_option, json_option, plain_option, scope_options, utc_option

if TYPE_CHECKING:
    from rich.text import Text

    from treemem import Origin, Passage, SearchResult, SeveralResult

    Result = TypeVar("Result", SearchResult, SeveralResult)

MODES = ("auto", "verbatim", "summary")
ORDERS = ("auto", "time", "score")
INCLUDES = ("abandoned", "injected")
# Lines of a passage on a terminal, and those shown before and after a line that matches.
LINES_MAX, LINES_AROUND = 16, 2
# The kinds of question that are answered from summaries, in words; "narrow" is not one of them.
QUESTION_KINDS = {
    "about": "what something is about",
    "order": "the order of events",
    "decisions": "decisions",
    "open": "open points",
    "rules": "rules",
}


def _origins(context: click.Context, option: click.Parameter, value: str) -> tuple[Origin, ...]:
    """The origins in a list with commas. Raises click.BadParameter."""
    from treemem import ORIGINS

    names = tuple(filter(None, map(str.strip, value.split(","))))
    for name in names:
        if name not in ORIGINS:
            raise click.BadParameter(
                f"{name!r} is not an origin; use {', '.join(ORIGINS)}.", context, option
            )
    return names  # type: ignore[return-value]


class _SearchCommand(click.Command):
    """Takes a query that begins with a dash, such as a line of a diff or an option of a tool."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = {word for option in self.get_params(ctx) for word in option.opts}
            query = next((word for word in given if word.startswith("-")
                          and word.partition("=")[0] not in known), None)  # fmt: skip
            if query is None:
                raise
            given.remove(query)
            try:
                rest = super().parse_args(ctx, [*given, "--", query])
            except click.UsageError:
                raise error from None
            if ctx.params.get("words") != (query,):  # a mistyped option beside words
                raise error from None
            return rest


@click.command("search", cls=_SearchCommand)
@click.argument("words", metavar="WORDS...", nargs=-1, required=True)
@scope_options("source", "tool", "project", "person", "session", "topic")
@click.option("--budget", "budget_tokens", default=2_000, show_default=True, metavar="TOKENS",
              help="Return at most this many tokens.")  # fmt: skip
@click.option("--since", metavar="TIME", help='Only from this day or time on, or "last week".')
@click.option("--until", metavar="TIME", help="Only up to this day or time.")
@click.option("--sort", type=click.Choice(ORDERS), default="auto", show_default=True,
              help="Print the passages in time order, or the best one first; auto: the best one "
                   "first, but for broad questions.")  # fmt: skip
@click.option("--mode", type=click.Choice(MODES), default="auto", show_default=True,
              help="Return messages, statements of summaries, or the better fit.")  # fmt: skip
@click.option("--fts", is_flag=True, help="WORDS are an FTS5 expression, not a question.")
@click.option("--include", type=click.Choice(INCLUDES), multiple=True,
              help="Also search abandoned branches and earlier versions, or messages injected by "
                   "tools. Can be given twice.")  # fmt: skip
@click.option(
    "--exclude",
    metavar="ORIGINS",
    callback=_origins,
    default="",
    help="Leave out messages whose words all have these origins, such as pasted,result.",
)
@as_of_option
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@utc_option
@plain_option
@json_option
@full_option
@click.pass_context
def search_command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    sort: str,
    fts: bool,
    explain: bool,
    plain: bool,
    as_json: bool,
    full: bool,
    **filters: Any,
) -> None:
    """Find what was said, word for word.

    WORDS are a question or some words; quotes are not needed. The options --source, --tool,
    --project, --person, --session and --topic can be combined. If nothing is found, the exit code
    is 1.

    Each passage comes from one source and one day. Below its heading are the id of the source and
    the nodes from the root down to it; treemem node show and treemem node expand take their ids.
    Below that are the file and the line of the best message, and the command that continues the
    session in its own tool; treemem open and treemem resume take the number of a passage. A passage
    of the same source as the one before has only its line. "…" marks omitted text; of a long
    passage, a terminal shows the lines that match, and with --full all of them. Broad
    questions ("what did we decide", "what is still open") are answered from the summaries first.
    Time words in the query ("last week") limit the search.

    --db can be given several times: the files are searched at once, within one budget, and each
    passage says its file, which treemem open and treemem message need as --db. A file that cannot
    be searched is named, the exit code is 1, and what the others have is printed all the same.

    \b
    Example:
      treemem search late fees --project . --sort time
      treemem search "what did we decide last week?" --tool claude-code
    """
    if not fts and not any(letter.isalnum() for word in words for letter in word):
        raise click.UsageError(f"There is no word to search for in {' '.join(words)!r}.")
    query, options = " ".join(words), {**filters, "fts": fts, "order": sort, "project": Path.cwd()}
    if len(files := (context.obj or {}).get("dbs", ())) > 1:
        _search_several(
            context, files, query, options, explain=explain, plain=plain, as_json=as_json, full=full
        )
        return
    when = (options.pop("as_of"), options["scope"])
    with open_memory(context) as memory, seen(memory, *when) as then:
        result = then.search(query, **options)
        about_it = NOTHING_STORED if memory.is_empty else "" if then.is_empty else _summary(result)
        result = memory.places.with_lines(result, query)
        if not as_json:
            memory.places.remember(result.passages, query)
    if as_json:
        print_json_of(then, _unexplained(result, explain=explain or full), full=full)
    elif plain:
        _print_rows(result.passages)
    else:
        say_when(then)
        _print(result, query, about_it, explain=explain, fts=fts, full=full)
    if not result.passages:
        context.exit(1)


def _unexplained(result: Result, *, explain: bool) -> Result:
    """The result without the parts of its scores, which take more room than its words, unless they
    are wanted."""
    from dataclasses import replace

    if explain:
        return result
    passages = tuple(replace(passage, explanation=()) for passage in result.passages)
    return replace(result, passages=passages)


def _print_rows(passages: Sequence[Passage], *, with_file: bool = False) -> None:
    """Prints a row for each passage, of values between tabs. with_file: the memory file is the
    last of them."""
    from treemem_cli.tables import Column, Table

    names = ("passage", "message", "source", "sent", "file", "line", "title", "words",
             *(["memory"] if with_file else []))  # fmt: skip
    table = Table(*map(Column, names))
    for number, passage in enumerate(passages, start=1):
        place, best = passage.place, passage.best
        table.add(
            number, best.id, passage.source_id, best.sent_at, place and place.path,
            place and place.line, passage.title, passage.text.partition("\n")[2],
            *([passage.file] if with_file else []),
        )  # fmt: skip
    table.print(plain=True)


def _print(
    result: SearchResult, query: str, about_it: str, *, explain: bool, fts: bool, full: bool
) -> None:
    from treemem_cli.render import safe, text_screen

    screen = text_screen()
    if rules := _rules(result):
        screen.print("Standing instructions", style="bold yellow")
        screen.print(safe(rules), markup=False)
        screen.print()
    _print_passages(result.passages, query, explain=explain, fts=fts, full=full)
    if about_it:
        note(about_it)


def _print_passages(
    passages: Sequence[Passage], query: str, *, explain: bool, fts: bool, full: bool
) -> None:
    from treemem_cli.content import tool_input
    from treemem_cli.render import Indented, Pipe, safe, text_screen

    screen = text_screen()
    for at, passage in enumerate(passages):
        before = passages[at - 1] if at else None
        heading, *lines = _head(passage, before)
        screen.print(safe(heading), style="bold", markup=False)
        for line in lines:
            screen.print(line, style="cyan", markup=False, soft_wrap=True)
        text = tool_input.of_passage(passage, passage.text.partition("\n")[2])
        if isinstance(screen, Pipe):
            screen.print(safe(text) + "\n")
        else:
            shown = safe(text) if full else shortened(safe(text), query, fts=fts)
            screen.print(Indented(_marked(shown, query, fts=fts)))
            screen.print()
        if explain:
            _print_scores(passage)


def shortened(text: str, query: str, *, fts: bool) -> str:
    """The words of a passage for a screen: all of a short one, of a long one its first line and
    those around the words that match, with the number of the lines that are left out.
    """
    from treemem import matching_words

    lines = text.splitlines()
    if len(lines) <= LINES_MAX:
        return text
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    kept = {0}
    for start, _ in matching_words(text, query, fts=fts):
        at = bisect_right(starts, start) - 1
        around = range(max(0, at - LINES_AROUND), min(len(lines), at + LINES_AROUND + 1))
        if len(kept.union(around)) <= LINES_MAX:
            kept.update(around)
    if len(kept) == 1:
        kept.update(range(LINES_MAX))
    shown: list[str] = []
    for is_kept, group in groupby(range(len(lines)), lambda at: at in kept):
        numbers = list(group)
        if is_kept or len(numbers) == 1:
            shown += [lines[at] for at in numbers]
        else:
            shown.append(f"… {len(numbers)} lines (--full)")
    return "\n".join(shown)


def _marked(text: str, query: str, *, fts: bool) -> Text:
    """The text with the words that match a query in bold."""
    from rich.text import Text

    from treemem import matching_words

    marked = Text(text)
    for start, end in matching_words(text, query, fts=fts):
        marked.stylize("bold", start, end)
    return marked


search_command.takes_several_files = True  # type: ignore[attr-defined]


def _search_several(
    context: click.Context, files: Sequence[Path], query: str, options: dict[str, Any], *,
    explain: bool, plain: bool, as_json: bool, full: bool,
) -> None:  # fmt: skip
    """Prints what several files answer; the exit code is 1 if one of them could not be searched."""
    if options.pop("as_of") is not None:
        raise click.UsageError("--as-of shows one memory file: give --db once.")
    result = several_files.search(files, query, options, remember=not as_json)
    if as_json:
        print_json(_unexplained(result, explain=explain or full), full=full)
    elif plain:
        _print_rows(result.passages, with_file=True)
    else:
        several_files.print_standing(result)
        _print_passages(result.passages, query, explain=explain, fts=options["fts"], full=full)
        several_files.print_summary(result)
    if not result.passages or any(file.error for file in result.files):
        context.exit(1)


def _summary(result: SearchResult) -> str:
    """What was found, and what was missing, in sentences."""
    from treemem.reports import count_of

    if not result.passages:
        missing = " ".join(map(for_shell, result.missing))
        return f"Nothing was found. Try fewer or other words. {missing}".rstrip()
    # That there is no embedder is worth a sentence where words were not enough, not each time.
    missing = " ".join(for_shell(one) for one in result.missing if not is_lasting(one))
    sentences = [
        f"{count_of(len(result.passages), 'passage')}, {count_of(result.tokens, 'token')}."
    ]
    if result.kind in QUESTION_KINDS:
        kind = QUESTION_KINDS[result.kind]
        sentences.append(
            f"Answered as a question about {kind} (--mode verbatim searches messages only)."
        )
    return " ".join([*sentences, missing]).rstrip()


def _rules(result: SearchResult) -> str:
    """The lines of the standing instructions above the passages; empty if there are none."""
    passages = "\n".join(passage.text for passage in result.passages)
    return result.text.removesuffix(passages).rstrip("\n").partition("\n")[2]


def _head(passage: Passage, before: Passage | None) -> Iterator[str]:
    """The lines above the words of a passage: when and what, the source, the file and how it is
    continued. Of the source of the passage before, only what is different."""
    from treemem_cli.render import safe

    place = passage.place
    followed = list(_followed(passage))
    if before is None or (before.source_id, before.file) != (passage.source_id, passage.file):
        yield f"{_number_and_time(passage)} {passage.title}"
        yield safe(_place_of(passage))
        if passage.file is not None:
            yield safe(f"in {passage.file}")
        yield from followed
        return
    line = "" if place is None or place.line is None else f", line {place.line}"
    yield f"{_number_and_time(passage)} the same source{line}"
    if passage.breadcrumb != before.breadcrumb:
        yield f"at {_path_of(passage)}"
    earlier = before.place
    if earlier is None or place is None or (earlier.path, earlier.resume) != (
        place.path, place.resume
    ):  # fmt: skip
        yield from followed


def _number_and_time(passage: Passage) -> str:
    """Number and day, and the time of the best message with its zone, in brackets."""
    head, _, _ = passage.text.partition("\n")
    number = head.partition(' "')[0].removesuffix("]")
    time = _time(passage)
    # Where a question is about time, the heading has the time of the first message already.
    shown = f" {time.partition(' ')[2] if ':' in number else time}" if time else ""
    return f"{number}{shown}]"


def _time(passage: Passage) -> str:
    """The time of the best message in the reader's zone, such as "09:12 CET"; "" without one."""
    from datetime import datetime

    sent_at = passage.best.sent_at if passage.messages else None
    try:
        moment = datetime.fromisoformat(str(sent_at or ""))
        return f"{moment.astimezone():%H:%M %Z}" if len(str(sent_at)) > len("2026-11-03") else ""
    except (ValueError, OverflowError):
        return ""


def _place_of(passage: Passage) -> str:
    """The source id, and the path from the root to the leaf of the best message."""
    return f"{passage.source_id} {_path_of(passage)}".rstrip()


def _path_of(passage: Passage) -> str:
    return " → ".join(node_id[:8] for node_id in passage.breadcrumb)


def _followed(passage: Passage) -> Iterator[str]:
    """The file and the line of the best message, and the command that continues its session."""
    from treemem_cli.render import shell_word

    place = passage.place
    if place is not None and place.path is not None:
        line = "" if place.line is None else f":{place.line}"
        yield shell_word(place.path) + line
    if place is not None and place.resume is not None:
        yield f"resume: {place.resume}"


def _print_scores(passage: Passage) -> None:
    from treemem_cli.render import SHORT_ID
    from treemem_cli.tables import NAME, Column, Table, identifier

    table = Table(
        Column("score", lambda score: f"{score:.2f}", right=True),
        Column("is the sum of", wide=NAME), identifier("message", length=SHORT_ID),
        Column("characters"),
    )  # fmt: skip
    for explained in passage.explanation:
        parts = ", ".join(f"{name} {value:+.2f}" for name, value in explained.parts)
        characters = f"{explained.start}-{explained.end}"
        table.add(explained.score, parts, explained.message_id, characters)
    table.print()
    click.echo()
