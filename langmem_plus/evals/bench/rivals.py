"""Stores that are measured beside ours, each filled with the same texts and asked the same questions.

The floor is what can't be undercut without giving something up: vectors in an array, bare FTS5, no files, no filter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.scale import HASH_DIMENSIONS, HashEmbeddings, ScaleMemory
from langmem_plus.providers.onnx_runtime import no_telemetry
from langmem_plus.store import MarkdownStore
from langmem_plus.text import tokens

BATCH = 100
_RRF, _POOL = 60, 50
NEVER = 3600.0  # seconds between two looks at the files while it is measured: hand edits are not what is timed


class Rival(Protocol):
    """A store under measurement."""

    def fill(self, memories: Sequence[ScaleMemory]) -> None:
        """Store all."""
        ...

    def search(self, user: str, query: str, k: int) -> list[str]:
        """The ids of a user's memories that answer best."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class StoreRival:
    """A LangGraph store: a namespace a user.

    Args:
        store: which.
        close: frees what it holds.
        distinct: whether a batch must not hold a text twice: InMemoryStore then has fewer vectors than it looks for.
    """

    def __init__(self, store: BaseStore, close: Callable[[], object] = lambda: None, *, distinct: bool = False) -> None:
        self.store, self._close, self._distinct = store, close, distinct

    def fill(self, memories: Sequence[ScaleMemory]) -> None:
        """Store all, in batches."""
        for start in range(0, len(memories), BATCH):
            for part in self._parts(memories[start : start + BATCH]):
                self.store.batch(puts(part))

    def _parts(self, batch: Sequence[ScaleMemory]) -> Iterator[Sequence[ScaleMemory]]:
        if not self._distinct:
            yield batch
            return
        groups: list[dict[str, ScaleMemory]] = []
        for each in batch:
            free = next((group for group in groups if each.text not in group), None)
            if free is None:
                groups.append(free := {})
            free[each.text] = each
        yield from ([*group.values()] for group in groups)

    def search(self, user: str, query: str, k: int) -> list[str]:
        """The store's own search."""
        return [item.key for item in self.store.search(namespace(user), query=query, limit=k)]

    def close(self) -> None:
        """Free what it holds."""
        self._close()


def namespace(user: str) -> tuple[str, ...]:
    """A user's namespace."""
    return ("memories", user, "default")


def puts(memories: Iterable[ScaleMemory]) -> list[PutOp]:
    """The writes of some memories."""
    return [PutOp(namespace(each.user), str(each.id), {"text": each.text}) for each in memories]


class ChromaRival:
    """Plain chromadb: one collection, the user in the metadata."""

    def __init__(self, folder: Path, embeddings: HashEmbeddings) -> None:
        no_telemetry()
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._collection = self._client.create_collection("bench", metadata={"hnsw:space": "cosine"})
        self._embeddings = embeddings

    def fill(self, memories: Sequence[ScaleMemory]) -> None:
        """Store all, in batches."""
        for start in range(0, len(memories), BATCH):
            part = memories[start : start + BATCH]
            self._collection.add(
                ids=[str(each.id) for each in part],
                documents=[each.text for each in part],
                metadatas=[{"user": each.user} for each in part],
                embeddings=np.stack([self._embeddings.vector(each.text) for each in part]),
            )

    def search(self, user: str, query: str, k: int) -> list[str]:
        """The nearest vectors of the user."""
        vector: Any = [self._embeddings.embed_query(query)]
        return self._collection.query(query_embeddings=vector, n_results=k, where={"user": user})["ids"][0]

    def close(self) -> None:
        """Nothing to free: the folder is the caller's."""


class FloorRival:
    """Vectors in an array and bare FTS5, fused by ranks.

    Args:
        partitioned: an index a user, over tokens without stop words; else one for all, filtered afterwards.
    """

    def __init__(self, embeddings: HashEmbeddings, *, partitioned: bool) -> None:
        self._embeddings, self._partitioned = embeddings, partitioned
        self._parts: dict[str, tuple[sqlite3.Connection, np.ndarray[Any, Any], list[ScaleMemory]]] = {}

    def fill(self, memories: Sequence[ScaleMemory]) -> None:
        """Index all."""
        groups: dict[str, list[ScaleMemory]] = {}
        for each in memories:
            groups.setdefault(each.user if self._partitioned else "", []).append(each)
        for name, group in groups.items():
            db = sqlite3.connect(":memory:")
            db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
            db.executemany(
                "INSERT INTO words (rowid, text) VALUES (?, ?)",
                [(place, " ".join(self._tokens(each.text))) for place, each in enumerate(group)],
            )
            self._parts[name] = db, np.stack([self._embeddings.vector(each.text) for each in group]), group

    def _tokens(self, text: str) -> list[str]:
        if self._partitioned:
            return tokens(text)
        return ["".join(filter(str.isalnum, word)).lower() for word in text.split()]

    def search(self, user: str, query: str, k: int) -> list[str]:
        """Both legs, cut at a pool, fused by their ranks."""
        db, vectors, group = self._parts[user if self._partitioned else ""]
        scores = vectors @ np.asarray(self._embeddings.embed_query(query), np.float32)
        pool = min(_POOL if self._partitioned else _POOL * 20, len(scores))
        nearest = np.argpartition(-scores, pool - 1)[:pool]
        nearest = nearest[np.argsort(-scores[nearest])]
        terms = " OR ".join(f'"{token}"' for token in self._tokens(query) if token)
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        found = [row[0] for row in db.execute(sql, (terms, pool))] if terms else []
        fused: dict[int, float] = {}
        for leg in (nearest.tolist(), found):
            mine = (place for place in leg if group[place].user == user)
            for rank, place in enumerate(mine):
                fused[place] = fused.get(place, 0.0) + 1 / (_RRF + rank + 1)
        return [str(group[place].id) for place in sorted(fused, key=fused.__getitem__, reverse=True)[:k]]

    def close(self) -> None:
        """Close the databases."""
        for db, _, _ in self._parts.values():
            db.close()


def ours(folder: Path, embeddings: HashEmbeddings, **settings: Any) -> MarkdownStore:
    """Our store with hashed vectors."""
    config = MemoryConfig(**{"sync_interval": NEVER, **settings})
    return MarkdownStore(
        folder, index={"dims": embeddings.dimensions, "embed": embeddings, "fields": ["text"]}, config=config
    )


def open_rivals(folder: Path, embeddings: HashEmbeddings) -> dict[str, Callable[[], Rival]]:
    """How each store is opened, by its name; those that can't run here are left out: packages are missing, or, for
    SqliteStore's vectors, this Python's SQLite loads no extensions.
    """
    index: Any = {"dims": HASH_DIMENSIONS, "embed": embeddings, "fields": ["text"]}
    rivals: dict[str, Callable[[], Rival]] = {
        "floor, partitioned": lambda: FloorRival(embeddings, partitioned=True),
        "floor": lambda: FloorRival(embeddings, partitioned=False),
        "MarkdownStore": lambda: _our_rival(folder / "markdown", embeddings),
        "InMemoryStore": lambda: _in_memory(index),
    }
    loads = hasattr(sqlite3.Connection, "enable_load_extension")
    if loads and find_spec("langgraph.store.sqlite") and find_spec("sqlite_vec"):
        rivals["SqliteStore"] = lambda: _sqlite(folder / "store.sqlite", index)
    if find_spec("chromadb"):
        rivals["chromadb"] = lambda: ChromaRival(folder / "chroma", embeddings)
    return rivals


def _our_rival(folder: Path, embeddings: HashEmbeddings) -> StoreRival:
    store = ours(folder, embeddings)
    return StoreRival(store, store.close)


def _in_memory(index: Any) -> StoreRival:
    from langgraph.store.memory import InMemoryStore

    return StoreRival(InMemoryStore(index=index), distinct=True)


def _sqlite(path: Path, index: Any) -> StoreRival:
    from langgraph.store.sqlite import SqliteStore

    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection, index=index)
    store.setup()
    return StoreRival(store, connection.close)
