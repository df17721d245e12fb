"""On a full disk, what was acknowledged is what reads give, and what is to go can go."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import database as module
from langmem_plus.store.markdown import files
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NAMESPACE = ("memories", "ann", "default")


def _open(disk: Path, embedder: BagOfWordsEmbeddings | None = None) -> MarkdownStore:
    index: Any = {"dims": 16, "embed": embedder, "fields": ["text"]} if embedder else None
    return MarkdownStore(disk / "memory", index=index, config=MemoryConfig(sync_interval=0, embed_in_background=False))


def _fill(disk: Path, left: int) -> None:
    """Leave so many bytes."""
    (disk / "filler").unlink(missing_ok=True)
    room = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - left)))


def _all(store: MarkdownStore) -> dict[str, str]:
    """What a search gives, which has to be what each get gives."""
    found = {item.key: item.value["text"] for item in store.search(NAMESPACE, query="tea", limit=100)}
    for key, text in found.items():
        item = store.get(NAMESPACE, key)
        assert item is not None
        assert item.value["text"] == text
    return found


@pytest.mark.parametrize("vectors", [False, True])
def test_what_is_acknowledged_is_what_reads_give(disk: Path, vectors: bool) -> None:
    """However little room is left: new values, updates and deletes, in each store that is open there and later."""
    embedder = BagOfWordsEmbeddings(dims=16) if vectors else None
    with _open(disk, embedder) as store, _open(disk, embedder) as other:
        said = {f"k{n}": f"tea {n}" for n in range(8)}
        for key, text in said.items():
            store.put(NAMESPACE, key, {"text": text})
        assert _all(other) == said
        for left in (0, 4096, 8192, 12288, 16384, 20480, 40960, 81920):
            _fill(disk, left)
            for key, text in (("k1", f"tea {left} " + "x " * 1500), (f"new{left}", f"tea {left}")):
                with contextlib.suppress(StoreError):
                    store.put(NAMESPACE, key, {"text": text})
                    said[key] = text
                assert _all(store) == said
                assert _all(other) == said
        store.delete(NAMESPACE, "k2")
        del said["k2"]
        assert (_all(store), _all(other)) == (said, said)
        (disk / "filler").unlink()
        store.put(NAMESPACE, "last", {"text": "tea at last"})
        said["last"] = "tea at last"
        assert (_all(store), _all(other)) == (said, said)
    with _open(disk, embedder) as again:
        assert _all(again) == said
        assert again._engine.room(NAMESPACE).use(lambda index: not index.in_memory)


def test_a_put_without_room_leaves_the_old_value(disk: Path) -> None:
    """And the error says what to do."""
    with _open(disk) as store:
        store.put(NAMESPACE, "k", {"text": "green tea"})
        _fill(disk, 0)
        with pytest.raises(StoreError, match="make room"):
            store.put(NAMESPACE, "k", {"text": "black tea"})
        assert _all(store) == {"k": "green tea"}
        assert "green tea" in store.path_of(NAMESPACE, "k").read_text()  # type: ignore[union-attr]


def _retire(store: MarkdownStore, record: Any) -> None:
    store.put(NAMESPACE, "k1", record("k1", "tea 1", status="deleted"))


@pytest.mark.parametrize(
    ("remove", "left"),
    [
        (lambda store, record: store.delete(NAMESPACE, "k1"), {"k0", "k2"}),
        (lambda store, record: [store.delete(NAMESPACE, f"k{n}") for n in range(3)], set()),
        (_retire, {"k0", "k1", "k2"}),
        (lambda store, record: store.erase(NAMESPACE), set()),
    ],
    ids=["delete", "all", "retire", "erase"],
)
def test_what_is_to_go_can_go(disk: Path, record: Any, remove: Callable[..., Any], left: set[str]) -> None:
    """Without the last byte of room."""
    with _open(disk) as store:
        for n in range(3):
            store.put(NAMESPACE, f"k{n}", record(f"k{n}", f"tea {n}"))
        _fill(disk, 0)
        remove(store, record)
        assert set(_all(store)) == left
        with _open(disk) as other:
            assert set(_all(other)) == left
    assert not list((disk / "memory" / ".journal").iterdir())


def _no_room(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_an_index_that_cannot_be_written_is_left_for_one_in_memory(
    open_store: Any, ns: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without a disk that is full: as the database says it. Once there is room it is back, in step."""
    store = open_store()
    store.put(ns, "k", {"text": "green tea"})
    room = store._engine.room(ns)

    def narrow(index: Any) -> None:
        index.db.execute(f"PRAGMA max_page_count={index.db.execute('PRAGMA page_count').fetchone()[0]}")

    room.use(narrow)
    store.set_scores(ns, {"k": {"relevance": 1, "recency": 1, "importance": 1, "total": 1}})
    assert not room.use(lambda index: index.in_memory)
    for n in range(40):
        store.put(ns, f"n{n}", {"text": f"word{n} " * 400})
    assert room.use(lambda index: index.in_memory)
    assert len(store.search(ns, limit=100)) == 41
    monkeypatch.setattr(module, "_MEMORY_SECONDS", -1.0)
    room._database._memory_until = -1.0
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", _no_room)
        assert room.use(lambda index: index.in_memory)
    assert not room.use(lambda index: index.in_memory)
    assert len(store.search(ns, limit=100)) == 41


def test_want_of_room_is_no_broken_index() -> None:
    """An I/O error isn't, either, unless it tells of damage."""
    error = sqlite3.OperationalError("disk I/O error")
    for name, outside in (("SQLITE_IOERR_SHMSIZE", True), ("SQLITE_FULL", True), ("SQLITE_IOERR_SHORT_READ", False)):
        error.sqlite_errorname = name
        assert module.is_outside(error) == outside


@pytest.mark.parametrize("of_a_record", [False, True])
def test_a_single_delete_needs_no_room_at_all(disk: Path, record: Any, of_a_record: bool) -> None:
    """Not even that of an index: the file moves, and says when as far as it can."""
    with _open(disk) as store:
        for n in range(3):
            store.put(NAMESPACE, f"k{n}", record(f"k{n}", f"tea {n}") if of_a_record else {"text": f"tea {n}"})
        store.delete(NAMESPACE, "k0")  # the folder of the deleted is there
        path = store.path_of(NAMESPACE, "k1")
    assert path is not None
    shutil.rmtree(disk / "memory" / ".index")
    shutil.rmtree(disk / "memory" / ".vectors")
    with _open(disk) as store:
        _fill(disk, 0)
        store.delete(NAMESPACE, "k1")
        assert not path.exists()
        assert set(_all(store)) == {"k2"}
        with _open(disk) as other:
            assert set(_all(other)) == {"k2"}
    (tombstone,) = [file for file in (disk / "memory").rglob(path.name) if "deleted" in file.parts]
    assert "tea 1" in tombstone.read_text()
    assert "removed_at" in tombstone.read_text()


def test_a_file_that_moves_keeps_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its old content whole; so does one that is linked elsewhere, where nobody deleted it."""
    linked, path, target = tmp_path / "linked.md", tmp_path / "a.md", tmp_path / "deleted" / "a.md"
    path.write_text("old")
    stamp = files.move_file(path, target, b"newer", durable=True)
    assert (target.read_text(), stamp, path.exists()) == ("newer", files.Stamp.of(target.stat()), False)
    os.link(target, linked)
    files.move_file(target, path, b"newest", durable=False)
    assert path.read_text() == linked.read_text() == "newer"
    linked.unlink()
    write, tries = files._overwrite, []

    def half(file: Path, content: bytes) -> None:
        tries.append(content)
        write(file, content)
        if len(tries) == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_overwrite", half)
    files.move_file(path, target, b"newest of all", durable=False)
    assert target.read_text() == "newer"
    with pytest.raises(StoreError, match="can't be written"):
        files.move_file(tmp_path / "nowhere.md", target, b"x", durable=False)
