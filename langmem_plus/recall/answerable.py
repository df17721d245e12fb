"""How likely it is that the store holds an answer at all: a logistic model of a few numbers on absolute scales.

Scores that are scaled over the candidates always have a best; these haven't. Calibrated on LoCoMo's and LongMemEval's
development conversations: questions as they are, against the same with the sessions of their evidence removed,
questions about other things, and nonsense.
"""

from __future__ import annotations

import numpy as np

from langmem_plus.recall.features import Compared

# Of unrelated questions the nearest candidate lies here; it stands in where there are fewer than `_OTHERS` candidates.
_UNRELATED = 0.28
_OTHERS = 10

# By cross-validation over conversations, at 5 % of answerable questions refused: 99 % of nonsense, 96 % of questions
# about other things, and of questions without their evidence 24 % (LoCoMo) and 69 % (LongMemEval) are refused. The
# probability there is 0.3; it is off by 0.035 on average.
WEIGHTS = {"token": 4.5, "gap": 10.0, "tokens": 4.0, "sentence": 5.6}
BIAS = -7.35


def signs(compared: Compared) -> dict[str, float]:
    """What tells an answer from its absence, over the candidates.

    - token: the best late interaction, in [-1, 1]; gap: by how much it is better than the mean of the ten best.
    - tokens: the same where each token may be found in another candidate.
    - sentence: the cosine of the nearest sentence.
    """
    cosines, weights = compared.tokens, compared.weights
    best = np.sort(cosines @ weights)[::-1][:_OTHERS]
    others = np.concatenate([best, np.full(_OTHERS - len(best), _UNRELATED)])
    return {
        "token": float(best[0]),
        "gap": float(best[0] - others.mean()),
        "tokens": float(cosines.max(axis=0) @ weights),
        "sentence": float(np.nanmax(compared.sentences)),
    }


def probability(found: dict[str, float]) -> float:
    """The probability of an answer, in [0, 1], from its `signs`."""
    logit = BIAS + sum(weight * found[name] for name, weight in WEIGHTS.items())
    return float(1 / (1 + np.exp(-logit)))
