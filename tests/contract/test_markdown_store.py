"""The contract over MarkdownStore: ranked by plain cosine, by words and vectors, and by words alone."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from langgraph.store.base import BaseStore, IndexConfig, TTLConfig

from langmem_plus.store import MarkdownStore
from langmem_plus.testing.contract import StoreContract


class TestMarkdownStore(StoreContract):
    ranking: ClassVar[Literal["hybrid", "dense"]] = "dense"
    moment = 60.0
    folder: Path
    numbers: Iterator[int]
    time: dt.datetime

    @pytest.fixture(autouse=True)
    def _give_each_store_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.numbers = itertools.count()
        self.time = dt.datetime.now(dt.UTC)

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh store in a folder of its own."""
        return MarkdownStore(self.folder / str(next(self.numbers)), index=index, ranking=self.ranking)

    def make_store_with_ttl(self, ttl: TTLConfig) -> BaseStore:
        """A fresh store, and a clock that stands still until it is told."""
        folder = self.folder / str(next(self.numbers))
        return MarkdownStore(folder, index=None, ttl=ttl, ranking=self.ranking, clock=lambda: self.time)

    def pass_time(self, seconds: float) -> None:
        """Set the clock."""
        self.time += dt.timedelta(seconds=seconds)


class TestByWordsAndVectors(TestMarkdownStore):
    """The default: words, and vectors where there is an index."""

    ranking = "hybrid"
    known_failures: ClassVar[dict[str, str]] = {
        "test_29_a_query_without_an_index_is_a_listing": "without an index the words rank",
        "test_39_a_wrong_embedding_writes_nothing": "the value is stored, found by its words, and waits for its vector",
        "test_39_a_wrong_embedding_keeps_what_was_there": "the value is stored, and waits for its vector",
    }
