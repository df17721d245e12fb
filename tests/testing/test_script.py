"""Scripts: the answers of scripted models and servers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from langmem_plus.testing.script import Script, ScriptEndedError, answer_message, openai_tools


class Person(BaseModel):
    """Somebody."""

    name: str


class Place(BaseModel):
    """Somewhere."""

    name: str


TOOLS = openai_tools([Place, Person])


class TestScript:
    def test_answers_come_in_order(self) -> None:
        """Each answer is given once, and the rest is counted."""
        script = Script(["a", "b"])
        assert script.take("x") == "a"
        assert script.remaining == 1
        assert script.take("x") == "b"
        assert script.remaining == 0

    def test_the_end_is_a_clear_error(self) -> None:
        """It says how many answers there were, which call this is, what it asks, and what to do."""
        script = Script(["a"])
        script.take("first")
        with pytest.raises(ScriptEndedError, match=r"1 answers.*call 2.*'second'.*then="):
            script.take("second")
        assert script.remaining == 0

    def test_then_answers_everything_else(self) -> None:
        """After the last answer comes ``then``, as often as it is asked."""
        script = Script(["a"], then="b")
        assert [script.take("x") for _ in range(3)] == ["a", "b", "b"]

    def test_threads_never_get_the_same_answer(self) -> None:
        """Six threads share out the answers."""
        script = Script(list(range(300)))
        with ThreadPoolExecutor(6) as pool:
            given = list(pool.map(lambda _: script.take("x"), range(300)))
        assert sorted(given) == list(range(300))


class TestAnswerMessage:
    def test_text_and_messages(self) -> None:
        """A text is a message's content; a message is copied, so that the script can be used again."""
        message = AIMessage("hi", id="m")
        copied = answer_message(message)
        assert copied == message
        assert copied is not message
        assert answer_message("hi").content == "hi"

    @pytest.mark.parametrize(
        ("answer", "text"),
        [({"name": "Änne"}, '{"name": "Änne"}'), (Person(name="Anne"), '{"name": "Anne"}'), ([{"a": 1}], '[{"a": 1}]')],
        ids=["mapping", "object", "list"],
    )
    def test_structured_answers_are_json_without_tools(self, answer: Any, text: str) -> None:
        """Where no tool can be called, a structured answer is its JSON."""
        assert answer_message(answer).content == text

    @pytest.mark.parametrize(
        ("answer", "choice", "name"),
        [
            (Person(name="Anne"), None, "Person"),
            (Person(name="Anne"), "any", "Person"),
            ({"name": "Anne"}, "Person", "Person"),
            ({"name": "Anne"}, {"type": "function", "function": {"name": "Person"}}, "Person"),
            ({"name": "Lyon"}, "any", "Place"),
            ({"name": "Lyon"}, None, "Place"),
        ],
    )
    def test_structured_answers_call_a_tool(self, answer: Any, choice: Any, name: str) -> None:
        """The tool is the one of the object's class, else the one that is asked for, else the first."""
        message = answer_message(answer, TOOLS, choice)
        assert message.content == ""
        assert [(call["name"], list(call["args"])) for call in message.tool_calls] == [(name, ["name"])]

    def test_anything_else_is_a_clear_error(self) -> None:
        """The error names the answer, its type, and what may be given."""
        with pytest.raises(TypeError, match=r"42.*int.*AIMessage"):
            answer_message(42)

    def test_tools_of_any_kind(self) -> None:
        """Classes, LangChain's tools and plain JSON all become what goes over the wire."""

        @tool
        def look_up(word: str) -> str:
            """Look a word up."""
            return word

        tools = openai_tools([Person, look_up, TOOLS[0]])
        assert [each["function"]["name"] for each in tools] == ["Person", "look_up", "Place"]
