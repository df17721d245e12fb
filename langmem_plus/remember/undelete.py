"""Bring back what was deleted softly, as long as ``tombstone_hours`` allow it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import PutOp, SearchOp

from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.labels import read_id
from langmem_plus.records import FORGOTTEN, REVIEW, TURN_ROLES, Decision, MemoryRecord, Scope, unique
from langmem_plus.remember.fact_records import ASKED_AT
from langmem_plus.remember.find import find
from langmem_plus.remember.retold import find_archives, retold
from langmem_plus.remember.review import CARRIED_OUT, WAITS, note, review_of
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.rules import replaces
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.remember.steps import Batch, Namespace, Steps, get_records, list_records, put
from langmem_plus.remember.tombstones import CLEARED, EMPTIED, is_set_aside, list_returning
from langmem_plus.remember.witnesses import by_exchange, comes_back, exchange_of, find_witnesses
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.speakers import Voice, by_speaker
from langmem_plus.telemetry import audit


def witnesses_of(namespace: Namespace, record: MemoryRecord) -> Steps[list[str]]:
    """The turns through which a fact would come back, and the replies to them."""
    decision = Decision(event="DELETE", target=record.id)
    found = yield from find_witnesses(namespace, [decision], [], [record])
    turns = yield from list_returning(namespace, "user")
    asked = {exchange_of(turn) for turn in turns if turn.id in found} - {None}
    replies = yield from list_returning(namespace, "assistant")
    return unique([*found, *(reply.id for reply in replies if exchange_of(reply) in asked)])


def undelete_steps(services: Services, scope: Scope, id: str) -> Steps[MemoryRecord]:
    """Bring a deleted record back, within ``tombstone_hours``; turns are recalled again that were withheld because they
    say it, unless they say something else that is forgotten. An active record stays as it is, and so does a fact that
    says the same as the deleted one, which is given then. The archives of its conversations tell a fact again.

    Raises:
        NotFoundError: there is no such record, it was replaced, waits for approval, tells nothing but what is
            forgotten, was deleted too long ago, or its time is over.
        ConflictError: another fact is in force in its place, or one that says the same was forgotten later.
    """
    namespace, key = yield from find(scope, id)
    record = (yield from get_records(namespace, [key])).get(key)
    is_fact = record is not None and record.role == "memory"
    withheld = (yield from _withheld(namespace, record)) if record is not None and is_fact else []
    others = (yield from _others(services, namespace, record)) if record is not None and is_fact else []
    sources = unique([*withheld, *record.source_ids]) if record is not None and is_fact else []
    archives = (yield from find_archives(scope, namespace, record, sources)) if record is not None and sources else []
    noted = (yield from _noted(namespace, key)) if record is not None and review_of(record) is not None else []
    found: list[MemoryRecord] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        known = current.get(key)
        if known is None:
            raise NotFoundError(f"{shown(id)} isn't a record of this package, so it can't be brought back.")
        if known.status == "active":
            found[:] = [known]
            return []
        back = _restored(services, known)
        twin = _twin(services, known, [current[each] for each in others if each in current])
        found[:] = [back if twin is None else twin]
        turns = {each: current[each] for each in unique([*withheld, *noted]) if each in current}
        for each in turns.keys() & set(withheld):
            turns[each] = turns[each].model_copy(update={"metadata": _without(turns[each].metadata, FORGOTTEN)})
        for each in turns.keys() & set(noted) if back.status == "pending" else ():
            turns[each] = note(turns[each], key, WAITS)
        said = [current[each] for each in sources if each in current]
        told = retold(services, current, archives, found[0], said) if found[0].status == "active" else []
        return [put(namespace, each) for each in (*([back] if twin is None else []), *turns.values(), *told)]

    yield from rewrite(namespace, unique([key, *sources, *others, *archives, *noted]), change)
    audit("undelete", user_id=scope.user_id, space=scope.space, id=key)
    return found[0]


def _noted(namespace: Namespace, key: str) -> Steps[list[str]]:
    """The ids of the turns that note what became of a fact that waited for its owner."""
    turns = yield from list_returning(namespace)
    return [turn.id for turn in turns if isinstance(found := turn.metadata.get(REVIEW), dict) and key in found]


def _others(services: Services, namespace: Namespace, record: MemoryRecord) -> Steps[list[str]]:
    """The ids of what the same person said that says the same as a fact, or that can't hold at once with it."""
    if review_of(record) is not None:
        return []  # it waits again, and its approval looks at the others
    said = by_speaker((yield from list_records(namespace, {"role": "memory"})), record)
    alike = [each for each in said if _is_twin(services, each, record) or _stands_in_place(each, record)]
    return [each.id for each in alike if each.id != record.id]


def _twin(services: Services, record: MemoryRecord, others: Sequence[MemoryRecord]) -> MemoryRecord | None:
    """The fact in force that says the same as a deleted one; None where it may come back.

    Raises:
        ConflictError: another is in force in its place, or one that says the same was forgotten later.
    """
    now = services.clock()
    known = [each for each in others if each.status == "active" and (each.expires_at is None or each.expires_at > now)]
    for each in known:
        if _is_twin(services, each, record):
            return each
    for each in known:
        if _stands_in_place(each, record):
            raise ConflictError(
                f"{record.id} ({shown(record.text)}) can't be brought back, because {each.id} ({shown(each.text)}) is "
                "in force in its place: `forget` that one first, and undelete this one then."
            )
    for each in others:
        is_forgotten = each.status == "deleted" and not is_set_aside(each) and review_of(each) is None
        if is_forgotten and each.updated_at > record.updated_at and _is_twin(services, each, record):
            raise ConflictError(
                f"{record.id} ({shown(record.text)}) can't be brought back, because {each.id}, which says the same, "
                f"was forgotten later, at {each.updated_at:%Y-%m-%d %H:%M} UTC: undelete that one."
            )
    return None


def _is_twin(services: Services, other: MemoryRecord, record: MemoryRecord) -> bool:
    return near_duplicate(Voice.of(other).own, Voice.of(record).own, services.config.simhash_distance)


def _stands_in_place(other: MemoryRecord, record: MemoryRecord) -> bool:
    return other.status == "active" and replaces(Voice.of(other).own, Voice.of(record).own) is not None


def _restored(services: Services, record: MemoryRecord) -> MemoryRecord:
    now, hours = services.clock(), services.config.tombstone_hours
    reason = record.metadata.get("reason")
    if record.status == "superseded":
        raise NotFoundError(
            f"{record.id} was replaced by {record.replaced_by}, which holds: forget that one, and say this one again."
        )
    if record.status != "deleted":
        raise NotFoundError(f"{record.id} is {record.status}, so there is nothing to bring back.")
    if reason == CARRIED_OUT:
        raise NotFoundError(
            f"{record.id} ({shown(record.text)}) asked to forget a memory, and that was done: undelete that memory."
        )
    if reason == EMPTIED:
        raise NotFoundError(f"{record.id} tells nothing but what is forgotten: undelete the memories that it told of.")
    if now - record.updated_at > dt.timedelta(hours=hours):
        raise NotFoundError(
            f"{record.id} was deleted at {record.updated_at:%Y-%m-%d %H:%M} UTC; a record can be brought back for "
            f"{hours:g} hours (tombstone_hours)."
        )
    if record.has_ended(now):
        raise NotFoundError(
            f"{record.id} can't be brought back: its time was over at {record.expires_at:%Y-%m-%d %H:%M} UTC."
        )
    return record.model_copy(
        update={
            "status": "active" if review_of(record) is None else "pending",  # what was turned down waits again
            "updated_at": now,
            "metadata": _without(_without(record.metadata, "reason"), ASKED_AT),
        }
    )


def _without(metadata: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {each: value for each, value in metadata.items() if each != name}


def _withheld(namespace: Namespace, record: MemoryRecord) -> Steps[list[str]]:
    """The turns that are withheld because of a deleted fact alone."""
    witnesses = set((yield from witnesses_of(namespace, record)))
    gone = yield from list_records(namespace, {"role": "memory", "status": "deleted"})
    others = [(other.source_ids, Voice.of(other)) for other in gone if other.id != record.id]
    turns = yield from list_returning(namespace)
    asked = by_exchange(turns)
    hidden = [turn for turn in turns if turn.id in witnesses and turn.metadata.get(FORGOTTEN)]
    return [
        turn.id
        for turn in hidden
        if all(
            turn.id not in sources and not comes_back(turn, said, asked.get(exchange_of(turn)))
            for sources, said in others
        )
    ]


def restore_steps(services: Services, scope: Scope, thread_id: str) -> Steps[list[MemoryRecord]]:
    """Bring back what was cleared of a conversation, within ``tombstone_hours``, and whose time isn't over; gives the
    records, none where nothing of it was cleared.

    Raises:
        NotFoundError: there is no such conversation, it was cleared too long ago, or the time of all of it is over.
    """
    thread_id, namespace = read_id("thread_id", thread_id), scope.namespace
    gone: list[MemoryRecord] = []
    for role in (*TURN_ROLES, "summary", "archive"):
        gone += yield from list_records(namespace, {"role": role, "thread_id": thread_id, "status": "deleted"})
    restored: list[MemoryRecord] = []
    now = services.clock()
    limit = now - dt.timedelta(hours=services.config.tombstone_hours)

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        cleared = [each for each in current.values() if each.metadata.get("reason") == CLEARED]
        lasting = [each for each in cleared if each.status == "deleted" and not each.has_ended(now)]
        recent = [each for each in lasting if each.updated_at >= limit]
        restored[:] = [_restored(services, each) for each in recent]
        return [put(namespace, each) for each in restored]

    yield from rewrite(namespace, [record.id for record in gone], change)
    if not restored:
        yield from _check_restorable(services, scope, thread_id, gone)
    audit("restore", user_id=scope.user_id, space=scope.space, thread_id=thread_id, records=len(restored))
    return restored


def _check_restorable(services: Services, scope: Scope, thread_id: str, gone: Sequence[MemoryRecord]) -> Steps[None]:
    """Say why nothing of a conversation came back, unless nothing of it was cleared."""
    yield from check_thread(scope, thread_id)
    cleared = [each for each in gone if each.metadata.get("reason") == CLEARED]
    times = [each.updated_at for each in cleared if not each.has_ended(services.clock())]
    if cleared and not times:
        raise NotFoundError(
            f"what was said in the conversation {shown(thread_id)} can't be brought back: its time is over."
        )
    if times:
        raise NotFoundError(
            f"the conversation {shown(thread_id)} was cleared at {max(times):%Y-%m-%d %H:%M} UTC; what was said in it "
            f"can be brought back for {services.config.tombstone_hours:g} hours (tombstone_hours)."
        )


def check_thread(scope: Scope, thread_id: str) -> Steps[None]:
    """See that something was said in a conversation, cleared or not.

    Raises:
        NotFoundError: nothing ever was.
    """
    for role in (*TURN_ROLES, "summary", "archive"):
        (page,) = yield Batch([SearchOp(scope.namespace, filter={"role": role, "thread_id": thread_id}, limit=1)])
        if page:
            return
    raise NotFoundError(
        f"there is no conversation {shown(thread_id)} of {scope.user_id!r} in the space {scope.space!r}: check the "
        "thread_id, the user and the space."
    )
