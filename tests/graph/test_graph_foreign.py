"""Memory inside graphs of other people: other schemas, wrapped calls, the functional API, the parent's store."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langmem_plus.errors import MissingStoreError
from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

FACT = "My wife is called Anne"
QUESTION = "What is my wife called?"
TURNS = (FACT, "yes", "yes", QUESTION)


class Ticket(TypedDict, total=False):
    """A state of somebody's own: no messages, no channel of memory's."""

    customer: str
    question: str
    answer: str


@pytest.fixture
def config(config):
    """One chain, and failures that show."""
    return config.replace(background=False, strict=True)


@pytest.fixture(params=[False, True], ids=["no checkpointer", "checkpointer"])
def saver(request):
    """A parent's checkpointer, or none."""
    return InMemorySaver() if request.param else None


@pytest.fixture
def counts(records):
    """How many records of each role a store holds."""

    def count(store) -> dict[str, int]:
        return dict(Counter(record.role for record in records(store)))

    return count


def said(text: str) -> dict:
    """A memory graph's input."""
    return {"messages": [HumanMessage(text)]}


def kept(saver: InMemorySaver, ns: str | None = None) -> str:
    """All that a checkpointer holds; of the thread itself alone, where its namespace is given."""
    blobs = [value[1] for key, value in saver.blobs.items() if ns in (None, key[1])]
    groups = [group for key, group in saver.writes.items() if ns in (None, key[1])]
    return b"".join([*blobs, *(write[2][1] for group in groups for write in group.values())]).decode("utf-8", "replace")


@pytest.mark.parametrize("schema", [MessagesState, MemoryState])
async def test_a_node_that_shares_messages(store, config, run_config, counts, saver, schema):
    """As a node, the memory graph takes the parent's store, answers into the shared messages and records each turn
    once, with the channels declared or without, in sync and in async."""
    model = ScriptedChatModel(then="ok")
    builder = StateGraph(schema).add_node("talk", create_memory_graph(model, config=config)).add_edge(START, "talk")
    graph = builder.compile(store=store, checkpointer=saver)
    for number, text in enumerate(TURNS):
        thread = run_config("later" if text == QUESTION else "first")
        out = graph.invoke(said(text), thread) if number % 2 else await graph.ainvoke(said(text), thread)
    assert [message.text for message in out["messages"]] == [QUESTION, "ok"]
    assert f"[memory] {FACT}" in model.calls[-1].text
    assert counts(store) == {"user": 4, "assistant": 4, "memory": 1}
    if saver:
        assert "[memory]" not in kept(saver)
        for point in list(graph.get_state_history(run_config("first"))):
            graph.invoke(None, {"configurable": {**point.config["configurable"], "user_id": "alice"}})
        assert counts(store) == {"user": 4, "assistant": 4, "memory": 1}


async def test_a_wrapped_call_maps_schemas(store, config, run_config, counts, saver):
    """A node's function maps its own state to messages and back; the store, the thread and the user come along."""
    model = ScriptedChatModel(then="ok")
    memory = create_memory_graph(model, config=config)

    def answer(state: Ticket) -> Ticket:
        return {"answer": memory.invoke(said(state["question"]))["messages"][-1].text}

    async def aanswer(state: Ticket) -> Ticket:
        return {"answer": (await memory.ainvoke(said(state["question"])))["messages"][-1].text}

    sync = StateGraph(Ticket).add_node("a", answer).add_edge(START, "a").compile(store=store, checkpointer=saver)
    twin = StateGraph(Ticket).add_node("a", aanswer).add_edge(START, "a").compile(store=store, checkpointer=saver)
    for number, text in enumerate(TURNS):
        call, thread = {"question": text}, run_config("later" if text == QUESTION else "first")
        out = sync.invoke(call, thread) if number % 2 else await twin.ainvoke(call, thread)
    assert out == {"question": QUESTION, "answer": "ok"}
    assert f"[memory] {FACT}" in model.calls[-1].text
    assert counts(store) == {"user": 4, "assistant": 4, "memory": 1}
    if saver:
        assert "[memory]" not in kept(saver, ns="")


@pytest.mark.parametrize("whole", [False, True], ids=["user alone", "configuration and user"])
def test_a_wrapped_call_for_somebody_named_in_the_state(store, config, records, saver, whole):
    """Whose memory it is can stand in the foreign state; the parent's store is found either way."""
    memory = create_memory_graph(ScriptedChatModel(then="ok"), config=config)

    def answer(state: Ticket, config) -> Ticket:
        fields = {**(config["configurable"] if whole else {}), "user_id": state["customer"]}
        call = {**config, "configurable": fields} if whole else {"configurable": fields}
        return {"answer": memory.invoke(said(state["question"]), call)["messages"][-1].text}

    graph = StateGraph(Ticket).add_node("answer", answer).add_edge(START, "answer")
    graph = graph.compile(store=store, checkpointer=saver)
    for customer in ("ann", "bob"):
        graph.invoke({"customer": customer, "question": f"My name is {customer}"}, {"configurable": {"thread_id": "t"}})
    assert {(r.user_id, r.text) for r in records(store, role="user")} == {
        ("ann", "My name is ann"),
        ("bob", "My name is bob"),
    }


def test_a_wrapped_memory_graph_that_keeps_its_own_thread(store, config, run_config, counts):
    """With checkpointer=True the memory graph keeps the conversation that a foreign state has no channel for."""
    model = ScriptedChatModel(then="ok")
    memory = create_memory_graph(model, config=config, checkpointer=True)

    def answer(state: Ticket) -> Ticket:
        return {"answer": memory.invoke(said(state["question"]))["messages"][-1].text}

    saver = InMemorySaver()
    graph = StateGraph(Ticket).add_node("a", answer).add_edge(START, "a").compile(store=store, checkpointer=saver)
    for text in TURNS:
        graph.invoke({"question": text}, run_config())
    assert [message.text for message in model.calls[-1].messages[:-1]] == [FACT, "ok", "yes", "ok", "yes", "ok"]
    assert counts(store) == {"user": 4, "assistant": 4, "memory": 1}
    assert "[memory]" not in kept(saver)


async def test_the_functional_api(store, config, run_config, counts, saver):
    """Called in a task of an entrypoint, the memory graph finds store, thread and user; the answer alone is kept."""
    model = ScriptedChatModel(then="ok")
    memory = create_memory_graph(model, config=config)

    @task
    def ask(text: str) -> str:
        return memory.invoke(said(text))["messages"][-1].text

    @entrypoint(store=store, checkpointer=saver)
    def flow(text: str) -> str:
        return ask(text).result()

    @task
    async def aask(text: str) -> str:
        return (await memory.ainvoke(said(text)))["messages"][-1].text

    @entrypoint(store=store, checkpointer=saver)
    async def aflow(text: str) -> str:
        return await aask(text)

    for number, text in enumerate(TURNS):
        thread = run_config("later" if text == QUESTION else "first")
        assert (flow.invoke(text, thread) if number % 2 else await aflow.ainvoke(text, thread)) == "ok"
    assert f"[memory] {FACT}" in model.calls[-1].text
    assert counts(store) == {"user": 4, "assistant": 4, "memory": 1}
    if saver:
        assert "[memory]" not in kept(saver, ns="")


async def test_the_halves_in_the_functional_api_are_resumed(store, config, run_config, counts):
    """An entrypoint begins anew after each interrupt: it recalls anew, too, and what it remembered is recorded once."""
    recall, remember, seen = create_recall_graph(config=config), create_remember_graph(config=config), []

    def agree(messages: list) -> list:
        seen.append(recall.invoke({"messages": messages})["memory_context"])
        messages = [*messages, AIMessage(interrupt("what shall I say?"))]
        remember.invoke({"messages": messages})
        interrupt("was that right?")
        return messages

    async def aagree(messages: list) -> list:
        seen.append((await recall.ainvoke({"messages": messages}))["memory_context"])
        messages = [*messages, AIMessage(interrupt("what shall I say?"))]
        await remember.ainvoke({"messages": messages})
        interrupt("was that right?")
        return messages

    saver = InMemorySaver()

    @entrypoint(store=store, checkpointer=saver)
    def flow(text: str, *, previous=None):
        messages = agree([*(previous or []), HumanMessage(text)])
        return entrypoint.final(value=messages[-1].text, save=messages)

    @entrypoint(store=store, checkpointer=saver)
    async def aflow(text: str, *, previous=None):
        messages = await aagree([*(previous or []), HumanMessage(text)])
        return entrypoint.final(value=messages[-1].text, save=messages)

    for text in (FACT, QUESTION):
        for step in (text, Command(resume="ok"), Command(resume="yes")):
            out = flow.invoke(step, run_config("sync"))
    assert (out, ["Anne" in each for each in seen[-3:]]) == ("ok", [True] * 3)
    assert counts(store) == {"user": 2, "assistant": 2, "memory": 1}
    for step in (QUESTION, Command(resume="ok"), Command(resume="yes")):
        out = await aflow.ainvoke(step, run_config("async"))
    assert (out, ["Anne" in each for each in seen[-3:]]) == ("ok", [True] * 3)
    assert counts(store) == {"user": 3, "assistant": 3, "memory": 1}
    assert "<memory_context>" not in kept(saver)


def test_a_function_that_recalls_and_is_interrupted(store, config, run_config):
    """A node that asks a person recalls in its own function: after the resume it has the text again."""
    store.put(Scope("alice").namespace, "k", MemoryRecord(id="k", text=FACT, user_id="alice").to_value())
    recall, seen = create_recall_graph(config=config), []

    def agent(state: MessagesState) -> dict:
        seen.append(recall.invoke({"messages": state["messages"]})["memory_context"])
        return {"messages": [AIMessage(interrupt("may I?"))]}

    saver = InMemorySaver()
    graph = StateGraph(MessagesState).add_node(agent).add_edge(START, "agent").compile(store=store, checkpointer=saver)
    graph.invoke(said(QUESTION), run_config())
    out = graph.invoke(Command(resume="yes"), run_config())
    assert (out["messages"][-1].text, [FACT in each for each in seen]) == ("yes", [True, True])
    assert FACT not in kept(saver)


def test_a_subgraphs_own_store_loses(config, run_config, counts):
    """As in LangGraph, what a memory graph was compiled or copied with yields to the parent's store: only ``store=``,
    which is closed over, wins; a parent without any means no store."""
    own, parents = InMemoryStore(), InMemoryStore()
    memory = create_memory_graph(ScriptedChatModel(then="ok"), config=config).copy({"store": own})
    builder = StateGraph(MessagesState).add_node("talk", memory).add_edge(START, "talk")
    builder.compile(store=parents).invoke(said(FACT), run_config())
    assert (counts(own), counts(parents)) == ({}, {"user": 1, "assistant": 1, "memory": 1})
    with pytest.raises(MissingStoreError, match=r"store=MarkdownStore|store=\.\.\."):
        builder.compile().invoke(said(FACT), run_config())


def trimming(kind: str, schema, config, keep: int) -> StateGraph:
    """A parent that cuts its thread after each turn to so many messages; memory is in it in one of three ways."""
    memory = create_memory_graph(lambda state: "ok", config=config)

    def wrapped(state) -> dict:
        return {"messages": memory.invoke({"messages": state["messages"]})["messages"][-1:]}

    def cut(state) -> dict:
        messages = state["messages"]
        return {"messages": [RemoveMessage(id=message.id) for message in messages[: len(messages) - keep]]}

    halves = [
        ("recall", create_recall_graph(config=config)),
        ("talk", lambda state: {"messages": [AIMessage("ok")]}),
        ("remember", create_remember_graph(config=config)),
    ]
    ways = {"node": [("talk", memory)], "wrapped": [("talk", wrapped)], "halves": halves}
    builder = StateGraph(schema).add_sequence([*ways[kind], ("cut", cut)])
    return builder.add_edge(START, ways[kind][0][0])


@settings(
    max_examples=25,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kind=st.sampled_from(["node", "wrapped", "halves"]),
    schema=st.sampled_from([MessagesState, MemoryState]),
    keep=st.integers(0, 6),
    lasting=st.booleans(),
    script=st.lists(st.sampled_from(["yes", "no", "I moved to Lyon", "I moved to Paris"]), min_size=1, max_size=6),
)
def test_a_parent_that_cuts_its_thread_loses_nothing(config, run_config, kind, schema, keep, lasting, script):
    """However short a parent keeps its thread, and whatever is said again: each turn is recorded, and once. So it is
    when a checkpoint is replayed: all but those from before a message that follows nothing, which nothing tells from
    the same words said anew."""
    store = InMemoryStore()
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with closing(connection):
        saver = SqliteSaver(connection) if lasting else InMemorySaver()
        graph = trimming(kind, schema, config, keep).compile(store=store, checkpointer=saver)
        for text in script:
            graph.invoke(said(text), run_config())
        assert roles(store) == {"user": Counter(script), "assistant": {"ok": len(script)}}
        for point in list(graph.get_state_history(run_config())):
            if any(message.type == "ai" for message in point.values["messages"]) or point.next != ("__start__",):
                graph.invoke(None, {"configurable": {**point.config["configurable"], "user_id": "alice"}})
        assert roles(store) == {"user": Counter(script), "assistant": {"ok": len(script)}}


def roles(store) -> dict[str, dict[str, int]]:
    """How often each text stands in the store, by whose words it is."""
    values = [item.value for item in store.search(("memories",), limit=1000)]
    return {
        role: dict(Counter(value["text"] for value in values if value["role"] == role))
        for role in ("user", "assistant")
    }


@dataclass
class Person:
    """A parent's context."""

    user_id: str


@pytest.mark.parametrize("door", ["node", "wrapped", "task"])
async def test_a_parents_context_names_the_user(store, config, records, door):
    """context_schema and context= of a parent reach memory through each door, in sync and in async."""
    memory = create_memory_graph(ScriptedChatModel(then="ok"), config=config)

    def wrapped(state: MessagesState, runtime: Runtime[Person]) -> dict:
        return {"messages": memory.invoke(said(state["messages"][-1].text))["messages"][-1:]}

    if door == "task":
        ask = task(lambda state: memory.invoke(state)["messages"][-1].text)
        graph = entrypoint(store=store, context_schema=Person)(lambda state: ask(state).result())
    else:
        builder = StateGraph(MessagesState, context_schema=Person)
        builder.add_node("talk", memory if door == "node" else wrapped).add_edge(START, "talk")
        graph = builder.compile(store=store)
    graph.invoke(said("My name is Carol"), context=Person("carol"))
    if door != "task":
        await graph.ainvoke(said("My name is Dora"), context=Person("dora"))
    expected = {("carol", "My name is Carol"), ("dora", "My name is Dora")}
    assert {(r.user_id, r.text) for r in records(store, role="user")} == {
        pair for pair in expected if door != "task" or pair[0] == "carol"
    }
