"""What is known of a folder's documents, in one SQLite file: their chunks, the words, the vectors that were paid for.

All of it is derived from the folder: what is broken or of another version is removed and built anew. A chunk's vector
is kept under a hash of its text, so a file that is renamed, or that says the same as another, costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from langmem_plus.documents.chunks import Chunk
from langmem_plus.documents.database import Database
from langmem_plus.documents.folder import Stamp
from langmem_plus.text import index_tokens

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class IndexedDocument:
    """A document that is indexed.

    Attributes:
        path: below the folder, with ``/``.
        title: its first heading; empty without one.
        modified: when it was written, in seconds since 1970.
        bytes: its size.
        chunks: how many it was cut into.
    """

    path: str
    title: str
    modified: float
    bytes: int
    chunks: int


@dataclass(frozen=True)
class Piece:
    """A chunk as it is indexed: which document it is of, and what it is kept under."""

    id: int
    path: str
    chunk: Chunk
    key: str
    twin: int
    modified: float
    title: str


@dataclass(frozen=True)
class Change:
    """A document to take over: its chunks, or None where only its stamp is another."""

    path: str
    stamp: Stamp | None
    hash: bytes
    title: str
    modified: float
    bytes: int
    chunks: Sequence[Chunk] | None


def text_key(text: str) -> str:
    """What a text's vector is kept under: a hash of the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_of(chunk: Chunk) -> str:
    """What a chunk's vector is kept under: a hash of what is embedded."""
    return text_key(chunk.shown)


def _quoted(term: str) -> str:
    """A term as FTS5 reads it."""
    return '"{}"'.format(term.replace('"', '""'))


class Catalog(Database):
    """The documents' chunks, words and vectors."""

    # documents

    @property
    def generation(self) -> int:
        """A number that changes with the chunks, whoever changes them."""
        with self.using() as db:
            found = db.execute("SELECT value FROM settings WHERE name='generation'").fetchone()
        return int(found[0]) if found else 0

    def stamps(self) -> dict[str, tuple[Stamp, bytes]]:
        """The documents with the stamps and the hashes of what was read."""
        with self.using() as db:
            rows = db.execute("SELECT path, size, changed, number, hash FROM files").fetchall()
        return {path: (Stamp(size, changed, number), digest) for path, size, changed, number, digest in rows}

    def refused(self) -> dict[str, tuple[Stamp, str]]:
        """The files that were read and are no documents, and why."""
        with self.using() as db:
            rows = db.execute("SELECT path, size, changed, number, reason FROM skipped").fetchall()
        return {path: (Stamp(size, changed, number), reason) for path, size, changed, number, reason in rows}

    def refuse(self, path: str, stamp: Stamp, reason: str) -> None:
        """Note that a file is no document, so that it isn't read again before it changes."""
        row = (path, stamp.size, stamp.changed, stamp.number, reason)
        with self.writing() as db:
            self._drop(db, path)
            db.execute("INSERT OR REPLACE INTO skipped VALUES(?,?,?,?,?)", row)

    def take(self, change: Change) -> None:
        """Take over a document: chunks that it had before and has no more are gone."""
        stamp = change.stamp or Stamp(-1, -1, -1)
        row = (change.path, stamp.size, stamp.changed, stamp.number, change.hash, change.title, change.modified)
        with self.writing() as db:
            if change.chunks is not None:
                self._drop(db, change.path)
                self._add(db, change.path, change.chunks)
            db.execute("DELETE FROM skipped WHERE path=?", (change.path,))
            db.execute("INSERT OR REPLACE INTO files VALUES(?,?,?,?,?,?,?,?)", (*row, change.bytes))

    def remove(self, paths: Iterable[str]) -> None:
        """Forget documents that are gone, and files that were refused."""
        with self.writing() as db:
            for path in paths:
                self._drop(db, path)

    def _drop(self, db: sqlite3.Connection, path: str) -> None:
        db.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE path=?)", (path,))
        db.execute("DELETE FROM chunks WHERE path=?", (path,))
        db.execute("DELETE FROM files WHERE path=?", (path,))
        db.execute("DELETE FROM skipped WHERE path=?", (path,))
        self._count_up(db)

    def _add(self, db: sqlite3.Connection, path: str, chunks: Sequence[Chunk]) -> None:
        twins: dict[str, int] = {}
        name = " ".join(PurePosixPath(path).parts)
        for chunk in chunks:
            key = key_of(chunk)
            twin = twins[key] = twins.get(key, -1) + 1
            headings = json.dumps(chunk.headings, ensure_ascii=False)
            row = (path, chunk.ordinal, twin, key, chunk.text, headings, chunk.start_line, chunk.end_line)
            made = db.execute(
                "INSERT INTO chunks(path,ordinal,twin,key,text,headings,first,last) VALUES(?,?,?,?,?,?,?,?)", row
            )
            words = " ".join(index_tokens(f"{name}\n{chunk.shown}"))
            db.execute("INSERT INTO words(rowid, tokens) VALUES(?,?)", (made.lastrowid, words))
        self._count_up(db)

    def _count_up(self, db: sqlite3.Connection) -> None:
        db.execute(
            "INSERT INTO settings VALUES('generation', 1) "
            "ON CONFLICT(name) DO UPDATE SET value=CAST(value AS INTEGER) + 1"
        )

    def documents(self) -> list[IndexedDocument]:
        """All documents, by their paths."""
        sql = (
            "SELECT path, title, modified, bytes, (SELECT count(*) FROM chunks WHERE chunks.path=files.path) "
            "FROM files ORDER BY path"
        )
        with self.using() as db:
            return [IndexedDocument(*row) for row in db.execute(sql)]

    # chunks

    def keys(self) -> set[str]:
        """What the chunks' vectors are kept under."""
        with self.using() as db:
            return {key for (key,) in db.execute("SELECT DISTINCT key FROM chunks")}

    def texts(self, keys: Sequence[str]) -> dict[str, str]:
        """What is embedded, by its key."""
        sql = "SELECT key, text, headings FROM chunks WHERE key IN ({}) GROUP BY key"
        return {
            key: Chunk(text, tuple(json.loads(headings)), 0, 0, 0).shown
            for key, text, headings in self.select(sql, keys)
        }

    def pieces(self, ids: Sequence[int] = (), keys: Sequence[str] = ()) -> list[Piece]:
        """Chunks by their ids, and all of those with certain keys."""
        columns = "c.id, c.path, c.ordinal, c.twin, c.key, c.text, c.headings, c.first, c.last, f.modified, f.title"
        sql = f"SELECT {columns} FROM chunks c JOIN files f USING(path) WHERE c.{{}} IN ({{{{}}}})"
        rows = [*self.select(sql.format("id"), ids), *self.select(sql.format("key"), keys)]
        return [
            Piece(id_, path, Chunk(text, tuple(json.loads(headings)), ordinal, first, last), key, twin, modified, title)
            for id_, path, ordinal, twin, key, text, headings, first, last, modified, title in dict.fromkeys(rows)
        ]

    def by_words(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """The ids of the chunks that hold any of the terms, best first, with their BM25 scores."""
        if not terms:
            return []
        asked = " OR ".join(map(_quoted, terms))
        sql = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        with self.using() as db:
            return db.execute(sql, (asked, limit)).fetchall()

    def held(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """How many chunks hold each term, and how many chunks there are."""
        with self.using() as db:
            (total,) = db.execute("SELECT count(*) FROM chunks").fetchone()
            sql = "SELECT count(*) FROM words WHERE words MATCH ?"
            return {term: db.execute(sql, (_quoted(term),)).fetchone()[0] for term in terms}, total

    # what was paid for

    def vectors(self, model: str, keys: Sequence[str]) -> dict[str, Floats]:
        """The vectors that are known."""
        rows = self.select("SELECT key, vector FROM vectors WHERE model=? AND key IN ({})", keys, model)
        return {key: np.frombuffer(vector, "<f4") for key, vector in rows}

    def keep_vectors(self, model: str, vectors: Mapping[str, Floats]) -> None:
        """Keep vectors for good."""
        rows = [(model, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self.writing() as db:
            db.executemany("INSERT OR REPLACE INTO vectors VALUES(?,?,?)", rows)

    def bits(self, model: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The token bits that are known."""
        return dict(self.select("SELECT key, bits FROM bits WHERE model=? AND key IN ({})", keys, model))

    def keep_bits(self, model: str, bits: Mapping[str, bytes]) -> None:
        """Keep token bits for good."""
        with self.writing() as db:
            db.executemany("INSERT OR REPLACE INTO bits VALUES(?,?,?)", [(model, *row) for row in bits.items()])

    def purge(self) -> None:
        """Drop what was paid for and is of no document any more."""
        with self.writing() as db:
            for table in ("vectors", "bits"):
                db.execute(f"DELETE FROM {table} WHERE key NOT IN (SELECT key FROM chunks)")

    # what stands in a vector store

    def placed(self, place: str) -> set[str]:
        """The keys that were put into a vector store."""
        with self.using() as db:
            return {key for (key,) in db.execute("SELECT key FROM placed WHERE place=?", (place,))}

    def place(self, place: str, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        """Note what was put into a vector store, and what was taken out."""
        with self.writing() as db:
            db.executemany("INSERT OR IGNORE INTO placed VALUES(?,?)", [(place, key) for key in added])
            db.executemany("DELETE FROM placed WHERE place=? AND key=?", [(place, key) for key in removed])
