"""LoCoMo: samples of two people who talk; ``session_1``, ``session_1_date_time``, …

Source: Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from langmem_plus.importers.parts import MONTHS, Conversation, ImportedMessage, Place, read_label, read_time
from langmem_plus.shown import shown

_SESSION_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]{3})[a-z]*,?\s+(\d{4})\s*", re.I)
_SESSION = re.compile(r"session_(\d{1,18})")


def is_sample(data: Any) -> bool:
    """Whether something is one of LoCoMo's samples."""
    return isinstance(data, Mapping) and isinstance(data.get("conversation"), Mapping)


def read_sample(data: Mapping[str, Any], place: Place, fallback: str) -> Iterator[Conversation]:
    """A LoCoMo sample: one thread a session, ``conv-26/session_1``.

    Two people talk, none of them an assistant, so both are ``user``: what either says is their own word and counts as
    a source of facts. Who it was stands in ``name``.
    """
    sample = read_label(data, "sample_id", place) or fallback
    sessions = data["conversation"]
    place = place / "conversation"
    found = sorted((int(match[1]), name) for name in sessions if (match := _SESSION.fullmatch(name)))
    if not found:
        raise place.error("there is no session_1, session_2, …")
    for _, name in found:
        stamp = sessions.get(f"{name}_date_time")
        said_at = None if stamp is None else _session_time(stamp, place / f"{name}_date_time")
        if not isinstance(sessions[name], list):
            raise (place / name).error(f"expected a list of turns, found {shown(sessions[name])}")
        turns = [_turn(turn, said_at, place / f"{name}[{number}]") for number, turn in enumerate(sessions[name])]
        yield Conversation(f"{sample}/{name}", turns, sample)


def _turn(data: Any, said_at: dt.datetime | None, place: Place) -> ImportedMessage:
    if not isinstance(data, Mapping) or not isinstance(data.get("speaker"), str):
        raise place.error(f"expected a turn with speaker and text, found {shown(data)}")
    text, caption = data.get("text") or "", data.get("blip_caption")
    if not isinstance(text, str):
        raise (place / "text").error(f"expected a text, found {shown(text)}")
    content = " ".join(part for part in (text.strip(), f"[image: {caption}]" if caption else "") if part)
    return ImportedMessage(
        role="user", content=content, name=data["speaker"], id=read_label(data, "dia_id", place), created_at=said_at
    )


def _session_time(value: Any, place: Place) -> dt.datetime:
    """LoCoMo's ``1:56 pm on 8 May, 2023``, which names no zone and is taken as UTC, in any locale."""
    match = _SESSION_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[5].lower() not in MONTHS:
        return read_time(value, place)
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    try:
        month = MONTHS.index(match[5].lower()) + 1
        return dt.datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=dt.UTC)
    except ValueError as error:
        raise place.error(f"{value!r} isn't a time: {error}") from error
