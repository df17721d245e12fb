"""A fact's record: the one place where it is put together, and what becomes of it when it is said again or retired."""

from __future__ import annotations

import datetime as dt
from typing import Any, Protocol

from langmem_plus.records import NEWER_THAN, Fact, MemoryRecord, format_time, unique
from langmem_plus.remember.likeness import holds
from langmem_plus.remember.simhash import simhash
from langmem_plus.speakers import Voice
from langmem_plus.text import words

ASKED_AT = "asked_at"  # in a tombstone's metadata: when it was asked for in words, which are worked off later
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
    """The record after it was said again; the same turn counts once. It counts as said when it was said last, so that
    it is newer than what was said in between. Where a model says that it was said again, a record that is kept by the
    user's wish gains its count, its sources and that time, and stays as it is otherwise.
    """
    again = not set(repeat.source_ids) <= set(record.source_ids)
    is_newer = again and repeat.said_at > record.said_at and (by != "model" or _says_all(repeat, record))
    counted = {
        "observed_at": repeat.said_at if is_newer else record.observed_at,
        "repeat_count": record.repeat_count + again,
        "source_ids": list(dict.fromkeys([*record.source_ids, *repeat.source_ids])),
        "updated_at": now,
    }
    older = unique(id for each in (record, repeat) for id in _older(each))
    metadata = {**record.metadata, **({NEWER_THAN: older} if older else {})}
    if by == "model" and (record.pinned or record.manually_saved):
        return record.model_copy(update={**counted, "metadata": metadata})
    return record.model_copy(
        update={
            **counted,
            "importance": min(max(record.importance, repeat.importance) + _REPEAT_BONUS * again, 1.0),
            "manually_saved": record.manually_saved or repeat.manually_saved,
            "pinned": record.pinned or repeat.pinned,
            "tags": list(dict.fromkeys([*record.tags, *repeat.tags])),
            "metadata": {**repeat.metadata, **metadata},
            "metadata_confidence": max(record.metadata_confidence, repeat.metadata_confidence),
        }
    )


def _older(record: MemoryRecord) -> list[str]:
    """The ids of what a record may have outdated."""
    told = record.metadata.get(NEWER_THAN)
    return list(map(str, told)) if isinstance(told, list) else []


def _says_all(repeat: MemoryRecord, record: MemoryRecord) -> bool:
    """Whether all that a record says was said again: a model calls known what is only a part of it, too."""
    told, known = Voice.of(repeat).own, Voice.of(record).own
    return words(told) == words(known) or holds(told, known)


def retire(
    record: MemoryRecord,
    now: dt.datetime,
    reason: str,
    replaced_by: str | None = None,
    *,
    asked_at: dt.datetime | None = None,
) -> MemoryRecord:
    """The record's tombstone: superseded where something replaces it, else deleted; ``asked_at`` says when that was
    asked for, where it wasn't now.
    """
    kept = {name: value for name, value in record.metadata.items() if name != ASKED_AT}
    asked = {ASKED_AT: format_time(asked_at)} if asked_at is not None else {}
    return record.model_copy(
        update={
            "status": "superseded" if replaced_by else "deleted",
            "replaced_by": replaced_by,
            "updated_at": now,
            "metadata": {**kept, "reason": reason, **asked},
        }
    )
