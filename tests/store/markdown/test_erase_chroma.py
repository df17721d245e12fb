"""Erasing from Chroma: nothing of it is left below the index's folder, and the others' collections go on."""

from __future__ import annotations

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

from langmem_plus.erasure import Erasure
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import approximate, chroma
from langmem_plus.store.markdown.chroma import Collection, chroma_folder, chroma_lock
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

pytest.importorskip("langchain_chroma")

Namespace = tuple[str, ...]
SECRET = "Ann hides a xylophone under the stairs"
OTHERS = [("memories", "ann", "work"), ("memories", "bob", "default")]
_CHILD = """
import sys
from langmem_plus.config import MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
embedder, ns = BagOfWordsEmbeddings(), tuple(sys.argv[2:])
index = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]}
with MarkdownStore(sys.argv[1], index=index, config=MemoryConfig(dense_index="chroma", sync_interval=0)) as store:
    store.as_vectorstore(ns)
    store._engine.approximate._sync(ns)
    print("open", flush=True)
    sys.stdin.readline()
    print([item.key for item in store.search(ns, query="xylophone stairs", limit=3)], flush=True)
    sys.stdin.readline()
"""


def left(root: Path, embedder: BagOfWordsEmbeddings) -> list[str]:
    """The files below the index's folder that hold the secret's words, its key or its vector."""
    vector = np.asarray(embedder.embed_documents([SECRET])[0], np.float32)
    unit = vector / np.linalg.norm(vector)
    marks = [b"xylophone", b"under the stairs", b"hidden-key", vector.tobytes(), unit.tobytes()]
    return [
        f"{path}: {mark[:20]!r}"
        for path in sorted((root / ".index").rglob("*"))
        if path.is_file()
        for mark in marks
        if mark in path.read_bytes()
    ]


def fill(store: MarkdownStore, *namespaces: Namespace) -> None:
    """Thirty memories and the secret in each."""
    for ns in namespaces:
        store.batch([PutOp(ns, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
        store.put(ns, "hidden-key", {"text": SECRET})


def choose(held: object) -> Erasure:
    """The secret."""
    return Erasure(frozenset({"hidden-key"}))


def until(condition: Callable[[], object]) -> None:
    """Wait for what happens in the background."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def is_ready(store: MarkdownStore, ns: Namespace) -> bool:
    """Search, and tell whether the collection answers."""
    store.search(ns, query="tea")
    return store._engine.approximate.is_ready(ns)


@pytest.mark.parametrize("whole", [False, True])
def test_no_byte_is_left_and_the_others_go_on(open_store: Any, root: Path, ns: Namespace, whole: bool) -> None:
    """Of a record or of a space, with texts, keys and vectors in there; a vector store that somebody has is closed."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder, dense_index="chroma")
    fill(store, ns)
    for other in OTHERS:
        store.batch([PutOp(other, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
    held = {place: store.as_vectorstore(place) for place in (ns, *OTHERS)}
    assert held[ns].similarity_search(SECRET, k=1)[0].metadata["key"] == "hidden-key"
    assert len({mark.split(": ")[1] for mark in left(root, embedder)}) >= 4
    receipt = store.erase(ns, None if whole else choose)
    assert receipt.unreached == []
    assert receipt.removed["collection"] == 1
    assert left(root, embedder) == []
    for other in OTHERS:
        assert held[other].similarity_search("tea number5", k=1)[0].metadata["key"] == "k5"
        until(lambda other=other: is_ready(store, other))
    if not whole:
        until(lambda: is_ready(store, ns))
        assert store.as_vectorstore(ns).similarity_search("tea number5", k=1)[0].metadata["key"] == "k5"
        assert left(root, embedder) == []
    store.close()
    assert left(root, embedder) == []


def test_a_user_goes_with_all_collections(open_store: Any, root: Path, ns: Namespace) -> None:
    """Whatever spaces there are."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder, dense_index="chroma")
    fill(store, ns, OTHERS[0])
    for place in (ns, OTHERS[0]):
        store.as_vectorstore(place)
    assert store.erase(ns[:2]).removed["collection"] == 2
    assert left(root, embedder) == []
    assert not list((root / ".index").glob("*.chroma"))


def test_while_it_is_filled(open_store: Any, root: Path, ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The filling gives up, and nothing that it had read comes back."""
    embedder, reached, go_on = BagOfWordsEmbeddings(), threading.Event(), threading.Event()
    put = Collection.put

    def slow(self: Collection, chunks: Any) -> None:
        reached.set()
        assert go_on.wait(20)
        put(self, chunks)

    monkeypatch.setattr(Collection, "put", slow)
    monkeypatch.setattr(approximate, "_BATCH", 5)
    store = open_store(embedder, dense_index="chroma")
    fill(store, ns)
    store.search(ns, query="tea")
    assert reached.wait(20)
    receipts: list[Any] = []
    eraser = threading.Thread(target=lambda: receipts.append(store.erase(ns, choose)))
    eraser.start()
    until(lambda: not chroma_folder(store._layout, ns).exists() or not eraser.is_alive())
    go_on.set()
    eraser.join(30)
    assert receipts[0].unreached == []
    assert left(root, embedder) == []
    until(lambda: is_ready(store, ns))
    store.close()
    assert left(root, embedder) == []


def test_another_process_that_has_it_open_is_named(
    open_store: Any, root: Path, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files go all the same; the other finds out at its next search and doesn't find it."""
    monkeypatch.setattr(approximate, "_AWAIT_SECONDS", 0.0)
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    fill(store, ns)
    command = [sys.executable, "-c", _CHILD, str(root), *ns]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        assert left(root, embedder)
        receipt = store.erase(ns, choose)
        (told,) = receipt.unreached
        assert "another process has it open" in told
        assert receipt.removed["collection"] == 1
        assert left(root, embedder) == []
        child.stdin.write("\n")
        child.stdin.flush()
        assert "hidden-key" not in child.stdout.readline()
        lock = ProcessLock(chroma_lock(store._layout, ns))
        until(lambda: chroma_folder(store._layout, ns).exists() or lock.acquire(wait=False))
        child.stdin.close()
        assert child.wait(30) == 0
    assert left(root, embedder) == []


def test_one_who_lets_go_is_waited_for(open_store: Any, root: Path, ns: Namespace) -> None:
    """Then nothing is out of reach."""
    store = open_store(BagOfWordsEmbeddings(), dense_index="chroma")
    fill(store, ns)
    store.as_vectorstore(ns)
    store.close()
    lock = ProcessLock(chroma_lock(store._layout, ns))
    assert lock.acquire()
    threading.Timer(0.2, lock.release).start()
    assert store.erase(ns, choose).unreached == []


def test_a_folder_that_is_written_meanwhile_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tries, then it is an error."""
    monkeypatch.setattr(chroma, "_PAUSE", 0.0)
    folder, tries = tmp_path / "x.chroma", []
    folder.mkdir()

    def fail(path: Path) -> None:
        tries.append(path)
        if len(tries) == 3:
            raise FileNotFoundError(path)
        if len(tries) == 5:
            path.rmdir()
            raise FileNotFoundError(path)
        raise OSError("not empty")

    monkeypatch.setattr(chroma.shutil, "rmtree", fail)
    assert chroma._remove(folder) == [str(folder)]
    assert len(tries) == 5
    folder.mkdir()
    with pytest.raises(OSError, match="not empty"):
        chroma._remove(folder)
