"""The files that an index follows, as it has read them, kept between two looks: reading them anew from the database
takes as long as looking at all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from langmem_plus.store.markdown.connection import Connection, from_sql, to_sql
from langmem_plus.store.markdown.files import Stamp


class FollowedFiles:
    """What a database's tables of files say, about 300 bytes a file. Who writes these tables through the same
    connection says so here, too; what another connection commits makes this be read again.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, Stamp] | None = None
        self._version = -1

    def all(self) -> Mapping[str, Stamp]:
        """Every file, those that hold no item too, by its path; it changes as the tables do."""
        version = int(self._connection.db.execute("PRAGMA main.data_version").fetchone()[0])
        if self._known is None or self._version != version:
            sql = "SELECT path, inode, size, mtime, ctime FROM {}"
            found = self._connection.db.execute(f"{sql.format('items')} UNION ALL {sql.format('skipped')}")
            self._known = {from_sql(path): Stamp._make(stamp) for path, *stamp in found}
            self._version = version
        return MappingProxyType(self._known)

    def put(self, path: str, stamp: Stamp) -> None:
        """A file was read."""
        if self._known is not None:
            self._known[path] = stamp

    def restamp(self, path: str, stamp: Stamp) -> None:
        """Note, in the database too, that an item's file was touched but says the same; inside of a write."""
        values = (*stamp, to_sql(path))
        sql = "UPDATE items SET inode=?, size=?, mtime=?, ctime=? WHERE path=?"
        if self._connection.db.execute(sql, values).rowcount:
            self.put(path, stamp)

    def drop(self, path: str) -> None:
        """What a file held is forgotten."""
        if self._known is not None:
            self._known.pop(path, None)

    def forget(self) -> None:
        """What was written was taken back."""
        self._known = None
