"""Stores for the tools, ways to call them as a model and as a program do, sync and async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.tools import create_manage_memory_tool, create_search_memory_tool


@pytest.fixture
def config() -> MemoryConfig:
    """Settings without models."""
    return MemoryConfig(embeddings="none")


WAYS = [("memory", "sync"), ("markdown", "async")]  # each store, and each way: what is called is the same


@pytest.fixture(params=WAYS, ids="-".join)
def way(request) -> tuple[str, str]:
    """The kind of store, and how tools are called."""
    found: tuple[str, str] = request.param
    return found


@pytest.fixture
def store(way, tmp_path, config) -> Iterator[BaseStore]:
    """A fresh store of each kind."""
    if way[0] == "memory":
        yield InMemoryStore()
        return
    with MarkdownStore(tmp_path / "memories", config=config) as opened:
        yield opened


@pytest.fixture
def alice() -> dict[str, Any]:
    """The configuration of a run of Alice's."""
    return {"configurable": {"user_id": "alice", "thread_id": "t1"}}


@pytest.fixture
def use(way) -> Callable[..., Any]:
    """Runs a tool, in either way."""

    def run(tool: BaseTool, given: Any, config: Any = None) -> Any:
        if way[1] == "async":
            return asyncio.run(tool.ainvoke(given, config))
        return tool.invoke(given, config)

    return run


@pytest.fixture
def ask(use) -> Callable[..., ToolMessage]:
    """Calls a tool as a model does: the message, with its status."""

    def run(tool: BaseTool, id: str, config: Any = None, /, **args: Any) -> ToolMessage:
        message = use(tool, {"type": "tool_call", "name": tool.name, "id": id, "args": args}, config)
        assert isinstance(message, ToolMessage)
        assert message.tool_call_id == id
        return message

    return run


@pytest.fixture
def manage(store, config) -> BaseTool:
    """The tool that writes."""
    return create_manage_memory_tool(store=store, config=config)


@pytest.fixture
def search(store, config) -> BaseTool:
    """The tool that searches."""
    return create_search_memory_tool(store=store, config=config)


@pytest.fixture
def remember(store) -> Callable[..., MemoryRecord]:
    """Puts a record into the store."""

    def put(id: str, text: str, user_id: str = "alice", **fields: Any) -> MemoryRecord:
        record = MemoryRecord(id=id, text=text, user_id=user_id, **fields)
        store.put(Scope(user_id, record.space).namespace, id, record.to_value())
        return record

    return put


@pytest.fixture
def records(store) -> Callable[..., dict[str, MemoryRecord]]:
    """The records in the store of a status, by id."""

    def read(status: str = "active", user_id: str = "alice") -> dict[str, MemoryRecord]:
        items = store.search(("memories", user_id), limit=10_000)
        found = [MemoryRecord.model_validate(item.value) for item in items]
        return {record.id: record for record in found if record.status == status}

    return read


def entries(answer: Any) -> list[dict[str, Any]]:
    """The results that an answer lists."""
    found: list[dict[str, Any]] = json.loads(answer.content if isinstance(answer, ToolMessage) else answer)
    return found


@pytest.fixture
def keys() -> Callable[[Any], list[str]]:
    """The ids that an answer lists, in its order."""
    return lambda answer: [entry["key"] for entry in entries(answer)]


@pytest.fixture
def said() -> Callable[[Any], list[Any]]:
    """What an answer's results say, in its order."""
    return lambda answer: [entry["value"]["content"] for entry in entries(answer)]
