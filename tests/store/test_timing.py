"""An embedder that hangs or is slow holds nobody up for long, and no write for more than once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.store.timing import TimedEmbeddings
from langmem_plus.testing import BagOfWordsEmbeddings

NAMESPACE = ("memories", "ann", "default")


class Slow(BagOfWordsEmbeddings):
    """An embedder that waits for a gate when it is told to, or takes a while."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.takes = 0.0
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """After a while."""
        self.asked += 1
        self.gate.wait(30)
        threading.Event().wait(self.takes)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """After a while."""
        self.gate.wait(30)
        threading.Event().wait(self.takes)
        return super().embed_query(text)

    async def aembed_query(self, text: str) -> list[float]:
        """Never, while the gate is closed."""
        while not self.gate.is_set():
            await asyncio.sleep(0.01)
        return super().embed_query(text)


@pytest.fixture
def slow() -> Iterator[Slow]:
    """Nothing hangs on after the test."""
    made = Slow()
    yield made
    made.gate.set()


def open_store(folder: Path, embedder: Slow, **settings: object) -> MarkdownStore:
    """A store over the embedder."""
    index = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]}
    return MarkdownStore(folder, index=index, config=MemoryConfig(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [lambda e: e.embed_query("tea"), lambda e: e.embed_documents(["tea"])])
def test_a_call_that_hangs_is_a_time_out(slow: Slow, call: Callable[[TimedEmbeddings], object]) -> None:
    """In sync and in async code; the failure is counted."""
    slow.gate.clear()
    timed = TimedEmbeddings(slow, timeout=0.02)
    with pytest.raises(TimeoutError):
        call(timed)
    with pytest.raises(TimeoutError):
        asyncio.run(timed.aembed_query("tea"))
    slow.gate.set()
    assert timed.failed == 2
    assert timed.embed_query("tea") == slow.embed_query("tea")


def test_an_embedder_of_this_process_works_on_the_callers_thread() -> None:
    """There is nobody to wait for, so no thread is begun for it."""

    class Local(BagOfWordsEmbeddings):
        in_process = True

        def __init__(self) -> None:
            super().__init__()
            self.threads: list[int] = []

        def embed_query(self, text: str) -> list[float]:
            self.threads.append(threading.get_ident())
            return super().embed_query(text)

    embedder = Local()
    timed = TimedEmbeddings(embedder, timeout=0)
    assert timed.embed_query("tea") == embedder.embed_query("tea")
    assert timed.embed_documents(["tea"]) == embedder.embed_documents(["tea"])
    assert embedder.threads[0] == threading.get_ident()
    assert timed.p95() is not None


def test_slow_is_what_the_newest_call_was(slow: Slow) -> None:
    """A query or a few texts; a large batch may take its time."""
    timed = TimedEmbeddings(slow, patience=0.01)
    slow.takes = 0.02
    timed.embed_documents(["text"] * 50)
    assert not timed.is_slow
    timed.embed_documents(["text"])
    assert timed.is_slow
    slow.takes = 0.0
    timed.embed_query("tea")
    assert not timed.is_slow
    assert timed.p95() is not None


def test_what_is_written_while_the_embedder_hangs_is_stored_and_found_by_its_words(slow: Slow, tmp_path: Path) -> None:
    """The first writes wait for as long as a call may take, until the embedder is left alone; then none does."""
    slow.gate.clear()
    with open_store(tmp_path, slow, embed_timeout=0.05) as store:
        for n in range(5):
            store.put(NAMESPACE, f"k{n}", {"text": f"green tea number{n}"})
        assert slow.asked <= MemoryConfig().embed_failures
        assert [item.key for item in store.search(NAMESPACE, query="number3", limit=1)] == ["k3"]
        assert len(list(tmp_path.glob("entries/**/*.md"))) == 5


def test_writes_do_not_wait_for_a_slow_embedder(slow: Slow, tmp_path: Path) -> None:
    """Once it was slow; the vectors come in the background, in batches."""
    with open_store(tmp_path, slow, embed_patience=0.005) as store:
        slow.takes = 0.02
        store.put(NAMESPACE, "first", {"text": "green tea"})
        asked = slow.asked
        for n in range(5):
            store.put(NAMESPACE, f"k{n}", {"text": f"black coffee number{n}"})
        for _ in range(500):
            if store.embedding_state().waiting == 0:
                break
            threading.Event().wait(0.02)
        assert store.embedding_state().waiting == 0
        assert slow.asked < asked + 5
        assert all(item.vector is not None for item in store.search(NAMESPACE, query="coffee", limit=5))  # type: ignore[attr-defined]


def test_without_a_background_writes_embed_however_long_it_takes(slow: Slow, tmp_path: Path) -> None:
    """Nobody else would."""
    slow.takes = 0.01
    with open_store(tmp_path, slow, embed_patience=0.0, embed_in_background=False) as store:
        for n in range(3):
            store.put(NAMESPACE, f"k{n}", {"text": f"green tea number{n}"})
        assert slow.asked == 3
