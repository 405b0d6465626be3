"""Embedders, rerankers and checkers of another package are chosen by name, and stored as names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import plugin_packages
from tests.helpers.command_line import run, run_json
from tests.helpers.memories import assert_whole
from tests.plugins.conftest import Install
from treemem import Memory, Message, ModelError, UsageError, model_api
from treemem.checkers import opening
from treemem.models.own import registry

TEXTS = ["We ship on Friday, Ana.", "The tea is cold.", "Nobody has weighed the sacks."]


def fill(memory: Memory) -> None:
    memory.append("s", [Message(text=text) for text in TEXTS])


@pytest.mark.usefixtures("sample")
def test_an_embedder_is_chosen_by_name_and_searched_by(memory: Memory) -> None:
    fill(memory)
    memory.use_model("embedder", "chargrams")
    assert memory.setting("embedder") == "plugin:chargrams"
    assert memory.work().embedded == 1
    (status,) = memory.status().embedders
    assert (status.name, status.dimensions, status.in_use) == ("chargrams/1", 512, True)
    assert memory.status().embedder == "chargrams"
    result = memory.search("shiping on fridays", budget_tokens=100)
    assert "We ship on Friday" in result.text
    assert not [notice for notice in result.missing if "embedder" in notice]


@pytest.mark.usefixtures("sample")
def test_a_reranker_is_chosen_by_name(memory: Memory) -> None:
    fill(memory)
    memory.use_model("reranker", "proximity")
    passage = memory.search("when do we ship tea on Friday?").passages[0]
    assert any(name == "rerank" for name, _ in passage.explanation[0].parts)


@pytest.mark.usefixtures("sample")
def test_a_checker_is_calibrated_before_it_is_used(memory: Memory) -> None:
    memory.use_model("checker", "overlap")
    assert memory.status().checker is None
    assert any("overlap has not been tested as checker" in one for one in memory.status().missing)
    result = model_api.calibrate("overlap")
    assert result.model == "overlap@plugin"
    assert result.measured.asked > 0
    assert memory.status().checker == "overlap"
    # It counts words, which does not tell true notes from false ones that guards let pass.
    assert not result.usable
    assert any("overlap cannot tell true notes" in one for one in memory.status().missing)
    with opening.checker_of("plugin:overlap", None) as checker:
        assert checker is not None
        assert checker.name.startswith("overlap@plugin/checker-")
        scores = {checker.score([f"user: {TEXTS[0]}"], note) for note in TEXTS}
        assert all(0 <= score <= 1 for score in scores)
        assert len(scores) > 1


@pytest.mark.usefixtures("sample")
def test_the_command_line_chooses_lists_and_tests_them() -> None:
    for role, name in (("embedder", "chargrams"), ("reranker", "proximity"),
                       ("checker", "overlap"), ("summarizer", "openings")):  # fmt: skip
        assert f"set to {name}." in run("model", "use", role, name).stderr
    rows = {row["name"]: row for row in run_json("model", "list")}
    assert rows["chargrams"]["description"] == "Plugin of the package treemem-sample 1.0."
    assert rows["chargrams"]["damage"] is None
    assert "overlap" in run("model", "check", "--role", "checker").stdout
    assert run_json("model", "list")[-1]["role"] in ("reranker", "checker")
    wrong = run("model", "use", "embedder", "proximity")
    assert wrong.exit_code == 1


def test_without_its_package_a_memory_works_and_says_what_is_missing(
    packages: Path, memory: Memory
) -> None:
    plugin_packages.write_sample(packages)
    plugin_packages.forget()
    fill(memory)
    for role, name in (("embedder", "chargrams"), ("reranker", "proximity"),
                       ("summarizer", "openings"), ("checker", "overlap")):  # fmt: skip
        memory.use_model(role, name)
    memory.work()
    for path in packages.glob("*.dist-info/entry_points.txt"):
        path.unlink()
    plugin_packages.forget()
    result = memory.search("when do we ship?")
    assert "We ship on Friday" in result.text
    assert any("No package that is installed has the embedder chargrams" in one
               for one in result.missing)  # fmt: skip
    assert any("Install a package that has it" in one for one in result.missing)
    assert any("summarizer openings" in one for one in memory.status().missing)
    memory.append("s", [Message(text="Another one.")])
    with pytest.raises(ModelError, match="summarizer openings"):
        memory.work()
    assert_whole(memory)


CODE = """
def bad(texts): raise OSError("the line is down")
def short(texts): return [[1.0]]
def wide(lines, note): return 2.0
number = 3
"""


@pytest.mark.parametrize(
    ("role", "target", "reason"),
    [
        ("embedder", ".:bad", "mine failed: OSError: the line is down"),
        ("embedder", ".:short", "mine gave 1 vector"),
        ("embedder", ".:number", "it is 3, not a function from a list of texts"),
        ("embedder", ".:gone", "AttributeError"),
        ("checker", ".:wide", "mine gave 2 for a note, which is not from 0 to 1"),
        ("checker", ".:number", "not a function from lines and a note"),
        ("reranker", ".:number", "a list of numbers"),
        ("summarizer", ".:number", "summarize_leaf and summarize_group"),
    ],
)
def test_one_that_does_not_work_is_refused_where_it_is_chosen(
    role: str, target: str, reason: str, memory: Memory, install: Install
) -> None:
    install("plugin-a", {f"treemem.{role}s": {"mine": target}}, CODE)
    with pytest.raises(ModelError) as raised:
        memory.use_model(role, "mine")
    assert reason in str(raised.value)
    assert memory.setting(role) is None
    assert run("model", "use", role, "mine").exit_code == 1
    assert run("-h").exit_code == 0


def test_names_of_treemems_own_stay_its_own(memory: Memory, install: Install) -> None:
    install("plugin-a", {"treemem.embedders": {"hashing": ".:bad", "minilm": ".:bad"}}, CODE)
    memory.use_model("embedder", "hashing")
    assert memory.setting("embedder") == "hashing"
    with pytest.raises(ModelError, match="'minilm' is a name of treemem's own"):
        memory.use_model("embedder", "minilm")


def test_a_file_names_no_code(memory: Memory, install: Install) -> None:
    install("plugin-a", {"treemem.embedders": {"mine": ".:bad"}}, CODE)
    for name in ("plugin:os:getcwd", "plugin:plugin_a:bad", "plugin:../x", "python:plugin_a:bad"):
        assert registry.find("embedder", name) is None
        with pytest.raises((ModelError, UsageError)):
            memory.use_model("embedder", name)


def test_a_function_that_answers_prompts_takes_the_exam_and_talks(
    memory: Memory, install: Install
) -> None:
    code = "def talk(messages, most):\n    return 'We ship on Friday.'\n"
    install("plugin-a", {"treemem.summarizers": {"talk": ".:talk"}}, code)
    fill(memory)
    memory.use_model("summarizer", "talk")
    assert any("taken no exam" in one for one in memory.status().missing)
    assert model_api.examine("talk").model == "talk@plugin"
    assert next(one.exam for one in model_api.available() if one.name == "talk") is not None
    memory.use_model("chat", "talk")
    assert memory.setting("chat") == "plugin:talk"
    assert "Friday" in memory.ask("When do we ship?").text
