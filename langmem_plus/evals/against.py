"""What retiring decisions are worth: precision and recall of those that should come, against those that mustn't.

A case is one entry: whether its newer statement should retire its older one, whether it did, and how many older
statements it retired of those that have nothing to do with it: random ones, and look-alikes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from langmem_plus.evals.metrics import RESAMPLES, SEED, Interval
from langmem_plus.text import tokens

RANDOM, LOOK_ALIKE = "random", "look-alike"


@dataclass(frozen=True)
class Case:
    """One entry: what it should have retired, and what it did retire.

    Attributes:
        expected: whether the newer statement should retire the older one.
        retired: whether it did.
        tried: how many unrelated older statements it met, by how they were chosen.
        wrong: how many of them it retired.
    """

    expected: bool
    retired: bool
    tried: Mapping[str, int]
    wrong: Mapping[str, int]


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """The sum of the parts over the sum of the wholes, with its 95 % percentile interval over resampled cases, and the
    sum of the wholes as its count; everything is 0 where that is 0.

    >>> ratio([1, 0], [1, 3]).mean
    0.25
    """
    part, whole = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    total = float(whole.sum())
    if not total:
        return Interval(0.0, 0.0, 0.0, 0)
    draw = np.random.default_rng(SEED)
    shares = []
    for _ in range(RESAMPLES):
        drawn = draw.integers(0, len(whole), len(whole))
        if below := float(whole[drawn].sum()):  # a sample without any says nothing of the ratio
            shares.append(float(part[drawn].sum()) / below)
    mean = float(part.sum()) / total
    low, high = np.quantile(shares, (0.025, 0.975)) if shares else (mean, mean)
    return Interval(mean, min(float(low), mean), max(float(high), mean), int(total))


def against(cases: Sequence[Case], others: str) -> dict[str, Any]:
    """Precision and recall where updates stand beside unrelated statements, as plain JSON.

    Args:
        cases: entries that should retire, and others, whose own pair isn't counted.
        others: which unrelated statements they meet.
    """
    updates = [case for case in cases if case.expected]
    right = [float(case.expected and case.retired) for case in cases]
    found = [one + case.wrong.get(others, 0) for one, case in zip(right, cases, strict=True)]
    return {
        "updates": len(updates),
        "others": sum(case.tried.get(others, 0) for case in cases),
        "right": int(sum(right)),
        "wrong": sum(case.wrong.get(others, 0) for case in cases),
        "precision": ratio(right, found).to_json(),
        "recall": ratio([float(case.retired) for case in updates], [1.0] * len(updates)).to_json(),
    }


def word_f1(a: str, b: str) -> float:
    """The harmonic mean of precision and recall over two texts' stemmed words without stop words, in [0, 1].

    >>> word_f1("I prefer green tea", "The user prefers tea")
    0.8
    """
    mine, theirs = set(tokens(a)) - {"user"}, set(tokens(b)) - {"user"}
    shared = len(mine & theirs)
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0


def likeness(new: Sequence[str], old: Sequence[str], embeddings: Embeddings | None) -> npt.NDArray[np.float64]:
    """How near each newer statement is to each older one, shape (new, old): by cosine, else by words."""
    if embeddings is None:
        return np.array([[word_f1(one, other) for other in old] for one in new], np.float64)
    rows = [_unit(embeddings.embed_documents(list(texts))) for texts in (new, old)]
    found: npt.NDArray[np.float64] = rows[0] @ rows[1].T
    return found


def _unit(vectors: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    matrix = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: npt.NDArray[np.float64] = matrix / np.where(lengths > 0, lengths, 1.0)
    return unit
