"""Retrieval metrics, against numbers worked out by hand, and for all inputs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.evals.metrics import (
    auroc,
    bootstrap,
    mcnemar,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
    refused_at,
)

RANKING = ["x", "a", "y", "b"]


@pytest.mark.parametrize(("k", "share"), [(0, 0.0), (1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (9, 1.0), (-1, 0.0)])
def test_recall_is_the_share_of_the_gold_among_the_first(k: int, share: float) -> None:
    """What stands behind the k-th place doesn't count, and nothing stands before the first."""
    assert recall_at({"a", "b"}, RANKING, k) == share


@pytest.mark.parametrize(("gold", "rank"), [("x", 1), ("a", 2), ("b", 4)])
def test_the_reciprocal_rank_is_that_of_the_first_gold(gold: str, rank: int) -> None:
    """Only the best place counts."""
    assert reciprocal_rank({gold, "b"}, RANKING) == 1 / rank
    assert reciprocal_rank({"nowhere"}, RANKING) == 0


def test_ndcg_counts_places_by_their_logarithm() -> None:
    """Two of two at the places 2 and 4, against the places 1 and 2."""
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg_at({"a", "b"}, RANKING, 4) == pytest.approx(expected)
    assert ndcg_at({"x", "a"}, RANKING, 2) == 1
    assert ndcg_at({"x", "a", "z"}, RANKING, 1) == 1  # no more than k can be found
    assert ndcg_at({"a"}, RANKING, 1) == 0


def test_without_gold_nothing_can_be_found() -> None:
    """A question without evidence is 0, no division by zero."""
    assert (recall_at(set(), RANKING, 5), ndcg_at(set(), RANKING, 5), reciprocal_rank(set(), RANKING)) == (0, 0, 0)
    assert ndcg_at({"a"}, RANKING, 0) == 0


ids = st.sampled_from("abcdefgh")
rankings = st.lists(ids, unique=True)
golds = st.sets(ids, min_size=1)
numbers = st.lists(st.floats(0, 1, allow_nan=False), max_size=12)


@given(golds, rankings, st.integers(0, 12))
def test_measures_keep_within_their_bounds(gold: set[str], ranking: list[str], k: int) -> None:
    """All lie in [0, 1]; more hits find no less; all gold in front is perfect."""
    for measure in (recall_at, ndcg_at):
        assert 0 <= measure(gold, ranking, k) <= 1 + 1e-9
    assert recall_at(gold, ranking, k) <= recall_at(gold, ranking, k + 1)
    assert 0 <= reciprocal_rank(gold, ranking) <= 1
    perfect = [*sorted(gold), *(id for id in ranking if id not in gold)]
    assert ndcg_at(gold, perfect, len(gold)) == pytest.approx(1)
    assert recall_at(gold, perfect, len(gold)) == 1
    assert (recall_at(gold, ranking, k) == 0) == (ndcg_at(gold, ranking, k) == 0)


@given(golds, rankings, st.integers(1, 12))
def test_evidence_further_up_gains_no_less(gold: set[str], ranking: list[str], k: int) -> None:
    """Moving the last gold one place up never lowers NDCG or the reciprocal rank."""
    places = [place for place, id in enumerate(ranking) if id in gold]
    if places and places[-1] > 0:
        up = list(ranking)
        up[places[-1] - 1], up[places[-1]] = up[places[-1]], up[places[-1] - 1]
        assert ndcg_at(gold, up, k) >= ndcg_at(gold, ranking, k) - 1e-9
        assert reciprocal_rank(gold, up) >= reciprocal_rank(gold, ranking)


@given(numbers.filter(bool), st.integers(0, 5))
def test_intervals_are_the_same_each_time(values: list[float], seed: int) -> None:
    """They hold the mean and lie within the values; another seed may give another."""
    found = bootstrap(values, seed=seed, resamples=50)
    assert found == bootstrap(values, seed=seed, resamples=50)
    assert min(values) - 1e-9 <= found.low <= found.mean <= found.high <= max(values) + 1e-9
    assert found.count == len(values)


def test_an_interval_has_about_the_width_that_theory_says() -> None:
    """Of 400 tosses of a fair coin: twice 1.96 standard errors of 0.025; of nothing, nothing."""
    found = bootstrap([0.0, 1.0] * 200)
    assert found.high - found.low == pytest.approx(0.098, abs=0.012)
    assert bootstrap([]).to_json() == {"mean": 0, "low": 0, "high": 0, "count": 0}


@given(numbers, numbers)
def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(positive: list[float], negative: list[float]) -> None:
    """As comparing every pair says, ties counting half; swapping the sides mirrors it."""
    pairs = [1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative]
    assert auroc(positive, negative) == pytest.approx(sum(pairs) / len(pairs) if pairs else 0.5)
    assert auroc(positive, negative) == pytest.approx(1 - auroc(negative, positive))


@pytest.mark.parametrize(
    ("first", "second", "p"), [(10, 2, 0.038574), (0, 0, 1.0), (5, 5, 1.0), (0, 6, 0.03125), (6, 16, 0.052479)]
)
def test_the_exact_test_gives_known_values(first: int, second: int, p: float) -> None:
    """Two-sided binomial, whichever side is which."""
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(p, rel=1e-4)


def test_refusals_are_counted_at_a_threshold_that_the_answerable_set() -> None:
    """One of twenty answerable questions may be refused for it."""
    answerable = [0.2, *[0.5] * 19]
    assert refused_at(answerable, [0.1, 0.3, 0.4, 0.6]) == 0.75
    assert refused_at([], [0.1]) == refused_at([0.1], []) == 0


@given(numbers)
def test_a_percentile_is_one_of_the_values(values: list[float]) -> None:
    """Half of them and all of them; without values 0."""
    assert percentile(values, 0.5) in ([*values] or [0.0])
    assert percentile(values, 1.0) == max(values, default=0.0)
