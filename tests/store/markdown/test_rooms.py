"""Which namespaces are open, and what a fork leaves of them."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import rooms as module
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Namespace = tuple[str, ...]


def _open_files(root: Path) -> set[str]:
    """The databases that this process has open."""
    targets = [Path(os.path.realpath(link)) for link in Path("/proc/self/fd").iterdir()]
    return {target.name for target in targets if target.parent == root / ".index"}


def _opened(root: Path) -> int:
    return sum(name.endswith(".db") for name in _open_files(root))


def test_opening_a_store_opens_no_database(open_store: Any, root: Path) -> None:
    """And makes none."""
    open_store()
    assert _opened(root) == 0
    assert list((root / ".index").iterdir()) == []


def test_at_most_so_many_databases_are_open(open_store: Any, root: Path) -> None:
    """Those used last; the others come back when they are needed, with all that they held."""
    store = open_store(BagOfWordsEmbeddings(), open_namespaces=3)
    for n in range(10):
        store.put(("n", str(n)), "k", {"text": f"tea number{n}"})
        assert _opened(root) <= 3
    for n in range(10):
        (found,) = store.search(("n", str(n)), query="number")
        assert found.value["text"] == f"tea number{n}"
        assert found.vector is not None
    assert _opened(root) == 3
    store.close()
    assert _opened(root) == 0
    assert store.get(("n", "1"), "k") is not None


def test_one_operation_may_need_more_than_may_be_open(open_store: Any, root: Path) -> None:
    """A search over all of them, a batch into all of them: complete, each result with its vector."""
    store = open_store(BagOfWordsEmbeddings(), open_namespaces=2)
    store.batch([PutOp(("n", str(n)), "k", {"text": f"tea number{n}"}) for n in range(9)])
    found = store.search(("n",), query="tea", limit=20)
    assert sorted(item.namespace for item in found) == [("n", str(n)) for n in range(9)]
    assert all(item.vector is not None and item.scores["coverage"] == 1 for item in found)
    assert len(store.search(("n",), limit=20)) == 9
    assert len(store.list_namespaces()) == 9
    assert _opened(root) <= 2


def test_there_is_one_object_a_namespace_as_long_as_anybody_uses_it(open_store: Any) -> None:
    """Two would each think that the lock file is the other's; when nobody does it is let go."""
    store = open_store(open_namespaces=1)
    room = store._engine.rooms.get(("a",))
    store._engine.rooms.get(("b",))
    assert store._engine.rooms.get(("a",)) is room
    name = id(room)
    store.put(("a",), "k", {"n": 1})
    del room
    store._engine.rooms.get(("b",))
    gc.collect()
    assert name not in {id(other) for other in store._engine.rooms._known.values()}
    assert store.get(("a",), "k") is not None


def test_a_namespace_that_a_thread_is_using_stays_open(open_store: Any, root: Path) -> None:
    """Another one is closed instead, or for the moment none."""
    store = open_store(open_namespaces=1)
    store.put(("a",), "k", {"n": 1})
    busy, go = threading.Event(), threading.Event()

    def use() -> None:
        room = store._engine.rooms.get(("a",))

        def job(index: Any) -> int:
            busy.set()
            assert go.wait(20)
            return int(index.count())

        counts.append(room._use(job))

    counts: list[int] = []
    thread = threading.Thread(target=use)
    thread.start()
    assert busy.wait(20)
    for n in range(5):
        store.put(("b", str(n)), "k", {"n": 1})
    go.set()
    thread.join()
    assert counts == [1]
    store.put(("c",), "k", {"n": 1})
    store.put(("d",), "k", {"n": 1})
    assert _opened(root) == 1


def test_threads_that_need_more_than_may_be_open_do_not_block_each_other(open_store: Any) -> None:
    """Each evicts what the others use, and all of them get through."""
    store = open_store(open_namespaces=1)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(15):
                store.batch([PutOp((name,), f"{number}-{n}", {"n": n}) for name in "dacb"])
                assert len(store.search((), query="x", limit=1)) <= 1
                assert store.get(("abcd"[n % 4],), f"{number}-{n}") is not None
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not failures
    assert [len(store.search((name,), limit=100)) for name in "abcd"] == [60] * 4


def _in_child(check: Any) -> None:
    """Run a check in a forked child; it fails here if it fails there or hangs."""
    child = os.fork()
    if child == 0:
        try:
            check()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the child must end
            os.write(2, f"in the child: {error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    for _ in range(200):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_a_forked_child_works(open_store: Any, root: Path) -> None:
    """It reads what was there, writes, searches, and leaves the parent's databases alone; both see both."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(("a",), "parent", {"text": "green tea"})

    def check() -> None:
        assert _opened(root) == 0
        assert store.get(("a",), "parent") is not None
        store.put(("a",), "child", {"text": "black tea"})
        assert {item.key for item in store.search(("a",), query="tea")} == {"parent", "child"}
        assert asyncio.run(store.aget(("a",), "child")) is not None
        store.close()

    _in_child(check)
    store.put(("a",), "later", {"text": "white tea"})
    assert {item.key for item in store.search(("a",), query="tea")} == {"parent", "child", "later"}


def test_a_child_forked_while_threads_write_works(open_store: Any) -> None:
    """It isn't left with locks that the parent's threads held; nothing of the parent's is lost."""
    store: MarkdownStore = open_store(BagOfWordsEmbeddings())
    stop = threading.Event()
    written = [0, 0, 0]

    def write(number: int) -> None:
        while not stop.is_set():
            store.put(("a",), f"{number}-{written[number]}", {"text": f"tea {number}"})
            store.search(("a",), query=f"tea {number}", limit=1)
            written[number] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(5):

            def check(n: int = n) -> None:
                store.put(("a",), f"child-{n}", {"text": "coffee"})
                assert store.search(("a",), query="coffee")

            _in_child(check)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(store.search(("a",), limit=10_000)) == sum(written) + 5


def test_a_fork_waits_for_a_busy_namespace_only_so_long(open_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the child begins without it, and the parent goes on."""
    monkeypatch.setattr(module, "_FORK_SECONDS", 0.05)
    store = open_store()
    store.put(("a",), "k", {"n": 1})
    store.put(("b",), "k", {"n": 1})
    busy, go = threading.Event(), threading.Event()

    def hold() -> None:
        with store._engine.rooms.locked([("a",)]):
            busy.set()
            assert go.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert busy.wait(20)

    def check() -> None:
        assert store.get(("b",), "k") is not None
        assert not store._engine.rooms._held

    _in_child(check)
    go.set()
    thread.join()
    _in_child(lambda: store.put(("a",), "child", {"n": 2}))
    assert len(store.search(("a",))) == 2


def test_a_fork_inside_of_a_locked_namespace_leaves_the_lock_with_the_parent(open_store: Any) -> None:
    """The child waits for it like everyone else."""
    store = open_store()
    store.put(("a",), "k", {"n": 1})

    def check() -> None:
        with store._engine.rooms.get(("a",))._database.trying() as mine:
            assert not mine

    with store._engine.rooms.locked([("a",)]):
        _in_child(check)
    store.put(("a",), "k", {"n": 2})
