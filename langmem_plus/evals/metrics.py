"""Retrieval metrics, pure. Gold and ranking are ids; a ranking is best first, and holds each id once. And what is said
over many questions: intervals, tests, areas under the curve.

Without gold every measure is 0: nothing could be found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np

SEED = 20_240_501  # of everything that is drawn: the same run gives the same numbers
RESAMPLES = 1000


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


# Sets of questions


@dataclass(frozen=True)
class Interval:
    """A mean over questions with its bootstrap interval, and over how many questions it was taken."""

    mean: float
    low: float
    high: float
    count: int

    def to_json(self) -> dict[str, float]:
        """As plain JSON, rounded to five places."""
        return {name: round(value, 5) if name != "count" else value for name, value in asdict(self).items()}


def bootstrap(values: Sequence[float], *, seed: int = SEED, resamples: int = RESAMPLES) -> Interval:
    """The mean with its 95 % percentile interval over resampled questions; the same seed gives the same interval.

    Without values everything is 0.

    Source: Efron, Tibshirani (1993), "An Introduction to the Bootstrap".
    """
    numbers = np.asarray(values, np.float64)
    if not len(numbers):
        return Interval(0.0, 0.0, 0.0, 0)
    draw = np.random.default_rng(seed)
    means = np.array([numbers[draw.integers(0, len(numbers), len(numbers))].mean() for _ in range(resamples)])
    low, high = np.quantile(means, (0.025, 0.975))
    mean = float(numbers.mean())
    # Rounding may put a quantile of equal means a hair beyond the mean.
    return Interval(mean, min(float(low), mean), max(float(high), mean), len(numbers))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a positive scores above a negative, ties counting half; 0.5 where either is missing.

    Source: Fawcett (2006), "An introduction to ROC analysis", by ranks (Mann–Whitney's U).

    >>> auroc([0.9, 0.8], [0.1, 0.8])
    0.875
    """
    if not len(positive) or not len(negative):
        return 0.5
    lower = np.sort(np.asarray(negative, np.float64))
    wanted = np.asarray(positive, np.float64)
    below = np.searchsorted(lower, wanted, side="left") + np.searchsorted(lower, wanted, side="right")
    return float(below.sum() / (2 * len(wanted) * len(lower)))


def refused_at(answerable: Sequence[float], others: Sequence[float], false_refusals: float = 0.05) -> float:
    """The share of the others that score below the threshold at which so few of the answerable ones do, in [0, 1]."""
    if not len(answerable) or not len(others):
        return 0.0
    ordered = sorted(answerable)
    threshold = ordered[min(int(false_refusals * len(ordered)), len(ordered) - 1)]
    return sum(score < threshold for score in others) / len(others)


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided exact p-value that two systems answer equally often, from the questions that one alone answers.

    Source: McNemar (1947); exact by the binomial distribution.

    >>> round(mcnemar(10, 2), 4)
    0.0386
    """
    total = only_first + only_second
    few = min(only_first, only_second)
    tail = sum(math.comb(total, n) for n in range(few + 1))
    return min(1.0, 2 * tail / 2**total) if total else 1.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of all lies, by the nearest rank; 0 without values."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
