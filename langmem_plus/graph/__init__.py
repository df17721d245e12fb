"""Memory as LangGraph graphs: both halves by themselves, and the whole loop around an agent.

::

    plan → retrieve → rerank → mmr → inject → record_user → agent → record_assistant → compress → remember
    └──────────────── recall ─────────────┘                                                          ⋮ in the background
                                                                  extract → enrich → reconcile → summarize → evict

All are compiled without a store; one that is given is closed over, else the parent graph's or the platform's is used.
"""

from langmem_plus.graph.afterwards import Afterwards, aflush, flush
from langmem_plus.graph.halves import create_recall_graph, create_remember_graph, make_services
from langmem_plus.graph.memory import create_memory_graph

__all__ = [
    "Afterwards",
    "aflush",
    "create_memory_graph",
    "create_recall_graph",
    "create_remember_graph",
    "flush",
    "make_services",
]
