"""Which messages a thread holds already: nothing that was said is lost, nothing that is repeated is doubled."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.client.thread import Words, known_places

CONFIG = MemoryConfig(embeddings="none", background=False, summary_refresh_turns=3)
SAID = st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["yes", "no", "ok", "I like tea", "why?"]))
WORDS: list[Words] = [("user", "Hi"), ("assistant", "Hello"), ("user", "yes"), ("assistant", "ok"), ("user", "yes")]


def messages(*texts: str) -> list[dict[str, str]]:
    """Messages of a user and an assistant, in turn."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def told(client: MemoryClient, thread_id: str = "t1") -> list[str]:
    """The texts of a thread in their order."""
    turns = [r for r in client.list(user_id="ann", thread_id=thread_id) if r.role in ("user", "assistant")]
    return [r.text for r in sorted(turns, key=lambda r: (r.metadata["turn"], r.metadata["position"]))]


@pytest.fixture
def client() -> MemoryClient:
    """A client without a background."""
    return MemoryClient(InMemoryStore(), config=CONFIG)


@given(st.lists(SAID, min_size=1))
def test_the_last_call_again_adds_nothing(said: list[Words]) -> None:
    """As many messages as the thread ends with are known, however they repeat themselves."""
    for count in range(1, len(said) + 1):
        assert known_places(said, said[-count:]).keys() == set(range(count))


@given(st.lists(SAID, min_size=3), st.lists(SAID, max_size=4))
def test_a_whole_thread_gains_only_what_is_new(said: list[Words], more: list[Words]) -> None:
    """The thread once more, with some messages behind it: all of the thread is known, and nothing behind it."""
    assert known_places(said, [*said, *more]).keys() == set(range(len(said)))


@given(st.lists(SAID, max_size=6), SAID)
def test_one_message_is_new_unless_it_was_the_last(said: list[Words], message: Words) -> None:
    """Words said again later are said again."""
    assert known_places(said, [message]).keys() == ({0} if said and said[-1] == message else set())


def test_a_message_that_is_missing_in_the_thread_is_found() -> None:
    """A whole thread from which a turn was deleted by hand: the rest isn't doubled."""
    assert known_places([WORDS[0], *WORDS[2:]], WORDS) == {0: 0, 2: 1, 3: 2, 4: 3}


def test_words_said_again_one_message_at_a_time_are_kept(client: MemoryClient) -> None:
    """Each call brings one message, and the same answers come again and again."""
    said = ["Shall we?", "Sure.", "yes", "ok", "yes", "ok", "yes", "Sure."]
    for message in messages(*said):
        assert len(client.add([message], user_id="ann", thread_id="t1")) == 1
        assert client.add([message], user_id="ann", thread_id="t1") == []
    assert told(client) == said


def test_exchanges_that_begin_alike_are_kept(client: MemoryClient) -> None:
    """A program that adds each exchange: the same greeting on another day is another turn."""
    for _ in range(3):
        client.add(messages("Hi", "Hello!"), user_id="ann", thread_id="t1")
        client.add(messages("How are you?", "Fine."), user_id="ann", thread_id="t1")
    assert told(client) == ["Hi", "Hello!", "How are you?", "Fine."] * 3


def test_messages_are_told_by_their_times(client: MemoryClient) -> None:
    """The same words at another time are new; any part of the thread can be added again."""
    times = [dt.datetime(2024, 5, 1, 9, minute, tzinfo=dt.UTC).isoformat() for minute in range(4)]
    said = [{"role": "user", "content": "yes", "created_at": time} for time in times]
    assert len(client.add(said, user_id="ann", thread_id="t1")) == 4
    assert client.add(said[:2], user_id="ann", thread_id="t1") == []
    assert client.add(said[1:3], user_id="ann", thread_id="t1") == []


def test_the_same_words_at_one_time_are_several_messages(client: MemoryClient) -> None:
    """A file whose times are days: how often the words stand in it counts."""
    said = [{"role": "user", "content": "yes", "created_at": "2024-05-01"}] * 3
    assert len(client.add(said, user_id="ann", thread_id="t1")) == 3
    assert client.add(said, user_id="ann", thread_id="t1") == []


def test_a_thread_that_a_graph_recorded_is_known_by_its_messages_ids(tmp_path: Path) -> None:
    """What the graph stored isn't stored again when the program hands the thread over."""
    from langchain_core.messages import HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver

    from langmem_plus import MarkdownStore, create_memory_graph
    from langmem_plus.testing import ScriptedChatModel

    with MarkdownStore(tmp_path, index=None) as store:
        graph = create_memory_graph(
            ScriptedChatModel(["Hello"]), store=store, config=CONFIG, checkpointer=InMemorySaver()
        )
        run = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
        thread = graph.invoke({"messages": [HumanMessage("Hi", id="h1")]}, run)["messages"]
        client = MemoryClient(store, config=CONFIG)
        assert client.add(thread, user_id="ann", thread_id="t1") == []
        assert told(client) == ["Hi", "Hello"]


def test_a_thread_that_grows_message_by_message_gets_its_summary(client: MemoryClient) -> None:
    """Turns are numbered through the thread, so the summary is due when enough of them were said."""
    for text in ("I live in Lyon.", "I like tea.", "I work at Acme."):
        client.add(text, user_id="ann", thread_id="t1")
    (summary,) = client.list(user_id="ann", role="summary")
    assert "I live in Lyon" in summary.text


async def test_the_async_twin_keeps_them_too(client: MemoryClient) -> None:
    """Repeated words, one message a call."""
    for message in messages("yes", "ok", "yes", "ok"):
        await client.aadd([message], user_id="ann", thread_id="t1")
    assert told(client) == ["yes", "ok", "yes", "ok"]


CONVERSATION = messages(*(f"{n}: {text}" for n in range(6) for text in ("I own a boat", "Noted")))


@pytest.mark.parametrize(
    "calls",
    [
        [(0, 4), (4, 8), (8, 12), (4, 8)],
        [(4, 12), (0, 12)],
        [(0, 12), (6, 12)],
        [(0, 8), (4, 12)],
        [(n, n + 1) for n in range(12)] + [(0, 12)],
        [(max(0, n - 4), n) for n in range(1, 13)],
    ],
    ids=["a chunk again", "the end, then all", "all, then the end", "overlap", "one by one, then all", "a window"],
)
def test_parts_of_a_conversation_may_come_in_any_way(client: MemoryClient, calls: list[tuple[int, int]]) -> None:
    """Several messages one after another are the same ones wherever they stand: each is stored once."""
    for start, end in calls:
        client.add(CONVERSATION[start:end], user_id="ann", thread_id="t1")
    assert sorted(told(client)) == sorted(message["content"] for message in CONVERSATION)


def test_a_conversation_that_comes_again_with_ids_is_known(client: MemoryClient) -> None:
    """Whichever came first."""
    named = [{**message, "id": f"m{n}"} for n, message in enumerate(CONVERSATION)]
    client.add(CONVERSATION, user_id="ann", thread_id="t1")
    assert client.add(named, user_id="ann", thread_id="t1") == []
    client.add(named, user_id="ann", thread_id="t2")
    assert client.add(CONVERSATION, user_id="ann", thread_id="t2") == []


def test_the_same_exchange_on_another_day_is_said_again(client: MemoryClient) -> None:
    """A call that says just what the thread ends with is a repetition only for a while."""
    exchange, now = messages("I took my pill.", "Noted."), dt.datetime(2024, 5, 1, 9, tzinfo=dt.UTC)
    for day in range(3):
        at = replace(client._services, clock=lambda day=day: now + dt.timedelta(days=day))
        client._services = at
        assert len(client.add(exchange, user_id="ann", thread_id="t1")) == 2
        assert client.add(exchange, user_id="ann", thread_id="t1") == []
    assert told(client) == ["I took my pill.", "Noted."] * 3
