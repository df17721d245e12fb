"""The vectors of a namespace, kept apart from its index since they were paid for: by model and text, not by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langmem_plus.store.markdown.connection import Connection, from_sql


class Vectors:
    """The vectors' table and the texts that need them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._own_writes = 0

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
        self._own_writes += 1

    def version(self) -> tuple[int, int]:
        """Changes whenever a vector may have been added, here or by another connection."""
        return self._connection.db.execute("PRAGMA paid.data_version").fetchone()[0], self._own_writes

    def of_items(self, after: int, model: str) -> list[tuple[int, bytes, bytes | None]]:
        """Item, text hash and vector (None where it still waits) of the texts written since a position."""
        sql = (
            "SELECT c.item, c.hash, v.vector FROM chunks c "
            "LEFT JOIN paid.vectors v ON v.model=? AND v.hash=c.hash WHERE c.item > ? ORDER BY c.item, c.ordinal"
        )
        return list(self._connection.db.execute(sql, (model, after)))

    def texts(self, hashes: Sequence[bytes]) -> dict[str, str]:
        """The distinct texts with these hashes that items still hold, each with the key of such an item."""
        sql = "SELECT c.text, i.key FROM chunks c JOIN items i ON i.id=c.item WHERE c.hash IN ({})"
        return {from_sql(text): from_sql(key) for text, key in self._connection.select(sql, hashes)}
