"""A reranking model: what it reads, and what it says of it."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.former import best_of, spoken_for
from langmem_plus.recall.made import with_former
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
    """At most ``rerank_batch`` hits for a reranking model, the best by the store's own scores; what they replaced is
    read, too, as far as there is room.
    """
    everything, batch = spoken_for(hits), config.rerank_batch
    if len(everything) <= batch:
        return list(hits), []
    relevance = best_of(hits, relevance_of(query, everything, config)[0])
    order = sorted(range(len(hits)), key=lambda place: (-relevance[place], hits[place].record.id))
    reason = f"the reranker reads {batch} candidates at most (rerank_batch)"
    rest = [left_out(hits[place], reason) for place in order[batch:]]
    chosen, spare = [], max(batch - len(hits), 0)
    for hit in (hits[place] for place in order[:batch]):
        chosen.append(with_former(hit, hit.former[:spare]) if hit.former else hit)
        spare -= len(chosen[-1].former)
    return chosen, rest


def asked_by(asker: str, query: str, hits: Sequence[MemoryHit]) -> str:
    """The question as a reranking model reads it: behind the name of who asks, where that person said some of it."""
    own = asker and any(key_of(name_of(hit.record)) == key_of(asker) for hit in hits)
    return said_by(asker, query) if own else query
