"""Says which command does what is typed as a command of another name, such as delete or find.

Likeness of letters alone answers these wrongly: "remove" is like "resume".

Tested in tests/cli/test_wrong_use.py.
"""

from __future__ import annotations

import click

_DELETE = (
    "To delete messages: treemem forget. To remove words from all that is stored: treemem redact "
    "deny WORDS, then treemem scrub."
)
# Words for the same thing, and by group what to do instead, "" being that of all commands. The
# words that are commands of the group are what is meant; a sentence is for where there is none.
MEANINGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("drop cancel forget delete remove rm del erase purge wipe unlearn clear", {
        "": f"{_DELETE} To stop following a rule: treemem rule drop.",
        "source": _DELETE, "message": _DELETE, "node": _DELETE,
        "model": "treemem model path NAME names the file to delete.",
        "topic": "To delete what a topic consists of: treemem forget --topic.",
        "redact": "To take back a value: treemem redact deny VALUE --remove, or allow.",
    }),
    ("search find grep query ask recall", {}),
    ("ingest add import load store index append remember", {}),
    ("discover scan init setup", {}),
    ("status info count", {}),
    ("watch follow sync", {}),
    ("serve web ui page gui dashboard", {}),
    ("usage cost costs price", {}),
    ("completion completions complete autocomplete", {
        "": 'For bash: eval "$(_TREEMEM_COMPLETE=bash_source treemem)" completes commands and ids. '
            "Other shells: docs/how-to/completion.md.",
    }),
    ("compact compress shrink", {}),
    ("pull download install", {"": "To download a model: treemem model pull."}),
    ("version", {"": "To print the version: treemem --version."}),
    ("config configure configuration settings setting set preferences options", {}),
    ("list ls", {"ledger": "To list entries: treemem ledger rules, decisions, open, errors "
                            "or facts.",
                 "": "To list what is stored: treemem source list. Others: treemem topic list, "
                     "treemem rule list, treemem job list, treemem model list."}),
    ("show view cat print get", {"": "To show one thing: treemem source show, treemem node show, "
                                     "treemem message show."}),
    ("rename mv move", {"": "Only topics can be renamed: treemem topic rename."}),
    ("restore reopen undo undelete", {"": "A dropped rule comes back with treemem rule restore, an "
                                          "entry with treemem ledger reopen. A whole memory: "
                                          "treemem restore."}),
    ("export backup dump copy", {}),
)  # fmt: skip


def explained(error: click.NoSuchCommand) -> click.NoSuchCommand:
    """The error for a command that does not exist, with what is meant by its name, if that is
    known; else as it is."""
    context, typed = error.ctx, error.command_name.lower()
    if context is None or not isinstance(context.command, click.Group):
        return error
    known = context.command.list_commands(context)
    group = "" if context.parent is None else context.command.name or ""
    for row, sentences in MEANINGS:
        words = row.split()
        if typed in words:
            meant = next((word for word in words if word in known), None)
            answer = f"Did you mean '{meant}'?" if meant else sentences.get(group)
            return error if answer is None else _with(error, answer)
    return error


def _with(error: click.NoSuchCommand, answer: str) -> click.NoSuchCommand:
    return click.NoSuchCommand(error.command_name, f"{error.message} {answer}", ctx=error.ctx)
