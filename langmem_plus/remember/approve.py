"""Answer what waits: approve it or reject it. Whoever answers first, decides; the same answer again changes nothing.

An approval looks again at what it would retire: where that was edited, pinned, replaced or forgotten since, nothing is
done, and the error says what to do. A person may also approve by hand, with ``status: active`` in the pending record's
file: then recall has the new fact instead of what it replaces at once, and what is left to do is done when memory next
comes across it: at `pending`, at an answer, or when something like it is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from langgraph.store.base import ListNamespacesOp, MatchCondition

from langmem_plus.errors import NotFoundError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.case import Case, find_heirs, open_case, rewrite_case
from langmem_plus.remember.review import forgets, review_of, stands_for, targets_of
from langmem_plus.remember.steps import Batch, Namespace, Steps, get_records, list_records
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.telemetry import audit, count_fact

_ACTIVE = {"role": "memory", "status": "active"}
_EVERYWHERE = 1_000_000  # namespaces, more than any user has


# What waits, and where.


def pending_steps(services: Services, scope: Scope, *, everywhere: bool = False) -> Steps[list[MemoryRecord]]:
    """What waits for the owner, the oldest first; what was approved by hand is brought to its end first.

    Args:
        services: the settings.
        scope: whose memory; its space and the user's ``global`` one are looked in.
        everywhere: look in all spaces of the user.
    """
    found: list[MemoryRecord] = []
    for namespace in (yield from _places(scope, everywhere)):
        yield from finish_steps(services, namespace, (yield from list_records(namespace, _ACTIVE)))
        waiting = yield from list_records(namespace, {"status": "pending"})
        found += [record for record in waiting if record.expires_at is None or record.expires_at > services.clock()]
    return sorted(found, key=lambda record: (record.created_at, record.said_at, record.id))


def find_waiting(scope: Scope, id: str, *, everywhere: bool = False) -> Steps[MemoryRecord]:
    """The record that an answer by this id, or the beginning of it, is about.

    Raises:
        NotFoundError: there is no such record, or several begin so.
    """
    namespace, key = yield from _find(scope, id, everywhere=everywhere)
    return (yield from get_records(namespace, [key]))[key]


def targets_steps(services: Services, scope: Scope, record: MemoryRecord) -> Steps[list[MemoryRecord]]:
    """What a pending record would retire, as it is now, or what stands in its place; what is gone is left out."""
    namespace = scope.model_copy(update={"space": record.space}).namespace
    targets = yield from get_records(namespace, targets_of(record))
    known = {**(yield from find_heirs(namespace, targets)), **targets}
    now = [
        targets[each] if forgets(record) else stands_for(targets[each], known)
        for each in targets_of(record)
        if each in targets
    ]
    return list({each.id: each for each in now if each.status != "deleted" and each.id != record.id}.values())


def _places(scope: Scope, everywhere: bool) -> Steps[Sequence[Namespace]]:
    if not everywhere:
        return scope.namespaces
    below = MatchCondition(match_type="prefix", path=scope.namespace[:2])
    (found,) = yield Batch([ListNamespacesOp(match_conditions=(below,), limit=_EVERYWHERE)])
    return [tuple(namespace) for namespace in found if len(namespace) == len(scope.namespace)]


def _find(scope: Scope, id: str, *, everywhere: bool) -> Steps[tuple[Namespace, str]]:
    places = yield from _places(scope, everywhere)
    for filter in ({"status": "pending"}, {"role": "memory"}):
        found: list[tuple[Namespace, str]] = []
        for namespace in places if id else ():
            exact = yield from get_records(namespace, [id])
            records = list(exact.values()) or (yield from list_records(namespace, filter))
            found += [(namespace, record.id) for record in records if record.id.startswith(id)]
        found = [each for each in found if each[1] == id][:1] or found
        if len(found) > 1:
            raise NotFoundError(f"{len(found)} memories begin with {shown(id)}; give more of the id.")
        if found:
            return found[0]
    where = "" if everywhere else f" in the space {scope.space!r}"
    raise NotFoundError(f"nothing of {scope.user_id!r} that begins with {shown(id)} waits{where}; `pending` lists it.")


# The answers.


def approve_steps(
    services: Services, scope: Scope, id: str, *, beside: bool = False, everywhere: bool = False, by: str = "owner"
) -> Steps[MemoryRecord]:
    """Let what waits come into force; gives the record that is in force, or, of something to forget, its tombstone.

    Args:
        services: the settings.
        scope: whose memory.
        id: the pending record's id, or the beginning of it.
        beside: store the fact also where something that it would replace has changed since; that stays beside it.
        everywhere: look in all spaces of the user.
        by: who approves, for the audit trail.

    Raises:
        NotFoundError: there is no such record.
        ConflictError: it was rejected, says nothing, or what it would retire has changed; the message says what to do.
    """
    namespace, key = yield from _find(scope, id, everywhere=everywhere)
    case = yield from open_case(services, namespace, key)
    left = yield from rewrite_case(case, partial(case.approve, beside=beside))
    if case.changed:
        _tell("approve", case, scope.user_id, by)
    return left


def reject_steps(
    services: Services, scope: Scope, id: str, *, everywhere: bool = False, by: str = "owner"
) -> Steps[MemoryRecord]:
    """Turn down what waits; gives its tombstone. What it would have retired stays as it is; the turn that says it is
    kept and not recalled, and summaries lose it.

    Raises:
        NotFoundError: there is no such record.
        ConflictError: it is in force already.
    """
    namespace, key = yield from _find(scope, id, everywhere=everywhere)
    case = yield from open_case(services, namespace, key)
    left = yield from rewrite_case(case, case.reject)
    if case.changed:
        _tell("reject", case, scope.user_id, by)
    return left


def finish_steps(services: Services, namespace: Namespace, records: Sequence[MemoryRecord]) -> Steps[int]:
    """Bring what a person approved by hand to its end: what it replaces is retired; what was changed since, stays.
    Gives how many of the records these were. What says nothing by now replaces nothing.
    """
    active = (record for record in records if record.status == "active" and record.text.strip())
    by_hand = (record for record in active if review_of(record) is not None)
    found = list({record.id: record for record in by_hand}.values())
    for record in found:
        case = yield from open_case(services, namespace, record.id)
        yield from rewrite_case(case, partial(case.approve, beside=True))
        if case.changed:
            _tell("approve", case, record.user_id, "file")
    return len(found)


def _tell(action: str, case: Case, user_id: str, by: str) -> None:
    audit(action, by=by, user_id=user_id, space=case.record.space, id=case.record.id)
    count_fact(case.done)
