"""Converts all-MiniLM-L6-v2 from its published form (safetensors, WordPiece) to a GGUF.

The names of tensors and the form of tokens are those that llama.cpp expects of a BERT model, so
that it could run the file too; treemem itself does, see bert.network. The caller has checked the
hash of the weights. Nothing here loads a model or uses the network.
Tested in tests/models/test_minilm.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError
from treemem.models.bert import gguf_file

LAYERS = 6
HEADS = 12
DIMENSIONS = 384
HIDDEN = 1536
CONTEXT_TOKENS = 512
NORM_EPSILON = 1e-12
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_F16, _NORMAL, _CONTROL, _MEAN = 1, 1, 3, 1
_HEADER_BYTES_MAX = 1 << 20
_SHAPE = {
    "general.architecture": "bert",
    "general.name": "all-MiniLM-L6-v2",
    "general.license": "apache-2.0",
    "general.file_type": _F16,
    "bert.context_length": CONTEXT_TOKENS,
    "bert.embedding_length": DIMENSIONS,
    "bert.block_count": LAYERS,
    "bert.feed_forward_length": HIDDEN,
    "bert.attention.head_count": HEADS,
    "bert.attention.layer_norm_epsilon": NORM_EPSILON,
    "bert.attention.causal": False,
    "bert.pooling_type": _MEAN,
}
_EMBEDDINGS = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}
_IN_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
# llama.cpp adds these tensors to activations, which are F32.
_F32_TENSORS = ("position_embd.weight", "token_types.weight")


def convert(weights: Path, tokens: Sequence[str], target: Path) -> None:
    """Writes the GGUF to target. weights: model.safetensors. tokens: the lines of vocab.txt."""
    gguf_file.write(target, _SHAPE | _about(tokens), _tensors(weights))


def _tensors(weights: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, values in read_safetensors(weights):
        tensor = tensor_name(name)
        if tensor is not None:
            matrix = values.ndim > 1 and tensor not in _F32_TENSORS
            yield tensor, values.astype(np.float16 if matrix else np.float32)


def tensor_name(name: str) -> str | None:
    """llama.cpp's name of a BERT tensor; None if sentence vectors do not need it.

    Example:
        >>> tensor_name("encoder.layer.3.intermediate.dense.bias")
        'blk.3.ffn_up.bias'
        >>> tensor_name("pooler.dense.bias")
    """
    stem, _, kind = name.rpartition(".")
    if stem in _EMBEDDINGS:
        return f"{_EMBEDDINGS[stem]}.{kind}"
    if not stem.startswith("encoder.layer."):
        return None
    layer, _, part = stem.removeprefix("encoder.layer.").partition(".")
    return f"blk.{layer}.{_IN_LAYER[part]}.{kind}"


def token_text(token: str) -> str:
    """A WordPiece token in llama.cpp's form: marked if it begins a word, unmarked inside one.

    Example:
        >>> [token_text(token) for token in ("[CLS]", "play", "##ing")]
        ['[CLS]', '▁play', 'ing']
    """
    if token.startswith("[") and token.endswith("]") and len(token) > 2:
        return token
    return token[2:] if token.startswith("##") and len(token) > 2 else f"▁{token}"


def read_safetensors(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yields every F32 tensor with its name. The file contains the length of its header (u64), a
    header in JSON with the type, shape and position of each tensor, and then the data."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _HEADER_BYTES_MAX:
            raise ModelError(
                f"{path.name} is not a safetensors file: its header has {length:,} bytes"
            )
        header: dict[str, Any] = json.loads(file.read(length))
        for name, about in header.items():
            if name == "__metadata__" or about["dtype"] != "F32":
                continue
            start, end = about["data_offsets"]
            file.seek(8 + length + start)
            values = np.frombuffer(file.read(end - start), np.dtype("<f4"))
            yield name, values.reshape(about["shape"])


def _about(tokens: Sequence[str]) -> dict[str, Any]:
    """The metadata of the tokens."""
    prefix = "tokenizer.ggml."
    names = ("padding", "unknown", "cls", "seperator", "mask")  # so spelled in the format
    ids = {name: tokens.index(token) for name, token in zip(names, SPECIAL_TOKENS, strict=True)}
    kinds = [_CONTROL if token in SPECIAL_TOKENS else _NORMAL for token in tokens]
    return {
        f"{prefix}model": "bert",
        f"{prefix}tokens": [token_text(token) for token in tokens],
        f"{prefix}token_type": kinds,
        f"{prefix}token_type_count": 2,
        f"{prefix}bos_token_id": ids["cls"],
        f"{prefix}eos_token_id": ids["seperator"],
        **{f"{prefix}{name}_token_id": number for name, number in ids.items()},
        f"{prefix}add_bos_token": True,
        f"{prefix}add_sep_token": True,
    }
