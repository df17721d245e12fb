"""Choose the few that are shown: relevant, and not the same thing twice (maximal marginal relevance)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.batches import Batches, arun_batches, run_batches
from langmem_plus.recall.items import Place
from langmem_plus.recall.made import make_choice
from langmem_plus.recall.overlap import indicators, jaccard
from langmem_plus.recall.rerank import question_of
from langmem_plus.recall.whole import checked, drawn_from, facts_in, unread
from langmem_plus.records import Choice, MemoryHit, MemoryRecord, MemoryReport, Scope, Scores
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]


def max_marginal_relevance(
    relevance: Sequence[float] | Floats,
    similarity: npt.ArrayLike | Callable[[int], Floats],
    lambda_mult: float,
    k: int,
    *,
    normalise: bool = True,
) -> list[int]:
    """The indices of at most ``k`` items, in the order chosen: each has the best ``λ·relevance - (1 - λ)·redundancy``,
    its redundancy being its largest similarity to one that was chosen before. O(n·k).

    Args:
        relevance: one number an item, shape (n,).
        similarity: shape (n, n), or a function from an index to that row; 1 is the same.
        lambda_mult: λ in [0, 1]; 1 keeps the order of relevance exactly, ties in the order given.
        k: how many to choose.
        normalise: scale relevance to [0, 1] over the items first, without which small scores drown in redundancy.

    Source: Carbonell, Goldstein (1998), "The Use of MMR, Diversity-Based Reranking …".
    """
    scores = np.asarray(relevance, np.float64)
    if normalise and len(scores):
        low, high = float(scores.min()), float(scores.max())
        # Equal scores: the order given decides, weakly.
        scores = (scores - low) / (high - low) if high > low else np.ones(len(scores))
    row = similarity if callable(similarity) else np.asarray(similarity, np.float64).__getitem__
    redundancy = np.zeros(len(scores))
    free = np.ones(len(scores), bool)
    chosen: list[int] = []
    while len(chosen) < min(k, len(scores)):
        marginal = lambda_mult * scores - (1 - lambda_mult) * redundancy
        best = int(np.argmax(np.where(free, marginal, -np.inf)))
        chosen.append(best)
        free[best] = False
        if lambda_mult < 1:
            redundancy = np.maximum(redundancy, row(best)) if len(chosen) > 1 else np.asarray(row(best), np.float64)
    return chosen


def similarity_of(hits: Sequence[MemoryHit]) -> Callable[[int], Floats]:
    """Rows of similarity: the cosine of two vectors; where one is missing, the overlap of words and tags."""
    raw = [np.empty(0) if hit.vector is None else np.ravel(hit.vector) for hit in hits]
    sizes = np.array([len(vector) for vector in raw], np.int64)
    dims = int(sizes.max(initial=0))
    has_vector = (sizes == dims) & (sizes > 0)
    vectors = np.zeros((len(hits), dims))
    if has_vector.any():
        vectors[has_vector] = [vector for vector, whole in zip(raw, has_vector, strict=True) if whole]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1.0)
    words = None if has_vector.all() else indicators([hit.record for hit in hits])

    def row(place: int) -> Floats:
        cosines: Floats = vectors @ vectors[place]
        if words is None:
            return cosines
        overlap = jaccard(words, place)
        return np.where(has_vector, cosines, overlap) if has_vector[place] else overlap

    return row


def mmr(
    hits: Sequence[MemoryHit], lambda_mult: float, k: int, *, normalise: bool = True
) -> tuple[list[MemoryHit], list[Choice]]:
    """At most ``k`` of the sorted hits, in the order chosen, and why the others were left out."""
    if lambda_mult >= 1 or len(hits) <= 1:
        order = list(range(min(k, len(hits))))
    else:
        totals = [hit.scores.get("total", 0.0) for hit in hits]
        order = max_marginal_relevance(totals, similarity_of(hits), lambda_mult, k, normalise=normalise)
    chosen = set(order)
    dropped = []
    for place, hit in enumerate(hits):
        if place not in chosen:
            reason = "others say nearly the same" if place < k else f"it isn't among the best {k}"
            dropped.append(choice(hit, kept=False, reason=reason))
    return [hits[place] for place in order], dropped


def choice(hit: MemoryHit, *, kept: bool, reason: str) -> Choice:
    """The entry of a hit in the report."""
    return make_choice(hit.record, reason, kept=kept, scores=hit.scores)


def select(
    hits: Sequence[MemoryHit], config: MemoryConfig, k: int | None = None, *, documents_apart: bool = True
) -> tuple[list[MemoryHit], MemoryReport]:
    """`mmr` with the settings. Documents have a budget of their own in a prompt: there, ``k`` of them are chosen apart.

    agent-cli's relevance (``minmax``, ``sigmoid``) is in [0, 1] over the candidates already, and its formula takes the
    totals as they are.
    """
    limit = config.top_k if k is None else k
    apart = {documents_apart and hit.record.role == "document" for hit in hits}
    report, kept = MemoryReport(), []
    for documents in sorted(apart):
        group = [hit for hit in hits if (documents_apart and hit.record.role == "document") == documents]
        best, dropped = mmr(group, config.mmr_lambda, limit, normalise=config.relevance == "calibrated")
        kept += best
        report.choices += [*dropped, *(choice(hit, kept=True, reason=_why(hit)) for hit in best)]
    report.counts = {"chosen": len(kept)}
    return kept, report


def choosing(
    query: str,
    hits: Sequence[MemoryHit],
    services: Services,
    scope: Callable[[], Scope],
    others: Iterable[str],
    k: int | None = None,
    *,
    documents_apart: bool = True,
) -> Batches[tuple[list[MemoryHit], MemoryReport]]:
    """`select`, and again as long as a turn among the chosen says what holds no longer: of those few it is looked up.

    Args:
        query: what was asked.
        hits: sorted by their totals.
        services: the settings and the clock.
        scope: whose memory.
        others: the ids of what was found beside the hits.
        k: how many at most; None takes ``top_k``.
        documents_apart: as for `select`.
    """
    left: list[Choice] = []
    read: dict[Place, MemoryRecord | None] = {}
    while True:
        kept, report = select(hits, services.config, k, documents_apart=documents_apart)
        marked = [hit for hit in kept if drawn_from(hit.record)]
        ops = unread(marked, {*others, *(hit.record.id for hit in hits)}, read) if marked else []
        facts = facts_in(ops, (yield [*ops]), scope()) if ops else {}
        outdated = checked(query, marked, facts, services.clock())[1] if facts else []
        left += outdated
        if not outdated:
            report.choices += left
            return kept, report
        read |= facts
        gone = {choice.id for choice in outdated}
        hits = [hit for hit in hits if hit.record.id not in gone]


def _why(hit: MemoryHit) -> str:
    names = ("relevance", "recency", "importance")
    return ", ".join(f"{name} {hit.scores[name]:.2f}" for name in names if name in hit.scores) or "it was found"


# last_scores


def scores_to_keep(hits: Sequence[MemoryHit], computed_at: Any) -> dict[tuple[str, ...], dict[str, dict[str, Any]]]:
    """The ``last_scores`` of the hits, by namespace and key."""
    found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for hit in hits:
        numbers = {name: hit.scores.get(name, 0.0) for name in ("relevance", "recency", "importance", "total")}
        scores = Scores(**numbers, computed_at=computed_at).model_dump(mode="json")
        found.setdefault(hit.namespace, {})[hit.record.id] = scores
    return found


def keep_scores(services: Services, hits: Sequence[MemoryHit]) -> list[str]:
    """Hand the scores to a store that keeps them beside its records; a store that doesn't is left alone.

    Returns:
        Warnings: scores that can't be kept don't spoil the recall.
    """
    hits = [hit for hit in hits if hit.namespace]  # others stand in no store
    keep = getattr(services.find_store(), "set_scores", None) if hits else None
    if not callable(keep):
        return []
    try:
        for namespace, scores in scores_to_keep(hits, services.clock()).items():
            keep(namespace, scores)
    except Exception as error:
        if services.config.strict:
            raise
        logger.warning("memory: the scores of a recall weren't kept: %s", error, exc_info=error)
        return [f"the scores weren't kept ({type(error).__name__}: {error})"]
    return []


async def akeep_scores(services: Services, hits: Sequence[MemoryHit]) -> list[str]:
    """As `keep_scores`, in a thread."""
    return await asyncio.to_thread(keep_scores, services, hits) if hits else []


def mmr_node(services: Services) -> Runnable[MemoryState, Update]:
    """The node: reads ``memory_hits``, writes ``memory_hits``, narrowed; the chosen ones' scores are kept."""

    def choose(state: MemoryState, config: RunnableConfig) -> Batches[tuple[list[MemoryHit], MemoryReport]]:
        others = [choice["id"] for choice in (state.get("memory_report") or {}).get("choices", ())]
        query, _ = question_of(state)
        return choosing(query, state.get("memory_hits") or [], services, lambda: services.find_scope(config), others)

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        kept, report = run_batches(services.find_store, choose(state, config))
        report.warnings += keep_scores(services, kept)
        return {"memory_hits": kept, "memory_report": report}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        kept, report = await arun_batches(services.find_store, choose(state, config))
        report.warnings += await akeep_scores(services, kept)
        return {"memory_hits": kept, "memory_report": report}

    return stage("mmr", services, run, arun, fallback={"memory_hits": []})
