"""Retrieval metrics, pure. Gold and ranking are ids; a ranking is best first, and holds each id once.

Without gold every measure is 0: nothing could be found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def recall_at(gold: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Share of the gold that stands among the first ``k``, in [0, 1].

    >>> recall_at({"a", "b"}, ["x", "a", "b"], 2)
    0.5
    """
    return len(set(gold) & set(ranking[: max(k, 0)])) / len(set(gold)) if gold else 0.0


def reciprocal_rank(gold: Collection[str], ranking: Sequence[str]) -> float:
    """One over the rank of the first gold id, 0 where there is none.

    >>> reciprocal_rank({"b"}, ["x", "b"])
    0.5
    """
    return next((1 / rank for rank, found in enumerate(ranking, 1) if found in gold), 0.0)


def ndcg_at(gold: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Normalised discounted cumulative gain with binary relevance, normalised by all of the gold, in [0, 1].

    Source: Järvelin, Kekäläinen (2002), "Cumulated gain-based evaluation of IR techniques".

    >>> ndcg_at({"a"}, ["a", "x"], 2)
    1.0
    """
    gained = sum(1 / math.log2(rank + 1) for rank, found in enumerate(ranking[: max(k, 0)], 1) if found in gold)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(set(gold)), k) + 1))
    return gained / best if best else 0.0
