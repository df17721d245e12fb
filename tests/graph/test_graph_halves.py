"""The halves of memory around a node of one's own."""

from collections import Counter

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langmem_plus import MarkdownStore, MemoryConfig, MemoryState, create_recall_graph, create_remember_graph


def test_the_halves_around_a_node_of_ones_own(tmp_path):
    """Recall before one's own agent and remember after it are a whole loop: what was said is stored once, and found."""
    store = MarkdownStore(tmp_path, index=None)
    config = MemoryConfig(embeddings="none", background=False)
    contexts = []

    def agent(state):
        contexts.append(state["memory_context"])
        return {"messages": [AIMessage("Noted.")]}

    builder = StateGraph(MemoryState)
    builder.add_sequence(
        [
            ("recall", create_recall_graph(store=store, config=config)),
            ("agent", agent),
            ("remember", create_remember_graph(store=store, config=config)),
        ]
    )
    graph = builder.add_edge(START, "recall").compile(checkpointer=InMemorySaver())
    for thread, text in (("a", "My wife is called Anne."), ("a", "I like tea."), ("b", "What is my wife called?")):
        graph.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread, "user_id": "alice"}})
    assert "Anne" in contexts[-1]
    stored = store.search(("memories", "alice"), limit=100)
    roles = Counter(item.value["role"] for item in stored)
    assert (roles["user"], roles["assistant"], roles["memory"]) == (3, 3, 2)
