"""The two halves of memory as nodes of a graph of one's own: recall before the agent, remember after it.

The state is `MemoryState`, or a class of it: the halves share ``messages``, and the agent reads ``memory_context``.
LangGraph drops what is recalled where a state lacks that channel (a warning says so). The store is the one that this
graph is compiled with, or that the server gives: the halves need none of their own.
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langmem_plus import MarkdownStore, MemoryState, create_recall_graph, create_remember_graph
from langmem_plus.providers import QuotingChatModel

model = QuotingChatModel()  # stands in for init_chat_model("openai:gpt-5-mini")


class State(MemoryState):
    """Memory's channels, and one's own beside them."""

    mood: str


def agent(state: State) -> dict:
    """Answer; what was recalled goes into this model call, and into no message that is kept."""
    context = state.get("memory_context") or ""
    told = [SystemMessage(f"Be {state.get('mood', 'kind')}. {context}"), *state["messages"]]
    return {"messages": [model.invoke(told)]}


builder = StateGraph(State)
builder.add_node("recall", create_recall_graph())
builder.add_node("agent", agent)
builder.add_node("remember", create_remember_graph())
builder.add_edge(START, "recall").add_edge("recall", "agent").add_edge("agent", "remember")
graph = builder.compile()


def main() -> None:
    """Two threads of one user."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        talk = builder.compile(store=store, checkpointer=InMemorySaver())
        for thread, text in (("monday", "I moved to Lyon last week"), ("friday", "Where do I live now?")):
            config = {"configurable": {"user_id": "alice", "thread_id": thread}}
            state = talk.invoke({"messages": [HumanMessage(text)], "mood": "brief"}, config)
        print(state["messages"][-1].text)  # → … “I moved to Lyon last week” …
        print(sorted(talk.get_state(config).values))  # → ['messages', 'mood']


if __name__ == "__main__":
    main()
