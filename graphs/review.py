"""A memory that asks first: what would replace something known waits for the user's word, before anything is written.

With ``background=False`` and a checkpointer the graph stops after its reply and says what would change; resumed with
True, False, or ``{"approve": [ids], "reject": [ids]}``, it writes what was approved. What isn't answered, and whatever
is drawn out in the background, waits in the store: `MemoryClient.pending` lists it, `approve` and `reject` answer it,
and so does ``langmem-plus review``.
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig, create_memory_graph
from langmem_plus.providers import QuotingChatModel

model = QuotingChatModel()  # stands in for init_chat_model("openai:gpt-5-mini")
config = MemoryConfig(background=False, review="conflicts")

graph = create_memory_graph(model, config=config)


def main() -> None:
    """Move twice: once with a yes, once with an answer that comes later."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        desk = create_memory_graph(model, store=store, config=config, checkpointer=InMemorySaver())
        run = {"configurable": {"user_id": "alice", "thread_id": "monday"}}
        for text in ("I live in Paris", "I live in Lyon now"):
            stopped = desk.invoke({"messages": [HumanMessage(text)]}, run)
        (change,) = stopped["__interrupt__"][0].value["waiting"]
        print(change["text"], "in place of", change["retires"][0]["text"])  # → I live in Lyon now in place of …Paris
        desk.invoke(Command(resume=True), run)

        desk.invoke({"messages": [HumanMessage("I live in Rome now")]}, run)
        desk.invoke(Command(resume={"approve": []}), run)  # neither yes nor no
        client = MemoryClient(store, config=config)
        (pending,) = client.pending(user_id="alice")
        print([hit.text for hit in client.search("where do I live", user_id="alice", filter={"role": "memory"})])
        # → ['I live in Lyon now']
        client.approve(pending.id, user_id="alice")
        print([fact.text for fact in client.list(user_id="alice", role="memory")])  # → ['I live in Rome now']


if __name__ == "__main__":
    main()
