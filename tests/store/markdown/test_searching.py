"""Searches over one namespace and many."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import Item, PutOp, SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import EmbeddingError, StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.visit import Visit
from langmem_plus.store.search import RankedItem
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Namespace = tuple[str, ...]


def _keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def _fill(store: MarkdownStore, ns: Namespace, record: Any, count: int = 60) -> None:
    random.seed(3)
    words = ["tea", "coffee", "milk", "sugar", "honey", "lemon", "ginger", "mint", "cream", "cake"]
    for n in range(count):
        store.put(ns, f"k{n}", record(f"k{n}", " ".join(random.choices(words, k=4)), tags=["odd"] if n % 2 else []))


@pytest.mark.parametrize("with_vectors", [False, True])
def test_words_find_what_holds_them(open_store: Any, ns: Namespace, record: Any, with_vectors: bool) -> None:
    """Best first, scores in [0, 1], with the score of each leg."""
    store = open_store(BagOfWordsEmbeddings() if with_vectors else None)
    store.put(ns, "both", record("both", "green tea"))
    store.put(ns, "one", record("one", "green apples and pears"))
    store.put(ns, "none", record("none", "black coffee"))
    found = store.search(ns, query="green tea")
    assert _keys(found)[:2] == ["both", "one"]
    best = found[0]
    assert isinstance(best, RankedItem)
    assert best.score == pytest.approx(1.0)
    assert best.scores["words"] == best.scores["coverage"] == 1.0
    assert 0 < found[1].scores["coverage"] < 1
    assert all(0 <= item.score <= 1 for item in found)
    if with_vectors:
        assert best.scores["dense"] == 1.0
        assert best.scores["cosine"] == pytest.approx(1.0)
        assert best.vector is not None
        assert np.linalg.norm(best.vector) == pytest.approx(1.0)
        assert (best.vector.dtype, best.vector.ndim) == (np.float32, 1)
    else:
        assert "cosine" not in best.scores
        assert best.vector is None
        assert _keys(found) == ["both", "one"]


def test_a_get_gives_a_plain_item(store: MarkdownStore, ns: Namespace) -> None:
    """As LangGraph has it."""
    store.put(ns, "k", {"n": 1})
    assert type(store.get(ns, "k")) is Item


@pytest.mark.parametrize("with_vectors", [False, True])
def test_pages_of_a_search_partition_it(open_store: Any, ns: Namespace, record: Any, with_vectors: bool) -> None:
    """In one order, which is the same each time, under a filter as well, with no item twice."""
    store = open_store(BagOfWordsEmbeddings() if with_vectors else None)
    _fill(store, ns, record)
    store.put((*ns, "below"), "k1", record("k1", "tea with honey"))
    for condition in (None, {"tags": ["odd"]}):
        whole = store.search(ns[:1], query="tea honey lemon", limit=500, filter=condition)
        pages = [
            store.search(ns[:1], query="tea honey lemon", limit=7, offset=at, filter=condition)
            for at in range(0, 70, 7)
        ]
        flat = list(itertools.chain(*pages))
        assert [(i.namespace, i.key, i.score) for i in flat] == [(i.namespace, i.key, i.score) for i in whole]
        assert len({(i.namespace, i.key) for i in whole}) == len(whole) > 10


def test_equals_are_ordered_newest_first(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """So that of the same statement the latest shows."""
    for key in "abc":
        store.put(ns, key, record(key, "green tea"))
    store.put(ns, "a", record("a", "green tea"))
    assert _keys(store.search(ns, query="tea")) == ["a", "c", "b"]


def test_a_search_over_several_namespaces_is_one_ranking(open_store: Any) -> None:
    """Raw scores are normalised once, so that the best of a poor namespace isn't put beside the best of a good one."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(("n", "good"), "k", {"text": "green tea"})
    store.put(("n", "good"), "half", {"text": "green tea and several other words about the weather"})
    store.put(("n", "poor"), "k", {"text": "one word of many others is green here, the rest about football"})
    found = store.search(("n",), query="green tea")
    assert [(i.namespace[1], i.key) for i in found] == [("good", "k"), ("good", "half"), ("poor", "k")]
    assert found[0].score == pytest.approx(1.0)
    assert found[2].score < 0.5
    assert store.search(("n", "poor"), query="green tea")[0].score == pytest.approx(1.0)


@pytest.mark.parametrize(
    "condition", [{"rare": True}, {"rare": {"$eq": True}}, {"role": "archive"}, {"n": {"$gte": 3999}}]
)
def test_a_filter_finds_what_ranks_far_down(open_store: Any, ns: Namespace, condition: Any) -> None:
    """However many others match the words better than the one that meets it."""
    store = open_store(keyword_pool=20)
    store.batch([PutOp(ns, f"k{n}", {"text": "tea tea", "n": n, "rare": False}) for n in range(400)])
    text = "tea " + "and much else " * 40 + "lemons pears plums " * 20
    store.put(ns, "wanted", {"text": text, "n": 4000, "rare": True, "role": "archive"})
    assert _keys(store.search(ns, query="tea", filter=condition)) == ["wanted"]


def test_a_neighbour_in_the_thread_makes_a_turn_found(open_store: Any, ns: Namespace, record: Any) -> None:
    """An answer is found by the words of its question, below the question itself."""
    for embedder in (None, BagOfWordsEmbeddings()):
        store = open_store(embedder)
        for n, text in enumerate(["Hello there", "Which town did you move to?", "Lyon, last spring", "Nice weather"]):
            role = "user" if n % 2 else "assistant"
            store.put(ns, f"t{n}", record(f"t{n}", text, role=role, thread_id="t", metadata={"turn": n}))
        store.put(ns, "far", record("far", "Grenoble, in autumn"))
        found = _keys(store.search(ns, query="town move"))
        assert found[0] == "t1"
        assert "t2" in found[:3]
        assert "far" not in found[:3]


def test_a_turn_whose_neighbour_went_is_not_found_by_it(open_store: Any, ns: Namespace, record: Any) -> None:
    """Nor when the neighbour is retired or says something else now."""
    for n, change in enumerate([None, {"status": "superseded"}, {"text": "Hm?"}, {"thread_id": "other"}]):
        store = open_store()
        space = (*ns, str(n))
        fields = {"role": "user", "thread_id": "t"}
        store.put(space, "q", record("q", "Which town?", metadata={"turn": 1}, **fields))
        store.put(space, "a", record("a", "Lyon", metadata={"turn": 2}, **fields))
        assert "a" in _keys(store.search(space, query="town"))
        if change is None:
            store.delete(space, "q")
        else:
            store.put(
                space, "q", record(**{"key": "q", "text": "Which town?", "metadata": {"turn": 1}, **fields, **change})
            )
        assert "a" not in _keys(store.search(space, query="town"))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我每天早上喝绿茶", "绿茶"),
        ("我每天早上喝绿茶", "茶"),
        ("毎朝コーヒーを飲みます", "コーヒー"),
        ("아침마다 커피를 마셔요", "커피"),
        ("물을 마셔요", "물"),
        ("ฉันชอบดื่มกาแฟ", "กาแฟ"),
        ("मुझे चाय पसंद है", "चाय"),
        ("Мой кот любит рыбу", "рыбу"),
        ("We met at the Café Müller", "cafe muller"),
    ],
)
def test_any_script_is_found_by_its_words(
    store: MarkdownStore, ns: Namespace, record: Any, text: str, question: str
) -> None:
    """And nothing beside it."""
    store.put(ns, "wanted", record("wanted", text))
    for n, other in enumerate(
        ["红酒很好", "晩ごはん", "저녁에 산책", "ข้าวผัด", "मुझे दूध", "Собака спит", "A bus stop", "一二三"]
    ):
        store.put(ns, f"o{n}", record(f"o{n}", other))
    assert _keys(store.search(ns, query=question)) == ["wanted"]


@pytest.mark.parametrize("question", ["", "  ", "\n"])
def test_a_blank_question_is_a_listing(open_store: Any, ns: Namespace, record: Any, question: str) -> None:
    """Newest update first; nothing is embedded and nothing is ranked."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    for key in "abc":
        store.put(ns, key, record(key))
    store.put(ns, "a", record("a", "changed"))
    found = store.search(ns, query=question)
    assert _keys(found) == ["a", "c", "b"]
    assert [item.score for item in found] == [None] * 3
    assert embedder.queries == []


@pytest.mark.parametrize(
    "question", ["the of and", "???", "🎉", '"', 'tea" OR 1=1 --', "NEAR(", "*", "words:tea", "\0", "\ud800"]
)
def test_no_question_breaks_a_search(open_store: Any, ns: Namespace, record: Any, question: str) -> None:
    """Whatever characters it has, with and without vectors."""
    for embedder in (None, BagOfWordsEmbeddings()):
        store = open_store(embedder)
        store.put(ns, "k", record("k"))
        assert len(store.search(ns, query=question)) <= 1


def test_listings_of_several_namespaces_are_merged(store: MarkdownStore) -> None:
    """By the last update over all of them, page by page."""
    for n in range(30):
        store.put(("n", "abc"[n % 3]), f"k{n}", {"n": n, "even": n % 2 == 0})
    assert [item.value["n"] for item in store.search(("n",), limit=100)] == list(range(29, -1, -1))
    pages = [store.search(("n",), filter={"even": True}, limit=4, offset=at) for at in range(0, 20, 4)]
    assert [item.value["n"] for page in pages for item in page] == list(range(28, -1, -2))


def test_a_page_may_be_larger_than_any(store: MarkdownStore, ns: Namespace) -> None:
    """A limit, or an offset, beyond what a machine counts is as good as one beyond all that there is."""
    store.put(ns, "k", {"text": "tea"})
    for query in (None, "tea"):
        assert [item.key for item in store.search(ns, query=query, limit=10**30)] == ["k"]
        assert store.search(ns, query=query, limit=10**30, offset=10**30) == []


def test_a_long_listing_is_read_page_by_page(store: MarkdownStore, ns: Namespace) -> None:
    """Beyond one page of the database, under a filter that few meet."""
    store.batch([PutOp(ns, f"k{n}", {"n": n, "rare": n % 100 == 0}) for n in range(1203)])
    assert [i.value["n"] for i in store.search(ns, limit=3000)] == list(range(1202, -1, -1))
    assert [i.value["n"] for i in store.search(ns, filter={"rare": True}, limit=3000)] == list(range(1200, -1, -100))


def test_scores_of_a_recall_are_kept_in_the_index_alone(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Get and search give them; the file and the time of the update don't change; a rebuilt index has none."""
    store.put(ns, "k", record("k"))
    before, path = store.get(ns, "k"), store.path_of(ns, "k")
    assert before is not None
    assert path is not None
    content = path.read_bytes()
    store.set_scores(ns, {"k": {"total": 0.5, "relevance": 1}, "nobody": {"total": 1.0}})
    after = store.get(ns, "k")
    assert after is not None
    assert after.value["last_scores"] == {
        "relevance": 1.0,
        "recency": 0.0,
        "importance": 0.0,
        "total": 0.5,
        "computed_at": None,
    }
    assert (after.updated_at, path.read_bytes()) == (before.updated_at, content)
    (found,) = store.search(ns, query="tea")
    assert found.value == after.value
    store.put(ns, "k", after.value)
    assert b"last_scores" not in path.read_bytes()
    assert store.get(ns, "k").value == after.value  # type: ignore[union-attr]
    store.set_scores(("nobody",), {"k": {"total": 0.5}})
    assert store.list_namespaces() == [ns]


def test_scores_never_wait_and_never_fail_a_recall(open_store: Any, ns: Namespace, record: Any) -> None:
    """While another process is at work in the namespace they are left out."""
    store, other = open_store(), open_store()
    store.put(ns, "k", record("k"))
    with other._engine.rooms.locked([ns]):
        store.set_scores(ns, {"k": {"total": 0.5}})
    assert store.get(ns, "k").value["last_scores"] is None


def _after_first_visit(monkeypatch: pytest.MonkeyPatch, ns: Namespace, job: Any) -> None:
    """Do something between the ranking and the reading of what it found."""
    visit, left = OpenNamespace.visit, iter([True])

    def visited(self: OpenNamespace, *args: Any) -> Any:
        found = visit(self, *args)
        if self.namespace == ns and next(left, False):
            job()
        return found

    monkeypatch.setattr(OpenNamespace, "visit", visited)


def test_a_result_that_is_rewritten_while_it_is_found_is_not_lost(
    store: MarkdownStore, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search of several namespaces is made again when what it ranked isn't there any more."""
    for key in "ab":
        store.put(ns, key, record(key, f"green tea {key}"))
    store.put((*ns, "below"), "c", {"text": "no tea"})
    _after_first_visit(monkeypatch, ns, lambda: store.put(ns, "a", record("a", "green tea anew")))
    assert sorted(_keys(store.search(ns, query="tea"))) == ["a", "b", "c"]


def test_ids_of_an_index_that_was_built_anew_are_not_taken_for_others(
    store: MarkdownStore, root: Path, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between ranking and reading the index may be deleted; its ids then mean other items."""
    for n in range(5):
        store.put(ns, f"k{n}", record(f"k{n}", "green tea" if n == 4 else "black coffee"))
    store.put(ns, "k0", record("k0", "white milk"))
    store.put((*ns, "below"), "k9", {"text": "water"})

    def delete() -> None:
        for path in (root / ".index").iterdir():
            path.unlink()

    _after_first_visit(monkeypatch, ns, delete)
    assert _keys(store.search(ns, query="tea")) == ["k4"]


def test_nor_are_their_vectors_and_words_given_to_others(
    open_store: Any, root: Path, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading the results and what they carry, too."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(ns, "k0", record("k0", "black coffee"))
    store.put(ns, "k1", record("k1", "green tea"))
    store.put(ns, "k0", record("k0", "white milk"))  # the third id here, and the first in an index that is built anew
    store.put((*ns, "below"), "k9", {"text": "water"})
    load = Visit.load

    def loaded(self: Visit, *args: Any) -> Any:
        found = load(self, *args)
        for path in (root / ".index").iterdir():
            path.unlink()
        return found

    monkeypatch.setattr(Visit, "load", loaded)
    for item in store.search(ns, query="white milk"):
        held: Any = item
        assert held.vector is None
        assert held.scores["coverage"] == 0


def test_a_search_of_one_namespace_reads_one_state(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another connection commits between the ranking and the reading isn't seen, so nothing is missing."""
    store, other = open_store(), open_store()
    for key in "ab":
        store.put(ns, key, record(key, f"green tea {key}"))
    search, left = Visit.search, iter([True])

    def searched(self: Visit, *args: Any, **options: Any) -> Any:
        found = search(self, *args, **options)
        if next(left, False):
            other.put(ns, "a", record("a", "green tea anew"))
        return found

    monkeypatch.setattr(Visit, "search", searched)
    assert sorted(item.value["text"] for item in store.search(ns, query="tea")) == ["green tea a", "green tea b"]
    assert sorted(item.value["text"] for item in store.search(ns, query="tea")) == ["green tea anew", "green tea b"]


def test_returned_values_are_the_callers_own(open_store: Any, ns: Namespace, record: Any) -> None:
    """Changing one changes neither the store nor another result."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(ns, "k", record("k", tags=["a"]))
    op = SearchOp(ns, query="tea")
    one, other = store.batch([op, op])
    one[0].value["tags"].append("b")
    one[0].vector[:] = 0
    assert other[0].value["tags"] == store.get(ns, "k").value["tags"] == ["a"]
    assert np.linalg.norm(store.search(ns, query="tea")[0].vector) == pytest.approx(1.0)


# an embedder that fails


def test_while_the_embedder_is_down_words_answer(open_store: Any, ns: Namespace, record: Any) -> None:
    """What is stored then is found by its words, and gets its vector when a search finds the embedder up again."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, embed_failures=100)
    for n in range(5):
        store.put(ns, f"k{n}", record(f"k{n}", f"tea number{n}"))
    found = store.search(ns, query="number3")
    assert _keys(found) == ["k3"]
    assert found[0].vector is None
    embedder.fail = None
    embedder.clear()
    found = store.search(ns, query="tea number3")
    assert found[0].key == "k3"
    assert found[0].scores["cosine"] == pytest.approx(1.0)
    assert sorted(embedder.texts) == [f"tea number{n}" for n in range(5)]
    embedder.clear()
    store.search(ns, query="tea number4")
    assert embedder.texts == []


def test_what_waits_is_embedded_in_batches(open_store: Any, ns: Namespace, record: Any) -> None:
    """With no thread for it, a search embeds at most so many; `embed_waiting` all, and it stops at an outage."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, embed_batch=4, embed_failures=100, embed_in_background=False)
    for n in range(11):
        store.put((*ns, str(n % 2)), f"k{n}", record(f"k{n}", f"tea number{n}"))
    assert store.embed_waiting() == 0
    embedder.fail = None
    embedder.clear()
    store.search(ns, query="tea")
    assert [len(batch) for batch in embedder.documents] == [4]
    assert store.embed_waiting() == 7
    assert max(len(batch) for batch in embedder.documents) == 4
    assert len(set(embedder.texts)) == len(embedder.texts) == 11
    assert store.embed_waiting() == 0


def test_a_search_over_more_than_may_be_open_brings_no_late_vectors(open_store: Any) -> None:
    """It would have to open every namespace twice; searched by itself, each gets its own."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, open_namespaces=2, embed_failures=100)
    for n in range(5):
        store.put(("n", str(n)), "k", {"text": f"tea number{n}"})
    embedder.fail = None
    embedder.clear()
    assert len(store.search(("n",), query="tea")) == 5
    assert embedder.texts == []
    assert store.search(("n", "3"), query="tea")[0].vector is not None
    assert embedder.texts == ["tea number3"]


@pytest.mark.parametrize("fault", ["count", "dims"])
def test_a_wrong_vector_is_not_written_and_the_value_is(
    open_store: Any, ns: Namespace, record: Any, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The value comes first: it is found by its words, and gets its vector when the embedder is mended."""
    embedder = BagOfWordsEmbeddings(fail=fault)
    store = open_store(embedder)
    store.batch([PutOp(ns, key, record(key, f"tea of {key}")) for key in ("ann", "ben")])
    (found,) = store.search(ns, query="ben")
    assert (found.key, found.vector) == ("ben", None)
    assert [f"'ann' in {ns!r}" in told.message for told in caplog.records if "gave no vector" in told.message] == [True]
    assert store.embedding_state().refused == store.embedding_state().waiting == 2
    embedder.fail = None
    assert store.embed_waiting() == 2
    assert store.search(ns, query="tea of ben")[0].scores["cosine"] == pytest.approx(1.0)
    assert store.embedding_state().refused == store.embedding_state().waiting == 0


@pytest.mark.parametrize("fault", ["count", "dims"])
def test_a_wrong_vector_writes_nothing_where_vectors_alone_rank(
    open_store: Any, root: Path, ns: Namespace, record: Any, fault: Any
) -> None:
    """Neither file nor index nor vector: what could never be found isn't taken in; the batch is one."""
    embedder = BagOfWordsEmbeddings(fail=fault)
    store = open_store(embedder, ranking="dense")
    with pytest.raises(EmbeddingError):
        store.put(ns, "k", record("k"))
    assert store.get(ns, "k") is None
    assert list((root / "entries").rglob("*.md")) == []
    embedder.fail = None
    store.put(ns, "k", record("k"))
    assert store.search(ns, query="tea")[0].vector is not None


class Picky(BagOfWordsEmbeddings):
    """Refuses each batch with a certain word in it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As it is told."""
        found = super().embed_documents(texts)
        if any("poison" in text for text in texts):
            raise ValueError("this text is too long")
        return found


def test_a_text_that_is_always_refused_holds_up_no_other(open_store: Any, ns: Namespace, record: Any) -> None:
    """Not the rest of its batch, of its namespace or of what waits; it is tried again after a pause that grows."""
    embedder = Picky(fail=ConnectionError("down"))
    store = open_store(embedder, embed_batch=2, embed_failures=100)
    names = ["poison", "poison too", "tea", "milk", "wine"]
    for place in ("a", "b"):
        store.batch([PutOp((*ns, place), name, record(name, f"{name} {place}")) for name in names])
    embedder.fail = None
    for _ in range(4):
        store.search((*ns, "a"), query="wine")
    assert store.search((*ns, "a"), query="wine a")[0].scores["cosine"] == pytest.approx(1.0)
    embedder.clear()
    for _ in range(10):
        store.search((*ns, "a"), query="wine")
    assert embedder.texts == []
    assert store.embed_waiting() == 3
    assert (store.embedding_state().refused, store.embedding_state().waiting) == (4, 4)
    assert {found.key for found in store.search(ns, query="poison", limit=4)} == {"poison", "poison too"}
    refused, now = store._engine.embedder.refused, time.monotonic()
    embedder.clear()
    refused._clock = lambda: now + 1e6
    store.search((*ns, "a"), query="wine")
    assert {"poison a", "poison too a"} <= set(embedder.texts)


@pytest.mark.parametrize("is_async", [False, True])
def test_while_the_embedder_is_left_alone_nothing_waits_for_it(
    open_store: Any, ns: Namespace, record: Any, is_async: bool
) -> None:
    """Neither searches nor writes ask it; one call finds out that it is back."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder, embed_failures=2, embed_late=20)

    def run(method: str, *args: Any, **options: Any) -> Any:
        if is_async:
            return asyncio.run(getattr(store, f"a{method}")(*args, **options))
        return getattr(store, method)(*args, **options)

    for n in range(20):
        run("put", ns, f"k{n}", record(f"k{n}", f"tea number{n}"))
        assert _keys(run("search", ns, query=f"number{n}")) == [f"k{n}"]
    assert len(embedder.documents) + len(embedder.queries) == 2
    assert store.embedding_state().resting > 0
    embedder.fail = None
    store._engine.embedder.breaker.probe_now()
    assert run("search", ns, query="tea number7")[0].scores["cosine"] == pytest.approx(1.0)
    assert store.embedding_state().waiting == 0


def test_one_namespace_that_fails_keeps_no_other_from_its_vectors(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What can't be written there waits on, and is told."""
    embedder = BagOfWordsEmbeddings(fail=ConnectionError("down"))
    store = open_store(embedder)
    for place in "abc":
        store.put((*ns, place), "k", record("k", f"tea {place}"))
    embedder.fail = None
    put = OpenNamespace.put_vectors

    def refuse(room: OpenNamespace, vectors: Any) -> None:
        if room.namespace[-1] == "a":
            raise StoreError("no room")
        put(room, vectors)

    monkeypatch.setattr(OpenNamespace, "put_vectors", refuse)
    assert store.embed_waiting() == 2
    assert "no room" in caplog.text


def test_vectors_of_another_size_under_the_same_name_are_made_anew(open_store: Any, root: Path, ns: Namespace) -> None:
    """The model behind a name was changed: what has old vectors waits, is found by words, and is embedded again."""

    def opened(size: int) -> tuple[MarkdownStore, BagOfWordsEmbeddings]:
        embedder = BagOfWordsEmbeddings(dims=size)
        embedder.model_id = "the same name"
        index: Any = {"embed": embedder, "fields": ["text"]}
        return MarkdownStore(root, index=index, config=MemoryConfig(sync_interval=0)), embedder

    store, _ = opened(64)
    store.batch([PutOp(ns, f"k{n}", {"text": f"tea number{n}"}) for n in range(5)])
    store.close()
    store, embedder = opened(128)
    assert store.search(ns, query="tea number3")[0].key == "k3"
    found = store.search(ns, query="tea number4")
    assert (found[0].key, found[0].vector.shape) == ("k4", (128,))
    assert sorted(embedder.texts) == [f"tea number{n}" for n in range(5)]
    store.put(ns, "k3", {"text": "tea number3", "more": 1})
    store.search(ns, query="tea number2")
    assert len(embedder.texts) == 5
    store.close()


def test_another_embedder_has_vectors_of_its_own(open_store: Any, ns: Namespace, record: Any) -> None:
    """Both are kept; nothing is compared across, and coming back costs nothing."""
    small, large = BagOfWordsEmbeddings(dims=64), BagOfWordsEmbeddings(dims=128)
    open_store(small).put(ns, "k", record("k", "green tea"))
    other = open_store(large)
    (found,) = other.search(ns, query="green tea")
    assert found.scores["cosine"] == pytest.approx(1.0)
    assert found.vector.shape == (128,)
    small.clear()
    (found,) = open_store(small).search(ns, query="green tea")
    assert found.vector.shape == (64,)
    assert small.texts == []


def test_an_item_that_is_not_ranked_is_never_embedded(open_store: Any, ns: Namespace) -> None:
    """With ``index=False`` it is read and listed, and no question finds it."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    store.put(ns, "k", {"text": "green tea"}, index=False)
    assert store.search(ns, query="green tea") == []
    assert store.embed_waiting() == 0
    assert embedder.texts == []
    assert _keys(store.search(ns)) == ["k"]
    store._engine.rooms.get(ns).look_again()
    assert store.search(ns, query="green tea") == []
