"""Agents that ask a person, inside somebody else's graph; and many people in one process at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, wrap_model_call
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from langmem_plus.graph import create_memory_graph
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

FACT = "The user waits at the zebra crossing 4711"
QUESTION = "Where is the zebra crossing? I own a boat."


@pytest.fixture
def config(config):
    """One chain, and failures that show."""
    return config.replace(background=False, strict=True)


@pytest.fixture
def known(store):
    """A store that knows the fact."""
    store.put(Scope("alice").namespace, "known", MemoryRecord(id="known", text=FACT, user_id="alice").to_value())
    return store


def ask_twice() -> str:
    """Ask twice, and tell what a person said each time."""
    return f"{interrupt('first?')} {interrupt('second?')}"


def a_callable(seen: list, mode: str):
    """A callable that asks a person."""

    def agent(state):
        seen.append(FACT in str(state["messages"]))
        return {"messages": [AIMessage(ask_twice())]}

    return agent


def a_graph(seen: list, mode: str, schema=MessagesState):
    """A compiled graph that asks a person in its second node; with the channel, or without."""

    def look(state: schema) -> dict:
        return {}

    def gate(state: schema) -> dict:
        seen.append(FACT in str(state.get("memory_context")) + str(state["messages"]))
        return {"messages": [AIMessage(ask_twice())]}

    return StateGraph(schema).add_node(look).add_node(gate).add_edge(START, "look").add_edge("look", "gate").compile()


def a_reader(seen: list, mode: str):
    """A compiled graph with memory_context."""
    return a_graph(seen, mode, MemoryState)


def a_tool_agent(seen: list, mode: str):
    """An agent of create_agent whose tool asks a person."""

    @tool
    def ask_a_person() -> str:
        """Ask a person."""
        return ask_twice()

    @wrap_model_call
    def watch(request, handler):
        seen.append(FACT in str(request.messages))
        return handler(request)

    @wrap_model_call
    async def awatch(request, handler):
        seen.append(FACT in str(request.messages))
        return await handler(request)

    call = AIMessage("", tool_calls=[{"name": "ask_a_person", "args": {}, "id": "c1"}])
    return create_agent(
        ScriptedChatModel([call, "yes no"]), [ask_a_person], middleware=[awatch if mode == "async" else watch]
    )


AGENTS = (a_callable, a_graph, a_reader, a_tool_agent)
DOORS = (*product(("top", "node", "wrapped"), ("sync", "async")), ("task", "sync"))


def behind(door: str, memory, store, saver):
    """A graph in which the memory graph stands behind a door of some kind; and how its messages are read."""
    if door == "top":
        return memory.copy({"checkpointer": saver})
    if door == "task":
        ask = task(lambda state: memory.invoke(state)["messages"][-1].text)
        return entrypoint(store=store, checkpointer=saver)(lambda state: {"messages": [AIMessage(ask(state).result())]})

    def wrapped(state: MessagesState) -> dict:
        return {"messages": memory.invoke({"messages": state["messages"]})["messages"][-1:]}

    async def awrapped(state: MessagesState) -> dict:
        return {"messages": (await memory.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    node = memory if door == "node" else RunnableLambda(wrapped, awrapped)
    builder = StateGraph(MessagesState).add_node("talk", node).add_edge(START, "talk")
    return builder.compile(store=store, checkpointer=saver)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("door", "mode"), DOORS)
async def test_interrupts_behind_every_door(known, config, run_config, records, agent, door, mode):
    """An agent of any kind, behind any door, asks a person twice: whenever it runs it has the recalled text; the turn
    and its fact are recorded once, and the thread's own checkpoints hold nothing that was recalled."""
    seen: list[bool] = []
    given = known if door == "top" else None
    saver = InMemorySaver()
    graph = behind(door, create_memory_graph(agent(seen, mode), store=given, config=config), known, saver)
    steps = [{"messages": [HumanMessage(QUESTION)]}, Command(resume="yes"), Command(resume="no")]
    for step in steps:
        out = graph.invoke(step, run_config()) if mode == "sync" else await graph.ainvoke(step, run_config())
    assert out["messages"][-1].text == "yes no"
    assert seen and all(seen)
    roles = Counter(record.role for record in await asyncio.to_thread(records, known) if record.id != "known")
    assert roles == {"user": 1, "assistant": 1, "memory": 1}
    own = [value[1] for key, value in saver.blobs.items() if key[1] == ""]
    own += [write[2][1] for key, group in saver.writes.items() if key[1] == "" for write in group.values()]
    assert FACT.encode() not in b"".join(own)


def test_a_person_approves_a_tool_call(known, config, run_config, records):
    """LangChain's own human-in-the-loop middleware works in an agent inside the memory graph: approved, its tool runs,
    and the turn is recorded once."""
    ran = []

    @tool
    def book(place: str) -> str:
        """Book a place."""
        ran.append(place)
        return f"booked {place}"

    call = AIMessage("", tool_calls=[{"name": "book", "args": {"place": "Lyon"}, "id": "c1"}])
    model = ScriptedChatModel([call, "Done."])
    agent = create_agent(model, [book], middleware=[HumanInTheLoopMiddleware(interrupt_on={"book": True})])
    graph = create_memory_graph(agent, store=known, config=config, checkpointer=InMemorySaver())
    stopped = graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert (stopped["__interrupt__"][0].value["action_requests"][0]["name"], ran) == ("book", [])
    done = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), run_config())
    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "ai"]
    assert ran == ["Lyon"]
    assert all(FACT in call.text for call in model.calls)
    assert [record.text for record in records(known, role="user")] == [QUESTION]
    assert [record.text for record in records(known, role="assistant")] == ["Done."]


USERS = ("alice", "alice/x", "Alice", "a.b@x.org", "..", "用户")


@dataclass
class Person:
    """A parent's context."""

    user_id: str


def telling(model_calls: list):
    """An agent that answers with all it was given, so that a mixed-up memory shows."""

    def agent(state):
        text = state["messages"][-1].text
        model_calls.append(text)
        return {"messages": [AIMessage(f"I heard: {text}")]}

    return agent


def secret(user: str) -> str:
    """What only one user says."""
    return f"My secret word is xyzzy{USERS.index(user)}q"


def check(answers: dict[str, str]) -> None:
    """Everybody was told their own secret, and nobody else's."""
    for user, answer in answers.items():
        others = [other for other in USERS if other != user and f"xyzzy{USERS.index(other)}q" in answer]
        assert (user, secret(user) in answer, others) == (user, True, [])


def parent_of(memory, store):
    """A parent with a context, a store and a checkpointer."""
    builder = StateGraph(MessagesState, context_schema=Person).add_node("talk", memory).add_edge(START, "talk")
    return builder.compile(store=store, checkpointer=InMemorySaver())


def call_of(user: str, thread: str, by: str) -> dict:
    """How a run names its user: in the configuration, or in the context."""
    if by == "config":
        return {"config": {"configurable": {"thread_id": f"{thread} {user}", "user_id": user}}}
    return {"config": {"configurable": {"thread_id": f"{thread} {user}"}}, "context": Person(user)}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("by", ["config", "context"])
def test_users_in_threads_at_once(store, config, records, by, background):
    """One graph serves many users from many threads at once, and tells nobody what another one said."""
    graph = parent_of(create_memory_graph(telling([]), config=config.replace(background=background)), store)

    def say(user: str, thread: str, text: str) -> str:
        return graph.invoke({"messages": [HumanMessage(text)]}, **call_of(user, thread, by))["messages"][-1].text

    with ThreadPoolExecutor(len(USERS)) as pool:
        list(pool.map(lambda user: say(user, "tell", secret(user)), USERS))
        records(store)
        answers = pool.map(lambda user: say(user, "ask", "What is my secret word?"), USERS)
        check(dict(zip(USERS, answers, strict=True)))
    for user in USERS:
        mine = [item.value for item in store.search(Scope(user).namespace, limit=100)]
        assert {value["user_id"] for value in mine} == {user}
        assert [value["text"] for value in mine if value["role"] == "memory"] == [secret(user)]


@pytest.mark.parametrize("by", ["config", "context"])
async def test_users_in_one_event_loop_at_once(store, config, records, by):
    """The same of tasks in one event loop."""
    graph = parent_of(create_memory_graph(telling([]), config=config.replace(background=True)), store)

    async def say(user: str, thread: str, text: str) -> str:
        done = await graph.ainvoke({"messages": [HumanMessage(text)]}, **call_of(user, thread, by))
        return done["messages"][-1].text

    await asyncio.gather(*(say(user, "tell", secret(user)) for user in USERS))
    await asyncio.to_thread(records, store)
    answers = await asyncio.gather(*(say(user, "ask", "What is my secret word?") for user in USERS))
    check(dict(zip(USERS, answers, strict=True)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(["t1", "t2"])), min_size=2, max_size=10))
def test_any_order_of_users_and_threads(config, script):
    """However users and threads take turns over one graph, each sees what they said themselves, and only that."""
    heard: list[str] = []
    store = InMemoryStore()
    graph = parent_of(create_memory_graph(telling(heard), config=config), store)
    told = set()
    for user, thread in script:
        graph.invoke({"messages": [HumanMessage(secret(user))]}, **call_of(user, thread, "config"))
        told.add(user)
        fresh = f"ask {thread} {len(heard)}"
        graph.invoke({"messages": [HumanMessage("What is my secret word?")]}, **call_of(user, fresh, "context"))
        check({user: heard[-1]})
    assert {item.namespace[1] for item in store.search(("memories",), limit=1000)} == {
        Scope(user).namespace[1] for user in told
    }
