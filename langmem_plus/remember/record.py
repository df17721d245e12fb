"""Store the turns, verbatim: the user's before the agent runs, the assistant's after it.

Turns are also the queue: a user's turn isn't ``extracted`` until its facts are stored. A turn's key is made of where,
when and what was said, so a retry, a replay or a resumed interrupt finds its turns there and writes nothing. Where no
checkpointer counts the thread's turns, each call begins at turn 1 again; there a call is told by its message's id. One
in memory begins to count anew in each process; there its life is told too.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import TypeAdapter, ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import QUOTED_FROM_MEMORY
from langmem_plus.messages import last_said, message_text
from langmem_plus.records import MemoryRecord, MemoryReport, Scope, Time, record_id
from langmem_plus.remember.actions import find_actions
from langmem_plus.remember.steps import Steps, arun_steps, get_records, put, run_steps, write
from langmem_plus.services import Services, Step, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import measure_answer

TurnRole = Literal["user", "assistant"]

_TIME: TypeAdapter[dt.datetime] = TypeAdapter(Time)
_LIVES: WeakKeyDictionary[InMemorySaver, str] = WeakKeyDictionary()


def user_turn(
    messages: Sequence[BaseMessage], memory_turn: int | None, counted: str | None = None
) -> tuple[int, list[BaseMessage]]:
    """The number of the turn that begins, and its messages: the trailing ones of the user that weren't counted yet.
    Where there are none, as when a message is answered once more, it is that of the last turn, which goes on.

    A message that was counted but never answered, because the agent failed, stays in its own turn.

    Args:
        messages: the thread, from which old messages may have been removed.
        memory_turn: the number of the last turn that was counted.
        counted: the id of the last message of the user that was.
    """
    recorded = memory_turn or 0
    humans = sum(isinstance(message, HumanMessage) for message in messages)
    new: list[BaseMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage) or (counted is not None and message.id == counted):
            break
        new.insert(0, message)
    unrecorded = humans - recorded
    if counted is None and recorded and 0 < unrecorded < len(new):
        new = new[-unrecorded:]
    begins = bool(new) or (counted is not None and last_counted(messages, counted) != counted)
    return max(recorded + 1 if begins else recorded, humans), new


def last_counted(messages: Sequence[BaseMessage], before: str | None) -> str | None:
    """The id of the user's last message, which is counted now."""
    return next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), before)


def keep_incognito(state: MemoryState, incognito: bool) -> Update:
    """What is to be known of the user's last messages when their turn goes on: which were said incognito. Nothing where
    that is known.
    """
    said = [message.id for message in last_said(state.get("messages") or []) if message.id is not None]
    before = state.get("memory_incognito") or []
    now = said if incognito else [each for each in said if each in before]
    return {} if now == before else {"memory_incognito": now}


def reply_turn(messages: Sequence[BaseMessage], memory_turn: int | None) -> tuple[int, int, list[BaseMessage]]:
    """The number of the turn that ends, the place of its reply in it, and everything after the user's last words."""
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    start = places[-1] + 1 if places else 0
    return max(memory_turn or 0, len(places), 1), 1, list(messages[start:])


def find_saver(config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """The checkpointer of a run, if it has one."""
    values = (config.get("configurable") or {}).values()
    return next((value for value in values if isinstance(value, BaseCheckpointSaver)), None)


def keeps_thread(config: RunnableConfig) -> bool:
    """Whether the running graph's own state goes on with the thread's next call: it has a checkpointer, and isn't a
    subgraph that another graph calls anew each time.
    """
    graph = str((config.get("configurable") or {}).get("checkpoint_ns") or "").rpartition("|")[0]
    # One that goes on from call to call has no task's id in its name.
    return find_saver(config) is not None and ":" not in graph


def event_id(messages: Sequence[BaseMessage], config: RunnableConfig) -> str | None:
    """What tells this call from others of its thread, where the turn's number doesn't.

    Without a checkpointer it is the id of the user's last message: nothing counts the thread's turns then, and nothing
    is replayed; a parent that retries hands in the message that it has, with its id, and whoever says the same words in
    another call says them again. With a checkpointer that lasts, it is None: the number tells, and a replay from before
    the input gives the message another id, but is the same event. One in memory counts, and replays, only what is in
    it: it is that checkpointer. In a graph that another one calls anew each time, nothing counts either, and the thread
    that is handed in may have been cut: there it is the reply that this turn follows, else the user's last message.

    Args:
        messages: what is known of the thread.
        config: the run's configuration.
    """
    last = next((place for place, each in reversed([*enumerate(messages)]) if isinstance(each, HumanMessage)), None)
    own = None if last is None else messages[last].id
    saver = find_saver(config)
    if saver is None:
        return own
    if not keeps_thread(config):
        earlier = [each for each in messages[:last] if isinstance(each, AIMessage | ToolMessage)]
        return earlier[-1].id if earlier else own
    return _LIVES.setdefault(saver, uuid.uuid4().hex) if isinstance(saver, InMemorySaver) else None


def make_turns(
    messages: Sequence[BaseMessage],
    role: TurnRole,
    scope: Scope,
    turn: int,
    *,
    now: dt.datetime,
    config: MemoryConfig,
    position: int = 0,
    event: str | None = None,
    done: Mapping[str, Any] | None = None,
) -> list[MemoryRecord]:
    """The records of those messages that the role spoke and that say something.

    Args:
        messages: consecutive messages of one turn.
        role: whose words are recorded.
        scope: whose memory.
        turn: the turn's number in its thread.
        now: when it is written.
        config: the settings.
        position: the place of the first message in its turn.
        event: what tells the call apart where the turn's number doesn't, as `event_id` finds it.
        done: what the last of the records has in its metadata beside: what the assistant did.
    """
    kind = HumanMessage if role == "user" else AIMessage
    where = [*scope.namespace, scope.thread_id or "", *([event] if event else [])]
    found = []
    for place, message in enumerate(messages, position):
        text = message_text(message)
        if message.response_metadata.get(QUOTED_FROM_MEMORY):
            continue
        if not isinstance(message, kind) or not text.strip() or message.additional_kwargs.get("lc_source"):
            continue  # lc_source marks what LangChain's own middleware wrote in the user's name
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        # A message whose own id tells the call is that message, wherever others made it stand meanwhile.
        numbers = () if event is not None and event == message.id else (turn, place)
        metadata = {"name": message.name, "message_id": message.id, "turn": turn, "position": place}
        found.append(
            MemoryRecord(
                id=record_id("turn", *where, *numbers, role, digest),
                role=role,
                text=text,
                user_id=scope.user_id,
                space=scope.space,
                thread_id=scope.thread_id,
                agent_id=scope.agent_id,
                created_at=now,
                updated_at=now,
                observed_at=said_at(message) or now,
                expires_at=now + dt.timedelta(days=config.turn_ttl_days) if config.turn_ttl_days else None,
                source_ids=[message.id] if message.id else [],
                extracted=role == "assistant",
                metadata={name: value for name, value in metadata.items() if value is not None},
            )
        )
    if found and done:
        found[-1].metadata.update(done)
    return found


def said_at(message: BaseMessage) -> dt.datetime | None:
    """When a message was said, where it tells: ``created_at`` as a date, a time, or seconds since 1970."""
    for fields in (message.additional_kwargs, message.response_metadata):
        if fields.get("created_at") is not None:
            try:
                return _TIME.validate_python(fields["created_at"])
            except ValidationError:
                return None
    return None


def store_turns(namespace: tuple[str, ...], turns: Sequence[MemoryRecord]) -> Steps[list[MemoryRecord]]:
    """Write the turns whose keys aren't there yet, active or retired, in one batch; gives them."""
    known = yield from get_records(namespace, [turn.id for turn in turns])
    missing = {turn.id: turn for turn in turns if turn.id not in known}
    if missing:
        yield from write([put(namespace, turn) for turn in missing.values()])
    return [*missing.values()]


def record(
    services: Services,
    scope: Scope,
    messages: Sequence[BaseMessage],
    role: TurnRole,
    turn: int,
    position: int = 0,
    event: str | None = None,
    done: Mapping[str, Any] | None = None,
) -> int:
    """Store the role's messages as turns of the scope's thread; gives how many were new."""
    now, settings = services.clock(), services.config
    turns = make_turns(messages, role, scope, turn, now=now, config=settings, position=position, event=event, done=done)
    return len(run_steps(store_turns(scope.namespace, turns), services, services.find_store())) if turns else 0


async def arecord(
    services: Services,
    scope: Scope,
    messages: Sequence[BaseMessage],
    role: TurnRole,
    turn: int,
    position: int = 0,
    event: str | None = None,
    done: Mapping[str, Any] | None = None,
) -> int:
    """`record`, awaiting."""
    now, settings = services.clock(), services.config
    turns = make_turns(messages, role, scope, turn, now=now, config=settings, position=position, event=event, done=done)
    return len(await arun_steps(store_turns(scope.namespace, turns), services, services.find_store())) if turns else 0


def record_user_node(services: Services) -> Step:
    """Store the user's new messages; writes ``memory_turn``, ``memory_counted`` and ``memory_incognito``."""

    def prepare(state: MemoryState, config: RunnableConfig) -> tuple[Update, list[BaseMessage]]:
        messages, counted = state.get("messages") or [], state.get("memory_counted")
        turn, new = user_turn(messages, state.get("memory_turn"), counted)
        incognito, secret = services.is_incognito(config), state.get("memory_incognito") or []
        # An incognito turn is counted, so that it isn't taken for an unrecorded one later.
        update: Update = {"memory_turn": turn, "memory_counted": last_counted(messages, counted)}
        update.update(keep_incognito(state, incognito))
        return update, [] if incognito else [message for message in new if message.id not in secret]

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        update, new = prepare(state, config)
        turn = update["memory_turn"]
        event = event_id(state.get("messages") or [], config)
        scope = services.find_scope(config) if new else None
        count = record(services, scope, new, "user", turn, event=event) if scope else 0
        return {**update, **_counted("turns_recorded", count)}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        update, new = prepare(state, config)
        turn = update["memory_turn"]
        event = event_id(state.get("messages") or [], config)
        scope = services.find_scope(config) if new else None
        count = await arecord(services, scope, new, "user", turn, event=event) if scope else 0
        return {**update, **_counted("turns_recorded", count)}

    return stage("record_user", services, run, arun)


def record_assistant_node(services: Services) -> Runnable[MemoryState, Update]:
    """Store the assistant's reply; writes ``memory_turn``."""

    def prepare(state: MemoryState, config: RunnableConfig) -> tuple[Scope, list[BaseMessage], int, int] | None:
        turn, position, reply = reply_turn(state.get("messages") or [], state.get("memory_turn"))
        if services.is_incognito(config) or not reply:
            return None
        measure_answer(reply, state.get("messages") or [], state.get("memory_context") or "")
        return services.find_scope(config), reply, turn, position

    def done(state: MemoryState, reply: Sequence[BaseMessage]) -> Mapping[str, Any]:
        messages = state.get("messages") or []
        return find_actions(messages, len(messages) - len(reply)).metadata if services.config.compress else {}

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        prepared = prepare(state, config)
        if prepared is None:
            return {}
        scope, reply, turn, position = prepared
        event, acts = event_id(state.get("messages") or [], config), done(state, reply)
        count = record(services, scope, reply, "assistant", turn, position, event, acts)
        return {"memory_turn": turn, **_counted("replies_recorded", count)}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        prepared = prepare(state, config)
        if prepared is None:
            return {}
        scope, reply, turn, position = prepared
        event, acts = event_id(state.get("messages") or [], config), done(state, reply)
        count = await arecord(services, scope, reply, "assistant", turn, position, event, acts)
        return {"memory_turn": turn, **_counted("replies_recorded", count)}

    return stage("record_assistant", services, run, arun)


def _counted(name: str, count: int) -> Update:
    return {"memory_report": MemoryReport(counts={name: count})}


def record_node(services: Services) -> Runnable[MemoryState, Update]:
    """Store a whole turn once it is over, for a graph that has no node before the agent: the user's last words, and
    what followed them. Without messages there is nothing to store.
    """
    user, reply = record_user_node(services), record_assistant_node(services)

    def asked(state: MemoryState) -> MemoryState | None:
        messages = list(state.get("messages") or [])
        places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
        return {**state, "messages": messages[: places[-1] + 1]} if places else None

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        before = asked(state)
        if before is None:
            return {}
        update = user.invoke(before, config)
        return {**update, **reply.invoke(cast(MemoryState, {**state, **update}), config)}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        before = asked(state)
        if before is None:
            return {}
        update = await user.ainvoke(before, config)
        return {**update, **await reply.ainvoke(cast(MemoryState, {**state, **update}), config)}

    return RunnableLambda(run, arun, name="record")
