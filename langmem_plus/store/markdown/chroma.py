"""One namespace's collection in Chroma: embedded, in a folder of its own below ``.index/``, or on a server.

Everything in it is derived, so whatever is wrong with it, it is thrown away and filled again. An embedded one is used
by the one process that holds its lock; since a broken folder can take the process down, a subprocess looks first.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langmem_plus.errors import ConfigError
from langmem_plus.providers.onnx_runtime import no_telemetry
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.layout import Layout, namespace_id
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.slack import clear_slack
from langmem_plus.store.search import Floats, Ids

logger = logging.getLogger(__name__)

# Seconds for a subprocess that looks at a folder, and for a server's answer.
_PROBE_SECONDS, _SERVER_SECONDS = 120.0, 5.0
_IDS = 50_000
# Whoever has a folder open may write in it while it is removed.
_TRIES, _PAUSE = 20, 0.05
_PROBE = """
import sys, chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient(sys.argv[1], Settings(anonymized_telemetry=False))
for named in client.list_collections():
    one = client.get_collection(named.name, embedding_function=None)
    assert len(one.get(include=[])["ids"]) == one.count()
    some = one.get(limit=20, include=["embeddings"])
    near = one.query(query_embeddings=some["embeddings"], n_results=10, include=[])["ids"] if some["ids"] else []
    assert 2 * sum(id in ids for id, ids in zip(some["ids"], near)) >= len(some["ids"])
"""

Chunk = tuple[int, int, str, str, bytes]
"""An item's id, which of its texts, the text, the item's key, and the vector."""


def chroma_folder(layout: Layout, namespace: Namespace) -> Path:
    """Where a namespace's embedded collection lies."""
    return layout.index / f"{namespace_id(namespace)}.chroma"


def chroma_lock(layout: Layout, namespace: Namespace) -> Path:
    """The file whose holder alone writes the collection, and, where it is embedded, opens it."""
    return layout.locks / f"{namespace_id(namespace)}.chroma.lock"


def _owner(layout: Layout, namespace: Namespace) -> str:
    """How the names of a namespace's collections begin: several machines and folders may share a server."""
    whose = f"{socket.gethostname()}\0{layout.root}\0{namespace_id(namespace)}"
    return f"memory-{hashlib.sha256(whose.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}-"


def collection_name(layout: Layout, namespace: Namespace, model: str, dims: int) -> str:
    """The collection for the vectors of one model and size; Chroma fixes the size for good."""
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", model).strip("-")[-60:]
    return f"{_owner(layout, namespace)}{readable}-{hashlib.sha256(model.encode()).hexdigest()[:8]}-{dims}"


class OpenElsewhereError(OSError):
    """Another process has an embedded collection open, whose files are removed.

    Attributes:
        gone: the places that were removed.
    """

    def __init__(self, gone: Sequence[str]) -> None:
        super().__init__(
            "another process has it open; its files are removed, but that process keeps what it had open until it "
            "searches there again or is closed"
        )
        self.gone = gone


def drop_collections(layout: Layout, namespace: Namespace, url: str | None) -> list[str]:
    """Remove a namespace's collections for good, with their bytes; gives the places that held some. A process that has
    one open finds out at its next search. What is still wanted is filled again when it is searched.

    Raises:
        OSError: the folder can't be removed, or the server can't be reached.
    """
    gone = _remove(chroma_folder(layout, namespace))
    if url:
        try:
            with contextlib.closing(_server(url)) as client:
                for name in _own_names(client, layout, namespace):
                    client.delete_collection(name)
                    gone.append(f"{url} {name}")
        except Exception as error:
            raise OSError(f"the Chroma server {url} can't be reached ({error}): start it, and do it again.") from error
    return gone


def _remove(folder: Path) -> list[str]:
    gone = [str(folder)] if folder.exists() else []
    for attempt in range(_TRIES):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:  # whoever has it open may remove or add files meanwhile
            if not folder.exists():
                break
        except OSError:
            if attempt + 1 == _TRIES:
                raise
            time.sleep(_PAUSE)
    return gone


def await_others(layout: Layout, namespace: Namespace, gone: Sequence[str], seconds: float) -> None:
    """Wait until no process has a namespace's embedded collection open, which was removed, and see that none of them
    left anything there.

    Raises:
        OpenElsewhereError: one still has it.
        OSError: what is there can't be removed.
    """
    lock, until = ProcessLock(chroma_lock(layout, namespace)), time.monotonic() + seconds
    while not lock.acquire(wait=False):
        if time.monotonic() > until:
            raise OpenElsewhereError(gone)
        time.sleep(_PAUSE)
    try:
        _remove(chroma_folder(layout, namespace))
    finally:
        lock.release()


def _own_names(client: Any, layout: Layout, namespace: Namespace) -> Iterator[str]:
    owner = _owner(layout, namespace)
    return (one.name for one in client.list_collections() if one.name.startswith(owner))


def _server(url: str) -> Any:
    no_telemetry()
    import chromadb
    from chromadb.config import Settings

    parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
    if not parts.hostname:
        raise ConfigError(f"chroma_url={url!r}: give http://host:port.")
    secure = parts.scheme == "https"
    port, settings = parts.port or (443 if secure else 8000), Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient(host=parts.hostname, port=port, ssl=secure, settings=settings)
    session = getattr(getattr(client, "_server", None), "_session", None)
    if session is not None:
        session.timeout = _SERVER_SECONDS  # Chroma's own waits for ever
    return client


def is_sound(folder: Path) -> bool:
    """Whether a subprocess can open a folder and finds again what is in it; it may well crash. An approximate index
    misses some of a large collection, so half of what is looked for is enough.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(folder)], capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        logger.debug("the Chroma folder %r can't be probed: %s", str(folder), error)
        return False
    return done.returncode == 0


class Collection:
    """An open collection; queries are thread-safe.

    Args:
        layout: where things lie.
        namespace: whose it is.
        url: the server; None for an embedded one. Then the caller holds its lock.
        name: see `collection_name`. Others of this namespace are removed.
        identity: the index whose ids it holds; one of another index is emptied.

    Attributes:
        client: Chroma's.
        chunks: the ids of the chunks that it holds, by item.

    Raises:
        Exception: whatever Chroma raises.
    """

    def __init__(self, layout: Layout, namespace: Namespace, url: str | None, name: str, identity: int) -> None:
        self.name, self._folder = name, None if url else chroma_folder(layout, namespace)
        self._lock, self._pid = threading.Lock(), os.getpid()
        self.client = _server(url) if url else self._embedded()
        try:
            for other in list(_own_names(self.client, layout, namespace)):
                if other != name:
                    self.client.delete_collection(other)
            self._collection = self._get(identity)
            self._has_texts = bool((self._collection.metadata or {}).get("texts"))
            self.chunks = self._read_ids()
            self._clear_slack()
        except BaseException:
            self.close()
            raise
        self._inode = self._stat()

    def _embedded(self) -> Any:
        no_telemetry()
        import chromadb
        from chromadb.config import Settings

        folder = self._folder
        assert folder is not None
        if folder.exists() and not is_sound(folder):
            logger.warning("the Chroma folder %r is broken and is filled again", str(folder))
            shutil.rmtree(folder)
        return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))

    def _get(self, identity: int) -> Any:
        settings: dict[str, Any] = {
            "name": self.name,
            "metadata": {"identity": identity},
            "configuration": {"hnsw": {"space": "cosine"}},
            "embedding_function": None,
        }
        found = self.client.get_or_create_collection(**settings)
        if (found.metadata or {}).get("identity") == identity:
            return found
        self.client.delete_collection(self.name)
        return self.client.create_collection(**settings)

    def _read_ids(self) -> dict[int, list[str]]:
        chunks: dict[int, list[str]] = {}
        for start in range(0, self._collection.count(), _IDS):
            for chunk in self._collection.get(include=[], limit=_IDS, offset=start)["ids"]:
                chunks.setdefault(item_of(chunk), []).append(chunk)
        return chunks

    def _stat(self) -> int | None:
        if self._folder is None:
            return None
        try:
            return os.stat(self._folder / "chroma.sqlite3").st_ino  # noqa: PTH116 - at every query: the cheapest call
        except OSError:
            return -1

    @property
    def is_lost(self) -> bool:
        """Whether somebody removed its folder."""
        return self._stat() != self._inode

    @property
    def items(self) -> Ids:
        """The items that it holds, in order."""
        return np.sort(np.fromiter(self.chunks, np.int64, len(self.chunks)))

    def nearest(self, query: Floats, count: int) -> Ids:
        """The items nearest to a query, about; an item may occur more than once."""
        with self._lock:
            found = self._collection.query(query_embeddings=[query], n_results=count, include=[])["ids"][0]
        return np.fromiter(map(item_of, found), np.int64, len(found))

    def keep_texts(self) -> None:
        """Hold texts and keys from now on, too, for those who read the collection itself; a search needs none."""
        if not self._has_texts:
            self._collection.modify(metadata={**self._collection.metadata, "texts": True})
            self._has_texts, self.chunks = True, {}  # all are to be put again

    def put(self, chunks: Sequence[Chunk]) -> None:
        """Add or replace."""
        ids = [f"{item}-{ordinal}" for item, ordinal, _, _, _ in chunks]
        more: dict[str, Any] = {}
        if self._has_texts:
            more["documents"] = [_valid(text) for _, _, text, _, _ in chunks]
            more["metadatas"] = [{"key": _valid(key), "item": item} for item, _, _, key, _ in chunks]
        vectors = [np.frombuffer(vector, "<f4") for *_, vector in chunks]
        self._collection.upsert(ids=ids, embeddings=vectors, **more)
        self._clear_slack()
        for item, *_ in chunks:
            self.chunks[item] = []
        for (item, *_), chunk in zip(chunks, ids, strict=True):
            self.chunks[item].append(chunk)

    def _clear_slack(self) -> None:
        if self._folder is not None:
            with self._lock:
                clear_slack(self._folder)

    def remove(self, items: Sequence[int]) -> None:
        """Remove items."""
        gone = [chunk for item in items for chunk in self.chunks.pop(item, ())]
        for start in range(0, len(gone), 1000):
            self._collection.delete(ids=gone[start : start + 1000])

    def close(self) -> None:
        """Let go of it; what is on its way is waited for."""
        if self._pid == os.getpid():
            with self._lock, contextlib.suppress(Exception):
                self.client.close()
                if self._folder is not None:
                    clear_slack(self._folder)

    def leave_to_parent(self) -> None:
        """In a forked child: its threads aren't here, so that even to let go of it would hang. It is kept for good."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.client))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._collection))


def _valid(text: str) -> str:
    """The text as Chroma takes it: half of a surrogate pair has no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def item_of(chunk: str) -> int:
    """The item of a chunk's id."""
    return int(chunk.partition("-")[0])


def vectorstore(collection: Collection, embeddings: Any) -> Any:
    """A ``langchain_chroma.Chroma`` over a collection."""
    from langchain_chroma import Chroma

    return Chroma(collection_name=collection.name, embedding_function=embeddings, client=collection.client)
