"""One item of the store as its file holds it, pure."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from langmem_plus.records import TURN_ROLES, MemoryRecord, format_time, parse_time

RECORD_FIELDS = tuple(MemoryRecord.model_fields)
_RECORD_FIELDS = frozenset(RECORD_FIELDS)
RETIRED = ("superseded", "deleted")


@dataclass(frozen=True)
class Entry:
    """One item of the store.

    Attributes:
        key: the item's key in its namespace.
        value: the item's value, plain JSON.
        created_at, updated_at: the item's own times, fixed-width ISO in UTC.
        index: None for the store's own fields, False for no ranking, or the paths that a put asked for.
        removed_at: when the item was deleted; such a file is a tombstone and no item.
        ttl: the minutes that it lives after it was last written or read; None where its time isn't prolonged by reads.
        expires_at: when that time is over, unless it is read before.
    """

    key: str
    value: dict[str, Any]
    created_at: str
    updated_at: str
    index: list[str] | bool | None = None
    removed_at: str | None = None
    ttl: float | None = None
    expires_at: str | None = None

    @functools.cached_property
    def role(self) -> str | None:
        """The record's role, or None for a foreign value."""
        return str(self.value["role"]) if is_record(self.key, self.value) else None

    @functools.cached_property
    def ends_at(self) -> str | None:
        """When a record ends whatever happens: its own ``expires_at``; never a turn that is pinned, was saved on
        purpose or still waits for extraction. A foreign value's field of that name means nothing here.
        """
        ends = self.value["expires_at"] if self.role is not None and not self._outlasts else None
        return None if ends is None else format_time(parse_time(ends))

    @property
    def _outlasts(self) -> bool:
        waits = self.value["status"] == "active" and self.value["extracted"] is False
        return self.role in TURN_ROLES and (waits or self.value["pinned"] or self.value["manually_saved"])

    @property
    def deadline(self) -> str | None:
        """When it expires: the earlier of what its record says of itself and of the time to live that a put gave."""
        return min((time for time in (self.expires_at, self.ends_at) if time is not None), default=None)

    @property
    def is_tombstone(self) -> bool:
        """Whether the file belongs under ``deleted/``."""
        return self.removed_at is not None or (self.role is not None and self.value["status"] in RETIRED)


def is_record(key: str, value: dict[str, Any]) -> bool:
    """Whether a value is the exact dump of a `MemoryRecord` with this key, and not just something alike."""
    if value.keys() != _RECORD_FIELDS or value["id"] != key:
        return False
    try:
        dump = MemoryRecord.model_validate(value).to_value()
    except (ValidationError, ValueError):
        return False
    return json.dumps(dump, sort_keys=True) == json.dumps(value, sort_keys=True)
