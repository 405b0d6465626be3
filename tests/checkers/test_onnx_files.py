"""A tiny ONNX model, made here, judges claims in a child process. No real weights were tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treemem.checkers.onnx_files import OnnxModel
from treemem.errors import ModelError

onnx: Any = pytest.importorskip("onnx", reason="makes the model; not needed to use one")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")
tokenizers: Any = pytest.importorskip("tokenizers", reason="needs the extra treemem[onnx]")

WORDS = ["[UNK]", "yes", "no", "the", "kiln", "is", "new", "ana"]


def tiny(folder: Path, labels: list[str], inputs: tuple[str, ...] = ("input_ids",)) -> Path:
    """A model whose first logit is the sum of the ids, and whose others are 0."""
    from onnx import TensorProto, helper

    folder.mkdir()
    given = [helper.make_tensor_value_info(n, TensorProto.INT64, [1, None]) for n in inputs]
    count = len(labels)
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["floats", "axes"], ["sum"], keepdims=1),
        helper.make_node("MatMul", ["sum", "weights"], ["logits"]),
    ]
    constants = [
        helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
        helper.make_tensor("weights", TensorProto.FLOAT, [1, count], [1.0] + [0.0] * (count - 1)),
    ]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, count])
    graph = helper.make_graph(nodes, "tiny", given, [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {str(number): label for number, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps({"id2label": named}))
    return folder


def test_one_number_is_the_logit(tmp_path: Path):
    with OnnxModel(tiny(tmp_path / "one", ["score"])) as model:
        assert model.supported(["ana is"], "no") == 7 + 5 + 2
        assert model.supported(["ana is"], "no no") == 7 + 5 + 2 + 2


def test_of_several_labels_the_supporting_one_counts(tmp_path: Path):
    with OnnxModel(tiny(tmp_path / "two", ["entailment", "contradiction"])) as model:
        assert model.supported(["no"], "yes") == pytest.approx(3.0)
    with OnnxModel(tiny(tmp_path / "swapped", ["LABEL_0", "LABEL_1"])) as model:
        assert model.supported(["no"], "yes") == pytest.approx(-3.0)
    three = tiny(tmp_path / "three", ["entailment", "neutral", "contradiction"])
    with OnnxModel(three) as model:
        assert model.supported(["no"], "yes") == pytest.approx(3.0 - 0.6931, abs=1e-3)


def test_a_model_gets_the_inputs_that_it_names(tmp_path: Path):
    folder = tiny(tmp_path / "m", ["score"], ("input_ids", "attention_mask", "token_type_ids"))
    with OnnxModel(folder) as model:
        assert model.supported(["yes"], "yes") == 2.0
    odd = tiny(tmp_path / "odd", ["score"], ("input_ids", "pixel_values"))
    with OnnxModel(odd) as model, pytest.raises(ModelError, match="pixel_values"):
        model.supported(["yes"], "yes")


def test_a_damaged_file_is_an_error_that_names_it_and_spares_this_process(tmp_path: Path):
    folder = tiny(tmp_path / "m", ["score"])
    (folder / "model.onnx").write_bytes(b"\x08\x07 no model")
    with OnnxModel(folder) as model, pytest.raises(ModelError, match="cannot be read as an ONNX"):
        model.supported(["yes"], "yes")
    (folder / "tokenizer.json").write_text("{")
    with OnnxModel(folder) as model, pytest.raises(ModelError, match="cannot be read as an ONNX"):
        model.supported(["yes"], "yes")


def test_a_folder_without_the_files_is_refused_with_their_names(tmp_path: Path):
    with pytest.raises(ModelError, match=r"no model\.onnx and no tokenizer\.json"):
        OnnxModel(tmp_path)


def test_the_identity_changes_with_the_file(tmp_path: Path):
    folder = tiny(tmp_path / "m", ["score"])
    before = OnnxModel(folder).identity
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\0")
    assert OnnxModel(folder).identity != before
