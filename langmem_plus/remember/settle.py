"""Bring decisions to what is stored now: a model took its time, and others may have written or edited meanwhile.

Decisions are made over records that were read some time ago. Before they are written, each is looked at again over the
records as they are: a turn that was deleted or worked off gives nothing, and a record that was deleted, replaced,
edited or pinned meanwhile is left as it is; the new fact then stands beside it, unless it repeats what was forgotten. A
turn that says what was forgotten meanwhile waits for the next run, which compares its facts with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langmem_plus.records import FORGOTTEN, Decision, MemoryRecord
from langmem_plus.remember.barred import is_forgotten

_GONE, _CHANGED, _PINNED = "it is gone", "it was changed", "it is pinned"


def settle(
    decisions: Sequence[Decision], seen: Mapping[str, MemoryRecord], current: Mapping[str, MemoryRecord]
) -> list[Decision]:
    """The decisions that are still right, in their order.

    Args:
        decisions: what was decided.
        seen: the known records and the turns as they were then, by id.
        current: the records as they are now, the turns among them; what is missing is gone.
    """
    return [kept for kept in settle_each(decisions, seen, current) if kept is not None]


def settle_each(
    decisions: Sequence[Decision], seen: Mapping[str, MemoryRecord], current: Mapping[str, MemoryRecord]
) -> list[Decision | None]:
    """What is left of each decision, as `settle`; None for what isn't right any more."""
    settled: list[Decision | None] = []
    stored: set[str] = set()  # facts that these decisions store, which later ones may speak of
    barred: set[str] = set()  # facts that say what was forgotten meanwhile
    for decision in decisions:
        fact = decision.fact
        if fact is not None and decision.event == "NONE" and is_forgotten(current.get(decision.target or "")):
            barred.add(fact.key)
        gone = fact is not None and not waits(current.get(fact.source_id), seen.get(fact.source_id))
        if gone or (fact is not None and fact.key in barred):
            settled.append(None)
            continue
        kept = _settled(decision, seen, current, stored)
        if kept is not None and fact is not None and kept.event in ("ADD", "UPDATE"):
            stored.add(fact.key)
        settled.append(kept)
    return settled


def waits(turn: MemoryRecord | None, read: MemoryRecord | None = None, *, may_be_withheld: bool = False) -> bool:
    """Whether facts are still to be drawn out of a turn, and it says what was read: an edited one has others.

    Args:
        turn: as it is now.
        read: as it was read.
        may_be_withheld: whether it may be withheld since it was read; of such a one, facts were forgotten.
    """
    if turn is None or turn.status != "active" or turn.extracted:
        return False
    if read is None:
        return True
    is_withheld = bool(turn.metadata.get(FORGOTTEN)) and not read.metadata.get(FORGOTTEN)
    return turn.text == read.text and (may_be_withheld or not is_withheld)


def _settled(
    decision: Decision,
    seen: Mapping[str, MemoryRecord],
    current: Mapping[str, MemoryRecord],
    stored: set[str],
) -> Decision | None:
    if decision.target is None or decision.target in stored:
        return decision
    reason = _objection(decision, seen.get(decision.target), current.get(decision.target))
    if reason is None:
        return decision
    if decision.event == "DELETE" and decision.fact is not None:
        return None  # its fact is stored by the decision that this one goes with
    reason = f"{decision.reason}; but {reason} meanwhile"
    if decision.fact is None:
        return decision.model_copy(update={"event": "NONE", "target": None, "reason": reason})
    return decision.model_copy(update={"event": "ADD", "target": None, "reason": reason})


def _objection(decision: Decision, before: MemoryRecord | None, now: MemoryRecord | None) -> str | None:
    """Why a record that a decision is about can't be changed by it any more, or None."""
    was_pending = before is not None and before.status == "pending"  # and is asked to be forgotten, approved or not
    if now is None or not (now.status == "active" or (was_pending and now.status == "pending")):
        return _GONE
    if before is None or now.text != before.text:
        return _CHANGED
    retires = decision.event in ("UPDATE", "DELETE")
    if retires and now.pinned and not before.pinned:
        return _PINNED
    return _CHANGED if retires and now.manually_saved and not before.manually_saved else None
