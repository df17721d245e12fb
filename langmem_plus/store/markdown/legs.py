"""What a search reads of one namespace: raw scores of its items, and what the chosen ones carry beside their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.index import Index, Matches, rarity
from langmem_plus.store.search import Floats, Leg


@dataclass(frozen=True)
class Found:
    """What a namespace found: raw scores, and which index their ids belong to."""

    leg: Leg
    identity: int


@dataclass(frozen=True)
class Details:
    """What a result carries beside its value."""

    vectors: Mapping[int, Floats]
    coverage: Mapping[int, float]


def make_leg(
    catalog: Catalog, words: Matches, windows: Matches, query: Floats | None, condition: Mapping[str, Any] | None
) -> Leg:
    """The scores of the items that have any and can meet a filter."""
    rows = catalog.select(condition)
    columns = [catalog.spread(rows, words), catalog.spread(rows, windows)]
    if query is None:
        columns += [np.full(len(rows), np.nan, np.float32)] * 2
    else:
        columns += catalog.cosines(rows, query)
    found = np.isfinite(columns[0]) | np.isfinite(columns[1]) | np.isfinite(columns[2])
    # Newer first among equals: the fusion keeps the order of the rows.
    kept = np.flatnonzero(found)[::-1]
    return Leg(catalog.ids(rows[kept]), *(column[kept] for column in columns))


def make_details(
    index: Index, catalog: Catalog, ids: Sequence[int], terms: Sequence[str], query: Floats | None
) -> Details:
    """For some items, the vector nearest to the query, and the share of the terms that each holds, weighted by their
    rarity, in [0, 1].
    """
    shares, held = rarity(*index.frequencies(terms)), index.tokens(ids)
    total = sum(shares.values())
    coverage = {}
    for row_id, tokens in held.items():
        words = set(tokens.split())
        coverage[row_id] = sum(share for term, share in shares.items() if term in words) / total if total else 0
    return Details({} if query is None else catalog.nearest_vectors(ids, query), coverage)
