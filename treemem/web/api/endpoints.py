"""Describes a call of the API by its function, and reads the arguments of a request by its types.

The schema of the API, its page and the checks of arguments are all made from the same signatures.

Tested in tests/web/api/test_endpoints.py.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from treemem.errors import UsageError
from treemem.store.lookup import similar_to

# Things of a page, unless a request says how many, and the most that it may ask for.
LIMIT, LIMIT_MAX = 50, 500
# The most characters of a value in an error.
_VALUE_CHARS = 80
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
MISSING = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call. where: in the path, the query or the JSON of the body. hint: its type,
    without None. default: MISSING if it must be given."""

    name: str
    where: Literal["path", "query", "body"]
    hint: Any
    default: Any
    about: str

    @property
    def takes_several(self) -> bool:
        """Whether a query may repeat it."""
        return get_origin(self.hint) is list

    @property
    def is_required(self) -> bool:
        return self.default is MISSING


@dataclass(frozen=True)
class Endpoint:
    """A call: GET for what reads, POST for what changes. run: gets a memory and the arguments.
    moves: its answer changes by itself, as times pass, so that it has no ETag."""

    method: Literal["GET", "POST"]
    path: str
    run: Callable[..., Any]
    moves: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def about(self) -> str:
        """What it does, as its docstring says."""
        return " ".join((self.run.__doc__ or "").split())

    @functools.cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments, in the order of the function."""
        hints = _hints(self.run)
        found = []
        for name, parameter in list(inspect.signature(self.run).parameters.items())[1:]:
            in_path = f"{{{name}}}" in self.path
            where = "path" if in_path else "query" if self.method == "GET" else "body"
            given, *abouts = get_args(hints[name])  # of Annotated
            found.append(Argument(name, where, _without_none(given), parameter.default, abouts[0]))  # type: ignore[arg-type]
        return tuple(found)

    @functools.cached_property
    def answers(self) -> Any:
        """The type of what it returns."""
        return _hints(self.run)["return"]

    @property
    def is_paged(self) -> bool:
        return {"limit", "offset"} <= {one.name for one in self.arguments}

    def read(
        self,
        path: Mapping[str, str],
        query: Iterable[tuple[str, str]],
        body: Mapping[str, object],
    ) -> dict[str, Any]:
        """The arguments of a request, by name. Raises UsageError for one that is unknown, missing,
        repeated or of another type."""
        given: dict[str, Any] = dict(path)
        known = {one.name: one for one in self.arguments}
        for name, text in query:
            argument = self._known(name, known, "query")
            if argument.takes_several:
                given[name] = [*given.get(name, []), text]
            elif name in given:
                raise UsageError(f"{name} is given twice.")
            else:
                given[name] = text
        for name, value in body.items():
            self._known(name, known, "body")
            given[name] = value
        missing = [one.name for one in self.arguments if one.is_required and one.name not in given]
        if missing:
            raise UsageError(f"{self.method} {self.path} needs {' and '.join(missing)}.")
        return {
            name: _value(known[name], value)
            for name, value in given.items()
            if value is not None
        }  # fmt: skip

    def _known(self, name: str, known: Mapping[str, Argument], where: str) -> Argument:
        found = known.get(name)
        if found is None or found.where != where:
            names = [one.name for one in known.values() if one.where == where]
            raise UsageError(
                f"{self.method} {self.path} has no argument {name[:_VALUE_CHARS]!r}."
                f"{similar_to(name, names) or _all_of(names)}"
            )
        return found


def _all_of(names: list[str]) -> str:
    return f" It has: {', '.join(names)}." if names else " It has none."


def _value(argument: Argument, given: Any) -> Any:
    """The value of an argument: a text of a query or a path as its type, or a value of JSON. Raises
    UsageError."""
    if argument.where != "body" and argument.takes_several:
        (of,) = get_args(argument.hint)
        return [_from_text(argument, of, text) for text in given]
    if argument.where != "body":
        return _from_text(argument, argument.hint, given)
    hint = argument.hint
    if get_origin(hint) is Literal:
        return _choice(argument.name, hint, given)
    if get_origin(hint) is list:
        if isinstance(given, list) and all(isinstance(one, dict) for one in given):
            return given
        raise UsageError(f"{argument.name} is a list of objects.")
    if isinstance(given, hint) and not (hint is int and isinstance(given, bool)):
        return given
    raise _wrong(argument.name, hint, given)


def _from_text(argument: Argument, hint: Any, text: str) -> Any:
    if get_origin(hint) is Literal:
        return _choice(argument.name, hint, text)
    if hint is bool:
        if text.lower() not in _TRUTHS:
            raise _wrong(argument.name, hint, text)
        return _TRUTHS[text.lower()]
    try:
        value = hint(text)
    except ValueError:
        raise _wrong(argument.name, hint, text) from None
    if argument.name == "limit" and not 1 <= value <= LIMIT_MAX:
        raise UsageError(f"limit is a number from 1 to {LIMIT_MAX}, not {value}.")
    return value


def _choice(name: str, hint: Any, given: object) -> object:
    choices = get_args(hint)
    if given not in choices:
        similar = similar_to(str(given), choices)
        raise UsageError(
            f"{name} is one of {', '.join(choices)}, not {str(given)[:_VALUE_CHARS]!r}.{similar}"
        )
    return given


def _wrong(name: str, hint: Any, given: object) -> UsageError:
    return UsageError(f"{name} is {_IN_WORDS[hint]}, not {repr(given)[:_VALUE_CHARS]}.")


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function, include_extras=True)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [one for one in get_args(hint) if one is not type(None)]
        assert len(kinds) == 1, hint
        return kinds[0]
    return hint
