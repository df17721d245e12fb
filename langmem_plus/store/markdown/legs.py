"""What a search reads of one namespace: raw scores of its items, and what the chosen ones carry beside their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.index import Index, rarity
from langmem_plus.store.markdown.keywords import Keywords
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
        leg: raw scores of its items.
        words, windows: where the terms are to be weighed, the keyword scores of each, shape (terms, n), NaN for no
            match; else None, and they are in the leg.
        identity: which index their ids belong to.
        total: the number of items there.
        held: how many of them hold each term.
        cut: whether others may be nearer to the query than some of these.
    """

    leg: Leg
    words: Floats | None
    windows: Floats | None
    identity: int
    total: int
    held: Mapping[str, int]
    cut: bool = False

    @staticmethod
    def nothing() -> Found:
        """What is found where nothing is."""
        return Found(Leg.empty(), None, None, 0, 0, {})

    def weighed(self, weights: Floats) -> Leg:
        """The leg, with a weight for each term."""
        columns = {}
        for name, scores in (("words", self.words), ("windows", self.windows)):
            if scores is not None:
                sums = np.nansum(scores * weights[:, None], axis=0, dtype=np.float64).astype(np.float32)
                columns[name] = np.where(np.isfinite(scores).any(axis=0), sums, np.float32(np.nan))
        return replace(self.leg, **columns) if columns else self.leg


@dataclass(frozen=True)
class Details:
    """What a result carries beside its value."""

    vectors: Mapping[int, Floats]
    coverage: Mapping[int, float]
    bits: Mapping[int, TextBits]


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
    words, windows = _keyword_scores(index, catalog, terms, rows, pool)
    found = _any(words) if windows is words else _any(words) | _any(windows)
    among = None
    if nearest is not None and nearest.epoch is catalog.epoch:
        among = np.union1d(catalog.candidates(nearest.ids, nearest.since), rows[found])
    if query is None:
        cosine = window_cosine = np.full(len(rows), np.nan, np.float32)
    else:
        cosine, window_cosine = catalog.cosines(rows, query, among)
        found |= np.isfinite(cosine)
    # Newer first among equals: the fusion keeps the order of the rows.
    kept = slice(None, None, -1) if found.all() else np.flatnonzero(found)[::-1]
    cosine, window_cosine = _picked(cosine, window_cosine, kept)
    cut, ids = among is not None, catalog.ids(rows[kept])
    words, windows = _picked(words, windows, kept)
    if pool is not None:
        return Found(Leg(ids, words, windows, cosine, window_cosine), None, None, index.identity, 0, {}, cut)
    leg = Leg(ids, cosine, cosine, cosine, window_cosine)
    held = catalog.words.held(index, catalog, terms)
    return Found(leg, words, windows, index.identity, catalog.words.total, held, cut)


def _keyword_scores(
    index: Index, catalog: Catalog, terms: Sequence[str], rows: Ids, pool: int | None
) -> tuple[Floats, Floats]:
    """Those of the words and of the windows, one and the same array where the windows add nothing."""

    def scores(view: Keywords) -> Floats:
        if pool is None:
            return view.scores_apart(index, catalog, terms)[:, rows]
        return view.scores(index, catalog, terms, rows, pool)

    words = scores(catalog.words)
    return words, words if catalog.windows.is_base else scores(catalog.windows)


def _any(scores: Floats) -> npt.NDArray[np.bool_]:
    """Which columns hold a score."""
    finite: npt.NDArray[np.bool_] = np.isfinite(scores)
    return finite if finite.ndim == 1 else np.atleast_1d(finite.any(axis=0))


def _picked(alone: Floats, window: Floats, columns: Ids | slice) -> tuple[Floats, Floats]:
    """Some columns of both, still one and the same array where they are."""
    picked = alone[..., columns]
    return picked, picked if window is alone else window[..., columns]


def make_details(
    index: Index,
    catalog: Catalog,
    ids: Sequence[int],
    terms: Sequence[str],
    query: Floats | None,
    encoder: TokenEncoder | None,
) -> Details:
    """For some items, the vector nearest to the query, the share of the terms that each holds, weighted by their
    rarity, in [0, 1], and token bits, as far as there are any.
    """
    words = catalog.words
    shares = rarity(words.total, words.held(index, catalog, terms))
    whole, rows = sum(shares.values()), catalog.rows_of(ids)
    covered = np.zeros(len(rows))
    for term, share in shares.items():
        covered += words.holds(index, catalog, term, rows) * share
    coverage = {row_id: float(part) / whole if whole else 0.0 for row_id, part in zip(ids, covered, strict=True)}
    bits = {} if encoder is None else index.bits.of_items(encoder, ids)
    return Details({} if query is None else catalog.nearest_vectors(ids, query), coverage, bits)
