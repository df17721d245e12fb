"""Which messages of a thread are old enough to leave it, and how they are taken out; no I/O, no summary.

A thread is cut between turns: what stays of it begins with a person's words, and each call stays with its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langmem_plus.messages import last_human, tool_calls, units

Stretch = tuple[int, ...]  # the places of the messages of one turn, in order; without system messages


def stretches(messages: Sequence[BaseMessage]) -> list[Stretch]:
    """A thread's turns: what people said in a row, and everything up to where one speaks again; a tool round is never
    parted, whoever speaks within it. What comes before a person's first words is a stretch, too.
    """
    found: list[list[int]] = []
    is_speaking = False
    for unit in units(messages):
        places = [n for n in range(unit.start, unit.stop) if not isinstance(messages[n], SystemMessage)]
        if not places:
            continue
        speaks = isinstance(messages[places[0]], HumanMessage)
        if not found or (speaks and not is_speaking):
            found.append([])
        found[-1] += places
        is_speaking = isinstance(messages[places[-1]], HumanMessage)
    return [tuple(places) for places in found]


def old_stretches(messages: Sequence[BaseMessage], keep: int) -> list[Stretch]:
    """The turns that may leave the thread: none of the last ``keep`` messages (system messages don't count), nor the
    last words of a person, nor a call that waits for its result, is in them.
    """
    current = last_human(messages)
    spoken = [place for place, message in enumerate(messages) if not isinstance(message, SystemMessage)]
    if current is None or len(spoken) <= keep:
        return []
    end = min(current, spoken[-keep])
    return [places for places in stretches(messages) if places[-1] < end and not _is_open(messages, places)]


def _is_open(messages: Sequence[BaseMessage], places: Stretch) -> bool:
    """Whether a tool call has no result; one without an id can't have one."""
    waiting: set[str | None] = set()
    for message in (messages[place] for place in places):
        if isinstance(message, AIMessage):
            waiting |= {call["id"] for call in tool_calls(message)}
        elif isinstance(message, ToolMessage):
            waiting.discard(message.tool_call_id)
    return bool(waiting)


def removals(messages: Sequence[BaseMessage], gone: Collection[int]) -> list[BaseMessage]:
    """What takes the messages at those places out of a thread's channel: their removal by id, or, where ids are missing
    or aren't one message's alone, the removal of all, and then those that stay.
    """
    ids = Counter(message.id for message in messages)
    if all(messages[place].id and ids[messages[place].id] == 1 for place in gone):
        return [RemoveMessage(id=str(messages[place].id)) for place in sorted(gone)]
    kept = [message for place, message in enumerate(messages) if place not in gone]
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]
