"""An open SQLite database of a namespace: its tables, its transactions, and whether it is still the one on disk."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from langmem_plus.errors import StoreError

logger = logging.getLogger(__name__)

# Raised whenever the tables, the tokens or the descriptions change: an index of another version is built anew.
VERSION = 5
# Dropped versions that are remembered for those who follow the changes.
REMEMBERED_DROPS = 10_000
# Beside an index that holds, or held, something that expires.
MORTALS = "-mortals"
_CHUNK = 500
_BUSY_SECONDS = 30.0  # that another writer is waited for
_HINT_SECONDS = 0.05  # the same, for what can be written later
_CACHE = 512  # kilobytes of pages that each of a namespace's databases keeps in memory
_SCHEMA = """
CREATE TABLE IF NOT EXISTS items(
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE,
  inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
  value TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, indexing TEXT,
  role TEXT, status TEXT, thread_id TEXT, place TEXT, born INTEGER NOT NULL, pending INTEGER NOT NULL, last_scores TEXT,
  ttl REAL, expires_at TEXT, ends_at TEXT, deadline TEXT
);
CREATE INDEX IF NOT EXISTS items_deadline ON items(deadline) WHERE deadline IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_newest ON items(updated_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS items_thread ON items(thread_id, place, born) WHERE place IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_pending ON items(id) WHERE pending;
CREATE TABLE IF NOT EXISTS gone(seq INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS chunks(item INTEGER NOT NULL, ordinal INTEGER NOT NULL, hash BLOB NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY(item, ordinal)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chunks_hash ON chunks(hash);
CREATE TABLE IF NOT EXISTS skipped(path TEXT PRIMARY KEY, inode INTEGER, size INTEGER, mtime INTEGER, ctime INTEGER,
  reason TEXT, detail TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(tokens, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS windows USING fts5(tokens, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, 'row');
"""
# Which items hold a word: read from the view itself, so each connection makes these for itself.
_POSTINGS = """
CREATE VIRTUAL TABLE temp.words_postings USING fts5vocab(main, words, instance);
CREATE VIRTUAL TABLE temp.windows_postings USING fts5vocab(main, windows, instance);
"""
_VECTORS = """CREATE TABLE IF NOT EXISTS paid.vectors(model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL,
  UNIQUE(model, hash))"""  # in the order in which they come: new ones are appended, and all of them are read in one go
# Token bits of the same texts.
_BITS = """CREATE TABLE IF NOT EXISTS paid.bits(model TEXT NOT NULL, hash BLOB NOT NULL, bits BLOB NOT NULL,
  UNIQUE(model, hash))"""
# How far reads prolonged the time that a file tells. The index knows, too, but that may be deleted.
_PROLONGED = """CREATE TABLE IF NOT EXISTS paid.prolonged(key BLOB PRIMARY KEY, ttl REAL NOT NULL,
  expires_at TEXT NOT NULL, until TEXT NOT NULL) WITHOUT ROWID"""
# SQLite's names for errors that tell of the disk or of other users, not of a broken database.
_OUTSIDE = ("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOMEM")
# The disk gives or takes nothing; but for those that tell of a file that is shorter than it should be, or damaged.
_IO, _DAMAGE = "SQLITE_IOERR", ("SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_DATA", "SQLITE_IOERR_CORRUPTFS")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")


def to_sql(text: str | None) -> str | bytes | None:
    """A text as SQLite takes it: one with half a surrogate pair, which has no UTF-8, as bytes."""
    try:
        if text is not None:
            text.encode()
    except UnicodeEncodeError:
        return str(text).encode("utf-8", "surrogatepass")
    return text


def from_sql(value: Any) -> Any:
    """The text that `to_sql` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def is_outside(error: sqlite3.Error) -> bool:
    """Whether the disk is full or can't be written, and the database itself may be sound."""
    name = str(getattr(error, "sqlite_errorname", ""))
    return name.startswith(_OUTSIDE) or (name.startswith(_IO) and name not in _DAMAGE)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the database."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_BUSY)


class OutdatedIndexError(sqlite3.DatabaseError):
    """The index was made by another version of this package: nothing is wrong with it, and it is built anew."""


class Connection:
    """One namespace's database with its vectors attached as ``paid``.

    Args:
        path: the index; None keeps it in memory.
        vectors: the vectors. Where they can't be written while the index is in memory, a copy in memory stands in.

    Attributes:
        in_memory: whether the index doesn't reach the disk.
        identity: tells this index from one that was built anew, whose ids mean other items.
    """

    def __init__(self, path: Path | None, vectors: Path) -> None:
        self.in_memory = path is None
        self._path = path
        self.db = sqlite3.connect(
            path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
        )
        files = [] if path is None else [path]
        try:
            self._make_index()
            try:
                self._attach_vectors(vectors)
                files.append(vectors)
            except sqlite3.Error as error:
                if path is not None or not is_outside(error):
                    raise
                self._copy_vectors(vectors)
        except BaseException:
            self.db.close()
            raise
        files += [file.with_name(file.name + "-wal") for file in files]
        self._files = [(str(file), file.stat().st_ino) for file in files if file.exists()]

    def _make_index(self) -> None:
        execute = self.db.execute
        execute("PRAGMA journal_mode=WAL")
        # Flushed at checkpoints alone. After a power cut the last commits may be missing, which the files make up for;
        # without any flushing, pages of different ages could be left, and a search would miss what nobody misses.
        execute("PRAGMA synchronous=NORMAL")
        execute(f"PRAGMA cache_size=-{_CACHE}")  # what searches read often is held in arrays
        version = execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise OutdatedIndexError(f"index version {version}, not {VERSION}")
        if version == 0:
            identity = secrets.randbelow(2**31 - 1) + 1
            self.db.executescript(
                f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA application_id={identity};PRAGMA user_version={VERSION};COMMIT"
            )
        self.db.executescript(_POSTINGS)
        self.identity = int(execute("PRAGMA application_id").fetchone()[0])

    def _attach_vectors(self, vectors: Path) -> None:
        self.db.execute("ATTACH ? AS paid", (str(vectors),))
        self.db.execute("PRAGMA paid.journal_mode=WAL")
        self.db.execute("PRAGMA paid.synchronous=NORMAL")
        self.db.execute(f"PRAGMA paid.cache_size=-{_CACHE}")
        self._make_kept()
        self.db.execute("SELECT 1 FROM paid.vectors LIMIT 1").fetchone()

    def _copy_vectors(self, vectors: Path) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.db.execute("DETACH paid")
        self.db.execute("ATTACH ':memory:' AS paid")
        self._make_kept()
        # What stands in the log alone is read, too, where the disk allows for it.
        for mode in ("mode=ro", "mode=ro&immutable=1") if vectors.exists() else ():
            with contextlib.suppress(sqlite3.Error):  # unreadable vectors are embedded again
                self.db.execute("ATTACH ? AS kept", (f"{vectors.absolute().as_uri()}?{mode}",))
                for table in ("vectors", "prolonged", "bits"):
                    self.db.execute(f"INSERT OR IGNORE INTO paid.{table} SELECT * FROM kept.{table}")
                return
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("DETACH kept")

    def _make_kept(self) -> None:
        for table in (_VECTORS, _PROLONGED):
            self.db.execute(table)
        kinds = [kind for (kind,) in self.db.execute("SELECT type FROM paid.sqlite_master WHERE name='bits'")]
        columns = [name for (name,) in self.db.execute("SELECT name FROM pragma_table_info('bits', 'paid')")]
        if kinds and (kinds != ["table"] or columns != ["model", "hash", "bits"]):
            self.db.execute(f"DROP {kinds[0]} paid.bits")  # somebody else's: bits are derived, and made again
        self.db.execute(_BITS)

    def note_mortals(self) -> None:
        """Note beside the index, for those who don't open it, that something in it expires."""
        if self._path is not None:
            marker = self._path.with_name(self._path.name + MORTALS)
            with contextlib.suppress(OSError):  # without it the namespace is listed a while too long
                if not marker.exists():
                    marker.touch()

    def close(self) -> None:
        """Close it."""
        self.db.close()

    def condition(self) -> Literal["current", "gone", "torn"]:
        """Whether its files are still the ones on disk: somebody may have deleted them, or the log of one alone, which
        leaves a database that others see differently.
        """
        state: Literal["current", "gone", "torn"] = "current"
        for file, inode in self._files:
            try:
                same = os.stat(file).st_ino == inode  # noqa: PTH116 - at every use, so the cheapest call
            except FileNotFoundError:
                same = False
            if not same and not file.endswith("-wal"):
                return "gone"
            if not same:
                state = "torn"
        return state

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One write transaction: all or nothing."""
        with self._transaction():
            # The first statement takes the lock, on the index alone: vectors may be written meanwhile.
            self.db.execute("DELETE FROM gone WHERE seq <= (SELECT max(seq) FROM gone) - ?", (REMEMBERED_DROPS,))
            yield

    @contextlib.contextmanager
    def writing_vectors(self, *, patient: bool = True) -> Iterator[None]:
        """One write transaction on the vectors, which waits for no other one on the index; with ``patient`` off, hardly
        for another one on the vectors either. What it reads of the index stands there once it holds the vectors, so
        that nothing is kept of what an erasure has taken.
        """
        with contextlib.nullcontext() if patient else self._waiting(_HINT_SECONDS), self._transaction():
            self.db.execute("DELETE FROM paid.bits WHERE 0")  # nothing goes, but the lock is taken
            yield

    @contextlib.contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        self.db.execute(f"PRAGMA busy_timeout={seconds * 1000:.0f}")
        try:
            yield
        finally:
            self.db.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def suppressing_outside(self) -> Iterator[None]:
        """For what can be done without: where the disk is full or can't be written, it is left."""
        try:
            yield
        except sqlite3.Error as error:
            if not is_outside(error):
                raise
            logger.warning("some of what is derived can't be kept now: %s", error)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the database for all reads inside; what others commit meanwhile isn't seen."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            if self.db.in_transaction:
                self.db.execute("COMMIT")

    def select(self, sql: str, values: Sequence[Any], *before: Any) -> Iterable[Any]:
        """Rows of a query whose ``{}`` stands for any number of values."""
        if len(values) <= _CHUNK:
            return self.db.execute(sql.format(",".join("?" * len(values))), (*before, *values))
        return self._select_much(sql, values, before)

    def _select_much(self, sql: str, values: Sequence[Any], before: tuple[Any, ...]) -> Iterator[Any]:
        for start in range(0, len(values), _CHUNK):
            part = values[start : start + _CHUNK]
            yield from self.db.execute(sql.format(",".join("?" * len(part))), (*before, *part))


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """What to tell a caller whose index can't be used now."""
    if is_busy(error):
        return StoreError(f"the index {str(path)!r} is busy ({error}): try again.")
    return StoreError(
        f"the index {str(path)!r} can't be used ({error}): make its folder writable and make room; "
        "the Markdown files are untouched."
    )
