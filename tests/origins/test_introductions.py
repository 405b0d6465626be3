"""The words that introduce another's text."""

from __future__ import annotations

import pytest

from treemem.origins.introductions import announces, introduction_in


@pytest.mark.parametrize(
    ("line", "rest", "voice"),
    [
        ("the linter says: never", " never", "machine"),
        ("My mother says: never", " never", "person"),
        ("I got this mail from Ann: Hi", " Hi", "person"),
        ("Stop. Then it prints: done", " done", "machine"),
        ("Full output:", "", "machine"),
        ("Translate into Dutch: Hello", " Hello", "person"),
        ("please could you summarize the article below:", "", "person"),
        ("According to the handbook: never", " never", "person"),
        ("At 10:11 on Monday Ann Lee <a@b.example> wrote:", "", "person"),
        ("Ben sagte gestern zu mir: nie", " nie", "person"),
        ("Zoé m'a écrit : jamais", " jamais", "person"),
        ("他说：不要", "不要", "person"),
    ],
)
def test_another_voice_is_introduced(line: str, rest: str, voice: str) -> None:
    introduction = introduction_in(line)
    assert introduction is not None
    assert (line[introduction.end :], introduction.voice) == (rest, voice)


@pytest.mark.parametrize(
    "line",
    [
        "From now on: never",
        "Rule: never",
        "My rules for answers:",
        "As I said: never",
        "For error messages: never a full stop",
        "Always end the mail with: Yours, Kai",
        "The answer must say: yes",
        "Note: never",
        "Meet me at 10:11 or 10:12",
        "Commit message: always short",
    ],
)
def test_the_users_own_words_are_not_introduced_as_anothers(line: str) -> None:
    assert introduction_in(line) is None


def test_a_task_is_told_apart_from_a_report() -> None:
    task, report = introduction_in("Translate: no"), introduction_in("It says: no")
    assert task is not None
    assert report is not None
    assert (task.is_task, report.is_task) == (True, False)


def test_a_later_introduction_is_found_from_a_character_on() -> None:
    line = "He said: no. She said: yes"
    first = introduction_in(line)
    assert first is not None
    second = introduction_in(line, first.end)
    assert second is not None
    assert line[second.end :] == " yes"


@pytest.mark.parametrize(
    "line",
    [
        "can you summarize this",
        "Proofread this letter for me, please.",
        "I found this on the wall.",
        "what does the notice say?",
        "Thoughts?",
        "Here is the log",
        "How should I answer?",
    ],
)
def test_a_line_without_a_colon_leads_to_a_text(line: str) -> None:
    assert announces(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        "Review the pull request.",
        "Summarize our plan.",
        "Fix this bug.",
        "You must always summarize this.",
        "This is fun.",
        "I like the article.",
    ],
)
def test_an_ordinary_request_leads_to_no_text(line: str) -> None:
    assert announces(line) is None
