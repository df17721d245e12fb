"""Stores to run the graphs over, and ways to look into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore

PATIENCE = 30.0


@pytest.fixture
def config() -> MemoryConfig:
    """Settings without models, and with failures that are tried again at once."""
    return MemoryConfig(embeddings="none", retry_seconds=0.0, retries=1)


@pytest.fixture(params=["memory", "markdown"])
def store(request, tmp_path, config) -> Iterator[BaseStore]:
    """A fresh store of each kind."""
    if request.param == "memory":
        yield InMemoryStore()
        return
    with MarkdownStore(tmp_path / "memories", config=config) as opened:
        yield opened


@pytest.fixture
def records() -> Callable[..., list[MemoryRecord]]:
    """The records in a store, once the background is done; of one user, and of one role, where they are named."""

    def read(store: BaseStore, user_id: str | None = None, role: str | None = None) -> list[MemoryRecord]:
        assert background.flush(PATIENCE)
        prefix = ("memories",) if user_id is None else ("memories", user_id)
        found = [MemoryRecord.model_validate(item.value) for item in store.search(prefix, limit=10_000)]
        return [record for record in found if role is None or record.role == role]

    return read


@pytest.fixture
def run_config() -> Callable[..., dict]:
    """A run's configuration: whose memory, and which thread."""

    def make(thread_id: str = "t1", user_id: str = "alice", **fields) -> dict:
        return {"configurable": {"thread_id": thread_id, "user_id": user_id, **fields}}

    return make
