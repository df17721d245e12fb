"""Draw facts out of the turns that wait: by a model, or by rules in the user's own words.

Only what the user newly said is read, never recalled text, system text or the assistant. A turn is done when its facts
are stored (`reconcile`), so a failure here leaves it waiting for the next try.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, ModelAnswerError
from langmem_plus.prompts import ExtractedFacts, FactKind, render_extraction
from langmem_plus.records import Fact, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.decide import FORGET
from langmem_plus.remember.sentences import own_words
from langmem_plus.remember.statements import find_statements, forget_requests
from langmem_plus.remember.steps import Ask, Claim, Namespace, Release, Steps, arun_steps, list_records, run_steps
from langmem_plus.remember.support import entities, find_tags, importance, support
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.text import words
from langmem_plus.tokens import counter

logger = logging.getLogger(__name__)


@dataclass
class Extraction:
    """The turns that were read, the facts in them, who claimed the turns, and what happened."""

    claim: str = ""
    turns: list[MemoryRecord] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    report: MemoryReport = field(default_factory=MemoryReport)


# A model may refuse one turn (a content filter) and take the next; so many failures of a batch are an outage, and each
# may have cost a time-out.
_OUTAGE = 3
_RENEWED = 1 / 3  # share of a lease after which it is made longer


def in_order(turns: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """The turns as they were said: by time, then by their place in the thread."""
    return sorted(turns, key=lambda turn: (turn.said_at, *_place(turn)))


def _place(turn: MemoryRecord) -> tuple[int, int]:
    places = (turn.metadata.get("turn"), turn.metadata.get("position"))
    first, second = (place if isinstance(place, int) else 0 for place in places)
    return first, second


def facts_by_rules(turn: MemoryRecord, config: MemoryConfig) -> list[Fact]:
    """The first-person statements of a turn, as the user wrote them."""
    found = [
        _fact(turn, place, statement.text, statement.kind, asked=statement.asked)
        for place, statement in enumerate(find_statements(turn.text, config.max_facts))
    ]
    return [*found, *_requests(turn, len(found))]


def facts_by_answer(turn: MemoryRecord, answer: ExtractedFacts, config: MemoryConfig) -> tuple[list[Fact], list[str]]:
    """The facts of a model's answer that the turn supports, and those that were dropped.

    A fact is dropped when too few of its words, or one of its numbers or names, can't be found in the turn.
    """
    source = f"{turn.metadata.get('name') or ''}: {turn.text}"
    asked = [item.text for item in find_statements(turn.text, config.max_facts) if item.asked]
    found: list[Fact] = []
    dropped: list[str] = []
    for item in answer.facts:
        text = " ".join(item.text.split())
        if not text or text in [fact.text for fact in found]:
            continue
        if support(text, source, turn.said_at) < config.fact_support:
            dropped.append(text)
        elif len(found) < config.max_facts:
            keep = bool(asked) and (item.keep or any(support(text, part) >= config.fact_support for part in asked))
            tags = item.tags or entities(text)
            fact = _fact(turn, len(found), text, item.kind, asked=keep, confidence=item.confidence, tags=tags)
            found.append(fact)
    return [*found, *_requests(turn, len(found))], dropped


def _requests(turn: MemoryRecord, start: int) -> list[Fact]:
    return [
        _fact(turn, place, text, "fact", tags=[]).model_copy(update={"metadata": {FORGET: text}})
        for place, text in enumerate(forget_requests(turn.text), start)
    ]


def _fact(
    turn: MemoryRecord,
    ordinal: int,
    text: str,
    kind: FactKind,
    *,
    asked: bool = False,
    confidence: float = 0.0,
    tags: list[str] | None = None,
) -> Fact:
    name = turn.metadata.get("name")
    return Fact(
        text=text,
        source_id=turn.id,
        ordinal=ordinal,
        importance=importance(kind, asked=asked, confidence=confidence),
        tags=find_tags(kind, text) if tags is None else tags,
        metadata_confidence=confidence,
        observed_at=turn.said_at,
        thread_id=turn.thread_id,
        manually_saved=asked,
        metadata={"kind": kind, **({"name": name} if name else {})},
    )


def draw_facts(turn: MemoryRecord, services: Services) -> Steps[tuple[list[Fact], list[str]]]:
    """The facts of one turn, and what is to be reported; an unreadable answer gives way to the rules."""
    config = services.config
    text = own_words(turn.text)
    if not words(text) or not config.max_facts:
        return [], []
    if services.model is None:
        return facts_by_rules(turn, config), []
    clipped = counter(config).clip(text, config.user_max_tokens)
    messages = render_extraction(
        clipped, max_facts=config.max_facts, name=turn.metadata.get("name"), said_at=turn.said_at
    )
    try:
        answer = yield Ask(messages, ExtractedFacts)
    except ModelAnswerError as error:
        return facts_by_rules(turn, config), [f"extraction fell back to rules: {error}"]
    facts, dropped = facts_by_answer(turn, answer, config)
    return facts, [f"a fact without support in its turn was dropped: {text!r}" for text in dropped]


def extract_steps(services: Services, scope: Scope) -> Steps[Extraction]:
    """Claim the pending turns of the namespace, this thread's and what was left behind, and draw their facts out."""
    namespace, now = scope.namespace, services.clock()
    waiting = yield from list_records(namespace, {"role": "user", "extracted": False, "status": "active"})
    pending = in_order([turn for turn in waiting if turn.expires_at is None or turn.expires_at > now])
    refusals = services.refusals
    # What a model refused before lets others go first; sorting keeps the order of all else.
    pending.sort(key=lambda turn: refusals.get(turn.id, 0))
    batch = pending[: services.config.turn_batch]
    result = Extraction(claim=uuid.uuid4().hex)
    keys = [turn.id for turn in batch]
    claimed: set[str] = (yield Claim(namespace, keys, result.claim)) if batch else set()
    mine = [turn for turn in batch if turn.id in claimed]
    try:
        failures = yield from _draw(services, namespace, mine, result)
    except ConfigError:
        yield Release(namespace, sorted(claimed), result.claim)
        raise  # no other turn would fare better; nothing is lost, they still wait
    result.report.counts = {
        "turns_read": len(result.turns),
        "facts_found": len(result.facts),
        "turns_left": len(pending) - len(batch),
        "turns_elsewhere": len(batch) - len(mine),
    }
    if failures:
        done = {turn.id for turn in result.turns}
        left = [turn.id for turn in mine if turn.id not in done]
        yield Release(namespace, left, result.claim)
        if not result.turns:
            raise failures[0]
        result.report.warnings.append(f"{len(left)} turns still wait for their facts: {failures[0]}")
        result.report.counts["turns_left"] += len(left)
    return result


def _draw(
    services: Services, namespace: Namespace, turns: Sequence[MemoryRecord], result: Extraction
) -> Steps[list[Exception]]:
    """Draw facts out of claimed turns, one after another; gives what went wrong."""
    failures: list[Exception] = []
    held, renewed = {turn.id for turn in turns}, time.monotonic()
    for turn in turns:
        if time.monotonic() - renewed > services.config.lease_seconds * _RENEWED:
            held, renewed = (yield Claim(namespace, sorted(held), result.claim)), time.monotonic()
        if turn.id not in held:
            continue  # a model took longer than the lease, and somebody else works on it now
        try:
            facts, warnings = yield from draw_facts(turn, services)
        except ConfigError:
            raise
        except Exception as error:
            logger.warning("memory: no facts could be drawn out of a turn, which still waits: %s", error, exc_info=True)
            failures.append(error)
            services.refusals[turn.id] = services.refusals.get(turn.id, 0) + 1
            if len(failures) == _OUTAGE or isinstance(error, TimeoutError):
                break
            continue
        services.refusals.pop(turn.id, None)
        result.turns.append(turn)
        result.facts += facts
        result.report.warnings += warnings
    return failures


def extract(services: Services, scope: Scope) -> Extraction:
    """Draw the facts out of the pending turns; they still have to be stored with `reconcile`.

    Raises:
        Exception: whatever the model raised, when it fails at the first turn; the turns stay pending.
    """
    return run_steps(extract_steps(services, scope), services, services.find_store())


async def aextract(services: Services, scope: Scope) -> Extraction:
    """`extract`, awaiting."""
    return await arun_steps(extract_steps(services, scope), services, services.find_store())


def extract_node(services: Services) -> Runnable[MemoryState, Update]:
    """Draw facts out of the pending turns; writes ``memory_turns`` and ``memory_facts``."""

    def update(result: Extraction) -> Update:
        return {
            "memory_turns": result.turns,
            "memory_facts": result.facts,
            "memory_claim": result.claim,
            "memory_report": result.report,
        }

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return update(Extraction())
        return update(extract(services, services.find_scope(config)))

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return update(Extraction())
        return update(await aextract(services, services.find_scope(config)))

    return stage("extract", services, run, arun, fallback={"memory_turns": [], "memory_facts": []})
