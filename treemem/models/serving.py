"""Checks the choice of a served model, and converts it to a setting and back.

Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from treemem.errors import ModelError, UsageError
from treemem.models.responses import clean
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.endpoint import EndpointClient

URLS_MAX = 32
# One server has at most this many slots.
SLOTS_MAX = 64


def checked(choice: ServedModel) -> ServedModel:
    """The choice with normalized addresses and the name of its model, after asking every server.

    Raises UsageError for an invalid choice, ModelError if a server does not answer, does not have
    the model, or serves a different one from the others.
    """
    from treemem.models.endpoint import base_of

    urls = tuple(dict.fromkeys(map(base_of, choice.urls)))
    if not 1 <= len(urls) <= URLS_MAX:
        raise UsageError(f"Name 1 to {URLS_MAX} model servers, not {len(urls)}.")
    if not 1 <= choice.slots <= SLOTS_MAX:
        raise UsageError(f"A server has 1 to {SLOTS_MAX} slots, not {choice.slots}.")
    if choice.key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", choice.key_env):
        # The message does not repeat the value, which may be the key itself.
        raise UsageError("--key-env takes the name of an environment variable, not a key.")
    choice = replace(choice, urls=urls)
    with ExitStack() as stack:
        serving = [stack.enter_context(opened(choice, url)).serving() for url in urls]
    if len(set(map(clean, serving))) > 1:
        pairs = ", ".join(f"{url}: {name}" for url, name in zip(urls, serving, strict=True))
        raise ModelError(
            f"The model servers do not serve the same model ({pairs}). Name one that all of them "
            "have by --model, or use them one at a time.",
            recoverable=False,
        )
    return replace(choice, model=serving[0])


def opened(choice: ServedModel, url: str, timeout_seconds: float | None = None) -> EndpointClient:
    """Opens a client for one of the servers. timeout_seconds: for one answer; None for the
    client's own. Raises ModelError if its key is not set."""
    from treemem.models.endpoint import TIMEOUT_SECONDS, EndpointClient

    api_key = None
    if choice.key_env is not None:
        api_key = os.environ.get(choice.key_env)
        if not api_key:
            raise ModelError(
                f"The environment variable {choice.key_env} for the API key of {url} is not set.",
                recoverable=False,
            )
    seconds = timeout_seconds or TIMEOUT_SECONDS
    return EndpointClient(url, choice.model, api_key=api_key, timeout_seconds=seconds)


def identity(choice: ServedModel) -> str:
    """The name under which what was measured of a served model is stored: derived from the model's
    name alone, so the same on any server."""
    name = clean(choice.model or "")
    digest = hashlib.sha256(f"endpoint:{name}".encode()).hexdigest()
    return f"{name}@{digest[:8]}"


def exposed_key(choice: ServedModel | None) -> str | None:
    """A warning, if the API key of a choice is sent in the clear over a network."""
    from treemem.models.endpoint import is_local

    if choice is None or choice.key_env is None:
        return None
    urls = [url for url in choice.urls if url.startswith("http://") and not is_local(url)]
    if not urls:
        return None
    return (
        f"The API key in {choice.key_env} is sent to {', '.join(urls)} without encryption, and can "
        "be read on the way. Use https://, or reach the server through an SSH tunnel."
    )


def to_setting(choice: ServedModel) -> str:
    """The choice as it is stored in the memory file."""
    return json.dumps(asdict(choice))


def from_setting(setting: str | None, role: str = "summarizer") -> ServedModel | None:
    """The choice in a setting; None if it names a local model, or is None.

    Raises UsageError if it is damaged.

    Example:
        >>> from_setting("smollm2-135m") is None
        True
    """
    if setting is None or not setting.startswith("{"):
        return None
    try:
        choice = ServedModel(**json.loads(setting))
        return replace(choice, urls=tuple(choice.urls))
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"The {role}'s setting is damaged. Choose it again: treemem model use {role}"
        ) from error
