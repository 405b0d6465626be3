"""Writes a tiny cross-encoder as GGUF, whose rating grows with the share of the word "good"."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from treemem.models.bert import gguf_file

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁good", "▁bad", "▁walrus", "▁why"]
SIZE, HEADS, CONTEXT = 32, 2, 64
# The direction of the word "good" among the numbers of a token.
GOOD = 8


def write(path: Path, *, pooling: int = 4) -> None:
    """pooling: llama.cpp's number of it; 4 ranks.

    Attention sees all tokens alike, and its values are the tokens themselves. So what the first
    token knows after it is their mean, of which the head reads one direction.
    """
    prefix = "tokenizer.ggml."
    about = {
        "general.architecture": "bert",
        "general.name": "tiny reranker",
        "general.file_type": 0,
        "bert.context_length": CONTEXT,
        "bert.embedding_length": SIZE,
        "bert.block_count": 1,
        "bert.feed_forward_length": SIZE,
        "bert.attention.head_count": HEADS,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "bert.pooling_type": pooling,
        f"{prefix}model": "bert",
        f"{prefix}tokens": TOKENS,
        f"{prefix}token_type": [3, 3, 3, 3, 3, *[1] * (len(TOKENS) - 5)],
        f"{prefix}token_type_count": 2,
        f"{prefix}bos_token_id": 2,
        f"{prefix}eos_token_id": 3,
        f"{prefix}unknown_token_id": 1,
        f"{prefix}seperator_token_id": 3,
        f"{prefix}padding_token_id": 0,
        f"{prefix}cls_token_id": 2,
        f"{prefix}mask_token_id": 4,
        f"{prefix}add_bos_token": True,
        f"{prefix}add_sep_token": True,
    }
    one, none = np.eye(SIZE, dtype=np.float32), np.zeros((SIZE, SIZE), dtype=np.float32)
    tokens = np.zeros((len(TOKENS), SIZE), dtype=np.float32)
    for number, token in enumerate(TOKENS):
        tokens[number, GOOD if token == "▁good" else 16 + number] = 4.0
    head = np.zeros((1, SIZE), dtype=np.float32)
    head[0, GOOD] = 1.0
    matrices = {
        "token_embd": tokens,
        "position_embd": np.zeros((CONTEXT, SIZE), dtype=np.float32),
        "token_types": np.zeros((2, SIZE), dtype=np.float32),
        "blk.0.attn_q": none,
        "blk.0.attn_k": none,
        "blk.0.attn_v": one,
        "blk.0.attn_output": one,
        "blk.0.ffn_up": none,
        "blk.0.ffn_down": none,
        "cls.output": head,
    }
    norms = ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm")
    biases = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    tensors = [(f"{name}.weight", matrix) for name, matrix in matrices.items()]
    tensors += [(f"{name}.weight", np.ones(SIZE, dtype=np.float32)) for name in norms]
    zeros = np.zeros(SIZE, dtype=np.float32)
    tensors += [(f"{name}.bias", zeros) for name in norms]
    tensors += [(f"blk.0.{name}.bias", zeros) for name in biases]
    tensors.append(("cls.output.bias", np.zeros(1, dtype=np.float32)))
    gguf_file.write(path, about, tensors)
