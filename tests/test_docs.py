"""Tests that the snippets of the documentation run, and that every help has an example."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import treemem
from tests.helpers import examples, fake_providers
from treemem.formats import places
from treemem_cli import reference
from treemem_cli.main import cli

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([README, ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/**/*.md")])
_IDS = [str(page.relative_to(ROOT)) for page in PAGES]
_LINKS = re.compile(r"(?<!!)\[[^\]\[]+\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Not run, since they install, download, compile or wait.
_NOT_RUN = ("make ", "git ", "pip ", "cd ", "treemem model pull", "treemem work --watch",
            "treemem watch", "#")  # fmt: skip


def _snippets(page: Path, language: str) -> list[tuple[str, str]]:
    fences = _FENCE.findall(page.read_text())
    return [(options.strip(), body) for name, options, body in fences if name == language]


# The frameworks of the page are in an environment of their own: tests/integrations/test_page.py.
_OF_FRAMEWORKS = "how-to/frameworks.md"


@pytest.mark.parametrize("page", PAGES, ids=_IDS)
def test_python_snippets_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.match(_OF_FRAMEWORKS):
        pytest.skip("make test-integrations runs its snippets")
    if page.match("how-to/models.md"):  # its snippet pulls a model that the fixture provides
        request.getfixturevalue("models_folder")
    monkeypatch.setitem(sys.modules, "openai", fake_providers.openai())
    monkeypatch.setitem(sys.modules, "anthropic", fake_providers.anthropic())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for options, body in _snippets(page, "python"):
        if options != "continuation":
            names = {"__name__": page.stem}
        exec(compile(body, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=_IDS)
def test_shell_snippets_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / ".claude" / "projects" / "-home-neza-milkround"
    logs.mkdir(parents=True)
    shutil.copy(ROOT / "treemem" / "demo" / "session.jsonl", logs)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    runner = CliRunner()
    for _, body in _snippets(page, "sh"):
        for line in filter(None, map(str.strip, body.splitlines())):
            if not line.startswith(_NOT_RUN):
                words = [*map(os.path.expanduser, shlex.split(line, comments=True))]
                assert words[0] == "treemem", line
                result = runner.invoke(cli, words[1:])
                # The demo is of November 2025.
                is_empty = " ago" in line and "Nothing was found" in result.output
                assert result.exit_code == is_empty, f"{line}: {result.output}"


def _anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in words}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=[*_IDS, "CONTRIBUTING.md"])
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    text = _FENCE.sub("", page.read_text())
    for target, anchor in _LINKS.findall(text):
        if "://" not in target:
            linked = (page.parent / target).resolve() if target else page
            assert linked.exists(), f"{target} is not a file"
            assert not anchor or anchor in _anchors(linked), f"{target}#{anchor} is not a heading"


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target, _ in _LINKS.findall(index.read_text())}
    assert set(ROOT.glob("docs/*/*.md")) <= linked


@pytest.mark.parametrize("page", examples.PAGES, ids=lambda page: page.name)
def test_the_examples_show_what_the_commands_print(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text("utf-8")
    assert examples.refreshed(text, tmp_path).splitlines() == text.splitlines(), "Run: make docs"


def test_the_messages_that_troubleshooting_explains_exist() -> None:
    page = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text()
    symptoms = re.findall(r"^\| (.*?) \|", page, re.MULTILINE)
    messages = [text for symptom in symptoms for text in re.findall(r'"([^"]+)"', symptom)]
    assert len(messages) > 5
    files = [*ROOT.glob("treemem/**/*.py"), *ROOT.glob("cli/**/*.py"), ROOT / "Makefile"]
    sources = "".join(path.read_text() for path in files)
    whole = re.sub(r'"\s*\n\s*f?"', "", sources)  # a text goes on in the next line
    for message in messages:
        assert message.removesuffix(" …") in whole, message


_VARIABLE = re.compile(r"""environ(?:ment)?(?:\.get\(|\[)\s*["']([A-Z_]+)|envvar="(\w+)\"""")


def test_the_configuration_page_names_every_variable_that_the_code_reads() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    sources = [*ROOT.glob("treemem/**/*.py"), *ROOT.glob("cli/**/*.py")]
    read = {name for path in sources for pair in _VARIABLE.findall(path.read_text())
            for name in pair if name}  # fmt: skip
    read |= {variable for _, variable, _ in places._OVERRIDES}
    read |= {"VISUAL", "EDITOR", "PAGER", "TERM"}  # by name, see content/editor.py
    # Set for the child process that runs llama.cpp, which imports this package.
    read -= {"GGML_NO_BACKTRACE", "PYTHONPATH"}
    assert {"TREEMEM_DB", "TREEMEM_MODELS", "TREEMEM_SQLITE", "CODEX_HOME"} <= read
    assert {name for name in read if f"`{name}`" not in page} == set()


def test_the_reference_of_commands_is_what_help_prints() -> None:
    page = ROOT / "docs" / "reference" / "cli.md"
    assert page.read_text("utf-8") == reference.markdown(), "Run: make docs"


def _commands() -> list[tuple[str, click.Command]]:
    commands: list[tuple[str, click.Command]] = []
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        commands.append((name, command))
        if isinstance(command, click.Group):
            commands += [(f"{name} {key}", below) for key, below in command.commands.items()]
    return commands


@pytest.mark.parametrize(("name", "command"), _commands(), ids=[name for name, _ in _commands()])
def test_every_command_has_help_that_ends_with_an_example(
    name: str, command: click.Command
) -> None:
    assert command.help, name
    assert re.search(rf"Example:\n\s+treemem {name.split()[0]}.*\Z", command.help, re.DOTALL), name
    result = CliRunner().invoke(cli, [*name.split(), "--help"])
    assert result.exit_code == 0


def _modules() -> list[str]:
    package = pkgutil.walk_packages(treemem.__path__, "treemem.")
    return [module.name for module in package if module.name != "treemem.models.host"]


@pytest.mark.parametrize("name", _modules())
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    if name.startswith("treemem.mcp_server"):
        pytest.importorskip("mcp", reason="needs the extra mcp")
    if name.startswith("treemem.integrations"):
        pytest.importorskip(name, reason="needs the extra of its framework", exc_type=ImportError)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
