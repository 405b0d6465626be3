"""The models that a memory file is set to use, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treemem.summarizers.llama import LlamaSummarizer


@contextmanager
def summarizer_of(name: str | None) -> Iterator[LlamaSummarizer | None]:
    """The summarizer by that name, its model loaded at the first question; None for None.

    Raises ModelError where the model is not installed or is damaged.
    """
    if name is None:
        yield None
        return
    from treemem.models.client import LlamaClient
    from treemem.models.pulling import installed

    model = installed(name)
    with LlamaClient(model.path, context_tokens=model.context_tokens) as client:
        yield LlamaSummarizer(client, model.name, model.sha256, model.size_bytes)
