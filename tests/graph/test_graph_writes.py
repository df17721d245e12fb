"""The same event is written once: under retry, interrupt and resume, and the replay of every checkpoint."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from langmem_plus.graph import create_memory_graph
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

SAID = ("My wife is called Anne", "I live in Lyon", "What is my wife called?")
WRITTEN = {"user": 3, "assistant": 3, "memory": 2}


@pytest.fixture(params=["in memory", "sqlite"])
def saver(request, tmp_path):
    """A checkpointer in memory, and one on disk."""
    if request.param == "in memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as opened:
        yield opened


@pytest.fixture
def counts(records):
    """How many records of each role a store holds, retired ones too."""

    def count(store) -> dict[str, int]:
        roles = [record.role for record in records(store)]
        return {role: roles.count(role) for role in dict.fromkeys(roles)}

    return count


def say(text: str) -> dict:
    """A run's input; its message gets an id from the reducer, another one in each replay."""
    return {"messages": [HumanMessage(text)]}


def test_five_turns_write_ten_records(store, config, run_config, counts):
    """Each turn leaves the user's words and the reply, once."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=InMemorySaver())
    for number in range(5):
        graph.invoke(say(f"hello number {number}"), run_config())
    found = counts(store)
    assert (found["user"], found["assistant"]) == (5, 5)


def test_the_same_words_in_two_turns_are_two_turns(store, config, run_config, counts):
    """A word that is said again later is a turn of its own, in a thread with a checkpointer."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=InMemorySaver())
    for _ in range(3):
        graph.invoke(say("yes"), run_config())
    assert counts(store) == {"user": 3, "assistant": 3}


MOVES = ("I moved to Lyon", "I moved to Paris", "I moved to Lyon")


@pytest.mark.parametrize("background", [True, False])
def test_words_that_are_said_again_without_a_checkpointer(store, config, run_config, records, background):
    """Without a checkpointer each call is an event of its own, though its thread and its words are known: who moves
    away and back lives where they live now."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config.replace(background=background))
    for text in MOVES:
        graph.invoke(say(text), run_config())
        records(store)
    assert sorted(record.text for record in records(store, role="user")) == sorted(MOVES)
    assert len(records(store, role="assistant")) == 3
    facts = {record.text for record in records(store, role="memory") if record.status == "active"}
    assert len(facts) == 1
    assert "Lyon" in facts.pop()


def test_words_that_are_said_again_in_a_later_session(store, config, run_config, records):
    """A thread that goes on over a new checkpointer in memory, as after a restart, loses nothing that is said."""
    for text in MOVES:
        graph = create_memory_graph(
            ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=InMemorySaver()
        )
        graph.invoke(say(text), run_config())
        records(store)
    assert sorted(record.text for record in records(store, role="user")) == sorted(MOVES)
    facts = [record.text for record in records(store, role="memory") if record.status == "active"]
    assert len(facts) == 1
    assert "Lyon" in facts[0]


def test_a_message_with_an_id_is_recorded_once_without_a_checkpointer(store, config, run_config, counts):
    """A caller that tries again with the same message, told by its id, doesn't say it twice."""
    model = ScriptedChatModel([ConnectionError("down"), "Hello"])
    graph = create_memory_graph(model, store=store, config=config)
    call = {"messages": [HumanMessage("My wife is called Anne", id="m1")]}
    with pytest.raises(ConnectionError):
        graph.invoke(call, run_config())
    graph.invoke(call, run_config())
    assert counts(store) == {"user": 1, "assistant": 1, "memory": 1}


@pytest.mark.parametrize("background", [True, False])
def test_replaying_every_checkpoint_writes_nothing_twice(store, config, run_config, counts, saver, background):
    """Going back to each checkpoint of a thread and running on from there leaves every record as it was."""

    def agent(state):
        return f"answer {sum(message.type == 'human' for message in state['messages'])}"

    graph = create_memory_graph(agent, store=store, config=config.replace(background=background), checkpointer=saver)
    for text in SAID:
        graph.invoke(say(text), run_config())
        counts(store)
    assert counts(store) == WRITTEN
    before = texts(store)
    history = list(graph.get_state_history(run_config()))
    assert len(history) >= 30
    for point in history:
        graph.invoke(None, {"configurable": {**point.config["configurable"], "user_id": "alice"}})
    assert counts(store) == WRITTEN
    assert texts(store) == before


def texts(store) -> set:
    """Every record's key, role, text and whether its facts are drawn out."""
    items = store.search(("memories",), limit=1000)
    return {(item.key, item.value["role"], item.value["text"], item.value["extracted"]) for item in items}


@pytest.mark.parametrize("background", [True, False])
def test_interrupt_and_resume_writes_once(store, config, run_config, counts, saver, background):
    """A run that stops inside of the agent, twice, and goes on, records its turn once."""

    def agent(state):
        return {"messages": [AIMessage(f"{interrupt('first?')} {interrupt('second?')}")]}

    graph = create_memory_graph(agent, store=store, config=config.replace(background=background), checkpointer=saver)
    graph.invoke(say("My wife is called Anne"), run_config())
    assert counts(store) == {"user": 1, **({"memory": 1} if background else {})}
    graph.invoke(Command(resume="yes"), run_config())
    graph.invoke(Command(resume="no"), run_config())
    assert counts(store) == {"user": 1, "assistant": 1, "memory": 1}


def test_a_failed_agent_that_is_run_again_writes_once(store, config, run_config, counts, saver):
    """A run that failed in the agent and goes on from its checkpoint records its turn once."""
    model = ScriptedChatModel([ConnectionError("down"), "Hello Anne's husband"])
    graph = create_memory_graph(model, store=store, config=config, checkpointer=saver)
    with pytest.raises(ConnectionError):
        graph.invoke(say("My wife is called Anne"), run_config())
    assert counts(store) == {"user": 1, **({"memory": 1} if config.background else {})}
    graph.invoke(None, run_config())
    assert counts(store) == {"user": 1, "assistant": 1, "memory": 1}


def test_a_message_that_is_sent_again_after_a_failure(store, config, run_config, counts, saver):
    """A user who says it again after a failure said it twice; the fact is known once."""
    model = ScriptedChatModel([ConnectionError("down"), "Hello"])
    graph = create_memory_graph(model, store=store, config=config, checkpointer=saver)
    with pytest.raises(ConnectionError):
        graph.invoke(say("My wife is called Anne"), run_config())
    graph.invoke(say("My wife is called Anne"), run_config())
    assert counts(store) == {"user": 2, "assistant": 1, "memory": 1}


@pytest.mark.parametrize("with_saver", [True, False])
def test_a_retry_by_a_parent_writes_once(store, config, run_config, counts, with_saver):
    """A parent that retries the whole memory graph after a failure leaves one turn."""
    model = ScriptedChatModel([ConnectionError("down"), ConnectionError("down"), "Hello"])
    inner = create_memory_graph(model, store=store, config=config)
    builder = StateGraph(MemoryState).add_edge(START, "talk")
    builder.add_node("talk", inner, retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
    parent = builder.compile(checkpointer=InMemorySaver() if with_saver else None)
    answer = parent.invoke(say("My wife is called Anne"), run_config())
    assert [message.text for message in answer["messages"]] == ["My wife is called Anne", "Hello"]
    assert counts(store) == {"user": 1, "assistant": 1, "memory": 1}


def test_a_parent_that_keeps_the_thread_to_itself(store, config, run_config, counts, saver):
    """A node that hands in the last message alone: the same words in a later run are said again."""
    inner = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config)

    def talk(state):
        return {"messages": inner.invoke({"messages": state["messages"][-1:]})["messages"][-1:]}

    builder = StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk")
    parent = builder.compile(checkpointer=saver)
    for _ in range(3):
        parent.invoke(say("yes"), run_config())
    assert counts(store) == {"user": 3, "assistant": 3}


@pytest.mark.parametrize("incognito", [False, True])
def test_a_thread_that_was_trimmed_counts_each_message_once(store, config, run_config, counts, saver, incognito):
    """Old messages are removed, then the agent fails: no message is stored again, and an incognito one never."""
    answers = [*["ok"] * 4, *[ConnectionError("down")] * 3, "ok"]
    graph = create_memory_graph(ScriptedChatModel(answers), store=store, config=config, checkpointer=saver)
    for n in range(4):
        graph.invoke(say(f"I own boat {n}."), run_config())
    old = graph.get_state(run_config()).values["messages"][:-2]
    graph.update_state(run_config(), {"messages": [RemoveMessage(id=message.id) for message in old]}, as_node="agent")
    for n in range(3):
        with pytest.raises(ConnectionError):
            graph.invoke(say(f"I own kite {n}."), run_config(incognito=incognito))
    graph.invoke(say("I own a drone."), run_config())
    assert counts(store)["user"] == 4 + 1 + (0 if incognito else 3)
    kites = [item.value["text"] for item in store.search(("memories",), limit=1000) if "kite" in item.value["text"]]
    assert (kites == []) is incognito


def test_a_fork_is_another_conversation(store, config, run_config, counts, saver):
    """Another message from an earlier point is new, and what was said at first stays."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=saver)
    graph.invoke(say("My wife is called Anne"), run_config())
    graph.invoke(say("I live in Lyon"), run_config())
    first = next(p for p in graph.get_state_history(run_config()) if len(p.values["messages"]) == 2 and not p.next)
    graph.invoke(say("I live in Oslo"), {"configurable": {**first.config["configurable"], "user_id": "alice"}})
    assert counts(store)["user"] == 3


def test_retired_turns_stay_retired(store, config, run_config, counts, saver):
    """A replay doesn't bring back a turn that its owner deleted."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=saver)
    graph.invoke(say("My wife is called Anne"), run_config())
    counts(store)
    for item in store.search(("memories",), limit=100):
        store.put(item.namespace, item.key, {**item.value, "status": "deleted"})
    (start,) = [p for p in graph.get_state_history(run_config()) if p.next == ("plan",)]
    graph.invoke(None, {"configurable": {**start.config["configurable"], "user_id": "alice"}})
    counts(store)
    assert {item.value["status"] for item in store.search(("memories",), limit=100)} <= {"deleted"}
