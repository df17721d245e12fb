"""How long an embedder takes, how often it fails, and an end to waiting for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from langchain_core.embeddings import Embeddings

from langmem_plus.providers.threads import within
from langmem_plus.store.faults import as_failure

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

# The newest calls, from which the figures are made.
_KEPT = 512
_FEW = 8  # texts of a call that somebody waits for


class TimedEmbeddings(Embeddings):
    """An embedder that is measured, and not waited for longer than it may take; thread-safe.

    Args:
        inner: the embedder. One that works within this process (``in_process``) waits for nobody, so it is called on
            the caller's thread and without an end.
        timeout: seconds that one call may take; then it is a TimeoutError, and the call is left to itself.
        patience: seconds that a call on somebody's way may take before the embedder counts as slow.

    Attributes:
        failed: the calls that failed since it was made.
        is_slow: whether the newest call took longer than anybody should wait for it: a query, or a few texts at once.
    """

    def __init__(self, inner: Embeddings, timeout: float = 60.0, patience: float = 1.0) -> None:
        self.inner = inner
        self._timeout, self._patience = timeout, patience
        self.is_slow = False
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
    def _timed(self, texts: int) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except Exception:
            with self._lock:
                self.failed += 1
            raise
        took = time.monotonic() - began
        with self._lock:
            self._seconds.append(took)
            if texts <= _FEW:  # what is embedded in large batches is nobody's way
                self.is_slow = took > self._patience

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the embedder does."""
        with self._timed(len(texts)):
            return self._call(self.inner.embed_documents, texts)

    def embed_query(self, text: str) -> list[float]:
        """As the embedder does."""
        with self._timed(1):
            return self._call(self.inner.embed_query, text)

    def _call(self, function: Callable[[Asked], Answer], asked: Asked) -> Answer:
        if getattr(self.inner, "in_process", False) is True:
            return function(asked)
        return within(self._timeout, function, asked)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the embedder does."""
        with self._timed(len(texts)):
            return await asyncio.wait_for(_guarded(self.inner.aembed_documents(texts)), self._timeout)

    async def aembed_query(self, text: str) -> list[float]:
        """As the embedder does."""
        with self._timed(1):
            return await asyncio.wait_for(_guarded(self.inner.aembed_query(text)), self._timeout)


async def _guarded(answer: Awaitable[Answer]) -> Answer:
    """An embedder's answer; a SystemExit in a task of its own would end the loop."""
    try:
        return await answer
    except BaseException as error:  # noqa: BLE001 - what is meant for the task goes on as it is
        raise as_failure(error) from None
