"""Token bits of the texts that items hold, kept beside the vectors by model and text. They come from the texts
alone, so they may be lost; a search hands them out with what it finds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.store.markdown.connection import Connection, from_sql
from langmem_plus.store.refused import text_hash

_KEPT_ITEMS = 8_000  # of a namespace, about 1 kB each


class KeptBits:
    """The table of bits."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._recent: OrderedDict[int, TextBits] = OrderedDict()  # by item; what an item says never changes
        self._model = ""

    def put(self, encoder: TokenEncoder, bits: Mapping[str, TextBits]) -> int:
        """Keep the bits of those texts that items hold, and count them; inside of a write."""
        rows = [(encoder.model_id, h, b.to_bytes(), h) for h, b in ((text_hash(text), b) for text, b in bits.items())]
        held = "SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM main.chunks WHERE hash=?)"
        return self._connection.db.executemany(f"INSERT OR REPLACE INTO paid.bits {held}", rows).rowcount

    def of_items(self, encoder: TokenEncoder, items: Sequence[int]) -> dict[int, TextBits]:
        """The bits of all texts of some items, for those of which every text has them; what was read lately is
        remembered.
        """
        if self._model != encoder.model_id:
            self._recent.clear()
            self._model = encoder.model_id
        recent = self._recent
        known = {item: recent[item] for item in items if item in recent}
        for item in known:
            recent.move_to_end(item)
        missing = [item for item in items if item not in known]
        read = self._load(encoder, missing) if missing else {}
        recent.update(read)
        while len(recent) > _KEPT_ITEMS:
            recent.popitem(last=False)
        return {**known, **read}

    def _load(self, encoder: TokenEncoder, items: Sequence[int]) -> dict[int, TextBits]:
        sql = (
            "SELECT c.item, b.bits FROM chunks c LEFT JOIN paid.bits b ON b.model=? AND b.hash=c.hash "
            "WHERE c.item IN ({}) ORDER BY c.item, c.ordinal"
        )
        found: dict[int, list[object]] = {}
        for item, data in self._connection.select(sql, items, encoder.model_id):
            found.setdefault(item, []).append(data)
        read = {item: [_read(one, encoder.dims) for one in data] for item, data in found.items()}
        return {
            item: TextBits.joined([one for one in bits if one is not None])
            for item, bits in read.items()
            if None not in bits
        }

    def forget(self, item: int) -> None:
        """Let go of what is remembered of an item that is gone."""
        self._recent.pop(item, None)

    def missing(self, encoder: TokenEncoder, after: int, limit: int) -> list[tuple[int, str]]:
        """Item and text of some texts without bits, of the items after one, in their order."""
        sql = (
            "SELECT c.item, c.text FROM chunks c WHERE c.item > ? AND NOT EXISTS "
            "(SELECT 1 FROM paid.bits b WHERE b.model=? AND b.hash=c.hash) ORDER BY c.item LIMIT ?"
        )
        found = self._connection.db.execute(sql, (after, encoder.model_id, limit))
        return [(item, from_sql(text)) for item, text in found]


def _read(data: object, dims: int) -> TextBits | None:
    """The bits of a row; None for one that somebody broke, which is made again then."""
    try:
        return TextBits.from_bytes(data, dims) if isinstance(data, bytes) else None
    except ValueError:
        return None
