"""How likely it is that the store holds an answer at all: a logistic model of a few numbers on absolute scales.

Scores that are scaled over the candidates always have a best; these haven't. Calibrated on LoCoMo's, LongMemEval's and
pairs of statements' development parts, in rooms of 1, 3, 8 and 20 memories and in whole ones: questions as they are,
against the same with the sessions of their evidence removed, questions about other things, and nonsense.
"""

from __future__ import annotations

import numpy as np

from langmem_plus.recall.features import Candidates, Compared
from langmem_plus.recall.readings import read

# Of unrelated questions the nearest candidate lies here; it stands in where there are fewer than `_OTHERS` candidates.
_UNRELATED = 0.28
_OTHERS = 10
# Candidates beyond so many are the worst of the search.
_MANY = 50

# By cross-validation over conversations, at 5 % of answerable questions refused in rooms of that size: in whole rooms
# all nonsense, 91 to 99 % of questions about other things and, of questions without their evidence, 24 % (LoCoMo) and
# 55 % (LongMemEval) are refused; in rooms of up to 8 memories 98 to 100 % of the first two and 53 to 100 %.
WEIGHTS = {"token": 3.5, "gap": 8.9, "tokens": 7.8, "sentence": 8.1, "words": 1.75, "size": -1.32, "own": 1.5}
BIAS = -4.87
# What is put into a prompt by itself must be right: about 2 % of the questions that have an answer get none, as does
# nearly everything that has none. What somebody searches for is looked at: there, only what is hopeless is held back.
INJECTED, SEARCHED = 0.15, 0.03
# In a language that the local model doesn't know the probability comes out too small: so much of `INJECTED` is enough.
FOREIGN_SHARE = 1 / 3


def signs(question: str, candidates: Candidates, compared: Compared) -> dict[str, float]:
    """What tells an answer from its absence, over the candidates.

    - token: the best late interaction, in [-1, 1]; gap: by how much it is better than the mean of the ten best.
    - tokens: the same where each token may be found in another candidate.
    - sentence: the cosine of the nearest sentence.
    - words: the greatest share of the question's words that a candidate holds.
    - own: whether the question is in the first person: who asks about themselves asks for what they told. This one
      isn't fitted, since no public set has both kinds of questions.
    - size: the logarithm of the number of candidates, `_MANY` at most: among many, some are near by chance.
    """
    cosines, weights = compared.tokens, compared.weights
    best = np.sort(cosines @ weights)[::-1][:_OTHERS]
    others = np.concatenate([best, np.full(_OTHERS - len(best), _UNRELATED)])
    reading = read(question)
    asked = set(reading.words)
    names = {name: asked & read(name).words.keys() for name in set(candidates.names)}
    texts = zip(candidates.texts, candidates.names, strict=True)
    held = max(len((asked & text.words.keys()) | names[name]) for text, name in texts)
    return {
        "token": float(best[0]),
        "gap": float(best[0] - others.mean()),
        "tokens": float(cosines.max(axis=0) @ weights),
        "sentence": float(np.nanmax(compared.sentences)),
        "words": held / max(len(asked), 1),
        "own": float(reading.first_person),
        "size": float(np.log(min(len(candidates), _MANY))),
    }


def probability(found: dict[str, float]) -> float:
    """The probability of an answer, in [0, 1], from its `signs`."""
    logit = BIAS + sum(weight * found[name] for name, weight in WEIGHTS.items())
    return float(1 / (1 + np.exp(-logit)))
