"""The tools and the store manager of LangChain's langmem work on the store of files, and we read what they write."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel

langmem = pytest.importorskip("langmem", reason="pip install langmem")
NAMESPACE = ("memories", "{langgraph_user_id}")
ALICE = ("memories", "alice")
CONFIG: Any = {"configurable": {"langgraph_user_id": "alice"}}
BOB: Any = {"configurable": {"langgraph_user_id": "bob"}}


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


def texts(answer: str) -> list[str]:
    """The contents in the search tool's answer, in its order."""
    return [item["value"]["content"] for item in json.loads(answer)]


def created(answer: str) -> str:
    """The id in the manage tool's answer."""
    found = re.fullmatch(r"created memory (\S+)", answer)
    assert found
    return found[1]


def test_two_users_never_meet(store: MarkdownStore) -> None:
    """One tool serves all of an agent's users; nobody finds, changes or deletes what is another's."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store)
    find = langmem.create_search_memory_tool(NAMESPACE, store=store)
    id = created(manage.invoke({"content": "I like green tea", "action": "create"}, CONFIG))
    manage.invoke({"content": "I like black tea", "action": "create"}, BOB)
    assert texts(find.invoke({"query": "tea"}, CONFIG)) == ["I like green tea"]
    assert texts(find.invoke({"query": "tea"}, BOB)) == ["I like black tea"]
    manage.invoke({"id": id, "action": "delete"}, BOB)
    assert texts(find.invoke({"query": "tea"}, CONFIG)) == ["I like green tea"]
    assert sorted(store.list_namespaces()) == [ALICE, ("memories", "bob")]


def test_templates_with_several_fields(store: MarkdownStore) -> None:
    """Each is filled from the run; a search above them finds what is below."""
    namespace = ("team", "{org}", "{langgraph_user_id}", "notes")
    config: Any = {"configurable": {"org": "acme", "langgraph_user_id": "alice"}}
    manage = langmem.create_manage_memory_tool(namespace, store=store)
    manage.invoke({"content": "We write Go", "action": "create"}, config)
    assert store.list_namespaces() == [("team", "acme", "alice", "notes")]
    above = langmem.create_search_memory_tool(("team", "{org}"), store=store)
    assert texts(above.invoke({"query": "which language? Go"}, config)) == ["We write Go"]


class Profile(BaseModel):
    """Who the user is."""

    name: str
    city: str


def test_filters_pages_and_schemas_of_ones_own(store: MarkdownStore) -> None:
    """A model's fields are stored as JSON; filters look into them, and pages follow one another."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store, schema=Profile)
    find = langmem.create_search_memory_tool(NAMESPACE, store=store, response_format="content_and_artifact")
    people = [{"name": name, "city": city} for name, city in (("Ann", "Lyon"), ("Bo", "Lyon"), ("Cy", "Nice"))]
    for person in people:
        manage.invoke({"content": person, "action": "create"}, CONFIG)
    call = {"name": "search_memory", "type": "tool_call", "id": "1"}
    only = {"query": "Ann", "filter": {"content": {"name": "Ann", "city": "Lyon"}}}
    (item,) = find.invoke({**call, "args": only}, CONFIG).artifact
    assert item.value == {"content": people[0]}
    pages = [{"query": "who is in Lyon", "limit": 2, "offset": offset} for offset in (0, 2)]
    found = [item.key for page in pages for item in find.invoke({**call, "args": page}, CONFIG).artifact]
    assert len(found) == len(set(found)) == 3


async def test_updates_and_deletes_asynchronously(store: MarkdownStore) -> None:
    """An update keeps the key and the time of creation, and is found by its new words; a delete is for good."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store)
    find = langmem.create_search_memory_tool(NAMESPACE, store=store)
    id = created(await manage.ainvoke({"content": "I live in Lyon", "action": "create"}, CONFIG))
    before = await store.aget(ALICE, id)
    await manage.ainvoke({"id": id, "content": "I live in Grenoble", "action": "update"}, CONFIG)
    after = await store.aget(ALICE, id)
    assert before is not None
    assert after is not None
    assert (after.created_at, after.value) == (before.created_at, {"content": "I live in Grenoble"})
    assert after.updated_at > before.updated_at
    assert texts(await find.ainvoke({"query": "Grenoble"}, CONFIG)) == ["I live in Grenoble"]
    await manage.ainvoke({"id": id, "action": "delete"}, CONFIG)
    assert texts(await find.ainvoke({"query": "Grenoble"}, CONFIG)) == []


async def test_the_store_managers_own_calls(store: MarkdownStore) -> None:
    """get, put, search with a filter and delete, for each user; sync and async over the same files."""
    model = ScriptedChatModel(then="")
    manager = langmem.create_memory_store_manager(model, schemas=[Preference], namespace=NAMESPACE, store=store)
    for key, drink in (("a", "green tea"), ("b", "coffee")):
        value = {"kind": "Preference", "content": {"category": "drink", "preference": drink}}
        manager.put(key, value, config=CONFIG)
    await manager.aput("a", {"kind": "Preference", "content": {"category": "food", "preference": "rice"}}, config=BOB)
    found = manager.search(query="green tea", limit=1, config=CONFIG)
    assert [(item.key, item.value.preference) for item in found] == [("a", "green tea")]
    coffee = {"content": {"category": "drink", "preference": "coffee"}}
    assert [item.key for item in await manager.asearch(filter=coffee, config=CONFIG)] == ["b"]
    manager.delete("a", config=CONFIG)
    assert manager.get("a", config=CONFIG) is None
    other = await manager.aget("a", config=BOB)
    assert other is not None
    assert other.value.preference == "rice"


def test_what_they_wrote_moves_over(store: MarkdownStore) -> None:
    """Both shapes, of each user, by one call; the tools go on beside it, and what they change is brought over next."""
    manage = langmem.create_manage_memory_tool(NAMESPACE, store=store)
    id = created(manage.invoke({"content": "My wife is called Anne", "action": "create"}, CONFIG))
    manager = langmem.create_memory_store_manager(
        ScriptedChatModel(script=[Preference(category="drink", preference="green tea"), ""], then=""),
        schemas=[Preference],
        namespace=NAMESPACE,
        store=store,
    )
    manager.invoke({"messages": [{"role": "user", "content": "I like green tea"}]}, BOB)
    with MemoryClient(store, config=MemoryConfig(embeddings="none")) as client:
        assert client.import_store(store, namespace=NAMESPACE).users == {"alice": 1, "bob": 1}
        (hit,) = client.search("what is my wife called?", user_id="alice")
        assert (hit.text, hit.record.source_ids) == ("My wife is called Anne", [id])
        (record,) = client.list(user_id="bob")
        assert (record.metadata["kind"], record.metadata["preference"]) == ("Preference", "green tea")
        manage.invoke({"id": id, "content": "My wife is called Marie", "action": "update"}, CONFIG)
        report = client.import_store(store, namespace=NAMESPACE)
        assert (report.updated, report.known, report.stored) == (1, 1, 0)
        assert [record.text for record in client.list(user_id="alice")] == ["My wife is called Marie"]
