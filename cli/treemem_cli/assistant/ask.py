"""treemem ask: answers a question with citations, or says that the memory does not know.

Tested in tests/cli/assistant/test_ask.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import NOTHING_STORED, for_shell, is_lasting, note, open_memory, print_json
from treemem_cli.parameters import full_option, json_option, scope_options, utc_option

if TYPE_CHECKING:
    from treemem import Citation, Passage, Reply, Scope

# Grades that need no remark beside a sentence.
PROVEN = ("verbatim", "aligned")


@click.command("ask")
@click.argument("words", metavar="QUESTION...", nargs=-1, required=True)
@scope_options("source", "tool", "project", "person", "session", "topic")
@click.option("--since", metavar="TIME", help='Only from this day or time on, or "last week".')
@click.option("--until", metavar="TIME", help="Only up to this day or time.")
@click.option("--budget", "budget_tokens", default=2_000, show_default=True, metavar="TOKENS",
              help="Read at most this many tokens of messages.")  # fmt: skip
@click.option("--extract", is_flag=True, help="Ask no model; print the sentences that answer best.")
@click.option("--refused", is_flag=True,
              help="Also show what the model wrote that no message bears out.")  # fmt: skip
@utc_option
@json_option
@full_option
@click.pass_context
def ask_command(
    context: click.Context,
    words: tuple[str, ...],
    scope: Scope,
    since: str | None,
    until: str | None,
    budget_tokens: int,
    extract: bool,
    refused: bool,
    as_json: bool,
    full: bool,
) -> None:
    """Answer a question with citations, or say that nothing stored answers it.

    The model in use writes the answer (treemem model use chat NAME; without one, the summarizer).
    Each of its sentences is checked against the messages that it cites, and left out if they do not
    bear it out.
    Without a model, or if nothing of its answer is left, the answer consists of the sentences of
    messages that answer best, word for word.

    Below the answer are the words that it rests on. treemem open takes the number of a citation,
    treemem message show the id of its message. If the memory does not know, what comes nearest is
    shown, and the exit code is 1.

    \b
    Example:
      treemem ask "when does the invoice export run?"
      treemem ask what did we decide about rounding --project . --extract
    """
    question = " ".join(words)
    with open_memory(context) as memory:
        reply = memory.ask(
            question, scope=scope, since=since, until=until, budget_tokens=budget_tokens,
            project=Path.cwd(), model=not extract,
        )  # fmt: skip
        is_empty = memory.is_empty
        if not as_json:
            reply = _located(memory.places, reply)
    if as_json:
        print_json(reply, full=full)
    elif is_empty:
        note(NOTHING_STORED)
    else:
        print_reply(reply, with_refused=refused)
    if not reply.is_known:
        context.exit(1)


def _located(places: object, reply: Reply) -> Reply:
    """The reply with the lines of its citations in their logs; treemem open then takes their
    numbers."""
    from dataclasses import replace

    from treemem import SearchResult

    passages = tuple(map(_as_passage, reply.citations))
    found = places.with_lines(SearchResult("", 0, passages), reply.question)  # type: ignore[attr-defined]
    places.remember(found.passages, reply.question)  # type: ignore[attr-defined]
    citations = tuple(
        replace(citation, place=passage.place)
        for citation, passage in zip(reply.citations, found.passages, strict=True)
    )
    return replace(reply, citations=citations)


def _as_passage(citation: Citation) -> Passage:
    from treemem import Explained, Passage

    message = citation.message
    start = max(0, message.text.find(citation.quote))
    part = Explained(message.id or "", start, start + len(citation.quote), 1.0, ())
    return Passage(
        citation.quote, 0, 1.0, citation.source_id, citation.node_id, (), (message,), (part,),
        citation.title, citation.place,
    )  # fmt: skip


def print_reply(reply: Reply, *, with_refused: bool = False) -> None:
    """Prints an answer and what it rests on, and on stderr what was missing."""
    from treemem_cli.render import safe, text_screen

    screen = text_screen()
    if not reply.is_known:
        screen.print(safe(f"Not known. {reply.reason}"), style="bold", markup=False)
        if reply.citations:
            screen.print("\nWhat comes nearest:", markup=False)
    elif reply.producer != "extract":
        for sentence in reply.sentences:
            numbers = "".join(f"[{number}]" for number in sentence.citations)
            remark = "" if sentence.grade in PROVEN else f" ({sentence.grade})"
            screen.print(safe(f"{sentence.text} {numbers}{remark}"), markup=False)
        screen.print()
    before = None
    for citation in reply.citations:
        _print_citation(screen, citation, before)
        before = citation
    if with_refused:
        for one in reply.refused:
            note(f"Refused ({one.reason}): {one.text}")
    note(" ".join(_summary(reply)))


def _print_citation(screen: object, citation: Citation, before: Citation | None) -> None:
    """Prints a quotation, and its source unless the one before has the same."""
    from treemem_cli.render import Indented, Pipe, moment, safe, shell_word, short

    message, place = citation.message, citation.place
    day = moment(str(message.sent_at)) if message.sent_at else ""
    speaker = message.author or message.role
    heading = f"[{citation.number}] {speaker}{f', {day}' if day else ''}"
    lines = [f"message {short(message.id or '')}"]
    if before is None or before.source_id != citation.source_id:
        heading += f", in {citation.title}"
        lines = [f"{lines[0]} of {citation.source_id}"]
    if place is not None and place.path is not None:
        line = "" if place.line is None else f":{place.line}"
        lines.append(shell_word(place.path) + line)
    screen.print(safe(" ".join(heading.split())), style="bold", markup=False)  # type: ignore[attr-defined]
    if isinstance(screen, Pipe):
        screen.print("".join(f"  {line}\n" for line in safe(citation.quote).splitlines())[:-1])
    else:
        screen.print(Indented(citation.quote))  # type: ignore[attr-defined]
    for line in lines:
        screen.print(safe(line), style="cyan", markup=False, soft_wrap=True)  # type: ignore[attr-defined]
    screen.print()  # type: ignore[attr-defined]


def _summary(reply: Reply) -> list[str]:
    """Who answered, and what was missing, in sentences."""
    from treemem.reports import count_of

    missing = [for_shell(one) for one in reply.notes if not is_lasting(one)]
    left_out = []
    if reply.refused:
        sentences = count_of(len(reply.refused), "sentence")
        left_out = [f"{sentences} of the model left out (--refused shows them)."]
    if not reply.is_known:
        return ["Try other words, or treemem search.", *left_out, *missing]
    said = count_of(len(reply.sentences), "sentence")
    if reply.producer == "extract":
        return [f"{said} of messages, word for word.", *left_out, *missing]
    return [f"{said} by {reply.producer}, checked against these messages.", *left_out, *missing]
