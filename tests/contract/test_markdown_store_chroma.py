"""The points of the contract that a dense index can break, with a Chroma collection that is always in step."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore, IndexConfig, Op, Result, SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.contract import Indexing, Ranking

pytest.importorskip("chromadb")


class InStep(MarkdownStore):
    """Before each search, the collections that it asks are filled."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """As ever, after that."""
        todo = list(ops)
        self._fill(todo)
        return super().batch(todo)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ever, after that."""
        todo = list(ops)
        self._fill(todo)
        return await super().abatch(todo)

    def _fill(self, ops: Iterable[Op]) -> None:
        if self._engine.embedder is None:
            return
        for op in ops:
            if isinstance(op, SearchOp) and op.query:
                for namespace, _ in self._layout.find_namespaces(op.namespace_prefix):
                    self._engine.approximate._sync(namespace, force=True)
                    assert self._engine.approximate._room(namespace).vectors_held[1] == 0 or (
                        self._engine.approximate.is_ready(namespace)
                    )


class TestMarkdownStoreOverChroma(Ranking, Indexing):
    folder: Path
    numbers: Iterator[int]

    @pytest.fixture(autouse=True)
    def _give_each_store_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.numbers = itertools.count()

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh store in a folder of its own."""
        config = MemoryConfig(dense_index="chroma")
        return InStep(self.folder / str(next(self.numbers)), index=index, ranking="dense", config=config)
