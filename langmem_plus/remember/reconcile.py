"""Compare new facts with what is known, and store what was decided in one batch.

What is decided is told in `weigh`, how it is written in `enact`. The batch holds the new facts, the tombstones, the
strengthened duplicates and the turns, marked as extracted: all of it is written, or the turns wait for the next try.
What the owner has to approve first is stored as pending (`review`); a graph that can, asks before it writes
(`ask_owner`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.records import Decision, Fact, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.answer import Answer
from langmem_plus.remember.ask_owner import aonce, ask, can_ask, once
from langmem_plus.remember.decide import FORGET, is_request
from langmem_plus.remember.draft import Draft
from langmem_plus.remember.enact import Decided, describe, enact_steps
from langmem_plus.remember.forgetting import concerns
from langmem_plus.remember.late import answer_late_steps
from langmem_plus.remember.review import REJECTED, WAITS
from langmem_plus.remember.steps import Claim, Release, Steps, arun_steps, run_steps
from langmem_plus.remember.weigh import weigh_steps
from langmem_plus.services import Services, Update, stage
from langmem_plus.speakers import name_of
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import audit

_LEFT = {WAITS: "waiting", REJECTED: "rejected"}
_COUNTED = {"ADD": "facts_added", "UPDATE": "facts_updated", "DELETE": "facts_deleted", "NONE": "facts_repeated"}

Read = tuple[list[MemoryRecord], list[Fact], str, Draft | None]


@dataclass
class Reconciliation:
    """The decisions, and what happened."""

    decisions: list[Decision] = field(default_factory=list)
    report: MemoryReport = field(default_factory=MemoryReport)
    waiting: list[Decision] = field(default_factory=list)  # for the owner, or rejected
    refused: set[str] = field(default_factory=set)  # the keys of the requests to forget of which something is
    warned: dict[str, list[str]] = field(default_factory=dict)  # what the report warns of about one turn, by its id


def reconcile_steps(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str = "",
    draft: Draft | None = None,
) -> Steps[Reconciliation]:
    """Decide about the facts and write the decisions; the claims on the turns end, whatever happens."""
    if not turns:
        return Reconciliation()
    try:
        decided = yield from _weigh_claimed(services, scope, turns, facts, claim, draft)
        result = yield from carry_out_steps(services, scope, decided)
    except Exception:
        yield Release(scope.namespace, [turn.id for turn in turns], claim)
        raise
    yield Release(scope.namespace, [turn.id for turn in turns], claim)
    return result


def decide_steps(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str = "",
    draft: Draft | None = None,
) -> Steps[Decided]:
    """Decide about the facts and write nothing: a person is asked first. The claims on the turns end: who waits for an
    answer holds nobody up.
    """
    if not turns:
        return Decided()
    try:
        decided = yield from _weigh_claimed(services, scope, turns, facts, claim, draft)
    except Exception:
        yield Release(scope.namespace, [turn.id for turn in turns], claim)
        raise
    yield Release(scope.namespace, [turn.id for turn in turns], claim)
    return decided


def _weigh_claimed(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str,
    draft: Draft | None,
) -> Steps[Decided]:
    mine: set[str] = (yield Claim(scope.namespace, [turn.id for turn in turns], claim)) if claim else set()
    return (yield from weigh_steps(services, scope, [t for t in turns if t.id in mine or not claim], facts, draft))


def carry_out_steps(
    services: Services, scope: Scope, decided: Decided, answer: Answer | None = None
) -> Steps[Reconciliation]:
    """Write what was decided, as a person answered where one was asked; gives what was done."""
    done = yield from enact_steps(services, decided, answer)
    if answer is not None and done.late:
        yield from answer_late_steps(services, scope, decided, answer, done)
    if any(map(is_request, decided.facts)):
        _audit(scope, done.decisions)
    events = Counter[str](decision.event for decision in done.decisions if decision.fact or decision.target)
    done.report.counts = {name: events[event] for event, name in _COUNTED.items()}
    stays = Counter(verdict for decision, verdict in done.left if decision.event != "NONE")
    done.report.counts |= {f"facts_{_LEFT[verdict]}": count for verdict, count in stays.items()}
    done.report.decisions = [
        *map(describe, done.decisions),
        *({**describe(decision), "review": verdict} for decision, verdict in done.left),
    ]
    left = [decision for decision, _ in done.left]
    return Reconciliation(done.decisions, done.report, left, _find_refused(decided, done.decisions), decided.warned)


def _find_refused(decided: Decided, done: Sequence[Decision]) -> set[str]:
    """The keys of the requests to forget that were held for the owner, and not approved: nothing loses for them what
    they ask to forget.
    """
    carried_out = {decision.target for decision in done}
    held = [
        writing.seen[target]
        for writing in decided.writings
        for each in writing.waiting
        for target in each.targets
        if each.fact is None and target not in carried_out and target in writing.seen
    ]
    requests = [fact for fact in decided.facts if is_request(fact)] if held else []
    return {
        fact.key
        for fact in requests
        if any(concerns(str(fact.metadata[FORGET]), record, name_of(fact)) for record in held)
    }


def _audit(scope: Scope, decisions: Sequence[Decision]) -> None:
    """What the user asked to forget, in so many words, is what they decided, as with the client's `forget`."""
    for decision in decisions:
        if decision.event == "DELETE" and decision.fact is None and decision.by == "rule":
            audit("forget", by="conversation", user_id=scope.user_id, space=scope.space, id=decision.target)


def reconcile(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str = "",
    draft: Draft | None = None,
) -> Reconciliation:
    """Store the facts of some turns as what is known allows, and mark the turns as extracted.

    Args:
        services: the settings, the store and the model.
        scope: whose memory.
        turns: the turns that were read.
        facts: what was drawn out of them.
        claim: in whose name the turns are claimed, as `extract` says; these claims end.
        draft: what the model proposed together with the facts, as `extract` says; None asks it.
    """
    return run_steps(reconcile_steps(services, scope, turns, facts, claim, draft), services, services.find_store())


async def areconcile(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str = "",
    draft: Draft | None = None,
) -> Reconciliation:
    """`reconcile`, awaiting."""
    return await arun_steps(
        reconcile_steps(services, scope, turns, facts, claim, draft), services, services.find_store()
    )


def _answered_steps(
    services: Services, scope: Scope, decided: Decided, answer: Answer | None, turns: Sequence[MemoryRecord], claim: str
) -> Steps[Reconciliation]:
    """Write what was decided; turns that were claimed again, since the node runs again, are let go."""
    if turns:
        yield Release(scope.namespace, [turn.id for turn in turns], claim)
    return (yield from carry_out_steps(services, scope, decided, answer))


def reconcile_node(services: Services) -> Runnable[MemoryState, Update]:
    """Store the facts that were drawn out; writes ``memory_decisions``. Where the owner has to approve some of it and
    the graph can wait, it asks before anything is written.
    """

    def read(state: MemoryState, config: RunnableConfig) -> Read:
        if services.is_incognito(config):
            return [], [], "", None
        claim = state.get("memory_claim") or ""
        return state.get("memory_turns") or [], state.get("memory_facts") or [], claim, state.get("memory_draft")

    def update(
        state: MemoryState, result: Reconciliation, facts: Sequence[Fact], decided: Decided | None = None
    ) -> Update:
        # What isn't forgotten yet leaves no summary and no archive.
        left = [fact for fact in facts if fact.key not in result.refused]
        found = {"memory_decisions": result.decisions, "memory_report": result.report, "memory_facts": left}
        before = state.get("memory_warned") or {}
        ids = dict.fromkeys([*before, *result.warned])
        found["memory_warned"] = {id: [*before.get(id, ()), *result.warned.get(id, ())] for id in ids}
        # A run that is resumed has lost turns and facts, and the summary is made of them.
        return found if decided is None else {**found, "memory_turns": decided.turns}

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        scope, known = services.find_scope(config), read(state, config)
        if services.is_incognito(config) or not can_ask(services, config):
            return update(state, reconcile(services, scope, *known), known[1])
        store = services.find_store()
        decided = once(lambda: run_steps(decide_steps(services, scope, *known), services, store))
        steps = _answered_steps(services, scope, decided, ask(scope, decided), known[0], known[2])
        return update(state, run_steps(steps, services, store), decided.facts, decided)

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        scope, known = services.find_scope(config), read(state, config)
        if services.is_incognito(config) or not can_ask(services, config):
            return update(state, await areconcile(services, scope, *known), known[1])
        store = services.find_store()
        decided = await aonce(lambda: arun_steps(decide_steps(services, scope, *known), services, store))
        steps = _answered_steps(services, scope, decided, ask(scope, decided), known[0], known[2])
        return update(state, await arun_steps(steps, services, store), decided.facts, decided)

    return stage("reconcile", services, run, arun, fallback={"memory_decisions": []})
