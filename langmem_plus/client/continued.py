"""What the user says now, as the continuation of a thread that the store holds."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage

from langmem_plus.client.explained import run_config
from langmem_plus.client.told import Thread, thread_steps, to_messages, turn_number
from langmem_plus.graph.memory import Continued
from langmem_plus.messages import message_text
from langmem_plus.records import Scope
from langmem_plus.remember.record import event_id, make_turns, store_turns, user_turn
from langmem_plus.remember.steps import Steps
from langmem_plus.services import Services

logger = logging.getLogger(__name__)


@dataclass
class Asked:
    """What is said now, and the graph's input that it became; None until the thread was read."""

    scope: Scope
    said: HumanMessage
    given: Continued | None = None


def continue_thread(thread: Thread, said: HumanMessage, services: Services) -> Continued:
    """The memory graph's input: the end of the thread, and what is said now.

    The number of the last turn is that of all of them, whatever is cut off here. A message that is there already is
    answered once more: what came after it isn't its past, and it is counted, so it isn't stored again.
    """
    turns, known = thread.turns, None
    for place, turn in enumerate(turns):
        if turn.role == "user" and _is(turn.metadata.get("message_id"), turn.text, said):
            turns, known = turns[:place], turn
            break
    last = turn_number(known) if known else max(map(turn_number, turns), default=0)
    shown_turns = Thread(turns).alive(services.clock())[-services.config.tail_messages :]
    history = [message for message in to_messages(shown_turns) if message.id != said.id]
    before = next((message.id for message in reversed(history) if isinstance(message, HumanMessage)), None)
    return {
        "messages": [*cast(list[AnyMessage], history), said],
        "memory_turn": max(last, 0),
        "memory_counted": said.id if known else before,
    }


def _is(message_id: object, text: str, said: HumanMessage) -> bool:
    return message_id == said.id and text == message_text(said)


def read_steps(asked: Asked, services: Services) -> Steps[Continued]:
    """Read the thread, and make the graph's input of it."""
    thread = (yield from thread_steps(asked.scope)) if asked.scope.thread_id else Thread([])
    asked.given = continue_thread(thread, asked.said, services)
    return asked.given


def keep_steps(asked: Asked, services: Services) -> Steps[bool]:
    """Store what the user says, as the memory graph does before its agent runs; gives whether it wasn't there yet.

    Where the thread couldn't be read it is tried once more; if that fails, too, the words go to its beginning, and it
    is the time at which they were said that tells their place.
    """
    config = run_config(asked.scope)
    if services.is_incognito(config):
        return False
    given = asked.given
    if given is None:
        try:
            given = yield from read_steps(asked, services)
        except Exception as error:  # noqa: BLE001 - whatever the store raises, the words are worth a try
            logger.warning("memory: the thread can't be read: %s", error)
            given = continue_thread(Thread([]), asked.said, services)
    messages = given["messages"]
    turn, new = user_turn(messages, given["memory_turn"], given["memory_counted"])
    event = event_id(messages, config)
    turns = make_turns(new, "user", asked.scope, turn, now=services.clock(), config=services.config, event=event)
    return bool((yield from store_turns(asked.scope.namespace, turns)))
