"""Arguments of wrong types are refused by all public methods alike, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory, Message, Redactions, Scope, TreememError, UsageError
from treemem.arguments import checked, hints_of
from treemem.ledger_api import Ledger
from treemem.places.finding import Places
from treemem.queue_api import QueueMethods
from treemem.rule_api import RuleMethods
from treemem.topic_api import Topics

CLASSES = (Memory, RuleMethods, QueueMethods, Topics, Ledger, Places, Redactions, Scope)
WRONG: tuple[object, ...] = (
    None, 3, -1, 2.5, "s", "", b"b", [], [3], [None], {}, {"s": 3}, object(), Scope, True, ("a", 3),
    lambda *_: None, Message(text="x"), Path("missing"),
)  # fmt: skip
# Values for arguments that have no default.
RIGHT: Mapping[str, Any] = {
    "paths": [], "files": [], "source": "chat/1", "messages": [Message(text="We sail on Friday.")],
    "query": "ship", "scope": Scope.everything(), "kind": "source", "name": "latest",
    "states": ["todo"], "job_id": 1, "role": "embedder", "choice": "none", "passages": [],
    "on": True,
}  # fmt: skip


def methods() -> Iterator[tuple[type, str, Callable[..., Any]]]:
    """The public methods of the public classes."""
    for cls in CLASSES:
        for name, value in vars(cls).items():
            function = value.__func__ if isinstance(value, classmethod) else value
            is_public = not name.startswith("_") or name == "__call__"
            if is_public and inspect.isfunction(function):
                yield cls, name, function


ALL = [pytest.param(*method, id=f"{method[0].__name__}.{method[1]}") for method in methods()]


def test_the_public_classes_are_checked() -> None:
    names = {f"{cls.__name__}.{name}" for cls, name, _ in methods()}
    assert len(names) > 60
    assert {"Memory.open", "Memory.ingest", "Ledger.__call__", "Topics.merge"} <= names


@pytest.mark.parametrize(("cls", "name", "function"), ALL)
def test_the_types_of_all_arguments_can_be_read(
    cls: type, name: str, function: Callable[..., Any]
) -> None:
    del cls, name
    parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
    assert set(hints_of(inspect.unwrap(function))) == parameters


def owner(memory: Memory, cls: type) -> Any:
    """What has the methods of a class."""
    owners: dict[type, Any] = {
        Topics: memory.topics, Ledger: memory.ledger, Places: memory.places, Scope: Scope,
        Redactions: memory.redactions,
    }  # fmt: skip
    return owners.get(cls, memory)


@pytest.mark.parametrize(("cls", "name", "function"), ALL)
def test_a_wrong_type_is_answered_by_an_error_of_treemem_or_by_nothing(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cls: type, name: str, function: Callable[..., Any],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    memory.append("chat/1", [Message(text="We ship on Friday.")])
    memory.work(max_calls=0)
    parameters = [
        one for one in inspect.signature(function).parameters.values()
        if one.name not in ("self", "cls")
    ]  # fmt: skip
    if (cls, name) == (Memory, "close"):
        return
    for tried in parameters:
        for wrong in WRONG:
            given = {one.name: RIGHT.get(one.name, "x") for one in parameters
                     if one.default is inspect.Parameter.empty}  # fmt: skip
            call = getattr(owner(memory, cls), name)
            try:
                result = call(**given | {tried.name: wrong})
            except TreememError:
                continue
            if isinstance(result, Memory):
                result.close()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda memory: memory.ingest(3),
         "Memory.ingest() takes as paths a str, a Path or several of these: a str or a Path, not "
         "int: 3."),
        (lambda memory: memory.ingest(["a", 3]), "or a Path, not int: 3."),
        (lambda memory: memory.work(between=5), "takes as between a str or None, not int: 5."),
        (lambda memory: memory.work(max_calls=True), "an int or None, not bool: True."),
        (lambda _: Memory.open(3), "Memory.open() takes as path a str, a Path or None, not int"),  # type: ignore[arg-type]
        (lambda memory: memory.headline("s"), "a Scope (such as Scope.source(…)), not str: 's'."),
        (lambda memory: memory.search("x", since=b"now"), "a datetime or None, not bytes: b'now'."),
        (lambda memory: memory.search("x", 5), "takes 2 positional arguments"),
        (lambda memory: memory.ledger(limit=2.5), "an int or None, not float: 2.5."),
        (lambda memory: memory.topics.rename("t", 7), "Topics.rename() takes as name a str"),
        (lambda memory: memory.append("s", [Message(text="x")], redact="PII"),
         "redact is True, False or 'pii', not 'PII'."),
        (lambda _: Scope.source(3), "Scope.source() takes as source_id a str, not int: 3."),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_the_error_names_the_argument_what_it_takes_and_the_value(
    memory: Memory, call: Callable[[Any], object], words: str
) -> None:
    with pytest.raises((UsageError, TypeError)) as raised:
        call(memory)
    assert words in str(raised.value)
    assert isinstance(raised.value, UsageError) or "positional" in words
    assert memory.is_empty


def test_values_that_are_as_good_are_taken(memory: Memory) -> None:
    class Number:
        def __index__(self) -> int:
            return 300

    messages: Any = (Message(text=text) for text in ("We ship on Friday.", "At nine."))
    assert len(memory.append("s", messages)) == 2
    number: Any = Number().__index__()
    assert memory.search("ship", budget_tokens=number).passages
    assert memory.titles({"s": 1}.keys()) == {"s": "s"}
    memory.work(max_seconds=1)


def test_the_methods_keep_their_names_and_signatures() -> None:
    @checked
    class Shelf:
        def put(self, book: str, *, at: int | None = None) -> tuple[str, int | None]:
            """Puts a book."""
            return book, at

    assert (Shelf.put.__name__, Shelf.put.__doc__) == ("put", "Puts a book.")
    assert list(inspect.signature(Shelf.put).parameters) == ["self", "book", "at"]
    assert Shelf().put("a", at=3) == ("a", 3)


def test_a_single_value_where_several_are_taken_is_shown_as_a_list(memory: Memory) -> None:
    with pytest.raises(UsageError) as error:
        memory.append("chat/1", Message(text="The walrus sleeps."))  # type: ignore[arg-type]
    assert str(error.value).endswith(" Give a list: [Message(…)]")
    with pytest.raises(UsageError) as error:
        memory.append("chat/1", 3)  # type: ignore[arg-type]
    assert "Give a list" not in str(error.value)
