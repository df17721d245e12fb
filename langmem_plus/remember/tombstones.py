"""What was deleted softly and could be brought back: what is forgotten meanwhile is taken out of it, too."""

from __future__ import annotations

from langmem_plus.records import TURN_ROLES, MemoryRecord
from langmem_plus.remember.steps import Namespace, Steps, list_records

# Why a record was deleted, where nobody wanted to forget it.
CLEARED = "its owner cleared the conversation"
COMPRESSED = "its conversation was compressed"  # an archive may still be made of such a turn
EVICTED = "evicted: "
EMPTIED = "nothing is left of it"  # all that it told is forgotten


def may_return(record: MemoryRecord) -> bool:
    """Whether a record is in force, or was deleted softly and still tells something."""
    return record.status == "active" or (record.status == "deleted" and record.metadata.get("reason") != EMPTIED)


def is_set_aside(record: MemoryRecord) -> bool:
    """Whether a record was deleted, and not because anybody wanted to forget it."""
    reason = str(record.metadata.get("reason", ""))
    return record.status == "deleted" and (reason in (CLEARED, COMPRESSED) or reason.startswith(EVICTED))


def list_returning(namespace: Namespace, *roles: str) -> Steps[list[MemoryRecord]]:
    """All records of some roles that are in force, or might be again; of the turns, where no role is named."""
    found: list[MemoryRecord] = []
    for role in roles or TURN_ROLES:
        found += yield from list_records(namespace, {"role": role})
    return [record for record in found if may_return(record)]


def as_deleted(left: MemoryRecord, before: MemoryRecord) -> MemoryRecord:
    """A record without what is forgotten, as old a tombstone as it was before where it was one."""
    if before.status == "active" or left is before:
        return left
    return left.model_copy(update={"status": before.status, "updated_at": before.updated_at})
