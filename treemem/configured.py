"""The models that a memory file is set to use, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treemem.summarizers.llama import LlamaSummarizer

# A prompt is a window and a task; a larger context would only cost memory.
CONTEXT_TOKENS_MAX = 4_096


@contextmanager
def summarizer_of(name: str) -> Iterator[LlamaSummarizer]:
    """The summarizer by that name, its model loaded at the first question.

    Raises ModelError where the model is not installed or its file is damaged.
    """
    from treemem.models.client import LlamaClient
    from treemem.models.manifests import installed

    model = installed(name, verify=True)
    context_tokens = min(model.context_tokens, CONTEXT_TOKENS_MAX)
    with LlamaClient(model.path, context_tokens=context_tokens) as client:
        # Named after the published file: requantizing it with another llama.cpp may give other
        # bytes, but makes no other summarizer.
        name = f"{model.name}-{model.quantization}"
        yield LlamaSummarizer(client, name, model.source_sha256, model.size_bytes)
