"""Keep one rolling summary a thread: the one so far, the new facts and the turns since, merged into a few points.

It is made every ``summary_refresh_turns`` turns, by a model or, without one, out of the user's own statements. When the
model fails, the summary so far stays.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.prompts import Summary, render_summary
from langmem_plus.records import FORGOTTEN, TURN_ROLES, Decision, Fact, MemoryRecord, MemoryReport, Scope, summary_key
from langmem_plus.remember.actions import shorten, told_actions
from langmem_plus.remember.archive_amend import amend_archives, amend_summaries
from langmem_plus.remember.beside import has_room
from langmem_plus.remember.decide import FORGET, is_request
from langmem_plus.remember.draft import Draft
from langmem_plus.remember.facts import in_order
from langmem_plus.remember.points import draw_points, points_of, read_points, write_points
from langmem_plus.remember.review import is_turned_down
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.sentences import own_words
from langmem_plus.remember.steps import Ask, Steps, arun_steps, get_records, list_records, put, run_steps
from langmem_plus.services import Services, Update, stage
from langmem_plus.speakers import Voice, name_of, shown_name
from langmem_plus.state import MemoryState
from langmem_plus.tokens import counter

logger = logging.getLogger(__name__)


def is_read(turn: MemoryRecord, summary: MemoryRecord | None) -> bool:
    """Whether a thread's summary, or its archive, has read a turn. Ids alone tell: what is restored or imported later,
    or comes from where the clock is behind, was written before what has been read.
    """
    return summary is not None and turn.id in summary.source_ids


def uncovered(turns: Sequence[MemoryRecord], summary: MemoryRecord | None, limit: int) -> list[MemoryRecord]:
    """The turns that the summary hasn't read, as they were said; at most the ``limit`` that were written first, so that
    none is passed over.
    """
    read = set(summary.source_ids) if summary else set()
    waiting = [turn for turn in turns if turn.id not in read]
    return in_order(sorted(waiting, key=lambda turn: turn.created_at)[:limit])


def is_due(turns: Sequence[MemoryRecord], config: MemoryConfig) -> bool:
    """Whether enough of the user's turns wait for a summary."""
    said = {turn.metadata.get("turn", turn.id) for turn in turns if turn.role == "user"}
    return len(said) >= config.summary_refresh_turns


def may_be_due(turns: Sequence[MemoryRecord], summary: MemoryRecord | None, config: MemoryConfig) -> bool:
    """Whether it is worth counting the thread's turns, by the number of the newest one that was worked off."""
    numbers = _turn_numbers(turns)
    known = summary.metadata.get("turn") if summary else 0
    if len(numbers) < len(turns) or not isinstance(known, int):
        return True
    return max(numbers, default=0) - known >= config.summary_refresh_turns


def _turn_numbers(turns: Sequence[MemoryRecord]) -> list[int]:
    return [number for turn in turns if isinstance(number := turn.metadata.get("turn"), int)]


def conversation(
    turns: Sequence[MemoryRecord], config: MemoryConfig, done: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Who said or did what, line by line, as a summary reads it; ``done`` is what no turn tells."""
    clip = counter(config).clip
    lines: list[tuple[str, str]] = []
    for turn in turns:
        lines += [("tool", action) for action in told_actions(turn)]
        lines.append((shown_name(name_of(turn)) or turn.role, clip(_spoken(turn), config.user_max_tokens)))
    return [*lines, *(("tool", action) for action in shorten(done))]


def is_told(turn: MemoryRecord | None) -> bool:
    """Whether a turn may be read into a summary."""
    if turn is None or turn.status != "active":
        return False
    return not (turn.metadata.get(FORGOTTEN) or is_turned_down(turn))


def _spoken(turn: MemoryRecord) -> str:
    return own_words(turn.text) or turn.text if turn.role == "user" else turn.text


@dataclass(frozen=True)
class Work:
    """What was done before the summary: the turns that were worked off (None: nobody knows), facts, decisions, and what
    the model proposed beside.
    """

    turns: Sequence[MemoryRecord] | None = None
    facts: Sequence[Fact] = ()
    decisions: Sequence[Decision] = ()
    draft: Draft = field(default_factory=Draft)

    def of_thread(self, thread_id: str) -> Work:
        """The part that belongs to one thread."""
        turns = None if self.turns is None else [turn for turn in self.turns if turn.thread_id == thread_id]
        facts = [fact for fact in self.facts if fact.thread_id == thread_id]
        return Work(turns, facts, self.decisions, self.draft)

    @property
    def requests(self) -> list[Voice]:
        """What was asked to be forgotten, and by whom."""
        return [Voice(str(fact.metadata[FORGET]), name_of(fact)) for fact in self.facts if is_request(fact)]

    @property
    def says_nothing_new(self) -> bool:
        """Whether no model had to be asked for any of the turns."""
        return bool(self.turns) and all(turn.id in self.draft.unasked for turn in self.turns or ())


def summarize_steps(services: Services, scope: Scope, work: Work) -> Steps[MemoryReport]:
    """Refresh the summaries that are due: the scope's thread's, and those of the threads whose turns were worked off.

    What was replaced or asked to be forgotten leaves every summary of the namespace at once. Small talk and repeats
    cost no call: a summary that is due with them is made at the next turn that says something.
    """
    if work.requests:
        asking = [fact.source_id for fact in work.facts if is_request(fact)]
        yield from amend_archives(services, scope, work.requests, work.decisions, asking)
    if not services.config.summarize:
        return MemoryReport(counts={"summaries": 0})
    made, warnings = 0, list[str]()
    yield from amend_summaries(services, scope, work.decisions, work.requests)
    threads = [scope.thread_id] if work.turns is None else [turn.thread_id for turn in work.turns]
    for thread_id in dict.fromkeys(threads):
        if thread_id is not None and not work.of_thread(thread_id).says_nothing_new:
            own = scope.model_copy(update={"thread_id": thread_id})
            made += yield from _Thread(services, own, work.of_thread(thread_id)).summarize(warnings)
    return MemoryReport(counts={"summaries": made}, warnings=warnings)


@dataclass(frozen=True)
class Due:
    """What a summary is made of: its record, whatever its status, the summary so far, what was told, what is new."""

    known: MemoryRecord | None
    old: MemoryRecord | None
    told: Sequence[MemoryRecord]
    turns: Sequence[MemoryRecord]


def find_due(services: Services, scope: Scope, turns: Sequence[MemoryRecord]) -> Steps[Due | None]:
    """What the summary of the scope's thread is to read when these turns are worked off; None where none is due."""
    if not services.config.summarize or scope.thread_id is None:
        return None
    return (yield from _Thread(services, scope, Work(turns)).find_due())


class _Thread:
    """One thread whose summary may be due."""

    def __init__(self, services: Services, scope: Scope, work: Work) -> None:
        self.services = services
        self.config = services.config
        self.scope = scope
        self.work = work
        self.key = summary_key(scope, scope.thread_id or "")

    def find_due(self, *, now: bool = False, done: Sequence[str] = ()) -> Steps[Due | None]:
        """What a new summary is to read; None where none is due."""
        namespace, config = self.scope.namespace, self.config
        known = (yield from get_records(namespace, [self.key])).get(self.key)
        old = known if known is not None and known.status == "active" else None
        if self.work.turns is not None and not may_be_due(self.work.turns, old, config):
            return None
        spoken: list[MemoryRecord] = []
        for role in TURN_ROLES:
            wanted = {"role": role, "thread_id": self.scope.thread_id, "status": "active"}
            spoken += yield from list_records(namespace, wanted)
        told = [turn for turn in spoken if is_told(turn)]
        turns = uncovered(told, old, config.summary_source_max_turns)
        return Due(known, old, told, turns) if (turns or done if now else is_due(turns, config)) else None

    def summarize(self, warnings: list[str], *, now: bool = False, done: Sequence[str] = ()) -> Steps[bool]:
        """Write the summary anew if it is due; gives whether it was.

        Args:
            warnings: is told why it stays as it was.
            now: whether it is due although few turns wait.
            done: what the assistant did that no turn tells.
        """
        due = yield from self.find_due(now=now, done=done)
        if due is None:
            return False
        namespace, known, old, turns = self.scope.namespace, due.known, due.old, due.turns
        if self.services.model is None:
            points, turns = self._by_rules(due, done)
        else:
            points = yield from self._asked(read_points(old), turns, done, warnings)
        if not points:
            return False
        record = make_summary(old, self.key, points, turns, self.scope, self.services.clock())
        written = False

        def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
            nonlocal written
            # What was edited, forgotten or erased while the model thought is read next time.
            written = current.get(self.key) == known and all(is_told(current.get(turn.id)) for turn in turns)
            return [put(namespace, record)] if written else []

        yield from rewrite(namespace, [self.key, *(turn.id for turn in turns)], change)
        if not written:
            warnings.append("what was said was edited while the summary was made, so that is made at the next turn")
        return written

    def _by_rules(self, due: Due, done: Sequence[str]) -> tuple[list[str], Sequence[MemoryRecord]]:
        """The new points, and the turns that they tell: as many of those that are due as there is room for."""
        config, turns = self.config, due.turns
        items, distance, fits = config.summary_max_items, config.simhash_distance, has_room(config)
        while True:
            points, is_whole = draw_points(read_points(due.old), turns, items, distance, done=done, fits=fits)
            fewer = _half(turns)
            if is_whole or fewer == len(turns):
                return points, turns
            turns = uncovered(due.told, due.old, fewer)

    def _asked(
        self, previous: Sequence[str], turns: Sequence[MemoryRecord], done: Sequence[str], warnings: list[str]
    ) -> Steps[list[str]]:
        """The new points by the model; none where the summary so far is to stay."""
        config = self.config
        try:
            answer = self._drafted(previous, turns) or (yield self._question(previous, turns, done))
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model raised, the summary so far is worth keeping
            logger.warning("memory: the model can't summarise, so the summary stays as it was: %s", error)
            warnings.append(f"the summary stays as it was: {type(error).__name__}: {error}")
            return []
        points = points_of(answer, config.summary_max_items, config.simhash_distance)
        if not points and previous:
            warnings.append("the new summary was empty, so the one so far stays")
        return points

    def _question(self, previous: Sequence[str], turns: Sequence[MemoryRecord], done: Sequence[str]) -> Ask:
        facts = [Voice.of(fact).shown for fact in self.work.facts if not is_request(fact)]
        lines = conversation(turns, self.config, done)
        return Ask(render_summary(previous, facts, lines, max_items=self.config.summary_max_items), Summary)

    def _drafted(self, previous: Sequence[str], turns: Sequence[MemoryRecord]) -> Summary | None:
        draft = self.work.draft.summaries.get(self.scope.thread_id or "")
        return draft.settle(previous, turns, self.work.decisions, self.work.requests) if draft else None


def _half(turns: Sequence[MemoryRecord]) -> int:
    """How many turns are half of them, the replies to the last of these among them; all where they can't be parted."""
    written = sorted(turns, key=lambda turn: turn.created_at)
    starts = [place for place, turn in enumerate(written) if place and turn.role == "user"]
    before = [place for place in starts if place <= len(written) // 2]
    return max(before, default=min(starts, default=len(written)))


def summarize_now(services: Services, scope: Scope, warnings: list[str], done: Sequence[str] = ()) -> Steps[bool]:
    """Refresh the summary of the scope's thread whether it is due or not; gives whether it was written.

    Args:
        services: the model, or rules, that make it.
        scope: whose memory, and which thread.
        warnings: is told why the summary stays as it was.
        done: what the assistant did that no stored turn tells, a line a call.
    """
    if not services.config.summarize or scope.thread_id is None:
        return False
    return (yield from _Thread(services, scope, Work()).summarize(warnings, now=True, done=done))


def make_summary(
    old: MemoryRecord | None,
    key: str,
    points: Sequence[str],
    turns: Sequence[MemoryRecord],
    scope: Scope,
    now: dt.datetime,
) -> MemoryRecord:
    """The record of a summary that has read some more turns."""
    known = old.metadata.get("turn") if old else None
    covered = [*(turn.created_at for turn in turns), *([old.covers_until] if old and old.covers_until else [])]
    update = {
        "text": write_points(points),
        "updated_at": now,
        "covers_until": max(covered, default=None),
        "source_ids": list(dict.fromkeys([*(old.source_ids if old else []), *(turn.id for turn in turns)])),
        "observed_at": max((turn.said_at for turn in turns), default=old.observed_at if old else now),
        "summary_kind": "rolling",
        "metadata": {**(old.metadata if old else {}), "turn": max(_turn_numbers(turns), default=known)},
    }
    if old is not None:
        return old.model_copy(update=update)
    return MemoryRecord(
        id=key,
        role="summary",
        user_id=scope.user_id,
        space=scope.space,
        thread_id=scope.thread_id,
        agent_id=scope.agent_id,
        created_at=now,
        **update,
    )


def summarize(services: Services, scope: Scope, work: Work | None = None) -> MemoryReport:
    """Refresh the summaries that are due; without ``work``, that of the scope's thread."""
    return run_steps(summarize_steps(services, scope, work or Work()), services, services.find_store())


async def asummarize(services: Services, scope: Scope, work: Work | None = None) -> MemoryReport:
    """`summarize`, awaiting."""
    return await arun_steps(summarize_steps(services, scope, work or Work()), services, services.find_store())


def summarize_node(services: Services) -> Runnable[MemoryState, Update]:
    """Refresh the thread's summary when it is due; the summary goes into the store, never into the messages."""

    def read(state: MemoryState) -> Work:
        return Work(
            state.get("memory_turns") or [],
            state.get("memory_facts") or [],
            state.get("memory_decisions") or [],
            state.get("memory_draft") or Draft(),
        )

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": summarize(services, services.find_scope(config), read(state))}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": await asummarize(services, services.find_scope(config), read(state))}

    return stage("summarize", services, run, arun)
