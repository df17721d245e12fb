"""What a namespace's database says of its files, derived from them at no cost.

Rows are versions: an update writes a new row with a higher id, so that what is cached in memory only ever appends.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from langmem_plus.store.markdown.bits import KeptBits
from langmem_plus.store.markdown.connection import REMEMBERED_DROPS, Connection, from_sql, to_sql
from langmem_plus.store.markdown.describe import Description
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.followed import FollowedFiles
from langmem_plus.store.markdown.vectors import Vectors
from langmem_plus.store.refused import text_hash

_COLUMNS = "id, key, path, value, created_at, updated_at, indexing, last_scores, ttl, expires_at, deadline"
_PAGE = 500
DUPLICATE = "duplicate"
UNREADABLE = "unreadable"
REMOVED = "removed"

Place = tuple[str, str, int]
"""A turn's thread, its place there, and the id of its first version."""
Outline = tuple[int, str | None, str | None, str | None, str | None, int]
"""An item's id, role, status, thread, place and the id of its first version."""


def rarity(total: int, frequencies: Mapping[str, int]) -> dict[str, float]:
    """The inverse document frequency of each term, above 0 also for a term that every item holds.

    Source: Lucene's BM25Similarity.
    """
    return {term: math.log(1 + (total - held + 0.5) / (held + 0.5)) for term, held in frequencies.items()}


def narrowed(condition: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    """What the database can tell of a filter beforehand; every condition is checked again on the values."""
    clauses, values = ["1"], []
    for name in ("role", "status", "thread_id"):
        wanted = (condition or {}).get(name)
        operators = wanted if isinstance(wanted, Mapping) else {"$eq": wanted} if isinstance(wanted, str) else {}
        for operator, sql in (("$eq", "IS"), ("$ne", "IS NOT")):
            if isinstance(operators.get(operator), str):
                clauses.append(f"{name} {sql} ?")
                values.append(to_sql(operators[operator]))
    return " AND ".join(clauses), values


def _read_json(text: str) -> Any:
    """As ``json.loads``, in a third of its time where the text holds no half of a surrogate pair."""
    try:
        return from_json(text, cache_strings="keys")
    except ValueError:
        return json.loads(text)


class Row(NamedTuple):
    """An indexed item."""

    id: int
    key: str
    path: str
    json: str
    created_at: str
    updated_at: str
    indexing: str | None
    last_scores: str | None
    ttl: float | None = None
    expires_at: str | None = None
    deadline: str | None = None

    @staticmethod
    def of(found: Sequence[Any]) -> Row:
        """The row of a query's answer."""
        row = Row._make(found)
        if isinstance(row.key, str) and isinstance(row.path, str):
            return row
        return row._replace(key=from_sql(row.key), path=from_sql(row.path))

    def lives(self, now: str | None) -> bool:
        """Whether it hasn't expired by a time; None for a store that shows what has."""
        return now is None or self.deadline is None or self.deadline > now

    def load_value(self) -> dict[str, Any]:
        """The value, fresh at each call, with the scores of its last recall where it is a record."""
        value: dict[str, Any] = _read_json(self.json)
        if self.last_scores is not None and "last_scores" in value:
            value["last_scores"] = _read_json(self.last_scores)
        return value

    def says(self, entry: Entry) -> bool:
        """Whether an entry says the same as this row, times of the update and scores apart."""
        value = {**entry.value, **({"last_scores": None} if entry.role else {})}
        index = None if entry.index is None else json.dumps(entry.index)
        return json.dumps(json.loads(self.json), sort_keys=True) == json.dumps(value, sort_keys=True) and (
            self.key,
            self.created_at,
            self.indexing,
            self.ttl,
            self.expires_at,
        ) == (entry.key, entry.created_at, index, entry.ttl, entry.expires_at)


class Index(Connection):
    """One namespace's index. Not thread-safe: its owner holds a lock around each call."""

    def __init__(self, path: Path | None, vectors: Path) -> None:
        super().__init__(path, vectors)
        self.vectors, self.bits = Vectors(self), KeptBits(self)
        self.files = FollowedFiles(self)
        self._loosened: set[Place] = set()

    # reading

    def get(self, key: str) -> Row | None:
        """The item with a key."""
        found = self.db.execute(f"SELECT {_COLUMNS} FROM items WHERE key=?", (to_sql(key),)).fetchone()
        return Row.of(found) if found else None

    def get_all(self, keys: Sequence[str]) -> dict[str, Row]:
        """The items with some keys, as far as they are there."""
        sql = f"SELECT {_COLUMNS} FROM items WHERE key IN ({{}})"
        rows = map(Row.of, self.select(sql, list(map(to_sql, keys))))
        return {row.key: row for row in rows}

    def load(self, ids: Sequence[int]) -> dict[int, Row]:
        """Items by their ids."""
        sql = f"SELECT {_COLUMNS} FROM items WHERE id IN ({{}})"
        return {found[0]: Row.of(found) for found in self.select(sql, ids)}

    def newest(self, before: tuple[str, int] | None, where: str, values: Sequence[Any]) -> list[Row]:
        """A page of items, newest update first, below a position."""
        clause, position = ("(updated_at, id) < (?, ?)", before) if before else ("1", ())
        sql = f"SELECT {_COLUMNS} FROM items WHERE {clause} AND {where} ORDER BY updated_at DESC, id DESC LIMIT {_PAGE}"
        return [Row.of(found) for found in self.db.execute(sql, (*position, *values))]

    def count(self) -> int:
        """The number of items."""
        return int(self.db.execute("SELECT count(*) FROM items").fetchone()[0])

    def skipped(self) -> dict[str, tuple[str, str]]:
        """The files that hold no item, each with the kind of reason and its words."""
        found = self.db.execute("SELECT path, reason, detail FROM skipped ORDER BY path")
        return {from_sql(path): (reason, from_sql(detail)) for path, reason, detail in found}

    def holder(self, path: str) -> tuple[str, str] | None:
        """The key of the item in a file, and when it was created."""
        sql = "SELECT key, created_at FROM items WHERE path=?"
        found = self.db.execute(sql, (to_sql(path),)).fetchone()
        return (from_sql(found[0]), found[1]) if found else None

    def pending(self, now: str = "") -> list[str]:
        """The keys of the turns whose facts haven't been drawn out, oldest first; without what has expired by now."""
        sql = "SELECT key FROM items WHERE pending AND (deadline IS NULL OR deadline > ?) ORDER BY id"
        return [from_sql(key) for (key,) in self.db.execute(sql, (now,))]

    def postings(self, view: str, term: str) -> list[tuple[int, int]]:
        """The ids of the items that hold a word in a view, in their order, and how often each does."""
        sql = f"SELECT doc, count(*) FROM temp.{view}_postings WHERE term=? GROUP BY doc"
        return list(self.db.execute(sql, (term,)))

    def lengths(self, view: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """How many words some items have in a view; those without any are left out."""
        if len(ids) > _PAGE:
            wanted = set(ids)
            found = self.db.execute(
                f"SELECT id, sz FROM {view}_docsize WHERE id BETWEEN ? AND ?", (min(wanted), max(wanted))
            )
            return [(row_id, _varint(size)) for row_id, size in found if row_id in wanted]
        sql = f"SELECT id, sz FROM {view}_docsize WHERE id IN ({{}})"
        return [(row_id, _varint(size)) for row_id, size in self.select(sql, ids)]

    def tokens(self, ids: Sequence[int], table: str = "words") -> dict[int, str]:
        """The search tokens of items."""
        return dict(self.select(f"SELECT rowid, tokens FROM {table} WHERE rowid IN ({{}})", ids))

    # writing, inside of `writing`

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with super()._transaction():
                yield
        except BaseException:
            self.files.forget()  # what was noted of them was taken back
            raise

    def put(self, entry: Entry, description: Description, path: str, stamp: Stamp) -> int:
        """Write an item as a new version and return its id. It keeps its place among its thread's turns and the scores
        of its last recall, and, where the file says the same of its time, how far reads have prolonged that.
        """
        key = to_sql(entry.key)
        sql = "SELECT id, born, last_scores, ttl, expires_at, deadline, path FROM items WHERE key=?"
        old = self.db.execute(sql, (key,)).fetchone()
        if old:
            self._drop(old[0], from_sql(old[6]))
        self.remove_path(path)
        is_record = entry.role is not None
        own_scores = entry.value.get("last_scores") if is_record else None
        scores = json.dumps(own_scores) if own_scores is not None else (old[2] if old and is_record else None)
        value = {**entry.value, "last_scores": None} if is_record else entry.value
        deadline = entry.deadline
        if entry.ttl is not None and entry.expires_at is not None:
            known = old[5] if old and old[3:5] == (entry.ttl, entry.expires_at) else self._prolonged(entry)
            deadline = min(max(known, entry.expires_at), entry.ends_at or "~")
        if deadline is not None:
            self.note_mortals()
        cursor = self.db.execute(
            "INSERT INTO items(key, path, inode, size, mtime, ctime, value, created_at, updated_at, indexing, role, "
            "status, thread_id, place, born, pending, last_scores, ttl, expires_at, ends_at, deadline) "
            "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(key, to_sql(path), *stamp, json.dumps(value)),
                *(entry.created_at, entry.updated_at, None if entry.index is None else json.dumps(entry.index)),
                *map(to_sql, (description.role, description.status, description.thread_id, description.place)),
                *(old[1] if old else -1, description.pending, scores),
                *(entry.ttl, entry.expires_at, entry.ends_at, deadline),
            ),
        )
        self.files.put(path, stamp)
        row_id = int(cursor.lastrowid or 0)
        if not old:
            self.db.execute("UPDATE items SET born=id WHERE id=?", (row_id,))
        if description.words:
            self.db.execute("INSERT INTO words(rowid, tokens) VALUES(?, ?)", (row_id, description.words))
        self.db.executemany(
            "INSERT INTO chunks VALUES(?,?,?,?)",
            [(row_id, i, text_hash(text), to_sql(text)) for i, text in enumerate(description.texts)],
        )
        return row_id

    def _prolonged(self, entry: Entry) -> str:
        """How far reads prolonged the time that a file tells, by what is kept beside the index."""
        sql = "SELECT until FROM paid.prolonged WHERE key=? AND ttl=? AND expires_at=?"
        found = self.db.execute(sql, (text_hash(entry.key), entry.ttl, entry.expires_at)).fetchone()
        return found[0] if found else ""

    def skip(self, path: str, stamp: Stamp, reason: str, detail: str = "") -> None:
        """Note a file that holds no item, so that it isn't read again until it changes."""
        self.remove_path(path)
        values = (to_sql(path), *stamp, reason, to_sql(detail))
        self.db.execute("INSERT INTO skipped VALUES(?,?,?,?,?,?,?)", values)
        self.files.put(path, stamp)

    def remove(self, key: str) -> None:
        """Forget an item."""
        found = self.db.execute("SELECT id, path FROM items WHERE key=?", (to_sql(key),)).fetchone()
        if found:
            self._drop(found[0], from_sql(found[1]))

    def remove_path(self, path: str) -> None:
        """Forget whatever stood in a file."""
        name = to_sql(path)
        found = self.db.execute("SELECT id FROM items WHERE path=?", (name,)).fetchone()
        if found:
            self._drop(found[0], path)
        self.db.execute("DELETE FROM skipped WHERE path=?", (name,))
        self.files.drop(path)

    def _drop(self, row_id: int, path: str) -> None:
        self.files.drop(path)
        self._loosened.update(self.places([row_id]).values())
        self.bits.forget(row_id)
        for sql in (
            "DELETE FROM items WHERE id=?",
            "DELETE FROM chunks WHERE item=?",
            "DELETE FROM words WHERE rowid=?",
            "DELETE FROM windows WHERE rowid=?",
            "INSERT INTO gone(id) VALUES(?)",
        ):
            self.db.execute(sql, (row_id,))

    def set_scores(self, scores: Mapping[str, str]) -> None:
        """Keep the scores of the items' last recall."""
        rows = [(text, to_sql(key)) for key, text in scores.items()]
        self.db.executemany("UPDATE items SET last_scores=? WHERE key=?", rows)

    # threads

    def places(self, ids: Sequence[int]) -> dict[int, Place]:
        """The places of those items that are turns of a thread."""
        sql = "SELECT id, thread_id, place, born FROM items WHERE place IS NOT NULL AND id IN ({})"
        return {row_id: (thread, place, born) for row_id, thread, place, born in self.select(sql, ids)}

    def take_loosened(self) -> set[Place]:
        """The places of turns that were dropped since the last call: their neighbours have others now."""
        taken, self._loosened = self._loosened, set()
        return taken

    def around(self, place: Place) -> tuple[list[int], list[int], list[int]]:
        """The two turns before a place, the one at it if it is taken, and the two after it, in order."""
        thread, where, born = place
        sql = "SELECT id FROM items WHERE place IS NOT NULL AND thread_id=? AND (place, born) {} (?, ?) "
        sides = (("<", "ORDER BY place DESC, born DESC LIMIT 2"), ("=", ""), (">", "ORDER BY place, born LIMIT 2"))
        before, here, after = (
            [row_id for (row_id,) in self.db.execute(sql.format(sign) + order, (thread, where, born))]
            for sign, order in sides
        )
        return before[::-1], here, after

    def write_windows(self, windows: Mapping[int, str]) -> None:
        """Write the tokens of items together with their neighbours'; unchanged ones are left alone."""
        before = self.tokens(list(windows), "windows")
        changed = {row_id: text for row_id, text in windows.items() if before.get(row_id, "") != text}
        self.db.executemany("DELETE FROM windows WHERE rowid=?", [(i,) for i in changed if i in before])
        rows = [(row_id, text) for row_id, text in changed.items() if text]
        self.db.executemany("INSERT INTO windows(rowid, tokens) VALUES(?, ?)", rows)

    # following what changed

    def state(self) -> tuple[int, int]:
        """Changes with every commit, whoever made it: cheaper to ask for than `position`."""
        return int(self.db.execute("PRAGMA main.data_version").fetchone()[0]), self.db.total_changes

    def has_mortals(self) -> bool:
        """Whether anything has a time at which it expires."""
        return self.db.execute("SELECT 1 FROM items WHERE deadline IS NOT NULL LIMIT 1").fetchone() is not None

    def position(self) -> tuple[int, int]:
        """The last item written and the last one dropped; equal positions mean that nothing changed."""
        found = dict(self.db.execute("SELECT name, seq FROM sqlite_sequence"))
        return found.get("items", 0), found.get("gone", 0)

    def dropped(self, after: int) -> list[int] | None:
        """The items dropped since a position, or None when that is too long ago to tell."""
        if self.position()[1] - after > REMEMBERED_DROPS:
            return None
        return [row_id for (row_id,) in self.db.execute("SELECT id FROM gone WHERE seq > ?", (after,))]

    def outlines(self, after: int) -> list[Outline]:
        """The items written since a position, oldest first."""
        sql = "SELECT id, role, status, thread_id, place, born FROM items WHERE id > ? ORDER BY id"
        found = self.db.execute(sql, (after,))
        return [
            (row_id, from_sql(role), from_sql(status), from_sql(thread), from_sql(place), born)
            for row_id, role, status, thread, place, born in found
        ]


def _varint(data: bytes) -> int:
    """A number as SQLite packs it: seven bits a byte, the highest first."""
    number = 0
    for byte in data:
        number = number << 7 | byte & 0x7F
    return number
