"""The graphs' pictures. A change of one shows in the diff; write them anew with UPDATE_SNAPSHOTS=1."""

import os
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph
from langmem_plus.testing import ScriptedChatModel

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"


def memory(background: bool):
    """A memory graph around a chat model."""
    config = MemoryConfig(embeddings="none", background=background)
    return create_memory_graph(ScriptedChatModel(), store=InMemoryStore(), config=config)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("memory_graph", lambda: memory(background=True)),
        ("memory_graph_one_chain", lambda: memory(background=False)),
        ("recall_graph", lambda: create_recall_graph(store=InMemoryStore())),
        ("remember_graph", lambda: create_remember_graph(store=InMemoryStore())),
    ],
)
def test_the_picture_is_as_it_was(name, make):
    """Each graph has the nodes, in the order, that its snapshot shows."""
    drawn = make().get_graph().draw_mermaid()
    path = SNAPSHOTS / f"{name}.mmd"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8"), "set UPDATE_SNAPSHOTS=1 to accept the new picture"


def test_the_halves_are_the_parts_of_the_whole():
    """The recall graph's nodes stand in the memory graph in the same order, and so do the remember graph's, which
    records a turn in one node, since it has none before the agent.
    """
    whole = [name for name in memory(background=False).nodes if not name.startswith("__")]
    assert whole == [
        *("plan", "retrieve", "rerank", "mmr", "inject"),
        *("record_user", "agent", "record_assistant", "compress"),
        *("extract", "enrich", "reconcile", "summarize", "evict"),
    ]
    assert [name for name in create_recall_graph().nodes if name != "__start__"] == whole[:5]
    assert [name for name in create_remember_graph().nodes if name != "__start__"] == ["record", *whole[9:]]
    assert [name for name in memory(background=True).nodes if name != "__start__"] == [*whole[:9], "remember"]


def test_room_is_made_ahead_of_recall():
    """Where a hard limit is set, the thread is shortened before the summary is recalled."""
    config = MemoryConfig(embeddings="none", hard_limit_tokens=1000)
    nodes = create_memory_graph(ScriptedChatModel(), store=InMemoryStore(), config=config).nodes
    assert [name for name in nodes if not name.startswith("__")][:2] == ["make_room", "plan"]
