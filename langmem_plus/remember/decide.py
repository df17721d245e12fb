"""What happens to each new fact: pure functions over facts and known records, no store and no model in sight.

Every fact gets exactly one decision: it is stored (ADD), replaces something (UPDATE), or says what is known already
(NONE with the record that it repeats). A request to forget is no fact: it retires a record (DELETE) or nothing. A
DELETE that carries a fact is one more record that this fact supersedes. An ADD that carries a target is older than
what is known: it is stored as superseded by it. What is known already and said again may replace what was said in
between: an UPDATE after the NONE, in which the known record replaces the target.

Where messages carry names, each person's facts are compared with that person's alone (`speakers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from langmem_plus.prompts import Change, Changes, fact_label
from langmem_plus.records import NEWER_THAN, Decision, Fact, MemoryRecord, unique
from langmem_plus.remember.forgetting import NAMED, concerns, find_forgotten, too_much
from langmem_plus.remember.likeness import holds, may_replace
from langmem_plus.remember.rules import ADDITIVE, may_outdate, replaces, same_subject
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.speakers import Voice, by_speaker, name_of, same_speaker

FORGET = "forget"  # the key in a fact's metadata that marks a request to forget
BY_NAME = "by_name"  # and in such a request's: what is to go was named, not said whole


@dataclass
class Verdict:
    """The decisions, and what went wrong on the way."""

    decisions: list[Decision] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def is_request(fact: Fact) -> bool:
    """Whether a fact is a request to forget, which is never stored."""
    return FORGET in fact.metadata


def find_repeats(facts: Sequence[Fact], known: Sequence[MemoryRecord], limit: int) -> tuple[list[Decision], list[Fact]]:
    """The facts that repeat a known record or an earlier one of themselves, and the rest.

    Args:
        facts: the new facts.
        known: active records.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    repeats: list[Decision] = []
    rest: list[Fact] = []
    for fact in facts:
        target = None if is_request(fact) else _repeated(fact, known, rest, limit)
        if target is None:
            rest.append(fact)
        else:
            repeats.append(_decision("NONE", fact, target, "already known", "duplicate"))
    return repeats, rest


def _repeated(fact: Fact, known: Sequence[MemoryRecord], earlier: Sequence[Fact], limit: int) -> str | None:
    for record in by_speaker(known, fact):
        if near_duplicate(fact.text, record.text, limit):
            return record.id
    for other in by_speaker(earlier, fact):
        if not is_request(other) and near_duplicate(fact.text, other.text, limit):
            return other.key
    return None


def add_all(facts: Sequence[Fact], reason: str, by: str = "rule") -> list[Decision]:
    """Store every fact; requests to forget come to nothing."""
    return [
        Decision(event="NONE", reason=f"{reason}; a request to forget was left undone", by=by)
        if is_request(fact)
        else Decision(event="ADD", fact=fact, reason=reason, by=by)
        for fact in facts
    ]


def decide_forgetting(fact: Fact, known: Sequence[MemoryRecord]) -> list[Decision]:
    """What a request to forget retires: the records that say just that, unless they are pinned. What was saved on
    purpose goes only where the whole statement is named.
    """
    records, reason = find_forgotten(str(fact.metadata[FORGET]), known, name_of(fact))
    decisions: list[Decision] = []
    for record in records:
        kept = None
        if record.pinned:
            kept = "it is pinned"
        elif record.manually_saved and (reason == NAMED or fact.metadata.get(BY_NAME)):
            kept = f"it was saved on purpose; say the whole statement: {record.text!r}"
        if kept is None:
            asked = fact.observed_at
            decisions.append(Decision(event="DELETE", target=record.id, reason=reason, asked_at=asked))
        else:
            decisions.append(Decision(event="NONE", reason=f"to forget {fact.text!r}: {kept}"))
    return decisions or [Decision(event="NONE", reason=f"to forget {fact.text!r}: {reason}")]


def decide_by_rules(facts: Sequence[Fact], known: Sequence[MemoryRecord]) -> list[Decision]:
    """Decide without a model: see `rules.replaces` for what retires what."""
    return [decision for fact in facts for decision in _by_rule(fact, known)]


def _by_rule(fact: Fact, known: Sequence[MemoryRecord]) -> list[Decision]:
    if is_request(fact):
        return decide_forgetting(fact, known)
    retired: list[tuple[MemoryRecord, str]] = []
    new = Voice.of(fact).own
    for record in by_speaker(known, fact):
        old = Voice.of(record).own
        if _is_older(fact, record):
            if reason := replaces(old, new):
                return [_decision("ADD", fact, record.id, f"older than what is known: {reason}")]
        elif (reason := replaces(new, old)) and not record.pinned:
            retired.append((record, reason))
    return _replacing(fact, retired) or [_decision("ADD", link_older(fact, known), None, "new")]


def _replacing(fact: Fact, retired: Sequence[tuple[MemoryRecord, str]]) -> list[Decision]:
    """The decisions by which a fact supersedes some records."""
    newest = sorted(retired, key=lambda pair: pair[0].said_at, reverse=True)
    events = ["UPDATE", *("DELETE" for _ in newest[1:])]
    return [_decision(event, fact, record.id, why) for event, (record, why) in zip(events, newest, strict=False)]


def decide_renewed(fact: Fact, known: Sequence[MemoryRecord]) -> list[Decision]:
    """What a fact that is known already replaces, now that it is said again: what rules would retire if it were new.

    Args:
        fact: what was said again.
        known: the active records, but for those that say it.
    """
    new = Voice.of(fact).own
    others = [record for record in by_speaker(known, fact) if not (record.pinned or _is_older(fact, record))]
    found = ((record, replaces(new, Voice.of(record).own)) for record in others)
    return _replacing(fact, [(record, reason) for record, reason in found if reason])


def _is_older(fact: Fact, record: MemoryRecord) -> bool:
    return fact.observed_at is not None and fact.observed_at < record.said_at


def _decision(event: str, fact: Fact | None, target: str | None, reason: str, by: str = "rule") -> Decision:
    return Decision.model_validate({"event": event, "fact": fact, "target": target, "reason": reason, "by": by})


def decide_by_answer(facts: Sequence[Fact], known: Sequence[MemoryRecord], answer: Changes) -> Verdict:
    """Decide by a model's answer, as far as it can be trusted.

    An id that isn't in the list makes an UPDATE an ADD and a DELETE a NONE. Pinned and manually saved records stay.
    What supersedes must speak of the same attribute of the same subject and mustn't be additive; what is called known
    must be held by the record that is named; what somebody else said is neither. A DELETE needs a replacement among the
    new facts, or a request to forget. A fact that the model forgot is added.

    Args:
        facts: the facts that the model was asked about; it names them by `prompts.fact_label`.
        known: the records that it was shown; it names them by their position.
        answer: what it said.
    """
    reading = _Reading(facts, known)
    for change in answer.changes:
        reading.read(change)
    reading.pair_deletions()
    return reading.finish()


class _Reading:
    """One answer being read, change after change."""

    def __init__(self, facts: Sequence[Fact], known: Sequence[MemoryRecord]) -> None:
        self.facts = facts
        self.known = known
        self.labels = {fact_label(place): fact for place, fact in enumerate(facts)}
        self.decided: dict[str, Decision] = {}  # by the fact's key
        self.retired: set[str] = set()
        self.unpaired: list[MemoryRecord] = []
        self.refused: list[Decision] = []
        self.warnings: list[str] = []

    def read(self, change: Change) -> None:
        """Take one change over, or what is left of it."""
        fact = self._fact(change.fact)
        record = self.known[change.id] if change.id is not None and 0 <= change.id < len(self.known) else None
        if change.id is not None and record is None:
            self.warnings.append(f"the model named memory {change.id}, which wasn't in its list")
        if change.event == "DELETE" and (fact is None or not is_request(fact)):
            self._delete(fact, record, change.reason)
        elif fact is None:
            self.warnings.append(f"the model's {change.event} names no new fact: {change.fact!r}")
        elif fact.key in self.decided:
            self.warnings.append(f"the model decided twice about {fact.text!r}; the first decision holds")
        elif is_request(fact):
            self._forget(fact, record if change.event == "DELETE" else None, change.reason)
        elif change.event == "UPDATE" and record is not None:
            self._update(fact, record, change.reason)
        elif change.event == "NONE" and record is not None and self._is_held(fact, record):
            self._decide("NONE", fact, record, change.reason)
        elif change.event == "NONE":
            self._decide("ADD", fact, None, "the model called it known, but no memory that it named says so")
        else:
            self._decide("ADD", fact, None, change.reason)

    def _is_held(self, fact: Fact, record: MemoryRecord) -> bool:
        return same_speaker(fact, record) and holds(Voice.of(record).own, Voice.of(fact).own)

    def _fact(self, label: str | None) -> Fact | None:
        if label is None:
            return self.facts[0] if len(self.facts) == 1 else None
        name = label.strip().strip("():.'\"").upper()
        if name in self.labels:
            return self.labels[name]
        if name.isdigit() and int(name) < len(self.facts):
            return self.facts[int(name)]
        return next((fact for fact in self.facts if fact.text.casefold() == label.strip().casefold()), None)

    def _decide(self, event: str, fact: Fact, record: MemoryRecord | None, reason: str) -> None:
        target = record.id if record else None
        self.decided[fact.key] = _decision(event, fact, target, reason or "no reason given", "model")

    def _update(self, fact: Fact, record: MemoryRecord, reason: str) -> None:
        objection = self._objection(fact, record)
        if objection:
            self.warnings.append(f"{record.text!r} stays: {objection}")
            linked = objection == _UNTOLD and not _is_older(fact, record)
            self._decide("ADD", _linked(fact, [record]) if linked else fact, None, objection)
        elif _is_older(fact, record):
            self._decide("ADD", fact, record, f"older than what is known: {reason}")
        else:
            self.retired.add(record.id)
            self._decide("UPDATE", fact, record, reason)

    def _objection(self, fact: Fact, record: MemoryRecord) -> str | None:
        if record.pinned or record.manually_saved:
            return "a model doesn't change what is pinned or was saved on purpose"
        if record.id in self.retired:
            return "it was replaced by another new fact"
        if ADDITIVE.search(fact.text):
            return "the new fact adds to it"
        if not same_speaker(fact, record):
            return "somebody else said it"
        if not same_subject(Voice.of(fact).own, Voice.of(record).own):
            return "the new fact is about somebody else"
        return None if _may_replace(fact, record) else _UNTOLD

    def _forget(self, fact: Fact, record: MemoryRecord | None, reason: str) -> None:
        request = str(fact.metadata[FORGET])
        kept = record is None or record.pinned or record.manually_saved or record.id in self.retired
        if record is None or kept or not concerns(request, record, name_of(fact)):
            reason = too_much(request) or "nothing that a model may retire is meant"
            reason = f"to forget {fact.text!r}: {reason}"
            self.decided[fact.key] = Decision(event="NONE", reason=reason, by="model")
        else:
            self.retired.add(record.id)
            self.decided[fact.key] = Decision(
                event="DELETE", target=record.id, reason=reason, by="model", asked_at=fact.observed_at
            )

    def _delete(self, fact: Fact | None, record: MemoryRecord | None, reason: str) -> None:
        if record is None:
            self.refused.append(Decision(event="NONE", reason="a deletion that names no known memory", by="model"))
        elif fact is not None and fact.key not in self.decided and _may_replace(fact, record):
            self._update(fact, record, reason)
        else:
            self.unpaired.append(record)

    def pair_deletions(self) -> None:
        """Give each deletion the new fact that replaces it; one without stays undone."""
        for record in self.unpaired:
            free = [fact for fact in self.facts if not is_request(fact) and self._is_added(fact)]
            fact = next((fact for fact in free if _may_replace(fact, record)), None)
            if fact is None or self._objection(fact, record):
                self.warnings.append(f"{record.text!r} stays: the model deleted it, and nothing replaces it")
                self.refused.append(Decision(event="NONE", reason="a deletion without a replacement", by="model"))
            else:
                self._update(fact, record, "the model deleted it, and this fact replaces it")

    def _is_added(self, fact: Fact) -> bool:
        decision = self.decided.get(fact.key)
        return decision is None or (decision.event == "ADD" and decision.target is None)

    def finish(self) -> Verdict:
        """The decisions in the facts' order, the forgotten facts added."""
        decisions = []
        for fact in self.facts:
            if fact.key not in self.decided:
                self.warnings.append(f"the model said nothing about {fact.text!r}")
            decisions.append(
                self.decided.get(fact.key) or add_all([fact], "the model said nothing about it", "model")[0]
            )
        return Verdict([*decisions, *self.refused], self.warnings)


def _may_replace(fact: Fact, record: MemoryRecord) -> bool:
    return same_speaker(fact, record) and may_replace(Voice.of(fact).own, Voice.of(record).own)


_UNTOLD = "nothing tells that both are about the same thing"


def link_older(fact: Fact, known: Sequence[MemoryRecord]) -> Fact:
    """The fact with what it may outdate of the known records (`rules.may_outdate`): it is recalled before that."""
    new = Voice.of(fact).own
    others = [record for record in by_speaker(known, fact) if not _is_older(fact, record)]
    return _linked(fact, [record for record in others if may_outdate(new, Voice.of(record).own)])


def _linked(fact: Fact, records: Sequence[MemoryRecord]) -> Fact:
    """The fact with what it may replace: nothing is retired for that, but it is recalled before that."""
    older = [id for record in records for id in (record.id, *record.source_ids)]
    return fact.model_copy(update={"metadata": {**fact.metadata, NEWER_THAN: unique(older)}}) if older else fact
