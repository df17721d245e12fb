"""One process, one graph, several users: whose memory a run touches is said by each run.

By its context, where the graph has a ``context_schema``; else by ``configurable``; else, on a server with
authentication, by the user who is signed in, beside whom a run names nobody else. A run that names nobody is refused:
there is no memory that everybody shares.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langmem_plus import MarkdownStore, create_memory_graph
from langmem_plus.providers import QuotingChatModel


@dataclass
class Person:
    """What a run's context says; ``space`` may name a project or a workspace, too."""

    user_id: str | None = None


builder = StateGraph(MessagesState, context_schema=Person)
builder.add_node("talk", create_memory_graph(QuotingChatModel())).add_edge(START, "talk")
graph = builder.compile()


def main() -> None:
    """Three people at once, each named in a run's context; one of them asks again, named in its configuration."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        talk = builder.compile(store=store, checkpointer=InMemorySaver())

        def say(user_id: str, text: str, thread: str) -> str:
            config = {"configurable": {"thread_id": f"{user_id} {thread}"}}  # a thread belongs to one user alone
            return talk.invoke({"messages": [HumanMessage(text)]}, config, context=Person(user_id))["messages"][-1].text

        with ThreadPoolExecutor() as pool:
            people = {"ann": "Oslo", "ben": "Rome", "cleo": "Lima"}
            list(pool.map(lambda user: say(user, f"I live in {people[user]}", "first"), people))
            for answer in pool.map(lambda user: say(user, "Where do I live?", "second"), people):
                print(answer)
        # → … “I live in Oslo” … “I live in Rome” … “I live in Lima” …
        config = {"configurable": {"thread_id": "ann third", "user_id": "ann"}}
        state = talk.invoke({"messages": [HumanMessage("Where do I live?")]}, config)
        print(state["messages"][-1].text)  # → … “I live in Oslo” …


if __name__ == "__main__":
    main()
