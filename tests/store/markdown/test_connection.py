"""An open database: its transactions, its files, its stand-ins in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store.markdown import connection
from langmem_plus.store.markdown.connection import Connection, from_sql, is_busy, is_outside, to_sql
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.windows import write_windows

NOW = "2026-05-01T10:00:00.000000Z"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def _put(index: Index, key: str, value: dict[str, Any]) -> int:
    entry = Entry(key, value, NOW, NOW)
    with index.writing():
        row_id = index.put(entry, describe(entry, None), f"items/{key}.md", Stamp(1, 2, 3))
        write_windows(index, [row_id])
    return row_id


@pytest.mark.parametrize("text", [None, "", "tea", "\ud83d\ude00", "\udc80"])
def test_sql_texts_are_reversible(text: str | None) -> None:
    """What has no UTF-8 is kept as bytes."""
    assert from_sql(to_sql(text)) == text


def test_a_write_is_all_or_nothing(index: Index) -> None:
    """An error takes it back, ids and all."""
    _put(index, "a", {"text": "tea"})
    before = index.position()
    with pytest.raises(ZeroDivisionError), index.writing():
        entry = Entry("b", {"text": "milk"}, NOW, NOW)
        index.put(entry, describe(entry, None), "items/b.md", Stamp(1, 2, 3))
        index.remove("a")
        raise ZeroDivisionError
    assert (index.position(), index.count()) == (before, 1)
    assert index.postings("words", "tea") == [(1, 1)]


def test_reading_sees_one_state(index: Index, tmp_path: Path) -> None:
    """What another connection commits meanwhile shows afterwards."""
    other = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    with index.reading():
        assert index.position() == (0, 0)
        _put(other, "k", {"text": "tea"})
        with index.reading():
            assert index.position() == (0, 0)
        assert index.outlines(0) == []
    assert index.position()[0] == 1
    assert index.identity == other.identity
    other.close()


def test_an_index_built_anew_has_another_identity(tmp_path: Path) -> None:
    """Its ids mean other items."""
    names = []
    for number in range(2):
        index = Index(tmp_path / f"{number}.db", tmp_path / "vectors.db")
        names.append(index.identity)
        index.close()
    assert names[0] != names[1]
    again = Index(tmp_path / "0.db", tmp_path / "vectors.db")
    assert again.identity == names[0]
    again.close()


def test_an_index_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is built anew."""
    Index(tmp_path / "index.db", tmp_path / "vectors.db").close()
    monkeypatch.setattr(connection, "VERSION", 999)
    with pytest.raises(sqlite3.DatabaseError, match="version"):
        Index(tmp_path / "index.db", tmp_path / "vectors.db")


def test_its_condition_tells_what_became_of_its_files(index: Index, tmp_path: Path) -> None:
    """Removed, replaced, or without its log."""
    assert index.condition() == "current"
    log = tmp_path / "index.db-wal"
    kept = log.rename(tmp_path / "kept")
    assert index.condition() == "torn"
    kept.rename(log)
    assert index.condition() == "current"
    (tmp_path / "vectors.db-wal").unlink()
    assert index.condition() == "torn"
    (tmp_path / "vectors.db").rename(tmp_path / "other.db")
    assert index.condition() == "gone"
    (tmp_path / "vectors.db").touch()
    assert index.condition() == "gone"


def test_an_index_in_memory_keeps_vectors_on_disk(index: Index, tmp_path: Path) -> None:
    """They are paid for; the index isn't, and leaves nothing."""
    index.close()
    memory = Index(None, tmp_path / "vectors.db")
    assert (memory.in_memory, memory.condition()) == (True, "current")
    memory.vectors.put("m", {b"a": b"1234"})
    _put(memory, "k", {"text": "tea"})
    memory.close()
    again = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    assert again.vectors.known("m", [b"a"]) == {b"a"}
    assert again.count() == 0
    again.close()


def test_where_vectors_cannot_be_written_a_copy_stands_in(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with those on disk, if there are any."""
    index.vectors.put("m", {b"a": b"1234"})
    index.close()

    def refuse(self: Connection, vectors: Path) -> None:
        self.db.execute("ATTACH ? AS paid", (str(tmp_path / "nowhere" / "x.db"),))

    monkeypatch.setattr(Connection, "_attach_vectors", refuse)
    memory = Index(None, tmp_path / "vectors.db")
    assert memory.vectors.get("m", [b"a", b"b"]) == {b"a": b"1234"}
    memory.vectors.put("m", {b"b": b"5678"})
    memory.close()
    missing = Index(None, tmp_path / "nothing.db")
    assert missing.vectors.known("m", [b"a"]) == set()
    missing.close()
    monkeypatch.undo()
    again = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    assert again.vectors.known("m", [b"a", b"b"]) == {b"a"}
    again.close()


def test_errors_of_the_disk_and_of_others_are_told_from_a_broken_database(tmp_path: Path) -> None:
    """Only a broken one is thrown away."""
    one, other = (sqlite3.connect(tmp_path / "x.db", timeout=0, isolation_level=None) for _ in range(2))
    one.execute("CREATE TABLE t(a)")
    one.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as caught:
        other.execute("BEGIN IMMEDIATE")
    assert is_busy(caught.value)
    assert not is_outside(caught.value)
    other.execute("PRAGMA query_only=1")
    one.execute("COMMIT")
    one.execute("PRAGMA max_page_count=2")
    with pytest.raises(sqlite3.OperationalError) as caught:
        one.execute("INSERT INTO t VALUES(zeroblob(100000))")
    assert is_outside(caught.value)
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(tmp_path / "nowhere" / "x.db")
    assert is_outside(caught.value)
    (tmp_path / "bad.db").write_bytes(b"x" * 5000)
    bad = sqlite3.connect(tmp_path / "bad.db")
    with pytest.raises(sqlite3.DatabaseError) as broken:
        bad.execute("SELECT * FROM t")
    assert not is_outside(broken.value)
    assert not is_busy(broken.value)
    for database in (one, other, bad):
        database.close()


def test_a_connection_that_cannot_be_set_up_is_closed(tmp_path: Path) -> None:
    """Its file can be removed at once, everywhere."""
    (tmp_path / "vectors.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(sqlite3.DatabaseError):
        Connection(tmp_path / "index.db", tmp_path / "vectors.db")
    assert not (tmp_path / "index.db-wal").exists()


def test_vectors_are_written_while_the_index_is(index: Index, tmp_path: Path) -> None:
    """A long look at the files in another process makes no search wait that brings late vectors."""
    other = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    other.db.execute("PRAGMA busy_timeout=0")
    with index.writing():
        index.db.execute("INSERT INTO skipped(path) VALUES('x')")
        with other.writing_vectors():
            other.vectors.put("m", {b"a": b"1234"})
        with pytest.raises(sqlite3.OperationalError), other.writing():
            pytest.fail("both write the index")
    assert index.vectors.known("m", [b"a"]) == {b"a"}
    assert len(other.skipped()) == 1
    other.close()
