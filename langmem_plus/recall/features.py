"""What speaks for each candidate, as plain arrays: one function a feature, all of them over all candidates at once.

Names are those of the weights (`weights.ROWS`). q is the question, d a candidate, T its text with its speaker's name,
W the turn before, d and the turn after. Neighbours and sessions are those among the candidates: that finds as much as
all of a conversation would, since what answers together is found together.

====== =================================================================================================================
msb    late interaction over token bits: the best cosine of each of q's tokens among d's, averaged by the tokens'
       rarity. The turn before counts too where another speaker said it: `ASKED_SHARE` of its cosines where it asks,
       `SAID_SHARE` where it doesn't, for an answer ("Rex") lives from its question ("what is your dog called?"). So
       does what another speaker replied, by `REPLIED_SHARE` of what it adds: it says once more what the turn was about
msS    the same over d's session
smax   cosine of the best sentence, from its bits
dT     cosine of T
sD3    the three best cosines of the session, divided by 3
bQ     BM25 of T together with the question that it answers
bW     BM25 of W
sB     BM25 of the session
bigram share of q's pairs of neighbouring words that d holds
spk    q names some, not all, of the speakers, and d is by one of them; "my" names who asks
role   q asks for what the assistant said, and d is a reply; or it doesn't, and d is none. Named speakers have no role
date   q names a day or a month, and d was said then
win    q names a span that counts from today ("last week"), and d was said then
x_num  q asks for a number, and d holds one
x_date q asks for a time, and d holds one
x_name q asks for a person, a place or a title, and d holds a name that q doesn't
x_past q asks for what was, and d tells of the past
firstp d speaks in the first person
tells  the share of d that isn't a question: what was only asked answers nothing
====== =================================================================================================================
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langmem_plus.providers.token_bits import ASKED_RARITY, AskedTokens, TextBits, similarities
from langmem_plus.recall.candidates import Candidates, Floats, Ints
from langmem_plus.recall.cue_features import by_cues
from langmem_plus.recall.readings import read as read_text

# Source: tuned over LoCoMo's and LongMemEval's development conversations, as all that follows.
ASKED_SHARE, SAID_SHARE, REPLIED_SHARE = 1.0, 0.75, 0.5
# A token that is found everywhere in the candidates says little, however rare it is elsewhere (the speakers' names):
# its rarity is bounded by 1 for one that each candidate holds to 1 + `LOCAL_RARITY` for one that a single one holds.
LOCAL_RARITY = 4.2
# A candidate holds a token where its cosine is so near to the best one.
_HELD, _LEAST_HELD = 0.85, 0.35
# From here on a candidate's late interaction, or the cosine of its best sentence, tells that it has to do with what is
# asked.
NEAR_TOKENS, NEAR_SENTENCE = 0.3, 0.25
# The same in a language that the model never learnt, where all texts look alike to it.
NEAR_TOKENS_ABROAD, NEAR_SENTENCE_ABROAD = 0.36, 0.5
# BM25's constants.
K1, B = 0.9, 0.4


def scale(values: Floats) -> Floats:
    """Scaled to [0, 1] over the candidates; all 0 where they are equal; 0 for a missing one."""
    low = float(np.fmin.reduce(values, initial=np.inf))
    span = float(np.fmax.reduce(values, initial=-np.inf)) - low
    if not span >= 1e-9:
        return np.zeros(len(values))
    return np.fmax((values - low) / span, 0.0)


@dataclass(frozen=True)
class Compared:
    """How near the candidates are to a question by their bits.

    Attributes:
        tokens: the best cosine of each of the question's tokens that say something in each candidate, shape
            (candidates, tokens).
        weights: how much each of them counts, summing to 1.
        sentences: the cosine of each candidate's best sentence, NaN where there is none.
    """

    tokens: Floats
    weights: Floats
    sentences: Floats


def features(
    question: str,
    candidates: Candidates,
    asked_on: dt.date,
    compared: Compared | None = None,
    asker: str = "",
) -> dict[str, Floats]:
    """Every feature that can be had, each in [0, 1].

    Args:
        question: the words to rank by.
        candidates: what they are ranked among, one at least.
        asked_on: the day that spans are counted from.
        compared: what their bits say, None where there are none.
        asker: the name of who asks, "" where nobody is named.
    """
    found = {**by_words(question, candidates), **by_cues(question, candidates, asked_on, asker)}
    if np.isfinite(candidates.cosines).any():
        found |= by_vectors(candidates)
    if compared is not None:
        found |= by_bits(compared, candidates)
    return found


# words


def by_words(question: str, candidates: Candidates) -> dict[str, Floats]:
    """bQ, bW, sB and bigram."""
    reading = read_text(question)
    asked = list(reading.words)
    said = np.array([[text.words.get(word, 0) for word in asked] for text in candidates.texts], np.float64)
    said = said.reshape(len(candidates), len(asked))
    lengths = np.array([text.length for text in candidates.texts], np.float64)
    names = {name: read_text(name) for name in set(candidates.names)}
    rows = {name: ([read.words.get(word, 0) for word in asked], read.length) for name, read in names.items()}
    by = np.array([rows[name][0] for name in candidates.names], np.float64).reshape(said.shape)
    name_lengths = np.array([rows[name][1] for name in candidates.names], np.float64)
    whole, whole_lengths = said + by, lengths + name_lengths
    answers = candidates.answers.astype(np.float64)
    held = [len(reading.pairs & text.pairs) for text in candidates.texts]
    with_question = whole + answers[:, None] * _at(said, candidates.before)
    window = whole + _at(whole, candidates.before) + _at(whole, candidates.after)
    window_lengths = whole_lengths + _at(whole_lengths, candidates.before) + _at(whole_lengths, candidates.after)
    sessions = _sums(whole, candidates.sessions)
    session_lengths = _sums(whole_lengths[:, None], candidates.sessions)[:, 0]
    return {
        "bQ": scale(bm25(with_question, whole_lengths + answers * _at(lengths, candidates.before))),
        "bW": scale(bm25(window, window_lengths)),
        "sB": scale(bm25(sessions, session_lengths)[candidates.sessions]),
        "bigram": np.array(held, np.float64) / max(len(reading.pairs), 1),
    }


def bm25(counts: Floats, lengths: Floats) -> Floats:
    """BM25 of texts for the words that are asked for.

    Args:
        counts: how often each text holds each word, shape (texts, words).
        lengths: the texts' lengths in words, shape (texts,).

    Source: Robertson, Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond".
    """
    total, holding = len(counts), (counts > 0).sum(axis=0)
    rarity = np.log1p((total - holding + 0.5) / (holding + 0.5))
    spread = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if total else 0.0, 1e-9))
    score: Floats = (counts * (K1 + 1) / (counts + spread[:, None])) @ rarity
    return score


def _at(values: Floats, places: Ints) -> Floats:
    """The values at some places; 0 for the place behind the last."""
    padded = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    taken: Floats = padded[places]
    return taken


def _sums(values: Floats, groups: Ints) -> Floats:
    sums = np.zeros((int(groups.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums


# vectors


def by_vectors(candidates: Candidates) -> dict[str, Floats]:
    """dT and sD3."""
    cosines = np.nan_to_num(candidates.cosines, nan=float(np.nanmin(candidates.cosines)))
    order = np.lexsort((-cosines, candidates.sessions))
    groups = candidates.sessions[order]
    starts = np.searchsorted(groups, groups)
    best = cosines[order] * (np.arange(len(order)) - starts < 3)
    return {"dT": scale(candidates.cosines), "sD3": scale(_sums(best[:, None] / 3, groups)[candidates.sessions, 0])}


# token bits


def compare(asked: AskedTokens, bits: Sequence[TextBits | None]) -> Compared | None:
    """Compare a question with the candidates' bits; None where there are none."""
    says = asked.rarity > ASKED_RARITY
    nothing = np.empty((0, 0), np.uint8)
    sentences = [nothing if each is None else each.sentences for each in bits]
    held = np.array([len(rows) > 0 for rows in sentences], bool)
    if not held.any():
        return None
    asked = AskedTokens(asked.tokens[says], asked.rarity[says], asked.sentence)
    found = similarities(asked.tokens, [nothing if each is None else each.tokens for each in bits]).astype(np.float64)
    best = similarities(asked.sentence[None], sentences)[:, 0].astype(np.float64)
    return Compared(found, token_weights(asked, found), np.where(held, best, np.nan))


def is_near(compared: Compared, *, abroad: bool = False) -> npt.NDArray[np.bool_]:
    """Which candidates say something near to what is asked, be it in one sentence of many: the others may be left out
    where no word speaks for them either. ``abroad``: in a language that the model never learnt.
    """
    tokens, sentence = (NEAR_TOKENS_ABROAD, NEAR_SENTENCE_ABROAD) if abroad else (NEAR_TOKENS, NEAR_SENTENCE)
    told = compared.tokens @ compared.weights >= tokens if len(compared.weights) else False
    near: npt.NDArray[np.bool_] = told | (np.nan_to_num(compared.sentences, nan=-1.0) >= sentence)
    return near


def by_bits(compared: Compared, candidates: Candidates) -> dict[str, Floats]:
    """msb, msS and smax; smax alone where no token says anything."""
    cosines, weights = compared.tokens, compared.weights
    if not len(weights):
        return {"smax": scale(compared.sentences)}
    sessions = np.zeros((int(candidates.sessions.max(initial=-1)) + 1, cosines.shape[1]))
    np.maximum.at(sessions, candidates.sessions, cosines)
    return {
        "msb": scale(with_replies(in_context(cosines, candidates), cosines, candidates) @ weights),
        "msS": scale((sessions @ weights)[candidates.sessions]),
        "smax": scale(compared.sentences),
    }


def in_context(cosines: Floats, candidates: Candidates) -> Floats:
    """The tokens' cosines where what another speaker said before counts, too, shape (candidates, tokens)."""
    share = np.where(candidates.answers, ASKED_SHARE, np.where(candidates.after_another, SAID_SHARE, 0.0))
    found: Floats = np.maximum(cosines, share[:, None] * _at(cosines, candidates.before))
    return found


def with_replies(found: Floats, cosines: Floats, candidates: Candidates) -> Floats:
    """What was `found`, and a share of what another speaker's reply adds to it, shape (candidates, tokens)."""
    added = np.maximum(_at(cosines, candidates.after) - found, 0.0)
    told: Floats = found + np.where(candidates.before_another, REPLIED_SHARE, 0.0)[:, None] * added
    return told


def token_weights(asked: AskedTokens, cosines: Floats) -> Floats:
    """How much each of the question's tokens counts, summing to 1; all 0 where none says anything."""
    total = len(cosines)
    best = cosines.max(axis=0, initial=0.0)
    holding = (cosines >= np.maximum(_HELD * best, _LEAST_HELD)).sum(axis=0)
    rarest = np.log1p((total - 0.5) / 1.5)
    local = np.log1p((total - np.maximum(holding, 1) + 0.5) / (np.maximum(holding, 1) + 0.5)) / max(rarest, 1e-9)
    bounded = np.minimum(asked.rarity, 1 + LOCAL_RARITY * np.clip(local, 0, 1))
    said = np.where(asked.rarity > ASKED_RARITY, bounded, 0.0)
    weights: Floats = said / said.sum() if said.sum() > 0 else np.zeros(len(said))
    return weights
