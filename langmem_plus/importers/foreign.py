"""One memory of another system, read and not yet stored, and how its fields find a place in a record."""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langmem_plus.errors import InvalidValueError
from langmem_plus.importers.report import ImportReport
from langmem_plus.records import FORGOTTEN, NEWER_THAN, MemoryRecord, Scope, format_time, record_id
from langmem_plus.remember.fact_records import make_record
from langmem_plus.remember.support import entities

IMPORTED = "imported"  # in a record's metadata: where it came from, and what the source said when it did
OTHERS = "others"  # in it: the source's fields whose names mean something else in a record's metadata
REPEATS = "repeats"  # in it: the id of the record that says the same words
# Names in a record's metadata that this package reads; a source's field of that name mustn't be taken for ours.
_TAKEN = frozenset((IMPORTED, FORGOTTEN, NEWER_THAN, "forget", "message_id", "name", "position", "reason", "turn"))


@dataclass(frozen=True)
class Foreign:
    """One memory of another system.

    Args:
        system: where it comes from.
        id: the source's own id.
        parts: what tells it from all others of the system; the id of its record is made of them.
        place: where it stands in the source, for the report.
        user_id, space: whose memory it becomes, and in which part.
        text: what it says.
        thread_id, agent_id, tags, pinned: as in a record.
        created_at, updated_at, expires_at: the source's own times, aware UTC; None where it has none.
        metadata: everything else that the source says of it.
        origin: more about where it comes from.
    """

    system: Literal["langmem", "mem0"]
    id: str
    parts: tuple[str, ...]
    place: str
    user_id: str
    space: str
    text: str
    thread_id: str | None = None
    agent_id: str | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False
    created_at: dt.datetime | None = None
    updated_at: dt.datetime | None = None
    expires_at: dt.datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """Where it goes."""
        return Scope(self.user_id, self.space)

    @functools.cached_property
    def key(self) -> str:
        """The id of the record that it becomes: the same at each import."""
        return record_id("import", self.system, *self.parts)

    @functools.cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of what it says: different once the source says something else.

        When it was written doesn't count: a copy of the same memory is no news.

        Raises:
            InvalidValueError: a field isn't plain JSON.
        """
        expires = format_time(self.expires_at) if self.expires_at else None
        said = [self.text, self.thread_id, self.agent_id, list(self.tags), self.pinned, expires, dict(self.metadata)]
        try:
            plain = json.dumps(said, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidValueError(f"it isn't plain JSON: {error}") from error
        return hashlib.sha256(plain.encode()).hexdigest()[:16]

    def to_record(self, now: dt.datetime) -> MemoryRecord:
        """The record that it becomes; a time that the source doesn't tell is now.

        Raises:
            InvalidValueError: a field isn't plain JSON.
        """
        created = self.created_at or self.updated_at or now
        return make_record(
            self.key,
            self.text,
            self,
            created,
            updated_at=self.updated_at or created,
            observed_at=self.created_at or self.updated_at,
            expires_at=self.expires_at,
            pinned=self.pinned,
            tags=list(self.tags) or entities(self.text),
            source_ids=[self.id] if self.id else [],
            metadata=self._place(),
        )

    def _place(self) -> dict[str, Any]:
        """The record's metadata: the source's fields under their own names, but for those that this package reads."""
        origin = {"from": self.system, "id": self.id, **self.origin, "fingerprint": self.fingerprint}
        others = {name: value for name, value in self.metadata.items() if name in _TAKEN}
        if others:
            origin[OTHERS] = others
        own = {name: value for name, value in self.metadata.items() if name not in _TAKEN}
        return {**own, IMPORTED: origin}


@dataclass
class Found:
    """What reading a source came to: its memories, and what is to be said of it."""

    memories: list[Foreign] = field(default_factory=list)
    report: ImportReport = field(default_factory=ImportReport)


def origin_of(record: MemoryRecord) -> Mapping[str, Any]:
    """What a record says of its import; nothing where it wasn't imported, or where a person's edit broke it."""
    origin = record.metadata.get(IMPORTED)
    return origin if isinstance(origin, Mapping) else {}
