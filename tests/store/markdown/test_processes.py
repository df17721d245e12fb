"""Several processes on one folder."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.database import Database
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NAMESPACE = ("memories", "ann", "default")


def _open(root: Path, **settings: Any) -> MarkdownStore:
    embedder = BagOfWordsEmbeddings()
    return MarkdownStore(
        root, index={"dims": 256, "embed": embedder, "fields": ["text"]}, config=MemoryConfig(**settings)
    )


def _children(*works: Callable[[], None]) -> None:
    """Run all of them at once, each in a process of its own; a failure or a hang in one fails here."""
    pids = []
    for work in works:
        pid = os.fork()
        if pid == 0:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the child must end
                os.write(2, f"in a child: {error!r}\n".encode())
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * len(works)


def _write(root: Path, name: str, count: int) -> None:
    store = _open(root)
    for n in range(count):
        store.put(NAMESPACE, f"{name}-{n}", {"text": f"tea of {name} number{n}"})
        assert store.get(NAMESPACE, f"{name}-{n}") is not None
    store.close()


@pytest.mark.parametrize("both", [True, False], ids=["both", "one"])
def test_an_index_in_memory_makes_no_second_file(tmp_path: Path, both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write is planned by the files as they are, whoever can't write the index; an index on disk hears of it."""
    with _open(tmp_path, sync_interval=3600) as one, _open(tmp_path, sync_interval=3600) as two:
        connect, rooms = Database._connect, [store._engine.rooms.get(NAMESPACE) for store in (one, two)]
        in_memory = [room._database for room in rooms[: 1 + both]]
        monkeypatch.setattr(Database, "_connect", lambda own: own._in_memory() if own in in_memory else connect(own))
        for n in range(6):
            for store in (one, two):
                store.put(NAMESPACE, "k", {"n": n})
                store.put(NAMESPACE, f"k{n}", {"by": id(store)})
            assert two.get(NAMESPACE, "k").value == {"n": n}
            one.put(NAMESPACE, "new", {"n": n})
            assert two.get(NAMESPACE, "new").value == {"n": n}
            two.delete(NAMESPACE, f"k{n}")
            one.put(NAMESPACE, f"k{n}", {"again": n})
        assert rooms[0]._use(lambda index: index.in_memory)
        assert len(list((tmp_path / "entries").rglob("items/*.md"))) == 8 + 6
        assert not one.unreadable()


def test_four_writers_of_250_memories_and_two_readers(tmp_path: Path) -> None:
    """1,000 files, 1,000 memories that are found, each with its vector, in each process and after a restart. Meanwhile
    nobody meets an error, and a search of any process finds all that any other one's put had returned for.
    """
    acknowledged, count = multiprocessing.RawArray("i", 4), 250

    def write(number: int) -> None:
        try:
            store = _open(tmp_path)
            for n in range(count):
                store.put(NAMESPACE, f"{number}-{n}", {"text": f"tea of {number} number{n}"})
                acknowledged[number] = n + 1
                assert store.get(NAMESPACE, f"{number}-{n}") is not None
            store.close()
        finally:
            acknowledged[number] = count  # should it fail, the readers fail, too, and don't wait for ever

    def read() -> None:
        store, known = _open(tmp_path, sync_interval=0), 0
        while known < 4 * count:
            expected = {f"{number}-{n}" for number in range(4) for n in range(acknowledged[number])}
            known = len(expected)
            found = [item.key for item in store.search(NAMESPACE, query="tea", limit=2000)]
            assert len(found) == len(set(found))
            assert expected.issubset(found)
            assert all(store.get(NAMESPACE, key) for key in [*expected][:5])
            time.sleep(0.05)  # or the readers take all of the two cores
        assert len(found) == 4 * count + 1

    with _open(tmp_path) as watcher:
        watcher.put(NAMESPACE, "first", {"text": "tea of mine"})
        _children(read, read, *(lambda number=number: write(number) for number in range(4)))
        for store in (watcher, _open(tmp_path)):
            assert len(list((tmp_path / "entries").rglob("*.md"))) == 4 * count + 1
            found = store.search(NAMESPACE, query="tea", limit=2000)
            assert len(found) == len({item.key for item in found}) == 4 * count + 1
            assert all(item.vector is not None for item in found)
            store.close()


def test_updates_of_one_memory_by_many_leave_the_last(tmp_path: Path) -> None:
    """One file, one item, and while it is rewritten all the time every search finds it."""

    def update(name: str) -> None:
        store = _open(tmp_path)
        for n in range(60):
            store.put(NAMESPACE, "contended", {"text": f"tea {name} {n}"})
            assert len(store.search(NAMESPACE, query="tea")) == 1
            assert store.get(NAMESPACE, "contended") is not None

    _children(*(lambda name=name: update(name) for name in "abc"))
    with _open(tmp_path) as store:
        (item,) = store.search(NAMESPACE)
        assert item.value["text"].endswith(" 59")
        assert len(list((tmp_path / "entries").rglob("*.md"))) == 1


def test_an_index_deleted_while_processes_write_comes_back(tmp_path: Path) -> None:
    """Again and again, in whole or in part: no error, nothing lost, nothing embedded twice for it."""
    done = tmp_path / "done"

    def delete() -> None:
        rounds = 0
        while not done.exists():
            time.sleep(0.02)
            rounds += 1
            if rounds % 3 == 0:
                shutil.rmtree(tmp_path / ".index", ignore_errors=True)
            else:
                ending = ".db" if rounds % 3 == 1 else ".db-wal"
                for path in (tmp_path / ".index").glob(f"*{ending}"):
                    path.unlink(missing_ok=True)

    def write_all() -> None:
        try:
            _children(lambda: _write(tmp_path, "one", 60), lambda: _write(tmp_path, "two", 60))
        finally:
            done.touch()

    _children(delete, write_all)
    with _open(tmp_path) as store:
        found = store.search(NAMESPACE, query="tea", limit=1000)
        assert len(found) == 120
        assert all(item.vector is not None for item in found)
        embedder: Any = store._engine.embedder
        assert embedder._embeddings.inner.texts == []


def test_a_reader_does_not_wait_for_another_processs_long_work(tmp_path: Path) -> None:
    """It answers from what it knows; only its very first look has to be had."""
    with _open(tmp_path, sync_interval=0) as reader, _open(tmp_path) as writer:
        writer.put(NAMESPACE, "k", {"text": "green tea"})
        assert reader.get(NAMESPACE, "k") is not None
        with writer._engine.rooms.locked([NAMESPACE]):
            assert reader.get(NAMESPACE, "k") is not None
            assert len(reader.search(NAMESPACE, query="tea")) == 1
            assert reader.list_namespaces() == [NAMESPACE]


def test_a_process_of_its_own_reads_and_writes(tmp_path: Path) -> None:
    """Started afresh, not forked."""
    with _open(tmp_path) as store:
        store.put(NAMESPACE, "parent", {"text": "green tea"})
        script = (
            "import sys; from langmem_plus.store import MarkdownStore\n"
            "with MarkdownStore(sys.argv[1], index=None) as store:\n"
            f"    assert store.get({NAMESPACE}, 'parent')\n"
            f"    store.put({NAMESPACE}, 'child', {{'text': 'black tea'}})\n"
        )
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
        assert {item.key for item in store.search(NAMESPACE, query="tea")} == {"parent", "child"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 6 MB; skipped where this user can't mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_loses_nothing_and_reads_go_on(small_disk: Path) -> None:
    """A put that doesn't fit is refused as a whole; when there is room again, all works."""
    store = _open(small_disk / "memory", sync_interval=0)
    stored, filler = {}, small_disk / "filler"
    for n in range(5):
        store.put(NAMESPACE, f"k{n}", {"text": f"tea number{n}"})
        stored[f"k{n}"] = f"tea number{n}"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
    for n in range(5, 60):
        text = f"tea number{n} " * 300
        try:
            store.put(NAMESPACE, f"k{n}", {"text": text})
            stored[f"k{n}"] = text
        except StoreError as error:
            assert "make room" in str(error)
        for key, value in list(stored.items())[:3]:
            assert store.get(NAMESPACE, key).value["text"] == value  # type: ignore[union-attr]
    assert len(stored) < 60
    assert len(store.search(NAMESPACE, query="tea", limit=100)) == len(stored)
    filler.unlink()
    store.put(NAMESPACE, "last", {"text": "tea at last"})
    assert {item.key for item in store.search(NAMESPACE, query="tea", limit=100)} == {*stored, "last"}
    store.close()
    with _open(small_disk / "memory") as again:
        assert len(again.search(NAMESPACE, query="tea", limit=100)) == len(stored) + 1


def test_a_folder_that_cannot_be_written_can_be_read(small_disk: Path) -> None:
    """With an index in memory, and the vectors that are there; a put says what to do."""
    with _open(small_disk / "memory") as store:
        for n in range(5):
            store.put(NAMESPACE, f"k{n}", {"text": f"tea number{n}", "role": "user"})
    for prepare in (lambda: None, lambda: shutil.rmtree(small_disk / "memory" / ".index")):
        prepare()
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        with _open(small_disk / "memory", sync_interval=0) as store:
            assert store.get(NAMESPACE, "k1").value["text"] == "tea number1"  # type: ignore[union-attr]
            found = store.search(NAMESPACE, query="tea number3", limit=10)
            assert (len(found), found[0].key) == (5, "k3")
            assert found[0].vector is not None
            assert store.list_namespaces() == [NAMESPACE]
            store.set_scores(NAMESPACE, {"k1": {"total": 0.5}})
            embedder: Any = store._engine.embedder
            assert embedder._embeddings.inner.texts == []
            with pytest.raises(StoreError, match="make its folder writable"):
                store.put(NAMESPACE, "new", {"text": "coffee"})
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
