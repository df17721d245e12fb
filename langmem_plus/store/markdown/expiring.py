"""What a namespace's index knows of the times to live of its items.

A file says when its item expires. A read that prolongs the time notes it in the index; `sweeping` carries it into the
file. An item expires at its ``deadline``: the earlier of that time and of a record's own ``expires_at``, which no read
prolongs.

The index may be deleted at any time, and no item may go before its time for that. So each note is also made in
``.vectors/``, which isn't derived, together with the time in the file that it prolongs: an index that is built anew
takes it over for exactly as long as the file says that time, and a put, a flush or an edit by hand makes it void.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

from langgraph.store.base import TTLConfig

from langmem_plus.records import format_time, utc_now
from langmem_plus.store.markdown.connection import MORTALS, from_sql, to_sql
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout, namespace_id
from langmem_plus.store.refused import text_hash
from langmem_plus.store.ttl import check_config, minutes_after

Prolonged = tuple[str, str]
"""A key, and the time until which reads have prolonged its item."""
Note = tuple[str, float, str, str]
"""A key, the minutes and the time that its file tells, and the time until which reads have prolonged that."""

_LATER_THAN_ITS_FILE = "ttl IS NOT NULL AND deadline > min(expires_at, coalesce(ends_at, expires_at))"


class Expiry:
    """The time to live of one store.

    Args:
        ttl: LangGraph's settings; None for those of each put alone.
        clock: the time by which things expire; tests pass their own.

    Attributes:
        config: the settings, checked.
        prolonged: the namespaces in which this store's reads prolonged something that isn't in the files yet.
        unnoted: what of that is known to an index in memory alone, for want of room.

    Raises:
        ConfigError: a setting is wrong.
    """

    def __init__(self, ttl: TTLConfig | None = None, clock: Callable[[], dt.datetime] = utc_now) -> None:
        self.config = check_config(ttl)
        self.clock = clock
        self.prolonged: set[Namespace] = set()
        self.unnoted: dict[Namespace, dict[str, Note]] = {}
        self._omits = (self.config or {}).get("omit_expired", True)

    def now(self) -> str:
        """The time by which things expire."""
        return format_time(self.clock())

    def shown(self) -> str | None:
        """What has expired by then isn't shown; None where everything is until it is swept."""
        return self.now() if self._omits else None


def is_immortal(layout: Layout, namespace: Namespace) -> bool:
    """Whether surely nothing in a namespace expires: its index is there, and never held anything that does."""
    index = layout.index / f"{namespace_id(namespace)}.db"
    return not index.with_name(index.name + MORTALS).exists() and index.exists()


def count(index: Index, now: str | None) -> int:
    """The number of items that haven't expired by a time; None for all."""
    if now is None:
        return index.count()
    sql = "SELECT (SELECT count(*) FROM items) - (SELECT count(*) FROM items WHERE deadline <= ?)"
    return int(index.db.execute(sql, (now,)).fetchone()[0])


def expired_ids(index: Index, now: str | None) -> list[int]:
    """The ids of the items that have expired by a time, none for None."""
    return [row_id for (row_id,) in index.db.execute("SELECT id FROM items WHERE deadline <= ?", (now,))]


def expired_keys(index: Index, now: str) -> list[str]:
    """The keys of the items that have expired by a time, those first that did so first."""
    sql = "SELECT key FROM items WHERE deadline <= ? ORDER BY deadline, id"
    return [from_sql(key) for (key,) in index.db.execute(sql, (now,))]


def prolong(index: Index, keys: Sequence[str], now: dt.datetime) -> list[Note]:
    """Count the time to live of items anew, as far as they live and have one; never beyond a record's own end.

    Returns:
        What couldn't be noted beside an index in memory.
    """
    with index.writing():
        sql = (
            "SELECT id, key, ttl, expires_at, ends_at FROM items WHERE ttl IS NOT NULL AND deadline > ? AND key IN ({})"
        )
        found = list(index.select(sql, [to_sql(key) for key in keys], format_time(now)))
        ends = [minutes_after(now, row[2]) for row in found]
        times = [(min(until, row[4] or "~"), row[0]) for row, until in zip(found, ends, strict=True)]
        index.db.executemany("UPDATE items SET deadline=max(deadline, ?) WHERE id=?", times)
        notes = [(from_sql(row[1]), row[2], row[3], until) for row, until in zip(found, ends, strict=True)]
        if not index.in_memory:
            _note(index, notes)
            return []
    with index.suppressing_outside(), index.writing_vectors():
        _note(index, notes)
        return []
    return notes


def _note(index: Index, notes: Sequence[Note]) -> None:
    rows = [(text_hash(key), *others) for key, *others in notes]
    index.db.executemany("INSERT OR REPLACE INTO paid.prolonged VALUES(?,?,?,?)", rows)


def catch_up(index: Index, notes: Iterable[Note]) -> None:
    """Take over what another index was told, where the files still say what they said then."""
    sql = (
        "UPDATE items SET deadline=max(deadline, min(?, coalesce(ends_at, '~'))) WHERE key=? AND ttl=? AND expires_at=?"
    )
    with index.writing():
        index.db.executemany(sql, [(until, to_sql(key), ttl, expires_at) for key, ttl, expires_at, until in notes])


def later_than_files(index: Index) -> list[Prolonged]:
    """The items whose time was prolonged beyond what their files say."""
    sql = f"SELECT key, deadline FROM items WHERE deadline IS NOT NULL AND {_LATER_THAN_ITS_FILE} ORDER BY id"
    return [(from_sql(key), deadline) for key, deadline in index.db.execute(sql)]


def set_expiry(index: Index, prolonged: Sequence[Prolonged], now: str) -> None:
    """Note that the files say so now, and forget what was noted of a time that is over; inside of `writing`."""
    rows = [(until, to_sql(key)) for key, until in prolonged]
    index.db.executemany("UPDATE items SET expires_at=? WHERE key=? AND ttl IS NOT NULL", rows)
    if not index.in_memory:
        # A read that came meanwhile prolonged what the file says now.
        hashes = [(until, text_hash(key)) for key, until in prolonged]
        index.db.executemany("UPDATE paid.prolonged SET expires_at=? WHERE key=?", hashes)
        index.db.execute("DELETE FROM paid.prolonged WHERE until <= max(expires_at, ?)", (now,))
