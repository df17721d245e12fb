"""Vectors for a store: unit length, checked, each query embedded once; an embedder that is down is not an error."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from langchain_core.embeddings import Embeddings

from langmem_plus.errors import EmbeddingError
from langmem_plus.store.search import Floats

logger = logging.getLogger(__name__)

_REMEMBERED_QUERIES = 256

Answer = list[Sequence[float]]


@dataclass(frozen=True)
class Needs:
    """What a batch wants embedded: texts that are being written, texts that have waited, queries."""

    texts: Sequence[str] = ()
    backlog: Sequence[str] = ()
    queries: Sequence[str] = ()


@dataclass(frozen=True)
class Vectors:
    """What came back; what is missing goes by words."""

    texts: Mapping[str, Floats] = field(default_factory=dict)
    queries: Mapping[str, Floats] = field(default_factory=dict)


class TextEmbedder:
    """An embedder as a store uses it.

    Args:
        embeddings: the embedder.
        model: what tells its vectors from another embedder's.
        dims: the size that its vectors must have; None takes what comes.
    """

    def __init__(self, embeddings: Embeddings, model: str, dims: int | None) -> None:
        self._embeddings, self.model, self._dims = embeddings, model, dims
        self._queries: collections.OrderedDict[str, Floats] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._down = False

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def fulfil(self, needs: Needs) -> Vectors:
        """Embed what a batch needs. Only wrong vectors for what is being written fail it; an outage doesn't.

        Raises:
            EmbeddingError: the wrong number or size of vectors came back for the texts of a write.
        """
        texts = self._checked(needs.texts, self._documents(needs.texts))
        queries = self._known(needs.queries)
        for text in needs.queries:
            if text not in queries:
                self._take(queries, text, self._query(text))
        # What waits is tried when the questions show that the embedder is up.
        backlog = needs.backlog if len(queries) == len(needs.queries) else ()
        return Vectors({**texts, **self._late(backlog, self._documents(backlog))}, queries)

    async def afulfil(self, needs: Needs) -> Vectors:
        """As `fulfil`."""
        texts = self._checked(needs.texts, await self._adocuments(needs.texts))
        queries = self._known(needs.queries)
        for text in needs.queries:
            if text not in queries:
                self._take(queries, text, await self._aquery(text))
        backlog = needs.backlog if len(queries) == len(needs.queries) else ()
        return Vectors({**texts, **self._late(backlog, await self._adocuments(backlog))}, queries)

    def _documents(self, texts: Sequence[str]) -> Answer | None:
        try:
            return list(self._embeddings.embed_documents(list(map(_sendable, texts)))) if texts else []
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is an outage, which _outage logs
            self._outage(error)
            return None

    async def _adocuments(self, texts: Sequence[str]) -> Answer | None:
        try:
            return list(await self._embeddings.aembed_documents(list(map(_sendable, texts)))) if texts else []
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    def _query(self, text: str) -> Sequence[float] | None:
        try:
            return self._embeddings.embed_query(_sendable(text))
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    async def _aquery(self, text: str) -> Sequence[float] | None:
        try:
            return await self._embeddings.aembed_query(_sendable(text))
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    def _take(self, queries: dict[str, Floats], text: str, answer: Sequence[float] | None) -> None:
        if answer is None:
            return
        try:
            queries[text] = self._unit(answer)
        except EmbeddingError as error:
            logger.warning("the question goes by its words: %s", error)
        else:
            self._remember(text, queries[text])

    def _late(self, texts: Sequence[str], answer: Answer | None) -> dict[str, Floats]:
        try:
            return self._checked(texts, answer)
        except EmbeddingError as error:
            logger.warning("what waits for a vector waits on: %s", error)
            return {}

    def _outage(self, error: Exception) -> None:
        if not self._down:
            logger.warning(
                "the embedder %s is down (%s: %s): what is stored now is found by its words, and gets its vector later",
                self.model,
                type(error).__name__,
                error,
            )
        self._down = True

    def _checked(self, texts: Sequence[str], answer: Answer | None) -> dict[str, Floats]:
        if answer is None:
            return {}
        if len(answer) != len(texts):
            raise EmbeddingError(
                f"the embedder {self.model} gave {len(answer)} vectors for {len(texts)} texts; no vector was written."
            )
        vectors = {text: self._unit(vector) for text, vector in zip(texts, answer, strict=True)}
        self._down = self._down and not vectors
        return vectors

    def _unit(self, vector: Sequence[float]) -> Floats:
        try:
            array = np.asarray(vector, np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(
                f"the embedder {self.model} gave {str(vector)[:50]!r}, not a list of numbers. No vector was written."
            ) from error
        if array.ndim != 1 or (self._dims is not None and len(array) != self._dims) or not np.isfinite(array).all():
            raise EmbeddingError(
                f"the embedder {self.model} gave a vector of shape {array.shape}, not ({self._dims or 'dims'},) finite "
                "numbers: set dims to what the model gives. No vector was written."
            )
        length = float(np.linalg.norm(array.astype(np.float64)))
        return (array / length).astype(np.float32) if length else array

    def _known(self, texts: Sequence[str]) -> dict[str, Floats]:
        """Those questions that were embedded lately."""
        with self._lock:
            found = {text: self._queries[text] for text in texts if text in self._queries}
            for text in found:
                self._queries.move_to_end(text)
        return found

    def _remember(self, text: str, vector: Floats) -> None:
        self._down = False
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > _REMEMBERED_QUERIES:
                self._queries.popitem(last=False)


def _sendable(text: str) -> str:
    """The text as any embedder takes it: half of a surrogate pair has no UTF-8."""
    return text.encode("utf-8", "replace").decode()
