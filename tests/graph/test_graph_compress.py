"""Long threads in the memory graph: old messages leave the checkpointed thread, and their summary is recalled."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.graph import create_memory_graph
from langmem_plus.records import MemoryReport
from langmem_plus.remember.tombstones import COMPRESSED as REASON
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

WORDS = ("Lyon", "tea", "chess", "jazz", "cats", "boats", "Rome", "snow")
LONG = {"background": False, "summary_refresh_turns": 2, "threshold_tokens": 60, "recent_messages_to_keep": 4}


def say(number: int) -> dict[str, Any]:
    """One turn's input."""
    return {"messages": [HumanMessage(f"I like {WORDS[number]} very much.", id=f"h{number}")]}


def report(output: dict[str, Any]) -> MemoryReport:
    """What a run reports."""
    return MemoryReport.model_validate(output["memory_report"])


def test_a_long_thread_is_shortened_and_loses_no_thought(store, config, run_config, records) -> None:
    """The thread stays short, holds nothing but its own messages, and the model reads the summary of the rest."""
    model = ScriptedChatModel(then="Noted.")
    graph = create_memory_graph(model, store=store, config=config.replace(**LONG), checkpointer=InMemorySaver())
    outputs = [graph.invoke(say(number), run_config()) for number in range(8)]
    kept = graph.get_state(run_config()).values["messages"]
    assert [message.type for message in kept[:2]] == ["human", "ai"]
    assert 4 <= len(kept) <= 8
    assert {message.text for message in kept} <= {"Noted.", *(say(number)["messages"][0].text for number in range(8))}
    assert sum(report(output).counts.get("compressed_messages", 0) for output in outputs) == 16 - len(kept)
    assert "# This conversation so far" in model.calls[-1].text
    assert "I like Lyon very much." in model.calls[-1].text
    turns = records(store, role="user")
    assert sorted(turn.metadata["turn"] for turn in turns) == list(range(1, 9))
    assert all(turn.status == "active" for turn in turns)


async def test_the_same_asynchronously(store, config, run_config) -> None:
    """And stored turns may go with their messages."""
    model = ScriptedChatModel(then="Noted.")
    settings = config.replace(**LONG, compress_deletes_turns=True)
    graph = create_memory_graph(model, store=store, config=settings, checkpointer=InMemorySaver())
    for number in range(8):
        await graph.ainvoke(say(number), run_config())
    kept = {message.id for message in (await graph.aget_state(run_config())).values["messages"]}
    assert len(kept) < 10
    items = await store.asearch(("memories",), filter={"role": "user"}, limit=100)
    for value in (item.value for item in items):
        gone = value["metadata"]["message_id"] not in kept
        assert value["status"] == ("deleted" if gone else "active")
        assert value["metadata"].get("reason") == (REASON if gone else None)


def test_tool_rounds_leave_with_their_turn(config, run_config, records) -> None:
    """What the assistant did stands in the summary."""
    store = InMemoryStore()

    @tool
    def look(place: str) -> str:
        """Look at the weather."""
        return f"Sunny in {place}"

    script: list[Any] = []
    for number in range(8):
        calls = [{"id": f"c{number}", "name": "look", "args": {"place": WORDS[number]}}]
        script += [AIMessage("", tool_calls=calls), "It is sunny."]
    agent = create_agent(ScriptedChatModel(script), [look])
    graph = create_memory_graph(agent, store=store, config=config.replace(**LONG), checkpointer=InMemorySaver())
    for number in range(8):
        graph.invoke(say(number), run_config())
    kept = graph.get_state(run_config()).values["messages"]
    assert 4 <= len(kept) <= 16
    assert kept[0].type == "human"
    calls = [call["id"] for message in kept if isinstance(message, AIMessage) for call in message.tool_calls]
    assert calls == [message.tool_call_id for message in kept if message.type == "tool"]
    (summary,) = records(store, role="summary")
    assert 'look("place": "snow") → Sunny in snow' in summary.text


@pytest.mark.parametrize("how", ["compress", "enabled", "incognito", "checkpointer"])
def test_threads_that_are_left_alone(config, run_config, how) -> None:
    """Where it is switched off, where no summary is recalled, or where somebody else keeps the thread."""
    settings = config.replace(**LONG, hard_limit_tokens=60)
    if how in ("compress", "enabled"):
        settings = settings.replace(**{how: False})
    saver = None if how == "checkpointer" else InMemorySaver()
    graph = create_memory_graph(
        ScriptedChatModel(then="Noted."), store=InMemoryStore(), config=settings, checkpointer=saver
    )
    thread: list[Any] = []
    for number in range(8):
        given = say(number)["messages"]
        fields = run_config(incognito=how == "incognito")
        thread = graph.invoke({"messages": given if saver else [*thread, *given]}, fields)["messages"]
    assert len(thread) == 16


def test_a_parents_thread_is_the_parents(config, run_config, records) -> None:
    """As a subgraph that is called anew each time, the graph has no thread to shorten, and deletes no turns for it."""
    store = InMemoryStore()
    settings = config.replace(**LONG, compress_deletes_turns=True)
    inner = create_memory_graph(ScriptedChatModel(then="Noted."), store=store, config=settings)
    builder = StateGraph(MemoryState)
    builder.add_node("inner", inner).set_entry_point("inner")
    graph = builder.compile(checkpointer=InMemorySaver())
    for number in range(8):
        graph.invoke(say(number), run_config())
    assert len(graph.get_state(run_config()).values["messages"]) == 16
    assert all(turn.status == "active" for turn in records(store, role="user"))


def test_over_the_hard_limit_room_is_made_before_the_agent_runs(config, run_config) -> None:
    """The summary that is made then is in the very call that the agent makes; nothing is made twice."""
    model = ScriptedChatModel(then="Noted.")
    settings = config.replace(hard_limit_tokens=80, recent_messages_to_keep=4, summary_refresh_turns=100)
    graph = create_memory_graph(model, store=InMemoryStore(), config=settings, checkpointer=InMemorySaver())
    for number in range(8):
        output = graph.invoke(say(number), run_config())
    kept = output["messages"]
    assert len(kept) < 12
    assert "I like Lyon very much." not in [message.text for message in kept]
    assert "- I like Lyon very much." in model.calls[-1].text
    assert background.flush(30)


def test_a_failing_summary_leaves_the_thread_and_the_answer(config, run_config) -> None:
    """The report warns; the agent answers."""
    settings = config.replace(hard_limit_tokens=40, recent_messages_to_keep=2, summary_refresh_turns=100, combine=False)
    graph = create_memory_graph(
        ScriptedChatModel(then="Noted."),
        store=InMemoryStore(),
        model=ScriptedChatModel(then=ConnectionError("down")),
        config=settings,
        checkpointer=InMemorySaver(),
    )
    outputs = [graph.invoke(say(number), run_config()) for number in range(4)]
    assert len(outputs[-1]["messages"]) == 8
    assert any("hard_limit_tokens (40)" in warning for warning in report(outputs[-1]).warnings)
    assert background.flush(30)
