"""Compare new facts with what is known, and store what was decided in one batch.

Near-duplicates are found before any model is asked; the rest is compared with its neighbours by the model, or by rules
without one. The batch holds the new facts, the tombstones, the strengthened duplicates and the turns, marked as
extracted: all of it is written, or the turns wait for the next try.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import PutOp

from langmem_plus.errors import ConfigError
from langmem_plus.prompts import Changes, ask_to_forget, render_reconciliation
from langmem_plus.records import Decision, Fact, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.decide import (
    FORGET,
    Verdict,
    add_all,
    decide_by_answer,
    decide_by_rules,
    decide_forgetting,
    find_repeats,
    is_request,
)
from langmem_plus.remember.draft import Draft, Proposal, decide_by_proposal
from langmem_plus.remember.forgetting import find_forgotten, find_witnesses, withheld
from langmem_plus.remember.ledger import Ledger, nearest
from langmem_plus.remember.neighbours import KNOWN, alive, find_neighbours, neighbour_count
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.settle import settle, waits
from langmem_plus.remember.statements import asks_not_to_keep
from langmem_plus.remember.steps import (
    Ask,
    Claim,
    Namespace,
    Release,
    Steps,
    arun_steps,
    get_records,
    list_records,
    put,
    run_steps,
)
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import audit

logger = logging.getLogger(__name__)

_COUNTED = {"ADD": "facts_added", "UPDATE": "facts_updated", "DELETE": "facts_deleted", "NONE": "facts_repeated"}


@dataclass
class Reconciliation:
    """The decisions, and what happened."""

    decisions: list[Decision] = field(default_factory=list)
    report: MemoryReport = field(default_factory=MemoryReport)


def decide_turn(
    facts: Sequence[Fact],
    ids: Sequence[str],
    ledger: Ledger,
    services: Services,
    proposal: Proposal | None = None,
) -> Steps[Verdict]:
    """Decide about the facts of one turn, each step over what the ones before it left; the decisions in the order in
    which they are to be done.

    Args:
        facts: the turn's facts.
        ids: the known records that are most like them.
        ledger: what is known, and what this run decided already.
        services: the settings and the model.
        proposal: what a model proposed together with the facts, so that it isn't asked again.
    """
    repeats, rest = find_repeats(facts, ledger.active(ids), services.config.simhash_distance)
    verdict = Verdict()
    if not services.config.neighbourhood:
        ids = ()  # what was looked up is there to find repeats alone
    if services.model is None or not rest:
        for fact in rest:
            known = ledger.active([*ids, *(record.id for record in ledger.added())])
            decisions = decide_by_rules([fact], known)
            verdict.decisions += decisions
            _apply(ledger, decisions)
        _apply(ledger, repeats)
        return Verdict([*verdict.decisions, *repeats])
    open_facts = []
    for fact in rest:
        decisions = decide_forgetting(fact, ledger.active(ids)) if is_request(fact) else []
        if any(decision.event == "DELETE" for decision in decisions):
            verdict.decisions += decisions
            _apply(ledger, decisions)
        else:
            open_facts.append(fact)
    if proposal is None:
        asked = yield from _ask(open_facts, ledger.active(ids), services)
    else:
        shown = [record.id for record in proposal.shown]
        others = ledger.active(each for each in ids if each not in shown)
        asked = decide_by_proposal(open_facts, proposal, ledger.active(shown), others)
    _apply(ledger, [*asked.decisions, *repeats])
    return Verdict([*verdict.decisions, *asked.decisions, *repeats], asked.warnings)


def _ask(facts: Sequence[Fact], known: Sequence[MemoryRecord], services: Services) -> Steps[Verdict]:
    """Let the model decide; where nothing is known there is nothing to ask, and where it fails everything is added."""
    if not known or not facts:
        return Verdict(add_all(facts, "nothing is known about it"))
    try:
        texts = [ask_to_forget(fact.text) if is_request(fact) else fact.text for fact in facts]
        answer = yield Ask(render_reconciliation(texts, known), Changes)
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - a model or a network that fails must not lose a fact
        logger.warning("memory: the model can't reconcile, so %d facts are added: %s", len(facts), error)
        reason = f"the model failed: {type(error).__name__}: {error}"
        return Verdict(add_all(facts, reason, "fallback"), [f"reconciliation added everything: {reason}"])
    return decide_by_answer(facts, known, answer)


def _apply(ledger: Ledger, decisions: Sequence[Decision]) -> None:
    for decision in decisions:
        ledger.apply(decision)


def reconcile_steps(
    services: Services,
    scope: Scope,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    claim: str = "",
    draft: Draft | None = None,
) -> Steps[Reconciliation]:
    """Decide about the facts and write the decisions; the claims on the turns end, whatever happens."""
    result = Reconciliation()
    if not turns:
        return result
    namespace = scope.namespace
    try:
        mine: set[str] = (yield Claim(namespace, [turn.id for turn in turns], claim)) if claim else set()
        turns = [turn for turn in turns if turn.id in mine or not claim]
        elsewhere = [each for each in scope.namespaces if each != namespace]
        yield from _reconcile(services, namespace, turns, facts, result, elsewhere, draft or Draft())
        if any(map(is_request, facts)):
            _audit(scope, result.decisions)
    except Exception:
        yield Release(namespace, [turn.id for turn in turns], claim)
        raise
    yield Release(namespace, [turn.id for turn in turns], claim)
    return result


def _audit(scope: Scope, decisions: Sequence[Decision]) -> None:
    """What the user asked to forget, in so many words, is what they decided, as with the client's `forget`."""
    for decision in decisions:
        if decision.event == "DELETE" and decision.fact is None and decision.by == "rule":
            audit("forget", by="conversation", user_id=scope.user_id, space=scope.space, id=decision.target)


def _reconcile(
    services: Services,
    namespace: Namespace,
    turns: Sequence[MemoryRecord],
    facts: Sequence[Fact],
    result: Reconciliation,
    elsewhere: Sequence[Namespace],
    draft: Draft,
) -> Steps[None]:
    stored = yield from get_records(namespace, [*(turn.id for turn in turns), *(fact.key for fact in facts)])
    # A turn that was deleted, edited or worked off by somebody else in the meantime has nothing to give.
    waiting = {turn.id: stored[turn.id] for turn in turns if waits(stored.get(turn.id), turn)}
    fresh = [fact for fact in facts if fact.source_id in waiting and (is_request(fact) or fact.key not in stored)]
    neighbours = yield from find_neighbours(namespace, fresh, services)
    requests = [fact for fact in fresh if is_request(fact)]
    yield from _find_concerned(namespace, requests, neighbours, services)
    ledger = Ledger(waiting, services.clock())
    decisions: list[Decision] = []
    forgotten: list[Decision] = []
    for turn in waiting:
        mine = [fact for fact in fresh if fact.source_id == turn]
        proposal = draft.proposals.get(turn)
        # First as the model saw them: what was changed since is found when the decisions are written.
        ids = ledger.learn(proposal.shown) if proposal else []
        ids += [each for fact in mine for each in ledger.learn(neighbours.get(fact.key, ()))]
        earlier = [record for fact in mine for record in nearest(fact.text, ledger.added(), neighbour_count(services))]
        ids += [record.id for record in earlier]
        verdict = yield from decide_turn(mine, ids, ledger, services, proposal)
        decisions += verdict.decisions
        result.report.warnings += verdict.warnings
    seen = {record.id: record for records in neighbours.values() for record in records}
    shown = (record for proposal in draft.proposals.values() for record in proposal.shown)
    seen |= {record.id: record for record in shown}
    # Who asks to forget, or not to keep, speaks to memory: that is nothing to recall.
    asking = [fact.source_id for fact in requests]
    asking += [turn.id for turn in waiting.values() if asks_not_to_keep(turn.text)]
    witnesses = yield from find_witnesses(namespace, decisions, fresh, seen.values())
    seen |= waiting
    # First where else it is recalled from: if that fails, the turn that asks still waits.
    for other in elsewhere if requests else ():
        forgotten += yield from _forget_in(other, requests, services)
    result.decisions = yield from _write(services, namespace, list(waiting), decisions, seen, witnesses, asking)
    result.decisions += forgotten
    events = Counter[str](decision.event for decision in result.decisions if decision.fact or decision.target)
    result.report.counts = {name: events[event] for event, name in _COUNTED.items()}
    result.report.decisions = [describe(decision) for decision in result.decisions]


def _find_concerned(
    namespace: Namespace, requests: Sequence[Fact], found: dict[str, list[MemoryRecord]], services: Services
) -> Steps[None]:
    """Add all records that requests to forget can mean to those that were found by likeness in words."""
    if not requests:
        return
    listed = yield from list_records(namespace, KNOWN)
    everything = alive(listed, services.clock())
    for request in requests:
        near = found.setdefault(request.key, [])
        ids = {record.id for record in near}
        text = str(request.metadata[FORGET])
        near += [record for record in everything if record.id not in ids and find_forgotten(text, [record])[0]]


def _forget_in(namespace: Namespace, requests: Sequence[Fact], services: Services) -> Steps[list[Decision]]:
    """Do what was asked to forget in another namespace that recall searches too, by rules; gives what was done."""
    known = yield from find_neighbours(namespace, requests, services)
    yield from _find_concerned(namespace, requests, known, services)
    decisions = [
        decision
        for request in requests
        for decision in decide_forgetting(request, known[request.key])
        if decision.event == "DELETE"
    ]
    if not decisions:
        return []
    seen = {record.id: record for records in known.values() for record in records}
    witnesses = yield from find_witnesses(namespace, decisions, requests, seen.values())
    return (yield from _write(services, namespace, [], decisions, seen, witnesses, []))


def _write(
    services: Services,
    namespace: Namespace,
    turns: Sequence[str],
    decisions: Sequence[Decision],
    seen: Mapping[str, MemoryRecord],
    witnesses: Sequence[str],
    asking: Sequence[str],
) -> Steps[list[Decision]]:
    """Write the decisions, brought to the records as they are now; gives those that held.

    Between reading and writing others may write, and people may edit the files: then they are settled again.
    """
    settled: list[Decision] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        now = services.clock()
        waiting = {turn: current[turn] for turn in turns if waits(current.get(turn), seen.get(turn))}
        settled[:] = settle(decisions, seen, current)
        ledger = Ledger(waiting, now)
        ledger.learn(record for record in current.values() if record.role == "memory")
        _apply(ledger, settled)
        done = [turn.model_copy(update={"extracted": True, "updated_at": now}) for turn in waiting.values()]
        forgets = any(decision.event == "DELETE" and decision.fact is None for decision in settled)
        marked = {turn.id: turn for turn in done}
        hidden = withheld({**current, **marked}, [*asking, *(witnesses if forgets else ())])
        written = {**marked, **hidden}
        return [*ledger.puts(namespace), *(put(namespace, turn) for turn in written.values())]

    keys = [key for each in decisions for key in (each.target, each.fact and each.fact.key) if key]
    yield from rewrite(namespace, [*turns, *keys, *witnesses], change)
    return settled


def describe(decision: Decision) -> dict[str, object]:
    """A decision for the report: what, about which text, which record, why, and who decided."""
    text = decision.fact.text if decision.fact else None
    return {
        "event": decision.event,
        "text": text,
        "id": decision.fact.key if decision.fact else None,
        "target": decision.target,
        "reason": decision.reason,
        "by": decision.by,
    }


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


def reconcile_node(services: Services) -> Runnable[MemoryState, Update]:
    """Store the facts that were drawn out; writes ``memory_decisions``."""

    def read(state: MemoryState, config: RunnableConfig) -> tuple[list[MemoryRecord], list[Fact], str, Draft | None]:
        if services.is_incognito(config):
            return [], [], "", None
        claim = state.get("memory_claim") or ""
        return state.get("memory_turns") or [], state.get("memory_facts") or [], claim, state.get("memory_draft")

    def update(result: Reconciliation) -> Update:
        return {"memory_decisions": result.decisions, "memory_report": result.report}

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        return update(reconcile(services, services.find_scope(config), *read(state, config)))

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        return update(await areconcile(services, services.find_scope(config), *read(state, config)))

    return stage("reconcile", services, run, arun, fallback={"memory_decisions": []})
