"""langmem's data through our tools, ours through langmem's, over both kinds of stores; templates as it has them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.func import entrypoint
from pydantic import BaseModel

from langmem_plus.errors import ConfigError
from langmem_plus.records import MemoryRecord
from langmem_plus.tools import (
    create_forget_memory_tool,
    create_list_memories_tool,
    create_manage_memory_tool,
    create_pin_memory_tool,
    create_search_memory_tool,
)

TEMPLATE = ("memories", "{langgraph_user_id}")
RUN: dict[str, Any] = {"configurable": {"langgraph_user_id": "alice"}}
PLACE = ("memories", "alice")
ANNE = "My wife is called Anne"


class Pet(BaseModel):
    name: str
    kind: str


@pytest.fixture
def theirs(store) -> str:
    """A memory that langmem's tool created; its id."""
    from langmem import create_manage_memory_tool as langmem_manage

    tool = langmem_manage(TEMPLATE, store=store)
    return _in_a_graph(store, lambda: tool.invoke({"content": ANNE})).split()[-1]


def _in_a_graph(store: Any, work: Any) -> Any:
    """langmem's tools find whose memory it is in a running graph alone."""

    @entrypoint(store=store)
    def graph(_: str) -> Any:
        return work()

    return graph.invoke("go", RUN)


@pytest.fixture
def ours(store, config) -> dict[str, Any]:
    """Our tools over langmem's template."""
    given = {"store": store, "config": config}
    return {
        "manage": create_manage_memory_tool(TEMPLATE, **given),
        "search": create_search_memory_tool(TEMPLATE, **given),
        "pin": create_pin_memory_tool(TEMPLATE, **given),
        "forget": create_forget_memory_tool(TEMPLATE, **given),
        "list": create_list_memories_tool(TEMPLATE, **given),
    }


class TestTheirData:
    def test_is_found_and_listed(self, ours, theirs, use, said, keys) -> None:
        """A search reads langmem's values as memories; so does a listing."""
        found = use(ours["search"], "What is my wife called?", RUN)
        assert (keys(found), said(found)) == ([theirs], [ANNE])
        assert keys(use(ours["list"], {}, RUN)) == [theirs]

    def test_is_updated(self, ours, theirs, ask, use, said, store) -> None:
        """The old value becomes a tombstone that names the new memory, once a call."""
        change = {"action": "update", "id": theirs, "content": "My wife is called Annette"}
        answers = {ask(ours["manage"], "c1", RUN, **change).content for _ in range(2)}
        assert len(answers) == 1
        assert said(use(ours["search"], "What is my wife called?", RUN)) == ["My wife is called Annette"]
        old = MemoryRecord.model_validate(store.get(PLACE, theirs).value)
        assert (old.text, old.status) == (ANNE, "superseded")

    @pytest.mark.parametrize("tool", ["manage", "forget"])
    def test_is_deleted(self, ours, theirs, ask, use, tool) -> None:
        """Softly, as ours."""
        given = {"id": theirs, **({"action": "delete"} if tool == "manage" else {})}
        assert ask(ours[tool], "c1", RUN, **given).content == f"deleted memory {theirs}"
        assert use(ours["search"], "What is my wife called?", RUN) == "Nothing relevant is remembered."

    def test_is_pinned_with_all_that_it_holds(self, ours, use, store) -> None:
        """Fields that aren't ours move into the metadata."""
        value = {"kind": "Pet", "content": {"name": "Waldo", "kind": "dog"}, "shelf": 7}
        store.put(PLACE, "pet", value)
        assert use(ours["pin"], {"id": "pet"}, RUN) == "pinned memory pet"
        record = MemoryRecord.model_validate(store.get(PLACE, "pet").value)
        assert record.pinned
        assert "Waldo" in record.text
        assert {name: record.metadata[name] for name in value} == value

    def test_what_holds_no_memory_is_unknown(self, ours, ask, store) -> None:
        """A value without any text isn't a memory, and stays."""
        store.put(PLACE, "count", {"number": 7})
        for place, action in enumerate(("update", "delete")):
            answer = ask(ours["manage"], f"c{place}", RUN, action=action, id="count", content="x")
            assert answer.content.startswith("there is no memory")
        assert store.get(PLACE, "count").value == {"number": 7}


class TestOurData:
    def test_langmems_search_reads_it(self, ours, use, store) -> None:
        """The text and the fields stand in what langmem's tool shows."""
        from langmem import create_search_memory_tool as langmem_search

        tool = create_manage_memory_tool(TEMPLATE, schema=Pet, store=store)
        use(tool, {"content": {"name": "Waldo", "kind": "dog"}}, RUN)
        found = json.loads(_in_a_graph(store, lambda: langmem_search(TEMPLATE, store=store).invoke("Waldo")))
        assert found[0]["value"]["text"] == "name: Waldo; kind: dog"
        assert found[0]["value"]["metadata"]["content"] == {"name": "Waldo", "kind": "dog"}


class TestTemplates:
    def test_langmems_name_for_the_user(self, ours, use, store, said) -> None:
        """``{langgraph_user_id}`` is filled by ``user_id`` as well: the same person, in the same place."""
        use(ours["manage"], {"content": ANNE}, {"configurable": {"user_id": "alice"}})
        assert said(use(ours["list"], {}, RUN)) == [ANNE]
        (item,) = store.search(("memories",))
        assert (item.namespace, item.value["user_id"]) == (PLACE, "alice")

    def test_a_field_of_ones_own(self, store, config, use) -> None:
        """A namespace of a team needs no user; the record belongs to the team."""
        tool = create_manage_memory_tool(("notes", "{team}"), store=store, config=config)
        use(tool, {"content": ANNE}, {"configurable": {"team": "a.b"}})
        (item,) = store.search(("notes",))
        assert (item.namespace, item.value["user_id"]) == (("notes", "a%2eb"), "a.b")

    def test_a_text_is_one_label(self, store, config, use) -> None:
        """As with langmem, ``"{langgraph_user_id}"``; without a field it would be one room for all, and is refused."""
        tool = create_manage_memory_tool("{langgraph_user_id}", store=store, config=config)
        use(tool, {"content": ANNE}, {"configurable": {"langgraph_user_id": "al.ice"}})
        (item,) = store.search(())
        assert (item.namespace, item.value["user_id"]) == (("al%2eice",), "al.ice")
        with pytest.raises(ConfigError, match=r"namespace is 'notes'.*\{user_id\}"):
            create_manage_memory_tool("notes", store=store, config=config)
