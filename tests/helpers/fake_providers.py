"""Stands in for the clients of OpenAI and Anthropic: each refuses what its provider refuses."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

from treemem.sessions import shapes

USAGE = {"input_tokens": 90, "output_tokens": 9, "cache_read_input_tokens": 30,
         "cache_creation_input_tokens": None}  # fmt: skip


class _Dumped(SimpleNamespace):
    """An object of a provider's library."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        assert mode == "json"
        plain = {name: _plain(value) for name, value in vars(self).items()}
        return {
            name: value for name, value in plain.items() if not exclude_none or value is not None
        }


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.model_dump(mode="json", exclude_none=True) if isinstance(value, _Dumped) else value


def openai() -> ModuleType:
    """A module with a client whose model answers what it was asked last."""

    def create(*, model: str, messages: list[dict[str, Any]]) -> SimpleNamespace:
        assert model
        assert shapes.problems(messages, "openai", None) == []
        message = _Dumped(role="assistant", content=_echo(messages), refusal=None, tool_calls=None)
        usage = SimpleNamespace(prompt_tokens=120)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=usage)

    completions = SimpleNamespace(create=create)
    return _module("openai", "OpenAI", chat=SimpleNamespace(completions=completions))


def anthropic() -> ModuleType:
    """The same; it also checks that at most four marks for the cache are given."""

    def create(
        *, model: str, max_tokens: int, system: str, messages: list[dict[str, Any]]
    ) -> _Dumped:
        assert model
        assert max_tokens > 0
        assert shapes.problems(messages, "anthropic", system or None) == []
        assert str(messages).count("cache_control") <= 4
        text = _Dumped(type="text", text=_echo(messages), citations=None)
        return _Dumped(
            id="msg_1", type="message", role="assistant", model=model, content=[text],
            stop_reason="end_turn", usage=_Dumped(**USAGE),
        )  # fmt: skip

    return _module("anthropic", "Anthropic", messages=SimpleNamespace(create=create))


def _module(name: str, client: str, **parts: object) -> ModuleType:
    module = ModuleType(name)
    setattr(module, client, lambda: SimpleNamespace(**parts))
    return module


def _echo(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    words = content if isinstance(content, str) else content[0].get("text", "")
    return f"You said: {words[:80]}"
