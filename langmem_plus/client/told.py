"""A thread out of the store: its turns in order, as LangChain's messages, and its summary."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.store.base import GetOp, Op, SearchOp

from langmem_plus.errors import InvalidValueError
from langmem_plus.fence import escape, fence
from langmem_plus.prompts import SUMMARY_HEADING
from langmem_plus.recall import read_item
from langmem_plus.records import FORGOTTEN, TURN_ROLES, MemoryRecord, Scope, format_time, summary_key
from langmem_plus.remember.steps import PAGE, Batch, Steps
from langmem_plus.shown import shown

SUMMARY_MARK = "thread_summary"  # in a message's additional_kwargs: it is no message, but a thread's summary


@dataclass(frozen=True)
class Thread:
    """What a thread holds.

    Attributes:
        turns: all of them in their order, those that were deleted or forgotten, too.
        summary: the rolling summary; None where there is none.
    """

    turns: list[MemoryRecord]
    summary: MemoryRecord | None = None

    def alive(self, now: dt.datetime) -> list[MemoryRecord]:
        """The turns that somebody may read: in force, not forgotten, not expired."""
        return [turn for turn in self.turns if _lives(turn, now) and not turn.metadata.get(FORGOTTEN)]


def thread_steps(scope: Scope) -> Steps[Thread]:
    """Read the scope's thread."""
    turns: list[MemoryRecord] = []
    ops: list[Op] = [GetOp(scope.namespace, summary_key(scope), refresh_ttl=False)]
    ops += [_page(scope, role, 0) for role in TURN_ROLES]
    item, *pages = yield Batch(ops)
    summary = read_item(item, scope) if item is not None else None
    for role, first in zip(TURN_ROLES, pages, strict=True):
        page, offset = first, 0
        while True:
            own = [found for found in page if tuple(found.namespace) == scope.namespace]
            turns += [record for record in (read_item(found, scope) for found in own) if record is not None]
            if len(page) < PAGE:
                break
            offset += PAGE
            (page,) = yield Batch([_page(scope, role, offset)])
    once = {turn.id: turn for turn in turns}  # a page may begin anew where something was written meanwhile
    return Thread(sorted(once.values(), key=_place), summary if summary and summary.role == "summary" else None)


def _page(scope: Scope, role: str, offset: int) -> SearchOp:
    wanted = {"role": role, "thread_id": scope.thread_id}
    return SearchOp(scope.namespace, filter=wanted, limit=PAGE, offset=offset)


def _place(turn: MemoryRecord) -> tuple[Any, ...]:
    """Where a turn stands: when it was written, and among those of one write its number and its place.

    Not when it was said: of some nobody knows. Not its number alone: who keeps no count begins each call at 1.
    """
    return (turn.created_at, turn_number(turn), _number(turn, "position"), turn.id)


def turn_number(turn: MemoryRecord) -> int:
    """The number of its turn in the thread; 0 where nobody knows."""
    return _number(turn, "turn")


def _number(turn: MemoryRecord, name: str) -> int:
    found = turn.metadata.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _lives(record: MemoryRecord, now: dt.datetime) -> bool:
    return record.status == "active" and not record.has_ended(now)


def check_limit(limit: int | None) -> int | None:
    """The limit.

    Raises:
        InvalidValueError: it is no number of messages.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidValueError(f"limit={shown(limit)}: give a number of messages, 0 or more, or None for all.")
    return limit


def to_messages(turns: Sequence[MemoryRecord]) -> list[BaseMessage]:
    """The turns as messages, each with an id that no other one of them has: its message's, else its record's."""
    found: list[BaseMessage] = []
    known: set[str] = set()
    for turn in turns:
        message = to_message(turn, known)
        known.add(message.id or "")
        found.append(message)
    return found


def to_message(turn: MemoryRecord, taken: set[str] = frozenset()) -> BaseMessage:  # type: ignore[assignment] # is only read
    """One turn as a message; its record's id where it has none of its own, or one that is taken."""
    own, name = turn.metadata.get("message_id"), turn.metadata.get("name")
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(
        turn.text,
        id=own if isinstance(own, str) and own and own not in taken else turn.id,
        name=name if isinstance(name, str) else None,
        additional_kwargs={"created_at": format_time(turn.said_at)},
    )


def summary_message(summary: MemoryRecord | None, now: dt.datetime) -> list[BaseMessage]:
    """The summary as a message of the system, fenced as data and marked as what it is; nothing where there is none."""
    if summary is None or not _lives(summary, now):
        return []
    marks: dict[str, Any] = {SUMMARY_MARK: True, "created_at": format_time(summary.updated_at)}
    if summary.covers_until:
        marks["covers_until"] = format_time(summary.covers_until)
    return [SystemMessage(fence(escape(f"{SUMMARY_HEADING}\n{summary.text}")), id=summary.id, additional_kwargs=marks)]
