"""Which decisions wait for the owner's approval, and what a memory is while it waits: `pending`, found by no recall.

A policy says of each decision whether it waits. What waits is kept as a record of the status ``pending`` that holds
the new fact and names what it would replace, or what would be forgotten. All of that stays in force until the owner
approves (`langmem_plus.remember.approve`); where a graph can ask a person (`langmem_plus.remember.ask_owner`), nothing
is written before the answer.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from langmem_plus.errors import ConfigError
from langmem_plus.records import FORGOTTEN, REVIEW, TURN_ROLES, Decision, Fact, MemoryRecord, record_id
from langmem_plus.shown import shown
from langmem_plus.speakers import name_of
from langmem_plus.text import fingerprint

logger = logging.getLogger(__name__)

Review = Literal["none", "conflicts", "all"]
Policy: TypeAlias = Callable[[Decision, MemoryRecord | None], Any]
ReviewSpec: TypeAlias = Review | Policy | None

APPROVED_AT = "approved_at"  # in a fact's metadata: when its owner let it come into force
WAITS, REJECTED = "waits", "rejected"  # what a turn notes of a fact that was drawn from it
TURNED_DOWN = "its owner rejected it"  # the reason in the tombstone
CARRIED_OUT = "its owner approved it, and what it was about is forgotten"


def conflicts(decision: Decision, target: MemoryRecord | None) -> bool:
    """Whether a decision would change or retire what is known, unless the user asked for that in so many words."""
    asked_for = decision.event == "DELETE" and decision.fact is None and decision.by == "rule"
    return decision.event in ("UPDATE", "DELETE") and not asked_for


def everything(decision: Decision, target: MemoryRecord | None) -> bool:
    """Whether a decision would store or retire anything. Who asks to forget what waits itself takes it back."""
    takes_back = decision.event == "DELETE" and decision.fact is None and (target is None or target.status == "pending")
    return decision.event != "NONE" and not takes_back


def make_policy(review: ReviewSpec, setting: Review | None) -> Policy | None:
    """The policy that is asked; None where every decision passes.

    Args:
        review: a policy's name, or a function of a `Decision` and the record that it would retire (None where there is
            none) that says whether it waits; None takes the setting.
        setting: what the settings say.

    Raises:
        ConfigError: it is neither.
    """
    wanted = setting if review is None else review
    if callable(wanted):
        if inspect.iscoroutinefunction(wanted) or inspect.iscoroutinefunction(type(wanted).__call__):
            raise ConfigError(f"review is {shown(wanted)}, which has to be awaited: pass a plain function.")
        return wanted
    if wanted is not None and wanted not in get_args(Review):
        raise ConfigError(f"review is {shown(wanted)}: choose from {', '.join(get_args(Review))}, or pass a function.")
    return {"conflicts": conflicts, "all": everything}.get(wanted or "none")


@dataclass
class Waiting:
    """One thing that waits for an answer: a fact with all that it would replace, or a memory that would be forgotten.

    Attributes:
        key: the id of the pending record; for a fact, also the one that it has when it is approved.
        decisions: what would be done, in order; repetitions of the fact are among them.
    """

    key: str
    decisions: list[Decision] = field(default_factory=list)

    @property
    def fact(self) -> Fact | None:
        """The new fact; None where something would be forgotten."""
        return next((decision.fact for decision in self.decisions if decision.event != "NONE"), None)

    @property
    def targets(self) -> list[str]:
        """The ids of what would be retired."""
        retiring = (each.target for each in self.decisions if each.event in ("UPDATE", "DELETE"))
        return list(dict.fromkeys(target for target in retiring if target))

    def describe(self, known: Mapping[str, MemoryRecord]) -> dict[str, Any]:
        """What a person is asked, as plain JSON: what would happen, to which texts, whose words they are, and why."""
        first = self.decisions[0]
        retires = [known[each] for each in self.targets if each in known]
        return {
            "id": self.key,
            "event": first.event,
            "text": self.fact.text if self.fact else None,
            "name": (name_of(self.fact) or None) if self.fact else None,
            "retires": [{"id": each.id, "text": each.text, "name": name_of(each) or None} for each in retires],
            "reason": first.reason,
            "by": first.by,
        }


def key_of(decision: Decision, namespace: Sequence[str]) -> str | None:
    """The id under which a decision would wait; None for one that never does: a repetition, and a fact that is older
    than what is known, which is stored as superseded.
    """
    if decision.event == "NONE" or (decision.event == "ADD" and decision.target):
        return None
    if decision.fact is not None:
        return decision.fact.key
    return record_id("review", *namespace, decision.target) if decision.target else None


def find_held(
    namespace: Sequence[str], decisions: Sequence[Decision], known: Mapping[str, MemoryRecord], policy: Policy | None
) -> list[str]:
    """The keys of what waits: each fact as soon as one of its decisions is to wait, and so on what builds on it, but
    for a request to forget it. A policy that fails lets nothing pass.

    Args:
        namespace: where it would be written.
        decisions: what was decided, in order.
        known: the records that the decisions are about, by id.
        policy: is asked about each decision; None lets everything pass.
    """
    held: dict[str, None] = {}
    for decision in decisions if policy else ():
        key, builds_on = key_of(decision, namespace), decision.target in held
        if builds_on and decision.event == "ADD" and decision.fact is not None:
            key = decision.fact.key  # older than what waits: whether that holds isn't known yet
        if key is None or policy is None:
            continue
        takes_back = decision.event == "DELETE" and decision.fact is None
        if (builds_on and not takes_back) or _waits(policy, decision, known.get(decision.target or "")):
            held[key] = None
    return list(held)


def group(namespace: Sequence[str], decisions: Sequence[Decision], held: Sequence[str]) -> list[Waiting]:
    """What waits, with all decisions that belong together; repetitions go with the fact that they repeat."""
    found = {key: Waiting(key) for key in held}
    for decision in decisions:
        repeats = decision.event == "NONE"
        key = decision.target if repeats else decision.fact.key if decision.fact else key_of(decision, namespace)
        if key in found:
            found[key].decisions.append(decision)
    return list(found.values())


def _waits(policy: Policy, decision: Decision, target: MemoryRecord | None) -> bool:
    try:
        return bool(policy(decision, target))
    except Exception as error:  # a policy is anybody's code; what it can't judge, a person does
        logger.warning(
            "memory: the review policy failed, so a decision waits: %s: %s", type(error).__name__, error, exc_info=error
        )
        return True


# The pending record, and what a turn notes of it.


def hold(record: MemoryRecord, waiting: Waiting, known: Mapping[str, MemoryRecord]) -> MemoryRecord:
    """A new record as one that waits. It names what it would retire, with a fingerprint of what was read there, so that
    the approval can tell whether that was edited since; of what waits itself, also what that would retire.

    Args:
        record: the new fact's, or one made for a memory to forget (`to_forget`).
        waiting: what would be done.
        known: what is or would be retired, as it was read, by id.
    """
    targets: dict[str, str] = {}
    for target in waiting.targets:
        old = known.get(target)
        targets[target] = fingerprint(old.text) if old else ""
        if old is not None and old.status != "active":  # of the same run, and waits itself, or was rejected
            targets.update(targets_of(old))
    first = waiting.decisions[0]
    told = {"event": first.event, "targets": targets, "reason": first.reason, "by": first.by}
    return record.model_copy(update={"status": "pending", "metadata": {**record.metadata, REVIEW: told}})


def review_of(record: MemoryRecord) -> dict[str, Any] | None:
    """What a fact's record waits, or waited, for; None where it doesn't, or somebody has spoilt the note by hand."""
    told = record.metadata.get(REVIEW)
    return told if record.role == "memory" and isinstance(told, dict) else None


def targets_of(record: MemoryRecord) -> dict[str, str]:
    """The ids of what a waiting record would retire, with the fingerprints of what was read there."""
    targets = (review_of(record) or {}).get("targets")
    found = targets.items() if isinstance(targets, dict) else ()
    return {str(target): str(text) for target, text in found}


def forgets(record: MemoryRecord) -> bool:
    """Whether a waiting record asks to forget something, and holds no fact of its own."""
    told = review_of(record)
    return told is not None and told.get("event") == "DELETE"


def stands_for(record: MemoryRecord, current: Mapping[str, MemoryRecord]) -> MemoryRecord:
    """What stands in the place of a record that was replaced, as far as these records tell; else the record."""
    passed: set[str] = set()
    while record.status == "superseded" and record.id not in passed:
        passed.add(record.id)
        record = current.get(record.replaced_by or "", record)
    return record


def settled(record: MemoryRecord) -> MemoryRecord:
    """The record without what it waited for."""
    return record.model_copy(
        update={"metadata": {name: value for name, value in record.metadata.items() if name != REVIEW}}
    )


def note(turn: MemoryRecord, key: str, state: str | None) -> MemoryRecord:
    """The turn with a note of a fact that waits or was rejected: with one, it isn't recalled either. None takes the
    note away.
    """
    found = turn.metadata.get(REVIEW)
    noted = dict(found) if isinstance(found, dict) else {}
    noted.pop(key, None)
    if state is not None:
        noted[key] = state
    rest = {name: value for name, value in turn.metadata.items() if name != REVIEW}
    return turn.model_copy(update={"metadata": {**rest, REVIEW: noted} if noted else rest})


def is_turned_down(turn: MemoryRecord) -> bool:
    """Whether a fact of a turn was rejected."""
    noted = turn.metadata.get(REVIEW)
    return isinstance(noted, dict) and REJECTED in noted.values()


def is_withheld(record: MemoryRecord) -> bool:
    """Whether a turn isn't recalled: it tells what was asked to be forgotten, or what waits or was rejected."""
    return record.role in TURN_ROLES and bool(record.metadata.get(FORGOTTEN) or record.metadata.get(REVIEW))
