"""BEAM: long chats of a user and an assistant, flattened to ``messages`` with ``text``, ``session`` and ``time``.

Source: Tavakoli et al. 2025, "Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from langmem_plus.importers.parts import MONTHS, Conversation, ImportedMessage, Place, read_label, read_time
from langmem_plus.shown import shown

_DAY = re.compile(r"\s*([A-Za-z]{3})[a-z]*-(\d{1,2})-(\d{4})\s*")


def is_chat(data: Any) -> bool:
    """Whether something is one of BEAM's chats."""
    messages = data.get("messages") if isinstance(data, Mapping) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, Mapping) and {"session", "text"} <= first.keys()


def read_chat(data: Mapping[str, Any], place: Place, fallback: str) -> Iterator[Conversation]:
    """The sessions of a chat, one thread each, ``100K-1/session-1``. A day without an hour is its beginning."""
    sample = read_label(data, "id", place) or fallback
    sessions: dict[str, list[ImportedMessage]] = {}
    for number, item in enumerate(data["messages"]):
        spot = place / f"messages[{number}]"
        if not isinstance(item, Mapping) or item.get("role") not in ("user", "assistant"):
            raise spot.error(f"expected a message of user or assistant, found {shown(item)}")
        if not isinstance(item.get("text"), str):
            raise (spot / "text").error(f"expected a text, found {shown(item.get('text'))}")
        time = None if item.get("time") is None else read_day(item["time"], spot / "time")
        name = f"{sample}/session-{read_label(item, 'session', spot)}"
        sessions.setdefault(name, []).append(
            ImportedMessage(
                role=item["role"], content=item["text"], name=None, id=read_label(item, "id", spot), created_at=time
            )
        )
    for name, messages in sessions.items():
        yield Conversation(name, messages, sample)


def read_day(value: Any, place: Place) -> dt.datetime:
    """BEAM's ``March-15-2024``, taken as midnight UTC, in any locale."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1].lower() not in MONTHS:
        return read_time(value, place)
    try:
        return dt.datetime(int(match[3]), MONTHS.index(match[1].lower()) + 1, int(match[2]), tzinfo=dt.UTC)
    except ValueError as error:
        raise place.error(f"{value!r} isn't a time: {error}") from error
