"""The audit trail: what a user decided about their memory, as lines of a log."""

from __future__ import annotations

import logging

from langmem_plus.telemetry.exporting import instruments

audit_log = logging.getLogger("langmem_plus.audit")


def audit(action: str, *, by: str = "owner", **details: str | int | None) -> None:
    """Log what was done for a user, and count it.

    Args:
        action: one word: pin, unpin, forget, undelete, approve, reject, archive, clear, restore, erase, retain, export,
            import.
        by: owner, or the name of the tool by which a model did it.
        details: whose memory, which records and how many: ids and numbers, never texts. None is left out.
    """
    known = {name: value for name, value in details.items() if value is not None}
    told = " ".join(f"{name}={value!r}" for name, value in {"by": by, **known}.items())
    audit_log.info("%s %s", action, told, extra={"memory_action": {"action": action, "by": by, **known}})
    found = instruments()
    if found is not None:
        found.add("langmem_plus.user_actions", 1, {"langmem_plus.action": action, "langmem_plus.by": by})
