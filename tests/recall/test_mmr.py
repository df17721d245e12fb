"""Relevance against redundancy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, GetOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.mmr import keep_scores, max_marginal_relevance, mmr, mmr_node, select, similarity_of
from langmem_plus.records import DRAWN, Choice, MemoryHit, MemoryRecord, MemoryReport, Scope
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.text import fingerprint

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]
CONFIG = MemoryConfig()


def ids(hits: list[MemoryHit]) -> list[str]:
    """The hits' ids, in order."""
    return [hit.record.id for hit in hits]


def reference(relevance: list[float], similarity: Any, lambda_mult: float, k: int) -> list[int]:
    """The definition, spelt out."""
    low, high = min(relevance), max(relevance)
    scaled = [(value - low) / (high - low) if high > low else 1.0 for value in relevance]
    chosen: list[int] = []
    while len(chosen) < min(k, len(scaled)):
        free = [i for i in range(len(scaled)) if i not in chosen]

        def marginal(i: int) -> float:
            redundancy = max((similarity[j][i] for j in chosen), default=0.0)
            return lambda_mult * scaled[i] - (1 - lambda_mult) * redundancy

        chosen.append(max(free, key=lambda i: (marginal(i), -i)))
    return chosen


problems = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 7.0]), min_size=n, max_size=n),
        st.lists(
            st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.75, 1.0]), min_size=n, max_size=n), min_size=n, max_size=n
        ),
        st.sampled_from([0.0, 0.5, 0.75, 1.0]),
        st.integers(0, 15),
    )
)


@given(problems)
def test_it_is_the_definition(problem: Any) -> None:
    """The vectorised form chooses as the formula says; indices are distinct and at most k."""
    relevance, similarity, lambda_mult, k = problem
    chosen = max_marginal_relevance(relevance, similarity, lambda_mult, k)
    assert chosen == reference(relevance, similarity, lambda_mult, k)
    assert len(chosen) == len(set(chosen)) == min(k, len(relevance))


@given(st.lists(st.floats(0, 1), max_size=30), st.integers(0, 40))
def test_lambda_one_is_the_order_of_relevance(relevance: list[float], k: int) -> None:
    """Exactly, ties in the order given, and without looking at similarities."""
    expected = sorted(range(len(relevance)), key=lambda i: (-relevance[i], i))[:k]
    chosen = max_marginal_relevance(relevance, np.ones((len(relevance),) * 2), 1.0, k, normalise=False)
    assert chosen == expected


def test_small_scores_do_not_drown() -> None:
    """Scores as RRF gives them (around 0.03) are scaled first: diversity doesn't take over."""
    relevance, similarity = [0.0325, 0.0320, 0.0161], [[1, 0.5, 0.2], [0.5, 1, 0.2], [0.2, 0.2, 1]]
    assert max_marginal_relevance(relevance, similarity, 0.7, 2) == [0, 1]
    assert max_marginal_relevance(relevance, similarity, 0.7, 2, normalise=False) == [0, 2]


def test_the_same_thing_is_not_chosen_twice(hit: MakeHit) -> None:
    """With vectors; and the report says that another says nearly the same."""
    one, other = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    hits = [hit("a", {"total": 1.0}, one), hit("b", {"total": 0.9}, one), hit("c", {"total": 0.7}, other)]
    kept, dropped = mmr(hits, 0.5, 2)
    assert ids(kept) == ["a", "c"]
    assert [(choice.id, choice.reason) for choice in dropped] == [("b", "others say nearly the same")]


def test_without_vectors_words_and_tags_are_compared(hit: MakeHit) -> None:
    """Also where only some have one, or of another size."""
    vector = np.array([1.0, 0.0, 0.0])
    texts = ["she drinks green tea", "she drinks green tea!", "they live in Lyon"]
    for vectors in ([None] * 3, [vector, None, None], [vector, np.array([1.0]), None]):
        hits = [hit(text, {"total": 1 - n / 10}, vectors[n]) for n, text in enumerate(texts)]
        assert ids(mmr(hits, 0.5, 2)[0]) == [texts[0], texts[2]]


@given(st.lists(st.lists(st.sampled_from([-2.0, 0.0, 0.5, 3.0]), min_size=3, max_size=3), min_size=1, max_size=6))
def test_vectors_of_any_length_are_compared_by_their_cosines(vectors: list[list[float]]) -> None:
    """One without a direction is like nothing."""
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    records = [MemoryRecord(id=str(n), text="tea", user_id="ann", **times) for n in range(len(vectors))]
    hits = [MemoryHit(record=r, vector=np.array(v, np.float32)) for r, v in zip(records, vectors, strict=True)]
    row = similarity_of(hits)
    for one, first in enumerate(vectors):
        lengths = [float(np.linalg.norm(first) * np.linalg.norm(second)) or 1.0 for second in vectors]
        expected = [np.dot(first, second) / length for second, length in zip(vectors, lengths, strict=True)]
        assert np.allclose(row(one), expected)


def test_lambda_one_keeps_the_hits_as_they_are(hit: MakeHit) -> None:
    """Sorted by rerank, with its ties."""
    hits = [hit(name, {"total": 0.5}) for name in "dacb"]
    kept, dropped = mmr(hits, 1.0, 3)
    assert (ids(kept), [choice.reason for choice in dropped]) == (["d", "a", "c"], ["it isn't among the best 3"])
    assert mmr([], 0.9, 3) == ([], [])


def test_documents_are_chosen_apart(hit: MakeHit) -> None:
    """They have a budget of their own; a search counts everything together."""
    documents = [hit(f"doc{n}", {"total": 1 - n / 100}, role="document") for n in range(5)]
    hits = [*documents, hit("fact", {"total": 0.1})]
    kept, report = select(hits, CONFIG.replace(top_k=3))
    assert (sorted(ids(kept)), report.counts) == (["doc0", "doc1", "doc2", "fact"], {"chosen": 4})
    assert {choice.id for choice in report.choices if choice.kept} == set(ids(kept))
    assert len(select(hits, CONFIG, 3, documents_apart=False)[0]) == 3


def test_agent_clis_formula_takes_the_totals_as_they_are(hit: MakeHit) -> None:
    """0.7 · total - 0.3 · similarity, not scaled over the candidates."""
    one, other = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    hits = [
        hit("a", {"total": 0.9}, one),
        hit("b", {"total": 0.85}, other),
        hit("c", {"total": 0.6}, np.array([0.0, -1.0])),
    ]
    assert ids(select(hits, MemoryConfig.preset("agent-cli"), 2)[0]) == ["a", "c"]
    assert ids(select(hits, CONFIG.replace(mmr_lambda=0.7), 2)[0]) == ["a", "b"]


def test_a_thousand_candidates_are_no_matter(hit: MakeHit) -> None:
    """A matrix row a choice; a time-out would catch anything cubic."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(1000, 384)).astype(np.float32)
    hits = [hit(f"word{n} tea", {"total": 1 - n / 1000}, vectors[n]) for n in range(1000)]
    kept, dropped = mmr(hits, 0.5, 200)
    assert (len(kept), len(dropped)) == (200, 800)


# last_scores


def services(store: BaseStore) -> Services:
    """Services with a fixed clock."""
    return Services(store=store, clock=lambda: NOW)


async def test_the_node_keeps_the_scores_in_a_store_that_can(tmp_path: Any, hit: MakeHit) -> None:
    """MarkdownStore keeps ``last_scores`` beside the record; other stores are left alone."""
    scope = Scope(user_id="ann")
    record = MemoryRecord(id="a", text="tea", user_id="ann")
    scores = {"relevance": 0.5, "recency": 1.0, "importance": 0.0, "total": 0.6}
    found = [hit("tea", scores, id="a", namespace=scope.namespace)]
    with MarkdownStore(tmp_path, index=None) as store:
        store.put(scope.namespace, "a", record.to_value())
        before = store.path_of(scope.namespace, "a").read_bytes()  # type: ignore[union-attr]
        for update in (
            mmr_node(services(store)).invoke({"memory_hits": found}),
            await mmr_node(services(store)).ainvoke({"memory_hits": found}),
        ):
            assert ids(update["memory_hits"]) == ["a"]
        item = store.get(scope.namespace, "a")
        assert item is not None
        assert item.value["last_scores"] == {**scores, "computed_at": "2026-03-01T12:00:00.000000Z"}
        assert store.path_of(scope.namespace, "a").read_bytes() == before  # type: ignore[union-attr]
    assert keep_scores(services(InMemoryStore()), found) == []


def test_scores_that_cannot_be_kept_do_not_spoil_the_recall(hit: MakeHit) -> None:
    """A warning in the report; ``strict`` raises."""

    class Full(InMemoryStore):
        def set_scores(self, namespace: Any, scores: Any) -> None:
            raise OSError("disk full")

    update = mmr_node(services(Full())).invoke({"memory_hits": [hit("tea", {"total": 1.0})]})
    assert ids(update["memory_hits"]) == ["tea"]
    assert "disk full" in update["memory_report"]["warnings"][0]
    strict = Services(store=Full(), config=MemoryConfig(strict=True))
    with pytest.raises(OSError, match="disk full"):
        keep_scores(strict, [hit("tea", {"total": 1.0})])


class Counting(InMemoryStore):
    """A store that counts the items that it is asked for."""

    gets = 0

    def batch(self, ops: Any) -> Any:
        """Counts, and answers."""
        ops = list(ops)
        self.gets += sum(isinstance(op, GetOp) for op in ops)
        return super().batch(ops)

    async def abatch(self, ops: Any) -> Any:
        """The same."""
        return self.batch(ops)


@pytest.mark.parametrize("waits", [False, True])
async def test_a_turn_whose_fact_is_gone_makes_room_for_the_next(hit: MakeHit, waits: bool) -> None:
    """Only what would be shown is looked up, and only what the search didn't find: a fact that was dropped is there."""
    store = Counting()

    def turn(text: str, total: float, fact: str) -> MemoryHit:
        return hit(text, {"total": total}, role="user", metadata={DRAWN: {fact: fingerprint(text)}})

    there = hit("milk", id="there")
    store.put(there.namespace, "there", there.record.to_value())
    found = [turn("tea", 1.0, "gone"), turn("milk", 0.9, "there"), turn("rice", 0.8, "found"), turn("ham", 0.7, "no")]
    services = Services(store=store, config=MemoryConfig(top_k=2))
    dropped = MemoryReport(choices=[Choice(id="found", text="rice", kept=False, reason="told")])
    state = {"memory_hits": found, "memory_report": dropped.model_dump(mode="json")}
    config: RunnableConfig = {"configurable": {"user_id": "ann"}}
    node = mmr_node(services)
    update = (await node.ainvoke(state, config)) if waits else node.invoke(state, config)
    assert ids(update["memory_hits"]) == ["milk", "rice"]
    reasons = {choice["id"]: choice["reason"] for choice in update["memory_report"]["choices"]}
    assert reasons["tea"] == "a fact drawn from it was taken out: gone"
    assert store.gets == 2


def test_nothing_found_is_nothing_chosen() -> None:
    """And no store is needed for it."""
    assert mmr_node(Services()).invoke({})["memory_hits"] == []
