"""How long an embedder takes, and how often it fails."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.embeddings import Embeddings

# The newest calls, from which the figures are made.
_KEPT = 512


class TimedEmbeddings(Embeddings):
    """An embedder that is measured; thread-safe.

    Args:
        inner: the embedder.

    Attributes:
        failed: the calls that failed since it was made.
    """

    def __init__(self, inner: Embeddings) -> None:
        self.inner = inner
        self.failed = 0
        self.forked()

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def p95(self) -> float | None:
        """Seconds within which 95 of 100 of the newest calls that worked were answered; None before the first."""
        with self._lock:
            ordered = sorted(self._seconds)
        return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] if ordered else None

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except Exception:
            with self._lock:
                self.failed += 1
            raise
        with self._lock:
            self._seconds.append(time.monotonic() - began)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the embedder does."""
        with self._timed():
            return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """As the embedder does."""
        with self._timed():
            return self.inner.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the embedder does."""
        with self._timed():
            return await self.inner.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As the embedder does."""
        with self._timed():
            return await self.inner.aembed_query(text)
