"""One namespace between its files, its index and its lock."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.errors import StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.batches import read_batch
from langmem_plus.store.embedding import Needs
from langmem_plus.store.markdown import namespace as module
from langmem_plus.store.markdown.backlog import waiting, wants
from langmem_plus.store.markdown.index import Index
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Namespace = tuple[str, ...]


def test_reading_what_was_never_written_makes_nothing(store: MarkdownStore, root: Path) -> None:
    """No folder, no database, no lock file."""
    for _ in range(2):
        assert store.get(("nobody",), "k") is None
        assert store.search(("nobody",)) == store.search(("nobody",), query="tea") == []
    assert [path for path in root.rglob("*") if path.is_file()] == []
    assert list((root / "entries").iterdir()) == []


def test_deleting_what_is_not_there_leaves_nothing(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """Neither a tombstone nor a folder."""
    store.delete(ns, "nobody")
    assert list((root / "entries").rglob("*.md")) == []
    assert store.list_namespaces() == []


def test_a_put_whose_index_fails_is_acknowledged_and_found_later(
    store: MarkdownStore, ns: Namespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is the truth; the next look mends the index."""
    store.put(ns, "before", {"text": "green tea"})

    def fail(*args: Any) -> int:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorname = "SQLITE_BUSY"
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Index, "put", fail)
        store.put(ns, "k", {"text": "green tea"})
    assert "stored in its file" in caplog.text
    assert store.get(ns, "k") is not None
    assert {item.key for item in store.search(ns, query="tea")} == {"before", "k"}


def test_a_first_look_that_fails_is_told_a_later_one_is_passed_over(
    store: MarkdownStore, ns: Namespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty answer would look like forgotten memories; an old one is better than none."""
    store.put(ns, "k", {"text": "green tea"})
    room = store._engine.rooms.get(ns)

    def fail(*args: Any) -> bool:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "bring_in_step", fail)
    assert store.get(ns, "k") is not None
    assert "can't follow" in caplog.text
    room._use(lambda index: index.db.execute("DELETE FROM items"))
    room.look_again()
    with pytest.raises(StoreError, match=r"Input/output error.*make them readable"):
        store.get(ns, "k")


def test_a_look_takes_a_small_share_of_the_time(
    open_store: Any, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many files there are: a slow one is followed by a longer pause."""
    store = open_store(sync_interval=1.0)
    store.put(ns, "k", {"n": 1})
    room, now = store._engine.rooms.get(ns), [1000.0]

    def slow(*args: Any) -> bool:
        now[0] += 4.0
        return False

    monkeypatch.setattr(module, "bring_in_step", slow)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    room.look_again()
    store.get(ns, "k")
    assert room._next_look == pytest.approx(1004.0 + 80.0)


def test_values_that_arrive_late_are_kept_once(open_store: Any, ns: Namespace) -> None:
    """For whichever text they are; without an embedder nothing is."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError())
    store = open_store(embedder)
    store.put(ns, "k", {"text": "green tea"})
    room = store._engine.rooms.get(ns)
    assert waiting(room, 10) == {"green tea": "k"}
    assert waiting(room, 0) == {}
    embedder.fail = None
    vectors = store._engine.embedder.fulfil(Needs(texts=["green tea"])).texts
    assert wants(room, ["other", "green tea"]) == ["green tea"]
    room.put_vectors(vectors)
    assert waiting(room, 10) == {}
    again = read_batch([PutOp(ns, "k", {"text": "green tea"}), PutOp(ns, "l", {"text": "other"})])
    assert store._engine.needs(again).texts == ["other"]
    plain = open_store()._engine.rooms.get(ns)
    plain.put_vectors(vectors)
    assert waiting(plain, 10) == {}


def test_a_search_does_not_see_half_of_anothers_write(
    open_store: Any, ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranking reads one state of the index, whatever is committed between its queries."""
    store, other = open_store(sync_interval=60), open_store(sync_interval=60)
    for n in range(5):
        store.put(ns, f"k{n}", {"text": f"tea number{n}"})
    other.get(ns, "k0")
    postings, writes = Index.postings, iter(range(100))

    def interrupted(self: Index, *args: Any) -> Any:
        other.put(ns, f"new{next(writes)}", {"text": "tea anew"})
        return postings(self, *args)

    monkeypatch.setattr(Index, "postings", interrupted)
    found = store.search(ns, query="tea", limit=100)
    assert {item.key for item in found} == {f"k{n}" for n in range(5)}
    monkeypatch.undo()
    assert len(store.search(ns, query="tea", limit=100)) == 5 + next(writes)


def test_a_namespace_waits_for_no_lock_of_another(open_store: Any) -> None:
    """Each has its own."""
    store, other = open_store(), open_store()
    with store._engine.rooms.locked([("b",)]):
        other.put(("a",), "k", {"n": 2})
        assert other.get(("a",), "k").value == {"n": 2}


def test_what_a_look_reads_does_not_put_off_the_next_one(
    open_store: Any, ns: Namespace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look may take its share of the time; what was changed is read once, and isn't its price."""
    store = open_store(sync_interval=0.1)
    store.put(ns, "k", {"text": "tea"})
    (folder / "facts").mkdir(exist_ok=True)
    (folder / "facts" / "first.md").write_text("I like green tea\n")
    monkeypatch.setattr(module, "_SYNC_SHARE", 1e-9)
    store._engine.room(ns).look_again()
    assert [item.value["text"] for item in store.search(ns, filter={"role": "memory"})] == ["I like green tea"]
    (folder / "facts" / "second.md").write_text("I like black tea\n")
    time.sleep(0.11)
    assert len(store.search(ns, filter={"role": "memory"})) == 2


def test_a_file_that_lost_against_another_is_named(open_store: Any, ns: Namespace, folder: Path) -> None:
    """It is left out like one that can't be read, and the reason says which one counts."""
    store = open_store()
    store.put(ns, "k", {"text": "tea"})
    (path,) = folder.glob("items/*.md")
    copy = path.with_name("copy.md")
    copy.write_bytes(path.read_bytes())
    assert len(store.search(ns)) == 1
    ((left_out, reason),) = store.unreadable().items()
    assert left_out in (path, copy)
    assert "same id" in reason
