"""The model that quotes memory: honest, streaming, and content with any tools."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from langmem_plus.fence import fence
from langmem_plus.providers.quoting import EMPTY, INTRODUCTION, QuotingChatModel, quote_memories

CONTEXT = fence(
    "# This conversation so far\n- The user plans a trip.\n\n# Memories\n## family\n"
    "[memory] The user's wife is named Anne. (2026-01-02; 5e2f6b0e)\n"
    "[user] I drink tea in the evening (never coffee). (2026-01-03; a1)\n"
    "## home\n[memory] The user lives in Lyon."
)


def asked(text: str, inject_as: str = "user") -> list[BaseMessage]:
    """A model call with recalled memories, in either place."""
    if inject_as == "system":
        return [SystemMessage(f"Be brief.\n\n{CONTEXT}"), HumanMessage(text)]
    return [SystemMessage("Be brief."), HumanMessage("Hi"), AIMessage("Hi!"), HumanMessage(f"{CONTEXT}\n\n{text}")]


def test_it_quotes_what_answers() -> None:
    """The nearest memory is quoted with its day, wherever the block stands, and the rest isn't."""
    for place in ("user", "system"):
        answer = QuotingChatModel().invoke(asked("What is my wife called?", place)).text
        assert answer.startswith(INTRODUCTION)
        assert "- “The user's wife is named Anne.” (2026-01-02)" in answer
        assert "Lyon" not in answer and "5e2f6b0e" not in answer


def test_brackets_and_missing_days_are_read() -> None:
    """A text with brackets of its own is quoted whole, and a line without a day too."""
    assert "“I drink tea in the evening (never coffee).” (2026-01-03)" in quote_memories(asked("tea?"))
    assert "- “The user lives in Lyon.”" in quote_memories(asked("Do I live in Lyon?")).splitlines()


def test_without_common_words_it_quotes_what_was_recalled() -> None:
    """Memory was recalled for a reason, even if no word is shared."""
    assert len(quote_memories(asked("hm?")).splitlines()) == 4


def test_nothing_recalled_is_said() -> None:
    """Without memories it says so, and it doesn't quote the user's own words back."""
    assert quote_memories([HumanMessage("My wife is Anne")]) == f"{INTRODUCTION} {EMPTY}"
    assert quote_memories([]) == f"{INTRODUCTION} {EMPTY}"
    echo = fence("# Memories\n[user] My wife is Anne (2026-01-02; a1)")
    assert quote_memories([HumanMessage(f"{echo}\n\nMy wife is Anne")]) == f"{INTRODUCTION} {EMPTY}"


async def test_it_streams_what_it_says() -> None:
    """The stream, sync and async, comes in words and adds up to the answer."""
    model = QuotingChatModel()
    whole = model.invoke(asked("wife?")).text
    pieces = [chunk.text for chunk in model.stream(asked("wife?"))]
    assert "".join(pieces) == whole and len(pieces) > 10
    assert "".join([chunk.text async for chunk in model.astream(asked("wife?"))]) == whole
    assert (await model.ainvoke(asked("wife?"))).text == whole


def test_it_is_an_agents_model() -> None:
    """An agent with tools runs on it: it never calls one."""

    @tool
    def look_up(name: str) -> str:
        """Look something up."""
        return name

    agent = create_agent(QuotingChatModel(), [look_up])
    answer = agent.invoke({"messages": asked("What is my wife called?")})["messages"][-1]
    assert "Anne" in answer.text and not answer.tool_calls
