"""LongMemEval: questions, each with the sessions of a user and an assistant in which its answer stands.

Source: Wu et al. 2025, "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from langmem_plus.importers.parts import Conversation, ImportedMessage, Place, read_label, read_time
from langmem_plus.shown import shown

_DATE = re.compile(r"\s*(\d{4})/(\d{1,2})/(\d{1,2})\s*(?:\([A-Za-z]+\))?\s*(\d{1,2}):(\d{2})\s*")


def is_entry(data: Any) -> bool:
    """Whether something is one of LongMemEval's questions with its sessions."""
    return isinstance(data, Mapping) and isinstance(data.get("haystack_sessions"), list)


def read_entry(data: Mapping[str, Any], place: Place, fallback: str) -> Iterator[Conversation]:
    """The sessions of a question, one thread each; a message's id is its session's and its place in it."""
    sample = read_label(data, "question_id", place) or fallback
    sessions, dates, names = (data.get(f"haystack_{name}") for name in ("sessions", "dates", "session_ids"))
    if not (isinstance(sessions, list) and isinstance(dates, list) and isinstance(names, list)):
        raise place.error("expected haystack_sessions, haystack_dates and haystack_session_ids")
    if not len(sessions) == len(dates) == len(names):
        raise place.error(f"{len(sessions)} sessions have {len(dates)} dates and {len(names)} ids")
    for number, (turns, date, name) in enumerate(zip(sessions, dates, names, strict=True)):
        spot = place / f"haystack_sessions[{number}]"
        if not isinstance(turns, list):
            raise spot.error(f"expected a list of turns, found {shown(turns)}")
        said_at = read_date(date, place / f"haystack_dates[{number}]")
        messages = [_turn(turn, f"{name}:{n}", said_at, spot / f"[{n}]") for n, turn in enumerate(turns)]
        yield Conversation(str(name), messages, sample)


def _turn(data: Any, name: str, said_at: dt.datetime, place: Place) -> ImportedMessage:
    if not isinstance(data, Mapping) or data.get("role") not in ("user", "assistant"):
        raise place.error(f"expected a turn of user or assistant, found {shown(data)}")
    content = data.get("content")
    if not isinstance(content, str):
        raise (place / "content").error(f"expected a text, found {shown(content)}")
    return ImportedMessage(role=data["role"], content=content, name=None, id=name, created_at=said_at)


def read_date(value: Any, place: Place) -> dt.datetime:
    """LongMemEval's ``2023/04/10 (Mon) 17:50``, which names no zone and is taken as UTC."""
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return read_time(value, place)
    year, month, day, hour, minute = map(int, match.groups())
    try:
        return dt.datetime(year, month, day, hour, minute, tzinfo=dt.UTC)
    except ValueError as error:
        raise place.error(f"{value!r} isn't a time: {error}") from error
