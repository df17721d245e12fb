"""Memory in a graph whose state has nothing in common with it: a node's function maps in and out.

The state here is a support ticket. The memory graph is called in a node: the question goes in as a message, the answer
comes out as a field, and the ticket's customer is the user. ``checkpointer=True`` lets the memory graph keep the
conversation that the ticket has no channel for, in the parent's checkpointer; leave it out, and each call is a
conversation of its own (what is remembered is found in either case).
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langmem_plus import MarkdownStore, create_memory_graph
from langmem_plus.providers import QuotingChatModel


class Ticket(TypedDict, total=False):
    """What this graph is about."""

    customer: str
    question: str
    answer: str


memory = create_memory_graph(QuotingChatModel(), checkpointer=True)


def answer(ticket: Ticket, config: RunnableConfig) -> Ticket:
    """Ask as the ticket's customer; what else is in the configuration brings the store and the thread along."""
    customers = {**config, "configurable": {**config["configurable"], "user_id": ticket["customer"]}}
    output = memory.invoke({"messages": [HumanMessage(ticket["question"])]}, customers)
    return {"answer": output["messages"][-1].text}


builder = StateGraph(Ticket).add_node("answer", answer).add_edge(START, "answer")
graph = builder.compile()


def main() -> None:
    """Two tickets of one customer, and one of another."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        desk = builder.compile(store=store, checkpointer=InMemorySaver())
        tickets = (
            ("ann", "My order number is 4711"),
            ("ann", "What is my order number?"),
            ("ben", "What is my order number?"),
        )
        for number, (customer, question) in enumerate(tickets):
            config = {"configurable": {"thread_id": f"ticket {number}"}}
            ticket = desk.invoke({"customer": customer, "question": question}, config)
            print(ticket["customer"], ticket["answer"])
        # → ann … “My order number is 4711” …
        # → ben … For this message it holds nothing.


if __name__ == "__main__":
    main()
