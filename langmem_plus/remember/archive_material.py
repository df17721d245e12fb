"""What the archive of a conversation is made of: what it hasn't read and may tell elsewhere."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from langmem_plus.records import FORGOTTEN, TURN_ROLES, MemoryRecord, Scope, archive_key, summary_key
from langmem_plus.remember.approve import finish_steps
from langmem_plus.remember.facts import in_order
from langmem_plus.remember.gist import UNREAD
from langmem_plus.remember.review import is_turned_down, is_withheld
from langmem_plus.remember.steps import Namespace, Steps, get_records, list_records
from langmem_plus.remember.telling import is_out, kept_out
from langmem_plus.remember.tombstones import CLEARED, COMPRESSED, is_set_aside
from langmem_plus.services import Services
from langmem_plus.speakers import Voice

OWED = "owed"  # in the metadata of a cleared turn: its archive couldn't read it, because it waited for its owner


@dataclass(frozen=True)
class Material:
    """What an archive is made of.

    Attributes:
        known: the archive's record, whatever its status.
        turns: what it hasn't read, as it was said.
        again: what only rules have read of it.
        facts: what is known from the conversation.
        summary: the thread's rolling summary, where all that it has read may be told.
    """

    known: MemoryRecord | None
    turns: Sequence[MemoryRecord]
    again: Sequence[MemoryRecord] = ()
    facts: Sequence[MemoryRecord] = ()
    summary: MemoryRecord | None = None

    @property
    def old(self) -> MemoryRecord | None:
        """The archive in force."""
        return self.known if self.known is not None and self.known.status == "active" else None


def look_up(services: Services, scope: Scope, extra: Sequence[MemoryRecord]) -> Steps[Material]:
    """What the archive of the scope's thread is to be made of; ``extra`` is told apart from it."""
    namespace, key, now = scope.namespace, archive_key(scope), services.clock()
    if scope.thread_id is None:
        known = (yield from get_records(namespace, [key])).get(key)
        return Material(known, ())
    records = yield from get_records(namespace, [key, summary_key(scope)])
    known, summary = records.get(key), records.get(summary_key(scope))
    spoken: list[MemoryRecord] = []
    for role in TURN_ROLES:
        spoken += yield from list_records(namespace, {"role": role, "thread_id": scope.thread_id})
    # By ids: what is restored, approved or imported later was written before what the archive has read.
    read = set(known.source_ids) if known else set()
    standing = [turn for turn in spoken if turn.status == "active" or turn.metadata.get(OWED)]
    turns = in_order([turn for turn in standing if turn.id not in read and is_readable(turn, now)])
    unread = yield from get_records(namespace, unread_of(known))
    again = in_order([turn for turn in unread.values() if is_readable(turn, now)])
    if not turns and not again:
        return Material(known, (), ())
    out = kept_out(known)
    known_facts = {"role": "memory", "thread_id": scope.thread_id, "status": "active"}
    facts = yield from list_records(namespace, known_facts)
    if (yield from finish_steps(services, namespace, facts)):  # what was approved by hand replaces something
        facts = yield from list_records(namespace, known_facts)
    facts = [fact for fact in facts if fact not in extra and not is_out(fact, out)]
    return Material(known, turns, again, facts, summary if _may_be_told(summary, spoken, out) else None)


def _may_be_told(summary: MemoryRecord | None, spoken: Sequence[MemoryRecord], out: set[str]) -> bool:
    """Whether a rolling summary may be told in other conversations: nothing that it has read is withheld, forgotten,
    kept out of the archive or gone. Which of its words are whose can't be told.
    """
    if summary is None or summary.status != "active":
        return False
    open_to_all = {
        turn.id for turn in spoken if not is_withheld(turn) and (turn.status == "active" or is_set_aside(turn))
    }
    return bool(summary.source_ids) and open_to_all - out >= set(summary.source_ids)


def find_replaced(namespace: Namespace, records: Sequence[MemoryRecord]) -> Steps[list[MemoryRecord]]:
    """Of facts that were replaced, those that are among the records or were drawn from them, unless the same holds
    again.
    """
    ids = {record.id for record in records}
    facts = (yield from list_records(namespace, {"role": "memory"})) if ids else []
    standing = {Voice.of(fact).shown.casefold() for fact in facts if fact.status == "active"}
    gone = [fact for fact in facts if fact.status == "superseded" and not ids.isdisjoint((fact.id, *fact.source_ids))]
    return [fact for fact in gone if Voice.of(fact).shown.casefold() not in standing]


def unread_of(record: MemoryRecord | None) -> list[str]:
    """The ids of what only rules have read of an archive."""
    found = record.metadata.get(UNREAD) if record is not None and record.status == "active" else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def is_readable(turn: MemoryRecord | None, now: dt.datetime) -> bool:
    """Whether an archive may be made of a turn: it stands, or was deleted because its conversation was compressed, or
    cleared before the archive could read it.
    """
    if turn is None or is_withheld(turn) or turn.has_ended(now):
        return False
    reason = turn.metadata.get("reason")
    is_left = reason == COMPRESSED or (reason == CLEARED and bool(turn.metadata.get(OWED)))
    return turn.status == "active" or (turn.status == "deleted" and is_left)


def waits(record: MemoryRecord) -> bool:
    """Whether a turn is withheld only until its owner answers, so that it may be told then."""
    return is_withheld(record) and not record.metadata.get(FORGOTTEN) and not is_turned_down(record)


def owed(record: MemoryRecord, *, is_owed: bool) -> MemoryRecord:
    """A cleared record with the mark that an archive is to read it yet, or without."""
    metadata = {name: value for name, value in record.metadata.items() if name != OWED}
    return record.model_copy(update={"metadata": {**metadata, OWED: True} if is_owed else metadata})
