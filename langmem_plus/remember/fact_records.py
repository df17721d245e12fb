"""A fact's record: the one place where it is put together, and what becomes of it when it is said again or retired."""

from __future__ import annotations

import datetime as dt
from typing import Any, Protocol

from langmem_plus.fingerprint import simhash
from langmem_plus.records import Fact, MemoryRecord

_REPEAT_BONUS = 0.1  # importance that a repetition adds


class Place(Protocol):
    """Where a fact belongs: a scope, a turn, a memory of another system."""

    @property
    def user_id(self) -> str:
        """Whose memory."""

    @property
    def space(self) -> str:
        """In which space."""

    @property
    def thread_id(self) -> str | None:
        """From which conversation."""

    @property
    def agent_id(self) -> str | None:
        """Which agent's."""


def make_record(key: str, text: str, place: Place, now: dt.datetime, **fields: Any) -> MemoryRecord:
    """The record of a fact, with its fingerprint, written now in its owner's memory.

    Args:
        key: its id.
        text: what it says.
        place: whose it is.
        now: when it is written.
        fields: any of a record's fields, also in the place of these.
    """
    known: dict[str, Any] = {
        "id": key,
        "role": "memory",
        "text": text,
        "user_id": place.user_id,
        "space": place.space,
        "thread_id": place.thread_id,
        "agent_id": place.agent_id,
        "created_at": now,
        "updated_at": now,
        "simhash": simhash(text),
    }
    return MemoryRecord(**{**known, **fields})


def to_record(fact: Fact, turn: MemoryRecord, now: dt.datetime) -> MemoryRecord:
    """The record that a fact becomes, in the place of the turn that it was drawn from."""
    return make_record(
        fact.key,
        fact.text,
        turn,
        now,
        thread_id=fact.thread_id,
        observed_at=fact.observed_at,
        importance=fact.importance,
        manually_saved=fact.manually_saved,
        tags=list(fact.tags),
        source_ids=list(dict.fromkeys([fact.source_id, *turn.source_ids])),
        metadata_confidence=fact.metadata_confidence,
        metadata=dict(fact.metadata),
    )


def strengthen(record: MemoryRecord, repeat: MemoryRecord, now: dt.datetime, *, by: str = "rule") -> MemoryRecord:
    """The record after it was said again; the same turn counts once. Where a model says that it was, a record that is
    kept by the user's wish gains its count and its sources, and stays as it is otherwise.
    """
    again = not set(repeat.source_ids) <= set(record.source_ids)
    counted = {
        "repeat_count": record.repeat_count + again,
        "source_ids": list(dict.fromkeys([*record.source_ids, *repeat.source_ids])),
        "updated_at": now,
    }
    if by == "model" and (record.pinned or record.manually_saved):
        return record.model_copy(update=counted)
    return record.model_copy(
        update={
            **counted,
            "importance": min(max(record.importance, repeat.importance) + _REPEAT_BONUS * again, 1.0),
            "manually_saved": record.manually_saved or repeat.manually_saved,
            "pinned": record.pinned or repeat.pinned,
            "tags": list(dict.fromkeys([*record.tags, *repeat.tags])),
            "metadata": {**repeat.metadata, **record.metadata},
            "metadata_confidence": max(record.metadata_confidence, repeat.metadata_confidence),
        }
    )


def retire(record: MemoryRecord, now: dt.datetime, reason: str, replaced_by: str | None = None) -> MemoryRecord:
    """The record's tombstone: superseded where something replaces it, else deleted."""
    return record.model_copy(
        update={
            "status": "superseded" if replaced_by else "deleted",
            "replaced_by": replaced_by,
            "updated_at": now,
            "metadata": {**record.metadata, "reason": reason},
        }
    )
