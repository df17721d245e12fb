"""Memory in a deepagents agent: the same middleware, and two instances of it with a space each.

One instance remembers what concerns this user, the other what concerns the project that the agent works on; each
recalls from and writes to a namespace of its own. deepagents' own ``MemoryMiddleware`` (files such as AGENTS.md) is
another thing and goes together with it. What subagents are told isn't stored, for a model wrote it. Needs
``pip install deepagents``.
"""

from tempfile import TemporaryDirectory

from deepagents import create_deep_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_plus import MarkdownStore
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.providers import QuotingChatModel

model = QuotingChatModel()  # stands in for "openai:gpt-5-mini": it only quotes what memory holds
PROJECT = ("memories", "{project}")  # a namespace of one's own, filled from the run's configuration


def memories(store: MarkdownStore | None = None) -> list[LongTermMemoryMiddleware]:
    """The user's memory, and the project's, which every user of the project shares."""
    return [
        LongTermMemoryMiddleware(store=store),
        LongTermMemoryMiddleware(store=store, scope=PROJECT, name="ProjectMemory"),
    ]


graph = create_deep_agent(model, middleware=memories())


def main() -> None:
    """Two users of one project."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        agent = create_deep_agent(model, middleware=memories(store), checkpointer=InMemorySaver())

        def say(text: str, user_id: str, thread_id: str, project: str) -> str:
            config = {"configurable": {"user_id": user_id, "thread_id": thread_id, "project": project}}
            return agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1].text

        say("We deploy on Fridays at noon", "alice", "monday", "apollo")
        print(say("When do we deploy?", "bob", "tuesday", "apollo"))  # → … “We deploy on Fridays at noon” …
        print(say("When do we deploy?", "bob", "wednesday", "gemini"))  # → … For this message it holds nothing.


if __name__ == "__main__":
    main()
