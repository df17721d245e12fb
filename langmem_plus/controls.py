"""What the owner of a memory decides: pin, forget, clear a conversation, erase.

Forgetting and clearing are soft: tombstones stay, and nothing recalls them. Erasing is for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import GetOp, Item, PutOp, SearchOp
from pydantic import ValidationError

from langmem_plus.erasure import Choose, EraseReceipt, Erasure, Held, kind_of
from langmem_plus.errors import InvalidValueError, NotFoundError, PinnedError
from langmem_plus.labels import read_id
from langmem_plus.records import TURN_ROLES, Decision, MemoryRecord, Scope, unique
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.forgetting import find_witnesses, withheld
from langmem_plus.remember.points import read_points, write_points
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import PAGE, Batch, Erase, Namespace, Steps, get_records, list_records, put, write
from langmem_plus.remember.traces import Traces, exchange_of, says_it
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.telemetry import audit

FORGOT = "its owner asked to forget it"
CLEARED = "its owner cleared the conversation"
_CHECKPOINTS = (
    "checkpoints: the messages that a graph's checkpointer keeps aren't in the store; delete the threads there, too "
    "(checkpointer.delete_thread)"
)
_COPIES = "copies: exports, backups and what was sent to a model aren't in the store"


# pin


def pin_steps(services: Services, scope: Scope, id: str, pinned: bool, *, by: str = "owner") -> Steps[MemoryRecord]:
    """Keep a record from being replaced by a model and from being evicted, or no longer; gives it as it is now. ``by``
    is the tool that does so for the owner, as the audit trail names it.

    Raises:
        NotFoundError: there is no such record, or it is deleted.
    """
    namespace, key = yield from _find(scope, id)
    found: list[MemoryRecord] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        record = current.get(key)
        if record is None:
            raise NotFoundError(
                f"{shown(id)} isn't a record of this package, so it can't be pinned: import_store makes facts of what "
                "other programs put."
            )
        if record.status != "active":
            raise NotFoundError(f"{shown(id)} is no active record of {scope.user_id!r}, so it can't be pinned.")
        found[:] = [record.model_copy(update={"pinned": pinned, "updated_at": services.clock()})]
        return [] if record.pinned == pinned else [put(namespace, found[0])]

    yield from rewrite(namespace, [key], change)
    audit("pin" if pinned else "unpin", by=by, user_id=scope.user_id, space=scope.space, id=key)
    return found[0]


# forget


def forget_steps(
    services: Services, scope: Scope, id: str, reason: str, *, spare_pinned: bool = False, by: str = "owner"
) -> Steps[MemoryRecord]:
    """Retire a record and withhold from recall the turns through which it would come back; summaries lose it. Gives the
    tombstone; a record that isn't active stays as it is. ``by`` is the tool that does so for the owner, as the audit
    trail names it.

    Raises:
        NotFoundError: there is no such record.
        PinnedError: it is pinned, and pinned ones are to be spared.
    """
    namespace, key = yield from _find(scope, id)
    record = (yield from get_records(namespace, [key])).get(key)
    if record is None:
        raise NotFoundError(f"{shown(id)} isn't a record of this package: delete it with the program that put it.")
    witnesses = (yield from _witnesses(namespace, record)) if record.role == "memory" else []
    summaries = yield from list_records(namespace, {"role": "summary", "status": "active"})
    left = record

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal left
        now, found = services.clock(), current.get(key)
        if found is None or found.status != "active":
            left = found or left
            return []
        if found.pinned and spare_pinned:
            raise PinnedError(f"memory {key} is pinned, so it wasn't forgotten: unpin it first.")
        left = retire(found, now, reason)
        changed = [left, *withheld(current, witnesses).values()]
        for summary in (current.get(each.id) for each in summaries if each.id != key):
            if summary is not None and summary.status == "active":
                points = read_points(summary)
                kept = [point for point in points if not says_it(point, found.text)]
                if not kept:
                    changed.append(retire(summary, now, "nothing is left of it"))
                elif kept != points:
                    changed.append(summary.model_copy(update={"text": write_points(kept), "updated_at": now}))
        return [put(namespace, each) for each in changed]

    yield from rewrite(namespace, [key, *witnesses, *(summary.id for summary in summaries)], change)
    audit("forget", by=by, user_id=scope.user_id, space=scope.space, id=key)
    return left


def _witnesses(namespace: Namespace, record: MemoryRecord) -> Steps[list[str]]:
    """The turns through which a fact would come back, and the replies to them."""
    decision = Decision(event="DELETE", target=record.id)
    found = yield from find_witnesses(namespace, [decision], [], [record])
    turns = yield from list_records(namespace, {"role": "user", "status": "active"})
    asked = {exchange_of(turn) for turn in turns if turn.id in found} - {None}
    replies = yield from list_records(namespace, {"role": "assistant", "status": "active"})
    return unique([*found, *(reply.id for reply in replies if exchange_of(reply) in asked)])


def clear_steps(services: Services, scope: Scope, thread_id: str) -> Steps[list[MemoryRecord]]:
    """Retire what was said in a conversation, and its summary; facts that were drawn out of it stay. Gives the
    tombstones.
    """
    thread_id, namespace = read_id("thread_id", thread_id), scope.namespace
    found: list[MemoryRecord] = []
    for role in (*TURN_ROLES, "summary"):
        found += yield from list_records(namespace, {"role": role, "thread_id": thread_id, "status": "active"})
    cleared: list[MemoryRecord] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        now = services.clock()
        cleared[:] = [retire(each, now, CLEARED) for each in current.values() if each.status == "active"]
        return [put(namespace, each) for each in cleared]

    yield from rewrite(namespace, [record.id for record in found], change)
    audit("clear", user_id=scope.user_id, space=scope.space, thread_id=thread_id, records=len(cleared))
    return cleared


# erase


@dataclass(frozen=True)
class Target:
    """What is to be erased: a record, a conversation, a space, or, with nothing but the user, everything of theirs.

    Raises:
        InvalidValueError: a record and a conversation at once, or an id that is no text.
    """

    user_id: str
    space: str | None = None
    thread_id: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None and self.thread_id is not None:
            raise InvalidValueError(
                "erase one record by its id, or one conversation by its thread_id, not both at once."
            )
        if self.id is not None and not (isinstance(self.id, str) and self.id):
            raise InvalidValueError(f"the id {shown(self.id)} is no text: give a record's id, or the beginning of it.")
        if self.thread_id is not None:
            object.__setattr__(self, "thread_id", read_id("thread_id", self.thread_id))

    @property
    def scope(self) -> Scope:
        """The space that is meant, or that is looked in first."""
        return Scope(self.user_id, self.space or "default")

    @property
    def asked(self) -> dict[str, str]:
        """The target as a receipt tells it."""
        fields = {"user_id": self.scope.user_id, "space": self.space, "thread_id": self.thread_id, "id": self.id}
        return {name: value for name, value in fields.items() if value is not None}


def erase_steps(services: Services, target: Target) -> Steps[EraseReceipt]:
    """Erase for good; what else speaks of it goes or is rewritten, as `remember.traces` says.

    Raises:
        NotFoundError: there is no such record.
    """
    scope, receipt = target.scope, EraseReceipt()
    if target.id is not None:
        # What was deleted lies where no listing looks, so a key that isn't found may still be there.
        found = yield from _find_key(scope, target.id)
        places = [found] if found else [(namespace, target.id) for namespace in scope.namespaces]
        for namespace, key in places:
            _add(receipt, (yield from _erase(namespace, _choose(services, id=key))))
        if not receipt.removed:
            raise _not_found(scope, target.id)
    elif target.thread_id is not None:
        receipt = yield from _erase(scope.namespace, _choose(services, thread_id=target.thread_id))
    elif target.space is not None:
        receipt = yield from _erase(scope.namespace, None)
    else:
        receipt = yield from _erase(scope.namespace[:2], None)
    receipt.asked = target.asked
    for missed in (_CHECKPOINTS, _COPIES):
        receipt.miss(missed)
    audit("erase", **target.asked, records=sum(receipt.removed.values()))
    return receipt


def _choose(services: Services, *, id: str = "", thread_id: str | None = None) -> Choose:
    def choose(held: Held) -> Erasure:
        records = [record for record in (_read(value) for _, value in held) if record is not None]
        traces = Traces(records, services.config, services.clock())
        return traces.of_record(id) if thread_id is None else traces.of_thread(thread_id)

    return choose


def _read(value: Mapping[str, Any]) -> MemoryRecord | None:
    try:
        return MemoryRecord.model_validate(value)
    except ValidationError:
        return None


def _erase(namespace: Namespace, choose: Choose | None) -> Steps[EraseReceipt]:
    receipt: EraseReceipt | None = yield Erase(namespace, choose)
    return receipt if receipt is not None else (yield from _delete(namespace, choose))


def _delete(namespace: Namespace, choose: Choose | None) -> Steps[EraseReceipt]:
    """In a store that can't erase: delete the items."""
    receipt, items = EraseReceipt(), list[Item]()
    receipt.look(f"the items of {namespace}")
    while True:
        (page,) = yield Batch([SearchOp(namespace, limit=PAGE, offset=len(items))])
        items += page
        if len(page) < PAGE:
            break
    if choose is not None:
        items = [item for item in items if tuple(item.namespace) == namespace]
    held = [(item.key, item.value) for item in items]
    erasure = choose(held) if choose else Erasure(frozenset(key for key, _ in held))
    gone = [item for item in items if item.key in erasure.keys]
    for item in gone:
        receipt.count(kind_of(item.value))
    changed = [MemoryRecord.model_validate(value) for value in erasure.rewritten.values()]
    for record in changed:
        receipt.rewritten[record.role] = receipt.rewritten.get(record.role, 0) + 1
    yield from write([put(namespace, record) for record in changed])
    yield from write([PutOp(tuple(item.namespace), item.key, None) for item in gone])
    receipt.miss(
        "the store itself: its items are deleted, but what it keeps beside them (logs, backups, freed space, vectors "
        "in other places) is out of reach; see its documentation"
    )
    return receipt


def _add(receipt: EraseReceipt, other: EraseReceipt) -> None:
    for kind, number in other.removed.items():
        receipt.count(kind, number)
    for kind, number in other.rewritten.items():
        receipt.rewritten[kind] = receipt.rewritten.get(kind, 0) + number
    receipt.paths += other.paths
    for place in other.looked:
        receipt.look(place)
    for missed in other.unreached:
        receipt.miss(missed)


# finding a record by its id, or by the beginning of it


def _find(scope: Scope, id: str) -> Steps[tuple[Namespace, str]]:
    found = yield from _find_key(scope, id)
    if found is None:
        raise _not_found(scope, id)
    return found


def _find_key(scope: Scope, id: str) -> Steps[tuple[Namespace, str] | None]:
    if not isinstance(id, str):
        raise InvalidValueError(f"the id {shown(id)} is no text: give a record's id, or the beginning of it.")
    items: Sequence[Item | None] = yield Batch([GetOp(namespace, id) for namespace in scope.namespaces])
    for item in items:
        if item is not None:
            return tuple(item.namespace), item.key
    found: list[tuple[Namespace, str]] = []
    for namespace in scope.namespaces if id else ():
        offset = 0
        while True:
            (page,) = yield Batch([SearchOp(namespace, limit=PAGE, offset=offset)])
            here = [item for item in page if tuple(item.namespace) == namespace]
            found += [(namespace, item.key) for item in here if item.key.startswith(id)]
            offset += PAGE
            if len(page) < PAGE:
                break
    if len(found) > 1:
        raise NotFoundError(f"{len(found)} records of {scope.user_id!r} begin with {shown(id)}; give more of the id.")
    return found[0] if found else None


def _not_found(scope: Scope, id: str) -> NotFoundError:
    return NotFoundError(
        f"there is no record {shown(id)} in the space {scope.space!r} of {scope.user_id!r}; `list` shows what there is."
    )
