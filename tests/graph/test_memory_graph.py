import asyncio
import hashlib
from dataclasses import dataclass

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.store.memory import InMemoryStore

from langmem_plus.errors import ConfigError, MissingIdentityError, MissingStoreError
from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph
from langmem_plus.graph.halves import make_services
from langmem_plus.records import MemoryRecord, MemoryReport, Scope
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

MARKER = "zebra crossing 4711"
TURNS = (
    "My wife is Anne and I live in Lyon",
    "Where is the zebra crossing?",
    "I prefer tea to coffee",
    "What do you know about the zebra crossing?",
    "Which zebra crossing did I mean?",
)


def known_fact(user_id: str = "alice") -> MemoryRecord:
    """A fact that is found nowhere but in memory."""
    return MemoryRecord(id="known", text=f"The user waits at the {MARKER}", user_id=user_id)


def put(store, record: MemoryRecord) -> None:
    """Store a record where the graphs look."""
    store.put(Scope(record.user_id, record.space).namespace, record.id, record.to_value())


def say(text: str) -> dict:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


def test_what_one_thread_teaches_another_uses(store, config, run_config, records):
    """A fact of one thread stands in the model call of another thread of the same user."""
    model = ScriptedChatModel(["Hello!", "She is called Anne."])
    graph = create_memory_graph(model, store=store, config=config, checkpointer=InMemorySaver())
    graph.invoke(say("My wife is called Anne"), run_config("t1"))
    assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]
    answer = graph.invoke(say("What is my wife called?"), run_config("t2"))
    assert "[memory] My wife is called Anne" in model.calls[1].text
    assert answer["messages"][-1].text == "She is called Anne."
    assert MemoryReport.model_validate(answer["memory_report"]).counts["injected"] == 1


async def test_the_same_asynchronously(store, config, run_config, records):
    """ainvoke learns and recalls as invoke does."""
    model = ScriptedChatModel(["Hello!", "She is called Anne."])
    graph = create_memory_graph(model, store=store, config=config, checkpointer=InMemorySaver())
    await graph.ainvoke(say("My wife is called Anne"), run_config("t1"))
    assert await asyncio.to_thread(records, store, role="memory")
    await graph.ainvoke(say("What is my wife called?"), run_config("t2"))
    assert "[memory] My wife is called Anne" in model.calls[1].text


def test_turns_are_stored_word_for_word(store, config, run_config, records):
    """Both sides of a turn are stored in the thread, with the message's id and place."""
    graph = create_memory_graph(ScriptedChatModel(["Hi, 🙂!"]), store=store, config=config)
    graph.invoke({"messages": [HumanMessage("Grüß dich\n北京", id="m1")]}, run_config())
    user, assistant = records(store, role="user")[0], records(store, role="assistant")[0]
    assert (user.text, user.thread_id, user.source_ids) == ("Grüß dich\n北京", "t1", ["m1"])
    assert (assistant.text, assistant.thread_id) == ("Hi, 🙂!", "t1")


@pytest.mark.parametrize("inject_as", ["user", "system"])
def test_five_turns_with_memory_on_and_off_store_the_same_messages(store, config, run_config, records, inject_as):
    """Recalled text never enters the thread: its stored messages are the same with memory on and off."""
    on, recalled = five_turns(store, config.replace(inject_as=inject_as), run_config, records)
    off, nothing = five_turns(InMemoryStore(), config.replace(enabled=False), run_config, records)
    assert sum(MARKER in call.text for call in recalled) >= 3
    assert not any(MARKER in call.text for call in nothing)
    assert on == off


def test_the_prompt_prefix_is_the_same_with_memory_on_and_off(store, config, run_config, records):
    """Everything before the current user's message is byte for byte the same, so that the provider's cache hits."""
    on = five_turns(store, config, run_config, records)[1]
    off = five_turns(InMemoryStore(), config.replace(enabled=False), run_config, records)[1]
    assert [prefix_hash(call) for call in on] == [prefix_hash(call) for call in off]
    for with_memory, without in zip(on, off, strict=True):
        assert with_memory.messages[-1].text.endswith(without.messages[-1].text)


def five_turns(store, config, run_config, records):
    """The thread's stored messages after five turns, and the agent's calls."""
    put(store, known_fact())
    model = ScriptedChatModel([f"Answer {n}" for n in range(5)])
    saver = InMemorySaver()
    graph = create_memory_graph(model, store=store, config=config, checkpointer=saver)
    for number, text in enumerate(TURNS):
        system = [SystemMessage("Be brief.", id="s")] if number == 0 else []
        graph.invoke({"messages": [*system, HumanMessage(text, id=f"m{number}")]}, run_config())
        records(store)
    assert MARKER.encode() not in everything(saver)
    stored = graph.get_state(run_config()).values["messages"]
    return [message.model_dump(exclude={"usage_metadata"}) for message in stored], model.calls


def prefix_hash(call) -> str:
    """A hash of all that stands before the current user's message."""
    return hashlib.sha256(repr([(m.type, m.id, m.content) for m in call.messages[:-1]]).encode()).hexdigest()


def everything(saver: InMemorySaver) -> bytes:
    """All bytes that a checkpointer holds."""
    blobs = [value[1] for value in saver.blobs.values()]
    writes = [write[2][1] for group in saver.writes.values() for write in group.values()]
    threads = saver.storage.values()
    points = [point[0][1] for spaces in threads for points in spaces.values() for point in points.values()]
    return b"".join([*blobs, *writes, *points])


def test_the_context_is_the_same_bytes_when_nothing_changed(store, config, run_config):
    """The same set of memories gives the same bytes, so that a repeated call hits the cache."""
    put(store, known_fact())
    graph = create_recall_graph(store=store, config=config)
    contexts = [graph.invoke(say("Where is the zebra crossing?"), run_config())["memory_context"] for _ in range(2)]
    assert MARKER in contexts[0]
    assert contexts[0] == contexts[1]


def test_a_model_call_carries_a_clipped_tail(store, config, run_config):
    """A chat model gets at most tail_messages messages; the thread keeps all."""
    model = ScriptedChatModel(then="ok")
    graph = create_memory_graph(
        model, store=store, config=config.replace(tail_messages=3), checkpointer=InMemorySaver()
    )
    for number in range(4):
        graph.invoke(say(f"message {number}"), run_config())
    assert len(model.calls[-1].messages) == 3
    assert len(graph.get_state(run_config()).values["messages"]) == 8


@pytest.mark.parametrize("strict", [True, False])
async def test_no_store_is_an_error(config, run_config, strict):
    """Without any store the graph says so instead of forgetting silently, strict or not."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), config=config.replace(strict=strict))
    with pytest.raises(MissingStoreError, match="store=MarkdownStore"):
        graph.invoke(say("My name is Bob"), run_config())
    with pytest.raises(MissingStoreError):
        await graph.ainvoke(say("My name is Bob"), run_config())


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("user_id", [None, "", "  "])
async def test_no_identity_is_an_error(store, config, strict, user_id):
    """Without a user the graph says so: there is no shared bucket."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config.replace(strict=strict))
    run = {"configurable": {"thread_id": "t1", "user_id": user_id}}
    with pytest.raises(MissingIdentityError, match="user_id"):
        graph.invoke(say("My name is Bob"), run)
    with pytest.raises(MissingIdentityError):
        await graph.ainvoke(say("My name is Bob"), run)


def test_an_unfilled_template_is_an_error(store, config, run_config):
    """A field of a namespace template that nobody fills is refused."""
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, config=config, scope=("memories", "{org_id}", "{user_id}")
    )
    with pytest.raises(MissingIdentityError, match="org_id"):
        graph.invoke(say("My name is Bob"), run_config())


def test_a_template_decides_where_memory_lies(store, config, run_config, records):
    """A namespace template, filled from the run, is where turns and facts go, in the background too."""
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, config=config, scope=("memories", "{org_id}", "{user_id}")
    )
    graph.invoke(say("My name is Bob"), run_config(org_id="acme.com"))
    records(store)
    found = {(item.namespace, item.value["role"]) for item in store.search(("memories",), limit=100)}
    assert found == {(("memories", "acme%2ecom", "alice"), role) for role in ("user", "assistant", "memory")}


def test_a_fixed_scope(store, config, records):
    """A graph for one user needs no identity from its runs."""
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, config=config, scope=Scope("ann@x.org", space="work")
    )
    graph.invoke(say("My name is Ann"))
    assert {(r.user_id, r.space) for r in records(store)} == {("ann@x.org", "work")}
    assert records(store, role="memory")


@dataclass
class Context:
    user_id: str


@pytest.mark.parametrize("context", [{"user_id": "carol"}, Context("carol")])
def test_identity_from_the_context(store, config, run_config, records, context):
    """The runtime's context says whose memory it is, before the configuration does, in the background too."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config)
    graph.invoke(say("My name is Carol"), run_config(user_id="somebody else"), context=context)
    assert {record.user_id for record in records(store)} == {"carol"}
    assert records(store, role="memory")


def test_two_users_in_one_process_are_isolated(store, config, run_config, records):
    """What one user says is never recalled for another, whatever their ids look like."""
    model = ScriptedChatModel(then="ok")
    graph = create_memory_graph(model, store=store, config=config)
    users = ("alice", "alice/x", "alice.x", "Alice", "..")
    for user_id in users:
        graph.invoke(say(f"My secret word is {user_id}-xyzzy"), run_config("t", user_id=user_id))
    records(store)
    for user_id in users:
        graph.invoke(say("What is my secret word?"), run_config("t2", user_id=user_id))
        asked = model.calls[-1].text
        assert f"My secret word is {user_id}-xyzzy" in asked
        assert not any(f"is {other}-xyzzy" in asked for other in users if other != user_id)


@pytest.mark.parametrize("background", [True, False])
def test_incognito_stores_nothing_and_recalls_nothing(store, config, run_config, records, background):
    """An incognito run leaves no record, and nothing that is known enters its prompt."""
    put(store, known_fact())
    model = ScriptedChatModel(then="ok")
    graph = create_memory_graph(
        model, store=store, config=config.replace(background=background), checkpointer=InMemorySaver()
    )
    graph.invoke(say("My name is Bob, and the zebra crossing is mine"), run_config(incognito=True))
    assert [record.id for record in records(store)] == ["known"]
    assert MARKER not in model.calls[0].text


def test_incognito_in_the_context(store, config, run_config, records):
    """The run's context can ask for it, too: nothing is recalled and nothing is stored."""
    put(store, known_fact())
    model = ScriptedChatModel(then="ok")
    graph = create_memory_graph(model, store=store, config=config)
    graph.invoke(say("Where is the zebra crossing?"), run_config(), context={"user_id": "alice", "incognito": True})
    assert [record.id for record in records(store)] == ["known"]
    assert MARKER not in model.calls[0].text


def test_only_plain_json_is_checkpointed(store, config, run_config):
    """Of memory's channels the turn counter alone is written into a checkpoint, also as pending writes."""
    put(store, known_fact())
    saver = InMemorySaver()
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, checkpointer=saver)
    graph.invoke(say("Where is the zebra crossing?"), run_config())
    channels = {key[2] for key, value in saver.blobs.items() if value[0] != "empty"}
    channels |= {write[1] for group in saver.writes.values() for write in group.values()}
    assert {name for name in channels if name.startswith("memory")} == {"memory_turn", "memory_counted"}


def test_incognito_by_default_can_be_left(store, config, run_config, records):
    """Where incognito is the default, a run that says otherwise is remembered, its facts too."""
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, config=config.replace(incognito_default=True)
    )
    graph.invoke(say("My name is Bob"), run_config())
    assert records(store) == []
    graph.invoke(say("My name is Bob"), run_config(incognito=False))
    assert {record.role for record in records(store)} == {"user", "assistant", "memory"}


def test_two_event_loops(store, config, run_config, records):
    """One graph over one store serves a second event loop as the first."""
    model = ScriptedChatModel(then="ok")
    graph = create_memory_graph(model, store=store, config=config)
    asyncio.run(graph.ainvoke(say("My wife is called Anne"), run_config("t1")))
    records(store)
    asyncio.run(graph.ainvoke(say("What is my wife called?"), run_config("t2")))
    assert "My wife is called Anne" in model.calls[1].text


def test_the_store_of_a_parent_graph_is_used(config, run_config, records):
    """A memory graph without a store, as a node, uses the parent's, and its background does, too."""
    store = InMemoryStore()
    inner = create_memory_graph(ScriptedChatModel(["Hello"]), config=config)
    parent = StateGraph(MemoryState).add_node("talk", inner).set_entry_point("talk").compile(store=store)
    answer = parent.invoke(say("My name is Bob"), run_config())
    assert [message.text for message in answer["messages"]] == ["My name is Bob", "Hello"]
    assert {record.role for record in records(store)} == {"user", "assistant", "memory"}


def test_a_given_store_wins_over_the_parents(config, run_config, records):
    """A store that is given is the one, whatever the parent graph was compiled with."""
    mine, parents = InMemoryStore(), InMemoryStore()
    inner = create_memory_graph(ScriptedChatModel(["Hello"]), store=mine, config=config)
    parent = StateGraph(MemoryState).add_node("talk", inner).set_entry_point("talk").compile(store=parents)
    parent.invoke(say("My name is Bob"), run_config())
    assert records(mine)
    assert not records(parents)


def test_no_graph_is_compiled_with_a_store(store, config):
    """A graph that carries a store doesn't load on the platform, so none does."""
    graphs = [
        create_memory_graph(ScriptedChatModel(), store=store, config=config),
        create_recall_graph(store=store, config=config),
        create_remember_graph(store=store, config=config),
    ]
    assert [graph.store for graph in graphs] == [None, None, None]


def test_schemas_are_plain(store, config):
    """The schemas that a platform shows can be made, and ask for messages alone."""
    graph = create_memory_graph(ScriptedChatModel(), store=store, config=config)
    assert graph.get_input_jsonschema()["required"] == ["messages"]
    assert list(graph.get_input_jsonschema()["properties"]) == ["messages", "memory_incognito"]
    assert list(graph.get_output_jsonschema()["properties"]) == [
        *("messages", "memory_context", "memory_incognito", "memory_report")
    ]


def test_stream_shows_the_agents_tokens_and_none_of_the_inner_calls(store, config, run_config):
    """In the messages stream stand the agent's tokens alone, though a model draws the facts out in the same run."""
    inner = ScriptedChatModel(then={"facts": []})
    graph = create_memory_graph(
        ScriptedChatModel(["I will keep that in mind"]),
        store=store,
        model=inner,
        config=config.replace(background=False),
        checkpointer=InMemorySaver(),
    )
    chunks = list(graph.stream(say("I like green tea"), run_config(), stream_mode="messages"))
    assert inner.calls
    assert {metadata["langgraph_node"] for _, metadata in chunks} == {"agent"}
    pieces = [message.text for message, _ in chunks if message.text]
    assert "".join(pieces) == "I will keep that in mind"
    assert len(pieces) == 6


async def test_stream_asynchronously(store, config, run_config):
    """astream shows the same tokens and the report."""
    inner = ScriptedChatModel(then={"facts": []})
    graph = create_memory_graph(
        ScriptedChatModel(["one two three"]), store=store, model=inner, config=config.replace(background=False)
    )
    seen = [item async for item in graph.astream(say("I like tea"), run_config(), stream_mode=["messages", "custom"])]
    assert [data[0].text for mode, data in seen if mode == "messages" and data[0].text] == ["one", " two", " three"]
    assert any("memory" in data for mode, data in seen if mode == "custom")
    assert inner.calls


def test_the_report_is_a_custom_event(store, config, run_config):
    """Before the agent speaks, the custom stream tells what was recalled and why."""
    put(store, known_fact())
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config)
    (event, *_) = list(graph.stream(say("Where is the zebra crossing?"), run_config(), stream_mode="custom"))
    report = MemoryReport.model_validate(event["memory"])
    assert (report.strategy, report.counts["injected"]) == ("memory", 1)
    assert [(choice.id, choice.kept) for choice in report.choices] == [("known", True)]


def test_one_chain_without_a_background(store, config, run_config, records):
    """With background=False facts are stored when invoke returns."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config.replace(background=False))
    report = graph.invoke(say("My name is Bob"), run_config())["memory_report"]
    assert [decision["event"] for decision in report["decisions"]] == ["ADD"]
    assert records(store, role="memory")


def test_a_stage_that_fails_does_not_fail_the_turn(config, run_config, caplog):
    """A store that is down costs the memory, not the answer; the report and the log say so; strict raises."""

    class Down(InMemoryStore):
        def batch(self, ops):
            raise ConnectionError("the store is down")

    graph = create_memory_graph(ScriptedChatModel(["Hello"]), store=Down(), config=config.replace(background=False))
    answer = graph.invoke(say("My name is Bob"), run_config())
    assert answer["messages"][-1].text == "Hello"
    assert any("the store is down" in warning for warning in answer["memory_report"]["warnings"])
    assert "the store is down" in caplog.text
    strict = create_memory_graph(ScriptedChatModel(["Hello"]), store=Down(), config=config.replace(strict=True))
    with pytest.raises(ConnectionError):
        strict.invoke(say("My name is Bob"), run_config())


def test_the_halves_work_alone(store, config, run_config, records):
    """The recall graph gives the context for messages; the remember graph works off the turns that wait."""
    talk = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, config=config.replace(background=False, max_facts=0)
    )
    talk.invoke(say("hello there"), run_config())
    turn = MemoryRecord(id="turn", role="user", text="My wife is called Anne", user_id="alice", extracted=False)
    put(store, turn)
    report = create_remember_graph(store=store, config=config).invoke({}, run_config())["memory_report"]
    assert report["counts"]["facts_added"] == 1
    recalled = create_recall_graph(store=store, config=config).invoke(say("What is my wife called?"), run_config())
    assert "My wife is called Anne" in recalled["memory_context"]
    assert "messages" not in recalled


def test_the_recall_graph_as_a_subgraph(store, config, run_config):
    """A parent that declares memory_context reads what the recall graph found; its messages stay as they were."""
    put(store, known_fact())
    seen = []

    def answer(state: MemoryState) -> dict:
        seen.append(state["memory_context"])
        return {"messages": [AIMessage("ok")]}

    builder = StateGraph(MemoryState).add_node("recall", create_recall_graph(store=store, config=config))
    builder.add_node(answer).add_edge("__start__", "recall").add_edge("recall", "answer")
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    graph.invoke(say("Where is the zebra crossing?"), run_config())
    assert MARKER in seen[0]
    assert [m.text for m in graph.get_state(run_config()).values["messages"]] == ["Where is the zebra crossing?", "ok"]
    assert MARKER.encode() not in everything(saver)


def test_services_of_the_arguments(config):
    """A reranker and a model can be given as such; a scope may be a list, as JSON has it."""
    model = ScriptedChatModel()
    services = make_services(store=None, model=model, config=config, scope=["m", "{user_id}"], reranker=lambda q, t: t)
    assert services.model is model
    assert services.scope == ("m", "{user_id}")
    assert services.reranker is not None


def test_something_that_is_no_agent(store, config):
    """What can't be called is refused when the graph is made."""
    with pytest.raises(ConfigError, match="pass a chat model"):
        create_memory_graph(42, store=store, config=config)
    with pytest.raises(ConfigError, match=r"agent\.compile\(\)"):
        create_memory_graph(StateGraph(MemoryState), store=store, config=config)
