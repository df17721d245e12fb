"""A chat model in the place of the built-in reranker: nothing relevant, what it costs, and what happens without it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelRestingError
from langmem_plus.graph import create_recall_graph, make_services
from langmem_plus.providers.model_reranker import FAILURES
from langmem_plus.recall import arecall, recall
from langmem_plus.records import MemoryHit, MemoryRecord, MemoryReport, Scope
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

ALICE = Scope("alice")
WORDS = MemoryConfig(embeddings="none")
TEXTS = ("I like green tea", "My sister likes to hike", "The tea shop opens at nine")


def says_yes_to(word: str) -> Any:
    """A model that rates 9 what holds a word, and 0 the rest."""

    def answer(messages: Sequence[BaseMessage]) -> Any:
        lines = messages[-1].text.partition("<passages>")[2].splitlines()
        numbered = [line.split(": ", 1) for line in lines if ": " in line]
        return {"scores": [{"id": int(number), "score": 9 * (word in text)} for number, text in numbered]}

    return answer


@pytest.fixture
def store() -> InMemoryStore:
    """Three memories of Alice."""
    filled = InMemoryStore()
    for number, text in enumerate(TEXTS):
        record = MemoryRecord(id=str(number), role="memory", text=text, user_id="alice")
        filled.put(ALICE.namespace, record.id, record.to_value())
    return filled


async def asked(way: str, services: Services, query: str = "What do I drink?") -> tuple[list[MemoryHit], MemoryReport]:
    """One recall, by one of the twins."""
    return await arecall(services, ALICE, query) if way == "async" else recall(services, ALICE, query)


both = pytest.mark.parametrize("way", ["sync", "async"])


@both
async def test_the_model_decides_what_is_relevant(store: InMemoryStore, way: str) -> None:
    """Its scores are the relevance; what it gives 0 is dropped, for its reason, and so may be everything."""
    model = ScriptedChatModel(then=says_yes_to("green"))
    services = make_services(store=store, config=WORDS, reranker=model)
    hits, report = await asked(way, services)
    assert [hit.text for hit in hits] == [TEXTS[0]]
    assert 0.85 < hits[0].scores["relevance"] <= 0.9
    assert {choice.reason for choice in report.choices if not choice.kept} == {
        "the reranker says that it has nothing to do with the question"
    }
    none = make_services(store=store, config=WORDS, reranker=ScriptedChatModel(then=says_yes_to("nonsense")))
    assert (await asked(way, none))[0] == []


@both
async def test_the_report_counts_what_it_cost(store: InMemoryStore, way: str) -> None:
    """Calls and tokens; a question that was asked before costs nothing."""
    services = make_services(store=store, config=WORDS, reranker=ScriptedChatModel(then=says_yes_to("tea")))
    counts = (await asked(way, services))[1].counts
    assert (counts["rerank_calls"], counts["relevant"]) == (1, 2)
    assert counts["rerank_tokens"] > 30
    again = (await asked(way, services))[1].counts
    assert "rerank_calls" not in again
    assert again["relevant"] == 2


@both
async def test_a_model_that_is_down_costs_its_ratings_alone(
    store: InMemoryStore, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The built-in scoring takes over; while the model rests, it isn't asked, and the log isn't filled."""
    model = ScriptedChatModel(then=ConnectionError("down"))
    services = make_services(store=store, config=WORDS, reranker=model)
    for _ in range(FAILURES + 2):
        hits, report = await asked(way, services, "Who likes green tea?")
        assert hits[0].text == TEXTS[0]
        assert "the reranker failed" in report.warnings[0]
    assert len(model.calls) == FAILURES
    assert report.warnings == [warning for warning in report.warnings if "asked again in" in warning]
    warned = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([record for record in warned if "reranker failed" in record.message]) == FAILURES


@both
async def test_strict_raises(store: InMemoryStore, way: str) -> None:
    """As every failure of memory then does."""
    model = ScriptedChatModel(then=ConnectionError("down"))
    services = make_services(store=store, config=WORDS.replace(strict=True), reranker=model)
    for error in (*[ConnectionError] * FAILURES, ModelRestingError):
        with pytest.raises(error):
            await asked(way, services)


@both
async def test_the_recall_graph_streams_none_of_it(store: InMemoryStore, way: str) -> None:
    """`create_recall_graph` takes a chat model; its tokens are no part of the run's messages."""
    graph = create_recall_graph(
        store=store, config=WORDS, scope=ALICE, reranker=ScriptedChatModel(then=says_yes_to("green"))
    )
    sent: Any = {"messages": [HumanMessage("What do I drink?")]}
    modes: Any = ["messages", "updates"]
    if way == "sync":
        events = list(graph.stream(sent, stream_mode=modes))
    else:
        events = [event async for event in graph.astream(sent, stream_mode=modes)]
    updates = [update for mode, update in events if mode == "updates"]
    assert [mode for mode, _ in events] == ["updates"] * len(updates)
    context = next(update["inject"]["memory_context"] for update in updates if "inject" in update)
    assert TEXTS[0] in context
    assert TEXTS[1] not in context


def test_one_model_for_everything(store: InMemoryStore) -> None:
    """``reranker="model"`` is the very model that extracts and decides."""
    model = ScriptedChatModel(then=says_yes_to("green"))
    services = make_services(store=store, model=model, config=WORDS.replace(reranker="model"))
    assert getattr(services.reranker, "model", None) is model
