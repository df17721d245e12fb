"""Turns that tell more than the facts drawn from them: each carries these facts' fingerprints, by their ids. It is
shown in their place only as long as every one of them holds as it was drawn; else what somebody replaced, corrected or
took out of one of them would come back through the turn.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence

from langgraph.store.base import GetOp

from langmem_plus.recall.items import Place
from langmem_plus.recall.made import make_hit
from langmem_plus.records import SAYS_MORE, TURN_ROLES, MemoryHit, MemoryRecord
from langmem_plus.text import fingerprint


def drawn_from(turn: MemoryRecord) -> Mapping[str, str]:
    """The fingerprints of the facts that a turn tells more than, by their ids; none for any other record."""
    told = turn.metadata.get(SAYS_MORE) if turn.role in TURN_ROLES else None
    return told if isinstance(told, dict) else {}


def siblings(hits: Sequence[MemoryHit]) -> list[GetOp]:
    """What has to be read to know whether the turns among the hits may stand for their facts: the facts that aren't
    hits, of those turns of which another fact is one.
    """
    known = {(hit.namespace, hit.record.id) for hit in hits}
    wanted = dict.fromkeys(place for hit in hits for place in _beside(hit, known) if place not in known)
    return [GetOp(namespace, id, refresh_ttl=False) for namespace, id in wanted]


def _beside(turn: MemoryHit, known: Collection[Place]) -> dict[Place, str]:
    """The fingerprints of a turn's facts by their places, where one of them is a hit: else it stands beside none."""
    drawn = {(turn.namespace, id): str(text) for id, text in drawn_from(turn.record).items()}
    return drawn if any(place in known for place in drawn) else {}


def checked(hits: Sequence[MemoryHit], read: Mapping[Place, MemoryRecord | None], now: dt.datetime) -> list[MemoryHit]:
    """The hits; a turn beside one of its facts has no mark where any of these doesn't hold any more as it was drawn.

    Args:
        hits: what was found.
        read: the records of `siblings`, None for what is gone.
        now: what has expired by then doesn't hold.
    """
    known = {(hit.namespace, hit.record.id): hit.record for hit in hits}
    facts = {**read, **known}

    def holds(place: Place, drawn: str) -> bool:
        fact = facts.get(place)
        if fact is None or fact.status != "active" or fact.has_ended(now):
            return False
        return fingerprint(fact.text) == drawn

    def settled(hit: MemoryHit) -> MemoryHit:
        if all(holds(place, text) for place, text in _beside(hit, known).items()):
            return hit
        metadata = {name: value for name, value in hit.record.metadata.items() if name != SAYS_MORE}
        bare = hit.record.model_copy(update={"metadata": metadata})
        return make_hit(bare, hit.namespace, hit.scores, hit.vector, hit.bits)

    return [settled(hit) if SAYS_MORE in hit.record.metadata else hit for hit in hits]
