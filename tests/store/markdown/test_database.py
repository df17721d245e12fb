"""A namespace's database, lost, broken, busy or not writable."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown import database as module
from langmem_plus.store.markdown.connection import Connection
from langmem_plus.store.markdown.database import Database
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout

Make = Callable[[], Database]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """An empty root."""
    layout = Layout(tmp_path)
    layout.create()
    return layout


@pytest.fixture
def opened() -> list[None]:
    """How often a database was opened."""
    return []


@pytest.fixture
def make(layout: Layout, opened: list[None]) -> Iterator[Make]:
    """Makes the database of one namespace, as several processes would."""
    made: list[Database] = []

    def one() -> Database:
        made.append(Database(layout, ("a",), lambda: opened.append(None)))
        return made[-1]

    yield one
    for database in made:
        database.close()


def _write(index: Index) -> None:
    index.vectors.put("m", {b"a": b"1234"})
    index.db.execute("INSERT INTO skipped(path) VALUES('x')")


def _rows(index: Index) -> tuple[int, int]:
    """How many rows the index has, and how many vectors."""
    return len(index.skipped()), len(index.vectors.known("m", [b"a"]))


def _file(folder: Path, ending: str = ".db") -> Path:
    return next(path for path in folder.iterdir() if path.name.endswith(ending))


def test_it_opens_at_the_first_use(make: Make, layout: Layout, opened: list[None]) -> None:
    """And again after it was closed."""
    database = make()
    assert list(layout.index.iterdir()) == []
    database.use(_write)
    assert database.use(_rows) == (1, 1)
    assert len(opened) == 1
    database.close()
    assert database.use(_rows) == (1, 1)
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (lambda layout: shutil.rmtree(layout.index), (0, 1)),
        (lambda layout: shutil.rmtree(layout.vectors), (1, 0)),
        (lambda layout: (shutil.rmtree(layout.index), shutil.rmtree(layout.vectors)), (0, 0)),
        (lambda layout: _file(layout.index).unlink(), (0, 1)),
        (lambda layout: _file(layout.index, ".db-wal").unlink(), (0, 1)),
        (lambda layout: (_file(layout.index).unlink(), _file(layout.index, "-shm").unlink()), (0, 1)),
        (lambda layout: shutil.rmtree(layout.locks), (1, 1)),
    ],
)
def test_what_is_removed_while_in_use_is_made_again(
    make: Make, layout: Layout, opened: list[None], damage: Callable[[Layout], Any], left: tuple[int, int]
) -> None:
    """Everyone who had it open sees the new one; only lost vectors are lost."""
    one, other = make(), make()
    one.use(_write)
    other.use(_rows)
    damage(layout)
    assert one.use(_rows) == left
    assert other.use(_rows) == left
    with one.locked():
        one.use(lambda index: index.db.execute("INSERT INTO skipped(path) VALUES('y')"))
    assert other.use(_rows)[0] == left[0] + 1
    assert len(opened) == 2 if left == (1, 1) else 4


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"no database at all, but long enough" * 200])
@pytest.mark.parametrize("which", ["index", "vectors"])
def test_a_broken_file_is_replaced(
    make: Make, layout: Layout, which: str, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Found when it is opened."""
    database = make()
    database.use(_write)
    database.close()
    file = _file(getattr(layout, which))
    file.write_bytes(content)
    rows, vectors = database.use(_rows)
    assert rows == (0 if which == "index" or content else 1)
    assert vectors == (1 if which == "index" else 0)
    assert ("is broken" in caplog.text) == bool(content)


def test_a_file_truncated_while_in_use_is_replaced(make: Make, layout: Layout) -> None:
    """Found at the next use that reads it."""
    database = make()
    database.use(_write)
    database.use(lambda index: index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    with _file(layout.index).open("r+b") as file:
        file.truncate(8192)
    assert database.use(lambda index: [index.postings("words", "tea"), index.position(), index.count()])[2] == 0
    database.use(_write)
    assert database.use(_rows) == (1, 1)


def test_a_job_that_finds_the_index_broken_runs_once_more(make: Make) -> None:
    """On a new one; should that be broken, too, the error says that the files are untouched."""
    database, runs = make(), []
    database.use(_write)

    def break_once(index: Index) -> int:
        runs.append(index.identity)
        if len(runs) == 1:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return _rows(index)[0]

    assert database.use(break_once) == 0
    assert len(set(runs)) == 2

    def broken(index: Index) -> None:
        raise sqlite3.DatabaseError("malformed")

    with pytest.raises(StoreError, match="Markdown files are untouched"):
        database.use(broken)
    assert database.use(_rows) == (0, 1)


def test_a_mistake_of_ours_is_no_broken_index(make: Make) -> None:
    """It isn't thrown away for a wrong call."""
    database = make()
    database.use(_write)
    with pytest.raises(sqlite3.ProgrammingError):
        database.use(lambda index: index.db.execute("SELECT ?", ()))
    with pytest.raises(ZeroDivisionError):
        database.use(lambda index: 1 // 0)
    assert database.use(_rows) == (1, 1)


def test_a_busy_index_is_no_broken_one(make: Make, layout: Layout) -> None:
    """The caller is told to try again."""
    database = make()
    database.use(_write)
    database.use(lambda index: index.db.execute("PRAGMA busy_timeout=0"))
    other = sqlite3.connect(_file(layout.index), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"busy.*try again"):
        database.use(_write)
    other.execute("COMMIT")
    other.close()
    assert database.use(_rows) == (1, 1)


def test_a_full_disk_is_no_broken_index(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in memory stands in for it; what is there can be read again when there is room, or at once where what
    couldn't be written was only a hint.
    """
    database = make()
    database.use(_write)

    def fill(index: Index) -> None:
        pages = index.db.execute("PRAGMA page_count").fetchone()[0]
        index.db.execute(f"PRAGMA max_page_count={pages}")
        with index.writing():
            index.db.execute("INSERT INTO skipped(path, detail) VALUES('big', zeroblob(1000000))")

    with pytest.raises(StoreError, match="make room"):
        database.use(fill, hint=True)
    assert database.use(_rows) == (1, 1)
    with pytest.raises(StoreError, match="make room"):
        database.use(fill)
    assert database.use(_rows) == (0, 1)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1e12)
    assert database.use(_rows) == (1, 1)


def _refuse(monkeypatch: pytest.MonkeyPatch, layout: Layout) -> None:
    """As a folder that can't be written does (a test may run as root, whom no permission stops)."""
    make_index = Connection._make_index

    def refused(self: Connection) -> None:
        if not self.in_memory:
            sqlite3.connect(layout.root / "nowhere" / "x.db")
        make_index(self)

    monkeypatch.setattr(Connection, "_make_index", refused)


def test_where_the_disk_cannot_be_written_the_index_is_in_memory(
    make: Make, layout: Layout, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the vectors that are there; one warning names the folder; after a while the disk is tried again."""
    database = make()
    database.use(_write)
    database.close()
    with monkeypatch.context() as patch:
        _refuse(patch, layout)
        with caplog.at_level(logging.WARNING):
            assert database.use(_rows) == (0, 1)
            assert database.use(lambda index: index.in_memory)
        assert caplog.text.count("kept in memory") == 1
        assert str(layout.index) in caplog.text
    assert database.use(_rows) == (0, 1)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1e12)
    assert database.use(_rows) == (1, 1)


def test_a_broken_index_that_cannot_be_removed_is_left(
    make: Make, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one in memory stands in for it."""
    database = make()
    database.use(_write)
    database.close()
    _file(layout.index).write_bytes(b"no database" * 500)

    def refuse(*args: Any, **more: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert database.use(_rows) == (0, 1)
    assert database.use(lambda index: index.in_memory)


def test_vectors_are_not_given_up_for_a_passing_fault(
    make: Make, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were paid for: only a surely broken file is removed."""
    database = make()
    database.use(_write)
    database.close()
    _file(layout.index).write_bytes(b"no database" * 500)
    lock = sqlite3.connect(_file(layout.vectors), isolation_level=None)
    lock.execute("PRAGMA locking_mode=EXCLUSIVE")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(path, **{**more, "timeout": 0}))
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError):
        database.use(_rows)
    lock.execute("COMMIT")
    lock.close()
    assert database.use(_rows) == (0, 1)


def test_a_lock_file_that_cannot_be_used_is_named(make: Make, layout: Layout) -> None:
    """With what to do."""
    layout.locks.rmdir()
    layout.locks.touch()
    with pytest.raises(StoreError, match=r"lock file.*make its folder writable"), make().locked():
        pytest.fail("it isn't held")


def test_who_does_not_want_to_wait_goes_on_without(make: Make) -> None:
    """Whether another thread or another process has it."""
    one, other = make(), make()
    with one.locked():
        with one.trying() as mine, other.trying() as theirs:
            assert (mine, theirs) == (True, False)
        answers: list[bool] = []

        def ask() -> None:
            with one.trying() as taken:
                answers.append(taken)
            answers.append(one.close_if_idle())

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        assert answers == [False, False]
    with other.trying() as theirs:
        assert theirs
    assert one.close_if_idle()
