"""What LangSmith and other tracers show: each stage once, under its one name, whatever door it runs behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.store.memory import InMemoryStore

from langmem_plus import (
    LongTermMemoryMiddleware,
    MemoryClient,
    MemoryConfig,
    create_memory_graph,
    create_remember_graph,
)
from langmem_plus.background import background
from langmem_plus.testing import ScriptedChatModel

RECALL = ("plan", "retrieve", "rerank", "mmr", "inject")
PLAIN = MemoryConfig(embeddings="none", background=False)
STAGES = [*create_memory_graph(ScriptedChatModel(), store=InMemoryStore(), config=PLAIN).nodes]
REMEMBER = tuple(STAGES[STAGES.index("compress") + 1 :])
SAID = {"messages": [HumanMessage("My dog is called Rex.")]}
RUN = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


class Names(BaseCallbackHandler):
    """Collects the runs of chains, each with the name of the one above it."""

    run_inline = True

    def __init__(self) -> None:
        self.runs: list[tuple[str, str | None]] = []
        self._names: dict[UUID, str] = {}

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a run."""
        self._names[run_id] = name or ""
        self.runs.append((name or "", self._names.get(parent_run_id) if parent_run_id else None))

    def below(self, name: str | None) -> list[str]:
        """The runs right below those of a name, in their order."""
        return [run for run, above in self.runs if above == name]

    @property
    def stages(self) -> list[str]:
        """The runs of memory's stages, in their order."""
        known = {*RECALL, *REMEMBER, "record_user", "record_assistant", "compress", "remember"}
        return [run for run, _ in self.runs if run in known]


_TRACER: ContextVar[Names | None] = ContextVar("test_telemetry_traces", default=None)
register_configure_hook(_TRACER, inheritable=True)


@contextmanager
def traced() -> Iterator[Names]:
    """Trace everything, as LangSmith does once its environment variables are set: no call names the tracer."""
    names = Names()
    token = _TRACER.set(names)
    try:
        yield names
    finally:
        _TRACER.reset(token)


def middleware(in_background: bool = False) -> Any:
    """An agent with memory."""
    memory = LongTermMemoryMiddleware(store=InMemoryStore(), config=PLAIN.replace(background=in_background))
    return create_agent(ScriptedChatModel(then="hi"), [], middleware=[memory])


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_the_memory_graph(how: str, in_background: bool) -> None:
    """Its nodes are the stages, and each is one run."""
    config = PLAIN.replace(background=in_background)
    graph = create_memory_graph(ScriptedChatModel(then="hi"), store=InMemoryStore(), config=config)
    with traced() as names:
        _ = graph.invoke(SAID, RUN) if how == "sync" else await graph.ainvoke(SAID, RUN)
    after = ("remember",) if in_background else REMEMBER
    assert names.stages == [*RECALL, "record_user", "record_assistant", "compress", *after]
    assert names.below("memory") == [*names.stages[:6], "agent", *names.stages[6:]]
    assert background.flush(30)


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_the_middleware(how: str, in_background: bool) -> None:
    """The stages are runs below the hooks in which they work."""
    agent = middleware(in_background)
    with traced() as names:
        _ = agent.invoke(SAID, RUN) if how == "sync" else await agent.ainvoke(SAID, RUN)
    assert names.below("LongTermMemoryMiddleware.before_agent") == [*RECALL, "record_user"]
    after = names.below("LongTermMemoryMiddleware.after_agent")
    assert sorted(after) == sorted(["record_assistant", *(("remember",) if in_background else REMEMBER), "compress"])
    assert len(names.stages) == len(set(names.stages))
    assert background.flush(30)


async def test_the_client() -> None:
    """What it runs are the same graphs; recall is one of its own where it is explained."""
    client = MemoryClient(InMemoryStore(), chat_model=ScriptedChatModel(then="hi"), config=PLAIN)
    with traced() as names:
        client.chat("My dog is called Rex.", user_id="alice", thread_id="t1")
        await client.aexplain("What is my dog called?", user_id="alice")
        client.add("I like tea.", user_id="alice")
    assert names.below("memory")[:5] == list(RECALL)
    assert names.below("recall") == list(RECALL)
    assert names.below("remember") == list(REMEMBER)


def test_recording_in_one_node() -> None:
    """Below a graph's node ``record`` are the two stages that it is made of."""
    graph = create_remember_graph(store=InMemoryStore(), config=PLAIN)
    with traced() as names:
        graph.invoke({"messages": [*SAID["messages"], ScriptedChatModel(then="hi").invoke("?")]}, RUN)
    assert {"record_user", "record_assistant"} <= set(names.below("record"))


def test_without_a_tracer_the_stages_make_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that nobody follows costs as much as a stage's work."""
    from langmem_plus.services import Step

    made: list[str] = []
    monkeypatch.setattr(Step, "_call_with_config", lambda self, *given, **named: made.append(self.name))
    middleware().invoke(SAID, RUN)
    assert made == []
