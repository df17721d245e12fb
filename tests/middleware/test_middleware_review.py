"""An agent with memory asks about conflicts before they are written, and is resumed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langmem_plus import LongTermMemoryMiddleware, MemoryConfig
from langmem_plus.errors import ForeignIdentityError
from langmem_plus.testing import ScriptedChatModel

CONFIG = MemoryConfig(embeddings="none", background=False, review="conflicts")
RUN = {"configurable": {"thread_id": "t", "user_id": "alice"}}


def make(store: InMemoryStore, saver: Any) -> Any:
    """An agent that says little."""
    memory = LongTermMemoryMiddleware(store=store, config=CONFIG)
    return create_agent(ScriptedChatModel(then="I see."), [], middleware=[memory], checkpointer=saver)


def facts(store: InMemoryStore) -> dict[str, str]:
    """The stored facts, with their status."""
    items = store.search(("memories",), filter={"role": "memory"}, limit=1000)
    return {item.value["text"]: item.value["status"] for item in items}


def said(text: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


async def test_an_agent_stops_after_its_reply_and_goes_on_with_the_answer() -> None:
    """Another agent object goes on, as in another process; the reply is stored once."""
    store, saver = InMemoryStore(), InMemorySaver()
    agent = make(store, saver)
    agent.invoke(said("I live in Paris."), RUN)
    stopped = agent.invoke(said("I live in Lyon now."), RUN)
    assert [each["text"] for each in stopped["__interrupt__"][0].value["waiting"]] == ["I live in Lyon now."]
    assert facts(store) == {"I live in Paris.": "active"}
    again = await make(store, saver).ainvoke(Command(resume="perhaps"), RUN)
    assert "error" in again["__interrupt__"][0].value
    done = await make(store, saver).ainvoke(Command(resume=True), RUN)
    assert facts(store) == {"I live in Paris.": "superseded", "I live in Lyon now.": "active"}
    assert [message.text for message in done["messages"]][-2:] == ["I live in Lyon now.", "I see."]
    assert len(store.search(("memories",), filter={"role": "assistant"})) == 2


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_nobody_else_answers_for_the_user(how: str) -> None:
    """Nothing of the turn comes into the memory of whoever tries, and the user is still asked."""
    store, saver = InMemoryStore(), InMemorySaver()
    agent = make(store, saver)
    for text in ("Vivo en París.", "Vivo en Lyon ahora."):
        agent.invoke(said(text), RUN)
    for answer in (Command(resume=True), None):
        with pytest.raises(ForeignIdentityError, match="resume the thread as 'alice'"):
            run = {"configurable": {"thread_id": "t", "user_id": "bob"}}
            await agent.ainvoke(answer, run) if how == "async" else agent.invoke(answer, run)
    assert store.search(("memories", "bob")) == []
    again = agent.invoke(Command(resume="perhaps"), RUN)
    assert "error" in again["__interrupt__"][0].value
    await agent.ainvoke(Command(resume=False), RUN) if how == "async" else agent.invoke(Command(resume=False), RUN)
    assert facts(store) == {"Vivo en París.": "active", "Vivo en Lyon ahora.": "deleted"}
    assert len(store.search(("memories",), filter={"role": "assistant"})) == 2


def test_without_a_checkpointer_it_waits_in_the_store() -> None:
    """The client answers it."""
    store = InMemoryStore()
    agent = make(store, None)
    for text in ("I live in Paris.", "I live in Lyon now."):
        assert "__interrupt__" not in agent.invoke(said(text), RUN)
    assert facts(store) == {"I live in Paris.": "active", "I live in Lyon now.": "pending"}
