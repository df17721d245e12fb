"""The weights of the built-in reranker: a sum of features in [0, 1], by what there is to judge by.

Fitted by listwise softmax on LoCoMo's and LongMemEval's development conversations, then rounded; what is 0 isn't
there. One row a kind of evidence; the first whose needs are met is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

CUES = {"x_num": 0.8, "x_date": 0.8, "firstp": 0.5, "role": 1.5}


@dataclass(frozen=True)
class Row:
    """The weights for one kind of evidence.

    Attributes:
        name: as reports name it.
        needs: the features without which it isn't used.
        weights: by the names of `features`.
        spread: what a question is answered by often lies in several sessions: each better candidate of its own session
            costs a candidate so much. Source: of the development questions, recall at 10 gains 0.4 points on LoCoMo and
            3 on LongMemEval; by words alone it loses.
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
            "msb": 4.0,
            "msS": 3.0,
            "smax": 0.75,
            "bQ": 1.0,
            "bW": 0.25,
            "sB": 0.5,
            "bigram": 0.6,
            "spk": 1.5,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
        spread=0.2,
    ),
    Row(
        "sentence vectors",
        frozenset({"smax"}),
        {
            "smax": 4.0,
            "sD3": 0.75,
            "dT": 0.25,
            "bQ": 2.25,
            "bW": 0.75,
            "sB": 0.75,
            "bigram": 1.0,
            "spk": 1.0,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
    ),
    Row(
        "turn vectors",
        frozenset({"dT"}),
        {
            "dT": 2.25,
            "sD3": 0.75,
            "bQ": 2.75,
            "bW": 0.75,
            "sB": 1.0,
            "bigram": 1.5,
            "spk": 2.0,
            "date": 4.5,
            "win": 3.0,
            **CUES,
        },
    ),
    Row(
        "words",
        frozenset(),
        {"bQ": 3.25, "bW": 0.75, "sB": 1.5, "bigram": 2.0, "spk": 2.25, "date": 4.5, "win": 3.0, **CUES},
    ),
)


def choose_row(available: Collection[str]) -> Row:
    """The first row whose needs are met.

    >>> choose_row({"bQ", "dT"}).name
    'turn vectors'
    """
    return next(row for row in ROWS if row.needs <= set(available))
