"""The models that a memory file is set to use, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treemem import exam
from treemem.summarizers.written import Client, ModelSummarizer

if TYPE_CHECKING:
    from treemem.models.manifests import InstalledModel

CONTEXT_TOKENS_MAX = 4_096
"""A prompt is a window and a task; a larger context would only cost memory."""
WHOLE_LEAF_TOKENS_MAX = 8_192
"""For a model that reads a leaf in one window."""
RANK_PER_POINT = 10**12


@contextmanager
def summarizer_of(name: str) -> Iterator[ModelSummarizer]:
    """The summarizer by that name, its model loaded at the first question.

    Raises ModelError where the model is not installed or its file is damaged.
    """
    from treemem.models.manifests import installed

    model = installed(name, verify=True)
    with client_of(model) as client:
        yield _over(model, client)


@contextmanager
def client_of(model: InstalledModel) -> Iterator[Client]:
    """A client for an installed model, with as much context as its mode needs."""
    from treemem.models.client import LlamaClient

    result = exam.result_of(identity(model))
    is_long = result is not None and result.window_chars >= exam.WHOLE_LEAF_CHARS
    most = WHOLE_LEAF_TOKENS_MAX if is_long or result is None else CONTEXT_TOKENS_MAX
    with LlamaClient(model.path, context_tokens=min(model.context_tokens, most)) as client:
        yield client


def summarizer_asking(name: str, client: Client) -> ModelSummarizer:
    """The summarizer by that name, but with this client in the model's place, which is neither
    read nor loaded.

    Raises ModelError where the model is not installed.
    """
    from treemem.models.manifests import installed

    return _over(installed(name), client)


def identity(model: InstalledModel) -> str:
    """What a model's exam is kept by. Named after the published file: requantizing it with
    another llama.cpp may give other bytes, but makes no other model."""
    return f"{model.name}-{model.quantization}@{model.source_sha256[:8]}"


def exam_of(name: str) -> exam.ExamResult | None:
    """What the model by that name showed in its exam; None where it took none."""
    from treemem.models.manifests import find

    model = find(name)
    return None if model is None else exam.result_of(identity(model))


def _over(model: InstalledModel, client: Client) -> ModelSummarizer:
    name, _, digest = identity(model).rpartition("@")
    result = exam.result_of(identity(model))
    if result is None or result.mode is None:
        return ModelSummarizer(client, name, digest, model.size_bytes)
    rank = result.points * RANK_PER_POINT + model.size_bytes
    return ModelSummarizer(
        client, name, digest, rank, mode=result.mode, window_chars=result.window_chars
    )
