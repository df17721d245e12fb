"""What the assistant did, in short: the gist of a thread's tool rounds, kept with the turn that ends them.

Tool calls and their results are no turns: nothing is drawn from them and no recall finds them. A thread's summary
tells of them, so that they may leave the thread when they are old.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langmem_plus.fence import fold
from langmem_plus.messages import message_text, tool_calls, units
from langmem_plus.records import MemoryRecord

ACTIONS = "actions"  # in a reply's metadata: the gist of its tool rounds, a line a call
ACTION_IDS = "action_ids"  # and the ids of the messages that they were made of

_LINES = 20  # calls that a turn tells of, one by one; the rest are counted
_ARGUMENTS, _RESULT = 200, 300  # characters
# How the items begin that memory tools find, ours and langmem's: what was recalled is no news.
_RECALLED = '[{"namespace"'


@dataclass(frozen=True)
class Actions:
    """Tool calls of a stretch of a thread: a line each, and the ids of the calling and the answering messages."""

    lines: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, Any]:
        """What of it stands in a turn's metadata; nothing where nothing was done."""
        found = {ACTIONS: list(self.lines), ACTION_IDS: list(self.ids)}
        return {name: value for name, value in found.items() if value}


def find_actions(messages: Sequence[BaseMessage], start: int = 0, stop: int | None = None) -> Actions:
    """The tool calls of ``messages[start:stop]`` with their results; of a round that reaches into it, all calls."""
    end = len(messages) if stop is None else stop
    lines: list[str] = []
    ids: list[str] = []
    for unit in units(messages):
        if not unit.is_round or unit.stop <= start or unit.start >= end:
            continue
        span = messages[unit.start : unit.stop]
        lines += _lines(span)
        ids += [each.id for each in span if each.id and is_action(each)]
    return Actions(tuple(lines), tuple(dict.fromkeys(ids)))


def is_action(message: BaseMessage) -> bool:
    """Whether a message calls tools, or is a tool's result."""
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(tool_calls(message)))


def told_actions(turn: MemoryRecord) -> list[str]:
    """The lines that a stored turn has, the newest; what came before is counted in the first one."""
    found = turn.metadata.get(ACTIONS)
    return shorten([line for line in found if isinstance(line, str)]) if isinstance(found, list) else []


def shorten(lines: Sequence[str]) -> list[str]:
    """The last lines, and one more that counts the calls before them."""
    rest = Counter(line.partition("(")[0] for line in lines[:-_LINES])
    counted = ", ".join(f"{name} ×{number}" for name, number in rest.items())
    return [*([f"earlier: {counted}"] if counted else []), *lines[-_LINES:]]


def _lines(span: Sequence[BaseMessage]) -> list[str]:
    """A line a call, in order; a result without its call has one, too."""
    asked: dict[str, int] = {}
    calls: list[str] = []
    results: dict[int, str] = {}
    for message in span:
        if isinstance(message, AIMessage):
            for call in tool_calls(message):
                if call["id"]:
                    asked[call["id"]] = len(calls)
                calls.append(f"{call['name']}({_arguments(call['args'])})")
        elif isinstance(message, ToolMessage):
            if message.tool_call_id not in asked:
                asked[message.tool_call_id] = len(calls)
                calls.append(f"{message.name or 'tool'}()")
            results[asked[message.tool_call_id]] = _result(message)
    return [f"{call} → {results.get(place, 'no result')}" for place, call in enumerate(calls)]


def _arguments(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return _cut(text.removeprefix("{").removesuffix("}"), _ARGUMENTS)


def _result(message: ToolMessage) -> str:
    text = message_text(message).strip()
    if text.startswith(_RECALLED):
        return "memories"
    return ("failed: " if message.status == "error" else "") + (_cut(text, _RESULT) or "done")


def _cut(text: str, limit: int) -> str:
    line = fold(text)
    return line if len(line) <= limit else f"{line[:limit].rstrip()} …"
