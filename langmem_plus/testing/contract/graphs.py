"""Point 45: the store inside of a compiled graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener


class State(TypedDict, total=False):
    """What the graph's one node reads and writes."""

    key: str
    found: Any


def by_parameter(state: State, *, store: BaseStore) -> State:
    """The store as the node's parameter."""
    return _use(store, state)


def by_runtime(state: State, runtime: Runtime[None]) -> State:
    """The store in the runtime."""
    return _use(runtime.store, state)


def by_get_store(state: State) -> State:
    """The store by LangGraph's function."""
    return _use(get_store(), state)


async def async_by_parameter(state: State, *, store: BaseStore) -> State:
    """As `by_parameter`."""
    return await _ause(store, state)


async def async_by_runtime(state: State, runtime: Runtime[None]) -> State:
    """As `by_runtime`."""
    return await _ause(runtime.store, state)


async def async_by_get_store(state: State) -> State:
    """As `by_get_store`."""
    return await _ause(get_store(), state)


class Graphs(ContractBase):
    """The store inside of a compiled graph."""

    @pytest.mark.parametrize("node", [by_parameter, by_runtime, by_get_store], ids=lambda node: node.__name__)
    def test_45_a_node_reaches_the_store(self, opened_plain: Opener, node: Callable[..., Any]) -> None:
        """A node writes and reads in the store that its graph was compiled with."""
        store = opened_plain()
        graph = _graph(node, store)
        assert graph.invoke({"key": "k"})["found"] == {"key": "k"}
        assert store.get(PLAIN, "k") is not None

    @pytest.mark.parametrize(
        "node", [async_by_parameter, async_by_runtime, async_by_get_store], ids=lambda node: node.__name__
    )
    def test_45_an_async_node_reaches_the_store(self, opened_plain: Opener, node: Callable[..., Any]) -> None:
        """So does an async node, in several runs at once, one event loop after another."""
        store = opened_plain()
        graph = _graph(node, store)

        async def runs(*names: str) -> list[Any]:
            return await asyncio.gather(*(graph.ainvoke({"key": name}) for name in names))

        for names in (("a", "b"), ("c", "d")):
            assert [run["found"] for run in asyncio.run(runs(*names))] == [{"key": name} for name in names]
        assert len(store.search(PLAIN)) == 4


def _graph(node: Callable[..., Any], store: BaseStore) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(store=store)


def _use(store: BaseStore | None, state: State) -> State:
    assert store is not None
    store.put(PLAIN, state["key"], {"key": state["key"]})
    item = store.get(PLAIN, state["key"])
    return {"found": item.value if item else None}


async def _ause(store: BaseStore | None, state: State) -> State:
    assert store is not None
    await store.aput(PLAIN, state["key"], {"key": state["key"]})
    item = await store.aget(PLAIN, state["key"])
    return {"found": item.value if item else None}
