"""The whole memory graph around a chat model: what one thread is told, every later thread of that user knows.

`create_memory_graph` wraps any agent: a chat model as here, a callable over ``{"messages": [...]}``, or a compiled
graph. ``graph`` is for `langgraph dev`: it has neither a store nor a checkpointer, because the server gives both.
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_plus import MarkdownStore, create_memory_graph
from langmem_plus.providers import QuotingChatModel

model = QuotingChatModel()  # stands in for init_chat_model("openai:gpt-5-mini"): it only quotes what memory holds
graph = create_memory_graph(model)


def main() -> None:
    """Two threads of one user, and one of somebody else."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        talk = create_memory_graph(model, store=store, checkpointer=InMemorySaver())

        def say(text: str, user_id: str, thread_id: str) -> str:
            config = {"configurable": {"user_id": user_id, "thread_id": thread_id}}
            return talk.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1].text

        say("My wife is called Anne", "alice", "monday")
        print(say("What is my wife called?", "alice", "friday"))  # → … “My wife is called Anne” …
        print(say("What is my wife called?", "bob", "sunday"))  # → … For this message it holds nothing.


if __name__ == "__main__":
    main()
