"""Rates texts for a query with a loaded cross-encoder, by llama.cpp's rank pooling.

Runs in the child process. A text that does not fit the context with the query is cut at its end.
Tested in tests/models/test_rerankers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import llama_cpp.llama_cpp as api

from treemem.errors import ModelError
from treemem.models.llama import LoadedModel
from treemem.models.operations import embedding
from treemem.models.operations.embedding import Window

# The largest share of the context that a query takes.
QUERY_SHARE = 0.5


def rank(model: LoadedModel, query: str, texts: Sequence[str]) -> list[float]:
    """A number for each text, the larger the better it answers the query."""
    if not model.ranks:
        raise ModelError("this GGUF is not a reranker: it has no rank pooling", recoverable=False)
    size = max(1, int(api.llama_model_n_cls_out(model.model)))
    ratings = []
    for windows in embedding.batches(_pairs(model, query, texts)):
        vectors = embedding.compute(model, windows, size)
        ratings += [float(vector[0]) for vector in vectors]
    return ratings


def _pairs(model: LoadedModel, query: str, texts: Sequence[str]) -> Iterator[Window]:
    """Query and text with the tokens that the model expects around and between them: [CLS] query
    [SEP] text [SEP], or <s> query </s></s> text </s>."""
    vocab = model.vocab
    adds_eos = bool(api.llama_vocab_get_add_eos(vocab))
    adds_sep = bool(api.llama_vocab_get_add_sep(vocab))
    first = [api.llama_vocab_bos(vocab)] if api.llama_vocab_get_add_bos(vocab) else []
    eos = [api.llama_vocab_eos(vocab)] if adds_eos else []
    sep = [api.llama_vocab_sep(vocab)] if adds_sep else []
    between, last = [*eos, *sep], eos or sep
    asked = model.tokenize(query, special=False)
    asked = asked[: int(QUERY_SHARE * model.context_tokens)]
    room = model.context_tokens - len(first) - len(asked) - len(between) - len(last)
    for index, text in enumerate(texts):
        tokens = model.tokenize(text, special=False)[:room]
        yield Window(index, [*first, *asked, *between, *tokens, *last], 1)
