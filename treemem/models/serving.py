"""Checks the choice of a served model, converts it to a setting and back, and asks its servers.

Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypeVar

from treemem import config
from treemem.errors import Hint, ModelError, Notice, UsageError
from treemem.models.manifests import put_in_place
from treemem.models.responses import clean
from treemem.packages import KEY_VARIABLES
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.endpoint import EndpointClient

Answer = TypeVar("Answer")

URLS_MAX = 32
# One server has at most this many slots.
SLOTS_MAX = 64


def checked(choice: ServedModel) -> ServedModel:
    """The choice with normalized addresses and the name of its model, after asking every server.

    Raises UsageError for an invalid choice, ModelError if a server does not answer, does not have
    the model, or serves a different one from the others.
    """
    choice = _valid(choice)
    urls = choice.urls
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


def _valid(choice: ServedModel) -> ServedModel:
    """The choice with normalized addresses. Raises UsageError for an invalid one."""
    from treemem.models.endpoint import base_of

    urls = tuple(dict.fromkeys(map(base_of, choice.urls)))
    if not 1 <= len(urls) <= URLS_MAX:
        raise UsageError(f"Name 1 to {URLS_MAX} model servers, not {len(urls)}.")
    if not 1 <= choice.slots <= SLOTS_MAX:
        raise UsageError(f"A server has 1 to {SLOTS_MAX} slots, not {choice.slots}.")
    if choice.key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", choice.key_env):
        # The message does not repeat the value, which may be the key itself.
        raise UsageError(
            "key_env (--key-env) takes the name of an environment variable, not a key."
        )
    return replace(choice, urls=urls)


def opened(choice: ServedModel, url: str, timeout_seconds: float | None = None) -> EndpointClient:
    """Opens a client for one of the servers. timeout_seconds: for one answer; None for the
    client's own. Raises ModelError if the user did not choose it, or its key is not set."""
    from treemem.models.endpoint import TIMEOUT_SECONDS, EndpointClient

    if (refusal := refused(choice, url)) is not None:
        raise ModelError(refusal.message, recoverable=False, hint=refusal.hint)
    api_key = None
    if choice.key_env is not None:
        if choice.key_env in KEY_VARIABLES:  # a memory from elsewhere may name any variable
            raise ModelError(
                f"{choice.key_env} has the key of a memory file, which no server is sent. Name the "
                f"variable of the API key of {url}.",
                recoverable=False,
            )
        api_key = os.environ.get(choice.key_env)
        if not api_key:
            raise ModelError(
                f"The environment variable {choice.key_env} for the API key of {url} is not set.",
                recoverable=False,
            )
    seconds = timeout_seconds or TIMEOUT_SECONDS
    return EndpointClient(url, choice.model, api_key=api_key, timeout_seconds=seconds)


# -- which servers are asked ----------------------------------------------------------

# A memory file of somebody else may name any server, and any variable for its key. So the servers
# that this user has chosen are listed outside of it. These are of this process, each with the
# variable of its key, so that a list that cannot be written keeps nobody from a server.
_chosen: set[tuple[str, str | None]] = set()
_LIST_BYTES_MAX = 1_000_000


def allow(choice: ServedModel) -> None:
    """Lets these servers be asked, and sent the key, by whatever memory names them: call it for
    what the user or the program names, never for a setting. Raises UsageError for an invalid
    choice."""
    new = {(url, choice.key_env) for url in _valid(choice).urls}
    _chosen.update(new)
    if not new <= (known := _listed()):
        with suppress(OSError):
            _write_list(known | new)


def disallow(url: str) -> bool:
    """Takes a server from the list. Returns whether it was in it. Raises OSError."""
    from treemem.models.endpoint import base_of

    known = _listed()
    left = {entry for entry in known if entry[0] != base_of(url)}
    _chosen.difference_update({entry for entry in _chosen if entry[0] == base_of(url)})
    if left != known:
        _write_list(left)
    return left != known


def allowed() -> list[ServedModel]:
    """The servers that the user has chosen, each with the variable of its key, by address."""
    entries = sorted(_listed() | _chosen, key=lambda entry: (entry[0], entry[1] or ""))
    return [ServedModel((url,), key_env=key_env) for url, key_env in entries]


def begin_list(choices: Iterable[ServedModel]) -> None:
    """Writes the list for the first time, with the servers that the user's own memory names; does
    nothing if there is one."""
    found: set[tuple[str, str | None]] = set()
    for choice in choices:
        with suppress(UsageError):
            found |= {(url, choice.key_env) for url in _valid(choice).urls}
    if not config.servers_path().exists():
        with suppress(OSError):
            _write_list(found)


def refused(choice: ServedModel, url: str) -> Notice | None:
    """Why a server is not asked; None if it may be: one of this machine that gets no key, and those
    that the user has chosen."""
    from treemem.models.endpoint import base_of, is_local

    try:
        address, key_env = base_of(url), _valid(choice).key_env
    except UsageError as error:
        return Notice(error.message, is_lasting=True)
    if key_env is None and is_local(address):
        return None
    known = _listed() | _chosen
    if (address, key_env) in known or (key_env is None and address in {one for one, _ in known}):
        return None
    key = "" if key_env is None else f", with the key in {key_env}"
    return Notice(
        f"The memory names the model server {address}{key}, which you have not chosen on this "
        "machine, so it is not asked.",
        Hint(
            f"If it is yours: treemem.model_api.allow({address!r}, key_env={key_env!r})",
            f"If it is yours: treemem model allow {shlex.quote(address)}"
            + ("" if key_env is None else f" --key-env {key_env}"),
        ),
        is_lasting=True,
    )


def _listed() -> set[tuple[str, str | None]]:
    try:
        with config.servers_path().open("rb") as stream:
            rows = json.loads(stream.read(_LIST_BYTES_MAX))
        return {(str(row["url"]), row.get("key_env")) for row in rows}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def _write_list(entries: set[tuple[str, str | None]]) -> None:
    path = config.servers_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ordered = sorted(entries, key=lambda entry: (entry[0], entry[1] or ""))
    rows = [{"url": url, "key_env": key_env} for url, key_env in ordered]
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        json.dump(rows, stream, indent=1)
    put_in_place(new, path)


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
        texts = [*choice.urls, *(one for one in (choice.model, choice.key_env) if one is not None)]
        if not isinstance(choice.slots, int) or not all(isinstance(one, str) for one in texts):
            raise TypeError
        return replace(choice, urls=tuple(choice.urls))
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"The {role}'s setting is damaged. Choose it again: treemem model use {role}"
        ) from error


class Servers:
    """The servers of a model: one is used until it fails, then the next.

    timeout_seconds: for one answer; None for the client's own.
    """

    def __init__(self, served: ServedModel, timeout_seconds: float | None = None) -> None:
        self._served = served
        self._timeout_seconds = timeout_seconds
        self._urls = list(served.urls)
        self._client: EndpointClient | None = None

    def ask(self, request: Callable[[EndpointClient], Answer]) -> Answer:
        """The answer of the first server that gives one. Raises the last server's error."""
        for servers_left in range(len(self._urls) - 1, -1, -1):
            try:
                return request(self._opened())
            except ModelError:
                self._next()
                if not servers_left:
                    raise
        raise AssertionError("the list of servers is empty")

    def alive(self) -> bool:
        """Whether one of the servers answers."""
        for _ in self._urls:
            with suppress(ModelError):
                if self._opened().alive():
                    return True
            self._next()
        return False

    def close(self) -> None:
        """Closes the connection. A later request opens it again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _opened(self) -> EndpointClient:
        if self._client is None:
            self._client = opened(self._served, self._urls[0], self._timeout_seconds)
        return self._client

    def _next(self) -> None:
        self.close()
        self._urls.append(self._urls.pop(0))
