"""Long-term memory for LangGraph and LangChain agents, kept in Markdown files that a person can read and edit.

::

         ┌────────────── recall ───────────────┐             ┌─────────────────────── remember ────────────────────────┐
  you ─► plan → retrieve → rerank → mmr → inject ─► agent ─► record → compress → extract → reconcile → summarize → evict
                    ▲                                           │
                    └──────── any LangGraph BaseStore ◄─────────┘
                              MarkdownStore · InMemoryStore · …

- ``recall``, before the model answers: what matters from everything ever said goes into the prompt, within a token
  budget, and nowhere else;
- ``remember``, after the answer: facts are drawn out, reconciled with what is known, summarised, and kept within
  bounds; old messages leave a long thread once its summary tells what they said.

The same two paths serve every door: `create_memory_graph` and its halves, `LongTermMemoryMiddleware` for
``create_agent``, `MemoryRetriever` for chains, memory as tools, and `MemoryClient`. With a `DocumentIndex` recall finds
what stands in a folder of files, too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_plus.client import MemoryClient
    from langmem_plus.config import MemoryConfig
    from langmem_plus.documents import DocumentIndex
    from langmem_plus.graph import create_memory_graph, create_recall_graph, create_remember_graph
    from langmem_plus.middleware import LongTermMemoryMiddleware
    from langmem_plus.records import MemoryHit, MemoryRecord, MemoryReport, Scope
    from langmem_plus.retriever import MemoryRetriever
    from langmem_plus.state import MemoryState
    from langmem_plus.store import MarkdownStore
    from langmem_plus.tools import create_manage_memory_tool, create_search_memory_tool

__all__ = [
    "DocumentIndex",
    "LongTermMemoryMiddleware",
    "MarkdownStore",
    "MemoryClient",
    "MemoryConfig",
    "MemoryHit",
    "MemoryRecord",
    "MemoryReport",
    "MemoryRetriever",
    "MemoryState",
    "Scope",
    "create_manage_memory_tool",
    "create_memory_graph",
    "create_recall_graph",
    "create_remember_graph",
    "create_search_memory_tool",
]

# Where each name lives; it is loaded when it is first used, so that importing the package costs next to nothing.
_HOMES = {
    "DocumentIndex": "documents",
    "LongTermMemoryMiddleware": "middleware",
    "MarkdownStore": "store",
    "MemoryClient": "client",
    "MemoryConfig": "config",
    "MemoryHit": "records",
    "MemoryRecord": "records",
    "MemoryReport": "records",
    "MemoryRetriever": "retriever",
    "MemoryState": "state",
    "Scope": "records",
    "create_manage_memory_tool": "tools",
    "create_memory_graph": "graph",
    "create_recall_graph": "graph",
    "create_remember_graph": "graph",
    "create_search_memory_tool": "tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
