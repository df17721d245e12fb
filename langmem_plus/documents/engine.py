"""What works behind a `DocumentIndex`: looks for changes, embeds in the background, and finds candidates."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langmem_plus.config import MemoryConfig
from langmem_plus.documents.catalog import Catalog
from langmem_plus.documents.embedding import DocumentEmbeddings
from langmem_plus.documents.ranking import as_hit, cosines_of, fused, rarities, terms_of
from langmem_plus.documents.syncing import SyncReport, look
from langmem_plus.documents.vectors import Opened, Vectors, open_given, open_own
from langmem_plus.errors import StoreError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.records import MemoryHit
from langmem_plus.tokens import counter

logger = logging.getLogger(__name__)

_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Source:
    """Where documents and their index are.

    Attributes:
        folder: that of the documents, without links in its path.
        path: that of the index.
    """

    folder: Path
    path: Path


class Engine:
    """One folder's catalog and vectors, in one process; thread-safe, and renewed in a forked child.

    Args:
        source: where things are.
        config: the settings.
        given: a vector store that embeds by itself; None takes one of the index's own.
        embeddings: for the index's own vector store; None goes by words alone.
        encoder: makes token bits for the reranker; None goes without.
    """

    def __init__(
        self,
        source: Source,
        config: MemoryConfig,
        given: VectorStore | None,
        embeddings: Embeddings | None,
        encoder: TokenEncoder | None,
    ) -> None:
        self._source, self._config, self._given, self._encoder = source, config, given, encoder
        self.catalog = Catalog(source.path / "documents.sqlite", f"{config.chunk_tokens}/{config.chunk_overlap}")
        self._embeddings = None
        if given is None and embeddings is not None:
            self._embeddings = DocumentEmbeddings(embeddings, self.catalog, encoder, counter(config))
        self._start_over()

    def _start_over(self) -> None:
        self._pid, self._lock = os.getpid(), threading.RLock()
        self._looking = threading.Lock()
        self._looked, self._generation = -float("inf"), -1
        self._stop = threading.Event()
        self._open_parts = OpenParts()
        self._ended = weakref.finalize(self, _end, self._stop, self._open_parts)

    @contextmanager
    def _own(self) -> Iterator[None]:
        """The state of this process."""
        if self._pid != os.getpid():
            if self._open_parts.vectors is not None:
                self._open_parts.vectors.leave_to_parent()
            self._start_over()
        with self._lock:
            yield

    # the vectors

    @property
    def vectors(self) -> Vectors | None:
        """The leg by meaning, opened at its first use; None where there is no embedder."""
        with self._own():
            parts = self._open_parts
            if parts.vectors is None and (self._given is not None or self._embeddings is not None):
                parts.vectors = Vectors(self.catalog, self._open(), self._encoder, self._config)
            return parts.vectors

    def _open(self) -> Opened:
        if self._given is not None:
            return open_given(self._given, self.catalog)
        assert self._embeddings is not None
        return open_own(self._source.path, self._embeddings, self._config)

    # bringing it up to the folder

    def sync(self) -> SyncReport:
        """Look for changes and embed what waits, and wait for both; one process at a time."""
        with FileLock(self._source.path / "sync.lock"):
            report = self.look()
            if (vectors := self.vectors) is not None:
                try:
                    report.embedded = vectors.fill(self._stop)
                except Exception as error:  # noqa: BLE001 - _failed() tells, or raises
                    report.warnings.append(self._failed("what is new wasn't embedded", error))
                report.waiting = vectors.waiting()
        report.chunks = sum(known.chunks for known in self.catalog.documents())
        return report

    def look(self, since: float = float("inf"), seconds: float | None = None) -> SyncReport:
        """Look for changes now, one thread at a time.

        Args:
            since: a look of another thread's that began after this time is enough.
            seconds: for so long at most; None takes as long as it needs.

        Raises:
            StoreError: the folder can't be read; nothing was forgotten.
        """
        with self._own():
            looking = self._looking
        started = time.monotonic()
        until = float("inf") if seconds is None else started + seconds
        if not looking.acquire(timeout=-1 if seconds is None else seconds):
            return SyncReport(unread=1)
        try:
            if self._looked >= since:
                return SyncReport()
            started = time.monotonic()
            report = look(self._source.folder, self.catalog, self._config, until=until, stop=self._stop)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"the folder {str(self._source.folder)!r} can't be read ({error}).") from error
        finally:
            looking.release()
        if not report.unread:
            self._looked = started
        return report

    def refresh(self) -> list[str]:
        """Look for changes, at most once a ``sync_interval``, and have what is new embedded in the background.

        Returns:
            Warnings: what can't be looked at, or isn't yet, is searched as it was.
        """
        warnings, unread = [], 0
        with self._own():
            now, looked = time.monotonic(), self._looked
        if now - looked >= self._config.sync_interval:
            try:
                unread = self.look(since=now, seconds=self._config.document_seconds).unread
            except StoreError as error:
                self._looked = now
                warnings.append(self._failed("the documents weren't looked at", error))
        if unread:
            warnings.append("the documents are still being read (document_seconds): what is new isn't found yet")
        self._work_soon(read=bool(unread))
        return warnings

    def look_again(self) -> None:
        """Somebody changed something."""
        with self._own():
            self._looked = -float("inf")
        self.refresh()

    def _work_soon(self, *, read: bool) -> None:
        """Read what is left, and embed what waits, in the background."""
        vectors = self.vectors
        with self._own():
            generation = self.catalog.generation
            busy = self._open_parts.thread is not None and self._open_parts.thread.is_alive()
            fills = vectors is not None and generation != self._generation and not vectors.breaker.resting()
            if busy or self._stop.is_set() or not (fills or read):
                return
            self._generation = generation
            if not self._config.embed_in_background:
                self._work(vectors, read=False)
                return
            name = "langmem-plus-documents"
            thread = threading.Thread(target=self._work, args=(vectors,), kwargs={"read": read}, name=name, daemon=True)
            self._open_parts.thread = thread
            thread.start()

    def _work(self, vectors: Vectors | None, *, read: bool) -> None:
        try:
            if read:
                self.look()
            if vectors is None:
                return
            vectors.fill(self._stop)
            if vectors.waiting():  # the embedder was left alone meanwhile
                self._generation = -1
        except Exception as error:  # noqa: BLE001 - told; what waits is found by its words, and tried again
            self._generation = -1
            logger.warning("documents: not all that is new was read and embedded: %s", error)

    def _failed(self, what: str, error: Exception) -> str:
        if self._config.strict:
            raise error
        logger.warning("documents: %s: %s: %s", what, type(error).__name__, error)
        return f"{what} ({type(error).__name__}: {error})"

    # finding

    def find(self, query: str, limit: int, owner: tuple[str, str], name: str = "") -> tuple[list[MemoryHit], list[str]]:
        """The candidates for a query, best first, by words and by meaning, and warnings.

        Args:
            query: a question, or words.
            limit: how many at most.
            owner: whose recall it is: user and space.
            name: stands before the paths, where there is one.
        """
        warnings = self.refresh()
        terms = terms_of(query)
        by_words = dict(self.catalog.by_words(terms, limit))
        nearest = self._nearest(query, limit, warnings)
        pieces = self.catalog.pieces(list(by_words), nearest)
        cosines: dict[str, float] = {}
        if self._embeddings is not None and nearest:
            known = self.catalog.vectors(self._embeddings.model, list({piece.key for piece in pieces}))
            cosines = cosines_of(self._embeddings.query(query), known)
        held, total = self.catalog.held(terms)
        rarity = rarities(terms, held, total)
        best = fused(pieces, by_words, nearest, cosines, rarity, self._config)[:limit]
        if name:
            best = [(replace(piece, path=f"{name}/{piece.path}"), scores) for piece, scores in best]
        size = self._config.document_excerpt_bytes
        hits = [as_hit(piece, scores, rarity, size, owner) for piece, scores in best]
        self._add_bits([piece.key for piece, _ in best], hits)
        return hits, warnings

    def _nearest(self, query: str, limit: int, warnings: list[str]) -> list[str]:
        vectors = self.vectors
        if vectors is None or not query.strip():
            return []
        try:
            return vectors.nearest(query, limit)
        except Exception as error:  # noqa: BLE001 - _failed() tells, or raises
            warnings.append(self._failed("documents were searched by words alone", error))
            return []

    def _add_bits(self, keys: list[str], hits: list[MemoryHit]) -> None:
        if self._encoder is None:
            return
        known = self.catalog.bits(self._encoder.model_id, keys)
        for key, hit in zip(keys, hits, strict=True):
            with contextlib.suppress(ValueError, TypeError):  # a row that somebody broke is as good as none
                hit.bits = TextBits.from_bytes(known[key], self._encoder.dims) if key in known else None

    def close(self) -> None:
        """End what runs in the background, and let go of all files."""
        with self._own():
            stop, parts = self._stop, self._open_parts
        self._ended.detach()
        _end(stop, parts)
        with self._own():
            self.catalog.close()
            self._start_over()


@dataclass
class OpenParts:
    """What is let go of when the engine is closed, nobody has it any more, or the process ends.

    Attributes:
        thread: works in the background.
        vectors: are open.
    """

    thread: threading.Thread | None = None
    vectors: Vectors | None = None


def _end(stop: threading.Event, parts: OpenParts) -> None:
    stop.set()
    if parts.thread is not None and parts.thread is not threading.current_thread():
        parts.thread.join(_STOP_SECONDS)
    if parts.vectors is not None:
        parts.vectors.close()


def index_name(folder: Path) -> str:
    """The name of a folder's index below the memory's."""
    return f"documents-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
