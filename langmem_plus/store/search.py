"""Ranking and filtering, pure: what every store of this package shares.

A search gathers `Leg`s (one a namespace), `fuse`s their raw scores into one order and reads the best items. Filters
mean the same on every backend: labels and types of JSON, never those of a database.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from langgraph.store.base import SearchItem

from langmem_plus.providers import TextBits

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


class RankedItem(SearchItem):
    """A search result that also carries its vector and the score of each leg.

    Attributes:
        vector: the unit vector nearest to the query, shape (dims,), or None.
        scores: ``words`` and ``dense`` in [0, 1] within this search, ``cosine`` in [-1, 1] and ``coverage`` in [0, 1]
            (the share of the query's words, weighted by rarity, that the item holds) on absolute scales.
        bits: the token bits of its texts, or None.
    """

    __slots__ = ("bits", "scores", "vector")

    def __init__(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        created_at: dt.datetime,
        updated_at: dt.datetime,
        score: float | None = None,
        vector: Floats | None = None,
        scores: dict[str, float] | None = None,
        bits: TextBits | None = None,
    ) -> None:
        super().__init__(namespace, key, value, created_at, updated_at, score)
        self.vector, self.bits = vector, bits
        self.scores = scores or {}


def products(vectors: Floats, query: Floats) -> Floats:
    """The dot product of each row with the query, on this thread alone.

    Row by row the memory is read from one end to the other, which is what takes the time: as one matrix it would be
    read at several places at once, which takes twice as long. The linear algebra library would also share such a
    product among its threads, which gain nothing, and where all cores are busy, waiting for them takes many times as
    long.
    """
    found: Floats = (vectors[:, None, :] @ query)[:, 0]
    return found


def taken(values: npt.NDArray[Scalar], places: Ids) -> npt.NDArray[Scalar]:
    """The values at some ascending, different places: the very array where these are all of them."""
    return values if len(places) == len(values) else values[places]


def places_in(known: Ids, wanted: Ids) -> Ids:
    """Where some numbers stand in a sorted array of different ones, -1 for one that doesn't."""
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    places = known.searchsorted(wanted)
    return np.where(known.take(places, mode="clip") == wanted, places, -1)


@dataclass(frozen=True)
class Leg:
    """Raw scores of one namespace's items, one row an item; NaN where an item has no such score.

    Attributes:
        ids: the items, shape (n,).
        words, windows: BM25 of the item alone and with its neighbours, larger is better.
        cosine, window_cosine: cosine of the item alone and with its neighbours.
    """

    ids: Ids
    words: Floats
    windows: Floats
    cosine: Floats
    window_cosine: Floats

    @staticmethod
    def empty() -> Leg:
        """A leg without items."""
        none = np.empty(0, np.float32)
        return Leg(np.empty(0, np.int64), none, none, none, none)


@dataclass(frozen=True)
class Fused:
    """One order over all legs.

    Attributes:
        rows: the rows of the concatenated legs that were found, in the order of equals.
        score, words, dense, cosine: of every row.
    """

    rows: Ids
    score: Floats
    words: Floats
    dense: Floats
    cosine: Floats

    @property
    def order(self) -> Ids:
        """All rows that were found, best first."""
        return self.best(len(self.rows))

    def best(self, count: int) -> Ids:
        """The first ``count`` of `order`, without sorting the others."""
        score, rows = self.score[self.rows], self.rows
        if count < len(rows) // 4:
            least = np.partition(score, len(score) - count)[len(score) - count] if count else np.inf
            near = score >= least
            score, rows = score[near], rows[near]
        return rows[np.argsort(-score, kind="stable")[:count]]


def share_of_best(scores: Floats) -> Floats:
    """Scale to [0, 1]: the best is 1, nothing in common (0, for BM25 as for a cosine) or a missing score is 0.

    With the least score found as 0 instead, one of two good matches would count as none.

    Source: Bruch, Gai, Ingber (2023), "theoretical" min-max scaling.
    """
    known = np.fmax(scores, np.float32(0))  # 0 also for what is missing
    best = known.max(initial=0)
    return (known / best if best > 0 else known).astype(np.float32, copy=False)


def reciprocal_ranks(scores: Floats, k: int) -> Floats:
    """Reciprocal rank 1/(k + rank), ranks from 1; 0 for a missing score.

    Source: Cormack, Clarke, Büttcher (2009), "Reciprocal Rank Fusion outperforms Condorcet …".
    """
    ranks = np.empty(len(scores), np.float32)
    ranks[np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(np.isfinite(scores), 1 / (k + ranks), 0).astype(np.float32)


def fuse(
    legs: list[Leg],
    *,
    ranking: Literal["hybrid", "dense"],
    fusion: Literal["convex", "rrf"],
    dense_weight: float,
    window_weight: float,
    rrf_k: int,
) -> Fused:
    """Order the rows of all legs by one score.

    ``dense`` is plain cosine over the rows that have a vector. ``hybrid`` combines words and vectors over two views,
    the item alone and with its neighbours: ``convex`` mixes scores scaled once over all legs, ``rrf`` mixes ranks. A
    leg that found nothing at all leaves its share to the others. Ties keep the order of the rows.

    Source: Bruch, Gai, Ingber (2023), "An Analysis of Fusion Functions for Hybrid Retrieval".
    """
    leg = legs[0] if len(legs) == 1 else _joined(legs)
    words, cosine = leg.words, leg.cosine
    if ranking == "dense":
        return Fused(np.flatnonzero(np.isfinite(cosine)), cosine, share_of_best(words), share_of_best(cosine), cosine)

    scale: Callable[[Floats], Floats] = (
        share_of_best if fusion == "convex" else functools.partial(reciprocal_ranks, k=rrf_k)
    )

    def two_views(alone: Floats, window: Floats) -> tuple[Floats, Floats]:
        own = scale(alone)
        return own, own if window is alone else (1 - window_weight) * own + window_weight * scale(window)

    (own_words, keyword), (own_dense, dense) = two_views(words, leg.windows), two_views(cosine, leg.window_cosine)
    has_words, has_dense = np.isfinite(words), np.isfinite(cosine)
    weight = dense_weight if has_dense.any() else 0.0
    if not has_words.any():
        weight = 1.0
    score = weight * dense + (1 - weight) * keyword
    if fusion == "rrf":
        score = score * (rrf_k + 1)
        own_words, own_dense = share_of_best(words), share_of_best(cosine)
    found = has_words | has_dense
    if leg.windows is not words:
        found |= np.isfinite(leg.windows)
    return Fused(np.flatnonzero(found), score.astype(np.float32, copy=False), own_words, own_dense, cosine)


def _joined(legs: list[Leg]) -> Leg:
    """All rows of all legs."""
    if not legs:
        return Leg.empty()
    return Leg(*(np.concatenate([getattr(leg, field.name) for leg in legs]) for field in fields(Leg)))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: value is not _MISSING and json_equal(value, wanted),
    "$ne": lambda value, wanted: value is _MISSING or not json_equal(value, wanted),
    "$gt": lambda value, wanted: _comparable(value, wanted) and value > wanted,
    "$gte": lambda value, wanted: _comparable(value, wanted) and value >= wanted,
    "$lt": lambda value, wanted: _comparable(value, wanted) and value < wanted,
    "$lte": lambda value, wanted: _comparable(value, wanted) and value <= wanted,
}
_MISSING: Any = object()


def check_filter(condition: Mapping[str, Any] | None) -> None:
    """Refuse a filter with an operator that doesn't exist, before anything is searched.

    Raises:
        ValueError: the operator's name, and those that exist.
    """
    for wanted in (condition or {}).values():
        if isinstance(wanted, Mapping):
            operators = [name for name in wanted if str(name).startswith("$")]
            unknown = [name for name in wanted if operators and name not in _OPERATORS]
            if unknown:
                raise ValueError(f"Unsupported operator: {unknown[0]!r}; use one of {', '.join(_OPERATORS)}.")
            if not operators:
                check_filter(wanted)


def matches(value: Mapping[str, Any], condition: Mapping[str, Any] | None) -> bool:
    """Whether a value meets every condition of a filter; a field's name is taken literally, dots and all."""
    return all(_meets(value.get(name, _MISSING), wanted) for name, wanted in (condition or {}).items())


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and wanted:
        if any(str(name).startswith("$") for name in wanted):
            return all(_OPERATORS[name](value, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and matches(value, wanted)
    return value is not _MISSING and json_equal(value, wanted)


def json_equal(left: Any, right: Any) -> bool:
    """Equality as JSON has it: ``true`` is not 1, 1 is 1.0, lists in order, objects by their fields."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(json_equal(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return bool(left == right)


def _comparable(value: Any, wanted: Any) -> bool:
    def kind(item: Any) -> str | None:
        if isinstance(item, bool):
            return None
        return "number" if isinstance(item, int | float) else "text" if isinstance(item, str) else None

    return kind(value) is not None and kind(value) == kind(wanted)
