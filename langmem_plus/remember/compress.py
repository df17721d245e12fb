"""Let old messages leave a long thread, once its summary tells what they said.

The summary stands in the store and is injected by recall; it never stands among the messages. A thread over
``threshold_tokens`` loses what the summary already tells, and nothing waits for a model: what isn't told yet goes after
a later turn. Only over ``hard_limit_tokens`` the summary is made at once, before the agent runs. With
``archive_conversations`` the thread's archive is brought up to date before anything leaves.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.records import TURN_ROLES, MemoryRecord, MemoryReport, Scope, summary_key
from langmem_plus.remember.archive import archive_steps
from langmem_plus.remember.archive_material import waits
from langmem_plus.remember.compress_covered import Covered
from langmem_plus.remember.compress_cut import Stretch, old_stretches, removals
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.record import keeps_thread
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Steps, arun_steps, get_records, list_records, put, run_steps
from langmem_plus.remember.summarize import summarize_now
from langmem_plus.remember.tombstones import COMPRESSED
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.tokens import counter


@dataclass(frozen=True)
class Compression:
    """What leaves a thread: the places of the messages, and the report of it."""

    gone: frozenset[int] = frozenset()
    report: MemoryReport = field(default_factory=MemoryReport)


def is_wanted(config: MemoryConfig) -> bool:
    """Whether threads are shortened: only where the summary that takes the place of what leaves is recalled."""
    return config.compress and config.enabled and config.strategy != "none" and config.summary_max_tokens > 0


def compress_steps(
    services: Services, scope: Scope, messages: Sequence[BaseMessage], *, now: bool = False
) -> Steps[Compression]:
    """Choose what leaves a thread.

    Args:
        services: the settings, and what makes a summary.
        scope: whose memory, and which thread.
        messages: the thread.
        now: the agent is about to run: nothing leaves unless ``hard_limit_tokens`` is passed, and then a summary that
            is missing is made.
    """
    config = services.config
    limit = config.hard_limit_tokens if now else config.threshold_tokens
    sizes = [counter(config).count_message(message) for message in messages]
    if limit is None or sum(sizes) <= limit or scope.thread_id is None:
        return Compression()
    old = old_stretches(messages, config.recent_messages_to_keep)
    if not old:
        return _result(sizes, [], [], "what always stays is that long")
    whole = config.compress_deletes_turns
    found = yield from _look_up(scope, messages, whole=whole, all_turns=now)
    chosen = [places for places in old if found.tells(places)]
    warnings: list[str] = []
    if now and _size(sizes, chosen) > limit:
        found = yield from _summarized(services, scope, found, [each for each in old if each not in chosen], warnings)
        chosen = [places for places in old if found.tells(places)]
    if chosen and config.archive_conversations:  # which stands before anything goes; rules make it, at once
        warnings += (yield from archive_steps(services, scope, ask=False)).warnings
    if config.compress_deletes_turns:
        yield from _retire(scope, found, chosen, services.clock())
    left = len(old) - len(chosen)
    reason = "the summary doesn't tell yet what the oldest messages say" if left else None
    return _result(sizes, chosen, warnings, reason, sum(map(len, old)))


def _result(
    sizes: Sequence[int], chosen: Sequence[Stretch], warnings: list[str], reason: str | None, old: int = 0
) -> Compression:
    gone = frozenset(place for places in chosen for place in places)
    waiting = {"uncompressed_messages": old - len(gone)} if old > len(gone) else {}
    report = MemoryReport(
        counts={"compressed_messages": len(gone), **waiting},
        tokens={"thread": sum(sizes), "thread_after": _size(sizes, chosen)},
        notes={"compress": reason} if reason else {},
        warnings=warnings,
    )
    return Compression(gone, report)


def _size(sizes: Sequence[int], chosen: Sequence[Stretch]) -> int:
    return sum(sizes) - sum(sizes[place] for places in chosen for place in places)


def _look_up(scope: Scope, messages: Sequence[BaseMessage], *, whole: bool, all_turns: bool) -> Steps[Covered]:
    """The thread's summary, and its turns where they matter: without a summary, nothing is told."""
    key = summary_key(scope)
    summary = (yield from get_records(scope.namespace, [key])).get(key)
    if summary is not None and summary.status != "active":
        summary = None
    turns: list[MemoryRecord] = []
    for role in TURN_ROLES if summary or all_turns else ():
        turns += yield from list_records(scope.namespace, {"role": role, "thread_id": scope.thread_id})
    return Covered(messages, turns, summary, whole)


def _summarized(
    services: Services, scope: Scope, found: Covered, old: Sequence[Stretch], warnings: list[str]
) -> Steps[Covered]:
    """What is told once the summary is made anew; as before where that fails, or where it could tell no more."""
    wanted = [places for places in old if found.can_tell(places)]
    # Its facts are drawn out later; it stays stored until then.
    hurried = Covered(found.messages, found.turns, found.summary)
    if not wanted or all(map(hurried.tells, wanted)):
        return hurried
    done = [line for places in wanted for line in found.untold_actions(places)]
    limit = services.config.hard_limit_tokens
    why: list[str] = []
    if not (yield from summarize_now(services, scope, why, done)):
        told = why or ["no summary could be made of it"]
        warnings += [f"the thread is over hard_limit_tokens ({limit}), and stays so: {reason}" for reason in told]
        return hurried
    warnings += why
    fresh = yield from _look_up(scope, found.messages, whole=False, all_turns=True)
    told_now = frozenset(id for places in wanted for id in found.action_ids(places))
    return Covered(fresh.messages, fresh.turns, fresh.summary, told=told_now)


def _retire(scope: Scope, found: Covered, chosen: Sequence[Stretch], now: dt.datetime) -> Steps[None]:
    """Delete, softly, the stored turns of what leaves the thread, as long as the summary stands that tells them. Pinned
    ones stay, and so do those whose facts aren't drawn out yet, or wait for the owner: no archive may read them before.
    """
    turns = {turn.id: turn for places in chosen for place in places for turn in found.turns_of(place)}
    key = summary_key(scope)

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        if current.get(key) != found.summary:
            return []
        return [
            put(scope.namespace, retire(turn, now, COMPRESSED))
            for id in turns
            if (turn := current.get(id)) is not None
            and turn.status == "active"
            and turn.extracted is not False
            and not (turn.pinned or turn.manually_saved or waits(turn))
        ]

    if turns:
        yield from rewrite(scope.namespace, [key, *turns], change)


def compress(services: Services, scope: Scope, messages: Sequence[BaseMessage], *, now: bool = False) -> Compression:
    """Choose what leaves a thread, as `compress_steps` says."""
    return run_steps(compress_steps(services, scope, messages, now=now), services, services.find_store())


async def acompress(
    services: Services, scope: Scope, messages: Sequence[BaseMessage], *, now: bool = False
) -> Compression:
    """`compress`, awaiting."""
    return await arun_steps(compress_steps(services, scope, messages, now=now), services, services.find_store())


def compress_node(services: Services, *, now: bool = False) -> Runnable[MemoryState, Update]:
    """Take old messages out of the thread, where the graph keeps it: not without a checkpointer, nor in a subgraph that
    is called anew each time, nor in an incognito run, which recalls no summary.

    Args:
        services: the settings, the store, and what makes a summary.
        now: the node stands ahead of the agent, ``make_room``: it acts where the hard limit is passed.
    """

    def read(state: MemoryState, config: RunnableConfig) -> Sequence[BaseMessage]:
        wanted = is_wanted(services.config) and keeps_thread(config) and not services.is_incognito(config)
        return state.get("messages") or [] if wanted else []

    def update(messages: Sequence[BaseMessage], found: Compression) -> Update:
        changed = {"messages": removals(messages, found.gone)} if found.gone else {}
        return {**changed, "memory_report": found.report}

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        messages = read(state, config)
        if not messages:
            return {}
        return update(messages, compress(services, services.find_scope(config), messages, now=now))

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        messages = read(state, config)
        if not messages:
            return {}
        return update(messages, await acompress(services, services.find_scope(config), messages, now=now))

    return stage("make_room" if now else "compress", services, run, arun)
