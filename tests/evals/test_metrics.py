"""Retrieval metrics, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from langmem_plus.evals.metrics import ndcg_at, recall_at, reciprocal_rank

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
