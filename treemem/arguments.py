"""Checks the arguments of the public methods by their annotations, before anything is done.

A wrong type would fail far below, as a TypeError about something else, or not at all. Knows the
types that the methods have: classes, unions, literals, functions, and one or several of these.

Tested in tests/test_arguments.py.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from treemem.errors import UsageError

Class = TypeVar("Class")
# How a value of a type is written, where that is not obvious.
_EXAMPLES = {
    "Scope": "Scope.source(…)",
    "Message": "Message(role=…, text=…)",
    "LogFile": "LogFile(name, path)",
}
_VALUE_CHARS_MAX = 80
_FITS = object()


def checked(cls: type[Class]) -> type[Class]:
    """Makes the public methods of a class raise UsageError for an argument of a wrong type.

    Example:
        >>> @checked
        ... class Shelf:
        ...     def put(self, book: str, *, at: int | None = None) -> None: ...
        >>> Shelf().put(7)
        Traceback (most recent call last):
        treemem.errors.UsageError: Shelf.put() takes as book a str, not int: 7.
    """
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, classmethod):
            setattr(cls, name, classmethod(_checking(value.__func__)))
        elif inspect.isfunction(value):
            setattr(cls, name, _checking(value))
    return cls


def in_page(limit: int | None, offset: int) -> slice:
    """The page of at most limit after the first offset, as a slice. limit: None for all. Raises
    UsageError for a negative number.

    Example:
        >>> list(range(9))[in_page(3, 2)]
        [2, 3, 4]
    """
    for name, value in (("limit", limit), ("offset", offset)):
        if value is not None and value < 0:
            raise UsageError(f"{name} is a number from 0, not {value}.")
    return slice(offset, None if limit is None else offset + limit)


def _checking(method: Callable[..., Any]) -> Callable[..., Any]:
    signature: inspect.Signature | None = None
    hints: dict[str, Any] = {}

    @wraps(method)
    def check_and_call(*arguments: Any, **named: Any) -> Any:
        nonlocal signature, hints
        if signature is None:  # reading the types of all methods would make importing slow
            hints = hints_of(method)
            signature = inspect.signature(method)
        try:
            given = signature.bind(*arguments, **named).arguments
        except TypeError:  # a missing or an unknown argument: calling it says so
            given = {}
        for name, hint in hints.items():
            if name in given and (wrong := _misfit(given[name], hint)) is not _FITS:
                raise UsageError(
                    f"{method.__qualname__}() takes as {name} {_described(hint)}, not "
                    f"{type(wrong).__name__}: {repr(wrong)[:_VALUE_CHARS_MAX]}."
                    f"{_as_list(wrong, hint)}"
                )
        return method(*arguments, **named)

    return check_and_call


def hints_of(method: Callable[..., Any]) -> dict[str, Any]:
    """The types of a method's arguments, by name. Those that its module imports for static checks
    alone are public names of treemem."""
    names = {name: hint for name, hint in method.__annotations__.items() if name != "return"}
    holder = types.SimpleNamespace(__annotations__=names)
    return typing.get_type_hints(holder, method.__globals__, _Public())


class _Public(dict[str, Any]):
    """Names that are read from treemem when they are looked up."""

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(sys.modules["treemem"], name)
        except AttributeError:
            raise KeyError(name) from None


def _misfit(value: object, hint: Any) -> object:
    """What of a value is not of a type: the value, or one of several; _FITS if nothing is."""
    options = _options(hint)
    if any(_is(value, option) for option in options):
        return _FITS
    for option in options:
        if _holds_several(option) and isinstance(value, Collection):
            (of, *_) = get_args(option) or (Any,)
            wrong = (found for one in value if (found := _misfit(one, of)) is not _FITS)
            return next(wrong, value)
    return value


def _as_list(value: object, hint: Any) -> str:
    """How a single value is given where several are taken; "" if it is not one of these."""
    several = (option for option in _options(hint) if _holds_several(option))
    if any(_is(value, (get_args(option) or (Any,))[0]) for option in several):
        return f" Give a list: [{type(value).__name__}(…)]"
    return ""


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _holds_several(hint: Any) -> bool:
    origin = get_origin(hint)
    is_one = origin in (Mapping, tuple)
    return isinstance(origin, type) and issubclass(origin, Iterable) and not is_one


def _is(value: object, hint: Any) -> bool:
    """Whether a value is of a type. Values of literals are checked by the methods, which say more;
    those that are read once only, such as generators, by those that read them."""
    origin = get_origin(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_is(value, option) for option in _options(hint))
    if origin is Literal:
        return isinstance(value, tuple({type(one) for one in get_args(hint)}))
    if _holds_several(hint):
        return _are(value, *get_args(hint)[:1])
    if hint is int:
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if hint is float:
        return hasattr(value, "__float__") and not isinstance(value, bool)
    if hint is Path:
        return isinstance(value, os.PathLike)
    if origin is not None:
        return isinstance(value, origin)
    return not isinstance(hint, type) or _is_protocol(hint) or isinstance(value, hint)


def _are(value: object, hint: Any) -> bool:
    """Whether these are several of a type. A text is one, where texts are taken."""
    if isinstance(value, str | bytes):
        return isinstance(value, str) and _is(value, hint)
    if isinstance(value, Collection):
        return all(_is(one, hint) for one in value)
    return isinstance(value, Iterable)


def _is_protocol(hint: type) -> bool:
    return bool(getattr(hint, "_is_protocol", False))


def _described(hint: Any) -> str:
    """A type in words."""
    *first, last = [_one_described(option) for option in _options(hint)]
    return f"{', '.join(first)} or {last}" if first else last


def _one_described(hint: Any) -> str:
    if hint is None or hint is type(None):
        return "None"
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(map(repr, get_args(hint)))
    if origin is Callable:
        return "a function"
    if _holds_several(hint):
        return f"several of these: {_described(get_args(hint)[0])}"
    name = getattr(origin or hint, "__name__", str(hint))
    article = "an" if name[0] in "aeiouAEIOU" else "a"
    example = f" (such as {_EXAMPLES[name]})" if name in _EXAMPLES else ""
    return f"{article} {name}{example}"
