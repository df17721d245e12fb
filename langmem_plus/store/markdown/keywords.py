"""BM25 over one view of a namespace, from what FTS5 holds: the postings of each word that is asked for are read once
and kept, so that a search costs a few additions however long the texts are.

The scores are FTS5's own: `Keywords.scores` is what ``-bm25(view)`` gives, for the items of a catalog in their order.
The windows hold only what differs from the words; the rest of that view is read from the words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from langmem_plus.store.markdown.index import Index
from langmem_plus.store.search import Floats, Ids, places_in, taken

# FTS5's constants; the least rarity is what a word counts that at least half of the items hold.
_K1, _B, _LEAST_RARITY = 1.2, 0.75, 1e-6
# Postings that are kept: 16 bytes each. When there are more, all are read anew as they are asked for.
_KEPT = 2_000_000


class Rows(Protocol):
    """What is known of the items, in their order."""

    def rows_of(self, ids: Sequence[int] | Ids) -> Ids:
        """The rows of some ids, -1 for an id that isn't there."""
        ...


@dataclass(frozen=True)
class _Term:
    """A word's items: their rows, how often each holds it, what the word counts in each at a rarity of 1, its rarity,
    and how many items there are.
    """

    rows: Ids
    counts: npt.NDArray[np.int32]
    weights: Floats
    rarity: float
    held: int


class Keywords:
    """One view's keyword scores, kept up with the index.

    Args:
        view: ``words`` or ``windows``.
        base: the view that tells of the items which this one leaves out; it is kept up first.
    """

    def __init__(self, view: str, base: Keywords | None = None) -> None:
        self.view, self._base = view, base
        self.clear()

    def clear(self) -> None:
        """Forget everything: the rows are others now."""
        self._own = np.empty(0, np.float32)  # the words of each row that the view holds itself; NaN for the others
        self._lengths = self._own  # of each row, in words; NaN for one without any
        self.total, self._average, self._holds_own = 0, 1.0, False
        self._forget_terms()

    def _forget_terms(self) -> None:
        self._terms: dict[str, _Term] = {}
        self._kept = 0

    @property
    def is_base(self) -> bool:
        """Whether this view holds nothing itself, so that it says what its base says."""
        return self._base is not None and not self._holds_own

    def follow(self, index: Index, catalog: Rows, size: int, written: Sequence[int], dropped: Ids) -> None:
        """Take over what changed.

        Args:
            index: the index, in one state.
            catalog: tells the rows of ids.
            size: the rows that there are now.
            written: the ids whose words may have changed.
            dropped: the rows that are gone.
        """
        grown = np.full(size, np.nan, np.float32)
        grown[: len(self._own)] = self._own
        if len(written):
            grown[catalog.rows_of(written)] = np.nan
            lengths = index.lengths(self.view, written)
            grown[catalog.rows_of([row_id for row_id, _ in lengths])] = [length for _, length in lengths]
        grown[dropped] = np.nan
        self._own, self._holds_own = grown, bool(np.isfinite(grown).any())
        self._lengths = grown if self._base is None else np.where(np.isfinite(grown), grown, self._base._lengths)
        known = self._lengths[np.isfinite(self._lengths)]
        self.total, self._average = len(known), float(known.mean(dtype=np.float64)) if len(known) else 1.0
        self._forget_terms()

    def scores(self, index: Index, catalog: Rows, terms: Sequence[str], rows: Ids, pool: int) -> Floats:
        """The score of each of some rows that holds any of the terms, NaN for the others; larger is better.

        Args:
            index: the index, in the state that was followed last.
            catalog: tells the rows of ids.
            terms: distinct words.
            rows: the rows that are wanted.
            pool: the best of them that are kept; all for a negative number.
        """
        total, hit = np.zeros(len(self._lengths), np.float64), np.zeros(len(self._lengths), np.bool_)
        for term in map(partial(self._load, index, catalog), terms):
            total[term.rows] += term.rarity * term.weights
            hit[term.rows] = True
        total[~hit] = np.nan
        found = taken(total, rows)
        if 0 <= pool < len(found):
            best = np.flatnonzero(taken(hit, rows))
            if pool < len(best):
                found[best[np.argsort(-found[best], kind="stable")[pool:]]] = np.nan
        return found.astype(np.float32)

    def scores_apart(self, index: Index, catalog: Rows, terms: Sequence[str]) -> Floats:
        """As `scores`, for each term apart and with 1 for its rarity, shape (terms, rows).

        For a search over many indexes: one alone would else give most points for words that are rare in it by accident.
        """
        scores = np.full((len(terms), len(self._lengths)), np.nan, np.float32)
        for place, term in enumerate(map(partial(self._load, index, catalog), terms)):
            scores[place, term.rows] = term.weights
        return scores

    def held(self, index: Index, catalog: Rows, terms: Sequence[str]) -> dict[str, int]:
        """How many items hold each term."""
        return {term: self._load(index, catalog, term).held for term in terms}

    def holds(self, index: Index, catalog: Rows, term: str, rows: Ids) -> npt.NDArray[np.bool_]:
        """Which of some rows hold a term."""
        return places_in(self._load(index, catalog, term).rows, rows) >= 0

    def _load(self, index: Index, catalog: Rows, term: str) -> _Term:
        """A word's items, read from the index where they aren't known."""
        known = self._terms.get(term)
        if known is not None:
            return known
        if self._kept > _KEPT:
            self._forget_terms()
        rows, counts = self._postings(index, catalog, term)
        spread = _K1 * (1 - _B + _B * self._lengths[rows] / self._average)
        rarity = max(math.log((self.total - len(rows) + 0.5) / (len(rows) + 0.5)), _LEAST_RARITY)
        weights = (counts * (_K1 + 1) / (counts + spread)).astype(np.float32)
        made = _Term(rows, counts, weights, rarity, len(rows))
        self._terms[term] = made
        self._kept += len(rows)
        return made

    def _postings(self, index: Index, catalog: Rows, term: str) -> tuple[Ids, npt.NDArray[np.int32]]:
        """The rows that hold a word, in their order, and how often each does."""
        found = index.postings(self.view, term)
        rows = catalog.rows_of([row_id for row_id, _ in found])
        counts = np.asarray([count for _, count in found], np.int32)
        if self._base is None:
            return rows, counts
        others = self._base._load(index, catalog, term)
        left_out = ~np.isfinite(self._own[others.rows])
        rows = np.concatenate((rows, others.rows[left_out]))
        counts = np.concatenate((counts, others.counts[left_out]))
        order = np.argsort(rows)
        return rows[order], counts[order]
