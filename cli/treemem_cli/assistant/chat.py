"""treemem chat: a conversation in the terminal with a model that answers from the memory.

Tested in tests/cli/assistant/test_chat.py.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.context import for_shell, note, open_memory

if TYPE_CHECKING:
    from treemem import ChatAnswer, Context, Conversation, Memory, Message

HELP = """/recall WORDS   what the memory has on it; an id such as b4: that turn, word for word
/pin TEXT       holds from now on, whatever is left out of the context
/unpin TEXT     ends that
/why            what the model was sent for its last answer; /why all: word for word
/ask QUESTION   an answer with citations
/quit           ends; so does Ctrl-D. Ctrl-C interrupts an answer
A line that ends with \\ goes on in the next one."""
RECALL_TOKENS = 800
_BLOCK = re.compile(r"b\d+(?:-b\d+)?")
# Characters of a message that /why shows.
FOUND_CHARS = 100


@click.command("chat")
@click.option("--resume", is_flag=True, help="Go on with the conversation used last.")
@click.option("--session", "name", metavar="NAME", shell_complete=ids("live session"),
              help="Go on with this conversation, or begin one of this name.")  # fmt: skip
@click.option("--model", metavar="NAME|URL", help="Default: the chat model, else the summarizer.")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--window", type=click.IntRange(min=1_000), metavar="TOKENS",
              help="Of the model's context. Default: the model's own.")  # fmt: skip
@click.option("--project", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Whose rules hold. Default: the current folder.")  # fmt: skip
@click.pass_context
def chat_command(
    context: click.Context,
    resume: bool,
    name: str | None,
    model: str | None,
    system: str | None,
    window: int | None,
    project: Path | None,
) -> None:
    """Talk with a model that remembers.

    What both of you say is stored at once, word for word, as a live session; the next context has
    your rules, what you pinned, and what the memory finds for your words, and is compacted as the
    model's window fills. Stop it however you like, and go on with --resume.

    Ctrl-C interrupts an answer and keeps what was said; Ctrl-D ends. /help lists the commands: /why
    shows what the model was sent.

    Without a terminal, each line of standard input is a turn.

    \b
    Example:
      treemem chat
      treemem chat --resume
      echo "What did we decide about rounding?" | treemem chat --model qwen3-4b
    """
    if resume and name is not None:
        raise click.UsageError("--resume and --session exclude each other.")
    from treemem.reports import count_of

    with open_memory(context, create=True) as memory:
        chosen = _chosen(memory, resume=resume, name=name)
        title, folder = None, str((project or Path.cwd()).absolute())
        with memory.conversation(
            chosen, model=model, system=system, window=window, title=title, project=folder
        ) as conversation:
            turns = conversation.session.turn_count
            said = f", {count_of(turns, 'turn')} so far" if turns else ""
            note(f"{conversation.model.name}, conversation {chosen}{said}. /help lists commands.")
            _Talk(memory, conversation).run()
            if conversation.session.turn_count:
                note(f"To go on: treemem chat --session {chosen}")


def _chosen(memory: Memory, *, resume: bool, name: str | None) -> str:
    """The conversation to open: that used last of those of this command, the one that a name fits,
    or a new one."""
    from treemem import NotFoundError

    known = memory.sessions()
    if resume:
        last = next((one.source_id for one in known if one.source_id.startswith("chat/")), None)
        if last is None:
            raise NotFoundError("There is no conversation to go on with yet. Begin: treemem chat")
        return last
    if name is not None:
        try:
            return memory.find_session(name).source_id
        except NotFoundError:
            return name if "/" in name else f"chat/{name}"
    taken = {one.source_id for one in known}
    stem = f"chat/{datetime.now().astimezone():%Y-%m-%d-%H%M}"
    numbered = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    return next(one for one in numbered if one not in taken)


class _Talk:
    """Answers each line that is typed."""

    def __init__(self, memory: Memory, conversation: Conversation) -> None:
        self._memory = memory
        self._conversation = conversation
        self._session = conversation.session
        self._last: ChatAnswer | None = None

    def run(self) -> None:
        """Until /quit or the end of the input."""
        from treemem import TreememError

        for words in _lines():
            try:
                if words == "/quit":
                    return
                if words.startswith("/"):
                    self._command(words)
                else:
                    self._say(words)
            except TreememError as error:  # nothing is lost by going on
                note(f"! {for_shell_error(error)}")

    def _say(self, words: str) -> None:
        from treemem import Streamed

        with _cancelling() as cancelled:
            answer = self._conversation.say(words, streamed=Streamed(_write, cancelled))
        self._last = answer
        click.echo()
        if answer.stopped == "cancelled":
            note("Interrupted; what was said is kept.")
        elif answer.stopped == "length":
            note("Cut at the most tokens of an answer.")
        elif not answer.text.strip():
            note("The model said nothing.")
        for sentence in answer.context.notes:
            if not getattr(sentence, "is_lasting", False):
                note(f"Note: {for_shell(sentence)}")

    def _command(self, words: str) -> None:
        name, _, rest = words.partition(" ")
        rest = rest.strip()
        commands: dict[str, Callable[[str], None]] = {
            "/recall": self._recall, "/pin": self._pin, "/unpin": self._unpin, "/why": self._why,
            "/ask": self._ask,
        }  # fmt: skip
        if name in commands:
            commands[name](rest)
            return
        if name != "/help":
            note(f"There is no {name}.")
        click.echo(HELP)

    def _recall(self, words: str) -> None:
        from treemem_cli.live import views

        if _BLOCK.fullmatch(words):
            views.print_messages(self._session.recall(words))
        elif words:
            result = self._memory.search(words, budget_tokens=RECALL_TOKENS, order="auto")
            _echo(result.text or "Nothing was found.")
        else:
            _echo("\n".join(f"{one.id}: {one.request}" for one in self._session.catalog())
                  or "No turns yet.")  # fmt: skip

    def _pin(self, text: str) -> None:
        if text:
            self._session.pin(constraints=[text])
        self._print_pins()

    def _unpin(self, text: str) -> None:
        meant = [one for one in self._session.pins.constraints if text.casefold() in one.casefold()]
        if text or len(meant) == 1:
            self._session.unpin(constraints=meant if len(meant) == 1 else [text])
        elif meant:
            note("Which one? /unpin and a part of it.")
        self._print_pins()

    def _print_pins(self) -> None:
        _echo("\n".join(f"Pinned: {one}" for one in self._session.pins.constraints) or "No pins.")

    def _ask(self, question: str) -> None:
        if not question:
            note("Ask what? /ask and a question.")
            return
        from treemem_cli.assistant.ask import print_reply

        print_reply(self._memory.ask(question))

    def _why(self, how: str) -> None:
        if self._last is None:
            note("The model was sent nothing yet.")
        elif how == "all":
            from treemem_cli.live import views

            views.print_context(self._last.context)
        else:
            found = [self._memory.message(one) for one in self._last.context.memory_ids]
            _echo("\n".join(why(self._last, self._session.runtime_lines(), found)))


def why(answer: ChatAnswer, lines: list[str], found: list[Message]) -> list[str]:
    """What a model was sent, in lines. lines: the pins and rules. found: in the memory."""
    from treemem_cli.render import day, short, shorten

    context: Context = answer.context
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in context.components.items() if tokens)
    turns = sum(one["role"] in ("user", "assistant") for one in context.messages)
    left_out = f" {context.left_out} earlier ones are left out." if context.left_out else ""
    shown = [
        f"Sent: {context.tokens:,} of {context.room:,} tokens ({parts}); counted by the model: "
        f"{answer.tokens_in:,}.",
        f"Turns word for word: {turns}.{left_out}",
    ]
    shown += (
        ["Pins and rules:", *(f"  {one}" for one in lines)] if lines else ["Pins, rules: none."]
    )
    if not found:
        return [*shown, "Found in the memory: nothing."]
    shown.append(f"Found in the memory: {len(found)} (treemem message show ID)")
    for message in found:
        who = f"{message.author or message.role} {day(str(message.sent_at or ''))}".strip()
        shown.append(f"  {short(message.id or '')} {who}: {shorten(message.text, FOUND_CHARS)}")
    return shown


def for_shell_error(error: Exception) -> str:
    """An error of the library in a line, with commands in place of methods."""
    from treemem import TreememError

    return error.for_shell() if isinstance(error, TreememError) else str(error)


def _lines() -> Iterator[str]:
    """What is typed, until the end of the input. On a terminal, Ctrl-C clears the line."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import contextlib

        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  edits lines
    said = ""
    while True:
        try:
            line = input(("… " if said else "> ") if is_terminal else "")
        except EOFError:
            if is_terminal:
                click.echo()
            if said.strip():
                yield said.strip()
            return
        except KeyboardInterrupt:
            if not is_terminal:
                raise
            said = ""
            click.echo()
            note("Ctrl-D or /quit ends.")
            continue
        if line.endswith("\\"):
            said += line[:-1] + "\n"
            continue
        words, said = (said + line).strip(), ""
        if words:
            yield words


@contextmanager
def _cancelling() -> Iterator[Event]:
    """Within the block, the first Ctrl-C sets the event, and the second raises
    KeyboardInterrupt."""
    cancelled = Event()

    def on_interrupt(_: int, __: object) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt
        cancelled.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancelled
    finally:
        signal.signal(signal.SIGINT, before)


def _write(piece: str) -> None:
    """Prints a piece of an answer, without what would control the terminal."""
    from treemem_cli.render import safe

    click.echo(safe(piece), nl=False)
    sys.stdout.flush()


def _echo(text: str) -> None:
    from treemem_cli.render import safe

    click.echo(safe(text))
