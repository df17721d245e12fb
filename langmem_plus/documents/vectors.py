"""The documents' vectors in a LangChain vector store: Chroma, one that is given, or one in memory.

What stands in it is derived from the catalog, and is brought up to it a batch at a time. An embedded Chroma is used by
one process at a time; another one searches a copy in memory, whose vectors come from the catalog.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import shutil
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langmem_plus.config import MemoryConfig
from langmem_plus.documents.catalog import Catalog
from langmem_plus.documents.database import leave_to_parent
from langmem_plus.documents.embedding import DocumentEmbeddings, make_bits
from langmem_plus.errors import ConfigError
from langmem_plus.providers import TokenEncoder
from langmem_plus.providers.breaker import Breaker
from langmem_plus.providers.onnx_runtime import no_telemetry
from langmem_plus.providers.steps import step_down
from langmem_plus.tokens import counter

logger = logging.getLogger(__name__)

GIVEN = "given"
_CHROMA = "chroma-{}"
# A vector store that holds other texts, too, is asked for so many times as many, so often.
_GROWTH, _ROUNDS = 4, 3
# A local model reads a piece of a document in about so many parts, each as long as its texts are.
_PARTS = 4
_CHECKED = 1000  # ids that a vector store is asked for, or told to drop, at a time


@dataclass
class Opened:
    """A vector store that is ready.

    Attributes:
        store: it.
        held: the keys that stand in it.
        place: under which name the catalog notes what stands in it; empty where the store itself knows.
        close: lets go of it.
        things: what a forked child leaves to its parent.
    """

    store: VectorStore
    held: set[str]
    place: str = ""
    close: Callable[[], object] = bool
    things: Sequence[object] = field(default_factory=list)


def open_given(store: VectorStore, catalog: Catalog) -> Opened:
    """A vector store that somebody gives; what was put into it before is looked for, where it can tell."""
    placed = sorted(catalog.placed(GIVEN))
    held: set[str] = set()
    try:
        for start in range(0, len(placed), _CHECKED):
            held.update(str(found.id) for found in store.get_by_ids(placed[start : start + _CHECKED]))
    except NotImplementedError:
        held = set(placed)
    return Opened(store, held, GIVEN)


def open_own(folder: Path, embeddings: DocumentEmbeddings, config: MemoryConfig) -> Opened:
    """Chroma in a folder or on the server of the settings; where that can't be had, a store in memory."""
    if config.dense_index == "exact":
        return _in_memory(embeddings)
    no_telemetry()
    try:
        import langchain_chroma  # noqa: F401 - whether it is there
    except ImportError:
        remedy = "Run: pip install 'langmem-plus[chroma]'"
        step_down("documents", "langchain-chroma isn't installed", "their vectors are searched in memory", remedy)
        return _in_memory(embeddings)
    try:
        return _open_chroma(folder, embeddings, config.chroma_url)
    except Timeout:
        logger.info("the documents' Chroma folder %r is in use elsewhere: a copy in memory is searched", str(folder))
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever Chroma raises: the vectors are searched without it
        logger.warning("the documents' Chroma can't be opened (%s): their vectors are searched in memory", error)
    return _in_memory(embeddings)


def _in_memory(embeddings: DocumentEmbeddings) -> Opened:
    return Opened(InMemoryVectorStore(embeddings), set())


def _open_chroma(folder: Path, embeddings: DocumentEmbeddings, url: str | None) -> Opened:
    if url is not None:
        client = _server(url)
        store, held = _collection(client, folder, embeddings, url)
        return Opened(store, held, close=client.close, things=(client, store))
    lock, mark = FileLock(folder / "chroma.lock"), folder / "chroma.open"
    lock.acquire(timeout=0)
    try:
        if mark.exists():  # whoever had it open crashed, and may have left it so that it takes this process down, too
            _start_over(folder, "it wasn't closed")
        mark.touch()
        try:
            client = _embedded(folder)
            store, held = _collection(client, folder, embeddings, url)
        except BaseException as error:  # Chroma's panics are no exceptions
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            _start_over(folder, str(error))
            client = _embedded(folder)
            store, held = _collection(client, folder, embeddings, url)
    except BaseException:
        mark.unlink(missing_ok=True)
        lock.release()
        raise

    def close() -> None:
        with contextlib.suppress(Exception):
            client.close()
        mark.unlink(missing_ok=True)
        lock.release()

    return Opened(store, held, close=close, things=(client, lock, store, close))


def _start_over(folder: Path, reason: str) -> None:
    logger.warning("the documents' Chroma folder below %r is filled again: %s", str(folder), reason)
    for old in folder.glob(_CHROMA.format("*")):
        shutil.rmtree(old, ignore_errors=True)


def _embedded(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    # Another name after a failure: Chroma keeps what it opened, broken as it is, by its path.
    known = sorted(folder.glob(_CHROMA.format("*")))
    place = known[0] if known else folder / _CHROMA.format(secrets.token_hex(4))
    return chromadb.PersistentClient(str(place), settings=Settings(anonymized_telemetry=False))


def _server(url: str) -> Any:
    import chromadb
    from chromadb.config import Settings

    parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
    if not parts.hostname:
        raise ConfigError(f"chroma_url={url!r}: give http://host:port.")
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 8000)
    settings = Settings(anonymized_telemetry=False)
    return chromadb.HttpClient(host=parts.hostname, port=port, ssl=secure, settings=settings)


def _collection(
    client: Any, folder: Path, embeddings: DocumentEmbeddings, url: str | None
) -> tuple[VectorStore, set[str]]:
    """The collection of these documents and this model; those of other models are removed."""
    from langchain_chroma import Chroma

    whose = os.fsencode(folder) if url is None else os.fsencode(f"{socket.gethostname()}:{folder}")
    owner = f"documents-{hashlib.sha256(whose).hexdigest()[:16]}-"
    name = owner + hashlib.sha256(embeddings.model.encode()).hexdigest()[:16]
    for other in client.list_collections():
        if other.name != name and (url is None or other.name.startswith(owner)):
            client.delete_collection(other.name)
    store = Chroma(
        collection_name=name,
        embedding_function=embeddings,
        client=client,
        collection_configuration={"hnsw": {"space": "cosine"}},
    )
    return store, set(store.get(include=[])["ids"])


class Vectors:
    """The leg of a search that goes by meaning; thread-safe.

    Args:
        catalog: the documents.
        opened: where their vectors stand.
        encoder: makes token bits for the reranker; None goes without.
        config: how many texts a call embeds, and when an embedder that fails is left alone.
    """

    def __init__(self, catalog: Catalog, opened: Opened, encoder: TokenEncoder | None, config: MemoryConfig) -> None:
        self._catalog, self._opened, self._encoder, self._config = catalog, opened, encoder, config
        self._lock, self._refused = threading.RLock(), set[str]()
        self.breaker = Breaker(config.embed_failures, config.embed_pause_seconds)
        self.pid = os.getpid()

    @property
    def store(self) -> VectorStore:
        """The vector store."""
        return self._opened.store

    def waiting(self) -> int:
        """The texts that have no vector yet."""
        return len(self._catalog.keys() - self._opened.held - self._refused)

    def fill(self, stop: threading.Event | None = None) -> int:
        """Bring the vector store up to the catalog, a batch at a time.

        Args:
            stop: ends it after a batch.

        Returns:
            How many texts were put into it.

        Raises:
            Exception: the embedder or the vector store failed; what is missing is tried again at the next call.
        """
        count = 0
        with self._lock:
            wanted = self._catalog.keys()
            self._remove(self._opened.held - wanted)
            missing = sorted(wanted - self._opened.held - self._refused)
        size = max(1, self._config.embed_batch // _PARTS)
        for start in range(0, len(missing), size):
            if (stop is not None and stop.is_set()) or not self.breaker.allows():
                break
            keys = missing[start : start + size]
            with self._lock:
                waiting = [key for key in keys if key not in self._opened.held]  # another thread may have been at it
                count += self._add(self._catalog.texts(waiting))
        return count

    def _remove(self, gone: set[str]) -> None:
        for start in range(0, len(gone), _CHECKED):
            keys = sorted(gone)[start : start + _CHECKED]
            self.store.delete(keys)
            self._opened.held.difference_update(keys)
            if self._opened.place:
                self._catalog.place(self._opened.place, removed=keys)

    def _add(self, texts: dict[str, str]) -> int:
        """Put texts in by their keys; where together they fail, one by one."""
        began = time.monotonic()
        try:
            return self._put(texts)
        except Exception as error:
            if len(texts) == 1:
                self.breaker.failed(time.monotonic() - began)
                raise
            logger.debug("%d texts of documents failed together: %s", len(texts), error)
        return self._add_apart(texts)

    def _add_apart(self, texts: dict[str, str]) -> int:
        """One by one. That some work tells that it is the others' fault that they don't; that many fail in a row, that
        it is nobody's.
        """
        count, failed, last = 0, list[str](), Exception()
        for key, text in texts.items():
            began = time.monotonic()
            try:
                count += self._put({key: text})
            except Exception as error:
                failed.append(key)
                last = error
                if count == 0 and len(failed) >= self._config.embed_failures:
                    self.breaker.failed(time.monotonic() - began)
                    raise
        if failed and not count:
            raise last
        if failed:
            self._refused.update(failed)
            words = "%d pieces of documents can't be embedded, and are found by their words: %s"
            logger.warning(words, len(failed), last)
        return count

    def _put(self, texts: dict[str, str]) -> int:
        keys = list(texts)
        if keys:
            self.store.add_texts([texts[key] for key in keys], metadatas=[{"key": key} for key in keys], ids=keys)
            if self._opened.place:
                self._catalog.place(self._opened.place, added=keys)
            self._opened.held.update(keys)
            if self._encoder is not None:
                make_bits(self._encoder, self._catalog, texts, counter(self._config))
            self.breaker.succeeded()
        return len(keys)

    def nearest(self, query: str, limit: int) -> list[str]:
        """The keys of the texts nearest to a query, best first.

        Raises:
            Exception: the embedder or the vector store failed.
        """
        held = self._opened.held  # without the lock, which is held while texts are embedded
        if not held or not self.breaker.allows():
            return []
        began, wanted = time.monotonic(), limit
        found: list[str] = []
        try:
            for _ in range(_ROUNDS):
                answer = self.store.similarity_search(query, k=wanted)
                keys = (str(each.metadata.get("key") or each.id) for each in answer)
                found = [key for key in dict.fromkeys(keys) if key in held]
                if len(found) >= min(limit, len(held)) or len(answer) < wanted:
                    break
                wanted *= _GROWTH
        except Exception:
            self.breaker.failed(time.monotonic() - began)
            raise
        self.breaker.succeeded()
        return found[:limit]

    def close(self) -> None:
        """Let go of the vector store; in a forked child it stays the parent's."""
        if self.pid == os.getpid():
            with self._lock:
                self._opened.close()
        else:
            self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """In a forked child: nothing of it is touched again."""
        leave_to_parent(self, *self._opened.things)
