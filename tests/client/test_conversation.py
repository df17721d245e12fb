"""Talking without a graph: history from the store, memory across threads, nothing lost or twice, nobody else's."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.client import Reply, told
from langmem_plus.client.continued import Asked, read_steps
from langmem_plus.errors import ConfigError, InvalidValueError, MissingIdentityError, ModelCallError, StoreError
from langmem_plus.fence import strip_context
from langmem_plus.records import MemoryRecord, Scope, record_id, summary_key, utc_now
from langmem_plus.remember.steps import run_steps
from langmem_plus.testing import ScriptedChatModel

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
CONFIG = MemoryConfig(embeddings="none", background=False, summarize=False)
WHO = {"user_id": "ann", "thread_id": "t"}


def open_client(store: Any, *answers: Any, config: MemoryConfig = CONFIG, **fields: Any) -> MemoryClient:
    """A client whose model answers from a script; facts are drawn out by rules."""
    model = ScriptedChatModel(answers, then="And so on.")
    return MemoryClient(store, chat_model=model, config=config, **fields)


@pytest.fixture(params=["memory", "markdown"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each kind of store."""
    return InMemoryStore() if request.param == "memory" else tmp_path / "memories"


@pytest.fixture
def client(store: Any) -> Iterator[MemoryClient]:
    """A client that has three answers."""
    with open_client(store, "Hello Ann.", "In Reykjavik.", "Bye.") as opened:
        yield opened


def calls(client: MemoryClient) -> list[Any]:
    """What the client's model was asked."""
    model = client._chat_model
    assert isinstance(model, ScriptedChatModel)
    return model.calls


def said(client: MemoryClient, thread: str = "t", user: str = "ann") -> list[str]:
    """What a thread holds, without its summary."""
    return [m.text for m in client.load(thread, user_id=user) if not isinstance(m, SystemMessage)]


# chat


def test_a_model_that_gives_every_answer_one_id(store: Any) -> None:
    """Each of its answers is returned, kept, and part of the history of the next."""
    with open_client(store, *(AIMessage(text, id="chatcmpl-0") for text in ("One.", "Two.", "Three."))) as client:
        assert [client.chat(f"Hello {text}", **WHO).text for text in "abc"] == ["One.", "Two.", "Three."]
        assert said(client) == ["Hello a", "One.", "Hello b", "Two.", "Hello c", "Three."]
        assert [message.text for message in calls(client)[2].messages[:4]] == ["Hello a", "One.", "Hello b", "Two."]


async def test_a_conversation_has_its_history_and_memory_crosses_threads(client: MemoryClient) -> None:
    """The model gets the thread's earlier messages and, elsewhere, what was recalled; sync and async alike."""
    first = client.chat("I live in Reykjavik.", **WHO)
    again = await client.achat("Where is my home?", **WHO)
    there = client.chat("In which city do I live?", user_id="ann", thread_id="other")
    assert [reply.text for reply in (first, again, there)] == ["Hello Ann.", "In Reykjavik.", "Bye."]
    words = [[strip_context(message.text) for message in call.messages] for call in calls(client)]
    assert words == [
        ["I live in Reykjavik."],
        ["I live in Reykjavik.", "Hello Ann.", "Where is my home?"],
        ["In which city do I live?"],
    ]
    assert "I live in Reykjavik." in there.context
    assert there.context in calls(client)[2].text
    assert any(choice.kept for choice in there.report.choices)
    assert said(client) == ["I live in Reykjavik.", "Hello Ann.", "Where is my home?", "In Reykjavik."]
    assert "memory_context" not in str(there.message) + str(client.list(user_id="ann"))


async def test_an_answer_comes_piece_by_piece(client: MemoryClient) -> None:
    """The pieces are the answer, and what was said is stored at the stream's end."""
    pieces = list(client.chat("I live in Reykjavik.", **WHO, stream=True))
    assert all(isinstance(piece, AIMessageChunk) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == "Hello Ann."
    assert len(pieces) > 1
    further = [piece async for piece in await client.achat("Where is my home?", **WHO, stream=True)]
    assert "".join(piece.text for piece in further) == "In Reykjavik."
    assert said(client) == ["I live in Reykjavik.", "Hello Ann.", "Where is my home?", "In Reykjavik."]


def test_a_model_that_cant_stream_gives_one_piece(store: Any) -> None:
    """What comes whole is a piece, too."""

    class Whole(ScriptedChatModel):
        _stream = ScriptedChatModel.__mro__[1]._stream  # type: ignore[assignment]
        _astream = ScriptedChatModel.__mro__[1]._astream  # type: ignore[assignment]

    with MemoryClient(store, chat_model=Whole(["All at once."]), config=CONFIG) as client:
        pieces = list(client.chat("Hello?", **WHO, stream=True))
    assert [(type(piece), piece.text) for piece in pieces] == [(AIMessageChunk, "All at once.")]


async def test_who_leaves_a_stream_has_said_it_all_the_same(client: MemoryClient) -> None:
    """The user's turn stays, and goes on in the next call; the answer that nobody heard isn't stored."""
    stream: Any = client.chat("I live in Reykjavik.", **WHO, stream=True)
    next(stream)
    stream.close()
    assert said(client) == ["I live in Reykjavik."]
    later: Any = await client.achat("My cat is called Flux.", **WHO, stream=True)
    await anext(later)
    await later.aclose()
    assert said(client) == ["I live in Reykjavik.", "My cat is called Flux."]
    client.chat("What is my cat called?", **WHO)
    assert said(client) == ["I live in Reykjavik.", "My cat is called Flux.", "What is my cat called?", "Bye."]


def test_a_model_that_fails_loses_nothing(store: Any) -> None:
    """What was said is stored, its facts, too, once; the error names the cause; a repeated message is answered once."""
    with open_client(store, RuntimeError("no key"), RuntimeError("no key"), "Here I am.") as client:
        message = HumanMessage("I live in Reykjavik.", id="m1")
        with pytest.raises(ModelCallError, match="RuntimeError: no key") as failed:
            client.chat(message, **WHO)
        assert isinstance(failed.value.__cause__, RuntimeError)
        with pytest.raises(ModelCallError):
            list(client.chat(message, **WHO, stream=True))
        assert said(client) == ["I live in Reykjavik."]
        assert client.chat(message, **WHO).text == "Here I am."
        assert said(client) == ["I live in Reykjavik.", "Here I am."]
        assert [record.text for record in client.list(user_id="ann", role="memory")] == ["I live in Reykjavik."]


class Searchless(InMemoryStore):
    """A store that can't be searched for a query."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """As the store's own, but for that."""
        asked = list(ops)
        if any(isinstance(op, SearchOp) and op.query for op in asked):
            raise ConfigError("no search today")
        return super().batch(asked)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return self.batch(ops)


async def test_a_recall_that_fails_loses_nothing() -> None:
    """What the user said is stored, also where the graph didn't come to it, and once."""
    with open_client(Searchless()) as client:
        message = HumanMessage("I live in Reykjavik.", id="m1")
        for _ in range(2):
            with pytest.raises(ConfigError, match="no search today"):
                client.chat(message, **WHO)
            with pytest.raises(ConfigError, match="no search today"):
                await client.achat(message, **WHO)
        with pytest.raises(ConfigError, match="no search today"):
            list(client.chat("My cat is called Flux.", **WHO, stream=True))
        with pytest.raises(ConfigError, match="no search today"):
            [piece async for piece in await client.achat("My dog is called Rex.", **WHO, stream=True)]
        assert said(client) == ["I live in Reykjavik.", "My cat is called Flux.", "My dog is called Rex."]


class _Shaky(InMemoryStore):
    """Some of the next batches fail, by their numbers."""

    failing: tuple[int, ...] = ()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.failing = tuple(number - 1 for number in self.failing)
        if 0 in self.failing:
            raise ConnectionError("the store is away")
        return super().batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)


@pytest.mark.parametrize("failing", [(1,), (1, 2)])
@pytest.mark.parametrize("way", ["chat", "achat", "stream", "astream"])
async def test_a_thread_that_cant_be_read_loses_nothing(way: str, failing: tuple[int, ...]) -> None:
    """The user's words are in memory, even where the second try to read fails, too, and the error says what failed."""
    store = _Shaky()
    with open_client(store) as client:
        client.chat("Hello", **WHO)
        store.failing = failing
        with pytest.raises(StoreError, match=r"can't be read \(ConnectionError.*What the user said is in memory"):
            match way:
                case "chat":
                    client.chat("My number is 4711.", **WHO)
                case "achat":
                    await client.achat("My number is 4711.", **WHO)
                case "stream":
                    list(client.chat("My number is 4711.", **WHO, stream=True))
                case _:
                    _ = [piece async for piece in await client.achat("My number is 4711.", **WHO, stream=True)]
        assert said(client) == ["Hello", "And so on.", "My number is 4711."]
        client.chat("What is it?", **WHO)
        assert said(client)[-2:] == ["What is it?", "And so on."]
        store.failing = tuple(range(100))
        with pytest.raises(StoreError, match="What the user said couldn't be stored"):
            client.chat("Lost words", **WHO)


def test_a_message_that_is_said_again_while_others_speak_stands_once(store: Any) -> None:
    """Two calls with one message, between which the thread went on: its id tells, not where it came to stand."""
    with open_client(store) as client:
        message = HumanMessage("My number is 4711.", id="m1")
        asked = Asked(Scope(**WHO), message)
        late = run_steps(read_steps(asked, client._services), client._services, client.store)
        client.chat("Somebody else speaks.", **WHO)
        client.chat(message, **WHO)
        client._graph().invoke(late, {"configurable": WHO})
        assert said(client).count("My number is 4711.") == 1


async def test_a_call_that_is_cancelled_loses_nothing() -> None:
    """So it is with a call that is cut off before the model was asked."""
    reached = asyncio.Event()

    class Slow(InMemoryStore):
        """A store whose searches never end."""

        async def abatch(self, ops: Iterable[Op]) -> list[Result]:
            asked = list(ops)
            if any(isinstance(op, SearchOp) and op.query for op in asked):
                reached.set()
                await asyncio.Event().wait()
            return super().batch(asked)

    with open_client(Slow()) as client:
        talk = asyncio.create_task(client.achat("My dog is called Rex.", **WHO))
        await reached.wait()
        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk
        assert said(client) == ["My dog is called Rex."]


def test_incognito_stays_incognito() -> None:
    """Nothing is stored, not even where the model fails."""
    config = CONFIG.replace(incognito_default=True)
    with open_client(InMemoryStore(), "Hello.", RuntimeError("gone"), config=config) as client:
        assert client.chat("I live in Reykjavik.", **WHO).text == "Hello."
        with pytest.raises(ModelCallError):
            client.chat("I live in Reykjavik.", **WHO)
        assert client.list(user_id="ann") == []


async def test_a_model_without_its_key_says_what_to_do(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is resolved at the first use, and the words are stored before."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MemoryClient(store, chat_model="openai:gpt-5-mini", config=CONFIG) as client:
        with pytest.raises(ConfigError, match="key"):
            client.chat("Hello there, friend.", **WHO)
        with pytest.raises(ConfigError, match="key"):
            await client.achat("Hello again, friend.", **WHO)
        assert said(client) == ["Hello there, friend.", "Hello again, friend."]


def test_without_a_model_memory_is_quoted(store: Any) -> None:
    """The answer says that it is none, and isn't remembered as one."""
    with MemoryClient(store, config=CONFIG) as client:
        client.chat("My cat is called Flux.", **WHO)
        reply = client.chat("What is my cat called?", user_id="ann", thread_id="u")
        assert "no language model" in reply.text
        assert "Flux" in str(reply)
        assert said(client) == ["My cat is called Flux."]
        assert said(client, "u") == ["What is my cat called?"]


def test_the_clients_model_draws_facts_out_and_answers(store: Any) -> None:
    """One model does both; another one answers where it is given."""
    facts = {"facts": []}
    both = ScriptedChatModel(["Hello!"], then=facts)
    with MemoryClient(store, model=both, config=CONFIG) as client:
        assert client.chat("I live in Reykjavik.", **WHO).text == "Hello!"
    assert len(both.calls) > 1
    apart = ScriptedChatModel([], then=facts)
    with MemoryClient(InMemoryStore(), model=apart, chat_model=ScriptedChatModel(["Hi!"]), config=CONFIG) as client:
        assert client.chat("I live in Reykjavik.", **WHO).text == "Hi!"
    assert apart.calls


async def test_the_background_remembers_what_a_chat_says(store: Any) -> None:
    """With the plain settings, facts are there after a flush."""
    config = MemoryConfig(embeddings="none", flush_seconds=30.0)
    with open_client(store, config=config) as client:
        client.chat("I live in Reykjavik.", **WHO)
        await client.achat("My cat is called Flux.", user_id="ann")
        assert await client.aflush()
        facts = {record.text for record in client.list(user_id="ann", role="memory")}
    assert facts == {"I live in Reykjavik.", "My cat is called Flux."}


PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
]


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        ("Hello.", "Hello."),
        (HumanMessage("Hello.", name="Ann Lee"), "Hello."),
        ({"role": "user", "content": "Hello."}, "Hello."),
        (PARTS, "What is this?\n[image]"),
        (HumanMessage(PARTS), "What is this?\n[image]"),  # type: ignore[arg-type]
        (["Hello", "there."], "Hello\nthere."),
    ],
    ids=str,
)
def test_what_may_be_said(client: MemoryClient, message: Any, heard: str) -> None:
    """A text, a message, or content parts, which reach the model as they are."""
    client.chat(message, **WHO)
    assert said(client)[0] == heard
    parts = message.content if isinstance(message, HumanMessage) else message
    if isinstance(parts, list):
        assert calls(client)[0].messages[-1].content == parts
    client.chat("And now?", **WHO)
    assert calls(client)[1].messages[0].name is None  # "Ann Lee" would be refused by a provider


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("", "says nothing"),
        (" \n", "says nothing"),
        ([], "says nothing"),
        (AIMessage("Hello."), "isn't what a user says"),
        ({"role": "assistant", "content": "Hello."}, "isn't what a user says"),
        ({"role": "user"}, 'no "content"'),
        ({"role": "user", "content": None}, "says nothing"),
        ([HumanMessage("Hello.")], "list of messages"),
        ([{"role": "user", "content": "Hello."}], "list of messages"),
        (7, "isn't a message"),
        ([{"type": "text", "text": 7}], "isn't a text"),
    ],
    ids=str,
)
async def test_what_may_not_be_said(client: MemoryClient, message: Any, says: str) -> None:
    """It is refused at the call, also of a stream, before anything is stored."""
    for stream in (False, True):
        with pytest.raises(InvalidValueError, match=says):
            client.chat(message, **WHO, stream=stream)
        with pytest.raises(InvalidValueError, match=says):
            await client.achat(message, **WHO, stream=stream)
    assert client.load("t", user_id="ann") == []


@pytest.mark.parametrize("user", ["", None, " ", ["ann"]])
async def test_nobody_talks_to_nobody(client: MemoryClient, user: Any) -> None:
    """No identity is an error of each call, at once."""
    for stream in (False, True):
        with pytest.raises(MissingIdentityError):
            client.chat("Hello.", user_id=user, stream=stream)
        with pytest.raises(MissingIdentityError):
            await client.achat("Hello.", user_id=user, stream=stream)
    with pytest.raises(MissingIdentityError):
        client.load("t", user_id=user)
    with pytest.raises(MissingIdentityError):
        await client.aload("t", user_id=user)


def test_without_a_thread_there_is_no_history(client: MemoryClient) -> None:
    """Each message stands alone; memory is the same."""
    client.chat("I live in Reykjavik.", user_id="ann")
    client.chat("I live in Reykjavik.", user_id="ann")
    assert [len(call.messages) for call in calls(client)] == [1, 1]
    assert len(client.list(user_id="ann", role="user")) == 2


def test_the_tail_keeps_to_its_budget(store: Any) -> None:
    """Of a long thread, the settings' number of messages reaches the model; turns are numbered on all the same."""
    with open_client(store, config=CONFIG.replace(tail_messages=4)) as client:
        for number in range(6):
            client.chat(f"Message number {number}.", **WHO)
        turns = [record.metadata["turn"] for record in client.list(user_id="ann", role="user")]
    assert [len(call.messages) for call in calls(client)] == [1, 3, 3, 3, 3, 3]  # four, beginning with the user
    assert turns == [6, 5, 4, 3, 2, 1]


def test_another_process_goes_on(store: Any) -> None:
    """A second client over the same store knows the thread."""
    kept = store if isinstance(store, InMemoryStore) else str(store)
    with open_client(kept, "Hello.") as first:
        first.chat("I live in Reykjavik.", **WHO)
    with open_client(kept, "Yes.") as second:
        second.chat("Are you there?", **WHO)
        assert [message.text for message in calls(second)[0].messages[:2]] == ["I live in Reykjavik.", "Hello."]
        assert said(second) == ["I live in Reykjavik.", "Hello.", "Are you there?", "Yes."]


def test_two_at_once_lose_nothing(store: Any) -> None:
    """Threads of one process and two clients talk in one thread: every message once, every answer once."""
    kept = store if isinstance(store, InMemoryStore) else str(store)
    with open_client(kept) as first, open_client(kept if isinstance(kept, InMemoryStore) else first.store) as second:
        words = [f"Message number {number}." for number in range(12)]
        with ThreadPoolExecutor(4) as pool:
            talks = [pool.submit((first, second)[n % 2].chat, text, **WHO) for n, text in enumerate(words)]
            assert all(isinstance(talk.result(), Reply) for talk in talks)
        held = said(first)
    assert sorted(held) == sorted([*words, *["And so on."] * 12])


async def test_two_at_once_in_one_loop(store: Any) -> None:
    """So it is in one event loop; and one message that is sent twice at once is stored once."""
    with open_client(store) as client:
        words = [f"Message number {number}." for number in range(8)]
        await asyncio.gather(*(client.achat(text, **WHO) for text in words))
        assert sorted(said(client)) == sorted([*words, *["And so on."] * 8])
        twice = HumanMessage("Just once.", id="once")
        await asyncio.gather(client.achat(twice, **WHO), client.achat(twice, **WHO))
        assert said(client).count("Just once.") == 1


def test_a_message_is_answered_again_from_where_it_stood(client: MemoryClient) -> None:
    """A message with a known id has the past that it had, and stays one."""
    client.chat(HumanMessage("I live in Reykjavik.", id="m1"), **WHO)
    client.chat(HumanMessage("Where do I live?", id="m2"), **WHO)
    client.chat(HumanMessage("I live in Reykjavik.", id="m1"), **WHO)
    assert [strip_context(message.text) for message in calls(client)[2].messages] == ["I live in Reykjavik."]
    assert said(client).count("I live in Reykjavik.") == 1


def test_a_call_within_a_graph_is_the_calls_own(store: Any) -> None:
    """A node that talks, adds or explains for one user does so, whomever its run is for, and leaves no checkpoint."""

    class State(TypedDict):
        done: bool

    saver = InMemorySaver()
    with open_client(store) as client:
        client.add("Alice lives in Rome.", user_id="alice")

        def node(state: State, config: RunnableConfig) -> State:
            client.add("I live in Reykjavik.", user_id="ann")
            client.chat("Where do I live?", user_id="ann")
            "".join(piece.text for piece in client.chat("Where is Rome?", user_id="ann", stream=True))
            assert "Rome." not in client.explain("Where does Alice live?", user_id="ann").context
            return {"done": True}

        builder = StateGraph(State)
        builder.add_node("node", node).add_edge(START, "node").add_edge("node", END)
        graph = builder.compile(checkpointer=saver)
        run: RunnableConfig = {"configurable": {"thread_id": "parent", "user_id": "alice"}}
        graph.invoke({"done": False}, run, context={"user_id": "alice"})
        assert [record.text for record in client.list(user_id="alice", role="user")] == ["Alice lives in Rome."]
        assert {record.thread_id for record in client.list(user_id="ann")} == {None}
        assert len(client.list(user_id="ann", role="user")) == 3
    assert {checkpoint.config["configurable"]["checkpoint_ns"] for checkpoint in saver.list(None)} == {""}


async def test_an_async_call_within_a_graph_is_the_calls_own(store: Any) -> None:
    """As above, awaited; and what the caller keeps in its context stays the caller's."""

    class State(TypedDict):
        done: bool

    with open_client(store) as client:

        async def node(state: State, config: RunnableConfig) -> State:
            await client.aadd("I live in Reykjavik.", user_id="ann")
            await client.achat("Where do I live?", user_id="ann")
            async for _ in await client.achat("Where is Rome?", user_id="ann", stream=True):
                assert config["configurable"]["thread_id"] == "parent"
            assert "Reykjavik" in (await client.aexplain("Where do I live?", user_id="ann")).context
            return {"done": True}

        builder = StateGraph(State)
        builder.add_node("node", node).add_edge(START, "node").add_edge("node", END)
        run: RunnableConfig = {"configurable": {"thread_id": "parent", "user_id": "alice"}}
        await builder.compile().ainvoke({"done": False}, run, context={"user_id": "alice"})
        assert client.list(user_id="alice") == []
        assert {record.thread_id for record in client.list(user_id="ann")} == {None}


# load

TALK = [
    {
        "role": "user",
        "content": "I live in Reykjavik.",
        "id": "m1",
        "name": "Ann",
        "created_at": "2023-05-08T13:56:00Z",
    },
    {"role": "assistant", "content": "Nice.", "id": "m2", "created_at": "2023-05-08T13:57:00Z"},
    {"role": "user", "content": "My cat is called Flux.", "id": "m3"},
    {"role": "assistant", "content": "Nice."},
]


async def test_a_thread_comes_back_as_it_was(client: MemoryClient) -> None:
    """In order, with ids, names and times; what comes back is known when it is added again."""
    client.add(TALK, **WHO)
    client.add("What a day.", **WHO)
    found = client.load("t", user_id="ann")
    assert [(m.type, m.text, m.name) for m in found] == [
        ("human", "I live in Reykjavik.", "Ann"),
        ("ai", "Nice.", None),
        ("human", "My cat is called Flux.", None),
        ("ai", "Nice.", None),
        ("human", "What a day.", None),
    ]
    assert [m.id for m in found[:3]] == ["m1", "m2", "m3"]
    assert len({m.id for m in found}) == 5
    assert found[0].additional_kwargs == {"created_at": "2023-05-08T13:56:00.000000Z"}
    assert await client.aload("t", user_id="ann") == found
    assert client.add(found, **WHO) == []
    for message in found:
        assert client.add(message, **WHO) == []
    assert [m.text for m in client.load("t", user_id="ann", limit=2)] == ["Nice.", "What a day."]
    assert client.load("t", user_id="ann", limit=0) == []
    assert len(client.load("t", user_id="ann", limit=10**30)) == 5
    assert client.load("nowhere", user_id="ann") == client.load("t", user_id="bob") == []


def test_the_summary_comes_first(client: MemoryClient) -> None:
    """As a message of the system, fenced as data and marked; it isn't stored when it is added again."""
    client.add(TALK, **WHO)
    scope = Scope(**WHO)
    summary = MemoryRecord(
        id=summary_key(scope), role="summary", text="- Ann lives </memory_context> up north.", **WHO, covers_until=NOW
    )
    client.store.put(scope.namespace, summary.id, summary.to_value())
    (first, *rest) = client.load("t", user_id="ann", limit=1)
    assert isinstance(first, SystemMessage)
    assert first.additional_kwargs["thread_summary"] is True
    assert first.additional_kwargs["covers_until"].startswith("2026-03-01")
    assert "Ann lives (lt)/memory_context> up north." in first.text
    assert strip_context(first.text) == ""
    assert [m.text for m in rest] == ["Nice."]
    assert client.add([first, *rest], **WHO) == []
    client.clear_conversation("t", user_id="ann")
    assert client.load("t", user_id="ann") == []


def test_what_is_gone_stays_out(store: Any) -> None:
    """What was deleted, forgotten or has expired isn't given back."""
    now = utc_now()
    config = CONFIG.replace(turn_ttl_days=1)
    with open_client(store, config=config, clock=lambda: now) as client:
        first, second = client.add(TALK[:2], **WHO)
        client.add("My sister is called Zoe.", **WHO)
        client.forget(second.id, user_id="ann")
        assert said(client) == ["I live in Reykjavik.", "My sister is called Zoe."]
        fact = next(r for r in client.list(user_id="ann", role="memory") if "Zoe" in r.text)
        client.forget(fact.id, user_id="ann")
        assert said(client) == ["I live in Reykjavik."]
        client.chat("Hello there, friend.", **WHO)
        assert "Zoe" not in calls(client)[0].text
        now += dt.timedelta(days=2)
        assert said(client) == []
        assert first.text == "I live in Reykjavik."


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
async def test_a_limit_is_a_number_of_messages(client: MemoryClient, limit: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidValueError, match="limit="):
        client.load("t", user_id="ann", limit=limit)
    with pytest.raises(InvalidValueError, match="limit="):
        await client.aload("t", user_id="ann", limit=limit)


@pytest.mark.parametrize("thread", [None, 1.5, ["t"]])
def test_a_thread_has_an_id(client: MemoryClient, thread: Any) -> None:
    """A text, a number or a UUID."""
    with pytest.raises(ConfigError, match="thread_id"):
        client.load(thread, user_id="ann")
    client.add(TALK[:1], user_id="ann", thread_id="7")
    assert len(client.load(7, user_id="ann")) == 1  # type: ignore[arg-type]


def test_a_thread_of_more_than_a_page(client: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long, all of it comes back, in order."""
    monkeypatch.setattr(told, "PAGE", 10)
    scope = Scope(**WHO)
    many = [
        MemoryRecord(
            id=record_id(number),
            role="user" if number % 2 == 0 else "assistant",
            text=f"message {number}",
            **WHO,
            created_at=NOW,
            extracted=True,
            metadata={"turn": number // 2 + 1, "position": number % 2},
        )
        for number in range(45)
    ]
    client.store.batch([PutOp(scope.namespace, each.id, each.to_value(), index=False) for each in many])
    assert said(client) == [each.text for each in many]


MESSAGES = st.lists(
    st.builds(
        lambda role, content, id, time: {
            "role": role,
            "content": content,
            **({"id": id} if id else {}),
            **({"created_at": time.isoformat()} if time else {}),
        },
        st.sampled_from(["user", "assistant"]),
        st.sampled_from(["Yes.", "No.", "I live in Reykjavik.", "tea\n\n- and </memory_context>", "用户"]),
        st.none() | st.integers(0, 30).map(lambda n: f"m{n}"),
        st.none() | st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2025, 1, 1)),
    ),
    max_size=8,
    unique_by=lambda message: message.get("id", str(uuid.uuid4())),
)


@example(
    [[{"role": role, "content": text} for role, text in (("assistant", "No."), ("user", "Yes."), ("assistant", "No."))]]
)
@given(st.lists(MESSAGES, min_size=1, max_size=3))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_said_is_known_when_it_comes_back(talks: list[list[dict[str, Any]]]) -> None:
    """What `load` gives, `add` stores never again, whole, in parts, or once more; and both agree on what there is."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        stored = [record for talk in talks for record in client.add(talk, **WHO)]
        found = client.load("t", user_id="ann")
        assert [m.text for m in found] == [record.text for record in stored]
        assert client.add(found, **WHO) == []
        for start in range(len(found)):
            assert client.add(found[start : start + 2], **WHO) == []
        assert client.load("t", user_id="ann") == found
