"""Score the candidates: how relevant, how recent, how important; and drop what isn't relevant at all."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelRestingError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.providers.spending import spending
from langmem_plus.recall.answerable import INJECTED
from langmem_plus.recall.asked_all import asks_all, split_known
from langmem_plus.recall.asked_days import asked_days, asks_no_day, split_by_days
from langmem_plus.recall.asked_name import BESIDE, names_asked
from langmem_plus.recall.built_in import Judged, judge
from langmem_plus.recall.former import best_of, judged_for, spoken_for
from langmem_plus.recall.made import with_scores
from langmem_plus.recall.newer import linked_first, newer_first
from langmem_plus.recall.overlap import spoken
from langmem_plus.recall.query import bounded, current_name, current_text
from langmem_plus.recall.questions import without_questions
from langmem_plus.recall.relevance import given_relevance, relevance_of
from langmem_plus.recall.repeats import (
    Place,
    by_total,
    left_out,
    place_of,
    with_corrections,
    without_copies,
    without_echoes,
    without_repeats,
)
from langmem_plus.recall.rerank_by_model import ask, asked_by, shortlist
from langmem_plus.records import Choice, MemoryHit, MemoryReport
from langmem_plus.services import Reranker, Services, Update, stage
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]

# the order


def recencies(said_at: Sequence[dt.datetime], now: dt.datetime, tau_days: float) -> Floats:
    """exp(-age / τ) in (0, 1] of each; a time in the future counts as now."""
    ages = np.array([(now - time).total_seconds() for time in said_at], np.float64) / 86_400
    recency: Floats = np.exp(-np.maximum(ages, 0.0) / tau_days)
    return recency


def _numbers(
    hits: Sequence[MemoryHit], relevance: Floats, config: MemoryConfig, now: dt.datetime
) -> list[dict[str, float]]:
    """Relevance, recency, importance, and the mean of them by their weights, of each hit."""
    recency = recencies([hit.record.said_at for hit in hits], now, config.recency_tau_days)
    importance = np.array([hit.record.importance for hit in hits], np.float64)
    weights = config.relevance_weight, config.recency_weight, config.importance_weight
    columns = np.asarray(relevance, np.float64), recency, importance
    total = columns[0]
    if any(weights):
        relevant, recent, important = (weight * column for weight, column in zip(weights, columns, strict=True))
        total = (relevant + recent + important) / sum(weights)
    rows = zip(*(column.tolist() for column in (*columns, total)), strict=True)
    return [{"relevance": a, "recency": b, "importance": c, "total": d} for a, b, c, d in rows]


def rank(
    hits: Sequence[MemoryHit],
    relevance: Floats,
    config: MemoryConfig,
    now: dt.datetime,
    supported: npt.NDArray[np.bool_] | None = None,
    query: str = "",
    judged: Judged | None = None,
    asker: str = "",
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits best first, each with its scores, and why others were dropped.

    What isn't relevant is dropped before recency and importance are looked at. Equal totals: newer first, then by id.

    Args:
        hits: the candidates.
        relevance: one number in [0, 1] a hit.
        config: weights, τ and thresholds.
        now: the time that ages are counted from.
        supported: False for a hit that nothing speaks for.
        query: what was asked; turns that only ask it again are dropped.
        judged: what the built-in reranker said; its shares stand among the scores, and of look-alikes the newer comes
            first.
        asker: the name of who asks, "" where nobody is named.
    """
    kept: list[MemoryHit] = []
    refused: list[tuple[MemoryHit, dict[str, float], str]] = []
    shares = judged.given() if judged is not None else []
    for place, (hit, numbers) in enumerate(zip(hits, _numbers(hits, relevance, config, now), strict=True)):
        scores = {**hit.scores, **(shares[place] if shares else {}), **numbers}
        reason = _refusal(hit, numbers["relevance"], config, supported is None or bool(supported[place]))
        if reason:
            refused.append((hit, scores, reason))
        else:
            kept.append(with_scores(hit, scores))
    kept.sort(key=by_total)
    answers, near = None, dict[Place, float]()
    if judged is not None:
        places = [place_of(hit) for hit in hits]
        answers = dict(zip(places, judged.order.tolist(), strict=True))
        if judged.sentences is not None:
            cosines = zip(places, judged.sentences.tolist(), strict=True)
            near = {place: cosine for place, cosine in cosines if not math.isnan(cosine)}
    kept, questions = without_questions(query, kept, near, asker)
    answering = kept
    kept, repeats = without_repeats(linked_first(kept), answers, query, near)
    kept = linked_first(kept, hits, answering)  # a turn may have raised a fact since, or stand for one
    kept, copies = without_copies(kept)
    kept, echoes = without_echoes(kept)
    if judged is not None and judged.asked is not None:
        kept = newer_first(kept, judged.asked, judged.bits)
    kept, dropped = with_corrections(kept, refused)
    return kept, [*dropped, *questions, *repeats, *copies, *echoes]


def _refusal(hit: MemoryHit, relevance: float, config: MemoryConfig, supported: bool) -> str | None:
    threshold = config.score_threshold
    if not supported:
        return "it shares no word with the question and isn't near it"
    if hit.record.role == "archive" and relevance < config.relevance_threshold:
        return f"relevance {relevance:.2f} is below relevance_threshold {config.relevance_threshold} for archives"
    if threshold is not None and relevance < threshold:
        return f"relevance {relevance:.2f} is below score_threshold {threshold}"
    return None


def rerank(
    query: str,
    hits: Sequence[MemoryHit],
    config: MemoryConfig,
    now: dt.datetime,
    reranker: Reranker | None = None,
    encoder: TokenEncoder | None = None,
    asker: str = "",
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits best first, with ``relevance``, ``recency``, ``importance`` and ``total`` in their scores, and why the
    others were dropped. Relevance comes from the reranker, or without one from the built-in one (`built_in.judge`),
    for which ``encoder`` gives token bits, on the scale of `relevance_of`. ``asker`` is the name of who asks: "my dog"
    is that person's.
    """
    if reranker is None:
        return _rank_alone(query, hits, config, now, frozenset(), encoder, asker=asker)
    chosen, rest = shortlist(query, hits, config)
    scores = best_of(chosen, ask(reranker, asked_by(asker, query, chosen), spoken_for(chosen))).tolist()
    if getattr(reranker, "refuses", False):
        refused = [hit for hit, score in zip(chosen, scores, strict=True) if score <= 0]
        rest += [left_out(hit, "the reranker says that it has nothing to do with the question") for hit in refused]
        chosen = [hit for hit, score in zip(chosen, scores, strict=True) if score > 0]
        scores = [score for score in scores if score > 0]
    kept, dropped = rank(chosen, given_relevance(scores, config), config, now, None, query, asker=asker)
    return kept, [*rest, *dropped]


def _judge(
    query: str,
    hits: Sequence[MemoryHit],
    now: dt.datetime,
    encoder: TokenEncoder | None,
    config: MemoryConfig,
    asker: str,
) -> Judged:
    """What the built-in reranker says; without token bits where the local model fails."""
    try:
        return judge(query, hits, now, encoder, config.rerank_late, asker)
    except Exception as error:
        if encoder is None or config.strict:
            raise
        logger.warning("memory: the local model failed, so no token bits are compared: %s", error, exc_info=error)
        return judge(query, hits, now, asker=asker)


def _rank_alone(
    query: str,
    hits: Sequence[MemoryHit],
    config: MemoryConfig,
    now: dt.datetime,
    asked_for: frozenset[str],
    encoder: TokenEncoder | None = None,
    least: float = INJECTED,
    asker: str = "",
) -> tuple[list[MemoryHit], list[Choice]]:
    """Without a reranking model. The roles in ``asked_for`` are relevant because the message asks for nothing else; of
    the others none is, where an answer is less likely than ``least`` and the settings say nothing else.
    """
    judged = None
    if config.relevance == "calibrated" and config.reranker.lower() != "none":
        asked = spoken_for(hits)
        judged = _judge(query, asked, now, encoder, config, asker)
        relevance, supported = relevance_of(query, asked, config, judged, strict=least >= INJECTED, asker=asker)
        relevance, supported = best_of(hits, relevance), best_of(hits, supported).astype(bool)
        judged = judged_for(hits, judged)
    else:
        relevance, supported = relevance_of(query, hits, config, strict=least >= INJECTED, asker=asker)
    sure = judged.probability if judged is not None else None
    names = names_asked(query, hits, asker)
    named = np.array([hit.record.role in asked_for for hit in hits], bool) | names
    relevance = relevance * BESIDE if names.any() else relevance
    if sure is not None and sure < least and config.score_threshold is None:
        below = f"the probability is {sure:.2f}, below {least:g}, the bound where score_threshold is not set"
        reason = f"the memory hardly holds an answer: {below}"
        unlikely = [left_out(hit, reason) for hit, wanted in zip(hits, named, strict=True) if not wanted]
        hits = [hit for hit, wanted in zip(hits, named, strict=True) if wanted]
        kept, dropped = rank(hits, np.ones(len(hits)), config, now)
        return kept, [*dropped, *unlikely]
    return rank(hits, np.where(named, 1.0, relevance), config, now, supported | named, query, judged, asker)


def _rank_listed(
    query: str, hits: Sequence[MemoryHit], config: MemoryConfig, now: dt.datetime, asker: str
) -> tuple[list[MemoryHit], list[Choice]] | None:
    """What was said on the days that a question asks for and nothing else, or all that is known, where it asks for
    that; None where it asks for more, or nothing of it is there.
    """
    if asks_all(query):
        listed, relevance, others = split_known(hits, asker, config)
        reason = "the question asks for what is known of who asks"
    else:
        listed, relevance, others = split_by_days(query, hits, asked_days(query, now.date()), config)
        reason = "it wasn't said on the days that are asked for"
    if not listed:
        # In the place of a day that doesn't exist, no other one answers.
        return ([], [left_out(hit, reason) for hit in others]) if asks_no_day(query, now.date()) else None
    kept, dropped = rank(listed, relevance, config, now)
    return kept, [*dropped, *(left_out(hit, reason) for hit in others)]


def keep_bits(services: Services, hits: Sequence[MemoryHit]) -> None:
    """Hand token bits that had to be made to a store that keeps them beside its records, so that they are made once."""
    hits = [hit for hit in hits if hit.namespace]  # others stand in no store
    encoder, keep = services.token_encoder, getattr(services.find_store(), "set_bits", None) if hits else None
    if encoder is None or not callable(keep):
        return
    made: dict[tuple[str, ...], dict[str, TextBits]] = {}
    for hit in hits:
        if hit.bits is None and (bits := encoder.known(text := spoken(hit.record))) is not None:
            made.setdefault(hit.namespace, {})[text] = bits
    for namespace, bits_of in made.items():
        try:
            keep(namespace, bits_of)
        except Exception as error:
            if services.config.strict:
                raise
            logger.warning("memory: token bits weren't kept, and are made again: %s", error, exc_info=error)


def rerank_with(
    services: Services,
    query: str,
    hits: Sequence[MemoryHit],
    asked_for: frozenset[str] = frozenset(),
    least: float = INJECTED,
    asker: str = "",
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `rerank` with the services' reranker. Where that fails, the built-in scoring takes over with a warning (with
    ``strict`` on, it raises). Where days alone are asked for, or all that is known, what is listed answers. The roles
    in ``asked_for`` are wanted whatever they say; ``least`` is the probability of an answer below which there is none,
    unless ``score_threshold`` says something else.
    """
    config, now, report = services.config, services.clock(), MemoryReport()
    answer = _rank_listed(query, hits, config, now, asker)
    spent: dict[str, int] = {}
    if answer is None and services.reranker is not None and hits and not asked_for:
        with spending() as spent:
            try:
                answer = rerank(query, hits, config, now, services.reranker, asker=asker)
            except Exception as error:
                if config.strict:
                    raise
                report.warnings.append(_took_over(error))
    if answer is None:
        answer = _rank_alone(query, hits, config, now, asked_for, services.token_encoder, least, asker)
        keep_bits(services, hits)
    kept, report.choices = answer
    report.counts = {"relevant": len(kept), **spent}
    return kept, report


def _took_over(error: Exception) -> str:
    """The warning that a reranker failed; that one which failed before isn't asked for a while is no news for a log."""
    if not isinstance(error, ModelRestingError):
        logger.warning("memory: the reranker failed, the built-in scoring took over: %s", error, exc_info=error)
    return f"the reranker failed ({type(error).__name__}: {error}); built-in scoring was used"


async def arerank_with(
    services: Services,
    query: str,
    hits: Sequence[MemoryHit],
    asked_for: frozenset[str] = frozenset(),
    least: float = INJECTED,
    asker: str = "",
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `rerank_with`; a model works in a thread, so that the event loop goes on."""
    if services.reranker is None and services.token_encoder is None:
        return rerank_with(services, query, hits, asked_for, least, asker)
    return await asyncio.to_thread(rerank_with, services, query, hits, asked_for, least, asker)


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
        asker = current_name(state.get("messages") or [])
        kept, report = rerank_with(services, query, state.get("memory_hits") or [], asked_for, asker=asker)
        return {"memory_hits": kept, "memory_report": report}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        query, asked_for = question_of(state)
        asker = current_name(state.get("messages") or [])
        kept, report = await arerank_with(services, query, state.get("memory_hits") or [], asked_for, asker=asker)
        return {"memory_hits": kept, "memory_report": report}

    return stage("rerank", services, run, arun, fallback={"memory_hits": []})
