"""The middleware as part of an agent: identity and store, streams, failures, several instances, its names."""

import asyncio
import copy
from dataclasses import dataclass

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.errors import ConfigError, MissingIdentityError, MissingStoreError
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.records import MemoryRecord, MemoryReport, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import ScriptedChatModel

MARKER = "zebra crossing 4711"
QUESTION = "Where is the zebra crossing?"


class Down(InMemoryStore):
    """A store that can't be reached."""

    def batch(self, ops):
        """Fail."""
        raise ConnectionError("the store is down")

    async def abatch(self, ops):
        """Fail."""
        raise ConnectionError("the store is down")


@dataclass
class Context:
    """What a run is told beside its input."""

    user_id: str


async def both(agent, payload: dict, config: RunnableConfig, mode: str, **fields) -> dict:
    """Invoke an agent one way or the other."""
    return agent.invoke(payload, config, **fields) if mode == "sync" else await agent.ainvoke(payload, config, **fields)


def test_a_copy_serves_the_same_store(store, config, run_config, say):
    """An agent's settings may be copied with all that is in them; the copy remembers as the first one does."""
    memory = LongTermMemoryMiddleware(store=store, config=config)
    twin = copy.deepcopy({"middleware": [memory]})["middleware"][0]
    model = ScriptedChatModel(then="ok")
    create_agent(model, [], middleware=[twin]).invoke(say(QUESTION), run_config())
    assert (twin.name, twin is memory, MARKER in model.calls[0].text) == (memory.name, False, True)
    assert background.flush(30.0)
    assert any(item.value["text"] == QUESTION for item in store.search(("memories", "alice"), limit=10))


# whose memory, and where


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("strict", [True, False])
async def test_no_store_is_an_error(config, run_config, say, mode, strict):
    """Without any store the agent says so, and what to do, instead of forgetting silently."""
    agent = create_agent(
        ScriptedChatModel(then="ok"), middleware=[LongTermMemoryMiddleware(config=config.replace(strict=strict))]
    )
    with pytest.raises(MissingStoreError, match=r"pass store=MarkdownStore\(\.\.\.\).*create_agent\(\.\.\., store="):
        await both(agent, say("hi"), run_config(), mode)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("user_id", [None, " "])
async def test_no_identity_is_an_error(make_agent, say, mode, user_id):
    """Without a user the agent says so, and what to do: there is no shared bucket."""
    run = {"configurable": {"thread_id": "t1", "user_id": user_id}}
    with pytest.raises(MissingIdentityError, match=r"configurable.*user_id"):
        await both(make_agent(ScriptedChatModel(then="ok")), say("hi"), run, mode)


def test_an_unfilled_template_is_an_error(make_agent, config, store, run_config, say):
    """A field of a namespace template that nobody fills is refused; one that the run fills says where memory lies."""
    memory = LongTermMemoryMiddleware(store=store, config=config, scope=("memories", "{org_id}", "{user_id}"))
    agent = make_agent(ScriptedChatModel(then="ok"), memory=memory)
    with pytest.raises(MissingIdentityError, match="org_id"):
        agent.invoke(say("hi"), run_config())
    agent.invoke(say("hi"), run_config(org_id="acme"))
    assert {item.namespace for item in store.search(("memories", "acme"))} == {("memories", "acme", "alice")}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("context", [{"user_id": "alice"}, Context("alice")])
async def test_identity_from_the_context(config, store, records, run_config, say, mode, context):
    """The run's context says whose memory it is, before the configuration does; the agent's own store is used."""
    model = ScriptedChatModel(then="ok")
    schema = Context if isinstance(context, Context) else None
    memory = LongTermMemoryMiddleware(config=config)
    agent = create_agent(model, middleware=[memory], store=store, context_schema=schema)
    await both(agent, say(QUESTION), run_config(user_id="somebody else"), mode, context=context)
    assert MARKER in model.calls[0].text
    found = await asyncio.to_thread(records, store)
    assert {(record.user_id, record.role) for record in found} == {("alice", "user"), ("alice", "assistant")}


def test_a_fixed_scope(make_agent, config, store, records, say):
    """An agent for one user needs no identity from its runs, and its model may be in the settings' hands."""
    memory = LongTermMemoryMiddleware(store=store, config=config, scope=Scope("ann@x.org", space="work"))
    make_agent(ScriptedChatModel(then="ok"), memory=memory).invoke(say("My name is Ann"))
    assert {(record.user_id, record.space) for record in records(store)} == {("ann@x.org", "work")}
    assert records(store, "memory")


def test_a_given_store_wins_over_the_agents(config, store, records, run_config, say):
    """A store that is given is the one, whatever the agent was made with."""
    other = InMemoryStore()
    memory = LongTermMemoryMiddleware(store=store, config=config)
    create_agent(ScriptedChatModel(then="ok"), middleware=[memory], store=other).invoke(say("hi"), run_config())
    assert records(store)
    assert not records(other)


async def test_a_folder_of_markdown(config, run_config, say, tmp_path):
    """Over Markdown files what one thread teaches another uses, sync and async."""
    with MarkdownStore(tmp_path, config=config) as store:
        model = ScriptedChatModel(then="ok")
        agent = create_agent(model, middleware=[LongTermMemoryMiddleware(store=store, config=config)])
        agent.invoke(say("My wife is called Anne"), run_config("t1"))
        assert await background.aflush(30.0)
        await agent.ainvoke(say("What is my wife called?"), run_config("t2"))
        assert "[memory] My wife is called Anne" in model.calls[1].text
        assert await background.aflush(30.0)


def test_turns_of_an_earlier_process(config, run_config, tmp_path, records):
    """What an earlier process left waiting in a store is worked off once the middleware is made."""
    with MarkdownStore(tmp_path, config=config) as store:
        turn = MemoryRecord(id="turn", role="user", text="My wife is called Anne", user_id="alice", extracted=False)
        store.put(Scope("alice").namespace, turn.id, turn.to_value())
        LongTermMemoryMiddleware(store=store, config=config)
        assert [record.text for record in records(store, "memory")] == ["My wife is called Anne"]


async def test_an_async_run_blocks_no_event_loop(config, run_config, say, tmp_path):
    """Nothing in an async run waits in the loop: `langgraph dev` fails an agent that does."""
    settings = config.replace(strict=True)
    with MarkdownStore(tmp_path, config=settings) as store:
        agent = create_agent(
            ScriptedChatModel(then="ok"), middleware=[LongTermMemoryMiddleware(store=store, config=settings)]
        )
        with blockbuster_ctx() as watch:
            watch.functions["threading.Lock.acquire"].deactivate()  # held for no longer than a dictionary takes
            for number in range(2):
                await agent.ainvoke(say("My wife is called Anne"), run_config(f"t{number}"))
        assert await background.aflush(30.0)


# streams


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_streams(make_agent, config, store, run_config, say, calling, tool, mode):
    """In the messages stream stand the agent's tokens alone, though a model draws facts out in the same run; the report
    is a custom event; until the run's report at its end, no stream of values or updates holds recalled text."""
    inner = ScriptedChatModel(then={"facts": []})
    memory = LongTermMemoryMiddleware(store=store, model=inner, config=config.replace(background=False))
    agent = make_agent([calling("a"), "one two three"], [tool], memory=memory, checkpointer=InMemorySaver())
    modes = ["messages", "custom", "updates", "values"]
    if mode == "sync":
        seen = list(agent.stream(say(QUESTION), run_config(), stream_mode=modes))
    else:
        seen = [item async for item in agent.astream(say(QUESTION), run_config(), stream_mode=modes)]
    parts = [data for name, data in seen if name == "messages"]
    assert [part.text for part, meta in parts if part.text and meta["langgraph_node"] == "model"] == [
        "one",
        " two",
        " three",
    ]
    assert {meta["langgraph_node"] for _, meta in parts} == {"model", "tools"}
    (event,) = [data for name, data in seen if name == "custom"]
    assert MemoryReport.model_validate(event["memory"]).counts["injected"] == 1
    while_it_runs = [data for name, data in seen if name in ("updates", "values")][:-2]
    assert MARKER not in repr(while_it_runs)
    values = [data for name, data in seen if name == "values"]
    assert values[-1]["memory_report"]["counts"]["replies_recorded"] == 1
    assert MARKER not in repr(values[-1]["messages"])
    assert inner.calls


def test_schemas_are_plain(make_agent):
    """The agent asks for messages alone, and its answer has the report beside them."""
    agent = make_agent(["ok"])
    assert list(agent.get_input_jsonschema()["properties"]) == ["messages"]
    assert {"messages", "memory_report"} <= set(agent.get_output_jsonschema()["properties"])


# failures


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("in_background", [True, False])
async def test_a_store_that_is_down(make_agent, config, run_config, say, caplog, mode, in_background):
    """A store that is down costs the memory, not the answer; the report and the log say so; strict raises."""
    settings = config.replace(background=in_background)
    memory = LongTermMemoryMiddleware(store=Down(), config=settings)
    answer = await both(make_agent(["Hello"], memory=memory), say(QUESTION), run_config(), mode)
    assert answer["messages"][-1].text == "Hello"
    warnings = answer["memory_report"]["warnings"]
    for stage in ("record_user", "retrieve", "record_assistant"):
        assert any(warning.startswith(f"{stage} failed") and "the store is down" in warning for warning in warnings)
    assert "the store is down" in caplog.text
    strict = LongTermMemoryMiddleware(store=Down(), config=settings.replace(strict=True))
    with pytest.raises(ConnectionError):
        await both(make_agent(["Hello"], memory=strict), say(QUESTION), run_config(), mode)


def test_a_model_that_is_down(make_agent, config, store, run_config, records, say):
    """A model that can't draw facts out costs facts alone; the turn is there, and waits."""
    inner = ScriptedChatModel(then=ConnectionError("the model is down"))
    memory = LongTermMemoryMiddleware(store=store, model=inner, config=config.replace(background=False))
    answer = make_agent(["Hello"], memory=memory).invoke(say("My name is Bob"), run_config())
    assert answer["messages"][-1].text == "Hello"
    assert any("the model is down" in warning for warning in answer["memory_report"]["warnings"])
    assert {record.role for record in records(store)} >= {"user", "assistant"}


def test_an_embedder_that_is_down(config, run_config, say, tmp_path, records):
    """An embedder that fails costs its vectors: memory is found by its words."""

    def embed(texts):
        raise ConnectionError("the embedder is down")

    with MarkdownStore(tmp_path, index={"dims": 4, "embed": embed}, config=config) as store:
        model = ScriptedChatModel(then="ok")
        agent = create_agent(model, middleware=[LongTermMemoryMiddleware(store=store, config=config)])
        agent.invoke(say("My wife is called Anne"), run_config("t1"))
        assert records(store, "memory")
        answer = agent.invoke(say("What is my wife called?"), run_config("t2"))
        assert "My wife is called Anne" in model.calls[1].text
        assert answer["messages"][-1].text == "ok"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_end_of_a_run_never_raises(make_agent, config, store, run_config, say, monkeypatch, caplog, mode):
    """Whatever fails after the reply, wrong settings too, the reply is returned, and the report says what failed."""
    memory = LongTermMemoryMiddleware(store=store, config=config)
    agent = make_agent(ScriptedChatModel(then="Hello"), memory=memory, checkpointer=InMemorySaver())

    def full(*args, **kwargs):
        raise ConfigError("no thread can be started")

    with monkeypatch.context() as patch:
        patch.setattr("langmem_plus.graph.afterwards.Afterwards.submit", full)
        patch.setattr("langmem_plus.graph.afterwards.Afterwards.expect", lambda *args: None)
        answer = await both(agent, say("My name is Bob"), run_config(), mode)
        assert answer["messages"][-1].text == "Hello"
        assert answer["memory_report"]["warnings"] == ["remember failed: ConfigError: no thread can be started"]
        assert "no thread can be started" in caplog.text
    answer = await both(agent, say("Hello again"), run_config(), mode)
    assert answer["memory_report"]["warnings"] == []


# names, and several instances


def test_the_name_can_be_chosen():
    """An instance is named after its class, or as it is told; what can't name a node is refused."""

    class Own(LongTermMemoryMiddleware):
        """A class of somebody's own."""

    assert LongTermMemoryMiddleware().name == "LongTermMemoryMiddleware"
    assert Own().name == "Own"
    assert LongTermMemoryMiddleware(name="Work memory").name == "Work memory"
    for name in ("", " ", "a|b", "a:b", 7):
        with pytest.raises(ConfigError, match="name='WorkMemory'"):
            LongTermMemoryMiddleware(name=name)


@pytest.mark.parametrize(
    "fields", [{"store": "./memory_db"}, {"config": {"top_k": 5}}, {"model": 42}], ids=["store", "config", "model"]
)
def test_wrong_arguments(fields):
    """What is no store, no settings or no model is refused when the middleware is made, with the remedy."""
    with pytest.raises(ConfigError, match=r"pass|MarkdownStore|chat model"):
        LongTermMemoryMiddleware(**fields)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_two_instances(config, run_config, records, say, calling, tool, mode):
    """Two instances of one agent recall from and write to spaces of their own; neither sees the other's, each has its
    own report, and each call carries both texts, the same in the whole run."""
    store = InMemoryStore()
    for space in ("work", "home"):
        known = MemoryRecord(id=space, text=f"The zebra crossing is at {space}", user_id="alice", space=space)
        store.put(Scope("alice", space).namespace, known.id, known.to_value())
    middleware = [
        LongTermMemoryMiddleware(store=store, config=config, scope=Scope("alice", space=space), name=name)
        for space, name in (("work", None), ("home", "Home"))
    ]
    model = ScriptedChatModel([calling("a"), "There.", "Here."])
    agent = create_agent(model, [tool], middleware=middleware, checkpointer=InMemorySaver())
    answer = await both(agent, say(QUESTION), run_config(), mode)
    await both(agent, say("And the zebra crossing now?"), run_config(), mode)
    for call in model.calls:
        assert ("at work" in call.text, "at home" in call.text) == (True, True)
    said = [next(m.text for m in call.messages if isinstance(m, HumanMessage)) for call in model.calls]
    assert said[0] == said[1]
    assert answer["memory_report"]["counts"]["injected"] == answer["memory_report_Home"]["counts"]["injected"] == 1
    assert "at home" not in repr(answer["memory_report"])
    found = await asyncio.to_thread(records, store)
    turns = sorted((record.space, record.role) for record in found if record.id not in ("work", "home"))
    assert turns == [(space, role) for space in ("home", "work") for role in ("assistant", "assistant", "user", "user")]
    assert not any("zebra crossing is at" in record.text for record in found if record.role in ("user", "assistant"))


def test_two_instances_over_one_space_store_once(config, run_config, turns, say):
    """Two instances that share a space store each turn once."""
    store = InMemoryStore()
    middleware = [LongTermMemoryMiddleware(store=store, config=config, name=name) for name in (None, "Other")]
    agent = create_agent(ScriptedChatModel(then="ok"), middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke(say("hello"), run_config())
    assert turns(store) == [("user", "hello"), ("assistant", "ok")]


def test_two_instances_of_one_name_are_refused(config):
    """LangChain takes no two instances of one name."""
    middleware = [LongTermMemoryMiddleware(store=InMemoryStore(), config=config) for _ in range(2)]
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(ScriptedChatModel(), middleware=middleware)


def test_one_agent_in_several_threads(make_agent, run_config, store, records, say):
    """One agent serves many threads at once; each call carries its own user's memory alone."""
    from concurrent.futures import ThreadPoolExecutor

    model = ScriptedChatModel(then="ok")
    agent = make_agent(model, checkpointer=InMemorySaver())
    users = [f"user-{number}" for number in range(8)]

    def turn(user_id: str) -> None:
        agent.invoke(say(f"My secret word is {user_id}-xyzzy"), run_config(f"{user_id}-1", user_id=user_id))
        records(store)
        agent.invoke(say("What is my secret word?"), run_config(f"{user_id}-2", user_id=user_id))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(turn, users))
    asked = [call.text for call in model.calls if "What is my secret word?" in call.text]
    assert len(asked) == 8
    for text in asked:
        assert len({user_id for user_id in users if f"{user_id}-xyzzy" in text}) == 1


def test_two_event_loops(make_agent, run_config, store, records, say):
    """One agent serves a second event loop as the first."""
    model = ScriptedChatModel(then="ok")
    agent = make_agent(model)
    asyncio.run(agent.ainvoke(say("My wife is called Anne"), run_config("t1")))
    records(store)
    asyncio.run(agent.ainvoke(say("What is my wife called?"), run_config("t2")))
    assert "My wife is called Anne" in model.calls[1].text
