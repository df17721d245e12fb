"""Long threads of agents: the middleware lets old messages go whose summary it recalls."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.records import MemoryReport
from langmem_plus.testing import ScriptedChatModel

WORDS = ("Lyon", "tea", "chess", "jazz", "cats", "boats", "Rome", "snow")
LONG = {"background": False, "summary_refresh_turns": 2, "threshold_tokens": 60, "recent_messages_to_keep": 4}
USER = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


def say(number: int) -> dict[str, Any]:
    """One turn's input."""
    return {"messages": [HumanMessage(f"I like {WORDS[number]} very much.")]}


@tool
def look(place: str) -> str:
    """Look at the weather."""
    return f"Sunny in {place}"


def looking() -> ScriptedChatModel:
    """A model that looks, then answers."""
    script: list[Any] = []
    for number, word in enumerate(WORDS):
        calls = [{"id": f"c{number}", "name": "look", "args": {"place": word}}]
        script += [AIMessage("", tool_calls=calls), "It is sunny."]
    return ScriptedChatModel(script)


async def invoke(agent: Any, number: int, is_async: bool, **fields: Any) -> dict[str, Any]:
    """One turn."""
    config = {"configurable": {**USER["configurable"], **fields}}
    output = await agent.ainvoke(say(number), config) if is_async else agent.invoke(say(number), config)
    return dict(output)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_long_thread_is_shortened_after_the_run(config, is_async) -> None:
    """Whole turns leave, tool rounds whole, and the model reads the summary of them."""
    model, store = looking(), InMemoryStore()
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(**LONG))
    agent = create_agent(model, [look], middleware=[memory], checkpointer=InMemorySaver())
    counts = [
        MemoryReport.model_validate((await invoke(agent, number, is_async))["memory_report"]).counts
        for number in range(8)
    ]
    kept = agent.get_state(USER).values["messages"]
    assert kept[0].type == "human"
    assert 4 <= len(kept) <= 16
    assert sum(count.get("compressed_messages", 0) for count in counts) == 32 - len(kept)
    assert "# This conversation so far" in model.calls[-1].text
    assert "I like Lyon very much." in model.calls[-1].text
    assert not any("memory_context" in message.text for message in kept)
    turns = store.search(("memories",), filter={"role": "user"}, limit=100)
    assert sorted(item.value["metadata"]["turn"] for item in turns) == list(range(1, 9))


@pytest.mark.parametrize("is_async", [False, True])
async def test_room_is_made_before_the_agent_runs(config, is_async) -> None:
    """Over the hard limit, the model doesn't see what leaves, but the summary that was made of it."""
    model = ScriptedChatModel(then="Noted.")
    settings = config.replace(hard_limit_tokens=80, recent_messages_to_keep=4, summary_refresh_turns=100)
    memory = LongTermMemoryMiddleware(store=InMemoryStore(), config=settings)
    agent = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
    for number in range(8):
        await invoke(agent, number, is_async)
    seen = model.calls[-1].messages
    assert len(seen) < 12
    assert "- I like Lyon very much." in seen[-1].text
    assert not any(message.text.startswith("I like Lyon") for message in seen)
    assert len(agent.get_state(USER).values["messages"]) < 12


async def test_an_incognito_run_and_one_without_a_checkpointer_leave_the_thread(config) -> None:
    """The first recalls no summary; the thread of the second is somebody else's."""
    settings = config.replace(**LONG, hard_limit_tokens=60)
    memory = LongTermMemoryMiddleware(store=InMemoryStore(), config=settings)
    model = ScriptedChatModel(then="Noted.")
    agent = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
    for number in range(8):
        await invoke(agent, number, False, incognito=True)
    assert len(agent.get_state(USER).values["messages"]) == 16
    without, thread = create_agent(model, middleware=[memory]), []
    for number in range(8):
        thread = without.invoke({"messages": [*thread, *say(number)["messages"]]}, USER)["messages"]
    assert len(thread) == 16


@pytest.mark.parametrize("first", [True, False])
async def test_it_lives_with_summarization_middleware(config, first) -> None:
    """What that wrote into the thread stays; each call stays with its result; nothing fails."""
    memory = LongTermMemoryMiddleware(store=InMemoryStore(), config=config.replace(**LONG))
    other = SummarizationMiddleware(ScriptedChatModel(then="A summary."), trigger=("messages", 7), keep=("messages", 3))
    middleware = [memory, other] if first else [other, memory]
    agent = create_agent(looking(), [look], middleware=middleware, checkpointer=InMemorySaver())
    for number in range(8):
        output = await invoke(agent, number, False)
        assert MemoryReport.model_validate(output["memory_report"]).warnings == []
        calls = [call["id"] for each in output["messages"] if each.type == "ai" for call in each.tool_calls]
        assert calls == [each.tool_call_id for each in output["messages"] if each.type == "tool"]
        assert any(each.type == "human" for each in output["messages"])
    assert any(each.additional_kwargs.get("lc_source") for each in agent.get_state(USER).values["messages"])
