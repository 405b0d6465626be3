"""The ledger follows what is stored, in whatever steps it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import ENTRY_STATES, Memory, Message, Scope
from treemem.store.database import Database
from treemem.types import TreeShape

SMALL = TreeShape(leaf_tokens_max=120)
OPEN = "I still need to order the filter for the pump."
DONE = "The filter for the pump is ordered, it comes on Monday."
RULE = "Always answer me in German."
OTHER = "Answer in English from now on."


def talk(*texts: str, day: int = 1) -> list[Message]:
    """The texts, each with small talk around it that fills a leaf."""
    filler = "The train to the coast was late again and the heating did not work in any carriage."
    messages = []
    for at, text in enumerate(texts):
        when = f"2026-03-{day:02d}T{8 + at // 4:02d}:{at % 4 * 15:02d}:00Z"
        messages += [
            Message(text=f"{text} {filler} We saw {40 + at} boats and {at + 2} herons there.",
                    external_id=f"{day}-{at}", sent_at=when),
            Message("assistant", f"That sounds like a long day on the coast, number {at}.",
                    external_id=f"{day}-{at}a", sent_at=when),
        ]  # fmt: skip
    return messages


def ledger(memory: Memory) -> dict[str, tuple[str, str, int]]:
    return {
        entry.text: (entry.kind, entry.state, entry.mentions)
        for entry in memory.ledger(states=ENTRY_STATES)
    }


def dump(memory: Memory) -> list[tuple[object, ...]]:
    entries = memory.ledger(states=ENTRY_STATES)
    return sorted(
        (e.id, e.kind, e.text, e.state, e.mentions, e.leaves, e.first_at, e.last_at, e.salience,
         e.by.text if e.by else "")
        for e in entries
    )  # fmt: skip


def test_an_open_point_is_closed_by_a_later_leaf(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        memory.append("c", talk(OPEN, "Nothing else."))
        memory.work(max_calls=0)
        assert ledger(memory)[OPEN][:2] == ("open", "holds")
        memory.append("c", talk(DONE, "Good.", day=2))
        memory.work(max_calls=0)
        assert ledger(memory)[OPEN][:2] == ("open", "closed")
        (entry,) = [e for e in memory.ledger(states=["closed"]) if e.text == OPEN]
        assert entry.by is not None
        assert entry.by.text == DONE
        shown = {s.text for node in memory.tree(Scope.source("c")).nodes() if node.level
                 for s in node.statements}  # fmt: skip
        assert OPEN not in shown or all(
            s.state == "closed" for node in memory.tree(Scope.source("c")).nodes()
            for s in node.statements if s.text == OPEN
        )  # fmt: skip


def test_a_point_that_is_opened_again_after_it_was_closed_is_open(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        memory.append("c", [*talk(OPEN), *talk(DONE, day=2), *talk(OPEN, day=3)])
        memory.work(max_calls=0)
        assert ledger(memory)[OPEN] == ("open", "holds", 2)


@pytest.mark.parametrize("step", [1, 3, 100])
def test_the_ledger_does_not_depend_on_the_steps(tmp_path: Path, step: int) -> None:
    texts = [OPEN, RULE, "We decided to take the blue paint for the gate.", DONE, OTHER, RULE,
             "The gate must never stay open at night.",
             "We decided that the upload limit is 20 MB.",
             "We decided that the upload limit is 50 MB now."]  # fmt: skip
    messages = [m for day, text in enumerate(texts, 1) for m in talk(text, day=day)]
    with Memory.open(tmp_path / "once.db", shape=SMALL) as memory:
        memory.append("c", messages)
        memory.work(max_calls=0)
        expected = dump(memory)
    with Memory.open(tmp_path / "steps.db", shape=SMALL) as memory:
        for start in range(0, len(messages), step):
            memory.append("c", messages[start : start + step])
            memory.work(max_calls=0)
        assert dump(memory) == expected
    states = {row[2]: row[3] for row in expected}
    assert states[OPEN] == "closed"
    assert states["We decided that the upload limit is 20 MB."] == "superseded"
    assert states[OTHER] == "superseded"


def test_sources_in_any_order_have_the_same_ledger(tmp_path: Path) -> None:
    days = {"a": talk(OPEN, day=1), "b": talk(DONE, day=2), "c": talk(RULE, day=3)}
    dumps = []
    for number, order in enumerate(("abc", "cba", "bca")):
        with Memory.open(tmp_path / f"{number}.db", shape=SMALL) as memory:
            for name in order:
                memory.append(name, days[name])
                memory.work(max_calls=0)
            dumps.append(dump(memory))
    assert dumps[0] == dumps[1] == dumps[2]
    assert (OPEN, "closed") in {(row[2], row[3]) for row in dumps[0]}


def test_what_was_picked_is_in_the_ledger_of_every_scope_above_it(tmp_path: Path) -> None:
    rules = [f"The gate of field {n} must never stay open at night." for n in range(60)]
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        memory.append("c", talk(*rules))
        memory.append("d", talk("The goats eat the hay in the barn."))
        memory.work(max_calls=0)
        for scope in (Scope.everything(), Scope.source("c")):
            kept = {entry.text for entry in memory.ledger(scope, states=ENTRY_STATES)}
            assert set(rules) <= kept
        assert not set(rules) & {e.text for e in memory.ledger(Scope.source("d"))}
        root = memory.tree(Scope.source("c")).root_id
        assert root is not None
        assert set(rules) <= {entry.text for entry in memory.ledger(node=root, states=ENTRY_STATES)}


def test_a_scope_shows_an_entry_in_its_own_words(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        memory.append("a", [Message(author="Ana", text="The ferry to Split leaves at nine.",
                                    sent_at="2025-01-01T09:00:00Z")])  # fmt: skip
        memory.append("b", [Message(author="Ben", text="The ferry leaves to Split, at nine!",
                                    sent_at="2026-01-01T09:00:00Z")])  # fmt: skip
        memory.work(max_calls=0)
        for source, author, year in (("a", "Ana", "2025"), ("b", "Ben", "2026")):
            (said,) = [m.text for m in memory.messages(source)]
            (entry,) = memory.ledger(Scope.source(source))
            assert (entry.text, entry.speaker, entry.mentions) == (said, author, 1)
            assert (entry.source_id, (entry.last_at or "")[:4]) == (source, year)
            digest = memory.digest(Scope.source(source))
            shown = [*digest.gists, *digest.entries]
            assert [(one.text, one.speaker) for one in shown] == [(said, author)]
            found = memory.search("give me a summary", scope=Scope.source(source))
            assert all(p.source_id == source for p in found.passages)


def test_a_project_that_becomes_known_moves_the_entries(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, shape=SMALL) as memory:
        memory.append("c", talk(RULE))
        memory.work(max_calls=0)
        before = memory.ledger(kinds=["constraint"])[0].id
        database = Database(path)
        with database.transaction():
            database.execute("UPDATE source SET project = '/w/shop'")
        database.close()
        memory.append("c", talk("Fine.", day=2))
        memory.work(max_calls=0)
        after = memory.ledger(kinds=["constraint"])[0]
        assert (after.project, after.text) == ("/w/shop", RULE)
        assert after.id != before


def test_the_same_words_in_two_projects_are_two_entries(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        for project in ("shop", "farm"):
            memory.append(f"{project}/1", talk(RULE), project=project)
        memory.work(max_calls=0)
        found = memory.ledger(kinds=["constraint"])
        assert sorted((e.text, e.project) for e in found) == [(RULE, "farm"), (RULE, "shop")]


def test_a_rule_that_others_repeat_stays_the_users(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        roles = ("document", "assistant", "user", "assistant")
        memory.append("a", [Message(role, RULE) for role in roles])
        memory.work(max_calls=0)
        (rule,) = memory.ledger(kinds=["constraint"])
        assert (rule.speaker, rule.origin) == ("user", "typed")


def test_a_long_list_of_open_points_is_in_the_ledger_whole_and_is_closed_whole() -> None:
    def lines(form: str) -> str:
        return "\n".join("- " + form.format(f"lid {chr(97 + at % 26)}{at}") for at in range(150))

    with Memory.open(":memory:") as memory:
        memory.append("a", [Message(text=lines("TODO: order the {} for the vat."))])
        memory.work(max_calls=0)
        assert memory.ledger.count()["open"] == 150
        memory.append("a", [Message(text=lines("I have ordered the {} for the vat."))])
        memory.work(max_calls=0)
        assert memory.ledger.count()["open"] == 0


def test_a_long_list_of_rules_is_in_the_ledger_whole() -> None:
    text = "\n".join(f"- Never open sluice {at} without asking me." for at in range(150))
    with Memory.open(":memory:") as memory:
        memory.append("a", [Message(text=text)])
        memory.work(max_calls=0)
        assert memory.ledger.count()["constraint"] == len(memory.rules()) == 150


def test_a_point_that_comes_up_again_after_it_was_closed_is_open() -> None:
    point, done = (
        "I still need to oil the wheel of the mill.",
        "I have oiled the wheel of the mill.",
    )
    with Memory.open(":memory:") as memory:
        for day, text in enumerate((point, done, point, done), 1):
            memory.append("a", [Message(text=text, sent_at=f"2026-03-0{day}T09:00:00Z")])
            memory.work(max_calls=0)
            (entry,) = memory.ledger(kinds=["open"], states=["holds", "closed"])
            assert entry.state == ("holds" if text == point else "closed")
        assert entry.mentions == 2


def test_a_document_that_is_emptied_leaves_no_entry_to_be_made_again(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    for text in ("# Plan\n\nWe decided to keep retry limit 3, since the tablets lose it.\n", ""):
        path.write_text(text)
        memory.ingest(path)
        assert len(ledger(memory)) == bool(text)
        assert [check.findings for check in memory.diagnose().checks if not check.ok] == []
