"""What a search does in one namespace while it holds it: everything is read in one state of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.store.markdown import expiring
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index, Row
from langmem_plus.store.markdown.legs import Details, Found, Nearest, find_items, make_details
from langmem_plus.store.search import Floats


class Visit:
    """A namespace in one state of its index. The caller holds both.

    Args:
        namespace: its labels.
        index: the index.
        catalog: in step with it.
        pool: the keyword matches that are ranked in each view.
        shown: what has expired by then isn't shown; None for everything.
        encoder: whose token bits are handed out; None for none.
    """

    def __init__(
        self,
        namespace: Namespace,
        index: Index,
        catalog: Catalog,
        pool: int,
        shown: str | None,
        encoder: TokenEncoder | None = None,
    ) -> None:
        self.namespace, self._encoder = namespace, encoder
        self._index, self._catalog, self._pool, self._shown = index, catalog, pool, shown

    def search(
        self,
        terms: Sequence[str],
        query: Floats | None,
        condition: Mapping[str, Any] | None,
        *,
        apart: bool = False,
        nearest: Nearest | None = None,
    ) -> Found:
        """The raw scores of the items that can meet a filter; those of the distinct terms ``apart`` where several
        namespaces are searched. An approximate index may say which vectors are compared.
        """
        # What a filter leaves may rank far down, so with one the ranking by words is not cut.
        pool = None if apart else -1 if condition else self._pool
        expired = expiring.expired_ids(self._index, self._shown) if self._catalog.has_mortals else ()
        return find_items(self._index, self._catalog, terms, query, condition, pool, expired, nearest)

    def load(self, ids: Sequence[int], identity: int) -> dict[int, Row]:
        """Items by their ids in the index of that identity; none where it was built anew since."""
        return self._index.load(ids) if self._index.identity == identity else {}

    def bits(self, ids: Sequence[int]) -> Mapping[int, TextBits]:
        """The token bits of items, as far as there are any."""
        return {} if self._encoder is None else self._index.bits.of_items(self._encoder, ids)

    def details(
        self, ids: Sequence[int], identity: int, terms: Sequence[str], query: Floats | None, *, bits: bool
    ) -> Details:
        """What results carry beside their values, with or without ``bits``; nothing where the index is another one by
        now: others have their ids there.
        """
        if self._index.identity != identity:
            return Details({}, {}, {})
        return make_details(self._index, self._catalog, ids, terms, query, self._encoder if bits else None)
