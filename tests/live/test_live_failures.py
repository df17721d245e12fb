"""A server that is slow, gone, or killed midway: the user's words are stored, the answer goes on where it can, and what
waits is worked off once the server is back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig, MemoryRecord, create_memory_graph
from langmem_plus.background import background
from langmem_plus.graph import flush
from langmem_plus.testing import ScriptedChatModel

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PATIENCE = 240.0
ALICE = {"configurable": {"thread_id": "t1", "user_id": "alice"}}
STORY = {"messages": [HumanMessage("My dog is called Rex. Tell me a long story about him.")]}
Read = Callable[..., list[MemoryRecord]]
Start = Callable[..., Any]


def waiting(store: MarkdownStore) -> list[str]:
    """The user's turns that still wait for their facts."""
    found = [MemoryRecord.model_validate(item.value) for item in store.search(("memories",), limit=1000)]
    return [turn.text for turn in found if turn.role == "user" and not turn.extracted]


@pytest.mark.parametrize("kind", ["client", "answer_seconds"])
def test_a_time_out_costs_no_turn(server: Any, store: MarkdownStore, config: MemoryConfig, kind: str) -> None:
    """A model that is slower than its client, or than the settings, allows: the reply comes, the failure is tried again
    and counted, the turn still waits, and a model with more time works it off."""
    impatient = server.chat(timeout=0.05) if kind == "client" else server.chat()
    hurried = config if kind == "client" else config.replace(answer_seconds=0.05)
    graph = create_memory_graph(ScriptedChatModel(then="Woof!"), store=store, model=impatient, config=hurried)
    failed = background.failed
    assert graph.invoke(STORY, ALICE)["messages"][-1].text == "Woof!"
    assert flush(store, PATIENCE)
    assert background.failed == failed + 1
    failure = background.failures[-1]
    assert failure.attempts == 2 and ("Timeout" in failure.error)
    assert waiting(store) == [STORY["messages"][0].text]
    with MemoryClient(store, model=server.chat(), config=config) as client:
        assert client.flush(PATIENCE)
    assert not waiting(store) and background.failed == failed + 1


def test_a_server_that_is_killed_between_the_stages(
    start_server: Start, store: MarkdownStore, config: MemoryConfig, records: Read
) -> None:
    """Answers that are cut off give way to the rules; where the server is gone by the time of the decision, what was
    drawn out is added, and without a summary the turn is done all the same."""
    import httpx

    server = start_server()

    def kill_at_the_decision(request: httpx.Request) -> None:
        if b"<new_facts>" in request.content:
            server.kill()

    chain = config.replace(background=False, summary_refresh_turns=1)
    with MemoryClient(store, config=chain.replace(summarize=False)) as rules:
        rules.add("I live in Lyon.", user_id="alice")
    with httpx.Client(event_hooks={"request": [kill_at_the_decision]}) as http_client:
        model = server.chat(max_tokens=1, http_client=http_client)
        graph = create_memory_graph(ScriptedChatModel(then="Woof!"), store=store, model=model, config=chain)
        output = graph.invoke({"messages": [HumanMessage("I live in Paris. My dog is called Rex.")]}, ALICE)
    report = output["memory_report"]
    assert {decision["by"] for decision in report["decisions"]} == {"fallback"}
    told = " ".join(report["warnings"])
    assert "fell back to rules" in told and "added everything" in told and "summary stays" in told
    assert not waiting(store)
    assert {"I live in Lyon.", "I live in Paris."} < {fact.text for fact in records(store, "memory")}


def test_an_answer_without_a_server(start_server: Start, store: MarkdownStore, config: MemoryConfig) -> None:
    """A server that is gone before the answer: the agent's error reaches the caller and says that the connection
    failed, the user's turn is stored, and is worked off when the server is back."""
    import openai

    server = start_server()
    graph = create_memory_graph(server.chat(), store=store, model=server.chat(), config=config)
    server.kill()
    with pytest.raises(openai.APIConnectionError, match="Connection error"):
        graph.invoke(STORY, ALICE)
    assert waiting(store) == [STORY["messages"][0].text]
    server.start()
    assert flush(store, PATIENCE)
    assert not waiting(store)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_server_that_is_killed_in_a_stream(
    start_server: Start, store: MarkdownStore, config: MemoryConfig, records: Read, kind: str
) -> None:
    """The tokens so far are shown, then comes an error that says that the connection broke; the user's turn is stored,
    no half reply is, and after a restart the turn is worked off and the thread goes on."""
    server = start_server()
    saver = InMemorySaver()
    graph = create_memory_graph(
        server.chat(max_tokens=1000), store=store, model=server.chat(), config=config, checkpointer=saver
    )
    shown: list[str] = []

    def take(piece: Any) -> None:
        shown.append(piece[0].text)
        if len(shown) == 5:
            server.kill()

    with pytest.raises(Exception, match=r"(?i)connection|peer closed|incomplete"):
        if kind == "sync":
            for piece in graph.stream(STORY, ALICE, stream_mode="messages"):
                take(piece)
        else:
            async for piece in graph.astream(STORY, ALICE, stream_mode="messages"):
                take(piece)
    assert len(shown) >= 5
    assert waiting(store) == [STORY["messages"][0].text] and not records(store, "assistant")
    server.start()
    again = create_memory_graph(
        server.chat(max_tokens=20), store=store, model=server.chat(), config=config, checkpointer=saver
    )
    output = again.invoke({"messages": [HumanMessage("Go on.")]}, ALICE)
    assert [message.type for message in output["messages"]] == ["human", "human", "ai"]
    assert flush(store, PATIENCE)
    assert not waiting(store) and len(records(store, "user")) == 2


def test_a_server_that_is_killed_while_facts_are_drawn_out(
    start_server: Start, store: MarkdownStore, config: MemoryConfig, records: Read
) -> None:
    """The replies are long given; the failure is counted, its error says what broke, both turns wait, and a client that
    opens the store after a restart works them off, once."""
    server = start_server()
    failed = background.failed
    with MemoryClient(store, model=server.chat(), config=config) as client:
        client.add("My dog is called Rex.", user_id="alice", thread_id="t1")
        server.wait_until_busy()
        server.kill()
        client.add("I live in Lyon.", user_id="alice", thread_id="t1")
        assert client.flush(PATIENCE)
        assert background.failed > failed
        assert "onnect" in background.failures[-1].error
        assert sorted(waiting(store)) == ["I live in Lyon.", "My dog is called Rex."]
        assert "Rex" in client.search("What is my dog called?", user_id="alice")[0].text
    server.start()
    with MemoryClient(store, model=server.chat(), config=config) as client:
        assert client.flush(PATIENCE)
    assert not waiting(store) and len(records(store, "user")) == 2


def test_a_server_that_comes_back_between_two_tries(
    start_server: Start, store: MarkdownStore, config: MemoryConfig
) -> None:
    """Where the server is back before the tries are used up, nothing is given up and nobody has to do anything."""
    server = start_server()
    failed = background.failed
    patient = config.replace(retry_seconds=2.0, retries=5)
    graph = create_memory_graph(ScriptedChatModel(then="Woof!"), store=store, model=server.chat(), config=patient)
    graph.invoke(STORY, ALICE)
    server.wait_until_busy()
    server.kill()
    server.start()
    assert flush(store, PATIENCE)
    assert not waiting(store) and background.failed == failed


def test_a_turn_that_is_too_long_for_the_server(
    start_server: Start, store: MarkdownStore, config: MemoryConfig, records: Callable[..., list[MemoryRecord]]
) -> None:
    """A server with a small context refuses the request, also of half the turn: then rules read it, and it never waits
    for a model that can't take it.
    """
    server = start_server("-c", "512", "-np", "1")
    failed = background.failed
    with MemoryClient(store, model=server.chat(), config=config) as client:
        client.add("I live in Lyon. " * 200, user_id="alice")
        assert client.flush(PATIENCE)
        assert background.failed == failed and not waiting(store)
        assert "I live in Lyon." in {record.text for record in records(store, "memory")}
