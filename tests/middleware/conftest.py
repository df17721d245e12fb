"""Agents with memory, and ways to look into their stores, their checkpoints and their models' calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.testing import ScriptedChatModel

PATIENCE = 30.0
MARKER = "zebra crossing 4711"
QUESTION = "Where is the zebra crossing?"


@pytest.fixture(autouse=True)
def _nothing_left_to_do() -> Iterator[None]:
    """What a test leaves to the background is done before the next one begins."""
    yield
    assert background.flush(PATIENCE)


@pytest.fixture
def config() -> MemoryConfig:
    """Settings without models, and with failures that are tried again at once."""
    return MemoryConfig(embeddings="none", retry_seconds=0.0, retries=1)


@pytest.fixture
def store() -> BaseStore:
    """A store that knows one fact, found nowhere but in memory."""
    filled = InMemoryStore()
    known = MemoryRecord(id="known", text=f"The user waits at the {MARKER}", user_id="alice")
    filled.put(Scope("alice").namespace, known.id, known.to_value())
    return filled


@pytest.fixture(params=["in memory", "sqlite"])
def saver(request, tmp_path) -> Iterator[BaseCheckpointSaver]:
    """A checkpointer in memory, and one on disk."""
    if request.param == "in memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as opened:
        yield opened


@pytest.fixture
def stored() -> Callable[[BaseCheckpointSaver], str]:
    """All that a checkpointer holds, as text: every checkpoint with its writes, read and as bytes."""

    def read(saver: BaseCheckpointSaver) -> str:
        points = [repr(point) for point in saver.list(None)]
        assert points
        if isinstance(saver, SqliteSaver):
            rows = [*saver.conn.execute("SELECT * FROM checkpoints"), *saver.conn.execute("SELECT * FROM writes")]
            return "\n".join([*points, *map(repr, rows)])
        return "\n".join([*points, repr(saver.blobs), repr(saver.writes), repr(saver.storage)])

    return read


@pytest.fixture
def records() -> Callable[..., list[MemoryRecord]]:
    """The records in a store but the known one, once the background is done; of one role, where it is named."""

    def read(store: BaseStore, role: str | None = None) -> list[MemoryRecord]:
        assert background.flush(PATIENCE)
        found = [MemoryRecord.model_validate(item.value) for item in store.search(("memories",), limit=10_000)]
        return [record for record in found if record.id != "known" and role in (None, record.role)]

    return read


@pytest.fixture
def turns(records) -> Callable[[BaseStore], list[tuple[str, str]]]:
    """Who said what, in the order of the turns."""

    def read(store: BaseStore) -> list[tuple[str, str]]:
        found = [record for record in records(store) if record.role in ("user", "assistant")]
        found.sort(key=lambda record: (record.thread_id or "", record.metadata["turn"], record.metadata["position"]))
        return [(record.role, record.text) for record in found]

    return read


@pytest.fixture
def run_config() -> Callable[..., dict]:
    """A run's configuration: whose memory, and which thread."""

    def make(thread_id: str = "t1", user_id: str = "alice", **fields: Any) -> dict:
        return {"configurable": {"thread_id": thread_id, "user_id": user_id, **fields}}

    return make


@pytest.fixture
def make_agent(store, config) -> Callable[..., Any]:
    """Makes an agent with memory over the store: from the model's answers, tools, and further middleware."""

    def make(answers: Any, tools=(), *, ahead=(), behind=(), memory=None, **fields: Any) -> Any:
        model = answers if isinstance(answers, ScriptedChatModel) else ScriptedChatModel(answers)
        own = memory or LongTermMemoryMiddleware(store=store, config=config)
        return create_agent(model, list(tools), middleware=[*ahead, own, *behind], **fields)

    return make


@pytest.fixture
def say() -> Callable[[str], dict]:
    """A run's input."""

    def make(text: str, **fields: Any) -> dict:
        return {"messages": [HumanMessage(text, **fields)]}

    return make


@pytest.fixture
def calling() -> Callable[..., AIMessage]:
    """A model's answer that calls the tool ``look`` once for each id."""

    def make(*ids: str, text: str = "") -> AIMessage:
        return AIMessage(text, tool_calls=[{"name": "look", "args": {"what": each}, "id": each} for each in ids])

    return make


def look(what: str) -> str:
    """Look at something."""
    return f"seen {what}"


@pytest.fixture
def tool() -> Callable[[str], str]:
    """The agent's own tool."""
    return look
