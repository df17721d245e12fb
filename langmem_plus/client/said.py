"""Turns out of what a program hands over: a text, LangChain's messages, or OpenAI-style dicts."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import PutOp

from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryRecord, Scope, parse_time, record_id
from langmem_plus.remember.record import make_turns
from langmem_plus.remember.steps import Batch, Steps, get_records
from langmem_plus.services import Services

Message = BaseMessage | Mapping[str, Any]

_SPEAKERS: dict[str, type[HumanMessage] | type[AIMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
}
_SILENT = ("system", "developer", "tool", "function")


def turns_of(content: str | Message | Sequence[Message], scope: Scope, services: Services) -> list[MemoryRecord]:
    """The turns in a text or in messages, in order, with their keys.

    Raises:
        InvalidValueError: something isn't a message.
    """
    now, config = services.clock(), services.config
    messages = [HumanMessage(content)] if isinstance(content, str) else [to_message(item) for item in _listed(content)]
    turns: list[MemoryRecord] = []
    turn = position = 0
    for message in messages:
        turn, position = (turn + 1, 0) if isinstance(message, HumanMessage) else (turn, position + 1)
        role: Literal["user", "assistant"] = "user" if isinstance(message, HumanMessage) else "assistant"
        for record in make_turns([message], role, scope, max(turn, 1), now=now, config=config, position=position):
            # The words of a text, or those that belong to no conversation, are said anew with every call.
            single = isinstance(content, str) or (scope.thread_id is None and not message.id)
            event = uuid.uuid4().hex if single else message.id
            turns.append(record.model_copy(update={"id": _key(record, scope, event)}) if event else record)
    return turns


def to_message(item: Message) -> BaseMessage:
    """A message from a message or a dict; one that memory doesn't keep (system, tool) comes back as `BaseMessage`.

    Raises:
        InvalidValueError: it isn't one.
    """
    if isinstance(item, BaseMessage):
        return item
    if not isinstance(item, Mapping):
        raise InvalidValueError(f"{item!r} isn't a message: give a text, a LangChain message, or a dict.")
    role, content, created_at = item.get("role"), item.get("content"), item.get("created_at")
    if role not in _SPEAKERS and role not in _SILENT:
        raise InvalidValueError(f"the role {role!r} isn't one of {', '.join((*_SPEAKERS, *_SILENT))}: {item!r}")
    if content is not None and not isinstance(content, str | list):
        raise InvalidValueError(f"the content {content!r} isn't a text or a list of parts: {item!r}")
    if created_at is not None and not isinstance(_time(created_at), dt.datetime):
        raise InvalidValueError(f"created_at={created_at!r} isn't a time; write it like 2023-05-08T13:56:00Z: {item!r}")
    fields: dict[str, Any] = {name: str(item[name]) for name in ("id", "name") if item.get(name) is not None}
    if created_at is not None:
        fields["additional_kwargs"] = {"created_at": created_at}
    if role in _SILENT:
        return BaseMessage(content="", type=str(role))
    return _SPEAKERS[str(role)](content or "", **fields)


def _time(value: Any) -> Any:
    try:
        return parse_time(value)
    except ValueError:
        return None


def _listed(content: Message | Sequence[Message]) -> Sequence[Message]:
    if isinstance(content, BaseMessage | Mapping):
        return [content]
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return content
    raise InvalidValueError(f"{content!r} is nothing that was said: give a text, a message, or a list of messages.")


def _key(record: MemoryRecord, scope: Scope, event: str) -> str:
    """The key of a turn that is told by an id of its own, not by its place."""
    return record_id("turn", *scope.namespace, scope.thread_id or "", event, record.role, record.text)


def store_new(namespace: tuple[str, ...], turns: Sequence[MemoryRecord]) -> Steps[list[MemoryRecord]]:
    """Write the turns whose keys aren't there yet, all in one batch; gives them."""
    known = yield from get_records(namespace, [turn.id for turn in turns])
    missing = {turn.id: turn for turn in turns if turn.id not in known}
    if missing:
        yield Batch([PutOp(namespace, key, turn.to_value()) for key, turn in missing.items()])
    return [*missing.values()]
