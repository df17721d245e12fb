"""An agent that decides by itself when to look into memory and what to keep there: memory as tools.

`create_search_memory_tool` and `create_manage_memory_tool` have the names and arguments of langmem's; pin, forget and
list stand beside them. Whose memory it is comes from the run. ``graph`` is for `langgraph dev`: it has neither a store
nor a checkpointer, because the server gives both.
"""

import json
from collections.abc import Sequence
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langmem_plus import MarkdownStore
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tools import (
    create_forget_memory_tool,
    create_list_memories_tool,
    create_manage_memory_tool,
    create_pin_memory_tool,
    create_search_memory_tool,
)


def decide(messages: Sequence[BaseMessage]) -> AIMessage:
    """What a model would do: search for questions, keep statements, and pass on what the tools say."""
    *_, last = messages
    if isinstance(last, ToolMessage):
        found = json.loads(last.text) if last.text.startswith("[") else []
        return AIMessage("; ".join(entry["value"]["content"] for entry in found) or last.text)
    if last.text.endswith("?"):
        call = {"name": "search_memory", "args": {"query": last.text}}
    elif last.text.startswith("Forget "):
        call = {"name": "forget_memory", "args": {"id": last.text.removeprefix("Forget ")}}
    else:
        call = {"name": "manage_memory", "args": {"content": last.text}}
    return AIMessage("", tool_calls=[{**call, "id": f"call-{last.id}"}])


model = ScriptedChatModel(then=decide)  # stands in for init_chat_model("openai:gpt-5-mini"): it follows three rules
tools = [
    create_search_memory_tool(),
    create_manage_memory_tool(),
    create_pin_memory_tool(),
    create_forget_memory_tool(),
    create_list_memories_tool(),
]
graph = create_agent(model, tools)


def main() -> None:
    """Two threads of one user, one of somebody else, and a wrong id."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        agent = create_agent(model, tools, store=store)

        def say(text: str, user_id: str, thread_id: str) -> str:
            config = {"configurable": {"user_id": user_id, "thread_id": thread_id}}
            return agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1].text

        print(say("My wife is called Anne", "alice", "monday"))  # → created memory …
        print(say("My wife is called Anne.", "alice", "tuesday"))  # → Nothing new was created: …
        print(say("What is my wife called?", "alice", "friday"))  # → My wife is called Anne
        print(say("What is my wife called?", "bob", "sunday"))  # → Nothing relevant is remembered.
        print(say("Forget 4711", "alice", "friday"))  # → there is no memory '4711', so nothing was done. …


if __name__ == "__main__":
    main()
