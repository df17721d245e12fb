"""Carry out what was decided: one batch a namespace, brought to the records as they are now.

Between deciding and writing others may write, people may edit the files, and a person may be asked (`review`). All that
is needed for the writing stands in a `Decided`, plain enough to be kept in a checkpoint.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import PutOp
from pydantic import BaseModel, Field

from langmem_plus.records import DRAWN, SAYS_MORE, Decision, Fact, MemoryRecord, MemoryReport
from langmem_plus.remember.answer import APPROVED, Answer
from langmem_plus.remember.ledger import Ledger
from langmem_plus.remember.review import REJECTED, WAITS, Policy, Waiting, find_held, group, note
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.settle import settle_each, waits
from langmem_plus.remember.steps import Namespace, Steps, get_records, list_records, put
from langmem_plus.remember.tombstones import may_return
from langmem_plus.remember.untold import says_more
from langmem_plus.remember.witnesses import exchange_of, withheld
from langmem_plus.services import Services
from langmem_plus.text import fingerprint

LATE = "review"  # the note of a report that says that an answer came too late
_TOO_LATE = "turns were worked off, edited or deleted meanwhile; nothing of them was written"


class Writing(BaseModel):
    """What was decided about one namespace.

    Attributes:
        namespace: where it is written.
        turns: the ids of the turns that were worked off.
        decisions: what is to be done, in order.
        seen: the records that the decisions are about and the turns, as they were read, by id.
        witnesses: the ids of the turns through which what is forgotten would come back.
        asking: the ids of the turns that speak to memory itself, or say what was forgotten since.
        held: the keys of what waits for the owner.
    """

    namespace: tuple[str, ...]
    turns: list[str] = Field(default_factory=list)
    decisions: list[Decision] = Field(default_factory=list)
    seen: dict[str, MemoryRecord] = Field(default_factory=dict)
    witnesses: list[str] = Field(default_factory=list)
    asking: list[str] = Field(default_factory=list)
    held: list[str] = Field(default_factory=list)

    def hold(self, policy: Policy | None) -> None:
        """Ask a policy, once, what waits."""
        self.held = find_held(self.namespace, self.decisions, self.seen, policy)

    @property
    def waiting(self) -> list[Waiting]:
        """What waits for the owner."""
        return group(self.namespace, self.decisions, self.held)

    @property
    def named(self) -> list[str]:
        """The ids of the records that the decisions are about, and of the facts that they store."""
        return [key for each in self.decisions for key in (each.target, each.fact and each.fact.key) if key]


class Decided(BaseModel):
    """All that was decided in a run, the own namespace last: if the writing breaks off, its turns still wait.

    Attributes:
        user_id: whose decisions they are, so that nobody else answers for them.
        warned: those of the warnings that are about one turn, by its id.
    """

    user_id: str = ""
    writings: list[Writing] = Field(default_factory=list)
    facts: list[Fact] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    warned: dict[str, list[str]] = Field(default_factory=dict)

    @property
    def turns(self) -> list[MemoryRecord]:
        """The turns that were worked off, as they were read."""
        return [writing.seen[turn] for writing in self.writings for turn in writing.turns if turn in writing.seen]

    @property
    def held(self) -> list[str]:
        """The keys of all that waits."""
        return [key for writing in self.writings for key in writing.held]

    def describe(self) -> list[dict[str, Any]]:
        """What waits, as a person is asked about it."""
        return [each.describe(writing.seen) for writing in self.writings for each in writing.waiting]


@dataclass
class Done:
    """What was done: the decisions that hold, what waits or was rejected, what was answered too late, by its keys, and
    what went wrong.
    """

    decisions: list[Decision] = field(default_factory=list)
    left: list[tuple[Decision, str]] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    report: MemoryReport = field(default_factory=MemoryReport)


def enact_steps(services: Services, decided: Decided, answer: Answer | None = None) -> Steps[Done]:
    """Write what was decided; what waits becomes pending, unless it is answered.

    Args:
        services: the settings.
        decided: what is to be written.
        answer: what a person said of it; None where nobody was asked.
    """
    done = Done(report=MemoryReport(warnings=list(decided.warnings)))
    if answer is not None and decided.writings:
        own = decided.writings[-1]
        current = yield from get_records(own.namespace, own.turns)
        if own.turns and not any(waits(current.get(turn), own.seen.get(turn)) for turn in own.turns):
            done.report.notes[LATE] = _TOO_LATE
            done.late = set(decided.held)
            return done
    for writing in decided.writings:
        held = writing.waiting
        replies = (yield from _find_replies(writing, held)) if held else []
        yield from _Writer(services, writing, held, answer, done).write(replies)
    return done


def _find_replies(writing: Writing, held: Sequence[Waiting]) -> Steps[list[str]]:
    """The replies to the turns whose facts wait: they may say them, too."""
    turns = [writing.seen.get(each.fact.source_id) for each in held if each.fact]
    return (yield from find_replies(writing.namespace, [turn for turn in turns if turn is not None]))


def find_replies(namespace: Namespace, turns: Sequence[MemoryRecord]) -> Steps[list[str]]:
    """The ids of the assistant's replies to some turns."""
    asked = {exchange_of(turn) for turn in turns} - {None}
    found: list[str] = []
    for thread_id in dict.fromkeys(turn.thread_id for turn in turns if turn.thread_id is not None):
        replies = yield from list_records(namespace, {"role": "assistant", "thread_id": thread_id})
        found += [reply.id for reply in replies if exchange_of(reply) in asked and may_return(reply)]
    return found


class _Writer:
    """Writes one namespace; each try begins with the records as they are."""

    def __init__(
        self, services: Services, writing: Writing, held: Sequence[Waiting], answer: Answer | None, done: Done
    ) -> None:
        self.services = services
        self.writing = writing
        self.held = held
        self.answer = answer
        self.done = done
        self.decisions: list[Decision] = []
        self.left: list[tuple[Decision, str]] = []
        self.warnings: list[str] = []
        self.late: set[str] = set()

    def write(self, replies: Sequence[str]) -> Steps[None]:
        """Write, and tell what was done."""
        writing = self.writing
        said = [*writing.turns, *writing.asking, *writing.witnesses, *replies]
        keys = [*said, *writing.named, *(each.key for each in self.held)]

        def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
            return self._change(current, replies)

        yield from rewrite(writing.namespace, keys, change)
        self.done.decisions = [*self.decisions, *self.done.decisions]  # the own namespace's, written last, come first
        self.done.left += self.left
        self.done.report.warnings += self.warnings
        if self.late and self.answer is not None:
            self.done.report.notes[LATE] = _TOO_LATE
            self.done.late |= self.late

    def _change(self, current: dict[str, MemoryRecord], replies: Sequence[str]) -> list[PutOp]:
        writing, now = self.writing, self.services.clock()
        waiting = {turn: current[turn] for turn in writing.turns if waits(current.get(turn), writing.seen.get(turn))}
        ledger = Ledger(waiting, now)
        ledger.learn(record for record in current.values() if record.role == "memory")
        noted = self._apply(ledger, current, waiting)
        puts = ledger.puts(writing.namespace)
        texts = {id: record.text for id, record in current.items()}
        texts |= {op.key: str(op.value["text"]) for op in puts if op.value is not None}
        turns = {id: self._worked_off(turn, texts, now) for id, turn in waiting.items()}
        forgets = any(decision.event == "DELETE" and decision.fact is None for decision in self.decisions)
        hidden = [*writing.asking, *(writing.witnesses if forgets else ())]
        turns |= withheld({**current, **turns}, hidden)
        for key, (source, state) in noted.items():
            about = exchange_of(turns[source])
            said = [each for each in replies if each in current and may_return(current[each])]
            for id in (source, *(each for each in said if about and exchange_of(current[each]) == about)):
                turns[id] = note(turns.get(id) or current[id], key, state)
        return [*puts, *(put(writing.namespace, turn) for turn in turns.values())]

    def _worked_off(self, turn: MemoryRecord, texts: Mapping[str, str], now: dt.datetime) -> MemoryRecord:
        """The turn as its facts leave it, with their fingerprints: they tell whether what it says still holds.

        Args:
            turn: what was worked off.
            texts: of all that is stored now, by its id.
            now: when.
        """
        drawn = [(each, each.fact) for each in self.writing.decisions if each.fact and each.fact.source_id == turn.id]
        metadata = {name: value for name, value in turn.metadata.items() if name not in (SAYS_MORE, DRAWN)}
        ids = [each.target if each.event == "NONE" else fact.key for each, fact in drawn if each.event != "DELETE"]
        prints = {id: fingerprint(texts[id]) for id in ids if id is not None and id in texts}
        if prints:
            more = says_more(turn.text, [fact.text for _, fact in drawn])
            metadata[SAYS_MORE if more else DRAWN] = prints
        return turn.model_copy(update={"extracted": True, "updated_at": now, "metadata": metadata})

    def _apply(
        self, ledger: Ledger, current: Mapping[str, MemoryRecord], turns: Mapping[str, MemoryRecord]
    ) -> dict[str, tuple[str, str]]:
        """Bring the ledger to what was decided; gives the facts that wait or were rejected, with their turns."""
        writing = self.writing
        self.decisions, self.left, self.warnings, self.late = [], [], [], set()
        kept = settle_each(writing.decisions, writing.seen, current)
        group = {id(decision): each for each in self.held for decision in each.decisions}
        verdicts = self._judge({id(each): left for each, left in zip(writing.decisions, kept, strict=True)}, turns)
        noted: dict[str, tuple[str, str]] = {}
        for decision, settled in zip(writing.decisions, kept, strict=True):
            each = group.get(id(decision))
            verdict = APPROVED if each is None else verdicts[each.key]
            if each is not None and _is_late(decision, verdict, turns, current.get(each.key)):
                self.late.add(each.key)
            elif each is None or verdict == APPROVED:
                if settled is not None:
                    ledger.apply(settled)
                    self.decisions.append(settled)
            else:
                noted |= self._leave(ledger, each, decision, verdict)
        return noted

    def _leave(self, ledger: Ledger, each: Waiting, decision: Decision, verdict: str) -> dict[str, tuple[str, str]]:
        """Let one decision of something that isn't approved wait, or turn it down; gives what its turn notes."""
        self.left.append((decision, verdict))
        if decision is not each.decisions[0]:
            if decision.event == "NONE" and verdict == WAITS:
                ledger.apply(decision)
            return {}
        ledger.hold(each, self.writing.seen, rejected=verdict == REJECTED)
        return {each.key: (each.fact.source_id, verdict)} if each.fact is not None else {}

    def _judge(self, left: Mapping[int, Decision | None], turns: Mapping[str, MemoryRecord]) -> dict[str, str]:
        """What becomes of each thing that waits; what was approved and isn't right any more goes on waiting.

        Args:
            left: what is left of each decision now, by the decision's identity.
            turns: the turns that still wait.
        """
        verdicts: dict[str, str] = {}
        for each in self.held:
            verdict = self.answer.of(each.key) if self.answer else WAITS
            first, now = each.decisions[0], left[id(each.decisions[0])]
            lives = each.fact is None or each.fact.source_id in turns
            # It builds on something that isn't approved.
            loose = any(verdicts.get(target, APPROVED) != APPROVED for target in each.targets)
            if verdict == APPROVED and lives and (loose or now is None or now.event != first.event):
                verdict = WAITS
                self.warnings.append(
                    f"memory {each.key} was approved, but what it would replace has changed meanwhile: it waits as a "
                    "pending record; approve it anew, or reject it"
                )
            verdicts[each.key] = verdict
        return verdicts


def _is_late(decision: Decision, verdict: str, turns: Mapping[str, MemoryRecord], record: MemoryRecord | None) -> bool:
    """Whether a fact's turn is gone, or worked off by somebody else, or what is to be forgotten was left pending."""
    if decision.fact is not None:
        return decision.fact.source_id not in turns
    return verdict == APPROVED and record is not None and record.status == "pending"


def describe(decision: Decision) -> dict[str, Any]:
    """A decision for the report: what, about which text, which record, why, and who decided."""
    return {
        "event": decision.event,
        "text": decision.fact.text if decision.fact else None,
        "id": decision.fact.key if decision.fact else None,
        "target": decision.target,
        "reason": decision.reason,
        "by": decision.by,
    }
