"""The whole loop around a real model: recall, a streamed answer, facts, decisions, a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_plus import MarkdownStore, MemoryConfig, MemoryRecord, create_memory_graph
from langmem_plus.graph import flush

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PATIENCE = 240.0
SAID = ("My name is Ann and I live in Lyon.", "I have a dog called Rex.", "I moved to Paris last week.")
ALICE = {"configurable": {"thread_id": "t1", "user_id": "alice"}}
Read = Callable[..., list[MemoryRecord]]


def say(text: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


@pytest.fixture
def chain(config: MemoryConfig) -> MemoryConfig:
    """Settings that draw facts out before the run ends, and summarise every second turn."""
    return config.replace(background=False, summary_refresh_turns=2)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_loop_runs_whole(
    server: Any, store: MarkdownStore, chain: MemoryConfig, records: Read, kind: str
) -> None:
    """Three turns: each is answered and stored, no stage fails, every turn is worked off, and a summary is kept."""
    graph = create_memory_graph(
        server.chat(max_tokens=40), store=store, model=server.chat(), config=chain, checkpointer=InMemorySaver()
    )
    for text in SAID:
        output = await graph.ainvoke(say(text), ALICE) if kind == "async" else graph.invoke(say(text), ALICE)
        report = output["memory_report"]
        assert not [name for name in report["counts"] if name.endswith("_failed")]
        assert {"plan", "retrieve", "inject", "extract", "reconcile", "summarize"} <= set(report["milliseconds"])
        assert {decision["event"] for decision in report["decisions"]} <= {"ADD", "UPDATE", "DELETE", "NONE"}
    assert [message.type for message in output["messages"]] == ["human", "ai"] * 3
    turns = records(store, "user")
    assert sorted(turn.text for turn in turns) == sorted(SAID) and all(turn.extracted for turn in turns)
    assert len(records(store, "assistant")) == 3
    ids = {id for turn in turns for id in (turn.id, *turn.source_ids)}
    assert all(fact.text and set(fact.source_ids) <= ids for fact in records(store, "memory"))
    # An answer that says nothing leaves no summary; one that is there belongs to the thread.
    assert [summary.thread_id for summary in records(store, "summary")] in ([], ["t1"])


async def test_what_streams_is_the_agents_answer_alone(server: Any, store: MarkdownStore, chain: MemoryConfig) -> None:
    """Tokens come one by one from the agent's node, together they are the reply, and the calls that draw facts out,
    decide and summarise stream nothing; their report comes as a custom event."""
    graph = create_memory_graph(
        server.chat(max_tokens=40), store=store, model=server.chat(), config=chain, checkpointer=InMemorySaver()
    )
    for number, text in enumerate(SAID[:2]):
        pieces: list[tuple[str, str]] = []
        reports = []

        def take(mode: str, payload: Any, pieces: list[tuple[str, str]] = pieces, reports: list[Any] = reports) -> None:
            if mode == "custom":
                reports.append(payload["memory"])
            elif isinstance(payload[0], AIMessageChunk):
                pieces.append((payload[1]["langgraph_node"], payload[0].text))

        if number:
            async for mode, payload in graph.astream(say(text), ALICE, stream_mode=["messages", "custom"]):
                take(mode, payload)
        else:
            for mode, payload in graph.stream(say(text), ALICE, stream_mode=["messages", "custom"]):
                take(mode, payload)
        reply = graph.get_state(ALICE).values["messages"][-1]
        assert isinstance(reply, AIMessage) and len(pieces) > 2
        assert {node for node, _ in pieces} == {"agent"}
        assert "".join(piece for _, piece in pieces) == reply.text
        assert reports and reports[-1]["milliseconds"]


def test_the_reply_comes_before_the_facts(
    server: Any, store: MarkdownStore, config: MemoryConfig, records: Read
) -> None:
    """In the background, the turns of two users are worked off after the replies, each in its own namespace."""
    graph = create_memory_graph(server.chat(max_tokens=20), store=store, model=server.chat(), config=config)
    for user in ("alice", "bob"):
        graph.invoke(say(f"I am {user} and I live in Lyon."), {"configurable": {"thread_id": "t", "user_id": user}})
    assert flush(store, PATIENCE)
    turns = {turn.user_id: turn for turn in records(store, "user")}
    assert set(turns) == {"alice", "bob"} and all(turn.extracted for turn in turns.values())
    for fact in records(store, "memory"):
        turn = turns[fact.user_id]
        assert fact.source_ids == [turn.id, *turn.source_ids]


def test_recalled_text_reaches_the_server_and_not_the_thread(
    server: Any, store: MarkdownStore, chain: MemoryConfig
) -> None:
    """What another thread said is recalled into this call, and the thread holds nothing of it."""
    graph = create_memory_graph(
        server.chat(max_tokens=20), store=store, model=None, config=chain, checkpointer=InMemorySaver()
    )
    graph.invoke(say("My dog is called Rex."), {"configurable": {"thread_id": "old", "user_id": "alice"}})
    output = graph.invoke(say("What is my dog called?"), ALICE)
    assert "Rex" in output["memory_context"]
    thread = graph.get_state(ALICE).values["messages"]
    assert thread[0].text == "What is my dog called?" and len(thread) == 2
