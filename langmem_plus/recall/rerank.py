"""Score the candidates: how relevant, how recent, how important; and drop what isn't relevant at all."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.overlap import coverage, spoken
from langmem_plus.recall.query import bounded, current_text
from langmem_plus.recall.questions import questions_last
from langmem_plus.recall.repeats import by_total, left_out, without_echoes, without_repeats
from langmem_plus.records import Choice, MemoryHit, MemoryReport
from langmem_plus.services import Reranker, Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.text import tokens

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]

# The best cosine that a search finds with MiniLM's sentence vectors: nonsense and questions about other things stay
# below 0.33 (median 0.18), questions that the store can answer lie above 0.49 (median 0.63; LoCoMo's six development
# conversations, 5th and 95th percentiles). So tell A = 1 - (1 - c)(1 - b) apart with an area under the curve of 0.999.
COSINE_OF_NOTHING = 0.25
COSINE_SPAN = 0.4
# From so many candidates on, their own cosines tell where those of unrelated texts lie.
_ENOUGH_COSINES = 8
# How much a hit's own evidence counts against its place within the search. Half and half leaves the evidence found on
# LoCoMo's six development conversations as it is (64 % at 5, 73 % at 10), and keeps the second of two good hits off 0.
EVIDENCE_SHARE = 0.5
# How far beyond [-1, 1] a cosine may lie by rounding.
_ROUNDING = 1e-3
# agent-cli scores candidates 0.5 that can't be told apart.
_LEVEL = 0.5


# relevance


def relevance_of(query: str, hits: Sequence[MemoryHit], config: MemoryConfig) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Each hit's relevance in [0, 1] without a reranking model, and whether anything speaks for the hit at all.

    ``calibrated`` keeps the store's own order within a search, on an absolute scale. A hit's evidence is e =
    1 - (1 - c)(1 - b), from its cosine (c, scaled by `nearness`) and the share of the query's words that it holds (b).
    Its relevance is the mean of two numbers that both fall with its rank: the store's score times the best e of the
    search, and the best e of the hits from it downwards. So a nonsense query stays near 0, however well its best hit
    compares with the others.

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
    relevance = np.where(unranked, share, _calibrated(order, evidence, _searches(hits)))
    blank = not tokens(query)  # "who am I?": nothing to judge by
    return relevance, (cosines > COSINE_OF_NOTHING) | (share > 0) | logits | blank


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
    level = float(np.quantile(known, 0.25)) if len(known) >= _ENOUGH_COSINES else COSINE_OF_NOTHING
    nothing = min(max(level, COSINE_OF_NOTHING), 1 - _ROUNDING)
    span = COSINE_SPAN * (1 - nothing) / (1 - COSINE_OF_NOTHING)
    near: Floats = np.nan_to_num(np.clip((cosines - nothing) / span, 0, 1), nan=0.0)
    return near


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


# the order


def recency_of(said_at: dt.datetime, now: dt.datetime, tau_days: float) -> float:
    """exp(-age / τ) in (0, 1]; a time in the future counts as now."""
    age = max((now - said_at).total_seconds() / 86_400, 0.0)
    return float(np.exp(-age / tau_days))


def rank(
    hits: Sequence[MemoryHit],
    relevance: Floats,
    config: MemoryConfig,
    now: dt.datetime,
    supported: npt.NDArray[np.bool_] | None = None,
    query: str = "",
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits best first, each with its scores, and why others were dropped.

    What isn't relevant is dropped before recency and importance are looked at. Equal totals: newer first, then by id.

    Args:
        hits: the candidates.
        relevance: one number in [0, 1] a hit.
        config: weights, τ and thresholds.
        now: the time that ages are counted from.
        supported: False for a hit that nothing speaks for.
        query: what was asked; turns that only ask it again come last.
    """
    weights = config.relevance_weight, config.recency_weight, config.importance_weight
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for place, hit in enumerate(hits):
        record = hit.record
        values = (
            float(relevance[place]),
            recency_of(record.said_at, now, config.recency_tau_days),
            record.importance,
        )
        total = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights) if any(weights) else values[0]
        scores = {**hit.scores, "relevance": values[0], "recency": values[1], "importance": values[2], "total": total}
        reason = _refusal(hit, values[0], config, supported is None or bool(supported[place]))
        if reason:
            dropped.append(Choice(id=record.id, text=record.text, kept=False, reason=reason, scores=scores))
        else:
            kept.append(hit.model_copy(update={"scores": scores}))
    kept.sort(key=by_total)
    kept, repeats = without_repeats(kept)
    kept, echoes = without_echoes(kept)
    return questions_last(query, kept), [*dropped, *repeats, *echoes]


def _refusal(hit: MemoryHit, relevance: float, config: MemoryConfig, supported: bool) -> str | None:
    threshold = config.score_threshold
    if not supported:
        return "it shares no word with the question and isn't near it"
    if hit.record.role == "archive" and relevance < config.relevance_threshold:
        return f"relevance {relevance:.2f} is below relevance_threshold {config.relevance_threshold} for archives"
    if threshold is not None and relevance < threshold:
        return f"relevance {relevance:.2f} is below score_threshold {threshold}"
    return None


# with a reranking model


def ask(reranker: Reranker, query: str, hits: Sequence[MemoryHit]) -> list[float]:
    """The reranker's score of each hit; it reads "speaker: text".

    Raises:
        ValueError: it gave another number of scores than texts.
    """
    scores = [float(score) for score in reranker(query, [spoken(hit.record) for hit in hits])]
    if len(scores) != len(hits):
        raise ValueError(f"the reranker gave {len(scores)} scores for {len(hits)} texts.")
    return scores


def shortlist(query: str, hits: Sequence[MemoryHit], config: MemoryConfig) -> tuple[list[MemoryHit], list[Choice]]:
    """At most ``rerank_batch`` hits for a reranking model, the best by the store's own scores."""
    if len(hits) <= config.rerank_batch:
        return list(hits), []
    relevance, _ = relevance_of(query, hits, config)
    order = sorted(range(len(hits)), key=lambda place: (-relevance[place], hits[place].record.id))
    reason = f"the reranker reads {config.rerank_batch} candidates at most (rerank_batch)"
    rest = [left_out(hits[place], reason) for place in order[config.rerank_batch :]]
    return [hits[place] for place in order[: config.rerank_batch]], rest


def rerank(
    query: str,
    hits: Sequence[MemoryHit],
    config: MemoryConfig,
    now: dt.datetime,
    reranker: Reranker | None = None,
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits best first, with ``relevance``, ``recency``, ``importance`` and ``total`` in their scores, and why the
    others were dropped. Relevance comes from the reranker, or without one from `relevance_of`.
    """
    if reranker is None:
        return _rank_alone(query, hits, config, now, frozenset())
    chosen, rest = shortlist(query, hits, config)
    kept, dropped = rank(chosen, given_relevance(ask(reranker, query, chosen), config), config, now, None, query)
    return kept, [*rest, *dropped]


def _rank_alone(
    query: str, hits: Sequence[MemoryHit], config: MemoryConfig, now: dt.datetime, asked_for: frozenset[str]
) -> tuple[list[MemoryHit], list[Choice]]:
    """Without a reranker. The roles in ``asked_for`` are relevant because the message asks for nothing else."""
    relevance, supported = relevance_of(query, hits, config)
    named = np.array([hit.record.role in asked_for for hit in hits], bool)
    return rank(hits, np.where(named, 1.0, relevance), config, now, supported | named, query)


def rerank_with(
    services: Services, query: str, hits: Sequence[MemoryHit], asked_for: frozenset[str] = frozenset()
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `rerank` with the services' reranker. Where that fails, the built-in scoring takes over with a warning (with
    ``strict`` on, it raises). The roles in ``asked_for`` are wanted whatever they say.
    """
    config, now, report = services.config, services.clock(), MemoryReport()
    answer: tuple[list[MemoryHit], list[Choice]] | None = None
    if services.reranker is not None and hits and not asked_for:
        try:
            answer = rerank(query, hits, config, now, services.reranker)
        except Exception as error:
            if config.strict:
                raise
            logger.warning("memory: the reranker failed, the built-in scoring took over: %s", error, exc_info=error)
            report.warnings.append(f"the reranker failed ({type(error).__name__}: {error}); built-in scoring was used")
    kept, report.choices = answer or _rank_alone(query, hits, config, now, asked_for)
    report.counts = {"relevant": len(kept)}
    return kept, report


async def arerank_with(
    services: Services, query: str, hits: Sequence[MemoryHit], asked_for: frozenset[str] = frozenset()
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `rerank_with`; a model works in a thread, so that the event loop goes on."""
    if services.reranker is None:
        return rerank_with(services, query, hits, asked_for)
    return await asyncio.to_thread(rerank_with, services, query, hits, asked_for)


def question_of(state: MemoryState) -> tuple[str, frozenset[str]]:
    """The words to rank by, and the roles that are wanted whatever they say: "what did we discuss last time?" has no
    words to search by, so there the newest archives are the answer.
    """
    plan = state.get("memory_plan")
    if plan is not None and plan.query:
        return plan.query, frozenset()
    bare = plan is not None and plan.strategy == "archive"
    return bounded(current_text(state.get("messages") or [])), frozenset({"archive"}) if bare else frozenset()


def rerank_node(services: Services) -> Runnable[MemoryState, Update]:
    """The node: reads ``memory_plan`` and ``memory_hits``, writes ``memory_hits``, scored and sorted."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        query, asked_for = question_of(state)
        kept, report = rerank_with(services, query, state.get("memory_hits") or [], asked_for)
        return {"memory_hits": kept, "memory_report": report}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        query, asked_for = question_of(state)
        kept, report = await arerank_with(services, query, state.get("memory_hits") or [], asked_for)
        return {"memory_hits": kept, "memory_report": report}

    return stage("rerank", services, run, arun, fallback={"memory_hits": []})
