"""Turns that tell more than the facts drawn from them: each carries, by their ids, digests of these facts. It may be
shown in their place only as long as every one of them holds as it was drawn; else what somebody replaced, corrected or
took out of one of them would come back through the turn.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from langgraph.store.base import GetOp

from langmem_plus.fingerprint import digest
from langmem_plus.recall.items import Place
from langmem_plus.recall.made import make_hit
from langmem_plus.records import SAYS_MORE, TURN_ROLES, MemoryHit, MemoryRecord


def drawn_from(turn: MemoryRecord) -> Mapping[str, str]:
    """The digests of the facts that a turn tells more than, by their ids; none for any other record."""
    told = turn.metadata.get(SAYS_MORE) if turn.role in TURN_ROLES else None
    return told if isinstance(told, dict) else {}


def siblings(hits: Sequence[MemoryHit]) -> list[GetOp]:
    """What has to be read to know whether the turns among the hits may stand for their facts: the facts that aren't
    hits, of those turns of which another fact is one.
    """
    known = {(hit.namespace, hit.record.id) for hit in hits}
    wanted: dict[Place, None] = {}
    for hit in hits:
        places = [(hit.namespace, id) for id in drawn_from(hit.record)]
        if not known.isdisjoint(places):
            wanted |= dict.fromkeys(place for place in places if place not in known)
    return [GetOp(namespace, id, refresh_ttl=False) for namespace, id in wanted]


def checked(hits: Sequence[MemoryHit], read: Mapping[Place, MemoryRecord | None], now: dt.datetime) -> list[MemoryHit]:
    """The hits; a turn of which a fact doesn't hold any more as it was drawn has no mark.

    Args:
        hits: what was found.
        read: the records of `siblings`, None for what is gone.
        now: what has expired by then doesn't hold.
    """
    facts: dict[Place, MemoryRecord | None] = {**read, **{(hit.namespace, hit.record.id): hit.record for hit in hits}}

    def holds(place: Place, drawn: str) -> bool:
        fact = facts.get(place)
        return fact is not None and fact.status == "active" and not fact.has_ended(now) and digest(fact.text) == drawn

    def settled(hit: MemoryHit) -> MemoryHit:
        drawn = drawn_from(hit.record)
        if all(holds((hit.namespace, id), str(text)) for id, text in drawn.items()):
            return hit
        metadata = {name: value for name, value in hit.record.metadata.items() if name != SAYS_MORE}
        bare = hit.record.model_copy(update={"metadata": metadata})
        return make_hit(bare, hit.namespace, hit.scores, hit.vector, hit.bits)

    return [settled(hit) if SAYS_MORE in hit.record.metadata else hit for hit in hits]
