"""The weights of the built-in reranker: a sum of features in [0, 1], by what there is to judge by.

Fitted by listwise softmax on LoCoMo's and LongMemEval's development conversations, then rounded; what is 0 isn't
there. One row a kind of evidence; the first whose needs are met is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

# What speaks for a candidate whatever is asked; alone, it says nothing.
PRIORS = frozenset({"firstp", "tells"})
CUES = {"x_num": 0.85, "x_date": 1.0, "x_name": 1.2, "x_past": 0.75, "firstp": 0.4, "tells": 1.3, "role": 1.5}


@dataclass(frozen=True)
class Row:
    """The weights for one kind of evidence.

    Attributes:
        name: as reports name it.
        needs: the features without which it isn't used.
        weights: by the names of `features`.
        spread: what a question is answered by often lies in several sessions: each better candidate of its own session
            costs a candidate so much. Source: of the development questions, cross-validated, recall at 5 gains 1
            point on LoCoMo and 4 on LongMemEval; by words alone it gains nothing.
    """

    name: str
    needs: frozenset[str]
    weights: Mapping[str, float]
    spread: float = 0.0


ROWS = (
    Row(
        "token bits",
        frozenset({"msb", "smax"}),
        {
            "msb": 3.75,
            "msS": 2.5,
            "smax": 0.8,
            "sD3": 0.75,
            "bQ": 1.0,
            "bW": 0.25,
            "sB": 1.0,
            "bigram": 0.5,
            "spk": 2.0,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
        spread=0.3,
    ),
    Row(
        "sentence vectors",
        frozenset({"smax"}),
        {
            "smax": 2.5,
            "sD3": 1.0,
            "dT": 0.25,
            "bQ": 2.0,
            "bW": 0.5,
            "sB": 1.25,
            "bigram": 1.0,
            "spk": 1.5,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
        spread=0.1,
    ),
    Row(
        "turn vectors",
        frozenset({"dT"}),
        {
            "dT": 1.5,
            "sD3": 1.0,
            "bQ": 2.25,
            "bW": 0.5,
            "sB": 1.75,
            "bigram": 1.25,
            "spk": 2.0,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
        spread=0.1,
    ),
    Row(
        "words",
        frozenset(),
        {"bQ": 2.5, "bW": 0.25, "sB": 2.0, "bigram": 1.75, "spk": 2.25, "date": 4.5, "win": 3.0, **CUES},
    ),
)


def choose_row(available: Collection[str]) -> Row:
    """The first row whose needs are met.

    >>> choose_row({"bQ", "dT"}).name
    'turn vectors'
    """
    return next(row for row in ROWS if row.needs <= set(available))
