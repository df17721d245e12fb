"""Memory as tools that a model calls: search and manage, named and shaped as langmem's; pin, forget and list. And
the workspace's documents: search them together with what was said, and list them.

::

    agent = create_agent(model, tools=[create_search_memory_tool(), create_manage_memory_tool()], store=store)

Each tool works in an agent, in a `ToolNode`, in a task, and by itself, sync and async. Whose memory it is comes from
the run, as everywhere; the store is the one that is given, else the running graph's. A mistake of the model's comes
back as a tool message with ``status="error"`` that says what to do; called without a tool call, the tool raises it.
"""

from langmem_plus.tools.knowledge import create_list_documents_tool, create_search_knowledge_base_tool
from langmem_plus.tools.manage import create_manage_memory_tool
from langmem_plus.tools.owner import create_forget_memory_tool, create_list_memories_tool, create_pin_memory_tool
from langmem_plus.tools.search import create_search_memory_tool

__all__ = [
    "create_forget_memory_tool",
    "create_list_documents_tool",
    "create_list_memories_tool",
    "create_manage_memory_tool",
    "create_pin_memory_tool",
    "create_search_knowledge_base_tool",
    "create_search_memory_tool",
]
