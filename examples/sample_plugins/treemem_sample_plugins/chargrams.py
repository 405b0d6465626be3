"""Embeds texts by the pieces of three to five characters of their words."""

from __future__ import annotations

import math
import re
import zlib

_WORD = re.compile(r"\w+")
_DIMENSIONS = 512


class CharGrams:
    """Finds words in another form, and with a typing error, in any language that has spaces."""

    name = "chargrams/1"  # the identity of the vectors: change it whenever they change

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        row = [0.0] * _DIMENSIONS
        for word in _WORD.findall(text.lower()):
            padded = f"<{word}>"
            for size in (3, 4, 5):
                for at in range(len(padded) - size + 1):
                    row[zlib.crc32(padded[at : at + size].encode()) % _DIMENSIONS] += 1.0
        row = [math.log1p(count) for count in row]
        return row if any(row) else [1.0, *row[1:]]  # a text without words needs a direction, too
