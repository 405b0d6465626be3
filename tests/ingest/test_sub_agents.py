"""What a sub-agent is told was said by the agent that started it, and is no rule of the user's."""

from __future__ import annotations

import json
from pathlib import Path

from treemem import Memory, Scope

SESSION = "0c0ffee0-0000-4000-8000-000000000001"


def row(number: int, role: str, text: str, **fields: object) -> dict[str, object]:
    return {
        "type": role, "uuid": f"u{number}", "parentUuid": None, "sessionId": SESSION,
        "isSidechain": "agentId" in fields, "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "message": {"role": role, "content": text}, **fields,
    }  # fmt: skip


def rules_of(memory: Memory, source: str) -> list[tuple[str, str | None]]:
    statements = memory.tree(Scope.source(source)).statements
    return [(each.text, each.speaker) for each in statements if each.kind == "constraint"]


def test_a_task_for_a_sub_agent_sets_no_rule_in_the_users_name(
    memory: Memory, tmp_path: Path
) -> None:
    rule = "Always answer in one sentence."
    path = tmp_path / f"{SESSION}.jsonl"
    rows = [
        row(1, "user", "Always run the tests before you push. Now find the callers."),
        row(2, "user", f"Find all callers of parse. {rule}", agentId="a1"),
        row(3, "assistant", "There are two callers.", agentId="a1"),
        row(4, "assistant", "It is called in two places."),
    ]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    memory.ingest(path)
    told, answered = memory.messages(f"claude-code/{SESSION}/agent-a1")
    assert (told.role, told.author) == ("other", "parent agent")
    assert (answered.role, answered.author) == ("assistant", None)
    assert rules_of(memory, f"claude-code/{SESSION}/agent-a1") == [(rule, "parent agent")]
    found = memory.search("who calls parse?", budget_tokens=400)
    assert found.standing == ("Always run the tests before you push.",)
