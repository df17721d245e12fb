"""Other doors over a real model: the middleware of `create_agent`, memory tools, a model as reranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig, MemoryRecord
from langmem_plus.graph import flush
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.providers.model_reranker import ModelReranker
from langmem_plus.tools import create_manage_memory_tool, create_search_memory_tool

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PATIENCE = 240.0
ALICE = {"configurable": {"thread_id": "t1", "user_id": "alice"}}
Read = Callable[..., list[MemoryRecord]]


def say(text: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


@pytest.mark.parametrize("background", [True, False])
async def test_the_middleware(
    server: Any, store: MarkdownStore, config: MemoryConfig, records: Read, background: bool
) -> None:
    """An agent streams its own tokens alone, another thread's words reach its calls and never its thread, and every
    turn is worked off."""
    config = config.replace(background=background)
    memory = LongTermMemoryMiddleware(store=store, model=server.chat(), config=config)
    agent = create_agent(server.chat(max_tokens=30), [], middleware=[memory], checkpointer=InMemorySaver())
    agent.invoke(say("My dog is called Rex."), {"configurable": {"thread_id": "old", "user_id": "alice"}})
    nodes, text = set(), ""
    async for message, where in agent.astream(say("What is my dog called?"), ALICE, stream_mode="messages"):
        if isinstance(message, AIMessageChunk):
            nodes.add(where["langgraph_node"])
            text += message.text
    assert nodes == {"model"}
    thread = agent.get_state(ALICE).values["messages"]
    assert [message.text for message in thread] == ["What is my dog called?", text]
    assert flush(store, PATIENCE)
    turns = records(store, "user")
    assert len(turns) == 2 and all(turn.extracted for turn in turns)


def test_an_agent_with_memory_tools(server: Any, store: MarkdownStore, config: MemoryConfig) -> None:
    """The server takes the tools' schemas; whatever the model makes of them, the run ends with an answer."""
    tools = [create_search_memory_tool(store=store, config=config), create_manage_memory_tool(store=store)]
    agent = create_agent(server.chat(max_tokens=60), tools)
    thread = agent.invoke(say("Remember that my dog is called Rex."), {**ALICE, "recursion_limit": 10})["messages"]
    assert thread[-1].type == "ai" and {message.type for message in thread} <= {"human", "ai", "tool"}


def test_a_model_as_reranker(server: Any, store: MarkdownStore, config: MemoryConfig) -> None:
    """A search whose candidates the model scores gives memories of this user, best first, whether or not its scores
    can be read."""
    with MemoryClient(store, config=config) as rules:
        for text in ("My dog is called Rex.", "I live in Lyon.", "My sister's dog is a poodle."):
            rules.add(text, user_id="alice")
        assert rules.flush(PATIENCE)
        known = {record.text for record in rules.list(user_id="alice")}
    patient = config.replace(reranker="model", rerank_seconds=120)
    with MemoryClient(store, model=server.chat(), config=patient) as client:
        hits = client.search("What is my dog called?", user_id="alice")
        assert {hit.text for hit in hits} <= known
        totals = [hit.scores["total"] for hit in hits]
        assert totals == sorted(totals, reverse=True) and all(0 <= hit.scores["relevance"] <= 1 for hit in hits)


def test_scores_are_numbers_between_0_and_1(server: Any, config: MemoryConfig) -> None:
    """The reranker alone: a score a passage, blank ones 0, whatever the model says; or one error that says why."""
    from langmem_plus.errors import ModelAnswerError

    reranker = ModelReranker(server.chat(), config.replace(rerank_seconds=120))
    texts = ["My dog is called Rex.", "", *(f"Note {number}: nothing." for number in range(25))]
    try:
        scores = reranker("What is my dog called?", texts)
    except ModelAnswerError as error:
        assert str(error)
        return
    assert len(scores) == len(texts) and scores[1] == 0 and all(0 <= score <= 1 for score in scores)
