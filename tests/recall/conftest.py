"""What the tests of recall share: records with fixed times, and each kind of store that they run over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.records import MemoryHit, MemoryRecord, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

MakeRecord = Callable[..., MemoryRecord]
MakeHit = Callable[..., MemoryHit]
Put = Callable[..., MemoryRecord]


@pytest.fixture
def scope() -> Scope:
    """Ann, in the thread "now"."""
    return Scope(user_id="ann", thread_id="now")


@pytest.fixture
def record() -> MakeRecord:
    """Makes a record; its id is its text unless one is given."""

    def make(text: str, **fields: Any) -> MemoryRecord:
        times = {"created_at": NOW, "updated_at": NOW}
        return MemoryRecord(**{"id": fields.pop("id", text), "text": text, "user_id": "ann", **times, **fields})

    return make


@pytest.fixture
def hit(record: MakeRecord) -> MakeHit:
    """Makes a hit from a text, its scores, and the fields of its record."""

    def make(text: str, scores: dict[str, float] | None = None, vector: Any = None, **fields: Any) -> MemoryHit:
        namespace = fields.pop("namespace", ("memories", "ann", "default"))
        return MemoryHit(record=record(text, **fields), namespace=namespace, scores=scores or {}, vector=vector)

    return make


def _index() -> Any:
    return {"dims": 256, "embed": BagOfWordsEmbeddings(), "fields": ["text", "content"]}


STORES: dict[str, Callable[[Path], BaseStore]] = {
    "memory": lambda _: InMemoryStore(),
    "memory-vectors": lambda _: InMemoryStore(index=_index()),
    "markdown": lambda path: MarkdownStore(path, index=None, clock=lambda: NOW),
    "markdown-vectors": lambda path: MarkdownStore(path, index=_index(), clock=lambda: NOW),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """Each kind of store, empty."""
    made = STORES[request.param](tmp_path)
    yield made
    close = getattr(made, "close", None)
    if close:
        close()


@pytest.fixture
def put(store: BaseStore, scope: Scope, record: MakeRecord) -> Put:
    """Stores a record in the scope's namespace, or in another space's."""

    def put_record(text: str, **fields: Any) -> MemoryRecord:
        made = record(text, **fields)
        store.put(scope.model_copy(update={"space": made.space}).namespace, made.id, made.to_value())
        return made

    return put_record
