"""Tells authors that are programs, such as a channel's announcer of commits, from people. Pure."""

from __future__ import annotations

from treemem.patterns import lazy_regex

# Slack's id of a bot; GitHub's mark; a name that says so.
_BOT = lazy_regex(r"B[0-9A-Z]{8,10}|.*\[bot\]|(?:.*[ _-])?[Bb][Oo][Tt]|(?i:slackbot|uslackbot)")


def is_bot(author: str | None) -> bool:
    """Whether the name of an author is that of a program.

    Example:
        >>> is_bot("B01ABCDEF2"), is_bot("build-bot"), is_bot("Abbot"), is_bot("Ana Lima")
        (True, True, False, False)
    """
    return author is not None and _BOT.fullmatch(author) is not None
