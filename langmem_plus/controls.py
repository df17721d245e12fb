"""What the owner of a memory decides: pin, forget, clear a conversation, erase.

Forgetting and clearing are soft: tombstones stay, and nothing recalls them. Erasing is for good.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import PutOp
from pydantic import ValidationError

from langmem_plus.erasure import Choose, EraseReceipt, Erasure, Held
from langmem_plus.errors import InvalidValueError, NotFoundError, PinnedError
from langmem_plus.labels import read_id
from langmem_plus.records import TURN_ROLES, MemoryRecord, Scope
from langmem_plus.remember.archive import archive_steps
from langmem_plus.remember.archive_material import owed, waits
from langmem_plus.remember.archive_words import find_said, sharing, telling_turn
from langmem_plus.remember.beside import bare, is_beside, is_of
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.find import find, find_key, not_found
from langmem_plus.remember.gist import without_statement
from langmem_plus.remember.points import read_points, write_points
from langmem_plus.remember.removing import erase_chosen
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Steps, get_records, list_records, put
from langmem_plus.remember.tombstones import CLEARED, EMPTIED, as_deleted, is_set_aside, list_returning, may_return
from langmem_plus.remember.traces import Traces, says_it
from langmem_plus.remember.undelete import witnesses_of
from langmem_plus.remember.whose import Speakers
from langmem_plus.remember.witnesses import says, withheld
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.speakers import Voice
from langmem_plus.telemetry import audit

FORGOT = "its owner asked to forget it"
_CHECKPOINTS = (
    "checkpoints: the messages that a graph's checkpointer keeps aren't in the store; delete the threads there, too "
    "(checkpointer.delete_thread)"
)
_COPIES = "copies: exports, backups and what was sent to a model aren't in the store"

_FIRST = {
    "pending": " It waits for approval: approve it first.",
    "deleted": " It was forgotten: undelete it first.",
    "superseded": " It was replaced by {by}.",
}


# pin


def pin_steps(services: Services, scope: Scope, id: str, pinned: bool, *, by: str = "owner") -> Steps[MemoryRecord]:
    """Keep a record from being replaced by a model and from being evicted, or no longer; gives it as it is now. ``by``
    is the tool that does so for the owner, as the audit trail names it.

    Raises:
        NotFoundError: there is no such record, or it is deleted.
    """
    namespace, key = yield from find(scope, id)
    found: list[MemoryRecord] = []
    done = "pinned" if pinned else "unpinned"

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        record = current.get(key)
        if record is None:
            raise NotFoundError(
                f"{shown(id)} isn't a record of this package, so it can't be {done}: import_store makes facts of what "
                "other programs put."
            )
        if record.status != "active":
            first = _FIRST.get(record.status, "").format(by=record.replaced_by)
            raise NotFoundError(f"{shown(id)} is no active record of {scope.user_id!r}, so it can't be {done}.{first}")
        found[:] = [record.model_copy(update={"pinned": pinned, "updated_at": services.clock()})]
        return [] if record.pinned == pinned else [put(namespace, found[0])]

    yield from rewrite(namespace, [key], change)
    audit("pin" if pinned else "unpin", by=by, user_id=scope.user_id, space=scope.space, id=key)
    return found[0]


# forget


def forget_steps(
    services: Services, scope: Scope, id: str, reason: str, *, spare_pinned: bool = False, by: str = "owner"
) -> Steps[MemoryRecord]:
    """Retire a record and withhold from recall the turns through which it would come back; summaries and archives lose
    it. So does what was deleted softly and may be brought back, and the record itself may be one that was cleared or
    evicted. Gives the tombstone; what was replaced or forgotten before stays as it is. ``by`` is the tool that does so
    for the owner, as the audit trail names it.

    Raises:
        NotFoundError: there is no such record.
        PinnedError: it is pinned, and pinned ones are to be spared.
    """
    namespace, key = yield from find(scope, id)
    record = (yield from get_records(namespace, [key])).get(key)
    if record is None:
        raise NotFoundError(f"{shown(id)} isn't a record of this package: delete it with the program that put it.")
    witnesses = (yield from witnesses_of(namespace, record)) if record.role == "memory" else []
    # Other conversations may have told the same as an archive: it goes alone.
    is_telling = record.role in ("summary", "archive")
    told = [] if is_telling else (yield from list_returning(namespace, "summary", "archive"))
    said = (yield from find_said(namespace)) if told else []
    speakers = Speakers(said)
    left = record

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal left
        now, found = services.clock(), current.get(key)
        if found is None or not (found.status in ("active", "pending") or is_set_aside(found)):
            left = found or left
            return []
        if found.pinned and spare_pinned:
            raise PinnedError(f"memory {key} is pinned, so it wasn't forgotten: unpin it first.")
        left = retire(found, now, reason)
        changed = [left, *withheld(current, witnesses).values()]
        for each in (current.get(each.id) for each in told if each.id != key):
            if each is not None and may_return(each):
                kept = _untold(each, found, speakers, now, said, witnesses)
                changed += [] if kept is each else [as_deleted(kept, each)]
        return [put(namespace, each) for each in changed]

    yield from rewrite(namespace, [key, *witnesses, *(each.id for each in told)], change)
    audit("forget", by=by, user_id=scope.user_id, space=scope.space, id=key)
    return left


def _untold(
    record: MemoryRecord,
    gone: MemoryRecord,
    speakers: Speakers,
    now: dt.datetime,
    said: Sequence[MemoryRecord],
    hidden: Sequence[str],
) -> MemoryRecord:
    """A summary or an archive without what is forgotten; its tombstone where nothing is left.

    Args:
        record: the summary or the archive.
        gone: what is forgotten; of a turn, conversations that have read it lose each sentence.
        speakers: who speaks.
        now: the time of the change.
        said: everything that was said.
        hidden: the ids of the turns that are withheld with it.
    """
    own, whole = Voice.of(gone), says_it if record.role == "summary" else _says
    is_near = record.thread_id == gone.thread_id or gone.id in record.source_ids
    of_turn = telling_turn(gone, said) if is_near else telling_turn(record, ())

    def tells(line: str) -> bool:
        return speakers.tells(line, own, whole) or of_turn(bare(line))

    if record.role == "archive":
        return without_statement(record, tells, now, shares=sharing(record, [gone], said, hidden))
    points = read_points(record)
    beside = [point for point in points if is_beside(point) and is_of(point, gone)]
    kept = [point for point in points if point not in beside and not tells(point)]
    if kept == points:
        return record
    if not kept:
        return retire(record, now, EMPTIED)
    return record.model_copy(update={"text": write_points(kept), "updated_at": now})


def _says(line: str, statement: str) -> bool:
    """Whether a line of an archive, which may be a paragraph, says a statement."""
    return says_it(line, statement) or says(line, statement)


def clear_steps(services: Services, scope: Scope, thread_id: str) -> Steps[list[MemoryRecord]]:
    """Retire what was said in a conversation, and its summary; facts that were drawn out of it stay. Gives the
    tombstones. What is pinned stays, and the audit trail counts it apart. An archive that is there stays, whatever the
    settings say; with ``archive_conversations`` it is made, or brought up to date, before anything goes, and what waits
    for its owner is read into it later, once that is approved.
    """
    thread_id, namespace = read_id("thread_id", thread_id), scope.namespace
    found: list[MemoryRecord] = []
    for role in (*TURN_ROLES, "summary"):
        found += yield from list_records(namespace, {"role": role, "thread_id": thread_id, "status": "active"})
    is_archived = services.config.archive_conversations
    if is_archived:
        yield from archive_steps(services, scope.model_copy(update={"thread_id": thread_id}))
    cleared: list[MemoryRecord] = []
    pinned: list[str] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        now, standing = services.clock(), [each for each in current.values() if each.status == "active"]
        pinned[:] = [each.id for each in standing if each.pinned]
        gone = [retire(each, now, CLEARED) for each in standing if not each.pinned]
        cleared[:] = [owed(each, is_owed=is_archived and waits(each)) for each in gone]
        return [put(namespace, each) for each in cleared]

    yield from rewrite(namespace, [record.id for record in found], change)
    kept, whose = len(pinned) or None, {"user_id": scope.user_id, "space": scope.space}
    audit("clear", **whose, thread_id=thread_id, records=len(cleared), pinned=kept)
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
        found = yield from find_key(scope, target.id)
        places = [found] if found else [(namespace, target.id) for namespace in scope.namespaces]
        for namespace, key in places:
            _add(receipt, (yield from erase_chosen(namespace, _choose(services, id=key))))
        if not receipt.removed:
            raise not_found(scope, target.id)
    elif target.thread_id is not None:
        receipt = yield from erase_chosen(scope.namespace, _choose(services, thread_id=target.thread_id))
    elif target.space is not None:
        receipt = yield from erase_chosen(scope.namespace, None)
    else:
        receipt = yield from erase_chosen(scope.namespace[:2], None)
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
