"""mypy and pyright see treemem's types in an editable install and in a wheel.

Run by `make test-types`, which installs pyright.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM = Path(__file__).parent / "typed_program.py"
_PYTHON = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Packages that examples use and treemem does not need; here what they return is of any type.
_FOREIGN = (
    "openai", "anthropic", "agents", "langchain_core", "langgraph", "llama_index", "llm",
)  # fmt: skip
_REVEALED = re.compile(r"""[Rr]evealed type is "(.*)"|Type of ".*" is "(.*)"$""")
_LINE = re.compile(r"typed_program\.py:(\d+)(?::\d+)?(?: -|:) (error|note|information): ?(.*)")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["editable", "wheel"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment in which treemem is installed in one of the two ways."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder / "env", with_pip=True)
    found = folder / "env" / "bin" / "python"
    if request.param == "editable":
        words = ["--editable", str(ROOT)]
    else:
        _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
        words = [str(wheel) for wheel in folder.glob("*.whl")]
    _run(str(found), "-m", "pip", "install", "-q", *words)
    return found


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _checked(checker: str, python: Path, folder: Path) -> str:
    """What a type checker prints about the program, from a folder that is not the checkout."""
    program = folder / PROGRAM.name
    shutil.copy(PROGRAM, program)
    command = {
        "mypy": ["mypy", "--strict", "--cache-dir", str(folder), "--python-executable"],
        "pyright": ["pyright", "--pythonpath"],
    }[checker]
    if checker == "pyright":
        pytest.importorskip("pyright", reason="needs pyright: make test-types")
    done = subprocess.run(
        [sys.executable, "-m", *command, str(python), str(program)],
        capture_output=True, text=True, check=False, cwd=folder, env={"HOME": str(folder)},
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_type_checker_sees_the_types(checker: str, python: Path, tmp_path: Path) -> None:
    expected = {
        number: line.rpartition("# ")[2]
        for number, line in enumerate(PROGRAM.read_text().splitlines(), start=1)
        if line.startswith("    ") and "  # " in line
    }
    output = _checked(checker, python, tmp_path)
    seen: dict[int, str] = {}
    for number, level, text in _LINE.findall(output):
        if level == "error":
            seen[int(number)] = "error"
        elif revealed := _REVEALED.search(text):
            # mypy names types with their modules, and may mark the type of a literal with "?".
            seen[int(number)] = re.sub(r"\b\w+\.", "", revealed[1] or revealed[2])
    assert seen == expected, output


def test_the_examples_in_the_documentation_have_right_types(tmp_path: Path) -> None:
    pages = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    for page in pages:
        programs: list[str] = []
        for options, code in _PYTHON.findall(page.read_text()):
            if options.strip() == "continuation":
                programs[-1] += code
            else:
                programs.append(code)
        for number, program in enumerate(programs):
            (tmp_path / f"{page.stem.replace('-', '_')}_{number}.py").write_text(program)
    config = tmp_path / "mypy.ini"
    foreign = "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in _FOREIGN)
    config.write_text(f"[mypy]\n{foreign}")
    examples = sorted(map(str, tmp_path.glob("*.py")))
    assert len(examples) > 10
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any",
         "--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), *examples],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "MYPYPATH": f"{ROOT}{os.pathsep}{ROOT / 'cli'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
