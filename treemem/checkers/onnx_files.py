"""Asks an ONNX model that the user has, such as FactCG, MiniCheck or HHEM, whether lines support a
note. It runs in a child process, since a file may be damaged or hostile."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from treemem.checkers.nearest import nearest_lines
from treemem.errors import ModelError
from treemem.models.child import ModelChild, need_onnx
from treemem.models.client import default_threads
from treemem.models.operations.classifying import MODEL, TOKENIZER

LOAD_SECONDS = 300.0
ANSWER_SECONDS = 120.0
# The bytes at both ends of a model that its fingerprint covers, since whole models are gigabytes.
_END_BYTES = 1 << 20


class OnnxModel(ModelChild):
    """A folder with model.onnx and tokenizer.json, loaded at the first question. Use it in a with
    statement, or close it. Raises ModelError if a file is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        missing = [name for name in (MODEL, TOKENIZER) if not (self.folder / name).is_file()]
        if missing:
            raise ModelError(
                f"{self.folder} has no {' and no '.join(missing)}: name a folder with both, as "
                "models are exported for onnxruntime",
                recoverable=False,
            )
        fields: dict[str, object] = {"folder": str(self.folder), "threads": default_threads()}
        super().__init__(
            "load_classifier", fields, LOAD_SECONDS, f"the model {self.folder}", need_onnx
        )

    @property
    def identity(self) -> str:
        """The name under which its calibration is stored."""
        return f"{self.folder.name}@{_fingerprint(self.folder / MODEL)}"

    def supported(self, lines: Sequence[str], note: str) -> float:
        """By how many nats the model finds it likelier that lines support a note than that they do
        not. Raises ModelError."""
        pair = ["\n".join(nearest_lines(lines, note)), " ".join(note.split())]
        answer = self.request("classify", ANSWER_SECONDS, pairs=[pair])
        return float(answer["logits"][0])


def _fingerprint(path: Path) -> str:
    """Eight hexadecimal digits of a file's size and its two ends."""
    size = path.stat().st_size
    state = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        state.update(file.read(_END_BYTES))
        file.seek(max(0, size - _END_BYTES))
        state.update(file.read(_END_BYTES))
    return state.hexdigest()[:8]
