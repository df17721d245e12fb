"""The vectors of a namespace, kept apart from its index since they were paid for: by model and text, not by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langmem_plus.store.markdown.connection import Connection, from_sql

_CHUNKS = "FROM chunks c JOIN items i ON i.id=c.item"
_HAS = (
    "EXISTS(SELECT 1 FROM paid.vectors v WHERE v.model=? AND v.hash=c.hash AND length(v.vector)="
    "coalesce(?, length(v.vector)))"
)


class Vectors:
    """The vectors' table and the texts that need them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrived: list[bytes] = []

    def known(self, model: str, hashes: Sequence[bytes], size: int | None = None) -> set[bytes]:
        """Which texts have a vector of a model, and of a size where that is given."""
        fits = "length(vector)=coalesce(?, length(vector))"
        sql = f"SELECT hash FROM paid.vectors WHERE model=? AND {fits} AND hash IN ({{}})"
        return {h for (h,) in self._connection.select(sql, hashes, model, None if size is None else 4 * size)}

    def get(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors of some texts, where they are there."""
        sql = "SELECT hash, vector FROM paid.vectors WHERE model=? AND hash IN ({})"
        return dict(self._connection.select(sql, hashes, model))

    def put(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors as little-endian float32."""
        rows = [(model, h, vector) for h, vector in vectors.items()]
        self._connection.db.executemany("INSERT OR REPLACE INTO paid.vectors VALUES(?,?,?)", rows)
        self._arrived += vectors

    def put_late(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """As `put`, those of the texts that items still hold: what was erased meanwhile leaves nothing."""
        held = {h for (h,) in self._connection.select("SELECT hash FROM main.chunks WHERE hash IN ({})", list(vectors))}
        self.put(model, {h: vector for h, vector in vectors.items() if h in held})

    def version(self) -> int:
        """Changes whenever another connection may have added a vector."""
        return int(self._connection.db.execute("PRAGMA paid.data_version").fetchone()[0])

    def take_arrived(self) -> list[bytes]:
        """The texts for which this connection wrote a vector since the last call."""
        taken, self._arrived = self._arrived, []
        return taken

    def of_items(self, after: int, model: str) -> list[tuple[int, bytes, bytes | None]]:
        """Item, text hash and vector (None where it still waits) of the texts written since a position."""
        if not after:
            return self._of_all_items(model)
        sql = (
            "SELECT c.item, c.hash, v.vector FROM chunks c "
            "LEFT JOIN paid.vectors v ON v.model=? AND v.hash=c.hash WHERE c.item > ? ORDER BY c.item, c.ordinal"
        )
        return list(self._connection.db.execute(sql, (model, after)))

    def _of_all_items(self, model: str) -> list[tuple[int, bytes, bytes | None]]:
        """The same for all: to read the vectors as they lie takes a tenth of the time of looking up each."""
        vectors = dict(self._connection.db.execute("SELECT hash, vector FROM paid.vectors WHERE +model=?", (model,)))
        chunks = self._connection.db.execute("SELECT item, hash FROM chunks ORDER BY item, ordinal")
        return [(item, text, vectors.get(text)) for item, text in chunks]

    def texts(self, hashes: Sequence[bytes]) -> dict[str, str]:
        """The distinct texts with these hashes that items still hold, each with the key of such an item."""
        sql = "SELECT c.text, i.key FROM chunks c JOIN items i ON i.id=c.item WHERE c.hash IN ({})"
        return {from_sql(text): from_sql(key) for text, key in self._connection.select(sql, hashes)}

    def missing(self, model: str, size: int | None, after: int, limit: int) -> list[tuple[int, bytes, str, str]]:
        """Item, text hash, text and key of some texts without a vector of a model and a size, of items after one."""
        sql = f"SELECT c.item, c.hash, c.text, i.key {_CHUNKS} WHERE c.item > ? AND NOT {_HAS} ORDER BY c.item LIMIT ?"
        found = self._connection.db.execute(sql, (after, model, _length(size), limit))
        return [(item, h, from_sql(text), from_sql(key)) for item, h, text, key in found]

    def figures(self, model: str, size: int | None) -> tuple[int, int, str | None]:
        """The number of texts, of those that have no vector, and when the oldest item of these was written."""
        total = self._connection.db.execute("SELECT count(DISTINCT hash) FROM chunks").fetchone()[0]
        sql = f"SELECT count(DISTINCT c.hash), min(i.updated_at) {_CHUNKS} WHERE NOT {_HAS}"
        waiting, oldest = self._connection.db.execute(sql, (model, _length(size))).fetchone()
        return int(total), int(waiting), oldest

    def chunks(self, model: str, items: Sequence[int]) -> list[tuple[int, int, str, str, bytes]]:
        """Item, which of its texts, text, key and vector of some items, as far as they have one."""
        sql = (  # CROSS keeps the order of the tables: with the vectors first, all of the model's would be read
            "SELECT c.item, c.ordinal, c.text, i.key, v.vector FROM chunks c CROSS JOIN items i ON i.id=c.item "
            "CROSS JOIN paid.vectors v ON v.model=? AND v.hash=c.hash WHERE c.item IN ({})"
        )
        found = self._connection.select(sql, items, model)
        return [(item, ordinal, from_sql(text), from_sql(key), vector) for item, ordinal, text, key, vector in found]

    def has_others(self, model: str, size: int | None) -> bool:
        """Whether there are vectors of another model, or of another size."""
        sql = "SELECT 1 FROM paid.vectors WHERE model{}? LIMIT 1"
        if any(self._connection.db.execute(sql.format(sign), (model,)).fetchone() for sign in "<>"):
            return True
        one = "SELECT 1 FROM paid.vectors WHERE model=? AND length(vector)<>coalesce(?, length(vector)) LIMIT 1"
        return self._connection.db.execute(one, (model, _length(size))).fetchone() is not None


def _length(size: int | None) -> int | None:
    return None if size is None else 4 * size
