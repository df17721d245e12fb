"""The contract over MarkdownStore, ranked by plain cosine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore, IndexConfig

from langmem_plus.store import MarkdownStore
from langmem_plus.testing.contract import StoreContract


class TestMarkdownStore(StoreContract):
    folder: Path
    numbers: Iterator[int]

    @pytest.fixture(autouse=True)
    def _give_each_store_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.numbers = itertools.count()

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh store in a folder of its own."""
        return MarkdownStore(self.folder / str(next(self.numbers)), index=index, ranking="dense")
