"""Archives and retention in the memory graph: before anything leaves a thread, in the background, and found again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.graph import create_memory_graph, create_remember_graph
from langmem_plus.prompts import Archived, FactsAndSummary, Summary
from langmem_plus.remember import compress
from langmem_plus.testing import ScriptedChatModel

WORDS = ("Lyon", "tea", "chess", "jazz", "cats", "boats", "Rome", "snow")
LONG: dict[str, Any] = {
    "summary_refresh_turns": 2,
    "threshold_tokens": 60,
    "recent_messages_to_keep": 4,
    "archive_conversations": True,
    "rerank_bits": "none",
}


def say(number: int) -> dict[str, Any]:
    """One turn's input."""
    return {"messages": [HumanMessage(f"I like {WORDS[number]} very much.", id=f"h{number}")]}


@pytest.mark.parametrize("background_on", [False, True])
def test_what_leaves_a_thread_is_found_in_another(store, config, run_config, records, background_on) -> None:
    """By a trigger, in a thread of its own; the thread's own turns may be gone."""
    model = ScriptedChatModel(then="Noted.")
    settings = config.replace(**LONG, background=background_on, compress_deletes_turns=True)
    graph = create_memory_graph(model, store=store, config=settings, checkpointer=InMemorySaver())
    for number in range(8):
        graph.invoke(say(number), run_config())
        assert background.flush(30)
    (archive,) = records(store, role="archive")
    assert "I like Lyon very much." in archive.text
    assert archive.metadata["message_count"] >= 8
    other = graph.invoke({"messages": [HumanMessage("Last time we talked about Lyon")]}, run_config("t2"))
    assert "# Earlier conversations" in other["memory_context"]
    assert "# Earlier conversations" not in graph.invoke(say(0), run_config("t2"))["memory_context"]


async def test_without_its_archive_nothing_leaves(store, config, run_config, monkeypatch) -> None:
    """The thread stays as it is where the archive can't be written, and the report says so."""

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise OSError("disk full")
        yield

    monkeypatch.setattr(compress, "archive_steps", broken)
    settings = config.replace(**LONG, background=False, compress_deletes_turns=True)
    graph = create_memory_graph(
        ScriptedChatModel(then="Noted."), store=store, config=settings, checkpointer=InMemorySaver()
    )
    outputs = [await graph.ainvoke(say(number), run_config()) for number in range(6)]
    assert len((await graph.aget_state(run_config())).values["messages"]) == 12
    assert any("disk full" in warning for warning in outputs[-1]["memory_report"]["warnings"])


def test_a_model_reads_what_was_archived_after_the_reply(config, run_config, records) -> None:
    """No turn waits for it: the archive stands by rules when messages leave."""

    def answer(messages: Any) -> Any:
        text = messages[-1].text
        if "<archive>" in text:
            return Archived(summary="They spoke of what the user likes.", topics=["likes"])
        points = Summary.model_validate({"points": [{"text": "The user likes things."}]})
        return FactsAndSummary(facts=[], summary=points.points) if "<memories>" in text else points

    store = InMemoryStore()
    model = ScriptedChatModel(then=answer)
    settings = config.replace(**LONG, background=False, combine=False)
    graph = create_memory_graph(
        ScriptedChatModel(then="Noted."), store=store, model=model, config=settings, checkpointer=InMemorySaver()
    )
    for number in range(5):
        graph.invoke(say(number), run_config())
    assert "archive" in graph.get_graph().nodes
    (archive,) = records(store, role="archive")
    assert archive.metadata["summary"] == "They spoke of what the user likes."


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({}, set()),
        ({"archive_conversations": True}, set()),
        ({"retention_days": 7}, {"retain"}),
        ({"turn_ttl_days": 7}, {"retain"}),
    ],
)
def test_the_graph_has_what_the_settings_ask_for(config, settings, nodes) -> None:
    """Without a model, rules make archives where they are needed."""
    graph = create_remember_graph(config=config.replace(**settings))
    assert {"archive", "retain"} & set(graph.get_graph().nodes) == nodes
