"""An agent that knows a folder of Markdown: it searches it, cites where it found something, and lists what there is.

`DocumentIndex` keeps the folder searchable; the tools ``search_knowledge_base`` and ``list_documents`` let a model use
it, beside what memory holds of the user. What the folder's ``.gitignore`` leaves out is left out. ``graph`` is for
`langgraph dev`, over this folder: it has neither a store nor a checkpointer, because the server gives both.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langmem_plus import DocumentIndex, MarkdownStore, MemoryClient
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tools import create_list_documents_tool, create_search_knowledge_base_tool


def decide(messages: Sequence[BaseMessage]) -> AIMessage:
    """What a model would do: list where it is asked for a list, else search, and say what it found and where."""
    *_, last = messages
    if not isinstance(last, ToolMessage):
        listing = "list" in last.text.lower()
        call = {"name": "list_documents", "args": {}} if listing else {}
        call = call or {"name": "search_knowledge_base", "args": {"query": last.text, "limit": 2}}
        return AIMessage("", tool_calls=[{**call, "id": f"call-{last.id}"}])
    if last.name == "list_documents":
        return AIMessage(", ".join(known["path"] for known in json.loads(last.text)))
    found = json.loads(last.text) if last.text.startswith("{") else {}
    said = [f"{each['content']} ({each['path']}:{each['lines'][0]})" for each in found.get("documents", [])]
    said += [f"You said: {each['value']['content']}" for each in found.get("conversations", [])]
    return AIMessage(" · ".join(said) or last.text)


model = ScriptedChatModel(then=decide)  # stands in for init_chat_model("openai:gpt-5-mini"): it follows two rules


def tools(documents: DocumentIndex) -> list:
    """The two tools over a folder."""
    return [create_search_knowledge_base_tool(documents=documents), create_list_documents_tool(documents=documents)]


graph = create_agent(model, tools(DocumentIndex(Path(__file__).parent)))


def main() -> None:
    """A handbook of two pages, a draft that git leaves out, and a user who said something before."""
    with TemporaryDirectory() as place:
        handbook = Path(place, "handbook")
        handbook.mkdir()
        (handbook / "leave.md").write_text("# Leave\n\nEverybody has thirty days of leave a year.\n")
        (handbook / "travel.md").write_text("# Travel\n\nTrains are booked by Kim, second class.\n")
        (handbook / "draft.md").write_text("# Draft\n\nFrom May on there are forty days of leave.\n")
        (handbook / ".gitignore").write_text("draft.md\n")

        index = DocumentIndex(handbook, path=Path(place, "index"))
        with MarkdownStore(Path(place, "memory")) as store, index as documents:
            print(documents.sync().added)  # → ['leave.md', 'travel.md']
            with MemoryClient(store) as client:
                client.add("I take my leave in May", user_id="alice")
            agent = create_agent(model, tools(documents), store=store)
            alice = {"configurable": {"user_id": "alice", "thread_id": "monday"}}
            for text in ("List the documents", "How many days of leave do we have?", "Who books trains?"):
                print(agent.invoke({"messages": [HumanMessage(text)]}, alice)["messages"][-1].text)
            # → leave.md, travel.md
            # → … thirty days of leave a year. (leave.md:1) · You said: I take my leave in May
            # → … Trains are booked by Kim, second class. (travel.md:1)


if __name__ == "__main__":
    main()
