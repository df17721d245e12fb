"""A reranking model: what it reads, and what it says of it."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.overlap import spoken
from langmem_plus.recall.relevance import relevance_of
from langmem_plus.recall.repeats import left_out
from langmem_plus.records import Choice, MemoryHit
from langmem_plus.services import Reranker
from langmem_plus.speakers import key_of, name_of
from langmem_plus.text import said_by


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


def asked_by(asker: str, query: str, hits: Sequence[MemoryHit]) -> str:
    """The question as a reranking model reads it: behind the name of who asks, where that person said some of it."""
    own = asker and any(key_of(name_of(hit.record)) == key_of(asker) for hit in hits)
    return said_by(asker, query) if own else query
