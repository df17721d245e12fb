"""What a message is searched by."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langmem_plus.recall.query import QUERY_CHARACTERS, current_text, leans, search_query


def test_the_current_user_asks_not_a_tool() -> None:
    """In the middle of a tool round, the user's message is still the question."""
    messages: list[BaseMessage] = [
        HumanMessage("where does Anne live?"),
        AIMessage("", tool_calls=[{"id": "1", "name": "look", "args": {}}]),
        ToolMessage("Paris, says the tool", tool_call_id="1"),
    ]
    assert current_text(messages) == search_query(messages) == "where does Anne live?"
    assert current_text([]) == search_query([]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "and Anne?",
        "Lyon?",
        "yes please",
        "why not?",
        "北京呢？",
        "where does she live?",
        "What is it called?",
        "wo wohnt er jetzt?",
    ],
)
def test_fragments_and_pronouns_lean_on_the_message_before(text: str) -> None:
    """The previous user's message stands before them."""
    assert leans(text)
    thread: list[BaseMessage] = [
        HumanMessage("Tell me about my sister"),
        AIMessage("She is a doctor."),
        HumanMessage(text),
    ]
    assert search_query(thread) == f"Tell me about my sister\n{text}"


@pytest.mark.parametrize(
    "text",
    [
        "where do I live?",
        "flurbin zorblax?",
        "who am I?",
        "Anne's birthday",
        "what is my wife called?",
        "What did my boss say about that new project?",
    ],
)
def test_a_whole_question_stands_alone(text: str) -> None:
    """What was said before would only lead the search astray."""
    assert search_query([HumanMessage("Explain tides"), AIMessage("…"), HumanMessage(text)]) == text


def test_a_long_message_is_searched_by_its_ends() -> None:
    """The question stands at the beginning or at the end; a search by a whole book is slow and vague."""
    text = "Where do I live? " + "filler " * 5000 + "And who is Anne?"
    query = search_query([HumanMessage(text)])
    assert len(query) <= QUERY_CHARACTERS + 1
    assert query.startswith("Where do I live?")
    assert query.endswith("And who is Anne?")
