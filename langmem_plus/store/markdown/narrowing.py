"""Which of a search's candidates are read: the best by fused score and token bits together.

Fusion alone would have to hand out twice as many for a reranker to find the same, and each costs its record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.providers.late_interaction import ask_for_order, nearness
from langmem_plus.providers.token_bits import AskedTokens
from langmem_plus.store.search import Fused, Ids

logger = logging.getLogger(__name__)

# The best by fused score that are looked at. Source: on LoCoMo's development conversations the best 50 of 150 answer as
# much as the first 200 do (recall at 10); more than 150 add nothing.
LOOKED_AT = 150
# So many times as many are read where no token bits choose them: by words alone, 200 find 1.6 points more than 50 do.
_WIDER, WIDEST = 4, 250


def question_tokens(encoder: TokenEncoder | None, question: str) -> AskedTokens | None:
    """What a question is compared by; None where the local model can't tell, and the fused scores alone choose."""
    try:
        return None if encoder is None else ask_for_order(encoder, question)
    except Exception as error:
        logger.info("the local model failed, so the fused scores alone choose the candidates", exc_info=error)
        return None


def widened(limit: int) -> int:
    """How many candidates are read instead of so many where no token bits choose them."""
    return max(limit, min(_WIDER * limit, WIDEST))


class Order:
    """The rows of a search, best first, read a page at a time.

    Args:
        fused: the scores.
        first: the rows that come first, in their order: the best by fused score, in another order; None without.
    """

    def __init__(self, fused: Fused, first: Ids | None = None) -> None:
        self._fused, self._first = fused, first

    def __len__(self) -> int:
        return len(self._fused.rows)

    def page(self, start: int, size: int) -> Ids:
        """So many rows from a place on; fewer where the first ones end, none behind the last."""
        if self._first is not None and start < len(self._first):
            return self._first[start : start + size]
        return self._fused.best(start + size)[start:]


def narrowed(
    fused: Fused, asked: AskedTokens, wanted: int, bits_of: Callable[[Ids], Sequence[TextBits | None]]
) -> Order:
    """The order in which a recall reads its candidates, where it wants fewer than are looked at.

    Args:
        fused: the scores.
        asked: the question.
        wanted: how many are read.
        bits_of: gives the bits of some rows.
    """
    if wanted >= min(LOOKED_AT, len(fused.rows)):
        return Order(fused)
    rows = fused.best(LOOKED_AT)
    near = nearness(asked, bits_of(rows))
    score = _scaled(fused.score[rows].astype(np.float64))
    # What has no bits yet is judged by its fused score alone.
    total = score + np.where(np.isnan(near), score, _scaled(near))
    return Order(fused, rows[np.argsort(-total, kind="stable")])


def _scaled(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scaled to [0, 1] over those that are known."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    scaled: npt.NDArray[np.float64] = (values - low) / (high - low) if high - low > 1e-9 else np.zeros(len(values))
    return scaled
