"""One small SQLite file a namespace that knows everything about its files, derived from them at no cost.

Rows are versions: an update writes a new row with a higher id, so that what is cached in memory only ever appends.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langmem_plus.store.markdown.describe import Description, text_hash
from langmem_plus.store.markdown.frontmatter import Entry

# Raised whenever the tables, the tokens or the descriptions change: an index of another version is built anew.
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS items(
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE,
  inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  value TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, indexing TEXT,
  role TEXT, status TEXT, thread_id TEXT, place TEXT, born INTEGER NOT NULL, pending INTEGER NOT NULL, last_scores TEXT
);
CREATE INDEX IF NOT EXISTS items_newest ON items(updated_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS items_thread ON items(thread_id, place, born) WHERE place IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_pending ON items(id) WHERE pending;
CREATE TABLE IF NOT EXISTS gone(seq INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS chunks(item INTEGER NOT NULL, ordinal INTEGER NOT NULL, hash BLOB NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY(item, ordinal)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skipped(path TEXT PRIMARY KEY, inode INTEGER, size INTEGER, mtime INTEGER, reason TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(tokens, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS windows USING fts5(tokens, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, 'row');
"""
_COLUMNS = "id, key, path, value, created_at, updated_at, indexing, last_scores"
_CHUNK = 500


@dataclass(frozen=True)
class Stamp:
    """What tells that a file has changed."""

    inode: int
    size: int
    mtime: int

    @staticmethod
    def of(stat: os.stat_result) -> Stamp:
        """The stamp of a file."""
        return Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns)


@dataclass(frozen=True)
class Row:
    """An indexed item."""

    id: int
    key: str
    path: str
    value: str
    created_at: str
    updated_at: str
    indexing: str | None
    last_scores: str | None

    def load_value(self) -> dict[str, Any]:
        """The value, fresh at each call, with the scores of its last recall where it is a record."""
        value: dict[str, Any] = json.loads(self.value)
        if self.last_scores is not None and "last_scores" in value:
            value["last_scores"] = json.loads(self.last_scores)
        return value


class Index:
    """One namespace's database. Not thread-safe: its owner holds a lock around each call."""

    def __init__(self, path: Path, vectors: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        vectors.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=OFF")  # derived: after a power cut it is built anew
        version = self.db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"index version {version}, not {_VERSION}")
        if version == 0:
            self.db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={_VERSION};COMMIT")
        self.db.execute("ATTACH ? AS paid", (str(vectors),))
        self.db.execute("PRAGMA paid.journal_mode=WAL")
        self.db.execute("PRAGMA paid.synchronous=NORMAL")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS paid.vectors(model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, "
            "PRIMARY KEY(model, hash)) WITHOUT ROWID"
        )
        self._files = [(file, Stamp.of(file.stat()).inode) for file in (path, vectors)]

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def is_current(self) -> bool:
        """Whether the databases are still the ones on disk: somebody may have deleted them."""
        try:
            return all(file.stat().st_ino == inode for file, inode in self._files)
        except FileNotFoundError:
            return False

    def begin(self) -> None:
        """Start a write."""
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End a write."""
        self.db.execute("COMMIT")

    def rollback(self) -> None:
        """Give a write up."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    # reading

    def get(self, key: str) -> Row | None:
        """The item with a key."""
        found = self.db.execute(f"SELECT {_COLUMNS} FROM items WHERE key=?", (key,)).fetchone()
        return Row(*found) if found else None

    def load(self, ids: Sequence[int]) -> dict[int, Row]:
        """Items by their ids."""
        rows: dict[int, Row] = {}
        for start in range(0, len(ids), _CHUNK):
            part = [int(i) for i in ids[start : start + _CHUNK]]
            marks = ",".join("?" * len(part))
            for found in self.db.execute(f"SELECT {_COLUMNS} FROM items WHERE id IN ({marks})", part):
                rows[found[0]] = Row(*found)
        return rows

    def newest(self, before: tuple[str, int] | None, where: str, values: Sequence[Any]) -> list[Row]:
        """A page of items, newest update first, below a position."""
        clause, position = ("(updated_at, id) < (?, ?)", before) if before else ("1", ())
        sql = (
            f"SELECT {_COLUMNS} FROM items WHERE {clause} AND {where} ORDER BY updated_at DESC, id DESC LIMIT {_CHUNK}"
        )
        return [Row(*found) for found in self.db.execute(sql, (*position, *values))]

    def count(self) -> int:
        """The number of items."""
        return int(self.db.execute("SELECT count(*) FROM items").fetchone()[0])

    def paths(self) -> dict[str, Stamp]:
        """Every file that the index has read, unreadable ones too."""
        sql = "SELECT path, inode, size, mtime FROM items UNION ALL SELECT path, inode, size, mtime FROM skipped"
        return {path: Stamp(*stamp) for path, *stamp in self.db.execute(sql)}

    def holder(self, path: str) -> str | None:
        """The key of the item in a file."""
        found = self.db.execute("SELECT key FROM items WHERE path=?", (path,)).fetchone()
        return str(found[0]) if found else None

    def pending(self) -> list[str]:
        """The keys of the turns whose facts haven't been drawn out, oldest first."""
        return [key for (key,) in self.db.execute("SELECT key FROM items WHERE pending ORDER BY id")]

    def match(self, table: str, terms: Iterable[str], limit: int) -> list[tuple[int, float]]:
        """The ids and BM25 scores (larger is better) of the items that hold any of the terms, best first."""
        query = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
        if not query:
            return []
        sql = f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"
        return list(self.db.execute(sql, (query, limit)))

    def rarity(self, terms: Iterable[str]) -> dict[str, float]:
        """The inverse document frequency of each term, BM25's, above 0 also for a term that every item holds."""
        total = self.count()
        found = {}
        for term in set(terms):
            row = self.db.execute("SELECT doc FROM vocabulary WHERE term=?", (term,)).fetchone()
            holding = min(row[0], total) if row else 0
            found[term] = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        return found

    def tokens(self, ids: Sequence[int], table: str = "words") -> dict[int, str]:
        """The search tokens of items."""
        found: dict[int, str] = {}
        for start in range(0, len(ids), _CHUNK):
            part = [int(i) for i in ids[start : start + _CHUNK]]
            marks = ",".join("?" * len(part))
            found.update(self.db.execute(f"SELECT rowid, tokens FROM {table} WHERE rowid IN ({marks})", part))
        return found

    # writing, between begin and commit

    def put(self, entry: Entry, description: Description, path: str, stamp: Stamp) -> int:
        """Write an item as a new version and return its id."""
        old = self.db.execute(
            "SELECT id, born, last_scores FROM items WHERE key=? OR path=? ORDER BY key=? DESC",
            (entry.key, path, entry.key),
        ).fetchall()
        for row in old:
            self._drop(row[0])
        record = entry.role is not None
        own_scores = entry.value.get("last_scores") if record else None
        scores = json.dumps(own_scores) if own_scores is not None else (old[0][2] if old and record else None)
        value = {**entry.value, "last_scores": None} if record else entry.value
        cursor = self.db.execute(
            "INSERT INTO items(key, path, inode, size, mtime, value, created_at, updated_at, indexing, role, status, "
            "thread_id, place, born, pending, last_scores) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(entry.key, path, stamp.inode, stamp.size, stamp.mtime, json.dumps(value)),
                *(entry.created_at, entry.updated_at, None if entry.index is None else json.dumps(entry.index)),
                *(description.role, description.status, description.thread_id, description.place),
                *(old[0][1] if old else -1, description.pending, scores),
            ),
        )
        row_id = int(cursor.lastrowid or 0)
        if not old:
            self.db.execute("UPDATE items SET born=id WHERE id=?", (row_id,))
        if description.words:
            self.db.execute("INSERT INTO words(rowid, tokens) VALUES(?, ?)", (row_id, description.words))
        self.db.executemany(
            "INSERT INTO chunks VALUES(?,?,?,?)",
            [(row_id, i, text_hash(text), text) for i, text in enumerate(description.texts)],
        )
        return row_id

    def restamp(self, path: str, stamp: Stamp) -> None:
        """Note that a file was touched but says the same."""
        self.db.execute(
            "UPDATE items SET inode=?, size=?, mtime=? WHERE path=?", (stamp.inode, stamp.size, stamp.mtime, path)
        )

    def skip(self, path: str, stamp: Stamp, reason: str) -> None:
        """Note a file that holds no item, so that it isn't read again until it changes."""
        self.remove_path(path)
        self.db.execute(
            "INSERT OR REPLACE INTO skipped VALUES(?,?,?,?,?)", (path, stamp.inode, stamp.size, stamp.mtime, reason)
        )

    def remove(self, key: str) -> None:
        """Forget an item."""
        for (row_id,) in self.db.execute("SELECT id FROM items WHERE key=?", (key,)).fetchall():
            self._drop(row_id)

    def remove_path(self, path: str) -> None:
        """Forget whatever stood in a file."""
        for (row_id,) in self.db.execute("SELECT id FROM items WHERE path=?", (path,)).fetchall():
            self._drop(row_id)
        self.db.execute("DELETE FROM skipped WHERE path=?", (path,))

    def _drop(self, row_id: int) -> None:
        for sql in (
            "DELETE FROM items WHERE id=?",
            "DELETE FROM chunks WHERE item=?",
            "DELETE FROM words WHERE rowid=?",
            "DELETE FROM windows WHERE rowid=?",
            "INSERT INTO gone(id) VALUES(?)",
        ):
            self.db.execute(sql, (row_id,))

    def set_scores(self, key: str, scores: str) -> None:
        """Keep the scores of an item's last recall."""
        self.db.execute("UPDATE items SET last_scores=? WHERE key=?", (scores, key))

    def threads(self, ids: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
        """The threads of some items, each with all of its turns in order."""
        names: set[str] = set()
        for start in range(0, len(ids), _CHUNK):
            part = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            sql = f"SELECT DISTINCT thread_id FROM items WHERE place IS NOT NULL AND id IN ({marks})"
            names.update(name for (name,) in self.db.execute(sql, part))
        for name in sorted(names):
            yield name, self.thread(name)

    def thread(self, name: str) -> list[int]:
        """The turns of a thread in order."""
        sql = "SELECT id FROM items WHERE place IS NOT NULL AND thread_id=? ORDER BY place, born"
        return [row_id for (row_id,) in self.db.execute(sql, (name,))]

    def write_windows(self, windows: dict[int, str]) -> None:
        """Write the tokens of items together with their neighbours'; unchanged ones are left alone."""
        before = self.tokens(list(windows), "windows")
        changed = {row_id: text for row_id, text in windows.items() if before.get(row_id) != text}
        self.db.executemany("DELETE FROM windows WHERE rowid=?", [(i,) for i in changed if i in before])
        self.db.executemany("INSERT INTO windows(rowid, tokens) VALUES(?, ?)", changed.items())

    # vectors

    def known_vectors(self, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Which texts have a vector of a model."""
        found: set[bytes] = set()
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash FROM paid.vectors WHERE model=? AND hash IN ({marks})"
            found.update(h for (h,) in self.db.execute(sql, (model, *part)))
        return found

    def put_vectors(self, model: str, vectors: dict[bytes, bytes]) -> None:
        """Keep vectors as little-endian float32."""
        rows = [(model, h, vector) for h, vector in vectors.items()]
        self.db.executemany("INSERT OR REPLACE INTO paid.vectors VALUES(?,?,?)", rows)

    def texts(self, hashes: Sequence[bytes]) -> list[str]:
        """The distinct texts with these hashes that items still hold."""
        found: dict[bytes, str] = {}
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            found.update(self.db.execute(f"SELECT hash, text FROM chunks WHERE hash IN ({marks})", part))
        return list(found.values())

    # following what changed

    def position(self) -> tuple[int, int]:
        """The last item written and the last one dropped; equal positions mean that nothing changed."""
        found = dict(self.db.execute("SELECT name, seq FROM sqlite_sequence"))
        return found.get("items", 0), found.get("gone", 0)

    def dropped(self, after: int) -> list[int]:
        """The items dropped since a position."""
        return [row_id for (row_id,) in self.db.execute("SELECT id FROM gone WHERE seq > ?", (after,))]

    def outlines(self, after: int) -> list[tuple[int, str | None, str | None, str | None, str | None, int]]:
        """Id, role, status, thread, place and first id of the items written since a position, oldest first."""
        sql = "SELECT id, role, status, thread_id, place, born FROM items WHERE id > ? ORDER BY id"
        return list(self.db.execute(sql, (after,)))

    def chunk_vectors(self, after: int, model: str) -> list[tuple[int, bytes, bytes | None]]:
        """Item, text hash and vector (None where it still waits) of the texts written since a position."""
        sql = (
            "SELECT c.item, c.hash, v.vector FROM chunks c "
            "LEFT JOIN paid.vectors v ON v.model=? AND v.hash=c.hash WHERE c.item > ? ORDER BY c.item, c.ordinal"
        )
        return list(self.db.execute(sql, (model, after)))

    def vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors of some texts, where they are there."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash, vector FROM paid.vectors WHERE model=? AND hash IN ({marks})"
            found.update(self.db.execute(sql, (model, *part)))
        return found
