"""What a search reads of one namespace: raw scores of its items, and what the chosen ones carry beside their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.index import Index, rarity
from langmem_plus.store.search import Floats, Ids, Leg


@dataclass(frozen=True)
class Nearest:
    """What an approximate index says of a query.

    Attributes:
        ids: the items, about the nearest.
        epoch, since: the catalog that it was filled from, and how many of that one's vectors it knows.
    """

    ids: Ids
    epoch: object
    since: int


@dataclass(frozen=True)
class Found:
    """What a namespace found.

    Attributes:
        leg: raw scores of its items; the words' only when they are weighed.
        words, windows: their keyword scores, shape (terms, n), or (1, n) for all terms together; NaN for no match.
        identity: which index their ids belong to.
        total: the number of items there.
        held: how many of them hold each term.
        cut: whether others may be nearer to the query than some of these.
    """

    leg: Leg
    words: Floats
    windows: Floats
    identity: int
    total: int
    held: Mapping[str, int]
    cut: bool = False

    @staticmethod
    def nothing() -> Found:
        """What is found where nothing is."""
        none = np.empty((0, 0), np.float32)
        return Found(Leg.empty(), none, none, 0, 0, {})

    def weighed(self, weights: Floats) -> Leg:
        """The leg, with a weight for each row of the keyword scores."""
        columns = {}
        for name, scores in (("words", self.words), ("windows", self.windows)):
            sums = np.nansum(scores * weights[: len(scores), None], axis=0, dtype=np.float64).astype(np.float32)
            columns[name] = np.where(np.isfinite(scores).any(axis=0), sums, np.float32(np.nan))
        return replace(self.leg, **columns)


@dataclass(frozen=True)
class Details:
    """What a result carries beside its value."""

    vectors: Mapping[int, Floats]
    coverage: Mapping[int, float]


def find_items(
    index: Index,
    catalog: Catalog,
    terms: Sequence[str],
    query: Floats | None,
    condition: Mapping[str, Any] | None,
    pool: int | None,
    expired: Sequence[int] = (),
    nearest: Nearest | None = None,
) -> Found:
    """The items that match a search in any way and can meet its filter.

    Args:
        index: the index, in one state.
        catalog: in step with it.
        terms: the distinct words.
        query: the question's vector.
        condition: the filter.
        pool: the keyword matches that are ranked in each view, by the rarity of the terms here; None where terms will
            be weighed by their rarity elsewhere, too.
        expired: the ids of items whose time is over.
        nearest: the vectors that are compared beside those of the words' matches; None for all.
    """
    rows = catalog.select(condition, expired)
    views = (catalog.words, catalog.windows)
    if pool is None:
        words, windows = (view.scores_apart(index, catalog, terms)[:, rows] for view in views)
    else:
        words, windows = (view.scores(index, catalog, terms, rows, pool)[None] for view in views)
    none = np.full(len(rows), np.nan, np.float32)
    found = np.isfinite(words).any(axis=0) | np.isfinite(windows).any(axis=0)
    among = None
    if nearest is not None and nearest.epoch is catalog.epoch:
        among = np.union1d(catalog.candidates(nearest.ids, nearest.since), rows[found])
    cosine, window_cosine = (none, none) if query is None else catalog.cosines(rows, query, among)
    found |= np.isfinite(cosine)
    # Newer first among equals: the fusion keeps the order of the rows.
    kept = np.flatnonzero(found)[::-1]
    leg = Leg(catalog.ids(rows[kept]), none[kept], none[kept], cosine[kept], window_cosine[kept])
    held = catalog.words.held(index, catalog, terms) if pool is None else {}
    total = catalog.words.total if held else 0
    return Found(leg, words[:, kept], windows[:, kept], index.identity, total, held, among is not None)


def make_details(
    index: Index, catalog: Catalog, ids: Sequence[int], terms: Sequence[str], query: Floats | None
) -> Details:
    """For some items, the vector nearest to the query, and the share of the terms that each holds, weighted by their
    rarity, in [0, 1].
    """
    words = catalog.words
    shares = rarity(words.total, words.held(index, catalog, terms))
    whole, rows = sum(shares.values()), catalog.rows_of(ids)
    covered = np.zeros(len(rows))
    for term, share in shares.items():
        covered += words.holds(index, catalog, term, rows) * share
    coverage = {row_id: float(part) / whole if whole else 0.0 for row_id, part in zip(ids, covered, strict=True)}
    return Details({} if query is None else catalog.nearest_vectors(ids, query), coverage)
