"""Points 28–31, 35 and 36: a search with a query is ranked by cosine, exactly."""

from __future__ import annotations

import pytest
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener, index_for, keys, pages
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

TEXTS = {
    "tea": "green tea",
    "more-tea": "green tea with milk",
    "much-more-tea": "green tea with milk and honey on sundays",
    "green": "a green bicycle",
    "none": "quantum physics",
}


class Ranking(ContractBase):
    """A search with a query is ranked by cosine."""

    def test_28_the_order_is_that_of_the_cosine(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """The nearest comes first, scores fall, and a text finds itself at about 1."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, key, {"text": text}) for key, text in TEXTS.items()])
        found = store.search(PLAIN, query="green tea")
        near = [key for key in TEXTS if key != "none"]
        near.sort(key=lambda key: -embedder.similarity(TEXTS[key], "green tea"))
        assert keys(found)[:4] == near
        scores = [item.score for item in found if item.score is not None]
        assert len(scores) >= 4
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(1.0, abs=0.01)
        assert scores[1] < 0.99

    def test_28_ranking_goes_across_namespaces(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Below a prefix, all namespaces are ranked together, and nothing outside of it is."""
        store = opened(index_for(embedder))
        store.batch([PutOp((*PLAIN, key), key, {"text": text}) for key, text in TEXTS.items()])
        store.put(("elsewhere",), "x", {"text": "green tea"})
        assert keys(store.search(PLAIN, query="green tea", limit=2)) == ["tea", "more-tea"]
        assert set(keys(store.search((), query="green tea", limit=2))) == {"tea", "x"}

    def test_29_a_query_without_an_index_is_a_listing(self, store: BaseStore) -> None:
        """A store without vectors gives the listing, in its order, with its filter, and no scores."""
        store.batch([PutOp(PLAIN, key, {"text": text}) for key, text in TEXTS.items()])
        found = store.search(PLAIN, query="green tea")
        assert keys(found) == keys(store.search(PLAIN))
        assert {item.score for item in found} == {None}
        assert keys(store.search(PLAIN, query="green tea", filter={"text": "quantum physics"})) == ["none"]

    def test_29_an_empty_query_is_a_listing(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Nothing is asked, so nothing is embedded or ranked."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, key, {"text": text}) for key, text in TEXTS.items()])
        documents = list(embedder.documents)
        found = store.search(PLAIN, query="")
        assert keys(found) == keys(store.search(PLAIN))
        assert {item.score for item in found} == {None}
        assert (embedder.queries, embedder.documents) == ([], documents)

    def test_30_a_rare_filter_and_a_prefix_are_exact(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Of 400 items the two that pass are found, best first, although all others are nearer to the query."""
        store = opened(index_for(embedder))
        puts = [PutOp((*PLAIN, f"n{n % 4}"), f"k{n}", {"text": f"green tea {n}", "rare": False}) for n in range(396)]
        puts += [PutOp((*PLAIN, "n1"), "second", {"text": "a green bicycle of steel", "rare": True})]
        puts += [PutOp((*PLAIN, "n2"), "first", {"text": "green tea and honey", "rare": True})]
        puts += [PutOp(("other",), f"outside{n}", {"text": f"green tea x{n}", "rare": True}) for n in range(2)]
        store.batch(puts)
        found = store.search(PLAIN, query="green tea", filter={"rare": True}, limit=5)
        assert keys(found) == ["first", "second"]
        assert keys(store.search(PLAIN, query="green tea", filter={"rare": True}, limit=1, offset=1)) == ["second"]

    def test_30_filters_work_on_ranked_items_as_on_listed_ones(
        self, opened: Opener, embedder: BagOfWordsEmbeddings
    ) -> None:
        """Operators mean the same beside a query, and the limit counts what passes."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, f"k{n}", {"text": f"green tea number{n}", "n": n}) for n in range(20)])
        found = store.search(PLAIN, query="green tea", filter={"n": {"$gte": 5, "$lt": 8}}, limit=10)
        assert sorted(keys(found)) == ["k5", "k6", "k7"]
        with pytest.raises(ValueError):
            store.search(PLAIN, query="green tea", filter={"n": {"$near": 5}})

    def test_31_without_index_nothing_is_embedded(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """An item put with ``index=False`` can be read and listed, and isn't ranked."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "hidden", {"text": "green tea"}, index=False)
        assert embedder.texts == []
        store.put(PLAIN, "seen", {"text": "green bicycle"})
        item = store.get(PLAIN, "hidden")
        assert item is not None
        assert item.value == {"text": "green tea"}
        assert set(keys(store.search(PLAIN))) == {"hidden", "seen"}
        found = store.search(PLAIN, query="green tea")
        assert keys(found)[0] == "seen"
        assert [item.score for item in found if item.key == "hidden"] in ([], [None])

    def test_35_an_item_with_many_vectors_appears_once(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """It stands at its best score, and leaves the other places to others."""
        store = opened(index_for(embedder, ["text", "parts[*]"]))
        parts = ["green tea", *(f"green tea part{n}" for n in range(40))]
        store.put(PLAIN, "many", {"text": "an essay", "parts": parts})
        store.put(PLAIN, "few", {"text": "green tea with milk"})
        store.put(PLAIN, "one", {"text": "a green bicycle", "parts": ["of steel"]})
        found = store.search(PLAIN, query="green tea", limit=3)
        assert keys(found) == ["many", "few", "one"]
        assert found[0].score == pytest.approx(1.0, abs=0.01)
        assert keys(store.search(PLAIN, query="green tea", limit=2, offset=1)) == ["few", "one"]

    def test_36_pages_of_a_query_partition_the_items(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """No page repeats an item and none is skipped, although many are equally near."""
        store = opened(index_for(embedder))
        store.batch([PutOp((*PLAIN, f"n{n % 2}"), f"k{n}", {"text": f"green tea {n}"}) for n in range(23)])
        _check_pages(store, {f"k{n}" for n in range(23)})

    def test_36_pages_do_not_repeat_what_is_not_ranked(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Items without a vector come once or never, and push no ranked item off its page."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, f"k{n}", {"text": f"green tea {n}"}) for n in range(10)])
        store.batch([PutOp(PLAIN, f"bare{n}", {"text": "green tea"}, index=False) for n in range(5)])
        _check_pages(store, {f"k{n}" for n in range(10)})


def _check_pages(store: BaseStore, ranked: set[str]) -> None:
    def page(limit: int, offset: int) -> list[str]:
        return keys(store.search(PLAIN, query="green tea", limit=limit, offset=offset))

    listed = pages(page, 4, 100)
    assert len(listed) == len(set(listed)), "an item stands on two pages"
    assert set(listed) >= ranked
    assert listed == keys(store.search(PLAIN, query="green tea", limit=100))
