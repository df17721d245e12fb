"""Relevance on an absolute scale, then recency and importance; and why a candidate was dropped."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.recall.relevance import _lower_quartile, given_relevance, minmax, nearness, relevance_of
from langmem_plus.recall.rerank import question_of, recencies, rerank, rerank_node
from langmem_plus.records import MemoryHit, MemoryRecord, Plan
from langmem_plus.services import Services

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]
CONFIG = MemoryConfig()


def ids(hits: list[MemoryHit]) -> list[str]:
    """The hits' ids, in order."""
    return [hit.record.id for hit in hits]


def scored(score: float, cosine: float, coverage: float) -> dict[str, float]:
    """The numbers of our own store."""
    return {"store": score, "cosine": cosine, "coverage": coverage, "words": score, "dense": score}


# relevance


def test_a_nonsense_query_is_not_relevant_however_its_best_hit_compares(hit: MakeHit) -> None:
    """Fused scores always have a best; cosine and coverage say that it is nothing."""
    hits = [hit("a", scored(1.0, 0.2, 0.0)), hit("b", scored(0.4, 0.1, 0.0))]
    kept, dropped = rerank("flurbin zorblax", hits, CONFIG, NOW)
    assert kept == []
    assert {choice.id: choice.scores["relevance"] for choice in dropped} == {"a": 0.0, "b": 0.0}
    assert all("no word" in choice.reason for choice in dropped)


def test_an_embedder_with_high_cosines_makes_nonsense_no_more_relevant(hit: MakeHit) -> None:
    """Where unrelated texts lie at 0.7, the candidates' own cosines tell what is unrelated; an answer stands out."""
    noise = [0.7 + 0.002 * place for place in range(20)]

    def best(cosines: list[float]) -> float:
        hits = [hit(str(place), scored(c / max(cosines), c, 0.0)) for place, c in enumerate(cosines)]
        return float(relevance_of("flurbin zorblax", hits, CONFIG)[0].max())

    assert best(noise) < 0.25
    assert best([*noise, 0.9]) > 0.9
    assert best([0.7, 0.72]) == 1.0, "so few candidates tell nothing, and MiniLM's scale is taken"


@given(st.lists(st.floats(-1, 1) | st.just(math.nan), max_size=30))
def test_candidates_never_make_a_hit_nearer_than_the_absolute_scale(cosines: list[float]) -> None:
    """They can only lower it; within [0, 1], in the order of the cosines, and 0 where there is no cosine."""
    near = nearness(np.array(cosines, np.float64))
    alone = np.array([nearness(np.array([cosine]))[0] for cosine in cosines])
    assert np.all((near >= 0) & (near <= alone + 1e-9))
    assert np.all(near[np.isnan(np.array(cosines, np.float64))] == 0)
    order = np.argsort(cosines)[: np.count_nonzero(~np.isnan(np.array(cosines, np.float64)))]
    assert np.all(np.diff(near[order]) >= 0)


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=120))
def test_the_level_of_the_unrelated_is_numpys_lower_quartile(cosines: list[float]) -> None:
    """To the last bit."""
    values = np.array(cosines, np.float64)
    assert _lower_quartile(values) == float(np.quantile(values, 0.25))


def test_the_stores_order_is_kept_within_a_search(hit: MakeHit) -> None:
    """Whatever their own cosines: fusion over two views knows more than they do."""
    hits = [hit("a", scored(0.9, 0.3, 0.1)), hit("b", scored(0.8, 0.6, 0.9)), hit("c", scored(0.1, 0.5, 0.5))]
    relevance, supported = relevance_of("q", hits, CONFIG)
    assert list(np.argsort(-relevance)) == [0, 1, 2]
    assert supported.all()
    assert ((relevance >= 0) & (relevance <= 1)).all()


def test_the_second_of_two_good_hits_is_still_relevant(hit: MakeHit) -> None:
    """In a small room the lowest fused score is 0 by construction, though the hit holds every word of the question."""
    relevance, _ = relevance_of("tea", [hit("a", scored(1.0, 0.5, 1.0)), hit("b", scored(0.0, 0.45, 1.0))], CONFIG)
    assert relevance[0] == 1.0
    assert relevance[1] >= 0.5


def test_each_search_is_as_sure_as_its_own_hits(hit: MakeHit) -> None:
    """The best of ``global`` has a fused score of 1 too; it doesn't lean on what the space holds."""
    other = ("memories", "ann", "global")
    hits = [hit("a", scored(1.0, 0.6, 0.8)), hit("b", scored(1.0, 0.3, 0.0), namespace=other)]
    relevance, _ = relevance_of("q", hits, CONFIG)
    assert relevance[0] > 0.9
    assert relevance[1] < 0.2


def test_cosines_of_a_foreign_store_are_order_and_evidence(hit: MakeHit) -> None:
    """A near hit is relevant, an unrelated one that shares no word isn't."""
    hits = [hit("she drinks tea", {"store": 0.7}), hit("hiking", {"store": 0.1}), hit("cold", {"store": -0.2})]
    relevance, supported = relevance_of("her drink?", hits, CONFIG)
    assert relevance[0] > relevance[1] >= relevance[2] >= 0
    assert list(supported) == [True, False, False]


def test_an_unranked_listing_is_scored_by_shared_words(hit: MakeHit) -> None:
    """The share of the question's words that the memory holds; the built-in reranker orders them."""
    hits = [hit("she drinks green tea"), hit("green fields"), hit("hiking")]
    relevance, _ = relevance_of("who drinks green tea?", hits, CONFIG)
    assert relevance.round(2).tolist() == [1.0, 0.33, 0.0]
    kept, dropped = rerank("who drinks green tea?", hits, CONFIG, NOW)
    assert kept[0].scores["relevance"] == 1.0
    assert 0 < kept[1].scores["relevance"] < 0.34
    assert [choice.id for choice in dropped] == ["hiking"]


def test_unranked_hits_among_ranked_ones_are_scored_by_words(hit: MakeHit) -> None:
    """InMemoryStore fills a page with items that have no vector."""
    hits = [hit("hiking", {"store": 0.3}), hit("green tea", {"coverage": 1.0})]
    relevance, supported = relevance_of("green tea", hits, CONFIG)
    assert relevance[1] == 1.0
    assert relevance[0] < 0.3
    assert list(supported) == [True, True]


def test_a_question_without_content_words_drops_nothing(hit: MakeHit) -> None:
    """ "Who am I?" has only stop words: nothing says that a memory doesn't answer it."""
    kept, _ = rerank("who am I?", [hit("The user is Ann", scored(1.0, 0.2, 0.0))], CONFIG, NOW)
    assert ids(kept) == ["The user is Ann"]


def test_scores_beyond_a_cosine_are_logits(hit: MakeHit) -> None:
    """``sigmoid`` turns them into probabilities."""
    hits = [hit("a", {"store": 3.0}), hit("b", {"store": 0.0}), hit("c", {"store": -2.0})]
    relevance, supported = relevance_of("q", hits, CONFIG.replace(relevance="sigmoid"))
    assert np.allclose(relevance, [1 / (1 + math.exp(-x)) for x in (3, 0, -2)])
    assert supported.all()
    calibrated, _ = relevance_of("q", hits, CONFIG)
    assert ((calibrated >= 0) & (calibrated <= 1)).all()


def test_minmax_scales_over_the_candidates(hit: MakeHit) -> None:
    """As agent-cli publishes it: nothing is refused, equal scores are 0.5."""
    config = CONFIG.replace(relevance="minmax")
    relevance, supported = relevance_of("q", [hit("a", {"store": 0.3}), hit("b", {"store": 0.2})], config)
    assert (list(relevance), supported.all()) == ([1.0, 0.0], True)
    assert list(minmax(np.array([0.7, 0.7]))) == [0.5, 0.5]
    assert list(minmax(np.array([]))) == []


@pytest.mark.parametrize(
    ("relevance", "scores", "expected"),
    [
        ("calibrated", [0.9, 0.1], [0.9, 0.1]),
        ("sigmoid", [0.9, 0.1], [0.9, 0.1]),
        ("sigmoid", [2.0, -2.0], [0.8808, 0.1192]),
        ("calibrated", [2.0, -2.0], [0.8808, 0.1192]),
        ("minmax", [2.0, -2.0, 0.0], [1.0, 0.0, 0.5]),
        ("minmax", [0.4, 0.4], [0.5, 0.5]),
        ("calibrated", [0.9, math.nan], [0.9, 0.0]),
        ("minmax", [math.nan, math.nan], [0.5, 0.5]),
        ("calibrated", [], []),
        ("sigmoid", [1000.0, -1000.0], [1.0, 0.0]),
    ],
)
def test_a_rerankers_scores_become_relevance(relevance: Any, scores: list[float], expected: list[float]) -> None:
    """As they are in [0, 1]; logits through the sigmoid; a broken number is no relevance."""
    assert np.allclose(given_relevance(scores, CONFIG.replace(relevance=relevance)), expected, atol=1e-4)


# the total


@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (30, math.exp(-1)), (-400, 1.0), (400_000, 0.0)])
def test_recency_falls_with_age_and_never_exceeds_one(days: float, expected: float) -> None:
    """Also for a date in the future, as hand-edited files may have one."""
    assert recencies([NOW - dt.timedelta(days=days)], NOW, 30.0) == pytest.approx(expected)


def test_the_total_is_the_weighted_mean(hit: MakeHit) -> None:
    """(wr·relevance + wt·recency + wi·importance) / Σw, from when it was said."""
    config = CONFIG.replace(relevance_weight=2, recency_weight=1, importance_weight=1)
    old = hit("a", observed_at=NOW - dt.timedelta(days=30), importance=0.4)
    (kept,), _ = rerank("q", [old], config, NOW, lambda query, texts: [0.5])
    assert kept.scores["total"] == pytest.approx((2 * 0.5 + math.exp(-1) + 0.4) / 4)
    assert kept.scores["recency"] == pytest.approx(math.exp(-1))


def test_without_weights_relevance_decides(hit: MakeHit) -> None:
    """All weights 0 is no division by 0."""
    config = CONFIG.replace(relevance_weight=0, recency_weight=0, importance_weight=0)
    (kept,), _ = rerank("q", [hit("a")], config, NOW, lambda query, texts: [0.5])
    assert kept.scores["total"] == 0.5


def test_the_threshold_is_on_relevance_before_recency(hit: MakeHit) -> None:
    """A fresh and important memory that isn't relevant is dropped, an old one that is relevant stays."""
    fresh = hit("fresh", importance=1.0)
    old = hit("old", observed_at=NOW - dt.timedelta(days=3650))
    scores = {"fresh": 0.34, "old": 0.36}
    kept, dropped = rerank(
        "q",
        [fresh, old],
        CONFIG.replace(score_threshold=0.35),
        NOW,
        lambda query, texts: [scores[text] for text in texts],
    )
    assert ids(kept) == ["old"]
    assert [(choice.id, choice.kept) for choice in dropped] == [("fresh", False)]
    assert "score_threshold 0.35" in dropped[0].reason


def test_archives_have_a_threshold_of_their_own(hit: MakeHit) -> None:
    """``relevance_threshold``."""
    hits = [hit("near", role="archive"), hit("far", role="archive"), hit("fact")]
    kept, dropped = rerank("q", hits, CONFIG, NOW, lambda query, texts: [0.8, 0.6, 0.6])
    assert (ids(kept), [choice.id for choice in dropped]) == (["near", "fact"], ["far"])


def test_equal_totals_are_ordered_by_time_then_id(hit: MakeHit) -> None:
    """The same candidates give the same order, however they came."""
    config = CONFIG.replace(recency_weight=0)
    before = NOW - dt.timedelta(1)
    hits = [*(hit(name, observed_at=before) for name in "cab"), hit("new", observed_at=NOW)]
    for order in (hits, hits[::-1]):
        kept, _ = rerank("q", order, config, NOW, lambda query, texts: [0.5] * len(texts))
        assert ids(kept) == ["new", "a", "b", "c"]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("agent-cli", {"a": 0.8 * 1.0 + 0.2 * 1.0, "b": 0.8 * 0.5 + 0.2 * math.exp(-1), "c": 0.0 + 0.2}),
        (
            "agent-cli-sigmoid",
            {"a": 0.8 * 0.982014 + 0.2, "b": 0.8 * 0.880797 + 0.2 * math.exp(-1), "c": 0.8 * 0.5 + 0.2},
        ),
        ("theoria", {"a": (0.982014 + 1) / 3, "b": (0.880797 + math.exp(-30 / 7)) / 3, "c": (0.5 + 1) / 3}),
    ],
)
def test_presets_are_the_published_formulas(hit: MakeHit, preset: str, expected: dict[str, float]) -> None:
    """Over a cross-encoder's logits."""
    hits = [hit("a"), hit("b", observed_at=NOW - dt.timedelta(days=30)), hit("c")]
    kept, _ = rerank("q", hits, MemoryConfig.preset(preset), NOW, lambda query, texts: [4.0, 2.0, 0.0])
    assert {hit.record.id: hit.scores["total"] for hit in kept} == pytest.approx(expected, abs=1e-5)


# the reranking model


def test_the_reranker_reads_a_bounded_number_of_texts(hit: MakeHit) -> None:
    """The best by the store's scores, with the speaker's name; the rest is dropped and says why."""
    seen: list[list[str]] = []

    def reranker(query: str, texts: list[str]) -> list[float]:
        seen.append(texts)
        return [0.5] * len(texts)

    hits = [hit(f"tea {n}", {"store": n / 100}, metadata={"name": "Ann"}) for n in range(100)]
    kept, dropped = rerank("tea", hits, CONFIG.replace(rerank_batch=10), NOW, reranker)
    assert len(seen) == 1
    assert set(seen[0]) == {f"Ann: tea {n}" for n in range(90, 100)}
    assert (len(kept), len(dropped)) == (10, 90)
    assert "rerank_batch" in dropped[0].reason


def test_a_wrong_number_of_scores_is_an_error(hit: MakeHit) -> None:
    """Scores that belong to nobody knows which text aren't used."""
    with pytest.raises(ValueError, match="2 scores for 1 texts"):
        rerank("q", [hit("a")], CONFIG, NOW, lambda query, texts: [1.0, 2.0])


def services(**fields: Any) -> Services:
    """Services with a fixed clock."""
    return Services(store=InMemoryStore(), clock=lambda: NOW, **fields)


def state_of(*hits: MemoryHit) -> dict[str, Any]:
    """A state in which candidates were found."""
    plan = Plan(strategy="memory", reason="", query="green tea")
    return {"messages": [HumanMessage("green tea")], "memory_plan": plan, "memory_hits": list(hits)}


@pytest.mark.parametrize("error", [RuntimeError("no memory"), ValueError("bad")])
def test_a_reranker_that_fails_is_replaced_by_the_built_in(hit: MakeHit, error: Exception) -> None:
    """One step down with one warning; ``strict`` raises."""

    def broken(query: str, texts: list[str]) -> list[float]:
        raise error

    state = state_of(hit("green tea"), hit("hiking"))
    update = rerank_node(services(reranker=broken)).invoke(state)
    assert ids(update["memory_hits"]) == ["green tea"]
    assert str(error) in update["memory_report"]["warnings"][0]
    with pytest.raises(type(error)):
        rerank_node(services(reranker=broken, config=MemoryConfig(strict=True))).invoke(state)


async def test_the_node_sorts_and_reports(hit: MakeHit) -> None:
    """Sync and async alike, with and without a reranker."""
    state = state_of(hit("green hiking"), hit("green tea"), hit("cold"))
    for reranker in (None, lambda query, texts: [0.2, 0.9, 0.1]):
        node = rerank_node(services(reranker=reranker))
        update, again = node.invoke(state), await node.ainvoke(state)
        assert ids(update["memory_hits"])[:2] == ids(again["memory_hits"])[:2] == ["green tea", "green hiking"]
        assert update["memory_report"]["counts"]["relevant"] == len(update["memory_hits"])
    assert rerank_node(services()).invoke({})["memory_hits"] == []


def test_a_bare_question_for_the_last_time_wants_archives(hit: MakeHit) -> None:
    """There are no words to be relevant to, so the newest archive comes first."""
    plan = Plan(strategy="archive", reason="last time", query="")
    archives = [hit("old", role="archive", observed_at=NOW - dt.timedelta(days=9)), hit("new", role="archive")]
    state = {"messages": [HumanMessage("what did we discuss last time?")], "memory_plan": plan, "memory_hits": archives}
    assert ids(rerank_node(services()).invoke(state)["memory_hits"]) == ["new", "old"]
    assert question_of(state_of())[0] == "green tea"


cosines = st.floats(-1, 1)
shares = st.floats(0, 1)


@given(st.lists(st.tuples(shares, cosines, shares), max_size=20), st.sampled_from(["calibrated", "sigmoid", "minmax"]))
def test_relevance_is_in_bounds_and_keeps_the_order(rows: list[tuple[float, float, float]], mode: Any) -> None:
    """For any scores of our own store."""
    hits = [
        MemoryHit(record=MemoryRecord(id=str(n), text="x", user_id="a"), scores=scored(*row))
        for n, row in enumerate(rows)
    ]
    relevance, _ = relevance_of("x", hits, MemoryConfig(relevance=mode))
    assert ((relevance >= 0) & (relevance <= 1)).all()
    by_store = sorted(range(len(rows)), key=lambda n: (-rows[n][0], -relevance[n]))
    assert all(relevance[a] >= relevance[b] - 1e-12 for a, b in itertools.pairwise(by_store))


def test_a_local_model_that_fails_takes_nothing_with_it(
    hit: Callable[..., MemoryHit], caplog: pytest.LogCaptureFixture
) -> None:
    """The hits are ranked without token bits, with a warning; a strict one raises."""

    class Broken(TokenEncoder):
        def known(self, text: str) -> TextBits | None:
            raise ConfigError("the model's file is another one")

    real = local_token_encoder()
    if real is None:
        pytest.skip("the packaged model isn't installed")
    broken = Broken(real.embeddings)
    hits = [hit("My dog is called Rex.", {"store": 0.9, "cosine": 0.8, "coverage": 0.9})]
    kept, _ = rerank("What is my dog called?", hits, MemoryConfig(), NOW, encoder=broken)
    assert len(kept) == 1
    assert "the model's file is another one" in caplog.text
    with pytest.raises(ConfigError):
        rerank("What is my dog called?", hits, MemoryConfig(strict=True), NOW, encoder=broken)


def test_a_turn_comes_before_what_the_fact_that_it_stands_for_replaces(hit: MakeHit) -> None:
    """The fact says too little of the question to be shown, or is refused altogether; what it is newer than is known
    all the same.
    """
    said = "Could you plan my sailing week? By the way, the mooring fee of my boat is ninety crowns a month now."
    old = hit("My boat's mooring fee is seventy crowns a month.", scored(1.0, 0.8, 1.0), id="old")
    turn = hit(said, scored(0.5, 0.6, 0.7), id="turn", role="user")
    link = hit("Could you plan my sailing week?", scored(0.3, 0.3, 0.2), id="link", source_ids=["turn"])
    link.record.metadata["newer_than"] = ["old"]
    question = "What is the mooring fee of my boat?"
    for scores in (link.scores, scored(0.0, 0.0, 0.0)):
        fact = link.model_copy(update={"scores": scores})
        kept, _ = rerank(question, [old, turn, fact], CONFIG, NOW)
        assert ids(kept) == ["turn", "old"]
    assert ids(rerank(question, [old, turn], CONFIG, NOW)[0]) == ["old", "turn"]


def test_a_link_between_facts_that_answer_nothing_moves_no_turn(hit: MakeHit) -> None:
    """Their turns may say something else of the question."""
    first = hit("My dog Rex has an appointment in Lyon, where I teach.", scored(1.0, 0.8, 1.0), id="first", role="user")
    then = hit("I bake since May, and my dog hates the flour.", scored(0.4, 0.5, 0.3), id="then", role="user")
    old = hit("I teach", scored(0.0, 0.0, 0.0), id="old", source_ids=["first"])
    new = hit("I bake since May", scored(0.0, 0.0, 0.0), id="new", source_ids=["then"])
    new.record.metadata["newer_than"] = ["old", "first"]
    kept, _ = rerank("Which pet has an appointment?", [first, then, old, new], CONFIG, NOW)
    assert ids(kept) == ["first", "then"]
