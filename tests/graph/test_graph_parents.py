"""A memory graph as a node tells, once, when its parent loses or keeps what was recalled."""

from __future__ import annotations

from typing import Annotated

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore

from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph, parents
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel


class Untracked(MessagesState):
    memory_context: Annotated[str, UntrackedValue]


class Tracked(MessagesState):
    memory_context: str


@pytest.fixture(autouse=True)
def _nothing_was_told(monkeypatch):
    """Each test begins as a process does, in which nobody was warned yet."""
    monkeypatch.setattr(parents, "_told", set())


@pytest.fixture(params=["sync", "async"])
def run_in(request, run_config):
    """Runs a node in a parent graph of a schema, some times over, in sync and in async."""

    async def run(node, schema, times=1):
        parent = StateGraph(schema).add_node("memory", node).add_edge(START, "memory").compile(store=InMemoryStore())
        for _ in range(times):
            call = {"messages": [HumanMessage("My wife is called Anne")]}
            if request.param == "sync":
                parent.invoke(call, run_config())
            else:
                await parent.ainvoke(call, run_config())

    return run


async def test_a_parent_that_drops_what_is_recalled(run_in, config, caplog):
    """A recall graph in a parent without memory_context is of no use: one warning says so, and what to declare."""
    await run_in(create_recall_graph(config=config), MessagesState, times=3)
    (warning,) = caplog.messages
    assert "'recall' has no channel memory_context" in warning
    assert "class State(MemoryState)" in warning


@pytest.mark.parametrize("schema", [MemoryState, Untracked])
async def test_a_parent_that_declares_the_channel(run_in, config, caplog, schema):
    """The channel as MemoryState has it, all of them or that one, is right: nothing is said."""
    await run_in(create_recall_graph(config=config), schema)
    await run_in(create_memory_graph(ScriptedChatModel(then="ok"), config=config), schema)
    assert not caplog.messages


async def test_a_parent_that_checkpoints_what_is_recalled(run_in, config, caplog):
    """A plain channel of that name would keep every recalled text in the thread's checkpoints: either graph says so."""
    await run_in(create_recall_graph(config=config), Tracked)
    await run_in(create_memory_graph(ScriptedChatModel(then="ok"), config=config), Tracked)
    assert ["checkpoints memory_context" in message for message in caplog.messages] == [True, True]
    assert ["'recall'" in caplog.messages[0], "'memory'" in caplog.messages[1]] == [True, True]


async def test_graphs_that_need_no_channel(run_in, config, caplog):
    """The memory graph, which hands recalled text to its own agent, and the remember graph run anywhere."""
    await run_in(create_memory_graph(ScriptedChatModel(then="ok"), config=config), MessagesState)
    await run_in(create_remember_graph(config=config), MessagesState)
    assert not caplog.messages


async def test_a_call_in_a_nodes_function(run_in, config, caplog):
    """A function that calls the recall graph reads its answer; its own graph needs no channel, and hears nothing."""
    recall, read = create_recall_graph(config=config), []

    def plain(state: MessagesState) -> dict:
        read.append(recall.invoke({"messages": state["messages"]})["memory_context"])
        return {}

    def for_somebody(state: MessagesState, config) -> dict:
        somebody = {**config, "configurable": {**config["configurable"], "user_id": "bob"}}
        read.append(recall.invoke({"messages": state["messages"]}, somebody)["memory_context"])
        return {}

    async def awaiting(state: MessagesState) -> dict:
        read.append((await recall.ainvoke({"messages": state["messages"]}))["memory_context"])
        return {}

    for node in (plain, for_somebody):
        await run_in(node, MessagesState)
    parent = StateGraph(MessagesState).add_node(awaiting).add_edge(START, "awaiting").compile(store=InMemoryStore())
    await parent.ainvoke({"messages": [HumanMessage("hi")]}, {"configurable": {"user_id": "alice"}})
    assert (read, caplog.messages) == ([""] * 3, [])


def test_a_graph_that_runs_by_itself(store, config, run_config, caplog):
    """At the top there is no parent, and nothing to say."""
    create_recall_graph(store=store, config=config).invoke({"messages": [HumanMessage("hi")]}, run_config())
    assert not caplog.messages


@pytest.mark.parametrize("read", [None, print, object()])
def test_a_langgraph_that_keeps_its_channels_elsewhere(store, config, run_config, read, caplog):
    """Where the parent's channels aren't found, nothing is said, and the graph runs."""
    from langchain_core.runnables.config import var_child_runnable_config

    recall = create_recall_graph(store=store, config=config)
    call = run_config(**{parents.READ: read})
    token = var_child_runnable_config.set(call)
    try:
        assert parents.parents_channels(call) is None
        assert recall.invoke({"messages": [HumanMessage("hi")]}, run_config())["memory_context"] == ""
    finally:
        var_child_runnable_config.reset(token)
    assert not caplog.messages


@pytest.mark.parametrize("make", [create_recall_graph, create_remember_graph])
async def test_a_parent_that_checkpoints_the_report(run_in, config, caplog, make):
    """A plain channel for the report keeps the texts that it tells of; one warning says so, and what to declare."""

    class Reported(Untracked):
        memory_report: dict

    await run_in(make(config=config), Reported, times=2)
    (warning,) = caplog.messages
    assert "checkpoints memory_report" in warning
    assert "UntrackedValue" in warning


async def test_a_remember_graph_gives_no_recalled_text(run_in, config, caplog):
    """A parent that keeps memory_context hears nothing of it from a graph that doesn't write it."""
    await run_in(create_remember_graph(config=config), Tracked)
    assert not caplog.messages
