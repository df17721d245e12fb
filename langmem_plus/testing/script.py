"""A script: the answers that a scripted model or server gives, one after another."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel


class ScriptEndedError(AssertionError):
    """The script has no answer left; the message says how many there were and what was asked."""


class Script:
    """Answers, each given once and in order, to any number of threads.

    Args:
        answers: what is answered, in order.
        then: the answer to everything after the last one; None makes that a `ScriptEndedError`.
    """

    def __init__(self, answers: Sequence[Any] = (), then: Any = None) -> None:
        self._answers = list(answers)
        self._then = then
        self._given = 0
        self._lock = threading.Lock()

    @property
    def remaining(self) -> int:
        """How many answers haven't been given yet."""
        return max(len(self._answers) - self._given, 0)

    def extend(self, answers: Sequence[Any]) -> None:
        """Add answers at the end."""
        with self._lock:
            self._answers.extend(answers)

    def take(self, asked: str) -> Any:
        """The next answer.

        Args:
            asked: what was asked, for the error's message.

        Raises:
            ScriptEndedError: every answer was given, and there is no ``then``.
        """
        with self._lock:
            self._given += 1
            if self._given <= len(self._answers):
                return self._answers[self._given - 1]
        if self._then is not None:
            return self._then
        raise ScriptEndedError(
            f"the script has {len(self._answers)} answers, and this is call {self._given}, which asks {asked[:200]!r}: "
            "add an answer, or say with then=… what is answered to everything else."
        )


def answer_message(answer: Any, tools: Sequence[Mapping[str, Any]] = (), tool_choice: Any = None) -> AIMessage:
    """The message that an answer stands for.

    A text is a text and an ``AIMessage`` itself. A pydantic object, a mapping or a list is a structured answer: a call
    of the tool that carries the object's class name, or that is asked for, or the first one; without tools its JSON.

    >>> answer_message({"a": 1}).content
    '{"a": 1}'

    Raises:
        TypeError: the answer is none of these.
    """
    if isinstance(answer, AIMessage):
        return answer.model_copy(deep=True)
    if isinstance(answer, str):
        return AIMessage(answer)
    data = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
    if isinstance(data, Mapping) and tools:
        name = _tool_name(type(answer).__name__, tools, tool_choice)
        return AIMessage("", tool_calls=[{"name": name, "args": dict(data), "id": None}])
    if isinstance(data, Mapping | list):
        return AIMessage(json.dumps(data, ensure_ascii=False))
    raise TypeError(
        f"the script's answer {answer!r} is a {type(answer).__name__}: give a text, an AIMessage, a pydantic object, "
        "a mapping, a list, an exception, or a callable that returns one of them."
    )


def openai_tools(tools: Sequence[Any]) -> list[dict[str, Any]]:
    """Tools of any kind as the JSON that OpenAI's protocol sends."""
    return [convert_to_openai_tool(tool) for tool in tools]


def _tool_name(wanted: str, tools: Sequence[Mapping[str, Any]], tool_choice: Any) -> str:
    names = [str(tool["function"]["name"]) for tool in tools]
    if isinstance(tool_choice, Mapping):
        tool_choice = tool_choice.get("function", {}).get("name")
    return next((name for name in (wanted, tool_choice) if name in names), names[0])
