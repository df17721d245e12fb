"""How relevant each candidate is, in [0, 1], on an absolute scale where that can be had."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.late_interaction import content_words
from langmem_plus.recall.asker import is_own
from langmem_plus.recall.built_in import Judged
from langmem_plus.recall.overlap import coverage, spoken
from langmem_plus.recall.readings import read
from langmem_plus.records import TURN_ROLES, MemoryHit
from langmem_plus.speakers import key_of, name_of
from langmem_plus.text import tokens, words

Floats = npt.NDArray[np.float64]

# The best cosine that a search finds with MiniLM's sentence vectors: nonsense and questions about other things stay
# below 0.33 (median 0.18), questions that the store can answer lie above 0.49 (median 0.63; LoCoMo's six development
# conversations, 5th and 95th percentiles). So tell A = 1 - (1 - c)(1 - b) apart with an area under the curve of 0.999.
COSINE_OF_NOTHING = 0.25
COSINE_SPAN = 0.4
# In a language that the model never learnt every text is that near, and function words count as words: there, a hit
# must hold so much of what is asked, by the words' rarity or of those that are no function words (among few memories
# a shared name is no rare word), or be near by its token bits.
SHARE_ABROAD = 0.2
_LONG = 4  # letters
_NAME = re.compile(r"(?<=\w\s)[^\W\d_a-zß-ÿ]\w+")  # a capital within a sentence
# What compares about as well as the best hit answers, if anything does.
LEADS = 0.9
# Who asks of oneself is told the best ones all the same: what was said in other words is among them as often as not.
BEST_ABROAD = 2
# From so many candidates on, their own cosines tell where those of unrelated texts lie.
_ENOUGH_COSINES = 8
# How much a hit's own evidence counts against its place within the search. Half and half leaves the evidence found on
# LoCoMo's six development conversations as it is (64 % at 5, 73 % at 10), and keeps the second of two good hits off 0.
EVIDENCE_SHARE = 0.5
# An archive is recalled by what a conversation was about, which holds few words of a question. So its relevance is the
# probability that it is the conversation meant: 1 / (1 + exp(-(a·r + b))) of what the other hits' scale gives it, r.
# (a, b) are fitted on 62 questions in five languages for 24 archives that rules made, first where the probability of an
# answer is known, then where it isn't. At 0.7 are 32 and 32 of 38 conversations that were meant (27 and 18 without
# this), and 0 and 1 of 706 others; the Brier score falls from 0.083 to 0.061 and from 0.170 to 0.099.
ARCHIVE_SCALES = {True: (10.8, -4.3), False: (9.0, -2.0)}
# How far beyond [-1, 1] a cosine may lie by rounding.
_ROUNDING = 1e-3
# agent-cli scores candidates 0.5 that can't be told apart.
_LEVEL = 0.5


def relevance_of(
    query: str,
    hits: Sequence[MemoryHit],
    config: MemoryConfig,
    judged: Judged | None = None,
    *,
    strict: bool = False,
    asker: str = "",
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Each hit's relevance in [0, 1] without a reranking model, and whether anything speaks for the hit at all.

    ``calibrated`` keeps the order that the built-in reranker ``judged``, or without it the store's own within a search,
    on an absolute scale. A hit's evidence is e =
    1 - (1 - c)(1 - b), from its cosine (c, scaled by `nearness`) and the share of the query's words that it holds (b).
    Its relevance is the mean of two numbers that both fall with its rank: the store's score times the best e of the
    search, and the best e of the hits from it downwards. So a nonsense query stays near 0, however well its best hit
    compares with the others. Where token bits tell how likely an answer is, the best hit has that relevance. That of an
    archive says how likely it is the conversation that is meant. The best hits need nothing to speak for them where it
    is known how likely an answer is, nor do the best of what ``asker`` said who asks of oneself: another one's home is
    no answer without them. ``strict``: less speaks for a hit in a language that the local model never learnt.

    ``minmax``: the store's scores scaled over the candidates. ``sigmoid``: as calibrated, but scores that are logits
    (beyond [-1, 1]) become 1 / (1 + exp(-x)). What a store didn't rank is scored by shared words.
    """
    raw = _array(hits, "store")
    share = _shares(query, hits)
    unranked = np.isnan(raw)
    if config.relevance == "minmax":
        return minmax(np.where(unranked, share, raw)), np.ones(len(hits), bool)
    logits = bool(np.nanmax(np.abs(raw), initial=0.0) > 1 + _ROUNDING)
    if logits and config.relevance == "sigmoid":
        return np.where(unranked, share, sigmoid(raw)), np.ones(len(hits), bool)
    cosines = _cosines(hits, raw, logits)
    near = nearness(cosines)
    order = np.nan_to_num(np.clip(sigmoid(raw) if logits else raw, 0, 1))
    evidence = np.where(unranked, 0.0, 1 - (1 - near) * (1 - np.clip(share, 0, 1)))
    if judged is None:
        relevance = np.where(unranked, share, _calibrated(order, evidence, _searches(hits)))
    else:
        evidence = np.where(unranked, share, evidence)
        relevance = _sure(_calibrated(judged.order, evidence, _kinds(hits)), judged)
    relevance = _meant(relevance, hits, judged is not None and judged.probability is not None)
    blank = not tokens(query)  # "who am I?": nothing to judge by
    told = judged.near if judged is not None and judged.near is not None else np.zeros(len(hits), bool)
    own = _leading_of(asker, query, hits, judged)
    if strict and judged is not None and judged.foreign:
        best = _first_sayings(hits, judged.order, BEST_ABROAD if read(query).first_person or read(query).own else 0)
        return relevance, (share > SHARE_ABROAD) | _holds_abroad(query, hits) | logits | blank | told | best | own
    leads = np.zeros(len(hits), bool) if judged is None or judged.foreign else _leading(judged)
    return relevance, (cosines > COSINE_OF_NOTHING) | (share > 0) | logits | blank | told | leads | own


def _leading(judged: Judged) -> npt.NDArray[np.bool_]:
    """The hits that compare best; those whose sentence is the nearest where nothing tells them apart. None where it
    isn't known how likely an answer is.
    """
    if judged.probability is None or not len(judged.order):
        return np.zeros(len(judged.order), bool)
    best = float(judged.order.max())
    if best > 0 or judged.sentences is None:
        first: npt.NDArray[np.bool_] = judged.order >= LEADS * max(best, _ROUNDING)
        return first
    near = np.nan_to_num(judged.sentences, nan=-np.inf)
    nearest: npt.NDArray[np.bool_] = near >= near.max()
    return nearest


def _leading_of(asker: str, query: str, hits: Sequence[MemoryHit], judged: Judged | None) -> npt.NDArray[np.bool_]:
    """Of what the asker said, the hits that compare best, where the question is about the asker, and it is known how
    likely an answer is.
    """
    none = np.zeros(len(hits), bool)
    if judged is None or judged.probability is None or not asker or not len(hits):
        return none
    names = [name_of(hit.record) for hit in hits]
    if not is_own(query, names, asker):
        return none
    mine = np.array([key_of(name) == key_of(asker) for name in names], bool)
    best = float(judged.order[mine].max())
    first: npt.NDArray[np.bool_] = mine & (judged.order >= LEADS * best)
    return first if best > 0 else none


def _first_sayings(hits: Sequence[MemoryHit], order: Floats, count: int) -> npt.NDArray[np.bool_]:
    """So many of the hits that compare best, a fact and the turn that it was drawn from counting as one."""
    first = np.zeros(len(hits), bool)
    facts: set[str] = set()  # the ids of what the facts among the first were drawn from
    turns: set[str] = set()  # those of the turns among them, as long as no fact of theirs is
    for place in np.argsort(-order, kind="stable").tolist() if count else ():
        record = hits[place].record
        names = {record.id, *record.source_ids} if record.role in TURN_ROLES else set(record.source_ids)
        known = facts if record.role in TURN_ROLES else turns
        if names.isdisjoint(known):
            if not count:
                continue
            count -= 1
            (turns if record.role in TURN_ROLES else facts).update(names)
        else:
            known -= names
        first[place] = True
    return first


def _holds_abroad(query: str, hits: Sequence[MemoryHit]) -> npt.NDArray[np.bool_]:
    """Whether each hit holds so much of what says something: a short word that isn't a name is mostly one that doesn't,
    in whatever language.
    """
    asked = content_words(query)
    names = set(words(" ".join(_NAME.findall(query))))
    telling = {word for word in asked if len(word) >= _LONG or word in names or not word.isascii()}
    held = [len(telling.intersection(words(spoken(hit.record)))) for hit in hits]
    return np.array(held, np.float64) > SHARE_ABROAD * len(asked)


def _array(hits: Sequence[MemoryHit], name: str) -> Floats:
    return np.array([hit.scores.get(name, np.nan) for hit in hits], np.float64)


def _shares(query: str, hits: Sequence[MemoryHit]) -> Floats:
    """The share of the query's words that each hit holds: the store's number (weighted by rarity) or a plain count."""
    wanted = set(tokens(query))
    return np.array(
        [hit.scores["coverage"] if "coverage" in hit.scores else coverage(wanted, spoken(hit.record)) for hit in hits],
        np.float64,
    )


def _cosines(hits: Sequence[MemoryHit], raw: Floats, logits: bool) -> Floats:
    """Raw cosines: the store's own, else a foreign store's score, which is taken for one."""
    own = _array(hits, "cosine")
    foreign = np.array(["cosine" not in hit.scores and "coverage" not in hit.scores for hit in hits], bool)
    return own if logits else np.where(foreign, raw, own)


def nearness(cosines: Floats) -> Floats:
    """Cosines scaled to [0, 1]: 0 is unrelated, 1 is as near as an answer; 0 where there is none.

    The scale is MiniLM's, from `COSINE_OF_NOTHING` over `COSINE_SPAN`. The unrelated texts of other embedders lie
    anywhere, often above 0.7. A search fetches more than it can answer with, so where the lower quartile of at least
    `_ENOUGH_COSINES` candidates lies above `COSINE_OF_NOTHING`, it stands for what is unrelated, and what is left
    between it and 1 is divided as MiniLM's is. That never makes a hit nearer than MiniLM's scale does.
    """
    known = cosines[~np.isnan(cosines)]
    level = _lower_quartile(known) if len(known) >= _ENOUGH_COSINES else COSINE_OF_NOTHING
    nothing = min(max(level, COSINE_OF_NOTHING), 1 - _ROUNDING)
    span = COSINE_SPAN * (1 - nothing) / (1 - COSINE_OF_NOTHING)
    near: Floats = np.nan_to_num(np.clip((cosines - nothing) / span, 0, 1), nan=0.0)
    return near


def _lower_quartile(values: Floats) -> float:
    """What ``np.quantile`` gives for ¼, in a tenth of its time."""
    place, quarters = divmod(len(values) - 1, 4)
    low, high = np.sort(values)[[place, min(place + 1, len(values) - 1)]].tolist()
    share = quarters / 4
    return float(low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share))


def _calibrated(order: Floats, evidence: Floats, searches: Sequence[Sequence[int]]) -> Floats:
    relevance = np.zeros(len(order))
    for places in searches:
        ranked = np.array(sorted(places, key=lambda place: (-order[place], -evidence[place])), np.int64)
        downwards = np.maximum.accumulate(evidence[ranked][::-1])[::-1]
        scaled = order[ranked] * downwards[0]
        relevance[ranked] = (1 - EVIDENCE_SHARE) * scaled + EVIDENCE_SHARE * downwards
    return relevance


def _searches(hits: Sequence[MemoryHit]) -> list[list[int]]:
    """The hits whose scores compare. A store that hands out legs scaled its scores within a search, and each namespace
    was searched apart, as archives and documents are; cosines of a foreign store compare across its searches.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, hit in enumerate(hits):
        scaled = "cosine" in hit.scores or "coverage" in hit.scores
        apart = hit.record.role if hit.record.role in ("archive", "document") else ""
        groups.setdefault((hit.namespace, apart) if scaled else (), []).append(place)
    return list(groups.values())


def _kinds(hits: Sequence[MemoryHit]) -> list[list[int]]:
    """Archives, documents and memories, each as sure as its own hits; the built-in reranker compares whole recalls."""
    groups: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        role = hit.record.role
        groups.setdefault(role if role in ("archive", "document") else "", []).append(place)
    return list(groups.values())


def _meant(relevance: Floats, hits: Sequence[MemoryHit], sure: bool) -> Floats:
    """The relevances, those of archives on their own scale; nothing speaks for what has none."""
    slope, start = ARCHIVE_SCALES[sure]
    is_archive = np.array([hit.record.role == "archive" for hit in hits], bool)
    return np.where(is_archive & (relevance > 0), sigmoid(slope * relevance + start), relevance)


def _sure(relevance: Floats, judged: Judged) -> Floats:
    """The relevances scaled so that the best one is the probability of an answer, where that is known."""
    best = float(relevance.max(initial=0.0))
    if judged.probability is None:
        return relevance
    if best <= 0:  # nothing shares a word with the question or is near it: only how they compare is known
        leading: Floats = np.where(_leading(judged), 1.0, judged.order) * judged.probability
        return leading
    scaled: Floats = relevance * (judged.probability / best)
    return scaled


def minmax(scores: Floats) -> Floats:
    """Scaled to [0, 1] over the scores; all of them 0.5 where they are equal (Source: agent-cli's memory)."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return np.full(len(scores), _LEVEL) if high - low < 1e-8 else (scores - low) / (high - low)


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + exp(-x))."""
    result: Floats = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    return result


def given_relevance(scores: Sequence[float], config: MemoryConfig) -> Floats:
    """Relevance in [0, 1] from a reranker's scores: as they are, or of logits the sigmoid; ``minmax`` scales them."""
    raw = np.asarray(scores, np.float64)
    known = np.isfinite(raw)
    if not known.all():
        raw = np.where(known, raw, raw[known].min() if known.any() else 0.0)
    if config.relevance == "minmax":
        return minmax(raw)
    within = bool(((raw >= 0) & (raw <= 1 + _ROUNDING)).all())
    return np.where(known, np.clip(raw, 0, 1) if within else sigmoid(raw), 0.0)
