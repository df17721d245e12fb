"""What a model call would be told about a question and why, as a call of the client; with an async twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from langmem_plus import display
from langmem_plus.client.apart import aapart, apart
from langmem_plus.client.said import Said, read_message
from langmem_plus.graph.halves import Graph, build_recall_graph
from langmem_plus.records import MemoryHit, MemoryReport, Scope
from langmem_plus.services import Services


@dataclass(frozen=True)
class Explanation:
    """One recall, taken apart.

    Args:
        context: the fenced text that a model call would get; empty where nothing is recalled.
        hits: the memories that were chosen for it, best first.
        report: the plan, counts, tokens a section, milliseconds a stage, and why each memory was chosen or dropped.
    """

    context: str = ""
    hits: list[MemoryHit] = field(default_factory=list)
    report: MemoryReport = field(default_factory=MemoryReport)

    def _repr_html_(self) -> str:
        hits = [hit.model_dump(mode="json") for hit in self.hits]
        return display.explanation_html(self.context, hits, self.report.model_dump(mode="json"))


class ExplainCalls:
    """The part of `MemoryClient` that shows what an agent would be told."""

    store: BaseStore
    _services: Services
    _recall: Graph | None = None

    def explain(
        self, query: Said, *, user_id: str, space: str = "default", thread_id: str | None = None
    ) -> Explanation:
        """What an agent would be told before it answers, and why: the whole of recall for one message.

        Args:
            query: the user's message, as `chat` takes it: a text, a message, whose ``name`` says who asks, or parts.
            user_id: whose memory.
            space: which part of it.
            thread_id: the conversation in which it is said; its summary is part of what is told.

        Raises:
            InvalidValueError: the message isn't one of the user's, or says nothing.
        """
        config = run_config(Scope(user_id, space, thread_id=thread_id))
        said = _said(query)
        return _explanation(apart(lambda: self._recall_graph().invoke({"messages": [said]}, config)))

    async def aexplain(
        self, query: Said, *, user_id: str, space: str = "default", thread_id: str | None = None
    ) -> Explanation:
        """What an agent would be told, as `explain`."""
        config = run_config(Scope(user_id, space, thread_id=thread_id))
        said = _said(query)
        return _explanation(await aapart(self._recall_graph().ainvoke({"messages": [said]}, config)))

    def _recall_graph(self) -> Graph:
        if self._recall is None:
            self._recall = build_recall_graph(self._services)
        return self._recall


def _said(query: Said) -> HumanMessage:
    return HumanMessage(query) if isinstance(query, str) else read_message(query)


def run_config(scope: Scope) -> RunnableConfig:
    """A graph's configuration for a scope that a call of the client names."""
    fields = {"user_id": scope.user_id, "space": scope.space, "thread_id": scope.thread_id}
    return {"configurable": {name: value for name, value in fields.items() if value is not None}}


def _explanation(output: Mapping[str, Any]) -> Explanation:
    report = MemoryReport.model_validate(output.get("memory_report") or {})
    return Explanation(output.get("memory_context") or "", output.get("memory_hits") or [], report)
