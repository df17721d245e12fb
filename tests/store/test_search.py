"""Ranking and filters, pure."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.store.search import (
    Floats,
    Fused,
    Leg,
    check_filter,
    fuse,
    json_equal,
    matches,
    reciprocal_ranks,
    share_of_best,
)

NAN = float("nan")
Scores = list[float]
FLOATS = st.one_of(st.just(NAN), st.floats(-50, 50, width=32))
ROWS = st.lists(st.tuples(FLOATS, FLOATS, st.one_of(st.just(NAN), st.floats(-1, 1, width=32)), FLOATS), max_size=12)


def _leg(rows: list[tuple[float, ...]]) -> Leg:
    columns = np.asarray(rows, np.float32).reshape(-1, 4).T
    return Leg(np.arange(len(rows)), *columns)


def _fuse(
    legs: list[Leg],
    ranking: Literal["hybrid", "dense"] = "hybrid",
    fusion: Literal["convex", "rrf"] = "convex",
    dense_weight: float = 0.5,
    window_weight: float = 0.0,
) -> Fused:
    return fuse(legs, ranking=ranking, fusion=fusion, dense_weight=dense_weight, window_weight=window_weight, rrf_k=60)


def _array(*values: float) -> Floats:
    return np.asarray(values, np.float32)


def test_scores_are_scaled_by_the_best() -> None:
    """The best is 1, nothing in common is 0, and so is what wasn't found; equal scores are all 1."""
    assert share_of_best(_array(2, NAN, 8, 4, -1)).tolist() == [0.25, 0, 1, 0.5, 0]
    assert share_of_best(_array(3, 3, NAN)).tolist() == [1, 1, 0]
    assert share_of_best(_array(-3, 0, NAN)).tolist() == [0, 0, 0]
    assert share_of_best(_array(NAN, NAN)).tolist() == [0, 0]
    assert share_of_best(_array()).tolist() == []


def test_one_of_two_good_matches_is_not_scaled_to_nothing() -> None:
    """A turn that holds the words ranks above its neighbour, which only stands beside it."""
    turn, neighbour = (2.0, 1.8, NAN, NAN), (NAN, 2.0, NAN, NAN)
    assert _fuse([_leg([neighbour, turn])], window_weight=0.6).order.tolist() == [1, 0]


def test_ranks_begin_at_one() -> None:
    """The best has 1/(k + 1); what wasn't found has 0, and doesn't move the others."""
    assert reciprocal_ranks(_array(1, NAN, 5), 60).tolist() == pytest.approx([1 / 62, 0, 1 / 61])


@given(ROWS, ROWS, st.sampled_from(["convex", "rrf"]), st.floats(0, 1), st.floats(0, 1))
def test_hybrid_scores_lie_between_zero_and_one_and_fall(
    one: list[tuple[float, ...]],
    two: list[tuple[float, ...]],
    fusion: Literal["convex", "rrf"],
    dense_weight: float,
    window_weight: float,
) -> None:
    """Whatever the legs hold, each found row appears once, best first, and never one that nothing found."""
    legs = [_leg(one), _leg(two)]
    fused = _fuse(legs, fusion=fusion, dense_weight=dense_weight, window_weight=window_weight)
    scores = fused.score[fused.order]
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1 + 1e-5)).all()
    assert (np.diff(scores) <= 1e-6).all()
    found = [row for row, values in enumerate([*one, *two]) if np.isfinite(values[:3]).any()]
    assert sorted(fused.order.tolist()) == found
    for part in (fused.words, fused.dense):
        assert ((part >= 0) & (part <= 1)).all()


@given(ROWS, st.integers(0, 12))
def test_one_scale_holds_for_all_namespaces(rows: list[tuple[float, ...]], at: int) -> None:
    """Items score the same however they are spread over namespaces: raw scores are normalised once."""
    whole = _fuse([_leg(rows)], window_weight=0.6)
    parts = _fuse([_leg(rows[:at]), Leg.empty(), _leg(rows[at:])], window_weight=0.6)
    assert whole.order.tolist() == parts.order.tolist()
    assert whole.score.tolist() == parts.score.tolist()


def test_equals_keep_the_order_of_the_rows() -> None:
    """So that pages of a ranking fit together."""
    fused = _fuse([_leg([(1, 1, NAN, NAN)] * 5)])
    assert fused.order.tolist() == [0, 1, 2, 3, 4]


def test_a_leg_that_found_nothing_leaves_its_share_to_the_others() -> None:
    """Words alone count fully without vectors, vectors without words."""
    words = _fuse([_leg([(2, 2, NAN, NAN), (1, 1, NAN, NAN)])])
    assert words.score.tolist() == [1, 0.5]
    vectors = _fuse([_leg([(NAN, NAN, 0.2, 0.2), (NAN, NAN, 0.9, 0.9)])])
    assert vectors.order.tolist() == [1, 0]
    assert vectors.score.tolist() == pytest.approx([2 / 9, 1])


def test_words_and_vectors_both_count() -> None:
    """An item that both find beats one that only one finds."""
    rows = [(5, 5, NAN, NAN), (4, 4, 0.8, 0.8), (NAN, NAN, 0.9, 0.9), (1, 1, 0.1, 0.1)]
    assert _fuse([_leg(rows)]).order[0] == 1


def test_a_neighbour_helps() -> None:
    """What only the second view finds is ranked by it."""
    fused = _fuse([_leg([(NAN, 3, NAN, NAN), (2, 1, NAN, NAN)])], window_weight=0.6)
    assert fused.order.tolist() == [0, 1]


def test_dense_is_the_plain_cosine_order() -> None:
    """The score is the cosine itself, and what has no vector isn't ranked."""
    fused = _fuse([_leg([(9, 9, 0.1, 0.1), (NAN, NAN, 0.7, 0.1), (8, 8, NAN, NAN)])], ranking="dense")
    assert fused.order.tolist() == [1, 0]
    assert fused.score[fused.order].tolist() == pytest.approx([0.7, 0.1])


def test_nothing_at_all_is_no_error() -> None:
    """No legs, or empty ones, rank nothing."""
    assert _fuse([]).order.tolist() == []
    assert _fuse([Leg.empty()], ranking="dense").order.tolist() == []


VALUES: dict[str, Any] = {
    "n": 3,
    "f": 2.5,
    "t": "b",
    "yes": True,
    "none": None,
    "list": [1, True, "a"],
    "map": {"x": 1, "y": {"z": "deep"}},
    "a.b": "dotted",
    "when": "2026-05-01T10:00:00.000000Z",
}


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        (None, True),
        ({}, True),
        ({"n": 3}, True),
        ({"n": 3.0}, True),
        ({"n": True}, False),
        ({"yes": 1}, False),
        ({"none": None}, True),
        ({"missing": None}, False),
        ({"missing": {"$ne": 1}}, True),
        ({"missing": {"$gt": 1}}, False),
        ({"n": {"$gt": 2, "$lte": 3}}, True),
        ({"n": {"$gt": 2, "$lt": 3}}, False),
        ({"n": {"$gt": "2"}}, False),
        ({"yes": {"$gt": 0}}, False),
        ({"f": {"$gte": 2}}, True),
        ({"t": {"$gt": "a"}}, True),
        ({"when": {"$gte": "2026-05-01"}}, True),
        ({"none": {"$gt": 0}}, False),
        ({"list": [1, True, "a"]}, True),
        ({"list": [True, True, "a"]}, False),
        ({"list": [1, True]}, False),
        ({"list": {"$gt": 1}}, False),
        ({"map": {"x": 1}}, True),
        ({"map": {"x": {"$gt": 0}}}, True),
        ({"map": {"y": {"z": "deep"}}}, True),
        ({"map": {"y": {}}}, False),
        ({"map": {"$eq": {"x": 1}}}, False),
        ({"map": {"$eq": {"y": {"z": "deep"}, "x": 1.0}}}, True),
        ({"a.b": "dotted"}, True),
        ({"a": {"b": "dotted"}}, False),
        ({"t": {"$ne": "b"}}, False),
        ({"n": 3, "t": "c"}, False),
    ],
    ids=repr,
)
def test_a_filter_means_what_json_means(condition: Any, met: bool) -> None:
    """By type, literally, all conditions together; what isn't there meets only ``$ne``."""
    check_filter(condition)
    assert matches(VALUES, condition) is met


@pytest.mark.parametrize("condition", [{"a": {"$no": 1}}, {"a": {"b": {"$no": 1}}}, {"a": {"$eq": 1, "b": 2}}])
def test_an_unknown_operator_is_refused(condition: Any) -> None:
    """At any depth, and also beside a known one."""
    with pytest.raises(ValueError, match="Unsupported operator"):
        check_filter(condition)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0]) | st.sampled_from(["", "a", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(JSON, JSON)
def test_equality_is_reflexive_and_symmetric(one: Any, other: Any) -> None:
    """And a filter by equality finds exactly the equals."""
    assert json_equal(one, one)
    assert json_equal(one, other) == json_equal(other, one)
    assert matches({"v": one}, {"v": {"$eq": other}}) == json_equal(one, other)
    assert matches({"v": one}, {"v": {"$ne": other}}) != json_equal(one, other)
