"""The tools and the store manager of LangChain's langmem work on the store of files, and we read what they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from langmem_plus.store import MarkdownStore
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel

langmem = pytest.importorskip("langmem", reason="pip install langmem")
NAMESPACE = ("memories", "{langgraph_user_id}")
ALICE = ("memories", "alice")
CONFIG: Any = {"configurable": {"langgraph_user_id": "alice"}}


@pytest.fixture
def store(tmp_path: Path) -> MarkdownStore:
    """A store with vectors."""
    embedder = BagOfWordsEmbeddings(dims=256)
    return MarkdownStore(tmp_path, index={"dims": 256, "embed": embedder})


def test_the_tools_write_search_update_and_delete(store: MarkdownStore) -> None:
    """Create, search, update, delete, each by a tool call, in the namespace of the run's user alone."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store)
    find = langmem.create_search_memory_tool(NAMESPACE, store=store)
    manage.invoke({"content": "My wife is called Anne", "action": "create"}, CONFIG)
    manage.invoke({"content": "I drink green tea", "action": "create"}, CONFIG)
    assert "Anne" in find.invoke({"query": "what is my wife called", "limit": 1}, CONFIG)
    (item,) = store.search(ALICE, query="wife Anne", limit=1)
    assert item.value == {"content": "My wife is called Anne"}
    path = store.path_of(ALICE, item.key)
    assert path is not None
    assert "My wife is called Anne" in path.read_text(encoding="utf-8")
    manage.invoke({"id": item.key, "content": "My wife is called Marie", "action": "update"}, CONFIG)
    assert "Marie" in find.invoke({"query": "wife"}, CONFIG)
    manage.invoke({"id": item.key, "action": "delete"}, CONFIG)
    assert store.get(ALICE, item.key) is None
    assert [each.namespace for each in store.search(())] == [ALICE]


async def test_the_tools_work_asynchronously(store: MarkdownStore) -> None:
    """The same through their coroutines."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store)
    find = langmem.create_search_memory_tool(NAMESPACE, store=store, response_format="content_and_artifact")
    await manage.ainvoke({"content": "I moved to Lyon", "action": "create"}, CONFIG)
    assert "Lyon" in str(await find.ainvoke({"query": "where do I live? Lyon"}, CONFIG))


class Preference(BaseModel):
    """Something that the user likes."""

    category: str
    preference: str


def test_the_store_manager_extracts_into_it(store: MarkdownStore) -> None:
    """Its model's tool calls become items of its own shape, which a search finds and a later run is shown."""
    model = ScriptedChatModel(
        script=[Preference(category="drink", preference="green tea"), ""],
        then="",
    )
    manager = langmem.create_memory_store_manager(
        model, schemas=[Preference], namespace=NAMESPACE, store=store, query_limit=3
    )
    manager.invoke({"messages": [{"role": "user", "content": "I like green tea"}]}, CONFIG)
    (item,) = store.search(ALICE, query="green tea")
    assert item.value == {"kind": "Preference", "content": {"category": "drink", "preference": "green tea"}}


def test_without_a_store_of_their_own_they_take_the_graphs(store: MarkdownStore) -> None:
    """In a graph that is compiled with the store."""
    tools = [langmem.create_manage_memory_tool(NAMESPACE), langmem.create_search_memory_tool(NAMESPACE)]
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(tools)).add_edge(START, "tools").compile(store=store)
    call = {"name": "manage_memory", "args": {"content": "I like chess", "action": "create"}, "id": "1"}
    graph.invoke({"messages": [AIMessage("", tool_calls=[call])]}, CONFIG)
    search = {"name": "search_memory", "args": {"query": "chess"}, "id": "2"}
    answer = graph.invoke({"messages": [AIMessage("", tool_calls=[search])]}, CONFIG)
    assert "I like chess" in answer["messages"][-1].text
