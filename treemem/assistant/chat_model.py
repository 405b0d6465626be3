"""Opens the model that answers: the setting "chat" of a memory file, else its summarizer's.

A local model runs on llama.cpp in a child process; a served one is asked over HTTP; a program's own
is a function. All answer the messages of a chat, as OpenAI's API has them, and can be interrupted.

Tested in tests/assistant/test_chat_model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from treemem.errors import Hint, ModelError
from treemem.models.kept import Kept
from treemem.models.own import registry
from treemem.store import settings
from treemem.store.database import Database
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.child import Streamed
    from treemem.models.client import Generation

# The setting of no model at all, also not the summarizer's.
NONE = "none"
# The most tokens of a local model's context, which take memory, and those assumed for a served
# model or a function.
LOCAL_WINDOW_MAX, SERVED_WINDOW = 8_192, 16_000
MISSING = "No model is in use that could answer."
GET_ONE = Hint(
    'Choose one: memory.use_model("chat", NAME or URL)',
    "Choose one: treemem model pull qwen3-4b, then: treemem model use chat qwen3-4b, or the "
    "address of a server: treemem model use chat http://localhost:11434 --model NAME. See: treemem "
    "model list",
)
_THOUGHTS, _THOUGHTS_END = "<think>", "</think>"


class ChatModel(Protocol):
    """A model that answers the messages of a chat.

    name: as it is shown. window: the tokens of its context. tokenizer: of sessions with it, see
    Memory.session; None for the default. setting: by which it was opened.
    """

    name: str
    window: int
    tokenizer: str | None
    setting: str

    def answer(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int,
        streamed: Streamed | None = None, options: Mapping[str, Any] | None = None,
    ) -> Generation:  # fmt: skip
        """The answer. streamed: takes it while it is written. options: further fields for a
        server, such as "temperature", and "stop", a list of strings. Raises ModelError."""
        ...

    def close(self) -> None:
        """Frees what it holds."""
        ...


class LocalChat:
    """An installed model. It answers greedily: the same messages give the same text."""

    def __init__(self, setting: str) -> None:
        from treemem.models.client import LlamaClient
        from treemem.models.manifests import installed

        model = installed(setting, verify=True)
        self.name = self.setting = setting
        self.tokenizer: str | None = setting
        self.window = min(model.context_tokens, LOCAL_WINDOW_MAX)
        self.client = LlamaClient(model.path, context_tokens=self.window)

    def answer(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int,
        streamed: Streamed | None = None, options: Mapping[str, Any] | None = None,
    ) -> Generation:  # fmt: skip
        prompt = self.client.chat(prompt_of(messages))
        stop = (options or {}).get("stop") or ()
        return self.client.generate(
            prompt.segments, max_tokens=max_tokens, stop=stop, streamed=streamed
        )

    def close(self) -> None:
        self.client.close()


class ServedChat:
    """A model of a server. Each answer has a connection of its own, so that several threads can
    ask at the same time."""

    def __init__(self, setting: str, served: ServedModel) -> None:
        self.setting, self._served = setting, served
        self.name = served.model or served.urls[0]
        self.tokenizer: str | None = None
        self.window = SERVED_WINDOW

    def answer(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int,
        streamed: Streamed | None = None, options: Mapping[str, Any] | None = None,
    ) -> Generation:  # fmt: skip
        from treemem.models.serving import Servers

        begun = _Begun(streamed) if streamed is not None else None
        servers = Servers(self._served)
        try:
            return servers.ask(
                lambda client: client.chat(
                    messages, max_tokens=max_tokens, options=options,
                    streamed=None if begun is None else begun.once(),
                )
            )  # fmt: skip
        finally:
            servers.close()

    def close(self) -> None:
        """Nothing is held between answers."""


class OwnChat:
    """A function of the program's. It writes its answer at once."""

    def __init__(self, setting: str, role: str) -> None:
        from treemem.models.own.adapters import OwnClient

        self.setting, self.name = setting, registry.name_of(setting)
        self.tokenizer: str | None = None
        self.window = SERVED_WINDOW
        self._client = OwnClient(setting, role)

    def answer(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int,
        streamed: Streamed | None = None, options: Mapping[str, Any] | None = None,
    ) -> Generation:  # fmt: skip
        sent = [{"role": str(m["role"]), "content": text_of(m)} for m in messages]
        stop = (options or {}).get("stop") or ()
        made = self._client.chat(sent, max_tokens=max_tokens, stop=stop)
        if streamed is not None:
            streamed.take(made.text)
        return made

    def close(self) -> None:
        """The function belongs to the program."""


class _Begun:
    """Lets the next server be asked only while nothing was answered, and hides thoughts."""

    def __init__(self, streamed: Streamed) -> None:
        self._streamed = streamed
        self._has_said = False

    def once(self) -> Streamed:
        """What takes the text of one try. Raises ModelError after the first piece."""
        from treemem.models.child import Streamed

        if self._has_said:
            raise ModelError("the answer broke off before its end")
        visible = Visible(self._streamed.take)

        def take(piece: str) -> None:
            self._has_said = True
            visible.add(piece)

        return Streamed(take, self._streamed.cancelled)


class Visible:
    """Passes a streamed text on without a block of thoughts at its beginning."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._held: str | None = ""

    def add(self, piece: str) -> None:
        """Takes the next piece."""
        if self._held is None:
            self._take(piece)
            return
        self._held += piece
        head = self._held.lstrip()
        if head.startswith(_THOUGHTS):
            _, end, rest = head.partition(_THOUGHTS_END)
            if end and rest.strip():
                self._held = None
                self._take(rest.lstrip())
        elif not _THOUGHTS.startswith(head[: len(_THOUGHTS)]):
            self._take(self._held)
            self._held = None


def setting_in_use(chat: str | None, summarizer: str | None) -> str | None:
    """The model that answers: that of the setting "chat", else the summarizer's; None for none.

    Example:
        >>> setting_in_use(None, "qwen3-4b"), setting_in_use("none", "qwen3-4b")
        ('qwen3-4b', None)
    """
    from treemem.summarize import by_name

    setting = summarizer if chat is None else chat
    if setting is None or setting == NONE or by_name(setting) is not None:
        return None
    return setting


def of(database: Database, choice: str | ServedModel | None = None) -> ChatModel:
    """Opens the model of a choice, as Memory.use_model takes it, or the one in use. Raises
    ModelError if there is none."""
    from treemem.summarize import backends
    from treemem.worker import model_choice

    if choice is not None:
        model_choice.allow_server(choice)
        chosen = backends.checked_chat(choice)
        setting = setting_in_use(chosen, settings.get(database, settings.SUMMARIZER))
    else:
        setting = in_use(database)
    if setting is None:
        raise ModelError(MISSING, recoverable=False, hint=GET_ONE)
    return opened(setting)


def in_use(database: Database) -> str | None:
    """The setting of the model that answers; None for none."""
    chat, summarizer = (settings.get(database, one) for one in (settings.CHAT, settings.SUMMARIZER))
    return setting_in_use(chat, summarizer)


def opened(setting: str) -> ChatModel:
    """Opens the model that a setting names. A local model is loaded by its first answer. Raises
    ModelError if it is not installed."""
    from treemem.models import serving

    if registry.is_own(setting):
        role = "chat" if registry.find("chat", setting) is not None else "summarizer"
        return OwnChat(setting, role)
    served = serving.from_setting(setting, "chat")
    return LocalChat(setting) if served is None else ServedChat(setting, served)


class KeptChat(Kept[ChatModel]):
    """The chat model of the last question, kept open."""

    def __init__(self) -> None:
        super().__init__(opened)


def prompt_of(messages: Sequence[Mapping[str, Any]]) -> Any:
    """The messages of a chat as a prompt of a local model: turns in a row of one side are joined,
    and what a tool returned is the user's side.

    Example:
        >>> prompt_of([{"role": "user", "content": "Hi"}]).question
        'Hi'
    """
    from treemem.models.chat import Prompt

    system, said = list[str](), list[str]()
    pairs: list[tuple[str, str]] = []
    for message in messages:
        text = text_of(message)
        if message["role"] in ("system", "developer"):
            system.append(text)
        elif message["role"] == "assistant":
            if said or not pairs:
                pairs.append(("\n\n".join(said), text))
            else:
                pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}\n\n{text}")
            said = []
        else:
            said.append(text)
    return Prompt("\n\n".join(filter(None, system)), "\n\n".join(said), tuple(pairs))


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message of OpenAI's shape, whose content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part
    )
