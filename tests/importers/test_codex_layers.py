"""Tests the two layers of a Codex rollout, which repeat most messages."""

from __future__ import annotations

import pytest

from tests.helpers.codex_rows import active_texts, event, item, messages, meta, reasons, record
from treemem.importers.codex import importer as module

# -- both layers -------------------------------------------------------------------------


def test_a_turn_logged_in_both_layers_is_imported_once_in_either_order() -> None:
    rows = [
        meta(),
        item("user", "fix it"),
        event("user_message", "fix it"),
        event("agent_message", "Fixed."),
        item("assistant", "Fixed."),
    ]
    assert active_texts(*rows) == [("user", "fix it"), ("assistant", "Fixed.")]
    assert reasons(*rows)[1:] == [module.LOGGED_TWICE] * 2


def test_a_text_that_was_said_twice_is_imported_twice() -> None:
    rows = [meta(), *[item("user", "go on"), event("user_message", "go on")] * 2]
    assert active_texts(*rows) == [("user", "go on")] * 2
    assert len({message.external_id for message in messages(*rows)}) == 2


def test_a_message_of_one_layer_only_is_imported() -> None:
    rows = [
        meta(),
        event("user_message", "typed"),
        event("agent_reasoning", "hm"),
        item("assistant", "answered"),
        event("agent_message", "shown"),
    ]
    assert active_texts(*rows) == [
        ("user", "typed"),
        ("assistant", "hm"),
        ("assistant", "answered"),
        ("assistant", "shown"),
    ]


def test_an_item_of_several_pieces_matches_each_piece_and_their_join() -> None:
    whole = [meta(), item("assistant", "one ", "two"), event("agent_message", "one two")]
    pieces = [meta(), item("assistant", "one", "two"), event("agent_message", "two")]
    assert active_texts(*whole) == [("assistant", "one \n\ntwo")]
    assert active_texts(*pieces) == [("assistant", "one\n\ntwo")]


def test_an_answer_matches_its_event_without_hidden_elements() -> None:
    cited = "Done.<oai-mem-citation>MEMORY.md:1</oai-mem-citation>"
    planned = "So:\n<proposed_plan>\n1. do it\n</proposed_plan>"
    rows = [
        meta(),
        item("assistant", cited),
        event("agent_message", "Done."),
        item("assistant", planned),
        event("agent_message", "So:"),
        record("event_msg", type="item_completed", item={"type": "Plan", "text": "1. do it\n"}),
    ]
    assert active_texts(*rows) == [("assistant", cited), ("assistant", planned)]


def test_newer_items_of_a_turn_are_events_like_the_older_ones() -> None:
    done = [
        {"type": "UserMessage", "id": "1", "content": [{"type": "text", "text": "fix it"}]},
        {"type": "AgentMessage", "id": "2", "content": [{"type": "Text", "text": "Fixed."}]},
        {"type": "ContextCompaction", "id": "3"},
    ]
    rows = [
        meta(),
        item("user", "fix it"),
        item("assistant", "Fixed."),
        *(record("event_msg", type="item_completed", item=completed) for completed in done),
    ]
    assert active_texts(*rows) == [("user", "fix it"), ("assistant", "Fixed.")]
    assert reasons(*rows)[-1] == "no message: event_msg/item_completed"


def test_a_picture_of_an_event_only_leaves_a_marker() -> None:
    row = record(
        "event_msg", type="user_message", message="see", images=["data:image/png;base64,AAAA"]
    )
    (message,) = messages(meta(), row)
    assert message.text == "see\n\n[image: image/png, 3 bytes, sha256:709e80c88487]"


# -- what Codex says in the user's name --------------------------------------------------


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("developer", "<permissions instructions>", "injected"),
        ("user", "<environment_context><cwd>/p</cwd></environment_context>", "injected"),
        ("user", "# AGENTS.md instructions for /p\n<INSTRUCTIONS>x</INSTRUCTIONS>", "injected"),
        ("user", "<user_instructions>\n\nbe brief\n\n</user_instructions>\n", "injected"),
        ("user", '<hook_prompt hook_run_id="h">go on</hook_prompt>', "injected"),
        ("user", "<turn_aborted>interrupted</turn_aborted>", "injected"),
        ("user", "<skill> is a tag that I do not understand", "said"),
        ("user", "# AGENTS.md instructions for what?", "said"),
        ("user", "<b>bold</b>", "said"),
    ],
)
def test_context_in_the_users_name_is_injected(role: str, text: str, kind: str) -> None:
    (message,) = messages(meta(), item(role, text))
    assert message.kind == kind
    assert message.role == ("user" if role == "user" else "system")


def test_if_events_show_all_typed_text_the_rest_is_context() -> None:
    rows = [
        meta(),
        item("developer", "be brief"),
        item("user", "A list of plugins, without any tag."),
        item("user", "fix it"),
        event("user_message", "fix it"),
        item("assistant", "Fixed."),
    ]
    kinds = {m.text: m.kind for m in messages(*rows)}
    assert kinds["A list of plugins, without any tag."] == "injected"
    assert kinds["fix it"] == "said"


def test_messages_before_the_first_event_are_not_context() -> None:
    rows = [
        meta(),
        item("user", "said before there were events"),
        item("assistant", "ok"),
        item("user", "fix it"),
        event("user_message", "fix it"),
    ]
    assert active_texts(*rows)[0] == ("user", "said before there were events")
