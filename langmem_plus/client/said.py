"""Turns out of what a program hands over: a text, LangChain's messages, or OpenAI-style dicts."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage

from langmem_plus.client.thread import new_turns, read_thread
from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.labels import read_id
from langmem_plus.messages import message_text, message_words
from langmem_plus.recall.query import current_name
from langmem_plus.records import MemoryRecord, Scope, parse_epoch, parse_time
from langmem_plus.remember.record import store_turns
from langmem_plus.remember.steps import Steps
from langmem_plus.services import Services
from langmem_plus.shown import shown

Message = BaseMessage | Mapping[str, Any]
Said = str | Message | Sequence[str | Mapping[str, Any]]

_SPEAKERS: dict[str, type[HumanMessage] | type[AIMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
}
# What may stand in a message that has no words.
_WORDLESS = ("tool_calls", "function_call", "refusal", "audio")
_STAMPS = ("created_at", "timestamp")  # when it was said, as `import` reads it
_SILENT = ("system", "developer", "tool", "function")


def add_steps(
    content: str | Message | Sequence[Message], scope: Scope, services: Services
) -> Steps[list[MemoryRecord]]:
    """Write what the thread doesn't hold yet, all in one batch; gives the turns that were written.

    A text is said now, whatever was said before; which messages are new says `thread.new_turns`.

    Raises:
        InvalidValueError: something isn't a message; nothing was written.
    """
    text = isinstance(content, str)
    messages = [HumanMessage(content)] if isinstance(content, str) else [to_message(item) for item in _listed(content)]
    thread = yield from read_thread(scope)
    return (yield from store_turns(scope.namespace, new_turns(messages, thread, scope, services, anew=text)))


def to_message(item: Message) -> BaseMessage:
    """A message from a message or a dict; one that memory doesn't keep (system, tool) comes back as `BaseMessage`.

    Raises:
        InvalidValueError: it isn't one.
    """
    if isinstance(item, ChatMessage):
        _check_role(item.role, item)
        return _SPEAKERS[item.role](**item.model_dump(exclude={"type", "role"})) if item.role in _SPEAKERS else item
    if isinstance(item, BaseMessage):
        return item
    if not isinstance(item, Mapping):
        raise InvalidValueError(f"{shown(item)} isn't a message: give a text, a LangChain message, or a dict.")
    role = _check_role(item.get("role"), item)
    if role in _SPEAKERS:
        _check_words(item)
    content = _content(item.get("content"), item)
    fields: dict[str, Any] = {name: _label(name, item) for name in ("id", "name") if item.get(name) is not None}
    if (stamp := next((name for name in _STAMPS if item.get(name) is not None), None)) is not None:
        fields["additional_kwargs"] = {"created_at": _time(stamp, item)}
    return _SPEAKERS[role](content, **fields) if role in _SPEAKERS else BaseMessage(content="", type=role)


def read_message(message: Said) -> HumanMessage:
    """What the user says now, with an id.

    Raises:
        InvalidValueError: it isn't a message of the user's, or says nothing.
    """
    if isinstance(message, Sequence) and not isinstance(message, str | bytes):
        if any(isinstance(part, BaseMessage) or (isinstance(part, Mapping) and "role" in part) for part in message):
            raise InvalidValueError(
                f"{shown(message)} is a list of messages: chat takes the one that is said now, and knows those before "
                "it; `add` stores a conversation that was led elsewhere."
            )
        message = {"role": "user", "content": list(message)}
    said = HumanMessage(message) if isinstance(message, str) else to_message(message)
    if not isinstance(said, HumanMessage):
        raise InvalidValueError(f"{shown(message)} isn't what a user says: give a text or a HumanMessage.")
    if not message_text(said).strip():
        raise InvalidValueError(f"{shown(message)} says nothing: give the user's words.")
    return said if said.id else said.model_copy(update={"id": str(uuid.uuid4())})


class Query(TypedDict):
    """The words to search by, and who asks, as `recall.recall` takes them."""

    query: str
    asker: str


def read_query(query: str | Message) -> Query:
    """What is asked, and the name of who asks, which a message may have.

    Raises:
        InvalidValueError: it isn't a message of the user's, or says nothing.
    """
    if not isinstance(query, BaseMessage | Mapping):
        return {"query": query, "asker": ""}
    said = read_message(query)
    return {"query": message_words(said), "asker": current_name([said])}


def _check_role(role: Any, item: object) -> str:
    if isinstance(role, str) and (role in _SPEAKERS or role in _SILENT):
        return role
    known = ", ".join((*_SPEAKERS, *_SILENT))
    raise InvalidValueError(f"the role {shown(role)} isn't one of {known}: {shown(item)}")


def _check_words(item: Mapping[str, Any]) -> None:
    """A message without words is one that calls a tool; else what should be its content goes by another name."""
    if "content" not in item and not any(item.get(name) for name in _WORDLESS):
        raise InvalidValueError(
            f'{shown(item)} has no "content", where a message\'s words stand: it has {", ".join(map(repr, item))}.'
        )


def _content(content: Any, item: object) -> str | list[str | dict[Any, Any]]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise InvalidValueError(f"the content {shown(content)} isn't a text or a list of parts: {shown(item)}")
    for part in content:
        known = isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text"), str | None))
        if not known:
            raise InvalidValueError(
                f'the part {shown(part)} isn\'t a text or a dict such as {{"type": "text", "text": "…"}}: {shown(item)}'
            )
    return content


def _label(name: str, item: Mapping[str, Any]) -> str:
    try:
        return read_id(name, item[name])
    except ConfigError as error:
        raise InvalidValueError(f"{error} The message is {shown(item)}") from error


def _time(name: str, item: Mapping[str, Any]) -> dt.datetime:
    value = item[name]
    try:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        time = parse_epoch(value) if number else parse_time(value)
    except ValueError:
        time = None
    if isinstance(time, dt.datetime):
        return time
    raise InvalidValueError(
        f"{name}={shown(value)} isn't a time; write it like 2023-05-08T13:56:00Z, or in seconds since 1970: "
        f"{shown(item)}"
    )


def _listed(content: Message | Sequence[Message]) -> Sequence[Message]:
    if isinstance(content, BaseMessage | Mapping):
        return [content]
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return content
    raise InvalidValueError(
        f"{shown(content)} is nothing that was said: give a text, a message, or a list of messages."
    )
