"""A store in a folder of its own, opened as often as a test likes, that looks at its files at every use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NAMESPACE = ("memories", "ann", "default")


class OpenStore(Protocol):
    """Opens the store in the test's folder."""

    def __call__(self, embedder: BagOfWordsEmbeddings | None = None, **settings: Any) -> MarkdownStore:
        """With or without vectors; ``ranking`` goes to the store, all else to its settings."""
        ...


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's folder."""
    return tmp_path / "memory"


@pytest.fixture
def open_store(root: Path) -> Iterator[OpenStore]:
    """Opens stores that are closed when the test ends."""
    stores: list[MarkdownStore] = []

    def opened(embedder: BagOfWordsEmbeddings | None = None, **settings: Any) -> MarkdownStore:
        ranking = settings.pop("ranking", "hybrid")
        index: Any = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]} if embedder else None
        config = MemoryConfig(**{"sync_interval": 0, **settings})
        stores.append(MarkdownStore(root, index=index, ranking=ranking, config=config))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MarkdownStore:
    """A store that searches by words alone."""
    return open_store()


@pytest.fixture
def folder(root: Path) -> Path:
    """The folder of the namespace that most tests use."""
    return root.joinpath("entries", *NAMESPACE)


@pytest.fixture
def ns() -> tuple[str, ...]:
    """The namespace that most tests use."""
    return NAMESPACE


@pytest.fixture
def record() -> Any:
    """Makes a record's value: a fact of Ann's, changed as it is told."""

    def made(key: str, text: str = "Ann likes green tea.", **fields: Any) -> dict[str, Any]:
        return MemoryRecord(id=key, text=text, user_id="ann", **fields).to_value()

    return made
