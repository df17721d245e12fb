"""Point 40: one batch of operations."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, SearchOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener, index_for, keys
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings


class Batches(ContractBase):
    """One batch of operations.

    Attributes:
        bulk_puts: new items that the largest batch holds beside its reads.
    """

    bulk_puts = 1_000

    def test_40_results_are_in_the_order_of_the_operations(self, store: BaseStore) -> None:
        """Each operation has its result at its place; a put's is None."""
        store.batch([PutOp(PLAIN, "a", {"n": 1}), PutOp(("other",), "b", {"n": 2})])
        got, put, found, listed, missing = store.batch(
            [
                GetOp(("other",), "b"),
                PutOp(PLAIN, "c", {"n": 3}),
                SearchOp(PLAIN, {"n": 1}),
                ListNamespacesOp(),
                GetOp(PLAIN, "missing"),
            ]
        )
        assert isinstance(got, Item)
        assert (got.key, put, missing) == ("b", None, None)
        assert keys(cast("list[Item]", found)) == ["a"]
        assert listed == [PLAIN, ("other",)]

    def test_40_reads_come_before_puts(self, store: BaseStore) -> None:
        """Every read of a batch sees the store as it was before the batch, wherever the puts stand."""
        store.put(PLAIN, "k", {"n": 1})
        _, got, _, found, _, listed = store.batch(
            [
                PutOp(PLAIN, "k", {"n": 2}),
                GetOp(PLAIN, "k"),
                PutOp(PLAIN, "new", {"n": 3}),
                SearchOp(PLAIN),
                PutOp(("new",), "k", {"n": 4}),
                ListNamespacesOp(),
            ]
        )
        assert isinstance(got, Item)
        assert got.value == {"n": 1}
        assert [item.value for item in cast("list[Item]", found)] == [{"n": 1}]
        assert listed == [PLAIN]
        assert len(store.search(())) == 3

    def test_40_ranked_reads_come_before_puts(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """A query in a batch ranks what was there before it."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "old", {"text": "green tea"})
        _, found = store.batch([PutOp(PLAIN, "new", {"text": "green tea"}), SearchOp(PLAIN, query="green tea")])
        assert keys(cast("list[Item]", found)) == ["old"]

    def test_40_the_last_put_wins(self, store: BaseStore) -> None:
        """Of several puts of one key, the last one is stored; a deletion counts as one."""
        store.put(PLAIN, "gone", {"n": 0})
        store.batch(
            [
                PutOp(PLAIN, "k", {"n": 1}),
                PutOp(PLAIN, "k", None),
                PutOp(PLAIN, "gone", {"n": 1}),
                PutOp(PLAIN, "k", {"n": 2}),
                PutOp(PLAIN, "gone", None),
            ]
        )
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"n": 2}
        assert store.get(PLAIN, "gone") is None
        assert keys(store.search(PLAIN)) == ["k"]

    def test_40_a_superseded_put_is_not_embedded(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """What the batch itself replaces or deletes isn't paid for, and isn't found."""
        store = opened(index_for(embedder))
        store.batch(
            [
                PutOp(PLAIN, "k", {"text": "green tea"}),
                PutOp(PLAIN, "gone", {"text": "red wine"}),
                PutOp(PLAIN, "k", {"text": "black coffee"}),
                PutOp(PLAIN, "gone", None),
            ]
        )
        assert embedder.texts == ["black coffee"]
        assert keys(store.search(PLAIN, query="black coffee")) == ["k"]

    def test_40_one_embedding_call_a_batch(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """All texts of a batch are embedded in one call, over all its namespaces and fields."""
        store = opened(index_for(embedder, ["text", "title"]))
        puts = [PutOp((*PLAIN, f"n{n % 3}"), f"k{n}", {"text": f"text {n}", "title": f"title {n}"}) for n in range(10)]
        store.batch(puts)
        assert [len(batch) for batch in embedder.documents] == [20]

    def test_40_a_generator_is_accepted(self, store: BaseStore) -> None:
        """Operations may come from any iterable, which is read once."""
        assert store.batch(PutOp(PLAIN, f"k{n}", {"n": n}) for n in range(3)) == [None, None, None]
        assert len(store.batch(GetOp(PLAIN, f"k{n}") for n in range(2))) == 2
        assert len(store.search(PLAIN)) == 3

    def test_40_no_operations_give_no_results(self, store: BaseStore) -> None:
        """An empty batch is fine."""
        assert store.batch([]) == []

    @pytest.mark.parametrize("op", ["get", None, ("docs", "k"), object()], ids=["text", "none", "tuple", "object"])
    def test_40_an_unknown_operation_is_refused(self, store: BaseStore, op: Any) -> None:
        """What isn't an operation raises, and nothing of its batch is written."""
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            store.batch([PutOp(PLAIN, "k", {"n": 1}), cast("Op", op)])
        assert store.search(PLAIN) == []

    def test_40_fifteen_thousand_operations_work(self, store: BaseStore) -> None:
        """A batch has no practical bound: no limit of parameters, of recursion or of time."""
        puts: list[Op] = [PutOp((*PLAIN, f"n{n % 3}"), f"k{n}", {"n": n}) for n in range(self.bulk_puts)]
        again: list[Op] = [PutOp(PLAIN, f"same{n % 7}", {"n": n}) for n in range(3_000)]
        reads: list[Op] = [GetOp((*PLAIN, f"n{n % 3}"), f"k{n}") for n in range(15_000 - len(puts) - len(again))]
        results = store.batch([*reads, *puts, *again])
        assert len(results) == 15_000
        assert not any(results)
        results = store.batch([*reads, *puts, *again])
        assert [isinstance(item, Item) for item in results[: len(reads)]] == [
            n < self.bulk_puts for n in range(len(reads))
        ]
        assert sorted(item.value["n"] for item in store.search(PLAIN, filter={"n": {"$gte": 2_993}})) == [
            *range(2_993, 3_000)
        ]
