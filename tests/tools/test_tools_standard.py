"""LangChain's own tests of tools, for each of ours; and the schemas that a model is given."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

import langmem_plus.tools as doors
from langmem_plus import tools
from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.records import MemoryRecord
from langmem_plus.tools import (
    create_forget_memory_tool,
    create_list_memories_tool,
    create_manage_memory_tool,
    create_pin_memory_tool,
    create_search_memory_tool,
)

ALICE = ("memories", "alice")
CREATORS = sorted(doors.__all__)
GOLDEN = Path(__file__).parent.parent / "snapshots" / "tools.md"


def _open() -> dict[str, Any]:
    """The arguments for a tool over a store that knows one thing."""
    store = InMemoryStore()
    record = MemoryRecord(id="known", text="My wife is called Anne", user_id="alice")
    store.put(ALICE, record.id, record.to_value())
    return {"namespace": ALICE, "store": store, "config": MemoryConfig(embeddings="none")}


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., BaseTool]]:
    """Calls a function that makes a tool, with documents where it needs some."""
    folder = tmp_path_factory.mktemp("documents")
    with DocumentIndex(folder, path=folder / ".index", config=MemoryConfig(embeddings="none")) as documents:

        def call(creator: str, *args: Any, **given: Any) -> BaseTool:
            function = getattr(tools, creator)
            needed = {"documents": documents} if "documents" in inspect.signature(function).parameters else {}
            tool: BaseTool = function(*args, **needed, **given)
            return tool

        yield call


class Search:
    @property
    def tool_constructor(self) -> BaseTool:
        """The tool that searches, with its artifact."""
        return create_search_memory_tool(**_open(), response_format="content_and_artifact")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """A whole call."""
        return {"query": "What is my wife called?", "limit": 5, "offset": 0, "filter": {"role": "memory"}}


class Manage:
    @property
    def tool_constructor(self) -> BaseTool:
        """The tool that writes."""
        return create_manage_memory_tool(**_open())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """An update."""
        return {"action": "update", "id": "known", "content": "My wife is called Annette"}


class Pin:
    @property
    def tool_constructor(self) -> BaseTool:
        """The tool that pins."""
        return create_pin_memory_tool(**_open())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """A memory to pin."""
        return {"id": "known"}


class Forget:
    @property
    def tool_constructor(self) -> BaseTool:
        """The tool that forgets."""
        return create_forget_memory_tool(**_open())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """A memory to forget."""
        return {"id": "known"}


class List:
    @property
    def tool_constructor(self) -> BaseTool:
        """The tool that lists."""
        return create_list_memories_tool(**_open())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """A page."""
        return {"role": "memory", "limit": 5, "offset": 0}


class TestSearchUnit(Search, ToolsUnitTests): ...


class TestManageUnit(Manage, ToolsUnitTests): ...


class TestPinUnit(Pin, ToolsUnitTests): ...


class TestForgetUnit(Forget, ToolsUnitTests): ...


class TestListUnit(List, ToolsUnitTests): ...


class TestSearchIntegration(Search, ToolsIntegrationTests): ...


class TestManageIntegration(Manage, ToolsIntegrationTests): ...


class TestPinIntegration(Pin, ToolsIntegrationTests): ...


class TestForgetIntegration(Forget, ToolsIntegrationTests): ...


class TestListIntegration(List, ToolsIntegrationTests): ...


class TestSchema:
    def test_what_a_model_reads(self, make) -> None:
        """All of it is a golden file; ``UPDATE_SNAPSHOTS=1`` writes it anew."""
        found = []
        for creator in CREATORS:
            function = convert_to_openai_tool(make(creator))["function"]
            arguments = json.dumps(function["parameters"], indent=2, ensure_ascii=False)
            found.append(f"# {function['name']}\n\n{function['description']}\n\n```json\n{arguments}\n```\n")
        text = "\n".join(found)
        if os.environ.get("UPDATE_SNAPSHOTS"):
            GOLDEN.write_text(text, encoding="utf-8")
        assert text == GOLDEN.read_text(encoding="utf-8")

    @pytest.mark.parametrize("creator", CREATORS)
    def test_a_model_sees_what_it_is_to_fill_in_and_nothing_else(self, creator: str, make) -> None:
        """Each argument has a type and a description; what is injected is hidden; ``required`` is always there."""
        function = convert_to_openai_tool(make(creator))["function"]
        assert function["name"] == creator.removeprefix("create_").removesuffix("_tool")
        parameters = function["parameters"]
        assert isinstance(parameters["required"], list)
        assert not {"call_id", "config", "runtime", "store"} & parameters["properties"].keys()
        for argument in parameters["properties"].values():
            assert argument["description"]
            assert "type" in argument or "anyOf" in argument

    @pytest.mark.parametrize("creator", CREATORS)
    def test_the_description_says_when_to_call_it(self, creator: str, make) -> None:
        """By default, and in the words of who builds the agent."""
        assert "call" in make(creator).description.lower()
        assert "When it {rains}." in make(creator, instructions="When it {rains}.").description

    @pytest.mark.parametrize("creator", CREATORS)
    def test_a_name_of_its_own(self, creator: str, make) -> None:
        """Two tools over two memories can stand in one agent."""
        tool = make(creator, ("memories", "{team}"), name="team_memory")
        assert convert_to_openai_tool(tool)["function"]["name"] == "team_memory"

    def test_langmems_arguments(self) -> None:
        """The arguments of langmem's tools, with their defaults."""
        from langmem import create_manage_memory_tool as manage
        from langmem import create_search_memory_tool as search

        pairs = ((search, create_search_memory_tool), (manage, create_manage_memory_tool))
        for theirs, ours in pairs:
            given, expected = (convert_to_openai_tool(make(ALICE))["function"] for make in (ours, theirs))
            assert given["name"] == expected["name"]
            assert given["parameters"]["properties"].keys() == expected["parameters"]["properties"].keys()
            assert given["parameters"].get("required", []) == expected["parameters"].get("required", [])
            for name, argument in expected["parameters"]["properties"].items():
                assert given["parameters"]["properties"][name].get("default") == argument.get("default")

    @pytest.mark.parametrize("actions", [("create",), ("update", "delete"), ["create", "update"]])
    def test_the_permitted_actions(self, actions: Any) -> None:
        """A model sees the actions that it may take; the description names no other."""
        tool = create_manage_memory_tool(actions_permitted=actions)
        action = tool.args["action"]
        assert action["enum"] == list(actions)
        assert action["default"] == actions[0]
        assert ("delete" in tool.description.split("\n")[0].lower()) == ("delete" in actions)

    def test_a_schema_of_ones_own(self) -> None:
        """The content's type stands in the schema."""

        class Profile(BaseModel):
            name: str
            age: int | None = None

        for schema in (Profile, list[Profile]):
            parameters = convert_to_openai_tool(create_manage_memory_tool(schema=schema))["function"]["parameters"]
            assert "age" in str(parameters["properties"]["content"])
