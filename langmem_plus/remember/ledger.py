"""What a run has decided so far: the records as they will stand, before one batch writes them."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable, Mapping, Sequence

from langgraph.store.base import PutOp

from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.fact_records import make_record, retire, strengthen, to_record
from langmem_plus.remember.found import given_alone
from langmem_plus.remember.review import TURNED_DOWN, Waiting, hold
from langmem_plus.remember.slots import find_slot
from langmem_plus.remember.steps import put
from langmem_plus.speakers import Voice
from langmem_plus.text import tokens


class Ledger:
    """Known records, and what the decisions of this run make of them.

    Args:
        turns: the turns that are worked off, by id.
        now: when it happens.
    """

    def __init__(self, turns: Mapping[str, MemoryRecord], now: dt.datetime) -> None:
        self._turns = turns
        self._now = now
        self._records: dict[str, MemoryRecord] = {}
        self._changed: dict[str, None] = {}
        self._known: dict[str, str] = {}  # the records that say what facts say that aren't stored, by the facts' keys

    def learn(self, records: Iterable[MemoryRecord]) -> list[str]:
        """Take known records in; what this run changed already stays as it is. Gives their ids."""
        ids = []
        for record in records:
            self._records.setdefault(record.id, record)
            ids.append(record.id)
        return ids

    def active(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Those of the records that are still active, each once."""
        found = (self._records[each] for each in dict.fromkeys(ids) if each in self._records)
        return [record for record in found if record.status == "active"]

    def added(self) -> list[MemoryRecord]:
        """The active records that this run adds."""
        return [record for record in self.active(self._changed) if record.source_ids[:1] and self._is_new(record)]

    def replaced(self) -> list[MemoryRecord]:
        """The records that this run replaces."""
        return [self._records[each] for each in self._changed if self._records[each].status == "superseded"]

    def _is_new(self, record: MemoryRecord) -> bool:
        return record.created_at == self._now and record.source_ids[0] in self._turns

    def apply(self, decision: Decision) -> None:
        """Do what a decision says."""
        fact, target = decision.fact, self._records.get(decision.target or "")
        if decision.event in ("ADD", "UPDATE") and fact is not None:
            self._store(fact, target, decision)
        elif decision.event == "DELETE" and target is not None:
            self._replace(target, decision)
        elif decision.event == "NONE" and fact is not None and target is not None:
            repeat = given_alone(self._new(fact), target)
            self._put(strengthen(target, repeat, self._now, by=decision.by))
            self._known[fact.key] = target.id

    def hold(self, waiting: Waiting, known: Mapping[str, MemoryRecord], *, rejected: bool = False) -> None:
        """Store what waits as a pending record, or, once it is rejected, as a tombstone; what it is about stays."""
        fact, before = waiting.fact, self._records.get(waiting.key)
        if fact is None and before is not None and before.status == "pending" and not rejected:
            return  # it was asked before
        about = {**self._records, **known}
        if fact is not None:
            record = self._new(fact)
        else:
            target = about[waiting.targets[0]]
            record = make_record(waiting.key, f"Forget the memory {target.id}.", target, self._now, thread_id=None)
        record = hold(record, waiting, about)
        self._put(retire(record, self._now, TURNED_DOWN) if rejected else record)

    def _store(self, fact: Fact, target: MemoryRecord | None, decision: Decision) -> None:
        record = self._new(fact)
        if target is not None and decision.event == "ADD":
            self._put(retire(record, self._now, decision.reason, target.id))
            return
        if fact.key not in self._known:
            self._put(record)
        if target is not None:
            self._replace(target, decision)

    def _replace(self, target: MemoryRecord, decision: Decision) -> None:
        """Retire a record for a fact, or for the known one that says what the fact says; without a fact, forget it."""
        key = self._known.get(decision.fact.key, decision.fact.key) if decision.fact else None
        self._put(retire(target, self._now, decision.reason, key, asked_at=decision.asked_at))
        if key is not None:
            self._link(key, target)

    def _link(self, key: str, old: MemoryRecord) -> None:
        """Let a new record name what it replaces, and inherit the wish to keep it."""
        record = self._records[key]
        update = {
            "replaces": list(dict.fromkeys([*record.replaces, old.id])),
            "manually_saved": record.manually_saved or old.manually_saved,
        }
        self._put(record.model_copy(update=update))

    def _new(self, fact: Fact) -> MemoryRecord:
        return to_record(fact, self._turns[fact.source_id], self._now)

    def _put(self, record: MemoryRecord) -> None:
        self._records[record.id] = record
        self._changed[record.id] = None

    def puts(self, namespace: tuple[str, ...]) -> list[PutOp]:
        """The writes that bring the store to what was decided."""
        return [put(namespace, self._records[key]) for key in self._changed]


def nearest(text: str, records: Sequence[MemoryRecord], count: int) -> list[MemoryRecord]:
    """The records most like a text by their words, for stores that rank nothing; those of the same slot come first.

    Args:
        text: a statement, from its speaker's own view.
        records: what the same speaker said.
        count: how many at most.
    """
    wanted, slot = _words(text), find_slot(text)

    def likeness(record: MemoryRecord) -> tuple[bool, float]:
        told = Voice.of(record).own
        other = find_slot(told)
        held = _words(told)
        shared = len(wanted & held) / (len(wanted | held) or 1)
        return slot is not None and other is not None and slot.same_slot(other), shared

    ranked = sorted(
        ((likeness(record), place) for place, record in enumerate(records)), key=lambda pair: pair[0], reverse=True
    )
    return [records[place] for (same, shared), place in ranked[:count] if same or shared]


@functools.lru_cache(maxsize=16_384)
def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text))
