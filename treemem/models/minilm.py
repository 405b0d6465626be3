"""Converts all-MiniLM-L6-v2 from its published form (safetensors, WordPiece) to a GGUF.

The names of tensors and the form of tokens are those that llama.cpp expects of a BERT model. The
caller has checked the hash of the weights. Nothing here loads a model or uses the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError

LAYERS = 6
HEADS = 12
DIMENSIONS = 384
HIDDEN = 1536
CONTEXT_TOKENS = 512
NORM_EPSILON = 1e-12
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_F16, _NORMAL, _CONTROL, _MEAN = 1, 1, 3, 1
_HEADER_BYTES_MAX = 1 << 20
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
    from gguf import GGUFWriter

    writer = GGUFWriter(str(target), "bert")
    _add_shape(writer)
    _add_tokens(writer, tokens)
    for name, values in read_safetensors(weights):
        tensor = tensor_name(name)
        if tensor is not None:
            matrix = values.ndim > 1 and tensor not in _F32_TENSORS
            writer.add_tensor(tensor, values.astype(np.float16 if matrix else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


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


def _add_shape(writer: Any) -> None:
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_file_type(_F16)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(DIMENSIONS)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(NORM_EPSILON)
    writer.add_causal_attention(False)
    writer.add_uint32("bert.pooling_type", _MEAN)


def _add_tokens(writer: Any, tokens: Sequence[str]) -> None:
    ids = {token: tokens.index(token) for token in SPECIAL_TOKENS}
    kinds = [_CONTROL if token in SPECIAL_TOKENS else _NORMAL for token in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_token_list([token_text(token) for token in tokens])
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_eos_token_id(ids["[SEP]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])
    writer.add_uint32("tokenizer.ggml.cls_token_id", ids["[CLS]"])
    writer.add_add_bos_token(True)
    writer.add_add_sep_token(True)
