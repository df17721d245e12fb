"""Large namespaces: a Chroma collection answers like the exact search, and nothing that happens to it is an error."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.errors import ConfigError, StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import approximate
from langmem_plus.store.markdown.chroma import chroma_folder, chroma_lock, drop_collections, is_sound
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

pytest.importorskip("langchain_chroma")

Namespace = tuple[str, ...]
WORDS = ("tea", "milk", "wine", "coffee", "water", "bread", "salt", "sugar", "apple", "plum", "pear", "fig", "oil")


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


def text(n: int) -> str:
    """A text of a few words, each like no other."""
    return f"{WORDS[n % 13]} {WORDS[n // 14 % 13]} {WORDS[n * 3 % 13]} number{n}"


def fill(store: MarkdownStore, ns: Namespace, count: int, start: int = 0) -> None:
    """Put some items."""
    store.batch([PutOp(ns, f"k{n}", {"text": text(n), "half": n % 2}) for n in range(start, start + count)])


def is_ready(store: MarkdownStore, ns: Namespace) -> bool:
    """Whether Chroma answers, after a search that asks for it."""
    store.search(ns, query="tea")
    return store._engine.approximate.is_ready(ns)


def answers(store: MarkdownStore, ns: Namespace, **options: Any) -> list[Any]:
    """The scores of some searches, and the keys where they aren't told by chance among equals."""
    answer = []
    for query in ("tea milk", "number17", "plum pear oil", text(23)):
        items = store.search(ns, query=query, **options)
        scores = [round(item.score, 4) for item in items]
        keys = [item.key for item, score in zip(items, scores, strict=True) if scores.count(score) == 1]
        answer.append((scores, [] if options.get("offset") else keys[:3]))
    return answer


@pytest.fixture
def chroma(open_store: Any, ns: Namespace) -> MarkdownStore:
    """A store whose namespace is answered by Chroma."""
    store = open_store(BagOfWordsEmbeddings(), dense_index="chroma", sync_interval=1000)
    fill(store, ns, 40)
    until(lambda: is_ready(store, ns))
    return store  # type: ignore[no-any-return]


def count_queries(store: MarkdownStore, ns: Namespace) -> list[int]:
    """Notes each query that reaches Chroma."""
    collection = store._engine.approximate._states[ns].collection
    assert collection is not None
    nearest, asked = collection.nearest, list[int]()

    def noted(query: Any, count: int) -> Any:
        asked.append(count)
        return nearest(query, count)

    collection.nearest = noted  # type: ignore[method-assign]
    return asked


def test_the_answers_are_those_of_the_exact_search(
    open_store: Any, chroma: MarkdownStore, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same numbers, for the candidates are compared with our own vectors; filters, pages and prefixes too."""
    monkeypatch.setattr(approximate, "_CANDIDATES", 15)
    monkeypatch.setattr(approximate, "_FILTERED", 20)
    exact = open_store(BagOfWordsEmbeddings(), dense_index="exact")
    asked = count_queries(chroma, ns)
    for options in ({}, {"limit": 3, "offset": 4}, {"filter": {"half": 1}}, {"filter": {"half": 7}}, {"limit": 40}):
        assert answers(chroma, ns, **options) == answers(exact, ns, **options), options
    assert answers(chroma, ns[:1]) == answers(exact, ns[:1])
    assert {15, 20} == set(asked)
    assert exact._engine.approximate._states == {}


def test_what_was_written_since_is_found_at_once(chroma: MarkdownStore, ns: Namespace) -> None:
    """New, changed and deleted items, before the collection knows of them."""
    asked = count_queries(chroma, ns)
    chroma.put(ns, "new", {"text": "a zebra"})
    chroma.put(ns, "k3", {"text": "a yak"})
    chroma.delete(ns, "k4")
    assert chroma.search(ns, query="zebra", limit=1)[0].scores["cosine"] > 0.5
    assert chroma.search(ns, query="yak", limit=1)[0].key == "k3"
    assert "k4" not in [item.key for item in chroma.search(ns, query=text(4), limit=60)]
    assert len(asked) == 3


def test_when_it_is_far_behind_it_is_filled_up(
    chroma: MarkdownStore, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the background; what is gone is taken out."""
    monkeypatch.setattr(approximate, "_BEHIND", 5)
    fill(chroma, ns, 10, start=40)
    chroma.delete(ns, "k1")
    chroma.search(ns, query="tea")
    state = chroma._engine.approximate._states[ns]
    until(lambda: state.collection and len(state.collection.chunks) == 49 and state.ready and state.ready[2] == 50)


def test_below_the_threshold_chroma_is_never_loaded(tmp_path: Path) -> None:
    """Nor with ``exact``, whatever the size."""
    script = f"""
import sys
from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
for options in ({{}}, {{"dense_index": "exact", "ann_threshold": 1}}):
    index = {{"dims": 256, "embed": BagOfWordsEmbeddings()}}
    with MarkdownStore({str(tmp_path)!r}, index=index, config=MemoryConfig(**options)) as store:
        for n in range(3):
            store.put(("a",), f"k{{n}}", {{"text": "tea"}})
            assert store.search(("a",), query="tea")
assert "chromadb" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_above_the_threshold_it_takes_over(open_store: Any, ns: Namespace) -> None:
    """By itself."""
    store = open_store(BagOfWordsEmbeddings(), ann_threshold=20)
    fill(store, ns, 20)
    assert not is_ready(store, ns)
    assert not store._engine.approximate._worker.is_running
    fill(store, ns, 1, start=20)
    until(lambda: is_ready(store, ns))


def test_it_is_opened_again_without_being_filled_again(open_store: Any, chroma: MarkdownStore, ns: Namespace) -> None:
    """After a close; what was written meanwhile is added."""
    chroma.close()
    other = open_store(BagOfWordsEmbeddings(), dense_index="exact")
    fill(other, ns, 3, start=40)
    other.close()
    put: list[int] = []
    collection = approximate.Collection

    class Counted(collection):
        def put(self, chunks: Any) -> None:
            """As ever."""
            put.append(len(chunks))
            super().put(chunks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approximate, "Collection", Counted)
        until(lambda: is_ready(chroma, ns))
    assert put == [3]


def test_a_folder_that_is_deleted_while_it_is_used(
    chroma: MarkdownStore, root: Path, ns: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    """The exact search answers, one warning tells, and it is filled again."""
    before = answers(chroma, ns)
    shutil.rmtree(chroma_folder(chroma._layout, ns))
    assert answers(chroma, ns) == before
    until(lambda: is_ready(chroma, ns))
    assert answers(chroma, ns) == before
    assert sum("filled again" in told.message for told in caplog.records) == 1
    assert chroma_folder(chroma._layout, ns).is_dir()


def test_the_whole_index_may_be_deleted(chroma: MarkdownStore, root: Path, ns: Namespace) -> None:
    """It is derived: all comes back."""
    before = answers(chroma, ns)
    shutil.rmtree(root / ".index")
    assert answers(chroma, ns) == before
    until(lambda: is_ready(chroma, ns))


@pytest.mark.parametrize("what", ["sqlite", "index", "all"])
def test_a_broken_folder_is_filled_again(open_store: Any, chroma: MarkdownStore, ns: Namespace, what: str) -> None:
    """A subprocess looks at it first, since it may take the process down."""
    before = answers(chroma, ns)
    chroma.close()
    folder = chroma_folder(chroma._layout, ns)
    files = [path for path in folder.rglob("*") if path.is_file()]
    broken = [path for path in files if what == "all" or (path.suffix == ".sqlite3") == (what == "sqlite")]
    for path in broken:
        path.write_bytes(b"\xff\x13" * (path.stat().st_size // 2))
    until(lambda: is_ready(chroma, ns))
    assert answers(chroma, ns) == before


def test_a_collection_that_misses_a_few_is_not_broken(tmp_path: Path) -> None:
    """An approximate index doesn't find all that it holds: of a large one, each opening would fill it again."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(tmp_path), Settings(anonymized_telemetry=False))
    hnsw = {"space": "cosine", "ef_search": 2, "ef_construction": 16, "max_neighbors": 4}
    collection = client.create_collection("coarse", configuration={"hnsw": hnsw}, embedding_function=None)
    vectors = np.random.default_rng(0).standard_normal((2000, 16)).astype(np.float32)
    collection.add(ids=[str(place) for place in range(len(vectors))], embeddings=vectors)
    found = collection.query(query_embeddings=vectors[:20], n_results=1, include=[])["ids"]
    assert found != [[str(place)] for place in range(20)]
    assert is_sound(tmp_path)


def test_another_model_has_another_collection(open_store: Any, chroma: MarkdownStore, ns: Namespace) -> None:
    """Its name carries model and size; the old one goes."""
    names = {one.name for one in chroma._engine.approximate._states[ns].collection.client.list_collections()}
    assert [name.rpartition("-")[2] for name in names] == ["256"]
    chroma.close()
    other = open_store(BagOfWordsEmbeddings(dims=128), dense_index="chroma", embed_late=100)
    until(lambda: is_ready(other, ns))
    after = {one.name for one in other._engine.approximate._states[ns].collection.client.list_collections()}
    assert [name.rpartition("-")[2] for name in after] == ["128"]
    exact = open_store(BagOfWordsEmbeddings(dims=128), dense_index="exact")
    assert answers(other, ns) == answers(exact, ns)


def test_another_process_that_has_it(
    open_store: Any, chroma: MarkdownStore, root: Path, ns: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    """Here the exact search answers, and nobody opens its folder a second time."""
    script = f"""
from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
index = {{"dims": 256, "embed": BagOfWordsEmbeddings(), "fields": ["text"]}}
with MarkdownStore({str(root)!r}, index=index, config=MemoryConfig(dense_index="chroma")) as store:
    for n in range(3):
        assert store.search({ns!r}, query="tea number17")[0].key == "k17"
    state = store._engine.approximate
    while state._worker.is_running:
        pass
    store.put({ns!r}, "theirs", {{"text": "a zebra"}})
    assert not state.is_ready({ns!r})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "another process has its collection" in done.stderr
    chroma._engine.room(ns).look_again()
    assert chroma.search(ns, query="zebra")[0].key == "theirs"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_searches_and_ends(chroma: MarkdownStore, ns: Namespace) -> None:
    """It leaves the parent's collection alone, whose threads it hasn't got."""
    before = answers(chroma, ns)
    child = os.fork()
    if not child:
        status = 1
        try:
            if answers(chroma, ns) == before:
                chroma.close()
                status = 0
        finally:
            os._exit(status)
    for _ in range(2000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")
    assert status == 0
    until(lambda: is_ready(chroma, ns))
    assert answers(chroma, ns) == before


def test_whatever_chroma_raises_is_no_error(
    chroma: MarkdownStore, ns: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning, however often."""
    before = answers(chroma, ns)
    for _ in range(3):
        until(lambda: is_ready(chroma, ns))
        collection = chroma._engine.approximate._states[ns].collection
        assert collection is not None

        def broken(query: Any, count: int) -> Any:
            raise RuntimeError("internal error")

        collection.nearest = broken  # type: ignore[method-assign]
        assert answers(chroma, ns) == before
        chroma._engine.approximate._states[ns].rest_until = 0
    assert sum("internal error" in told.message for told in caplog.records) == 1


def test_without_chroma_the_exact_search_answers(
    open_store: Any, ns: Namespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning says how to get it."""
    monkeypatch.setitem(sys.modules, "chromadb", None)
    store = open_store(BagOfWordsEmbeddings(), dense_index="chroma")
    fill(store, ns, 5)
    for _ in range(3):
        assert store.search(ns, query="number3")[0].key == "k3"
        until(lambda: not store._engine.approximate._worker.is_running)
    assert sum("langmem-plus[chroma]" in told.message for told in caplog.records) == 1
    with pytest.raises(StoreError, match=r"langmem-plus\[chroma\]"):
        store.as_vectorstore(ns)


def test_a_langchain_vector_store(open_store: Any, ns: Namespace) -> None:
    """Made on demand, however small the namespace; a retriever like any other."""
    store = open_store(BagOfWordsEmbeddings())
    fill(store, ns, 30)
    found = store.as_vectorstore(ns).as_retriever(search_kwargs={"k": 3}).invoke(text(17))
    assert (found[0].page_content, found[0].metadata["key"]) == (text(17), "k17")
    fill(store, ns, 1, start=30)
    chroma = store.as_vectorstore(ns)
    assert chroma.similarity_search(text(30), k=1)[0].metadata["key"] == "k30"
    assert chroma.similarity_search(text(30), k=1, filter={"key": "k2"})[0].page_content == text(2)
    assert len(chroma.max_marginal_relevance_search("tea milk", k=4)) == 4
    assert store.as_vectorstore(("nobody",)).similarity_search("tea") == []


def test_a_vector_store_needs_vectors_and_the_collection(open_store: Any, ns: Namespace) -> None:
    """What is missing is named."""
    with pytest.raises(ConfigError, match="by words alone"):
        open_store().as_vectorstore(ns)
    store = open_store(BagOfWordsEmbeddings())
    fill(store, ns, 3)
    lock = ProcessLock(chroma_lock(store._layout, ns))
    assert lock.acquire()
    with pytest.raises(StoreError, match="chroma_url"):
        store.as_vectorstore(ns)
    lock.release()


def test_texts_are_there_only_for_who_asks(chroma: MarkdownStore, ns: Namespace) -> None:
    """A search needs vectors alone, so nothing else lies in a collection before somebody wants it as a vector store;
    an erasure drops it, and who has it open finds out at the next search.
    """
    folder = chroma_folder(chroma._layout, ns)

    def holds(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())

    assert not holds(b"number17")
    assert not holds(b"k17")
    chroma.as_vectorstore(ns)
    assert holds(b"number17")
    chroma.delete(ns, "k17")
    assert drop_collections(chroma._layout, ns, None) == [str(folder)]
    assert drop_collections(chroma._layout, ns, None) == []
    until(lambda: is_ready(chroma, ns))
    collection = chroma._engine.approximate._states[ns].collection
    assert collection is not None
    found = collection._collection.get(include=["documents", "metadatas"])
    assert (len(found["ids"]), {*found["documents"], *found["metadatas"]}) == (39, {None})


def test_an_erasure_takes_the_collection_along(chroma: MarkdownStore, ns: Namespace) -> None:
    """Whoever has it open; what stays is filled in again."""
    folder = chroma_folder(chroma._layout, ns)
    chroma.as_vectorstore(ns)
    receipt = chroma.erase(ns, lambda held: Erasure(frozenset({"k17"})))
    assert receipt.removed["collection"] == 1
    assert not folder.exists()
    until(lambda: is_ready(chroma, ns))
    chroma.erase(ns)
    assert not folder.exists()


def test_thousands_of_vectors_give_the_same_ten(tmp_path: Path) -> None:
    """At least 95 of 100 of the exact search's best, for questions like those that were asked before."""
    index: Any = {"dims": 64, "embed": BagOfWordsEmbeddings(64), "fields": ["text"]}
    config = MemoryConfig(ann_threshold=1000, sync_interval=1000)
    with MarkdownStore(tmp_path, index=index, config=config, ranking="dense") as store:
        rng = np.random.default_rng(0)
        texts = [" ".join(f"w{w}" for w in rng.zipf(1.3, 12) % 3000) for _ in range(3000)]
        store.batch([PutOp(("a",), str(n), {"text": text}) for n, text in enumerate(texts)])
        until(lambda: is_ready(store, ("a",)))
        room, same = store._engine.room(("a",)), 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(approximate, "_CANDIDATES", 100)
            for text in texts[:600:20]:
                near = [item.key for item in store.search(("a",), query=text)]
                nearest, room.nearest = room.nearest, lambda query, filtered: None
                same += len(set(near) & {item.key for item in store.search(("a",), query=text)})
                room.nearest = nearest
    assert same >= 0.95 * 300


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_process_that_is_killed_while_it_fills(open_store: Any, root: Path, ns: Namespace) -> None:
    """Whatever it left, the next one answers and has all of it."""
    exact = open_store(BagOfWordsEmbeddings(), dense_index="exact")
    fill(exact, ns, 60)
    script = f"""
import os
from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import approximate
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
approximate._BATCH = 7
put, count = approximate.Collection.put, []
def killed(self, chunks):
    put(self, chunks)
    count.append(1)
    if len(count) == 4:
        os.kill(os.getpid(), 9)
approximate.Collection.put = killed
index = {{"dims": 256, "embed": BagOfWordsEmbeddings(), "fields": ["text"]}}
MarkdownStore({str(root)!r}, index=index, config=MemoryConfig(dense_index="chroma")).as_vectorstore({ns!r})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == -9, done.stderr
    store = open_store(BagOfWordsEmbeddings(), dense_index="chroma")
    assert answers(store, ns) == answers(exact, ns)
    until(lambda: is_ready(store, ns))
    assert answers(store, ns) == answers(exact, ns)
    assert len(store.as_vectorstore(ns).get(include=[])["ids"]) == 60


def test_closing_lets_go_of_what_is_just_opened(
    chroma: MarkdownStore, open_store: Any, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection that the background opens while its store is closed is nobody's afterwards."""
    chroma.close()
    opening, go_on, opened = threading.Event(), threading.Event(), approximate.Collection

    def slow(*arguments: Any) -> Any:
        opening.set()
        assert go_on.wait(30)
        return opened(*arguments)

    monkeypatch.setattr(approximate, "Collection", slow)
    store = open_store(BagOfWordsEmbeddings(), dense_index="chroma", sync_interval=1000)
    store.search(ns, query="tea")
    assert opening.wait(30)
    background = store._engine.approximate
    monkeypatch.setattr(background._worker, "stop", functools.partial(background._worker.stop, 0.01))
    closing = threading.Thread(target=store.close)
    closing.start()
    until(lambda: not background._states)  # the thread wasn't waited for any longer
    go_on.set()
    closing.join(30)
    lock = ProcessLock(chroma_lock(store._layout, ns))
    assert lock.acquire(wait=False)
    lock.release()
