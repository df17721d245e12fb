"""How much two texts share, by their words alone: for stores that rank nothing and memories that have no vector."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from langmem_plus.records import MemoryRecord
from langmem_plus.speakers import Voice, shown_name
from langmem_plus.text import said_by, tokens

Floats = npt.NDArray[np.float64]

# Words share columns beyond so many, which bounds the memory for a thousand long documents.
_COLUMNS = 4096


def coverage(wanted: Collection[str], text: str) -> float:
    """The share of the wanted tokens that the text holds, in [0, 1]; 0 when nothing is wanted.

    >>> coverage({"green", "tea"}, "She drinks tea.")
    0.5
    """
    return len(set(wanted).intersection(tokens(text))) / len(wanted) if wanted else 0.0


def spoken(record: MemoryRecord) -> str:
    """The record's text with its speaker's name before it, as in "Anne: I moved"."""
    return said_by(record.metadata.get("name"), record.text)


def shown(record: MemoryRecord) -> str:
    """The record's text as a model reads it, behind its speaker's name; a fact that names its speaker stands alone."""
    said = Voice.of(record)
    return said.shown if record.role == "memory" else said_by(shown_name(said.name), record.text)


def indicators(records: Sequence[MemoryRecord]) -> Floats:
    """Which words and tags each record has, as rows of zeros and ones, shape (n, at most 4096)."""
    columns: dict[str, int] = {}
    rows = []
    for record in records:
        features = {*tokens(record.text), *(f"#{tag.casefold()}" for tag in record.tags)}
        rows.append([columns.setdefault(feature, len(columns)) % _COLUMNS for feature in sorted(features)])
    matrix = np.zeros((len(records), max(1, min(len(columns), _COLUMNS))))
    for row, found in zip(matrix, rows, strict=True):
        row[found] = 1
    return matrix


def jaccard(matrix: Floats, row: int) -> Floats:
    """How much each record shares with one of them: common features over all features of both, in [0, 1]."""
    common = matrix @ matrix[row]
    sizes = matrix.sum(axis=1)
    either = sizes + sizes[row] - common
    shared: Floats = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
    return shared
