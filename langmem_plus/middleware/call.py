"""One model call: where in it the user's last words are, and the request with recalled text at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langmem_plus.recall.inject import apply_context

Request = ModelRequest[Any]


def said_place(messages: Sequence[BaseMessage], counted: str | None) -> int | None:
    """The place of the user's last words: the message that was counted, else the last one that nobody else wrote in
    the user's name, else the last one of any kind; None where there is none.
    """
    people = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    named = [place for place in people if counted is not None and messages[place].id == counted]
    own = [place for place in people if not messages[place].additional_kwargs.get("lc_source")]
    return next((places[-1] for places in (named, own, people) if places), None)


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
