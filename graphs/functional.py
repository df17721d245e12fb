"""Memory in LangGraph's functional API: the memory graph is called in a task of an entrypoint.

Store, thread and user come along with the run. Give back the answer alone: what a task returns is checkpointed, and the
memory graph's output holds ``memory_context`` beside the messages. An entrypoint that calls the halves itself does it
outside of a task; after an interrupt it begins anew, and so recalls anew.
"""

from tempfile import TemporaryDirectory

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task

from langmem_plus import MarkdownStore, create_memory_graph
from langmem_plus.providers import QuotingChatModel

memory = create_memory_graph(QuotingChatModel())  # or any agent in place of the model


@task
def answer(messages: list[AnyMessage]) -> AnyMessage:
    """One turn, with memory around it."""
    return memory.invoke({"messages": messages})["messages"][-1]


def chat(text: str, *, previous: list[AnyMessage] | None = None) -> entrypoint.final[str, list[AnyMessage]]:
    """A conversation that is kept from one run to the next."""
    messages = [*(previous or []), HumanMessage(text)]
    messages.append(answer(messages).result())
    return entrypoint.final(value=messages[-1].text, save=messages)


graph = entrypoint()(chat)


def main() -> None:
    """Two threads of one user."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        flow = entrypoint(store=store, checkpointer=InMemorySaver())(chat)
        for thread, text in (("monday", "My sister lives in Oslo"), ("friday", "Where does my sister live?")):
            print(flow.invoke(text, {"configurable": {"user_id": "alice", "thread_id": thread}}))
        # → … For this message it holds nothing. … “My sister lives in Oslo” …


if __name__ == "__main__":
    main()
