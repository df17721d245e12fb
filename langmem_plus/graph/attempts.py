"""Messages without an id, told apart by the task that says them.

A node's function that calls a graph may run again: it is retried, or resumed after an interrupt. A message that it
makes has no id, and would be another event each time; its id is made of the task, which stays the same, of its words,
and of how often they were said before in this attempt.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages

from langmem_plus.identity import current_runtime

KEPT_ATTEMPTS = 1000  # of the tasks that are running; only those that run at a time need be known

_lock = threading.Lock()
_said: OrderedDict[tuple[Any, ...], Counter[str]] = OrderedDict()


def told(input: Any) -> Any:
    """A graph's input, in which each message has an id where a task's function calls the graph; else as it is."""
    runtime = current_runtime()
    info = getattr(runtime, "execution_info", None)
    if info is None or not isinstance(input, Mapping) or not input.get("messages"):
        return input
    given = input["messages"]
    messages = convert_to_messages(given if isinstance(given, list | tuple) else [given])
    if all(message.id for message in messages):
        return input
    attempt = (info.checkpoint_ns, info.task_id, info.node_first_attempt_time, info.node_attempt)
    return {**input, "messages": [each if each.id else _identified(each, attempt) for each in messages]}


def _identified(message: BaseMessage, attempt: tuple[Any, ...]) -> BaseMessage:
    words = hashlib.sha256(repr((message.type, message.content)).encode("utf-8", "surrogatepass")).hexdigest()
    with _lock:
        counts = _said.setdefault(attempt, Counter())
        _said.move_to_end(attempt)
        number = counts[words]
        counts[words] += 1
        while len(_said) > KEPT_ATTEMPTS:
            _said.popitem(last=False)
    task = "/".join(map(str, attempt[:2]))
    return message.model_copy(update={"id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{task}/{words}/{number}"))})
