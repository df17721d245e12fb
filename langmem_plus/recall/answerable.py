"""How likely it is that the store holds an answer at all: a logistic model of a few numbers on absolute scales.

Scores that are scaled over the candidates always have a best; these haven't. Calibrated on LoCoMo's, LongMemEval's and
pairs of statements' development parts, in rooms of 1, 3, 8, 20 and 50 memories and in whole ones: questions as they
are, against the same with their evidence or its sessions removed, questions about other things, and nonsense.
``langmem-plus eval recall FILE`` measures it.
"""

from __future__ import annotations

import numpy as np

from langmem_plus.recall.asker import about_others
from langmem_plus.recall.candidates import Candidates
from langmem_plus.recall.cue_features import by_speaker
from langmem_plus.recall.features import Compared, in_context
from langmem_plus.recall.readings import asks_likely, read
from langmem_plus.recall.times import date_match, named_dates

# Candidates beyond so many are the worst of the search.
_MANY = 100

# By cross-validation over conversations, at 5 % of answerable questions refused in rooms of that size: in whole rooms
# all nonsense and 99 to 100 % of questions about other things are refused; of questions without the sessions of their
# evidence 35 % (LoCoMo; area under the curve .80) and 61 % (LongMemEval; .89), without the evidence alone, whose
# neighbours still talk about it, 19 % (.70) and 23 % (.71). Of the former in rooms of 8 memories 57 and 89 %. Boosted
# trees, and 140 numbers in place of these, refuse no more: what is left are questions that something else nearly
# answers. The probability errs by .03 on average, where about half of what is asked has an answer.
WEIGHTS = {
    "token": 10.9,
    "sentence": 3.9,
    "margin": 5.0,
    "words": 1.35,
    "date": 2.6,
    "likely": 1.35,
    "own": 1.0,
    "size": -0.79,
}
BIAS = -4.15
# In a language that the model never learnt all texts look alike to it: the nearest sentence says nothing, and words
# more. Fitted on 20 memories and 56 questions each in German, Spanish and French: 76 % of those about other things are
# refused (8 % by the weights above), none of those that share a word with their answer, and 25 % of paraphrases.
WEIGHTS_ABROAD = {**WEIGHTS, "token": 11.8, "sentence": 0.0, "words": 3.9, "own": 0.5}
BIAS_ABROAD = -4.45
# What is put into a prompt by itself must be right: 3 to 4 % of the questions that have an answer get none, as does
# nearly everything that has none. What somebody searches for is looked at: there, only what is hopeless is held back.
INJECTED, SEARCHED = 0.18, 0.04


def signs(question: str, candidates: Candidates, compared: Compared, asker: str = "") -> dict[str, float]:
    """What tells an answer from its absence, over the candidates. Where the question names some of the speakers, an
    answer is theirs: token and words are of what they said. Where it is about who asks, it isn't what other people say
    of themselves.

    - token: the best late interaction, the turn before counting as `in_context` has it, in [-1, 1].
    - margin: by how much it is better than that of the other speakers; 0 where none is named, and where it isn't better
      than what others say of themselves.
    - sentence: the cosine of the nearest sentence.
    - words: the greatest share of the question's words that a candidate holds, with its speaker's name.
    - date: how well the best candidate meets a day or a month that the question names.
    - likely: whether it asks for what may be or would be; such an answer has less in common with its question.
    - own: whether the question is in the first person: who asks about themselves asks for what they told. This one
      isn't fitted, since no public set has both kinds of questions.
    - size: the logarithm of the number of candidates, `_MANY` at most: among many, some are near by chance.
    """
    near = in_context(compared.tokens, candidates) @ compared.weights
    named = by_speaker(question, candidates.names) > 0
    theirs = named
    if not named.any():
        theirs = ~about_others(question, candidates, asker)
        theirs = theirs if theirs.any() else ~named
    best, others = float(near[theirs].max()), near[~theirs]
    margin = best - float(others.max()) if len(others) else 0.0
    reading, dates = read(question), named_dates(question)
    asked = set(reading.words)
    said_by = {name: asked & read(name).words.keys() for name in set(candidates.names)}
    texts = zip(candidates.texts, candidates.names, theirs.tolist(), strict=True)
    held = max(len((asked & text.words.keys()) | said_by[name]) for text, name, counts in texts if counts)
    return {
        "token": best,
        "sentence": float(np.nanmax(compared.sentences)),
        "margin": margin if named.any() else max(margin, 0.0),
        "words": held / max(len(asked), 1),
        "date": max(date_match(dates, day) for day in candidates.days) if dates else 0.0,
        "likely": float(asks_likely(question)),
        "own": float(reading.first_person),
        "size": float(np.log(min(len(candidates), _MANY))),
    }


def probability(found: dict[str, float], *, abroad: bool = False) -> float:
    """The probability of an answer, in [0, 1], from its `signs`; ``abroad``, in a language that the model never
    learnt.
    """
    weights, bias = (WEIGHTS_ABROAD, BIAS_ABROAD) if abroad else (WEIGHTS, BIAS)
    logit = bias + sum(weight * found[name] for name, weight in weights.items())
    return float(1 / (1 + np.exp(-logit)))
