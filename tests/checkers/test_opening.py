"""A memory's checker is the one it chose, or the summarizer's model if that is good enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.checkers.test_calibration import RESULT
from tests.checkers.test_claims import first
from tests.helpers.fake_server import FakeServer
from treemem import Memory, ModelError, ServedModel, UsageError, model_api
from treemem.checkers import calibration, opening
from treemem.checkers.calibration import Calibration, Measured
from treemem.checkers.formula import Formula
from treemem.checkers.opening import checker_of
from treemem.models import manifests, serving
from treemem.models.client import LlamaClient
from treemem_cli.main import cli

pytest.importorskip("httpx", reason="needs the extra endpoint")

MODEL = "smollm2-135m"
LINES = ["Ana: The kiln is new.", "Tom: I left the choir."]
GOOD = replace(RESULT, formula=Formula(("yes",), (1.0,), (0.0,), (1.0,), 0.0))
BAD = replace(GOOD, measured=Measured(60, 60, 70, 20, 20, 0.5))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def calibrated(result: Calibration = GOOD, model: str = MODEL) -> None:
    calibration.save(replace(result, model=manifests.installed(model).identity))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.mark.parametrize(("setting", "summarizer"), [(None, None), ("none", MODEL)])
def test_without_a_model_there_is_no_checker(setting: str | None, summarizer: str | None):
    with checker_of(setting, summarizer) as checker:
        assert checker is None


def test_the_summarizer_checks_once_it_is_calibrated_well_enough(models_folder: Path):
    with checker_of(None, MODEL) as checker:
        assert checker is None
    calibrated(BAD)
    with checker_of(None, MODEL) as checker:
        assert checker is None
    calibrated(GOOD)
    with checker_of(None, MODEL) as checker:
        assert checker is not None
        assert checker.threshold == GOOD.threshold
        assert checker.name.startswith(MODEL)
        assert calibration.version() in checker.name
        assert 0.0 <= checker.score(LINES, "Tom is in no choir any more.") <= 1.0


def test_the_summarizers_open_client_is_asked(models_folder: Path):
    calibrated()
    path = manifests.installed(MODEL).path
    with LlamaClient(path, context_tokens=512, threads=1) as client:
        with checker_of(None, MODEL, client) as checker:
            assert checker is not None
            checker.score(LINES, "Tom is in no choir any more.")
            before = client.pid
        assert client.pid == before is not None


def test_a_chosen_checker_without_calibration_is_an_error_with_the_way_out(models_folder: Path):
    with pytest.raises(ModelError, match="calibrate") as raised, checker_of(MODEL, None):
        pass
    assert "treemem model check, or turn it off" in raised.value.for_shell()


def test_a_chosen_checker_is_used_even_if_it_did_badly(models_folder: Path):
    calibrated(BAD)
    with checker_of(MODEL, None) as checker:
        assert checker is not None


def test_a_served_checker_is_asked_for_yes_or_no(server: FakeServer):
    choice = ServedModel((server.url,), "tiny")
    setting = opening.checked_choice(choice)
    assert setting is not None
    calibration.save(replace(GOOD, model=serving.identity(choice)))
    with checker_of(setting, None) as checker:
        assert checker is not None
        server.replies.extend([first(Yes=-0.1, No=-2.1), first(Yes=-2.1, No=-0.1)])
        high, low = (checker.score(LINES, note) for note in ("It is new.", "It is old."))
        assert high > 0.5 > low
        server.models = None
        server.replies.append(first(Maybe=-0.1))
        with pytest.raises(ModelError, match="neither yes nor no"):
            checker.score(LINES, "It is new.")


def test_choices_are_checked(models_folder: Path, tmp_path: Path):
    assert opening.checked_choice("none") == "none"
    assert opening.checked_choice("summarizer") is None
    assert opening.checked_choice(MODEL) == MODEL
    with pytest.raises(UsageError, match="is an embedder"):
        opening.checked_choice("minilm")
    with pytest.raises(ModelError, match="no model is called"):
        opening.checked_choice("nothing-such")
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        opening.checked_choice(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"m")
    (tmp_path / "tokenizer.json").write_bytes(b"t")
    setting = opening.checked_choice(str(tmp_path))
    assert setting == f"onnx:{tmp_path}"
    assert opening.checked_choice(setting) == setting
    assert opening.label(setting) == f"{tmp_path.name} (ONNX)"


def test_a_damaged_calibration_is_reported_where_it_is_needed(models_folder: Path):
    calibrated()
    (file,) = (models_folder / "checkers").iterdir()
    file.write_text("{")
    with pytest.raises(ModelError, match="remove it"), checker_of(None, MODEL):
        pass


# -- the command line ------------------------------------------------------------------


def test_status_says_what_was_measured(models_folder: Path):
    assert run("model", "use", "summarizer", MODEL).exit_code == 0
    assert "has not been tested as checker" in run("status").output.replace("\n", " ")
    calibrated(replace(GOOD, measured=Measured(60, 60, 70, 24, 1, 0.9)))
    shown = run("status").output
    assert f"checker      {MODEL}" in shown
    assert "about 96 of 100 such lines were right in our test on 2026-01-02" in shown
    calibrated(BAD)
    shown = run("status").output
    assert "checker      none" in shown
    assert "cannot tell true notes from false ones" in shown


def test_a_checker_is_chosen_and_turned_off(models_folder: Path):
    chosen = run("model", "use", "checker", MODEL)
    assert chosen.exit_code == 0
    assert "treemem model check --role checker" in chosen.output
    with Memory.open() as memory:
        assert memory.setting("checker") == MODEL
    assert run("model", "use", "checker", "none").exit_code == 0
    with Memory.open() as memory:
        assert memory.setting("checker") == "none"
        assert memory.status().checker is None
    assert run("model", "use", "checker", "summarizer").exit_code == 0
    with Memory.open() as memory:
        assert memory.setting("checker") is None


def test_a_check_as_checker_calibrates_and_stores(
    models_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    few = calibration.labelled()[1:24:3]
    monkeypatch.setattr(calibration, "labelled", lambda: few)
    result = run("model", "check", "--role", "checker", MODEL)
    assert result.exit_code == 0, result.output
    assert "such lines were right in our test" in result.output
    stored = calibration.result_of(manifests.installed(MODEL).identity)
    assert stored is not None
    assert stored.way in opening.ways_of(MODEL) == ("pairs", "claims")
    assert stored.measured.true + stored.measured.false == len(few)
    assert [view.precision for view in model_api.available() if view.name == MODEL] == [
        stored.measured.precision
    ]


@pytest.mark.parametrize("choice", ["none", "summarizer"])
def test_nothing_is_not_calibrated(choice: str):
    with pytest.raises(UsageError, match="nothing to calibrate"):
        model_api.calibrate(choice)


def test_without_a_checker_a_name_is_asked_for(tmp_path: Path):
    result = run("model", "check", "--role", "checker")
    assert result.exit_code != 0
    assert "No checker is in use" in result.output
