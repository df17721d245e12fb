"""The middleware in deepagents' agents: beside its own middleware, and in its subagents."""

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.testing import ScriptedChatModel

MARKER = "zebra crossing 4711"
QUESTION = "Where is the zebra crossing?"


def task(text: str, subagent: str, number: int = 1) -> dict:
    """A call of a subagent."""
    return {"name": "task", "args": {"description": text, "subagent_type": subagent}, "id": f"task-{number}"}


@pytest.fixture
def memory(store, config) -> LongTermMemoryMiddleware:
    """Memory over the store."""
    return LongTermMemoryMiddleware(store=store, config=config)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_deep_agent_remembers(memory, run_config, saver, stored, turns, store, say, calling, tool, mode):
    """Beside all that a deep agent brings, its own memory files too, each model call carries the text, the turn is
    stored once, and no checkpoint holds recalled text."""
    saver = saver if mode == "sync" else InMemorySaver()  # SqliteSaver is sync
    model = ScriptedChatModel([calling("a", "b"), "There.", "Still there."])
    agent = create_deep_agent(
        model, [tool], middleware=[memory], checkpointer=saver, memory=["/AGENTS.md"], system_prompt="Be brief."
    )
    for text in (QUESTION, "And the zebra crossing now?"):
        if mode == "sync":
            agent.invoke(say(text), run_config())
        else:
            await agent.ainvoke(say(text), run_config())
    assert [MARKER in call.text for call in model.calls] == [True] * 3
    assert model.calls[0].messages[0].text == model.calls[1].messages[0].text
    assert MARKER not in stored(saver)
    assert turns(store) == [
        ("user", QUESTION),
        ("assistant", "There."),
        ("user", "And the zebra crossing now?"),
        ("assistant", "Still there."),
    ]


def test_a_person_decides_in_a_deep_agent(memory, run_config, turns, store, say, calling, tool):
    """deepagents' own interrupts and memory go together."""
    model = ScriptedChatModel([calling("a"), "There."])
    agent = create_deep_agent(
        model, [tool], middleware=[memory], checkpointer=InMemorySaver(), interrupt_on={"look": True}
    )
    agent.invoke(say(QUESTION), run_config())
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), run_config())
    assert [MARKER in call.text for call in model.calls] == [True, True]
    assert turns(store) == [("user", QUESTION), ("assistant", "There.")]


@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.parametrize("kind", ["isolated", "with memory", "fork"])
def test_what_a_subagent_is_told_is_not_stored(memory, store, config, run_config, saver, stored, turns, say, kind):
    """A subagent's task was written by a model: nothing of it is stored, one with memory recalls, two at a time don't
    get into each other's way, and no checkpoint of theirs holds recalled text."""
    spec = {"name": "helper", "description": "Helps.", "system_prompt": "Help."}
    if kind == "with memory":
        spec["middleware"] = [LongTermMemoryMiddleware(store=store, config=config)]
    if kind == "fork":
        spec["mode"] = "fork"
        del spec["system_prompt"]
    calls = [task(f"Find the zebra crossing, part {number}", "helper", number) for number in (1, 2)]

    def answer(messages):
        said = [message for message in messages if isinstance(message, HumanMessage)][-1].text
        if "Find the zebra crossing" in said:
            return "I am the helper."
        return "Done." if messages[-1].type == "tool" else AIMessage("", tool_calls=calls)

    model = ScriptedChatModel(then=answer)
    agent = create_deep_agent(model, middleware=[memory], subagents=[spec], checkpointer=saver)
    result = agent.invoke(say(QUESTION), run_config())
    assert result["messages"][-1].text == "Done."
    told = [call.text for call in model.calls if "Find the zebra crossing, part" in call.messages[-1].text]
    assert len(told) == 2
    assert all((MARKER in text) == (kind != "isolated") for text in told)
    assert MARKER not in stored(saver)
    assert turns(store) == [("user", QUESTION), ("assistant", "Done.")]
    assert set(result["memory_report"]["counts"]) >= {"turns_recorded", "replies_recorded"}


def test_what_a_deep_agent_summarised_away_is_recalled(memory, run_config, store, say):
    """deepagents shortens the model's calls and keeps the thread: what a call doesn't hold any more can be recalled."""
    from deepagents.backends import StateBackend
    from deepagents.middleware.summarization import SummarizationMiddleware

    summarizer = SummarizationMiddleware(
        ScriptedChatModel(then="SUMMARY"), backend=StateBackend(), trigger=("messages", 6), keep=("messages", 2)
    )
    model = ScriptedChatModel(then="ok")
    agent = create_deep_agent(model, middleware=[summarizer, memory], checkpointer=InMemorySaver())
    agent.invoke(say("The blue parrot sings in the kitchen every morning"), run_config())
    for number in range(4):
        agent.invoke(say(f"We walk on, step {number}"), run_config())
    agent.invoke(say("What does the blue parrot do in the kitchen?"), run_config())
    assert "SUMMARY" in model.calls[-1].text
    assert "parrot sings in the kitchen" in model.calls[-1].text
