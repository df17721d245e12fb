"""Points 18–20: a search without ranking is a listing, page by page, newest first."""

from __future__ import annotations

import time

from langgraph.store.base import BaseStore, PutOp, SearchItem

from langmem_plus.testing.contract.base import PLAIN, ContractBase, keys, pages


class Listing(ContractBase):
    """A search without ranking is a listing."""

    def test_18_the_default_limit_is_ten(self, store: BaseStore) -> None:
        """Without a limit, a search gives ten items."""
        store.batch([PutOp(PLAIN, f"k{n}", {"n": n}) for n in range(12)])
        assert len(store.search(PLAIN)) == 10

    def test_18_a_limit_of_zero_gives_nothing(self, store: BaseStore) -> None:
        """No items are wanted, and none come."""
        store.put(PLAIN, "k", {"a": 1})
        assert store.search(PLAIN, limit=0) == []
        assert store.search(PLAIN, limit=0, filter={"a": 1}) == []

    def test_18_pages_partition_the_items(self, store: BaseStore) -> None:
        """All pages together hold each item once, over several namespaces, in the order of one large page."""
        store.batch([PutOp((*PLAIN, f"n{n % 3}"), f"k{n}", {"n": n}) for n in range(23)])
        listed = pages(lambda limit, offset: keys(store.search(PLAIN, limit=limit, offset=offset)), 4, 23)
        assert sorted(listed) == sorted(f"k{n}" for n in range(23))
        assert listed == keys(store.search(PLAIN, limit=100))

    def test_18_pages_of_a_filtered_listing(self, store: BaseStore) -> None:
        """Limit and offset count the items that pass the filter."""
        store.batch([PutOp(PLAIN, f"k{n}", {"n": n, "even": n % 2 == 0}) for n in range(23)])

        def page(limit: int, offset: int) -> list[str]:
            return keys(store.search(PLAIN, filter={"even": True}, limit=limit, offset=offset))

        assert sorted(pages(page, 5, 12)) == sorted(f"k{n}" for n in range(0, 23, 2))

    def test_18_an_offset_beyond_the_end_gives_nothing(self, store: BaseStore) -> None:
        """There is nothing after the last item."""
        store.put(PLAIN, "k", {"a": 1})
        assert store.search(PLAIN, offset=1) == []
        assert store.search(PLAIN, offset=99) == []

    def test_19_a_listing_is_newest_update_first(self, store: BaseStore) -> None:
        """The item that was put last comes first, and an update makes an old one the newest."""
        for key in ("a", "b", "c"):
            store.put((*PLAIN, key), key, {"n": 1})
            time.sleep(0.002)
        assert keys(store.search(PLAIN)) == ["c", "b", "a"]
        store.put((*PLAIN, "a"), "a", {"n": 2})
        assert keys(store.search(PLAIN)) == ["a", "c", "b"]
        assert keys(store.search(PLAIN, limit=1)) == ["a"]

    def test_19_a_filtered_listing_is_newest_update_first(self, store: BaseStore) -> None:
        """A filter takes items out; it doesn't change the order."""
        for key in ("a", "b", "c", "d"):
            store.put(PLAIN, key, {"keep": key != "c"})
            time.sleep(0.002)
        assert keys(store.search(PLAIN, filter={"keep": True}, limit=2)) == ["d", "b"]

    def test_19_a_listing_is_stable(self, store: BaseStore) -> None:
        """Items of one batch, which are equally new, stand in the same order each time."""
        store.batch([PutOp((*PLAIN, f"n{n % 2}"), f"k{n}", {"n": n}) for n in range(15)])
        first = keys(store.search(PLAIN, limit=100))
        assert [keys(store.search(PLAIN, limit=100)) for _ in range(3)] == [first] * 3

    def test_20_nothing_ranked_has_no_score(self, store: BaseStore) -> None:
        """A listing gives ``SearchItem`` objects whose score is None."""
        store.put(PLAIN, "k", {"a": 1})
        (found,) = store.search(PLAIN)
        assert isinstance(found, SearchItem)
        assert found.score is None
        (found,) = store.search(PLAIN, filter={"a": 1})
        assert found.score is None
