"""A folder, and indexes over it with an embedder that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.testing import BagOfWordsEmbeddings


class Counting(Embeddings):
    """An embedder of bags of words that knows what it embedded, and fails when it is told to."""

    model_id = "counting"

    def __init__(self) -> None:
        self._inner = BagOfWordsEmbeddings()
        self.texts: list[str] = []
        self.fails_at: Callable[[str], bool] = lambda text: False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        if any(self.fails_at(text) for text in texts):
            raise ConnectionError("the embedder is down")
        self.texts += texts
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        if self.fails_at(text):
            raise ConnectionError("the embedder is down")
        return self._inner.embed_query(text)


@pytest.fixture
def embedder() -> Counting:
    """An embedder that counts."""
    return Counting()


@pytest.fixture
def config(tmp_path: Path) -> MemoryConfig:
    """Settings: vectors in memory, a look at each use, no token bits."""
    return MemoryConfig(
        memory_path=tmp_path / "memory", dense_index="exact", sync_interval=0, rerank_bits="none", embeddings="none"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace."""
    made = tmp_path / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Writes a file of the workspace."""

    def call(path: str, text: str | bytes) -> Path:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    return call


@pytest.fixture
def open_index(folder: Path, config: MemoryConfig, embedder: Counting) -> Iterator[Callable[..., DocumentIndex]]:
    """Opens indexes over the workspace."""
    opened: list[DocumentIndex] = []

    def call(**given: Any) -> DocumentIndex:
        settings = config.replace(**given.pop("settings", {}))
        if "vectorstore" not in given:
            given.setdefault("embeddings", embedder)
        opened.append(DocumentIndex(folder, config=settings, **given))
        return opened[-1]

    yield call
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index) -> DocumentIndex:
    """An index over the workspace."""
    found: DocumentIndex = open_index()
    return found
