"""What one answer of a model proposes beside the facts: what they do to the memories that it was shown, and a summary.

A proposal is judged as a decision of its own answer is (`decide.decide_by_answer`), over the memories that were shown;
what wasn't shown is compared by rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from langmem_plus.prompts import Change, Changes, Summary, fact_label
from langmem_plus.records import Decision, Event, Fact, MemoryRecord
from langmem_plus.remember.decide import Verdict, add_all, decide_by_answer, decide_by_rules
from langmem_plus.remember.points import amend
from langmem_plus.speakers import Voice


@dataclass(frozen=True)
class Proposed:
    """One change: what happens, to which fact (its key; None for a deletion alone), and the number of which memory."""

    event: Event
    fact: str | None
    number: int | None = None


@dataclass
class Proposal:
    """What is proposed for one turn's facts, the memories that were shown, by their numbers, and why there is none."""

    shown: list[MemoryRecord] = field(default_factory=list)
    changes: list[Proposed] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class SummaryDraft:
    """A summary, the points that it goes on from, and the turns that it read: their texts by id."""

    answer: Summary
    previous: tuple[str, ...]
    read: dict[str, str]

    def settle(
        self,
        previous: Sequence[str],
        turns: Sequence[MemoryRecord],
        decisions: Sequence[Decision],
        requests: Sequence[Voice],
    ) -> Summary | None:
        """The summary as it may be written; None where it read something else than what is there now.

        Args:
            previous: the points so far, as they are now.
            turns: the turns that a summary is to read, as they are now.
            decisions: what was decided since: what was replaced isn't in it any more.
            requests: what was asked to be forgotten since, and by whom.
        """
        if self.read != {turn.id: turn.text for turn in turns}:
            return None
        if list(previous) != amend(self.previous, decisions, requests):
            return None
        kept = amend([point.text for point in self.answer.points], decisions, requests)
        return Summary(points=[point for point in self.answer.points if point.text in kept])


@dataclass
class Draft:
    """Proposals by the turn's id, summaries by the thread's, and the turns for which no model was asked."""

    unasked: set[str] = field(default_factory=set)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    summaries: dict[str, SummaryDraft] = field(default_factory=dict)


def decide_by_proposal(
    facts: Sequence[Fact], proposal: Proposal, active: Sequence[MemoryRecord], others: Sequence[MemoryRecord]
) -> Verdict:
    """Decide as a model proposed, as far as it can be trusted; what it wasn't shown is compared by rules.

    Args:
        facts: the turn's facts that repeat nothing.
        proposal: what was proposed for the turn.
        active: the memories that the model was shown and that are still active, as they are now.
        others: the known memories that it wasn't shown.
    """
    if proposal.failure:
        warnings = [f"reconciliation added everything: {proposal.failure}"] if facts else []
        return Verdict(add_all(facts, proposal.failure, "fallback"), warnings)
    if proposal.shown:
        verdict = decide_by_answer(facts, active, _answer(facts, proposal, active))
    else:
        verdict = Verdict(add_all(facts, "nothing is known about it"))
    # The facts are in a model's words, and a model doesn't change what was saved on purpose.
    left = {record.id: record for record in others if not (record.pinned or record.manually_saved)}
    decisions: list[Decision] = []
    for decision in verdict.decisions:
        added = decision.event == "ADD" and decision.target is None and decision.fact is not None
        found = decide_by_rules([decision.fact], list(left.values())) if added and decision.fact else []
        decisions += found if any(each.target for each in found) else [decision]
        for each in found:
            left.pop(each.target or "", None)
    return Verdict(decisions, verdict.warnings)


def _answer(facts: Sequence[Fact], proposal: Proposal, active: Sequence[MemoryRecord]) -> Changes:
    """The proposal as an answer about these facts and these memories; a number that names none of them names none."""
    labels = {fact.key: fact_label(place) for place, fact in enumerate(facts)}
    places = {record.id: place for place, record in enumerate(active)}
    changes = []
    for proposed in proposal.changes:
        if proposed.fact is not None and proposed.fact not in labels:
            continue  # a repeat, or a fact that is stored already
        changes.append(
            Change(
                event=proposed.event,
                fact=labels.get(proposed.fact or ""),
                id=_place(proposed.number, proposal.shown, places),
            )
        )
    return Changes(changes=changes)


def _place(number: int | None, shown: Sequence[MemoryRecord], places: dict[str, int]) -> int | None:
    if number is None:
        return None
    if 0 <= number < len(shown):
        return places.get(shown[number].id)  # None: it was retired meanwhile
    return number if number < 0 else max(number, len(places))
