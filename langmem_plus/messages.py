"""What a message says, in one way for all: what is stored, what is searched by, and what is still in the window; and
which messages of a thread stand or fall together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langmem_plus.fence import strip_context

_MEDIA = {"image": "image", "audio": "audio", "video": "video", "file": "file", "document": "file"}


def message_text(message: BaseMessage) -> str:
    """What a message says, word for word: its text without our own injected block, and a placeholder for each medium;
    thoughts and tool calls say nothing.

    >>> from langchain_core.messages import HumanMessage
    >>> message_text(HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image", "url": "…"}]))
    'Look:\\n[image]'
    """
    return "\n".join(text for text, _ in _parts(message) if text)


def message_words(message: BaseMessage) -> str:
    """The words of a message, to search by: `message_text` without the placeholders and the white space around."""
    return "\n".join(text for text in (text.strip() for text, medium in _parts(message) if not medium) if text)


def _parts(message: BaseMessage) -> list[tuple[str, bool]]:
    """The texts of a message in order, and whether each only stands for a medium."""
    if isinstance(message.content, str):
        return [(strip_context(message.content), False)]
    found: list[tuple[str, bool]] = []
    for block in message.content:
        kind = "text" if isinstance(block, str) else str(block.get("type", ""))
        text = block if isinstance(block, str) else block.get("text")
        if kind == "text" and isinstance(text, str):
            found.append((strip_context(text), False))
        elif medium := next((name for part, name in _MEDIA.items() if part in kind), None):
            found.append((f"[{medium}]", True))
    return found


def last_human(messages: Sequence[BaseMessage]) -> int | None:
    """The place of the current user's message, or None where nobody has spoken."""
    return next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], HumanMessage)), None)


def last_said(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The user's last messages: the current one, and those that stand right before it, as unanswered ones do."""
    place = last_human(messages)
    found: list[BaseMessage] = []
    while place is not None and place >= 0 and isinstance(messages[place], HumanMessage):
        found.insert(0, messages[place])
        place -= 1
    return found


@dataclass(frozen=True)
class Unit:
    """Messages that stand or fall together: ``messages[start:stop]``; a tool round, or one message."""

    start: int
    stop: int
    is_round: bool


def units(messages: Sequence[BaseMessage]) -> list[Unit]:
    """Split a thread into its units, in order.

    A tool round is an AI message with tool calls, their results, and whatever stands between them; providers refuse a
    call without its result and a result without its call. Rounds that overlap are one unit.
    """
    last_of = list(range(len(messages)))
    callers: dict[str, int] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            callers.update({call["id"]: place for call in tool_calls(message) if call["id"]})
        elif isinstance(message, ToolMessage) and message.tool_call_id in callers:
            last_of[callers[message.tool_call_id]] = place
    found: list[Unit] = []
    start = 0
    while start < len(messages):
        stop = start
        place = start
        while place <= stop:
            stop = max(stop, last_of[place])
            place += 1
        has_tools = any(
            isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(tool_calls(message)))
            for message in messages[start : stop + 1]
        )
        found.append(Unit(start, stop + 1, has_tools))
        start = stop + 1
    return found


def tool_calls(message: AIMessage) -> list[Any]:
    """All calls of a message, those that can't be read too."""
    return [*message.tool_calls, *message.invalid_tool_calls]
