"""Turns beside the facts drawn from them. Each turn carries these facts' fingerprints, by their ids, and is shown only
as far as they hold as they were drawn; else what somebody replaced, corrected or took out of one of them would come
back through the turn.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import GetOp

from langmem_plus.recall.items import Place, read_item, without_outdated
from langmem_plus.recall.made import make_choice, make_hit
from langmem_plus.records import DRAWN, SAYS_MORE, TURN_ROLES, Choice, MemoryHit, MemoryRecord, Scope
from langmem_plus.text import fingerprint


def drawn_from(turn: MemoryRecord) -> Mapping[str, str]:
    """The fingerprints of the facts that were drawn from a turn, by their ids; none for any other record."""
    told = (turn.metadata.get(SAYS_MORE) or turn.metadata.get(DRAWN)) if turn.role in TURN_ROLES else None
    return told if isinstance(told, dict) else {}


def says_more(turn: MemoryRecord) -> bool:
    """Whether a turn tells what none of the facts drawn from it does."""
    return SAYS_MORE in turn.metadata and bool(drawn_from(turn))


def corrects(fact: MemoryRecord, turn: MemoryRecord) -> bool:
    """Whether a fact says something else by now than what was drawn from a turn."""
    drawn = drawn_from(turn).get(fact.id)
    return drawn is not None and drawn != fingerprint(fact.text)


def siblings(hits: Sequence[MemoryHit]) -> list[GetOp]:
    """What has to be read to know whether the turns among the hits may stand for their facts: the facts that aren't
    hits, of those turns that tell more and of which another fact is one.
    """
    known = {(hit.namespace, hit.record.id) for hit in hits}
    wanted: dict[Place, None] = {}
    for hit in hits:
        drawn = _places(hit) if says_more(hit.record) else []
        if any(place in known for place in drawn):
            wanted.update(dict.fromkeys(place for place in drawn if place not in known))
    return _gets(wanted)


def unread(shown: Sequence[MemoryHit], found: Collection[str], read: Collection[Place]) -> list[GetOp]:
    """What has to be read to know whether the turns that would be shown say what holds: those of their facts that the
    search didn't find, though it found the turn. A file that was removed leaves nothing else that could be found.

    Args:
        shown: what would be shown.
        found: the ids of all that was found.
        read: what was read already.
    """
    wanted = dict.fromkeys(place for hit in shown for place in _places(hit))
    return _gets(place for place in wanted if place[1] not in found and place not in read)


def _places(turn: MemoryHit) -> list[Place]:
    return [(turn.namespace, id) for id in drawn_from(turn.record)] if turn.namespace else []  # it stands in no store


def _gets(places: Iterable[Place]) -> list[GetOp]:
    return [GetOp(namespace, id, refresh_ttl=False) for namespace, id in places]


def facts_in(ops: Sequence[GetOp], items: Sequence[Any], scope: Scope) -> dict[Place, MemoryRecord | None]:
    """The facts that were read, by their places; None for what is gone."""
    return {
        (op.namespace, op.key): None if item is None else read_item(item, scope)
        for op, item in zip(ops, items, strict=True)
    }


def checked(
    query: str,
    hits: Sequence[MemoryHit],
    read: Mapping[Place, MemoryRecord | None],
    now: dt.datetime,
    ended: Sequence[MemoryHit] = (),
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits, and why some turns are none any more, as far as their facts were found or read: one is gone, which its
    owner took out by hand; or it was corrected, or its time is over, and the turn says nothing else; or it has ended,
    and says most of what the turn says of the query (`without_outdated`). A turn stands for none of its facts where any
    of them doesn't hold as it was drawn.

    A fact that was deleted takes its turn along by itself, where it was to be forgotten.

    Args:
        query: what was asked.
        hits: what was found.
        read: what was read, None for what is gone.
        now: what has expired by then has ended.
        ended: what was found of facts that hold no longer.
    """
    facts = {**read, **{(hit.namespace, hit.record.id): hit.record for hit in (*hits, *ended)}}
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for hit in hits:
        drawn = {(hit.namespace, id): text for id, text in drawn_from(hit.record).items()}
        known = {place: facts[place] for place in drawn if place in facts}
        broken = {place[1]: fact for place, fact in known.items() if not _holds(fact, drawn[place], now)}
        reason = _objection(hit.record, broken) if broken else None
        if reason:
            dropped.append(make_choice(hit.record, reason, kept=False))
        else:
            kept.append(_bare(hit) if broken and says_more(hit.record) else hit)
    over = [(place, fact) for place, fact in read.items() if fact is not None and _has_ended(fact, now)]
    if over:
        kept, outdated = without_outdated(query, kept, [make_hit(fact, place[0], {}) for place, fact in over])
        dropped += outdated
    return kept, dropped


def _holds(fact: MemoryRecord | None, drawn: str, now: dt.datetime) -> bool:
    if fact is None or fact.status != "active" or fact.has_ended(now):
        return False
    return fingerprint(fact.text) == drawn


def _has_ended(fact: MemoryRecord, now: dt.datetime) -> bool:
    return fact.status == "superseded" or (fact.status == "active" and fact.has_ended(now))


def _objection(turn: MemoryRecord, broken: Mapping[str, MemoryRecord | None]) -> str | None:
    """Why a turn isn't shown, whatever is asked, with facts that don't hold as they were drawn from it."""
    gone = next((id for id, fact in broken.items() if fact is None), None)
    if gone is not None and not (turn.pinned or turn.manually_saved):
        return f"a fact drawn from it was taken out: {gone}"
    other = next((id for id, fact in broken.items() if fact is not None and fact.status == "active"), None)
    if other is not None and not says_more(turn):
        return f"what it says no longer holds: {other}"
    return None


def _bare(hit: MemoryHit) -> MemoryHit:
    """The turn as one that tells no more than its facts."""
    drawn = drawn_from(hit.record)
    metadata = {name: value for name, value in hit.record.metadata.items() if name != SAYS_MORE} | {DRAWN: drawn}
    bare = hit.record.model_copy(update={"metadata": metadata})
    return make_hit(bare, hit.namespace, hit.scores, hit.vector, hit.bits)
