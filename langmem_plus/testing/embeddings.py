"""An embedder whose vectors can be reasoned about: texts that share words are close, others are not."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import threading
from collections import Counter
from typing import Literal

from langchain_core.embeddings import Embeddings

_WORDS = re.compile(r"[^\W\d_]+|\d+")
_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

Fault = BaseException | Literal["count", "dims"]


class BagOfWordsEmbeddings(Embeddings):
    """Hashing bag of words: unit vectors, the same in every process, cosine in [0, 1].

    Identical texts have cosine 1, texts without a common word 0 (but for rare collisions of the hash). Case and
    punctuation don't count; scripts without spaces are read character by character.

    Args:
        dims: the vectors' length.
        fail: what goes wrong in each call while it is set: an exception to raise, ``"count"`` for one vector too few
            (of documents), ``"dims"`` for vectors that are one number too long. It may be changed at any time.

    Attributes:
        documents: the batch of texts of each ``embed_documents`` call, in order.
        queries: each text that was embedded as a query.
        async_calls: how many of all calls were asynchronous.

    Example:
        >>> embedder = BagOfWordsEmbeddings()
        >>> one, two = embedder.embed_documents(["green tea", "Tea, green!"])
        >>> one == two, embedder.texts
        (True, ['green tea', 'Tea, green!'])
    """

    def __init__(self, dims: int = 256, fail: Fault | None = None) -> None:
        self.dims = dims
        self.fail = fail
        self.documents: list[list[str]] = []
        self.queries: list[str] = []
        self.async_calls = 0
        self._lock = threading.Lock()

    @property
    def texts(self) -> list[str]:
        """Every text that was embedded as a document, in order."""
        return [text for batch in self.documents for text in batch]

    def clear(self) -> None:
        """Forget what was recorded."""
        with self._lock:
            self.documents, self.queries, self.async_calls = [], [], 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One unit vector a text, in order; the call is recorded.

        Raises:
            Exception: the one that ``fail`` holds.
        """
        with self._lock:
            self.documents.append(list(texts))
        return self._vectors(texts)[self.fail == "count" :]

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of one text; the call is recorded.

        Raises:
            Exception: the one that ``fail`` holds.
        """
        with self._lock:
            self.queries.append(text)
        return self._vectors([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`, after giving other tasks a turn."""
        await asyncio.sleep(0)
        self.async_calls += 1
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, after giving other tasks a turn."""
        await asyncio.sleep(0)
        self.async_calls += 1
        return self.embed_query(text)

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two texts, without recording or failing."""
        first, second = bag_of_words(one, self.dims), bag_of_words(other, self.dims)
        return math.fsum(a * b for a, b in zip(first, second, strict=True))

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        if isinstance(self.fail, BaseException):
            raise self.fail
        return [bag_of_words(text, self.dims + (self.fail == "dims")) for text in texts]


def bag_of_words(text: str, dims: int) -> list[float]:
    """The unit vector of a text's words; a text without words has a direction of its own.

    Args:
        text: any text.
        dims: the vector's length, at least 1.
    """
    words = [piece for word in _WORDS.findall(text.casefold()) for piece in _pieces(word)] or [f"\0{text}"]
    counts = Counter(_bucket(word, dims) for word in words)
    length = math.sqrt(sum(count * count for count in counts.values()))
    vector = [0.0] * dims
    for bucket, count in counts.items():
        vector[bucket] = count / length
    return vector


def _pieces(word: str) -> list[str]:
    return list(word) if _WITHOUT_SPACES.search(word) else [word]


def _bucket(word: str, dims: int) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % dims
