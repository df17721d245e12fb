"""What the graph around a memory graph does with recalled text, and one warning where that can't be meant.

LangGraph drops what a subgraph gives for a channel that its parent doesn't declare, without a word, and checkpoints
every channel that isn't untracked. Both are seen when a memory graph runs as a node of another graph.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.channels import UntrackedValue
from langgraph.graph.state import CompiledStateGraph

from langmem_plus.graph.attempts import told
from langmem_plus.identity import naming

CONTEXT_CHANNEL = "memory_context"
REPORT_CHANNEL = "memory_report"
READ = "__pregel_read"  # where a task finds its graph's channels; LangGraph's ToolNode takes them from there, too
REMEDY = "Declare its channels: `class State(MemoryState)`, or `memory_context: Annotated[str, UntrackedValue]`."
DROPPED = (
    f"memory: the parent of the graph %r has no channel {CONTEXT_CHANNEL}, so what is recalled is dropped. {REMEDY} "
    "(If a function calls the graph and reads its answer, it needs no config: LangGraph hands it on.)"
)
KEPT = f"memory: the parent of the graph %r checkpoints {CONTEXT_CHANNEL}, and so every recalled text. {REMEDY}"
KEPT_REPORT = (
    f"memory: the parent of the graph %r checkpoints {REPORT_CHANNEL}, and so the recalled texts that it tells of. "
    f"Declare it as MemoryState does: `{REPORT_CHANNEL}: Annotated[dict[str, Any], UntrackedValue]`, or leave it out."
)

logger = logging.getLogger(__name__)
_told: set[tuple[str, str, frozenset[str]]] = set()  # one warning a parent, not one a run


class ForeignGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that looks at the graph whose node it is, or whose node's function calls it, before it runs as
    any graph does: what becomes of what it gives there, whom the call means, and which task says its messages.
    """

    gives_context = True
    gives_context_alone = False

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph."""
        self._look_around(config)
        return super().invoke(told(input), naming(config, kwargs.get("context")), **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph, awaiting."""
        self._look_around(config)
        return await super().ainvoke(told(input), naming(config, kwargs.get("context")), **kwargs)

    def _look_around(self, config: RunnableConfig | None) -> None:
        channels = parents_channels(config)
        if channels is None:
            return
        kept = {name for name, channel in channels.items() if not isinstance(channel, UntrackedValue)}
        dropped = self.gives_context_alone and "messages" in channels and CONTEXT_CHANNEL not in channels
        found = {KEPT: self.gives_context and CONTEXT_CHANNEL in kept, KEPT_REPORT: REPORT_CHANNEL in kept}
        for warning in (warning for warning, wrong in {**found, DROPPED: dropped}.items() if wrong):
            known = (self.name, warning, frozenset(channels))
            if known not in _told:
                _told.add(known)
                logger.warning(warning, self.name)


class RecallGraph(ForeignGraph):
    """A recall graph: beside ``memory_context`` it gives nothing that an agent could read."""

    gives_context_alone = True


class RememberGraph(ForeignGraph):
    """A remember graph, which gives a report and no text for a model."""

    gives_context = False


def parents_channels(config: RunnableConfig | None) -> Mapping[str, Any] | None:
    """The channels of the graph whose node is called; None at the top.

    A node is called with the very configuration of its task, a graph in a node's function seldom: there None, too.
    """
    if config is None or var_child_runnable_config.get() is not config:
        return None
    arguments: Any = getattr((config.get("configurable") or {}).get(READ), "args", ())
    found = arguments[1] if len(arguments) > 1 else None
    return found if isinstance(found, Mapping) else None


def aware(kind: type[ForeignGraph], graph: CompiledStateGraph[Any, Any, Any, Any]) -> ForeignGraph:
    """The same graph as one of that kind, made as `Pregel.copy` makes its copies."""
    return kind(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})
