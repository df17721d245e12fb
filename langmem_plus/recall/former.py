"""What a fact replaced speaks for it: who asks "Where do I live?" is told "I moved to York", since it took the place of
"I live in Leeds", which answers the question in so many words. What was replaced is itself never shown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from langgraph.store.base import GetOp

from langmem_plus.recall.batches import Batches
from langmem_plus.recall.built_in import Judged
from langmem_plus.recall.items import Found, Wanted, can_be_recalled
from langmem_plus.recall.made import make_hit, with_former
from langmem_plus.recall.repeats import Place, place_of
from langmem_plus.recall.whole import facts_in
from langmem_plus.records import MemoryHit

Floats = npt.NDArray[np.float64]

# A fact that was replaced again and again is followed so many steps to the one that holds today.
STEPS = 8


def today(wanted: Wanted, found: Found, hits: Sequence[MemoryHit]) -> Batches[list[MemoryHit]]:
    """The hits, each with the replaced facts that were found and that it stands for today. Where the search found what
    was replaced alone, what replaced it is read, and is a hit, too.
    """
    ended, hits, known = list(found.ended), list(hits), set(found.left_out)
    known |= {place_of(hit) for hit in hits}
    for _ in range(STEPS):
        places = _unread(ended, known)
        if not places:
            break
        ops = [GetOp(*place, refresh_ttl=False) for place in places]
        known.update(places)
        for place, record in facts_in(ops, (yield [*ops]), wanted.scope).items():
            if record is not None and record.status == "superseded":
                ended.append(make_hit(record, place[0], {}))
            elif record is not None and can_be_recalled(record, wanted):
                hits.append(make_hit(record, place[0], {}))
    return with_formers(hits, found.ended, ended)


def _unread(ended: Sequence[MemoryHit], known: Collection[Place]) -> list[Place]:
    """Where the facts stand that replaced some others, as far as they weren't read."""
    places = ((hit.namespace, hit.record.replaced_by) for hit in ended if hit.record.replaced_by)
    return [place for place in dict.fromkeys(places) if place not in known]


def with_formers(hits: Sequence[MemoryHit], found: Sequence[MemoryHit], ended: Sequence[MemoryHit]) -> list[MemoryHit]:
    """The hits, each with the replaced facts that it stands for today.

    Args:
        hits: what holds.
        found: what was found of facts that were replaced.
        ended: these, and those that lead from one to the next.
    """
    next_of = {place_of(hit): hit.record.replaced_by for hit in ended if hit.record.status == "superseded"}
    holding, formers = {place_of(hit) for hit in hits}, dict[Place, list[MemoryHit]]()
    for old in found:
        place, seen = place_of(old), set[Place]()
        while place not in seen and (key := next_of.get(place)):
            seen.add(place)
            place = old.namespace, key
        if seen and place in holding:
            formers.setdefault(place, []).append(old)
    return [with_former(hit, tuple(formers[place_of(hit)])) if place_of(hit) in formers else hit for hit in hits]


def spoken_for(hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """The hits, and behind them all that they replaced, in their order."""
    return [*hits, *(old for hit in hits for old in hit.former)]


def best_of(hits: Sequence[MemoryHit], values: npt.ArrayLike) -> Floats:
    """Of each hit its own value or the best of what it replaced, from those of `spoken_for`."""
    known = np.asarray(values, np.float64)
    best = known[: len(hits)].copy()
    np.fmax.at(best, _owners(hits), known[len(hits) :])
    return best


def judged_for(hits: Sequence[MemoryHit], judged: Judged) -> Judged:
    """What the built-in reranker says of the hits, from what it says of `spoken_for`: the best of each counts."""
    count = len(hits)
    if len(judged.order) == count:
        return judged
    told = np.arange(count)
    for owner, place in zip(_owners(hits).tolist(), range(count, len(judged.order)), strict=True):
        if judged.order[place] > judged.order[told[owner]]:
            told[owner] = place
    return replace(
        judged,
        order=judged.order[told],
        shares={name: each[told] for name, each in judged.shares.items()},
        near=None if judged.near is None else best_of(hits, judged.near).astype(bool),
        sentences=None if judged.sentences is None else best_of(hits, judged.sentences),
    )


def _owners(hits: Sequence[MemoryHit]) -> npt.NDArray[np.int64]:
    return np.array([place for place, hit in enumerate(hits) for _ in hit.former], np.int64)
