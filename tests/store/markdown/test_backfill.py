"""What waits for a vector gets it in the background."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Namespace = tuple[str, ...]


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


def fill(store: MarkdownStore, ns: Namespace, count: int) -> None:
    """Put some items."""
    store.batch([PutOp(ns, f"k{n}", {"text": f"tea number{n}"}) for n in range(count)])


def with_backlog(open_store: Any, ns: Namespace, count: int) -> None:
    """A folder in which something waits, as another process left it."""
    store = open_store(BagOfWordsEmbeddings(fail=ConnectionError("down")), embed_in_background=False)
    fill(store, ns, count)
    store.close()


def test_opening_a_store_and_small_rests_start_nothing(open_store: Any, ns: Namespace) -> None:
    """A search embeds a few late texts itself, so that an edit by hand counts at once."""
    with_backlog(open_store, ns, 8)
    store = open_store(BagOfWordsEmbeddings())
    assert not store._engine.backfill.is_running
    assert store.search(ns, query="tea number5")[0].scores["cosine"] == pytest.approx(1.0)
    assert not store._engine.backfill.is_running


def test_a_search_waits_for_no_large_backlog(open_store: Any, ns: Namespace) -> None:
    """It answers by words and by the vectors that are there; the thread does the rest in batches, and ends."""
    with_backlog(open_store, ns, 30)
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder, embed_batch=7)
    found = store.search(ns, query="tea number5")
    assert found[0].key == "k5"
    until(lambda: store.embedding_state().waiting == 0 and not store.embedding_state().running)
    assert store.search(ns, query="tea number5")[0].scores["cosine"] == pytest.approx(1.0)
    assert sorted(embedder.texts) == sorted(f"tea number{n}" for n in range(30))
    assert max(map(len, embedder.documents)) <= 7
    state = store.embedding_state()
    assert (state.texts, state.progress, state.oldest, state.failed) == (30, 1.0, None, 0)
    assert state.p95 is not None


def test_searches_go_on_while_the_embedder_works(open_store: Any, ns: Namespace) -> None:
    """No lock is held meanwhile, neither against readers nor against writers."""
    with_backlog(open_store, ns, 20)
    entered, go_on = threading.Event(), threading.Event()

    class Slow(BagOfWordsEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            """Waits, but not for what is written."""
            if len(texts) > 1:
                entered.set()
                assert go_on.wait(10)
            return super().embed_documents(texts)

    store = open_store(Slow())
    store.search(ns, query="tea")
    assert entered.wait(10)
    assert store.search(ns, query="tea number3")[0].key == "k3"
    store.put(ns, "new", {"text": "coffee"})
    assert store.search(ns, query="coffee")[0].scores["cosine"] == pytest.approx(1.0)
    assert (store.embedding_state().waiting, store.embedding_state().running) == (20, True)
    assert 0 < store.embedding_state().progress < 0.1
    assert store.embedding_state().oldest is not None
    go_on.set()
    until(lambda: not store.embedding_state().waiting)


def test_what_an_outage_left_is_tried_again_after_the_pause(open_store: Any, ns: Namespace) -> None:
    """Not at once, and without anybody who asks for it."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, embed_pause_seconds=0.05, embed_failures=1)
    fill(store, ns, 12)
    assert store.embedding_state().failed >= 1
    embedder.fail = None
    until(lambda: store.embedding_state().waiting == 0)
    assert store.embedding_state().failures == 0


def test_while_it_is_down_the_thread_asks_ever_less(open_store: Any, ns: Namespace) -> None:
    """The pause grows, and however often it is searched nobody asks sooner."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, embed_pause_seconds=1000.0, embed_failures=1)
    fill(store, ns, 12)
    for _ in range(20):
        store.search(ns, query="tea")
    assert store.embedding_state().running
    assert len(embedder.documents) + len(embedder.queries) == 1


def test_a_refused_text_holds_up_no_other_and_is_tried_again(open_store: Any, ns: Namespace) -> None:
    """After its own pause."""

    class Picky(BagOfWordsEmbeddings):
        refuses = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            """Refuses one text."""
            found = super().embed_documents(texts)
            if self.refuses and any("number7" in text for text in texts):
                raise ValueError("this text is too long")
            return found

    with_backlog(open_store, ns, 30)
    embedder = Picky()
    store = open_store(embedder, embed_batch=8, embed_pause_seconds=0.05)
    store.search(ns, query="tea")
    until(lambda: store.embedding_state().waiting == 1)
    embedder.refuses = False
    until(lambda: store.embedding_state().waiting == 0)


def test_after_another_model_everything_is_embedded_again(open_store: Any, root: Path, ns: Namespace) -> None:
    """In all namespaces, also those that nobody searches."""
    first = open_store(BagOfWordsEmbeddings(dims=64))
    for place in "abc":
        fill(first, (*ns, place), 10)
    first.close()
    second = open_store(BagOfWordsEmbeddings(dims=128))
    assert second.search((*ns, "a"), query="tea number3")[0].key == "k3"
    until(lambda: second.embedding_state().waiting == 0)
    assert second.embedding_state().texts == 30


def test_one_process_at_a_time(open_store: Any, root: Path, ns: Namespace) -> None:
    """While another one has the claim, nothing is embedded here."""
    with_backlog(open_store, ns, 20)
    other = ProcessLock(root / ".locks" / "embedding.lock")
    assert other.acquire()
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    store.search(ns, query="tea")
    until(lambda: store._engine.backfill._denied >= 1)
    assert embedder.texts == []
    other.release()
    until(lambda: store.embedding_state().waiting == 0)


def test_closing_stops_it_promptly(open_store: Any, ns: Namespace) -> None:
    """Also in the middle of its work; the next use of the store goes on with it."""
    with_backlog(open_store, ns, 200)
    store = open_store(BagOfWordsEmbeddings(), embed_batch=1)
    store.search(ns, query="tea")
    store.close()
    assert not store._engine.backfill.is_running
    store.search(ns, query="tea")
    until(lambda: store.embedding_state().waiting == 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_goes_on_by_itself(open_store: Any, ns: Namespace) -> None:
    """The parent's thread isn't there, and the claim that it holds doesn't block the child for good."""
    with_backlog(open_store, ns, 40)
    store = open_store(BagOfWordsEmbeddings(), embed_batch=1)
    store.search(ns, query="tea")
    child = os.fork()
    if not child:
        status = 1
        try:
            store.search(ns, query="tea")
            until(lambda: store.embedding_state().waiting == 0)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    until(lambda: store.embedding_state().waiting == 0)


def test_the_end_of_the_process_waits_for_nobody(tmp_path: Path) -> None:
    """A pause that would last for hours ends with the process."""
    script = f"""
from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
config = MemoryConfig(embed_pause_seconds=5000, embed_failures=1)
store = MarkdownStore({str(tmp_path)!r}, index={{"dims": 256, "embed": embedder}}, config=config)
store.put(("a",), "k", {{"text": "tea"}})
assert store.embedding_state().running
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_it_can_be_switched_off(open_store: Any, ns: Namespace) -> None:
    """Then a search embeds a batch of what waits before it answers."""
    with_backlog(open_store, ns, 20)
    store = open_store(BagOfWordsEmbeddings(), embed_in_background=False, embed_batch=16)
    store.search(ns, query="tea")
    assert store.embedding_state().waiting == 4
    assert not store.embedding_state().running


def test_a_backlog_of_many_takes_time_in_proportion(tmp_path: Path) -> None:
    """Each text is looked at a few times, not once for each batch."""
    config = MemoryConfig(sync_interval=1000, embed_in_background=False)
    down = {"dims": 16, "embed": BagOfWordsEmbeddings(16, fail=ConnectionError("down")), "fields": ["text"]}
    with MarkdownStore(tmp_path, index=down, config=config) as store:
        fill(store, ("a",), 300)
    up = {"dims": 16, "embed": BagOfWordsEmbeddings(16), "fields": ["text"]}
    with MarkdownStore(tmp_path, index=up, config=MemoryConfig(embed_batch=10)) as store:
        room = store._engine.room(("a",))
        asked: list[int] = []
        store.search(("a",), query="tea")

        def look(index: Any, _: Any) -> None:
            get = index.vectors.get
            index.vectors.get = lambda model, hashes: asked.append(len(hashes)) or get(model, hashes)

        room.look(look, None)
        until(lambda: store.embedding_state().waiting == 0)
        assert sum(asked) <= 2 * 300
