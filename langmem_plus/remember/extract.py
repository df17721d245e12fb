"""Draw facts out of the turns that wait: by a model, or by rules in the user's own words.

Only what the user newly said is read, never recalled text, system text or the assistant. A turn is done when its facts
are stored (`reconcile`), so a failure here leaves it waiting for the next try. With ``combine`` on, the model's answer
proposes what the facts do to what is known, too (`combine`), which the stages after this one judge.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.errors import ConfigError, ModelAnswerError
from langmem_plus.providers.too_long import http_status, is_too_long
from langmem_plus.records import Fact, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.combine import combine, groups
from langmem_plus.remember.draft import Draft, Proposal
from langmem_plus.remember.facts import Drawn, draw_facts, in_order
from langmem_plus.remember.implied import with_implied
from langmem_plus.remember.steps import Claim, Release, Steps, arun_steps, list_records, run_steps
from langmem_plus.remember.unasked import draw_repeated, says_nothing
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)


@dataclass
class Extraction:
    """The turns that were read, the facts in them, who claimed the turns, what a model proposes, what happened, and
    what of it is about one turn, by its id.
    """

    claim: str = ""
    turns: list[MemoryRecord] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    draft: Draft = field(default_factory=Draft)
    report: MemoryReport = field(default_factory=MemoryReport)
    warned: dict[str, list[str]] = field(default_factory=dict)


# A model may refuse one turn (a content filter) and take the next; so many failures of a batch are an outage, and each
# may have cost a time-out.
_OUTAGE = 3
_REFUSED = (400, 413, 422)  # the HTTP status of a request that is refused for what stands in it
_RENEWED = 1 / 3  # share of a lease after which it is made longer


def extract_steps(services: Services, scope: Scope) -> Steps[Extraction]:
    """Claim the pending turns of the namespace, this thread's and what was left behind, and draw their facts out."""
    namespace = scope.namespace
    waiting = yield from list_records(namespace, {"role": "user", "extracted": False, "status": "active"})
    pending = in_order(waiting)  # also those whose time is over meanwhile: they wait for this
    refusals = services.refusals
    # What a model refused before lets others go first; sorting keeps the order of all else.
    pending.sort(key=lambda turn: refusals.get(turn.id, 0))
    batch = pending[: services.config.turn_batch]
    result = Extraction(claim=uuid.uuid4().hex)
    keys = [turn.id for turn in batch]
    claimed: set[str] = (yield Claim(namespace, keys, result.claim)) if batch else set()
    mine = [turn for turn in batch if turn.id in claimed]
    drawing = _Drawing(services, scope, mine, result)
    try:
        yield from drawing.draw()
    except ConfigError:
        yield Release(namespace, sorted(claimed), result.claim)
        raise  # no other turn would fare better; nothing is lost, they still wait
    result.report.counts = {
        "turns_read": len(result.turns),
        "facts_found": len(result.facts),
        "turns_left": len(pending) - len(batch),
        "turns_elsewhere": len(batch) - len(mine),
        **{name: count for name, count in drawing.counts.items() if count},
    }
    if drawing.failures:
        done = {turn.id for turn in result.turns}
        left = [turn.id for turn in mine if turn.id not in done]
        yield Release(namespace, left, result.claim)
        if not result.turns:
            raise drawing.failures[0]
        result.report.warnings.append(f"{len(left)} turns still wait for their facts: {drawing.failures[0]}")
        result.report.counts["turns_left"] += len(left)
    return result


class _Drawing:
    """Draws facts out of claimed turns, one after another or, where one answer holds everything, some at a time."""

    def __init__(self, services: Services, scope: Scope, turns: Sequence[MemoryRecord], result: Extraction) -> None:
        self.services = services
        self.scope = scope
        self.turns = turns
        self.result = result
        self.failures: list[Exception] = []
        self.counts = {"turns_unasked": 0, "turns_by_rules": 0}
        self.held, self.renewed = {turn.id for turn in turns}, time.monotonic()

    def draw(self) -> Steps[None]:
        """Draw until every turn is read, or too many failed."""
        asked = yield from self._pass_over()
        config = self.services.config
        together = config.combine and self.services.model is not None and config.max_facts
        waiting = groups(asked, config) if together else [[turn] for turn in asked]
        while waiting:
            group = yield from self._still_held(waiting.pop(0))
            if not group:
                continue  # a model took longer than the lease, and somebody else works on it now
            try:
                drawn = yield from self._ask(group, waiting, together=bool(together))
            except ConfigError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a model raised, the other turns may fare better
                if self._fail(group, error, waiting):
                    break
                continue
            for turn in group:
                yield from self._take(turn, drawn[turn.id])
        self.result.turns = in_order(self.result.turns)

    def _pass_over(self) -> Steps[list[MemoryRecord]]:
        """Take the turns for which no model has to be asked; gives the others."""
        if self.services.model is None:
            return list(self.turns)
        asked: list[MemoryRecord] = []
        for turn in self.turns:
            if says_nothing(turn, self.services.config):
                drawn: Drawn | None = Drawn()
            else:
                drawn = yield from self._repeated(turn)
            if drawn is None:
                asked.append(turn)
            else:
                self.counts["turns_unasked"] += 1
                self.result.draft.unasked.add(turn.id)
                yield from self._take(turn, drawn)
        return asked

    def _repeated(self, turn: MemoryRecord) -> Steps[Drawn | None]:
        found = yield from draw_repeated(turn, self.services, self.scope.namespace)
        if found is None:
            return None
        self.result.draft.proposals[turn.id] = Proposal(found[1])
        return found[0]

    def _ask(
        self, group: list[MemoryRecord], later: Sequence[Sequence[MemoryRecord]], *, together: bool
    ) -> Steps[dict[str, Drawn]]:
        if not together:
            return {group[0].id: (yield from draw_facts(group[0], self.services))}
        thread_id = group[0].thread_id
        last = all(other[0].thread_id != thread_id for other in later)
        thread = [turn for turn in self.turns if turn.thread_id == thread_id] if last else []
        return (yield from combine(self.services, self.scope, group, thread, self.result.draft))

    def _still_held(self, group: list[MemoryRecord]) -> Steps[list[MemoryRecord]]:
        """Those of the turns that are still claimed by this run, which renews its claims in time."""
        if time.monotonic() - self.renewed > self.services.config.lease_seconds * _RENEWED:
            self.held = yield Claim(self.scope.namespace, sorted(self.held), self.result.claim)
            self.renewed = time.monotonic()
        return [turn for turn in group if turn.id in self.held]

    def _take(self, turn: MemoryRecord, drawn: Drawn) -> Steps[None]:
        self.services.refusals.pop(turn.id, None)
        self.result.turns.append(turn)
        if self.services.model is None:  # which would tell itself what is meant
            drawn.facts = yield from with_implied(turn, drawn.facts, self.result.facts, self.scope, self.services)
        self.result.facts += drawn.facts
        self.result.report.warnings += drawn.warnings
        if drawn.warnings:
            self.result.warned[turn.id] = list(drawn.warnings)
        self.counts["turns_by_rules"] += drawn.fell_back

    def _fail(self, group: list[MemoryRecord], error: Exception, waiting: list[list[MemoryRecord]]) -> bool:
        """Note a failure; turns that were read together are tried one by one. Whether it looks like an outage."""
        text = "memory: no facts could be drawn out of a turn, which still waits: %s"
        logger.warning(text, error, exc_info=True)
        slow = isinstance(error, TimeoutError)
        if len(group) > 1 and _is_about_text(error):
            waiting[:0] = [[turn] for turn in group]
            return False
        self.failures.append(error)
        for turn in group:
            self.services.refusals[turn.id] = self.services.refusals.get(turn.id, 0) + 1
        return slow or len(self.failures) == _OUTAGE


def _is_about_text(error: Exception) -> bool:
    """Whether a failure is about what was said, so that fewer turns at a time may fare better: a refusal, too much
    text, an answer that can't be read. An outage isn't.
    """
    status = http_status(error)
    refused = status in _REFUSED if status is not None else isinstance(error, ValueError)
    return refused or isinstance(error, ModelAnswerError) or is_too_long(error)


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
            "memory_warned": result.warned,
            "memory_claim": result.claim,
            "memory_draft": result.draft,
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

    return stage(
        "extract", services, run, arun, fallback={"memory_turns": [], "memory_facts": [], "memory_draft": None}
    )
