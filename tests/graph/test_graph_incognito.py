"""A turn that was incognito stays so, whoever resumes it or has it answered again; each answer is stored once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.services import current_runtime
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

SECRET, FACT = "My secret PIN is 4711", "The zebra waits at 99"


@dataclass
class Context:
    user_id: str = "alice"
    incognito: bool = False


def say(text: str = SECRET, id: str | None = None) -> dict:
    """A run's input."""
    return {"messages": [HumanMessage(text, id=id)]}


def ask(state) -> dict:
    """An agent that asks a person first."""
    return {"messages": [AIMessage(f"secret reply {interrupt('go on?')}")]}


def halves(agent, config, parent=MemoryState, recall=True):
    """An agent between the two halves, in a parent's graph."""
    nodes = [("recall", create_recall_graph(config=config))] if recall else []
    nodes += [("agent", agent), ("remember", create_remember_graph(config=config))]
    return StateGraph(parent).add_sequence(nodes).add_edge(START, nodes[0][0])


def whole(agent, config):
    """The whole memory graph as a parent's node."""
    graph = create_memory_graph(agent, config=config)
    return StateGraph(MemoryState).add_node("memory", graph).add_edge(START, "memory")


def build(kind, agent, config, store, saver=None):
    """A graph of a kind around an agent."""
    saver = saver or InMemorySaver()
    if kind == "memory graph":
        return create_memory_graph(agent, store=store, config=config, checkpointer=saver)
    return (halves if kind == "halves" else whole)(agent, config).compile(store=store, checkpointer=saver)


KINDS = ["memory graph", "halves", "node"]


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_resume_need_not_say_it_again(kind, background, config, run_config, records):
    """Who resumes an incognito turn without a word about it has nothing of it stored; the next turn is as it says."""
    for how in ("sync", "async"):
        store = InMemoryStore()
        graph = build(kind, ask, config.replace(background=background), store)
        if how == "sync":
            graph.invoke(say(), run_config(incognito=True))
            graph.invoke(Command(resume="yes"), run_config(incognito=False))
        else:
            await graph.ainvoke(say(), run_config(incognito=True))
            await graph.ainvoke(Command(resume="yes"), run_config(incognito=False))
        assert records(store) == []
        graph.invoke(say("I like tea"), run_config())
        graph.invoke(Command(resume="no"), run_config())
        assert {record.text for record in records(store)} == {"I like tea", "secret reply no"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_that_says_no_by_default(kind, config, records):
    """The resuming run's context has the field with its default: the turn stays what it was."""
    store = InMemoryStore()
    graph = build(kind, ask, config, store)
    graph.context_schema, where = Context, {"configurable": {"thread_id": "t"}}
    graph.invoke(say(), where, context=Context(incognito=True))
    graph.invoke(Command(resume="yes"), where, context=Context())
    assert records(store) == []


def test_the_middleware_in_a_context_that_says_no_by_default(config, records):
    """There, too: what is recalled after the resume is nothing, and nothing is stored."""
    store, where = InMemoryStore(), {"configurable": {"thread_id": "t"}}
    store.put(Scope("alice").namespace, "known", MemoryRecord(id="known", text=FACT, user_id="alice").to_value())
    model = ScriptedChatModel([ConnectionError("down")], then="ok")
    memory = LongTermMemoryMiddleware(config=config)
    agent = create_agent(
        model, [], middleware=[memory], store=store, context_schema=Context, checkpointer=InMemorySaver()
    )
    with pytest.raises(ConnectionError):
        agent.invoke(say("Where does the zebra wait?"), where, context=Context(incognito=True))
    agent.invoke(None, where, context=Context())
    assert FACT not in model.calls[-1].text
    assert [record.id for record in records(store)] == ["known"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_run_without_new_words(kind, config, run_config, records):
    """The same message sent again, and a run without any, go on with the incognito turn: nothing is recalled for it,
    and neither its words nor its answers are stored."""
    store = InMemoryStore()
    store.put(Scope("alice").namespace, "known", MemoryRecord(id="known", text=FACT, user_id="alice").to_value())
    model = ScriptedChatModel(then="ok")
    agent = model if kind == "memory graph" or kind == "node" else lambda state: {"messages": [model.invoke("hi")]}
    graph = build(kind, agent, config, store)
    question = say("Where does the zebra wait?", id="h1")
    for given, incognito in ((question, True), (question, False), ({"messages": []}, False)):
        graph.invoke(given, run_config(incognito=incognito))
    assert [record.id for record in records(store)] == ["known"]
    assert not any(FACT in call.text for call in model.calls)
    graph.invoke(say("I like tea", id="h2"), run_config())
    assert {record.text for record in records(store, role="user")} == {"I like tea"}
    assert not graph.get_state(run_config()).values.get("memory_incognito")


@pytest.mark.parametrize("kind", ["memory graph", "halves"])
def test_incognito_words_that_were_never_answered(kind, config, run_config, records):
    """An incognito message whose agent failed isn't stored with the next one, which is answered in its stead."""
    store, failing = InMemoryStore(), [True]

    def agent(state) -> dict:
        if failing.pop() if failing else False:
            raise ConnectionError("down")
        return {"messages": [AIMessage("ok")]}

    graph = build(kind, agent, config, store)
    with pytest.raises(ConnectionError):
        graph.invoke(say(), run_config(incognito=True))
    graph.invoke(say("I like tea"), run_config())
    assert {record.text for record in records(store, role="user")} == {"I like tea"}


def test_what_the_agent_calls_is_incognito_too(config, run_config):
    """After the resume, the agent's own tools and graphs are told that the turn is incognito."""
    told = []

    def agent(state, config) -> dict:
        interrupt("go on?")
        told.append((config["configurable"].get("incognito"), current_runtime() is not None))
        return {"messages": [AIMessage("ok")]}

    graph = build("memory graph", agent, config, InMemoryStore())
    graph.invoke(say(), run_config(incognito=True))
    graph.invoke(Command(resume="yes"), run_config())
    assert told == [(True, True)]


def test_a_parent_without_the_channel(config, run_config, records):
    """Where nothing keeps it, as the docs say, the run that resumes has to say it again."""
    for again, expected in ((True, set()), (None, {SECRET, "secret reply yes"})):
        store = InMemoryStore()
        graph = halves(ask, config, MessagesState).compile(store=store, checkpointer=InMemorySaver())
        graph.invoke(say(), run_config(incognito=True))
        graph.invoke(Command(resume="yes"), run_config(incognito=again))
        assert {record.text for record in records(store)} == expected


@pytest.mark.parametrize("given", [say("I like tea", id="h1"), {"messages": []}], ids=["the same id", "no words"])
@pytest.mark.parametrize("kind", [*KINDS, "middleware"])
def test_each_new_answer_is_stored_once(kind, given, store, config, run_config, records):
    """A message that is sent again, or a run without one, adds its answer to the turn, and no older one again."""
    number = iter(range(9))
    model = ScriptedChatModel(then=lambda _: AIMessage(f"answer {next(number)}"))
    if kind == "middleware":
        memory = LongTermMemoryMiddleware(store=store, config=config)
        graph = create_agent(model, [], middleware=[memory], checkpointer=InMemorySaver())
    else:
        agent = (lambda state: {"messages": [model.invoke("hi")]}) if kind == "halves" else model
        graph = build(kind, agent, config, store)
    for call in (say("I like tea", id="h1"), given, given, given):
        graph.invoke(call, run_config())
    found = sorted((record.text, record.metadata["turn"]) for record in records(store, role="assistant"))
    assert found == [(f"answer {n}", 1) for n in range(4)]
    assert [record.text for record in records(store, role="user")] == ["I like tea"]
    graph.invoke(say("And coffee", id="h9"), run_config())
    assert max(record.metadata["turn"] for record in records(store, role="user")) == 2
