"""The file that holds a folder's documents: opened by many threads and processes, thrown away where it is broken."""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langmem_plus.errors import StoreError

logger = logging.getLogger(__name__)

# Raised whenever the tables, the tokens or the way of cutting change.
VERSION = 1
_BUSY_SECONDS = 60.0
_PART = 500  # names in one statement
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files(path TEXT PRIMARY KEY, size INTEGER, changed INTEGER, number INTEGER, hash BLOB,
  title TEXT, modified REAL, bytes INTEGER);
CREATE TABLE IF NOT EXISTS skipped(path TEXT PRIMARY KEY, size INTEGER, changed INTEGER, number INTEGER, reason TEXT);
CREATE TABLE IF NOT EXISTS chunks(id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, ordinal INTEGER NOT NULL,
  twin INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, headings TEXT NOT NULL, first INTEGER, last INTEGER);
CREATE INDEX IF NOT EXISTS chunks_path ON chunks(path, ordinal);
CREATE INDEX IF NOT EXISTS chunks_key ON chunks(key);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(tokens, tokenize='ascii');
CREATE TABLE IF NOT EXISTS vectors(model TEXT NOT NULL, key TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE(model, key));
CREATE TABLE IF NOT EXISTS bits(model TEXT NOT NULL, key TEXT NOT NULL, bits BLOB NOT NULL, UNIQUE(model, key));
CREATE TABLE IF NOT EXISTS placed(place TEXT NOT NULL, key TEXT NOT NULL, UNIQUE(place, key));
CREATE TABLE IF NOT EXISTS settings(name TEXT PRIMARY KEY, value TEXT);
"""


def leave_to_parent(*things: object) -> None:
    """In a forked child: what the parent has open is kept for good; to let go of it would end it for the parent."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class Database:
    """The database, opened at its first use; thread-safe, and shared with other processes.

    Args:
        path: the file; its folder is made.
        settings: what the chunks depend on; with others, all documents are read again.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self.path, self._settings = path, settings
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._db: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process, held by one thread at a time.

        Raises:
            StoreError: it can't be opened or used.
        """
        if self._pid != os.getpid():  # a forked child: the parent's connection isn't its own, nor is the lock
            leave_to_parent(self._db)
            self._lock, self._pid, self._db = threading.RLock(), os.getpid(), None
        with self._lock:
            if self._db is None:
                self._db = self._open()
            try:
                yield self._db
            except sqlite3.Error as error:
                raise StoreError(
                    f"the documents' index {str(self.path)!r} can't be used ({error}): delete it."
                ) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """As `using`, in one transaction: all of it or nothing."""
        with self.using() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                logger.warning("the documents' index %r is broken (%s) and is built anew", str(self.path), error)
                for ending in ("", "-wal", "-shm"):
                    Path(f"{self.path}{ending}").unlink(missing_ok=True)
                return self._connect()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the documents' index {str(self.path)!r} can't be opened ({error}): see who may write there."
            ) from error

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA secure_delete=ON")  # what is removed from the folder doesn't stay here
            db.execute("BEGIN IMMEDIATE")
            wanted = json.dumps([VERSION, self._settings])
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            found = db.execute("SELECT value FROM settings WHERE name='made'").fetchone()
            if found is None or found[0] != wanted:
                for table in ("files", "skipped", "chunks", "words"):
                    db.execute(f"DELETE FROM {table}")
                db.execute("INSERT OR REPLACE INTO settings VALUES('made', ?)", (wanted,))
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def select(self, sql: str, names: Sequence[Any], *before: Any) -> list[Any]:
        """The rows of a query with ``IN ({})`` for some of many names; ``before`` are the values ahead of them."""
        rows: list[Any] = []
        with self.using() as db:
            for start in range(0, len(names), _PART):
                part = names[start : start + _PART]
                rows += db.execute(sql.format(",".join("?" * len(part))), (*before, *part)).fetchall()
        return rows
