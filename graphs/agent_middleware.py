"""Memory in a `create_agent` agent by one middleware, beside a tool of the agent's own and a person who approves it.

`LongTermMemoryMiddleware` stores what the user says, recalls before the model answers, puts what it recalled into the
model's calls alone (never into the thread), and stores the reply; after the approval it recalls again. ``graph`` is for
`langgraph dev`: it has neither a store nor a checkpointer, because the server gives both.
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langmem_plus import MarkdownStore
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.providers import QuotingChatModel
from langmem_plus.testing import ScriptedChatModel


def send_letter(text: str) -> str:
    """Send a letter."""
    return "The letter is sent."


def decide(messages: Sequence[BaseMessage]) -> BaseMessage:
    """What a model would do: send a letter where it is asked to, else say what memory holds."""
    *_, last = messages
    if isinstance(last, ToolMessage):
        return AIMessage(last.text)
    if "write" in last.text.lower():
        call = {"name": "send_letter", "args": {"text": "Dear Anne"}, "id": f"call-{last.id}"}
        return AIMessage("", tool_calls=[call])
    return QuotingChatModel().invoke(list(messages))


model = ScriptedChatModel(then=decide)  # stands in for "openai:gpt-5-mini"
approval = HumanInTheLoopMiddleware({"send_letter": True})
graph = create_agent(model, [send_letter], middleware=[LongTermMemoryMiddleware(), approval])


def main() -> None:
    """Two threads of one user, and one of somebody else."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store:
        memory = LongTermMemoryMiddleware(store=store)
        agent = create_agent(model, [send_letter], middleware=[memory, approval], checkpointer=InMemorySaver())
        alice = {"configurable": {"user_id": "alice", "thread_id": "friday"}}
        bob = {"configurable": {"user_id": "bob", "thread_id": "sunday"}}
        question = {"messages": [HumanMessage("What is my wife called?")]}

        said = {"messages": [HumanMessage("My wife is called Anne")]}
        agent.invoke(said, {"configurable": {"user_id": "alice", "thread_id": "monday"}})
        answer = agent.invoke(question, alice)
        print(answer["messages"][-1].text)  # → … “My wife is called Anne” …
        print(answer["memory_report"]["counts"]["injected"], "recalled")  # → 1 recalled

        stopped = agent.invoke({"messages": [HumanMessage("Write to my wife")]}, alice)
        print(len(stopped["__interrupt__"]), "waits for approval")  # → 1 waits for approval
        done = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), alice)
        print(done["messages"][-1].text)  # → The letter is sent.

        print(agent.invoke(question, bob)["messages"][-1].text)  # → … For this message it holds nothing.


if __name__ == "__main__":
    main()
