"""Classifies texts with an ONNX model that a user has, in the child process.

A folder holds model.onnx and tokenizer.json, as models are exported for onnxruntime; config.json
names the labels. Such a model reads a document and a claim, and gives logits for "supported" and
its opposite, or one alone.
Tested in tests/checkers/test_onnx_files.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treemem.errors import ModelError
from treemem.patterns import lazy_regex

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
# Longer inputs are cut at the end of the document.
TOKENS_MAX = 2_048
_SUPPORTED = lazy_regex(
    r"^(?:label_1|1|entail\w*|support\w*|consistent|faithful|grounded|yes|true)$", re.IGNORECASE
)
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Classifier:
    """An ONNX model that tells whether a document supports a claim."""

    def __init__(self, folder: str, threads: int) -> None:
        import onnxruntime
        import tokenizers

        path = Path(folder)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path / TOKENIZER))
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            self._session = onnxruntime.InferenceSession(
                str(path / MODEL), options, providers=["CPUExecutionProvider"]
            )
        # Both libraries raise errors of many kinds, some derived from Exception alone.
        except Exception as error:
            raise ModelError(f"{path} cannot be read as an ONNX model: {error}") from error
        self._tokenizer.enable_truncation(TOKENS_MAX, strategy="only_first")
        self._inputs = [given.name for given in self._session.get_inputs()]
        unknown = [name for name in self._inputs if name not in _INPUTS]
        if unknown:
            raise ModelError(f"{path / MODEL} wants inputs that no text gives: {unknown}")
        self._supported = _label_of(path / CONFIG)

    def logit(self, document: str, claim: str) -> float:
        """By how many nats "supported" is likelier than its opposite."""
        encoded = self._tokenizer.encode(document, claim)
        given = dict(
            zip(_INPUTS, (encoded.ids, encoded.attention_mask, encoded.type_ids), strict=True)
        )
        arrays = {name: np.array([given[name]], dtype=np.int64) for name in self._inputs}
        try:
            row = np.asarray(self._session.run(None, arrays)[0], dtype=np.float64).ravel()
        except Exception as error:  # as above
            raise ModelError(f"the ONNX model could not read a text: {error}") from error
        if len(row) == 1:
            return float(row[0])
        at = self._supported if self._supported is not None else 1
        if not at < len(row) <= 3:
            raise ModelError(f"the ONNX model gives {len(row)} numbers for a claim, not 1 to 3")
        others = np.delete(row, at)
        return float(row[at] - others.max() - np.log(np.exp(others - others.max()).sum()))


def _label_of(path: Path) -> int | None:
    """The number of the label "supported"; None if no label is named so."""
    try:
        labels: Any = json.loads(path.read_text("utf-8")).get("id2label") or {}
        named = [int(number) for number, name in labels.items() if _SUPPORTED.match(str(name))]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    return named[0] if len(named) == 1 else None


def classify(model: Classifier, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The logits of documents with claims."""
    return {"logits": [model.logit(document, claim) for document, claim in pairs]}
