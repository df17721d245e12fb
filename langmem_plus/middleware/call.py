"""The messages of a run: where the user's last words are, the request with recalled text at them, and the reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.graph.message import add_messages

from langmem_plus.messages import message_words
from langmem_plus.recall.inject import apply_context
from langmem_plus.state import MemoryState

Request = ModelRequest[Any]


def said_place(messages: Sequence[BaseMessage], said: str | None) -> int | None:
    """The place of the user's last words: the message whose id is ``said``, else the last one that nobody else
    wrote in the user's name, else the last one of any kind; None where there is none.
    """
    people = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    named = [place for place in people if said is not None and messages[place].id == said]
    own = [place for place in people if not messages[place].additional_kwargs.get("lc_source")]
    return next((places[-1] for places in (named, own, people) if places), None)


def asked_thread(messages: Sequence[AnyMessage], said: str | None, asked: str | None) -> list[AnyMessage]:
    """The thread as recall reads it: the user's words are the last that stand in a person's name.

    Args:
        messages: what a model would see.
        said: the id of the user's words.
        asked: what they are. Where they were taken away, as by a summary, they stand after what stands for them.
    """
    place = said_place(messages, said)
    if place is None:
        return list(messages)
    since: list[AnyMessage] = [message for message in messages[place + 1 :] if not isinstance(message, HumanMessage)]
    own = [HumanMessage(asked, id=said)] if asked and messages[place].id != said else []
    return [*messages[: place + 1], *own, *since]


def inject(request: Request, context: str, place: int | None) -> Request:
    """The request with the context in the message at ``place``, or in the system message where there is no place.

    Everything before that message stays as it is, byte for byte; without a context, all does.
    """
    if not context:
        return request
    messages = request.messages
    if place is not None:
        return request.override(
            messages=[*apply_context(messages[: place + 1], context, "user"), *messages[place + 1 :]]
        )
    if request.system_message is None and any(isinstance(message, SystemMessage) for message in messages):
        return request.override(messages=apply_context(messages, context, "system"))
    given = [] if request.system_message is None else [request.system_message]
    return request.override(system_message=apply_context(given, context, "system")[0])


def reply_thread(messages: Sequence[AnyMessage], said: str | None, *, structured: bool) -> list[AnyMessage]:
    """The thread as the reply is read from it: nothing after the user's words stands in a person's name.

    Args:
        messages: the thread when the run is over. The user's words may have been summarised away: then the summary, or
            an empty message where there is none, has their id.
        said: the id of the user's words.
        structured: the run ended in a structured answer; where that is a tool call without a word, its message says it
            as JSON, as it does with providers that answer in JSON.
    """
    place = said_place(messages, said)
    before, since = ([], messages) if place is None else (messages[:place], messages[place + 1 :])
    spoken = HumanMessage("") if place is None else messages[place]
    reply: list[AnyMessage] = [message for message in since if not isinstance(message, HumanMessage)]
    last = next((n for n in range(len(reply) - 1, -1, -1) if isinstance(reply[n], AIMessage)), None)
    if structured and last is not None:
        reply[last] = _in_words(reply[last])
    return [*before, spoken.model_copy(update={"id": said or spoken.id}), *reply]


def shortened(known: MemoryState, update: Mapping[str, Any]) -> dict[str, Any]:
    """Take a stage's removals out of the messages, and take over its report; gives what the agent's thread is told."""
    if "memory_report" in update:
        known["memory_report"] = update["memory_report"]
    if "messages" not in update:
        return {}
    known["messages"] = cast(list[AnyMessage], add_messages(cast(Any, known["messages"]), update["messages"]))
    return {"messages": update["messages"]}


def _in_words(message: AnyMessage) -> AnyMessage:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    if message_words(message) or not calls:
        return message
    return message.model_copy(update={"content": json.dumps(calls[-1]["args"], ensure_ascii=False)})
