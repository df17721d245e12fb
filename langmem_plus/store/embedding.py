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

    def fulfil(self, needs: Needs) -> Vectors:
        """Embed what a batch needs. Only wrong vectors for what is being written fail it; an outage doesn't.

        Raises:
            EmbeddingError: the wrong number or size of vectors came back for the texts of a write.
        """
        answers = [self._documents(texts) for texts in (needs.texts, needs.backlog)]
        fresh = [text for text in needs.queries if self._remembered(text) is None]
        asked = {text: self._query(text) for text in fresh}
        return self._gather(needs, answers, asked)

    async def afulfil(self, needs: Needs) -> Vectors:
        """As `fulfil`."""
        answers = [await self._adocuments(texts) for texts in (needs.texts, needs.backlog)]
        fresh = [text for text in needs.queries if self._remembered(text) is None]
        asked = {text: await self._aquery(text) for text in fresh}
        return self._gather(needs, answers, asked)

    def _documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        try:
            return self._embeddings.embed_documents(list(texts)) if texts else []
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is an outage, which _outage logs
            self._outage(error)
            return None

    async def _adocuments(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        try:
            return await self._embeddings.aembed_documents(list(texts)) if texts else []
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    def _query(self, text: str) -> Sequence[float] | None:
        try:
            return self._embeddings.embed_query(text)
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    async def _aquery(self, text: str) -> Sequence[float] | None:
        try:
            return await self._embeddings.aembed_query(text)
        except Exception as error:  # noqa: BLE001 - as above
            self._outage(error)
            return None

    def _gather(
        self,
        needs: Needs,
        answers: Sequence[Sequence[Sequence[float]] | None],
        asked: Mapping[str, Sequence[float] | None],
    ) -> Vectors:
        texts = self._checked(needs.texts, answers[0])
        try:
            texts.update(self._checked(needs.backlog, answers[1]))
            for text, vector in asked.items():
                if vector is not None:
                    self._remember(text, self._unit(vector))
        except EmbeddingError as error:
            logger.warning("%s", error)
        found = {text: self._remembered(text) for text in needs.queries}
        return Vectors(texts, {text: vector for text, vector in found.items() if vector is not None})

    def _outage(self, error: Exception) -> None:
        if not self._down:
            logger.warning(
                "the embedder %s is down (%s: %s): what is stored now is found by its words, and gets its vector later",
                self.model,
                type(error).__name__,
                error,
            )
        self._down = True

    def _checked(self, texts: Sequence[str], answer: Sequence[Sequence[float]] | None) -> dict[str, Floats]:
        if answer is None:
            return {}
        if len(answer) != len(texts):
            raise EmbeddingError(
                f"the embedder {self.model} gave {len(answer)} vectors for {len(texts)} texts; no vector was written."
            )
        return {text: self._unit(vector) for text, vector in zip(texts, answer, strict=True)}

    def _unit(self, vector: Sequence[float]) -> Floats:
        array = np.asarray(vector, np.float32)
        if array.ndim != 1 or (self._dims is not None and len(array) != self._dims) or not np.isfinite(array).all():
            raise EmbeddingError(
                f"the embedder {self.model} gave a vector of shape {array.shape}, not ({self._dims or 'dims'},) finite "
                "numbers: set dims to what the model gives. No vector was written."
            )
        length = float(np.linalg.norm(array))
        return array / np.float32(length) if length else array

    def _remembered(self, text: str) -> Floats | None:
        with self._lock:
            if text in self._queries:
                self._queries.move_to_end(text)
            return self._queries.get(text)

    def _remember(self, text: str, vector: Floats) -> None:
        self._down = False
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > _REMEMBERED_QUERIES:
                self._queries.popitem(last=False)
