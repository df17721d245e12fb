"""A memory graph, a retriever or an agent that is called within another graph: whose memory it is, and that a task
which runs again says its words once."""

from __future__ import annotations

import asyncio
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, interrupt

from langmem_plus.errors import ForeignIdentityError
from langmem_plus.graph import Afterwards, create_memory_graph, create_recall_graph, create_remember_graph
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.retriever import MemoryRetriever
from langmem_plus.services import Services, current_runtime, find_identity, settle
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tools import create_search_memory_tool

QUESTION = "Where does the zebra wait?"
RETRY = RetryPolicy(initial_interval=0.01, jitter=False, max_attempts=5)


class Whose(TypedDict, total=False):
    user_id: str
    space: str


class Talk(TypedDict, total=False):
    question: str
    answer: str


def within(node, store=None, saver=None, **fields):
    """A graph with one node."""
    builder = StateGraph(Talk, context_schema=Whose).add_node("answer", node, **fields).add_edge(START, "answer")
    return builder.compile(store=store, checkpointer=saver)


@pytest.fixture
def known():
    """A store in which two users have a fact each."""
    store = InMemoryStore()
    for user in ("alice", "bob"):
        record = MemoryRecord(id=f"k-{user}", text=f"The zebra waits for {user}", user_id=user)
        store.put(Scope(user).namespace, record.id, record.to_value())
    return store


def doors(config) -> dict:
    """Ways to recall, each as a function of a call's configuration and further arguments."""
    recall, search = create_recall_graph(config=config), create_search_memory_tool(config=config)
    retriever, said = MemoryRetriever(config=config), {"messages": [HumanMessage(QUESTION)]}
    return {
        "recall": lambda *call, **more: recall.invoke(said, *call, **more)["memory_context"],
        "recall, awaiting": lambda *call, **more: asyncio.run(recall.ainvoke(said, *call, **more))["memory_context"],
        "retriever": lambda *call: "".join(each.page_content for each in retriever.invoke(QUESTION, *call)),
        "tool": lambda *call: str(search.invoke({"query": QUESTION}, *call)),
    }


@pytest.mark.parametrize("door", ["recall", "recall, awaiting", "retriever", "tool"])
def test_the_nearest_word_names_the_user(door, known, config):
    """Who is named in the inner call comes before the outer graph's context; without a word there, that one counts,
    also where the configuration is handed on as it is."""
    recall, found = doors(config)[door], []

    def node(state, config) -> dict:
        found.extend([recall({"configurable": {"user_id": "bob"}}), recall(), recall(config)])
        return {}

    for configurable in ({}, {"user_id": "bob"}, {"user_id": "alice"}):
        found.clear()
        within(node, known).invoke({}, {"configurable": configurable}, context={"user_id": "alice"})
        # What is only handed on isn't said again: where the outer run names two, its context comes first, as anywhere.
        nearest = "alice" if configurable.get("user_id") == "bob" else "bob"
        assert [f"for {user}" in text for user, text in zip((nearest, "alice", "alice"), found, strict=True)] == [
            True
        ] * 3
        assert not any("for bob" in text for text in found[1:])


def test_a_context_of_the_call_comes_first(known, config):
    """A call with a context of its own means that one, whatever the outer graph names."""
    recall, found = doors(config)["recall"], []

    def node(state) -> dict:
        found.append(recall(context={"user_id": "bob"}))
        return {}

    within(node, known).invoke({}, {"configurable": {"user_id": "alice"}}, context={"user_id": "alice"})
    assert "for bob" in found[0]
    assert "for alice" not in found[0]


def test_an_agent_for_which_two_users_are_named(known, config):
    """An agent can't tell which of them its call has named: it is refused, and nobody's memory is served; where both
    are one, or only one is named, it runs."""
    model = ScriptedChatModel(then="ok")
    agent = create_agent(model, [], middleware=[LongTermMemoryMiddleware(config=config)], context_schema=Whose)
    said = {"messages": [HumanMessage(QUESTION)]}

    def ask(call, **more):
        within(lambda state: agent.invoke(said, call, **more) and {}, known).invoke({}, context={"user_id": "alice"})

    with pytest.raises(ForeignIdentityError, match=r"'bob'.*'alice'.*both"):
        ask({"configurable": {"user_id": "bob"}})
    assert model.calls == []
    ask({"configurable": {"user_id": "bob"}}, context={"user_id": "bob"})
    ask({"configurable": {"user_id": "alice"}})
    assert ["for bob" in call.text for call in model.calls] == [True, False]


def test_a_note_does_not_outlive_what_it_is_about(known, config):
    """An agent within a memory graph that names another user than that one was called for is refused as well."""
    inner = create_agent(ScriptedChatModel(then="ok"), [], middleware=[LongTermMemoryMiddleware(config=config)])

    def agent(state) -> dict:
        return inner.invoke({"messages": [HumanMessage(QUESTION)]}, {"configurable": {"user_id": "bob"}})

    outer = create_memory_graph(agent, config=config)
    graph = within(lambda state: outer.invoke({"messages": [HumanMessage("hi")]}) and {}, known)
    with pytest.raises(ForeignIdentityError):
        graph.invoke({}, context={"user_id": "alice"})


NAMES = st.one_of(st.none(), st.sampled_from(["alice", "bob", "carol"]))


@given(around=NAMES, context=NAMES, own=NAMES)
def test_whoever_is_named_nearest(around, context, own):
    """Over all ways to name somebody: the call's own word, then the context, then what is around."""
    found = []

    def node(state) -> dict:
        settled = settle({"configurable": {"user_id": own}} if own else None)
        found.append(find_identity(settled["configurable"], current_runtime())["user_id"])
        return {}

    configurable = {"user_id": around} if around else {}
    within(node).invoke({}, {"configurable": configurable}, context={"user_id": context} if context else None)
    assert found == [own if own and own != around else context or own or around]


@pytest.mark.parametrize("saver", [InMemorySaver, lambda: None])
@pytest.mark.parametrize("half", [False, True])
def test_a_node_that_is_retried_says_its_words_once(saver, half, config, run_config, records):
    """A function whose later lines fail calls the graph once an attempt, with a message that it makes anew."""
    store, failures = InMemoryStore(), [ConnectionError("flaky")] * 2
    graph = create_remember_graph(config=config) if half else create_memory_graph(lambda state: "ok", config=config)

    def node(state) -> dict:
        said = [HumanMessage(state["question"]), *([AIMessage("ok")] if half else [])]
        graph.invoke({"messages": said})
        if failures:
            raise failures.pop()
        return {}

    parent = within(node, store, saver(), retry_policy=RETRY)
    parent.invoke({"question": "I like tea"}, run_config())
    assert sorted(record.role for record in records(store)) == ["assistant", "memory", "user"]
    parent.invoke({"question": "I like tea"}, run_config())  # another run: it is said again
    assert len(records(store, role="user")) == len(records(store, role="assistant")) == 2


def test_words_that_one_attempt_says_twice(config, run_config, records):
    """They are two turns, each of them once, however often the task is tried."""
    store, failures = InMemoryStore(), [ConnectionError("flaky")] * 2
    graph = create_memory_graph(lambda state: "ok", config=config)

    async def node(state) -> dict:
        await asyncio.gather(
            *(graph.ainvoke({"messages": text}) for text in ("yes please", "I like tea", "yes please"))
        )
        if failures:
            raise failures.pop()
        return {}

    asyncio.run(within(node, store, retry_policy=RETRY).ainvoke({}, run_config()))
    assert sorted(record.text for record in records(store, role="user")) == ["I like tea", "yes please", "yes please"]


def test_a_node_that_is_resumed_says_its_words_once(config, run_config, records):
    """So does a function that asks a person after the call, in a graph and in the functional API."""
    graph, store = create_memory_graph(lambda state: "ok", config=config), InMemoryStore()

    def node(state) -> dict:
        graph.invoke({"messages": [HumanMessage("I like tea")]})
        return {"answer": interrupt("go on?")}

    @task
    def told(text: str) -> str:
        return graph.invoke({"messages": [HumanMessage(text)]})["messages"][-1].text

    @entrypoint(store=store, checkpointer=InMemorySaver())
    def flow(text: str) -> str:
        return told(text).result() + interrupt("go on?")

    parent = within(node, store, InMemorySaver())
    for run, first in ((parent, {"question": "?"}), (flow, "I like jazz")):
        where = run_config("t1" if run is parent else "t2")
        run.invoke(first, where)
        run.invoke(Command(resume="yes"), where)
    assert sorted(record.text for record in records(store, role="user")) == ["I like jazz", "I like tea"]


def test_facts_are_drawn_for_the_scope_whatever_graph_runs(config, records):
    """Work for somebody that is done within another user's graph, sync and async, is done for that somebody."""
    store = InMemoryStore()
    afterwards = Afterwards(Services(store=store, config=config))
    for number, user in enumerate(("bob", "carol")):
        turn = MemoryRecord(id=f"turn-{number}", role="user", text="I like tea", user_id=user, extracted=False)
        store.put(Scope(user).namespace, turn.id, turn.to_value())

    def node(state) -> dict:
        afterwards.run(Scope("bob"), store)
        asyncio.run(afterwards.arun(Scope("carol"), store))
        return {}

    within(node, InMemoryStore()).invoke({}, {"configurable": {"user_id": "alice"}}, context={"user_id": "alice"})
    assert {record.user_id for record in records(store, role="memory")} == {"bob", "carol"}
    assert all(record.extracted for record in records(store, role="user"))
