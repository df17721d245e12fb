"""An agent that asks a person, and is resumed: it has what was recalled again, and the turn is recorded once.

What is recalled is kept in no checkpoint, so it is gone after an interrupt; the memory graph recalls again before its
agent goes on. In a graph of one's own with the two halves as nodes, nobody does that: there, an agent that may be
interrupted calls the recall graph itself, ``recall.invoke({"messages": state["messages"]})["memory_context"]``.
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from langmem_plus import MarkdownStore, create_memory_graph
from langmem_plus.providers import QuotingChatModel

model = QuotingChatModel()  # stands in for init_chat_model("openai:gpt-5-mini")


def agent(state: dict) -> dict:
    """Let a person see the draft before it is sent; the recalled text stands in the messages, for this call only."""
    draft = model.invoke(state["messages"])
    verdict = interrupt({"draft": draft.text})
    return {"messages": [draft if verdict == "send" else AIMessage(f"(corrected) {verdict}")]}


graph = create_memory_graph(agent)


def main() -> None:
    """Tell something; ask for it in another thread, stop at the draft, and go on."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        desk = create_memory_graph(agent, store=store, checkpointer=InMemorySaver())
        for thread, text in (("monday", "I am allergic to peanuts"), ("friday", "What am I allergic to?")):
            config = {"configurable": {"user_id": "alice", "thread_id": thread}}
            stopped = desk.invoke({"messages": [HumanMessage(text)]}, config)
            done = desk.invoke(Command(resume="send"), config)
        print(stopped["__interrupt__"][0].value["draft"])  # → … “I am allergic to peanuts” …
        print(done["messages"][-1].text == stopped["__interrupt__"][0].value["draft"])  # → True
        turns = store.search(("memories", "alice"), filter={"role": "user"})
        print(len(turns), "turns of the user are recorded")  # → 2 turns …


if __name__ == "__main__":
    main()
