"""Weigh new facts against what is known: near-duplicates, what is like them, what is to be forgotten. Writes nothing.

Near-duplicates are found before any model is asked; the rest is compared with its neighbours by the model, or by rules
without one. What a person approved by hand, and is met here, is brought to its end first.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence

from langmem_plus.errors import ConfigError
from langmem_plus.prompts import Changes, ask_to_forget, render_reconciliation
from langmem_plus.records import Decision, Fact, MemoryRecord, Scope
from langmem_plus.remember.approve import finish_steps
from langmem_plus.remember.barred import find_barred
from langmem_plus.remember.decide import (
    FORGET,
    Verdict,
    add_all,
    decide_by_answer,
    decide_by_rules,
    decide_forgetting,
    decide_renewed,
    find_repeats,
    is_request,
    link_older,
)
from langmem_plus.remember.draft import Draft, Proposal, decide_by_proposal
from langmem_plus.remember.enact import Decided, Writing, find_replies
from langmem_plus.remember.fact_records import to_record
from langmem_plus.remember.forgetting import find_forgotten
from langmem_plus.remember.ledger import Ledger, nearest
from langmem_plus.remember.neighbours import KNOWN, alive, find_neighbours, neighbour_count
from langmem_plus.remember.review import forgets
from langmem_plus.remember.rules import replaces
from langmem_plus.remember.settle import waits
from langmem_plus.remember.statements import asks_not_to_keep
from langmem_plus.remember.steps import Ask, Namespace, Steps, get_records, list_records
from langmem_plus.remember.undone import find_told, find_undone, tell_undone
from langmem_plus.remember.untold import says_beside
from langmem_plus.remember.witnesses import find_witnesses
from langmem_plus.services import Services
from langmem_plus.speakers import Voice, by_speaker, name_of

_BARRED = "its owner asked to forget it after it was said"
_PENDING = {"role": "memory", "status": "pending"}

logger = logging.getLogger(__name__)


def decide_turn(
    facts: Sequence[Fact],
    ids: Sequence[str],
    ledger: Ledger,
    services: Services,
    proposal: Proposal | None = None,
) -> Steps[Verdict]:
    """Decide about the facts of one turn, each step over what the ones before it left; the decisions in the order in
    which they are to be done. A request to forget meets what was said before it, and what is said after it holds.

    Args:
        facts: the turn's facts.
        ids: the known records that are most like them.
        ledger: what is known, and what this run decided already.
        services: the settings and the model.
        proposal: what a model proposed together with the facts, so that it isn't asked again.
    """
    verdict = Verdict()
    for _, part in itertools.groupby(facts, key=is_request):
        decided = yield from _decide_part(list(part), facts, ids, ledger, services, proposal)
        verdict.decisions += decided.decisions
        verdict.warnings += decided.warnings
    return verdict


def _decide_part(
    part: Sequence[Fact],
    facts: Sequence[Fact],
    ids: Sequence[str],
    ledger: Ledger,
    services: Services,
    proposal: Proposal | None,
) -> Steps[Verdict]:
    """Decide about those of a turn's facts that stand between its requests to forget, or about requests."""
    repeats, rest = find_repeats(part, ledger.active(ids), services.config.simhash_distance)
    verdict = Verdict()
    if not services.config.neighbourhood:
        ids = ()  # what was looked up is there to find repeats alone
    if services.model is None or not rest:
        for fact in rest:
            known = ledger.active([*ids, *(record.id for record in ledger.added())])
            decisions = [*decide_by_rules([fact], known), *_forget_replaced(fact, ledger, services)]
            verdict.decisions += decisions
            _apply(ledger, decisions)
        return Verdict([*verdict.decisions, *_say_again(facts, repeats, ids, ledger, services)])
    open_facts = []
    for fact in rest:
        said = [*ids, *(record.id for record in ledger.added())]
        decisions = decide_forgetting(fact, ledger.active(said)) if is_request(fact) else []
        decisions += _forget_replaced(fact, ledger, services)
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
    done = _say_again(facts, [*asked.decisions, *repeats], ids, ledger, services)
    return Verdict([*verdict.decisions, *done], asked.warnings)


def _say_again(
    facts: Sequence[Fact], decisions: Sequence[Decision], ids: Sequence[str], ledger: Ledger, services: Services
) -> list[Decision]:
    """Do what was decided about a turn's facts; what is known and was said again replaces what was said before, as it
    would if it were new, and is recalled before that where it doesn't. Where an earlier sentence of the turn retired
    it, it is new. Gives the decisions.
    """
    done: list[Decision] = []
    places = {each.key: each.ordinal for each in facts}
    for decision in decisions:
        fact, target = decision.fact, decision.target
        renewed: list[Decision] = []
        if decision.event == "NONE" and fact is not None and target:
            places.setdefault(target, fact.ordinal)
            apart = {target, *(each.key for each in facts if each.ordinal > fact.ordinal)}
            others = ledger.active([*ids, *(record.id for record in ledger.added() if ids)])
            others = [record for record in others if record.id not in apart]
            # A fact in a model's words doesn't change what was saved on purpose.
            free = [record for record in others if not (record.manually_saved and services.model is not None)]
            if ledger.active([target]):
                renewed = decide_renewed(fact, free)
                decision = decision.model_copy(update={"fact": link_older(fact, others)})
            elif _is_corrected(target, fact, facts, places, ledger):
                decision, *renewed = decide_by_rules([fact], free)
        _apply(ledger, [decision, *renewed])
        done += [decision, *renewed]
    return done


def _is_corrected(target: str, fact: Fact, facts: Sequence[Fact], places: Mapping[str, int], ledger: Ledger) -> bool:
    """Whether what a fact repeats was retired by an earlier sentence of its turn, and no later one says otherwise."""
    gone = next((record for record in ledger.replaced() if record.id == target), None)
    if gone is None or places.get(gone.replaced_by or "", fact.ordinal) >= fact.ordinal:
        return False
    later = by_speaker((each for each in facts if each.ordinal > fact.ordinal and not is_request(each)), fact)
    return not any(replaces(Voice.of(each).own, Voice.of(fact).own) for each in later)


def _forget_replaced(fact: Fact, ledger: Ledger, services: Services) -> list[Decision]:
    """What a request to forget means of what this run replaces: where that waits for the owner, it stays in force."""
    known = ledger.replaced() if is_request(fact) and services.review is not None else []
    found = (decision for record in known for decision in decide_forgetting(fact, [record]))
    return [decision for decision in found if decision.event == "DELETE"]


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


def weigh_steps(
    services: Services, scope: Scope, turns: Sequence[MemoryRecord], facts: Sequence[Fact], draft: Draft | None = None
) -> Steps[Decided]:
    """Decide about the facts of some turns, and what of it waits for the owner; nothing is written.

    Args:
        services: the settings, the model and the review policy.
        scope: whose memory.
        turns: the turns that were read.
        facts: what was drawn out of them.
        draft: what the model proposed together with the facts; None asks it.
    """
    namespace, draft = scope.namespace, draft or Draft()
    result = Decided(user_id=scope.user_id, facts=list(facts))
    stored = yield from get_records(namespace, [*(turn.id for turn in turns), *(fact.key for fact in facts)])
    # A turn that was deleted, edited or worked off by somebody else in the meantime has nothing to give.
    waiting = {each.id: stored[each.id] for each in turns if waits(stored.get(each.id), each, may_be_withheld=True)}
    fresh = [fact for fact in facts if fact.source_id in waiting and (is_request(fact) or fact.key not in stored)]
    barred, hidden = yield from _find_barred(scope, fresh, waiting, services)
    fresh = [fact for fact in fresh if fact.key not in barred]
    neighbours = yield from find_neighbours(namespace, fresh, services)
    if (yield from finish_steps(services, namespace, [each for near in neighbours.values() for each in near])):
        neighbours = yield from find_neighbours(namespace, fresh, services)
    requests = [fact for fact in fresh if is_request(fact)]
    yield from _find_concerned(namespace, requests, neighbours, services)
    ledger = Ledger(waiting, services.clock())
    verdict, result.warned = yield from _decide_turns(ledger, list(waiting), fresh, neighbours, draft, services)
    withdrawn, pending = yield from _withdraw(namespace, requests)
    left_out = [Decision(event="NONE", reason=_BARRED)] * len(barred)
    decisions = [*verdict.decisions, *withdrawn, *left_out]
    shown = (record for proposal in draft.proposals.values() for record in proposal.shown)
    seen = {each.id: each for each in (*pending, *(each for near in neighbours.values() for each in near), *shown)}
    # Who asks to forget, or not to keep, speaks to memory: that is nothing to recall.
    asking = [*hidden, *(fact.source_id for fact in requests if not says_beside(waiting[fact.source_id].text))]
    asking += [turn.id for turn in waiting.values() if asks_not_to_keep(turn.text)]
    witnesses = yield from find_witnesses(namespace, decisions, fresh, seen.values())
    for other in scope.namespaces if requests else ():
        if other != namespace and (elsewhere := (yield from _forget_in(other, requests, services))):
            result.writings.append(elsewhere)
    result.writings.append(
        Writing(
            namespace=namespace,
            turns=list(waiting),
            decisions=decisions,
            seen=_about(decisions, seen, waiting),
            witnesses=witnesses,
            asking=asking,
        )
    )
    made = [to_record(fact, waiting[fact.source_id], services.clock()) for fact in fresh if not is_request(fact)]
    about = [record for writing in result.writings for record in writing.seen.values()]
    done = [decision for writing in result.writings for decision in writing.decisions]
    undone = find_undone(requests, done, [*about, *made])
    told = yield from find_told(namespace, undone, neighbours)
    result.writings[-1].asking += [id for ids in told.values() for id in ids]
    for request in undone:
        if request.key not in told:
            result.warned.setdefault(request.source_id, []).append(tell_undone(request, done))
    result.warnings = [warning for warnings in result.warned.values() for warning in warnings]
    for writing in result.writings:
        writing.hold(services.review)
    return result


def _find_barred(
    scope: Scope, fresh: Sequence[Fact], turns: Mapping[str, MemoryRecord], services: Services
) -> Steps[tuple[set[str], list[str]]]:
    """The keys of the facts that were forgotten since they were said, and the ids of the turns that say it and of the
    replies.
    """
    facts = [fact for fact in fresh if not is_request(fact)]
    barred = yield from find_barred(scope.namespaces, facts, turns, services.config.simhash_distance)
    told = [turn for turn in turns.values() if turn.id in barred.turns]
    replies = (yield from find_replies(scope.namespace, told)) if told else []
    return set(barred.facts), [*sorted(barred.turns), *replies]


def _decide_turns(
    ledger: Ledger,
    turns: Sequence[str],
    fresh: Sequence[Fact],
    neighbours: Mapping[str, Sequence[MemoryRecord]],
    draft: Draft,
    services: Services,
) -> Steps[tuple[Verdict, dict[str, list[str]]]]:
    """What becomes of each turn's facts, one turn after the other: a later one meets what an earlier one added; and
    the warnings about each turn.
    """
    whole, warned, count = Verdict(), dict[str, list[str]](), neighbour_count(services)
    for turn in turns:
        mine = [fact for fact in fresh if fact.source_id == turn]
        proposal = draft.proposals.get(turn)
        # First as the model saw them: what was changed since is found when the decisions are written.
        ids = ledger.learn(proposal.shown) if proposal else []
        ids += [each for fact in mine for each in ledger.learn(neighbours.get(fact.key, ()))]
        earlier = [
            each for fact in mine for each in nearest(Voice.of(fact).own, by_speaker(ledger.added(), fact), count)
        ]
        ids += [record.id for record in earlier]
        verdict = yield from decide_turn(mine, ids, ledger, services, proposal)
        whole.decisions += verdict.decisions
        if verdict.warnings:
            warned[turn] = verdict.warnings
    return whole, warned


def _about(
    decisions: Sequence[Decision], seen: Mapping[str, MemoryRecord], turns: Mapping[str, MemoryRecord] | None = None
) -> dict[str, MemoryRecord]:
    """The records that decisions are about, and the turns."""
    targets = {decision.target for decision in decisions}
    return {**{id: record for id, record in seen.items() if id in targets}, **(turns or {})}


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
        asker = name_of(request)
        near += [each for each in everything if each.id not in ids and find_forgotten(text, [each], asker)[0]]


def _withdraw(namespace: Namespace, requests: Sequence[Fact]) -> Steps[tuple[list[Decision], list[MemoryRecord]]]:
    """What was asked to forget of what waits for the owner, each by itself: several may wait for the same place. Gives
    the decisions, and the records that they are about.
    """
    listed = (yield from list_records(namespace, _PENDING)) if requests else []
    found: dict[str, tuple[Decision, MemoryRecord]] = {}
    for record in (each for each in listed if not forgets(each)):
        for decision in (each for request in requests for each in decide_forgetting(request, [record])):
            if decision.event == "DELETE":
                found[record.id] = decision, record
    return [decision for decision, _ in found.values()], [record for _, record in found.values()]


def _forget_in(namespace: Namespace, requests: Sequence[Fact], services: Services) -> Steps[Writing | None]:
    """What was asked to forget in another namespace that recall searches too, by rules; None where nothing is meant."""
    known = yield from find_neighbours(namespace, requests, services)
    yield from _find_concerned(namespace, requests, known, services)
    decisions = [
        decision
        for request in requests
        for decision in decide_forgetting(request, known[request.key])
        if decision.event == "DELETE"
    ]
    withdrawn, pending = yield from _withdraw(namespace, requests)
    decisions += withdrawn
    if not decisions:
        return None
    seen = {record.id: record for record in (*pending, *(each for near in known.values() for each in near))}
    witnesses = yield from find_witnesses(namespace, decisions, requests, seen.values())
    return Writing(namespace=namespace, decisions=decisions, seen=_about(decisions, seen), witnesses=witnesses)
