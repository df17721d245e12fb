"""The agent's node: any kind of agent, given what was recalled in this one call and nowhere else.

A chat model gets the thread's tail with the recalled text applied; a callable, a Runnable or a compiled graph gets
``{"messages": [...]}`` with the same in it; a compiled graph that reads ``memory_context`` gets the whole thread as it
is and that channel. Only new messages come back: what the agent was sent, with the recalled text in it, never enters
the thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from typing_extensions import is_typeddict

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.graph.parents import CONTEXT_CHANNEL
from langmem_plus.recall.inject import apply_context, clip_tail
from langmem_plus.services import Services, Update, held
from langmem_plus.speakers import shown_name
from langmem_plus.state import MemoryState
from langmem_plus.text import said_by

Agent = BaseLanguageModel[Any] | Runnable[Any, Any] | Callable[[dict[str, Any]], Any]
Graph = CompiledStateGraph[Any, Any, Any, Any]
Stages = Sequence[Runnable[MemoryState, Update]]

CONTEXT_MESSAGE_ID = "langmem-plus-context"
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)  # what every provider takes for a speaker's name


@dataclass(frozen=True)
class Door:
    """How one agent is called.

    Args:
        runnable: what is invoked.
        reads_messages: it takes a list of messages (a chat model), not a state.
        reader: the same as ``runnable``, where it is a graph with a ``memory_context`` channel of its own.
        store: the store that the agent itself was compiled with.
    """

    runnable: Runnable[Any, Any]
    reads_messages: bool = False
    reader: Graph | None = None
    store: BaseStore | None = None


def open_door(agent: Agent) -> Door:
    """Find out which kind of agent this is.

    Raises:
        ConfigError: it isn't any that can be called.
    """
    if isinstance(agent, StateGraph):
        raise ConfigError("the agent is a StateGraph that isn't compiled: pass agent.compile().")
    if isinstance(agent, Pregel):
        return _graph_door(agent)
    if isinstance(agent, Runnable):
        return Door(agent, reads_messages=_is_chat_model(agent))
    if callable(agent):
        return Door(RunnableLambda(agent))
    raise ConfigError(
        f"the agent is {agent!r}: pass a chat model, a callable or Runnable over {{'messages': [...]}}, "
        "or a compiled graph."
    )


def _is_chat_model(runnable: Any) -> bool:
    """Whether messages go in: a model, or what bind_tools, with_retry, with_fallbacks or ``|`` build around one."""
    inner = next((getattr(runnable, name) for name in ("bound", "runnable", "first") if hasattr(runnable, name)), None)
    return isinstance(runnable, BaseLanguageModel) or (inner is not None and _is_chat_model(inner))


def _graph_door(graph: Pregel[Any, Any, Any, Any]) -> Door:
    if graph.checkpointer is True:
        # Such a graph keeps one history for all calls, and would keep the recalled text of each in it.
        graph = graph.copy({"checkpointer": None})
    if not (isinstance(graph, CompiledStateGraph) and CONTEXT_CHANNEL in _input_channels(graph)):
        return Door(graph, store=graph.store)
    if is_typeddict(graph.builder.input_schema):
        # A graph's whole input is checkpointed under START, untracked channels too. Written to the channels
        # themselves, with nothing left in START, memory_context stays out of every checkpoint.
        graph = graph.copy({"input_channels": ["messages", CONTEXT_CHANNEL, START]})
    return Door(graph, reader=graph, store=graph.store)


def _input_channels(graph: Graph) -> Mapping[str, Any]:
    return graph.builder.schemas.get(graph.builder.input_schema, {})


def agent_node(door: Door, services: Services, recall_stages: Stages) -> Runnable[MemoryState, Update]:
    """Call the agent with what was recalled; after a resume or a replay, where that is gone, recall again first.

    Args:
        door: how the agent is called, as `open_door` finds it.
        services: their store is lent to the agent's tools where the run has none.
        recall_stages: the nodes of recall, in order.
    """

    def node(state: MemoryState, config: RunnableConfig) -> Update:
        config, started = _lend_store(held(state, config), door, services), False
        recalled: Update = {}
        if "memory_plan" not in state:
            for stage in recall_stages:
                recalled.update(stage.invoke(_merged(state, recalled), config))
            if door.reader and _has_saver(door.reader, config):
                started = door.reader.get_state(config).created_at is not None
        sent, payload = _prepare(door, _merged(state, recalled), services.config, started)
        return _finish(door.runnable.invoke(payload, config), sent, state, recalled)

    async def anode(state: MemoryState, config: RunnableConfig) -> Update:
        config, started = _lend_store(held(state, config), door, services), False
        recalled: Update = {}
        if "memory_plan" not in state:
            for stage in recall_stages:
                recalled.update(await stage.ainvoke(_merged(state, recalled), config))
            if door.reader and _has_saver(door.reader, config):
                started = (await door.reader.aget_state(config)).created_at is not None
        sent, payload = _prepare(door, _merged(state, recalled), services.config, started)
        return _finish(await door.runnable.ainvoke(payload, config), sent, state, recalled)

    return RunnableLambda(node, anode, name="agent")


def _merged(state: MemoryState, update: Update) -> MemoryState:
    return cast(MemoryState, {**state, **update})


def _lend_store(config: RunnableConfig, door: Door, services: Services) -> RunnableConfig:
    """Make a store reachable for the agent's tools: the run's own, else the agent's, else memory's.

    A parent's runtime wins over what a graph was compiled with, even when it has no store.
    """
    lent = door.store if door.store is not None else services.store
    configurable = {
        name: value.override(store=lent) if isinstance(value, Runtime) and value.store is None else value
        for name, value in (config.get("configurable") or {}).items()
    }
    return {**config, "configurable": configurable}


def _has_saver(graph: Graph, config: RunnableConfig) -> bool:
    """Whether this call may go on where an interrupted one stopped, so that its input would be ignored."""
    savers = (graph.checkpointer, *(config.get("configurable") or {}).values())
    return graph.checkpointer is not False and any(isinstance(value, BaseCheckpointSaver) for value in savers)


def _prepare(door: Door, state: MemoryState, config: MemoryConfig, started: bool) -> tuple[list[AnyMessage], Any]:
    """The messages of this call, and what the agent is invoked with.

    Args:
        door: how the agent is called.
        state: the memory graph's state.
        config: where recalled text stands, and how long the tail may be.
        started: the agent's graph was interrupted in this very call and goes on; only the lost channel is handed in.
    """
    messages, context = list(state["messages"]), state.get("memory_context") or ""
    if door.reader and started:
        return messages, Command(update={CONTEXT_CHANNEL: context})
    if door.reader:
        channels = {"messages": messages, CONTEXT_CHANNEL: context}
        return messages, channels if door.reader.input_channels == START else {**channels, START: {}}
    named = [with_known_name(message) for message in messages] if door.reads_messages else messages
    call = apply_context(clip_tail(named, config), context, config.inject_as)
    sent = [
        message if message.id else message.model_copy(update={"id": f"{CONTEXT_MESSAGE_ID}-{position}"})
        for position, message in enumerate(call)
    ]
    return sent, sent if door.reads_messages else {"messages": sent}


def with_known_name(message: AnyMessage) -> AnyMessage:
    """The message as every provider takes it: a name that some refuse, as "Anne Martin", stands before the words."""
    name = message.name
    if name is None or _NAME.fullmatch(name):
        return message
    content, shown = message.content, shown_name(name)
    if message.type == "human" and shown:
        before = {"type": "text", "text": f"{shown}:"}
        content = said_by(shown, content) if isinstance(content, str) else [before, *content]
    return message.model_copy(update={"name": None, "content": content})


def _finish(output: Any, sent: Sequence[AnyMessage], state: MemoryState, recalled: Update) -> Update:
    taken, found = {message.id for message in state["messages"]}, []
    for message in new_messages(output, sent):
        # The reducer would put it in the place of the message that has its id; without one, it gives it a new one.
        found.append(message.model_copy(update={"id": None}) if message.id in taken else message)
        taken.add(message.id)
    return {**recalled, "messages": found}


def new_messages(output: Any, sent: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What an agent said, without what it was sent.

    Only what follows the last message that was sent is new: a summary that the agent made of its own window, messages
    it rewrote or removed, and the copies that carry recalled text stay out of the thread. An id alone makes no answer
    an old one: some servers give the same one to all.

    Args:
        output: a text, a message, a list of messages, or a mapping with ``messages``; with or without what was sent.
        sent: the messages that the agent was given, each with an id.

    Raises:
        ConfigError: the output is something else.
    """
    found = output.get("messages") if isinstance(output, Mapping) else output
    found = [AIMessage(found)] if isinstance(found, str) else [found] if isinstance(found, BaseMessage) else found
    if not isinstance(found, Sequence):
        raise ConfigError(
            f"the agent answered with {type(output).__name__}: it must return {{'messages': [...]}}, messages, "
            "a message or a text."
        )
    messages = convert_to_messages(found)
    return [
        cast(AnyMessage, each) for each in messages[_known(messages, sent) :] if not isinstance(each, RemoveMessage)
    ]


def _known(messages: Sequence[BaseMessage], sent: Sequence[BaseMessage]) -> int:
    """How many of the messages end with the last one that was sent.

    Others than answers are known by their ids, or by their words, where they are handed back without ids. Of the
    answers, those are known that stand where they were sent: among what others said, or ahead of all that is new.
    """
    others = [message for message in sent if not isinstance(message, AIMessage)]
    ids, texts = (
        {message.id for message in others},
        {_words(each) for each in others if each.type in ("human", "system")},
    )
    known = max((n for n, each in enumerate(messages, 1) if each.id in ids or _words(each) in texts), default=0)
    last = messages[known - 1] if known else None
    place = max((n for n, each in enumerate(sent, 1) if last and (each.id == last.id or _same(each, last))), default=0)
    before = [message.id for message in sent[place:] if isinstance(message, AIMessage)]
    for position, message in enumerate(messages[known:], known + 1):
        if message.id in before and (place or position < len(messages)):
            before, known = before[before.index(message.id) + 1 :], position
    return known


def _same(one: BaseMessage, other: BaseMessage) -> bool:
    return one.type in ("human", "system") and _words(one) == _words(other)


def _words(message: BaseMessage) -> tuple[str, str]:
    return message.type, repr(message.content)
