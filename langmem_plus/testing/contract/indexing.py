"""Points 32–34 and 37–39: which texts are embedded, and what becomes of their vectors."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener, index_for, keys
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NESTED: dict[str, Any] = {
    "title": "a title",
    "tags": ["red", "blue"],
    "parts": [{"t": "part one"}, {"t": "part two"}, {"other": "x"}],
    "meta": {"a": {"b": "deep inside"}, "names": ["first", "last"]},
}


class Indexing(ContractBase):
    """Which texts are embedded, and what becomes of their vectors."""

    def test_32_the_configured_fields_are_embedded(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """The embedder is sent exactly the texts of the fields."""
        store = opened(index_for(embedder, ["title", "meta.a.b"]))
        store.put(PLAIN, "k", NESTED)
        assert sorted(embedder.texts) == ["a title", "deep inside"]
        found = store.search(PLAIN, query="deep inside")
        assert found[0].score == pytest.approx(1.0, abs=0.01)

    def test_32_a_missing_field_is_skipped(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """An item without the fields is stored, and nothing is embedded for it."""
        store = opened(index_for(embedder, ["title"]))
        store.put(PLAIN, "k", {"text": "no title", "title": None})
        assert embedder.texts == []
        assert store.get(PLAIN, "k") is not None
        assert keys(store.search(PLAIN)) == ["k"]

    def test_33_the_default_field_is_the_whole_value(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Without ``fields``, the value's JSON is embedded, as one text."""
        store = opened(index_for(embedder, None))
        store.put(PLAIN, "k", NESTED)
        assert [json.loads(text) for text in embedder.texts] == [NESTED]
        assert keys(store.search(PLAIN, query="deep inside")) == ["k"]

    @pytest.mark.parametrize(
        ("paths", "texts"),
        [
            (["title"], ["a title"]),
            (["tags[*]"], ["red", "blue"]),
            (["tags[0]"], ["red"]),
            (["tags[-1]"], ["blue"]),
            (["parts[*].t"], ["part one", "part two"]),
            (["parts[1].t"], ["part two"]),
            (["meta.a.b"], ["deep inside"]),
            (["meta.names[-1]", "title"], ["last", "a title"]),
            (["missing", "tags[9]", "title.x"], []),
        ],
        ids=str,
    )
    def test_34_paths_of_one_put(
        self, opened: Opener, embedder: BagOfWordsEmbeddings, paths: list[str], texts: list[str]
    ) -> None:
        """A put may name its own paths, and then those are embedded instead of the store's."""
        store = opened(index_for(embedder, ["text"]))
        store.put(PLAIN, "k", {**NESTED, "text": "the default"}, index=paths)
        assert sorted(embedder.texts) == sorted(texts)
        for text in texts:
            assert store.search(PLAIN, query=text)[0].score == pytest.approx(1.0, abs=0.01)

    def test_34_the_whole_value_as_a_path_of_one_put(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """``$`` is a path for one put, too, beside others."""
        store = opened(index_for(embedder, ["text"]))
        store.put(PLAIN, "k", NESTED, index=["$", "title"])
        assert sorted(text == "a title" or json.loads(text) == NESTED for text in embedder.texts) == [True, True]
        assert len(embedder.texts) == 2

    def test_37_an_update_embeds_again(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """After an update the item is found by its new text, and no longer by the old one."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "k", {"text": "green tea"})
        store.put(PLAIN, "k", {"text": "quantum physics"})
        assert _score(store, "quantum physics") == pytest.approx(1.0, abs=0.01)
        assert _score(store, "green tea") < 0.5

    def test_37_an_update_drops_vectors_that_it_does_not_replace(
        self, opened: Opener, embedder: BagOfWordsEmbeddings
    ) -> None:
        """When a list gets shorter or a field goes away, their vectors go."""
        store = opened(index_for(embedder, ["text", "parts[*]"]))
        store.put(PLAIN, "k", {"text": "an essay", "parts": ["green tea", "quantum physics", "red wine"]})
        store.put(PLAIN, "k", {"parts": ["black coffee"]})
        assert _score(store, "black coffee") == pytest.approx(1.0, abs=0.01)
        for old in ("an essay", "green tea", "quantum physics", "red wine"):
            assert _score(store, old) < 0.5

    def test_37_an_update_without_index_drops_the_vectors(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """An item that is put again with ``index=False`` isn't ranked any more."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "k", {"text": "green tea"})
        store.put(PLAIN, "k", {"text": "green tea"}, index=False)
        assert _score(store, "green tea") == 0.0

    def test_37_a_deletion_drops_the_vectors(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """A deleted item isn't found, and its vectors don't come back with its key."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "k", {"text": "green tea"})
        store.put(PLAIN, "other", {"text": "black tea"})
        store.delete(PLAIN, "k")
        assert keys(store.search(PLAIN, query="green tea")) == ["other"]
        store.put(PLAIN, "k", {"text": "green tea"}, index=False)
        assert _score(store, "green tea") == 0.0

    def test_38_equal_texts_in_a_batch_are_embedded_once(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Items with the same text are all stored and all ranked, and the text is sent once."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, key, {"text": "green tea", "key": key}) for key in ("a", "b")])
        assert embedder.texts == ["green tea"]
        found = store.search(PLAIN, query="green tea")
        assert sorted(keys(found)) == ["a", "b"]
        assert [item.score for item in found] == pytest.approx([1.0, 1.0], abs=0.01)

    def test_38_equal_texts_in_one_item_are_embedded_once(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """An item whose fields say the same is stored, and ranked once."""
        store = opened(index_for(embedder, ["title", "text"]))
        store.put(PLAIN, "k", {"title": "green tea", "text": "green tea"})
        assert embedder.texts == ["green tea"]
        assert keys(store.search(PLAIN, query="green tea")) == ["k"]

    @pytest.mark.parametrize("fault", ["count", "dims"])
    def test_39_a_wrong_embedding_writes_nothing(
        self, opened: Opener, embedder: BagOfWordsEmbeddings, fault: Literal["count", "dims"]
    ) -> None:
        """When the embedder gives too few vectors, or vectors of another length, the whole batch isn't written.

        So it is where vectors alone rank, and an item without one would never be found. A store that also ranks by
        words may write it without its vector instead; open it for this test as it ranks by vectors alone.
        """
        store = opened(index_for(embedder))
        embedder.fail = fault
        with pytest.raises(Exception, match=r".+"):
            store.batch(
                [
                    PutOp(PLAIN, "bare", {"text": "red wine"}, index=False),
                    PutOp(PLAIN, "a", {"text": "green tea"}),
                    PutOp((*PLAIN, "below"), "b", {"text": "black tea"}),
                ]
            )
        embedder.fail = None
        assert store.search(()) == []
        assert store.list_namespaces() == []
        assert store.get(PLAIN, "bare") is None

    @pytest.mark.parametrize("fault", ["count", "dims"])
    def test_39_a_wrong_embedding_keeps_what_was_there(
        self, opened: Opener, embedder: BagOfWordsEmbeddings, fault: Literal["count", "dims"]
    ) -> None:
        """An update or a deletion in such a batch leaves the old value, still ranked by its old text."""
        store = opened(index_for(embedder))
        store.batch([PutOp(PLAIN, "k", {"text": "green tea"}), PutOp(PLAIN, "other", {"text": "red wine"})])
        embedder.fail = fault
        with pytest.raises(Exception, match=r".+"):
            store.batch([PutOp(PLAIN, "other", None), PutOp(PLAIN, "k", {"text": "quantum physics"})])
        embedder.fail = None
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"text": "green tea"}
        assert store.get(PLAIN, "other") is not None
        assert _score(store, "green tea") == pytest.approx(1.0, abs=0.01)
        store.put(PLAIN, "k", {"text": "quantum physics"})
        assert _score(store, "quantum physics") == pytest.approx(1.0, abs=0.01)


def _score(store: BaseStore, query: str) -> float:
    """The score of the item ``k``; 0 where it isn't found or isn't ranked."""
    scores = [item.score or 0.0 for item in store.search(PLAIN, query=query, limit=100) if item.key == "k"]
    return scores[0] if scores else 0.0
