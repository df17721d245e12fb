"""One item of the store as its file holds it, pure."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from langmem_plus.records import MemoryRecord

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
    """

    key: str
    value: dict[str, Any]
    created_at: str
    updated_at: str
    index: list[str] | bool | None = None
    removed_at: str | None = None

    @functools.cached_property
    def role(self) -> str | None:
        """The record's role, or None for a foreign value."""
        return str(self.value["role"]) if is_record(self.key, self.value) else None

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
