"""The stages together: over every kind of store, as a function and as a graph."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, Op, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import MissingIdentityError, MissingStoreError
from langmem_plus.prompts import CONTEXT_OPEN
from langmem_plus.recall import arecall, inject_node, mmr_node, plan_node, recall, rerank_node, retrieve_node
from langmem_plus.recall.query import QUERY_CHARACTERS
from langmem_plus.records import MemoryRecord, Scope, summary_key
from langmem_plus.services import Services
from langmem_plus.state import MemoryState

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
Put = Callable[..., MemoryRecord]
RUN: Any = {"configurable": {"user_id": "ann", "thread_id": "now"}}


def services(store: BaseStore, **config: Any) -> Services:
    """Services with a fixed clock."""
    return Services(config=MemoryConfig(**config), store=store, clock=lambda: NOW)


def graph(made: Services, **compiled: Any) -> Any:
    """The five stages in a row."""
    builder = StateGraph(MemoryState)
    builder.add_sequence(
        [
            ("plan", plan_node(made)),
            ("retrieve", retrieve_node(made)),
            ("rerank", rerank_node(made)),
            ("mmr", mmr_node(made)),
            ("inject", inject_node(made)),
        ]
    )
    builder.add_edge(START, "plan")
    return builder.compile(**compiled)


@pytest.fixture
def facts(put: Put) -> None:
    """What is known of Ann."""
    put("The user's husband is named Bob.", id="husband", tags=["family"])
    put("The user lives in Lyon.", id="home")
    put("The user drinks green tea.", id="tea")
    put("用户喜欢乒乓球。", id="pingpong")
    put("Der Hund der Nutzerin heißt Waldi.", id="dog")


QUESTIONS = [
    ("what is my husband called?", "husband"),
    ("where in Lyon do I live?", "home"),
    ("do I drink tea?", "tea"),
    ("我喜欢乒乓球吗？", "pingpong"),
    ("Wie heißt mein Hund?", "dog"),
]


@pytest.mark.usefixtures("facts")
@pytest.mark.parametrize(("query", "expected"), QUESTIONS)
async def test_the_fact_that_answers_comes_first(store: BaseStore, scope: Scope, query: str, expected: str) -> None:
    """In any language, over any store, with every score of the way; async finds the same."""
    hits, report = recall(services(store), scope, query, k=3)
    assert hits[0].record.id == expected
    assert {"relevance", "recency", "importance", "total"} <= hits[0].scores.keys()
    assert all(0 <= hits[0].scores[name] <= 1 for name in ("relevance", "recency", "importance", "total"))
    again, report_again = await arecall(services(store), scope, query, k=3)
    assert [hit.record.id for hit in again] == [hit.record.id for hit in hits]
    assert report_again.counts == report.counts


@pytest.mark.usefixtures("facts")
@pytest.mark.parametrize("query", ["flurbin zorblax quuxify?", "比特币价格是多少", "Quantenchromodynamik"])
def test_nothing_relevant_is_an_answer(store: BaseStore, scope: Scope, query: str) -> None:
    """A question that memory can't answer returns nothing, and the report says why each was dropped."""
    hits, report = recall(services(store), scope, query)
    assert hits == []
    assert all(not choice.kept for choice in report.choices)


@pytest.mark.usefixtures("facts")
def test_a_threshold_works_in_a_small_room(store: BaseStore, scope: Scope) -> None:
    """On an absolute scale: what answers stays, the rest goes."""
    hits, _ = recall(services(store, score_threshold=0.3), scope, "what is my husband named?")
    assert [hit.record.id for hit in hits] == ["husband"]


def test_k_bounds_what_is_found(store: BaseStore, put: Put, scope: Scope) -> None:
    """Documents and memories together; the report has every candidate, kept or dropped."""
    for number in range(12):
        put(f"green tea number {number}", role="document" if number % 2 else "memory")
    hits, report = recall(services(store), scope, "green tea", k=5)
    assert len(hits) == 5
    assert sum(choice.kept for choice in report.choices) == 5
    assert len(report.choices) == report.counts["candidates"] == 12


class Asked(InMemoryStore):
    """A store that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answers, after keeping the queries."""
        asked = list(ops)
        self.queries += [op.query for op in asked if isinstance(op, SearchOp) and op.query is not None]
        return super().batch(asked)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return self.batch(ops)


async def test_a_long_query_is_searched_by_its_ends(scope: Scope) -> None:
    """Whoever searches, the store, and all that reads the question after it, gets no more than a bounded part."""
    store, query = Asked(), "What of the green tea?" + " what 11" * 25_000 + " What of the oolong?" + " " * 10_000
    recall(services(store), scope, query)
    await arecall(services(store), scope, query)
    assert {(len(each) <= QUERY_CHARACTERS + 1, each[:22], each[-11:]) for each in store.queries} == {
        (True, "What of the green tea?", "the oolong?")
    }


async def test_more_than_anybody_has_may_be_asked_for(store: BaseStore, put: Put, scope: Scope) -> None:
    """However large k is, all that answers is found."""
    put("The user drinks green tea.")
    for found, _ in (
        recall(services(store), scope, "tea?", k=10**30),
        await arecall(services(store), scope, "tea?", k=10**30),
    ):
        assert [hit.record.text for hit in found] == ["The user drinks green tea."]


def test_a_fact_is_not_shown_beside_its_turn(store: BaseStore, put: Put, scope: Scope) -> None:
    """The turn says the same in more words."""
    put("I drink green tea every morning", id="turn", role="user", thread_id="old", source_ids=["m1"])
    put("The user drinks green tea every morning.", id="fact", source_ids=["turn", "m1"])
    put("The user hikes.", id="hike")
    hits, _ = recall(services(store), scope, "who drinks green tea every morning?")
    assert len({"turn", "fact"} & {hit.record.id for hit in hits}) == 1


@pytest.mark.usefixtures("facts")
async def test_the_graph_recalls_for_one_call_only(store: BaseStore, scope: Scope) -> None:
    """The context is fenced and in no checkpoint; each stage is timed in the report; async is the same."""
    saver = InMemorySaver()
    compiled = graph(services(store), checkpointer=saver)
    output = compiled.invoke({"messages": [HumanMessage("what is my husband called?")]}, RUN)
    assert output["memory_context"].startswith(CONTEXT_OPEN)
    assert "named Bob" in output["memory_context"]
    assert output["memory_report"]["strategy"] == "memory"
    assert output["memory_report"]["milliseconds"].keys() == {"plan", "retrieve", "rerank", "mmr", "inject"}
    for checkpoint in saver.list(None):
        assert "named Bob" not in repr(checkpoint)
    other = {"configurable": {"user_id": "ann", "thread_id": "other"}}
    again = await compiled.ainvoke({"messages": [HumanMessage("what is my husband called?")]}, other)
    assert again["memory_context"] == output["memory_context"]


@pytest.mark.usefixtures("facts")
def test_the_same_question_gives_the_same_bytes(store: BaseStore) -> None:
    """So that the provider's cache hits while memory is unchanged; a day later too."""
    first = graph(services(store))
    later = graph(Services(store=store, clock=lambda: NOW + dt.timedelta(days=1)))
    state = {"messages": [HumanMessage("what do you know about Lyon, tea and my husband?")]}
    contexts = {made.invoke(state, RUN)["memory_context"] for made in (first, first, later)}
    assert len(contexts) == 1


@pytest.mark.usefixtures("facts")
def test_an_incognito_session_asks_no_store() -> None:
    """Not even one that isn't there."""
    config = {"configurable": {**RUN["configurable"], "incognito": True}}
    output = graph(Services()).invoke({"messages": [HumanMessage("where do I live?")]}, config)
    assert (output["memory_context"], output["memory_hits"]) == ("", [])
    assert output["memory_report"]["warnings"] == []


def test_small_talk_recalls_nothing_but_tells_what_is_missing(store: BaseStore, put: Put) -> None:
    """A graph without a store, or a run without a user, doesn't pass for one that works because somebody says hello."""
    put("The user says thanks a lot.")
    said = {"messages": [HumanMessage("thanks!")]}
    output = graph(services(store)).invoke(said, RUN)
    assert (output["memory_context"], output["memory_hits"]) == ("", [])
    with pytest.raises(MissingStoreError):
        graph(Services()).invoke(said, RUN)
    with pytest.raises(MissingIdentityError):
        graph(services(store)).invoke(said, {"configurable": {"thread_id": "now"}})


def test_a_tail_gets_the_summary_alone(store: BaseStore, put: Put, scope: Scope) -> None:
    """ "Go on" is about the thread itself."""
    put("They bake a cake.", id=summary_key(scope), role="summary", thread_id="now")
    put("The user likes to go on holiday.")
    context = graph(services(store)).invoke({"messages": [HumanMessage("go on")]}, RUN)["memory_context"]
    assert "They bake a cake." in context
    assert "holiday" not in context


def test_the_last_conversation_is_found_by_its_archive(store: BaseStore, put: Put) -> None:
    """ "What did we discuss last time?" says nothing to search by; in a strict session only archives answer."""
    put("They planned a trip to Kyoto.", role="archive", thread_id="old", id="kyoto")
    state = {"messages": [HumanMessage("What did we discuss last time?")]}
    for config in ({}, {"recall_scope": "thread"}):
        assert "Kyoto" in graph(services(store, **config)).invoke(state, RUN)["memory_context"]
    other = {"configurable": {"user_id": "bob", "thread_id": "now"}}
    assert "Kyoto" not in graph(services(store)).invoke(state, other)["memory_context"]


def test_what_the_model_sees_anyway_is_not_recalled(store: BaseStore, put: Put) -> None:
    """The current message is stored before the agent runs; it isn't its own memory."""
    put("do I drink green tea?", id="t", role="user", thread_id="now")
    put("I drink green tea", id="old", role="user", thread_id="now")
    messages = [HumanMessage("I drink green tea"), AIMessage("Nice!"), HumanMessage("do I drink green tea?")]
    assert graph(services(store)).invoke({"messages": messages}, RUN)["memory_context"] == ""


def test_any_store_without_data_is_fine(store: BaseStore) -> None:
    """The first message of a new user."""
    output = graph(services(store)).invoke({"messages": [HumanMessage("where do I live?")]}, RUN)
    assert (output["memory_context"], output["memory_report"]["warnings"]) == ("", [])


def test_importing_recall_is_light() -> None:
    """No store, model, index or provider comes with it."""
    heavy = (
        "chromadb",
        "onnxruntime",
        "tokenizers",
        "flashrank",
        "langchain_openai",
        "langchain.agents",
        "langmem_plus.store",
    )
    code = f"import sys, langmem_plus.recall; print([name for name in {heavy!r} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_memory_without_a_user_is_refused() -> None:
    """Never a shared bucket."""
    with pytest.raises(ValueError, match="user_id"):
        graph(services(InMemoryStore())).invoke({"messages": [HumanMessage("where do I live?")]}, {})
