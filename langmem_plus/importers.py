"""Conversations from files of other systems: OpenAI-style messages as JSON or JSONL, and LoCoMo's sessions.

`read_messages` finds out which it is:

- a list of messages, ``{"messages": [...]}``, or a list of such conversations;
- JSON lines, each a message or a conversation (``.jsonl``, or a file that can only be read so);
- LoCoMo: samples whose ``conversation`` holds ``session_1``, ``session_1_date_time``, …; one session is one thread.

A message has ``role`` and ``content``, and may have ``id``, ``name``, ``created_at`` (or ``timestamp``) and
``thread_id``. Pictures become words, ``[image: caption]``, because memory keeps text.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from langmem_plus.errors import ImportFileError
from langmem_plus.records import parse_epoch, parse_time
from langmem_plus.shown import shown

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}
_KNOWN_ROLES = ("user", "assistant", "system", "developer", "tool", "function")
_TEXTS = ("text", "input_text", "output_text")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SESSION_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]{3})[a-z]*,?\s+(\d{4})\s*", re.I)
_SESSION = re.compile(r"session_(\d{1,18})")


class ImportedMessage(TypedDict):
    """One message, as `MemoryClient.add` takes it; what the file doesn't say is None."""

    role: str
    content: str
    name: str | None
    id: str | None
    created_at: dt.datetime | None


@dataclass(frozen=True)
class Conversation:
    """One thread of a file.

    Args:
        thread_id: the file's own name for it, or one made of the file's name and the conversation's number.
        messages: in order; times are aware UTC.
        sample_id: which of several independent groups of threads it belongs to (a LoCoMo sample, i.e. two people), so
            that an importer can give each a user or a space of its own; None where a file has no such groups.
    """

    thread_id: str
    messages: list[ImportedMessage]
    sample_id: str | None = None


def read_messages(path: str | Path) -> Iterator[Conversation]:
    """The conversations in a file, in order. A message without a time was said when the one before it was, or, at the
    beginning, the one after it.

    Raises:
        ImportFileError: the file can't be read, or isn't of a known form; the message names the file and the place.
    """
    for found in _read_file(Path(path)):
        yield replace(found, messages=_dated(found.messages))


def _dated(messages: Sequence[ImportedMessage]) -> list[ImportedMessage]:
    known = next((message["created_at"] for message in messages if message["created_at"] is not None), None)
    dated: list[ImportedMessage] = []
    for message in messages:
        known = message["created_at"] or known
        dated.append({**message, "created_at": known})
    return dated


def _read_file(path: Path) -> Iterator[Conversation]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ImportFileError(f"{path}: can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{path}: byte {error.start} isn't UTF-8; save the file as UTF-8.") from error
    place = Place(path)
    if path.suffix in (".jsonl", ".ndjson"):
        yield from _read_lines(text, place)
        return
    if not text.strip():
        raise place.error("the file is empty")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise place.error(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
        yield from _read_lines(text, place)
        return
    except (ValueError, RecursionError) as error:
        raise _unreadable(place, error) from error
    yield from _read_data(data, place)


@dataclass(frozen=True)
class Place:
    """Where in a file something stands, for messages that help."""

    path: Path
    spot: str = ""

    def __truediv__(self, spot: str) -> Place:
        return Place(self.path, f"{self.spot}{'.' if self.spot and not spot.startswith('[') else ''}{spot}")

    def error(self, problem: str) -> ImportFileError:
        """The error to raise here."""
        return ImportFileError(f"{self.path}: {self.spot + ': ' if self.spot else ''}{problem}.")


def _unreadable(place: Place, error: Exception) -> ImportFileError:
    """JSON that is right, but that no program here can hold."""
    deep = isinstance(error, RecursionError)
    return place.error("it is nested too deeply" if deep else "a number in it has thousands of digits; make it a text")


def _read_lines(text: str, place: Place) -> Iterator[Conversation]:
    """JSON lines: conversations one by one, messages gathered into their threads."""
    threads: dict[str, list[ImportedMessage]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        here = place / f"line {number}"
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise here.error(f"column {error.colno}: not JSON: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            raise _unreadable(here, error) from error
        if isinstance(data, Mapping) and "role" in data:
            thread_id = _thread_id(data, here) or place.path.stem
            threads.setdefault(thread_id, []).append(_message(data, here))
        else:
            yield from _read_conversation(data, here, f"{place.path.stem}/{number}")
    for thread_id, messages in threads.items():
        yield Conversation(thread_id, messages)


def _read_data(data: Any, place: Place) -> Iterator[Conversation]:
    """A whole JSON document."""
    if not isinstance(data, list):
        yield from _read_conversation(data, place, place.path.stem)
    elif data and all(isinstance(item, Mapping) and ("messages" in item or "conversation" in item) for item in data):
        for number, item in enumerate(data):
            yield from _read_conversation(item, place / f"[{number}]", f"{place.path.stem}/{number + 1}")
    else:
        threads: dict[str, list[ImportedMessage]] = {}
        for number, item in enumerate(data):
            here = place / f"[{number}]"
            message = _message(item, here)
            threads.setdefault(_thread_id(item, here) or place.path.stem, []).append(message)
        for thread_id, messages in threads.items():
            yield Conversation(thread_id, messages)


def _read_conversation(data: Any, place: Place, thread_id: str) -> Iterator[Conversation]:
    """One conversation, or the sessions of one LoCoMo sample."""
    if isinstance(data, list):
        messages = data
    elif isinstance(data, Mapping) and isinstance(data.get("conversation"), Mapping):
        yield from _read_sample(data, place, thread_id)
        return
    elif isinstance(data, Mapping) and isinstance(data.get("messages"), list):
        messages = data["messages"]
        thread_id = _thread_id(data, place) or thread_id
    else:
        raise place.error('expected a list of messages, {"messages": [...]}, or a LoCoMo sample')
    spots = [place / f"messages[{number}]" for number in range(len(messages))]
    yield Conversation(thread_id, [_message(item, spot) for item, spot in zip(messages, spots, strict=True)])


def _thread_id(data: Mapping[str, Any], place: Place) -> str | None:
    """The conversation's own name; a message's ``id`` is the message's, so there only ``thread_id`` counts."""
    names = ("thread_id",) if "role" in data else ("thread_id", "conversation_id", "id")
    value = next((data[name] for name in names if data.get(name) is not None), None)
    if value is not None and not isinstance(value, str | int):
        raise place.error(f"the thread's id is {value!r}, expected a text")
    return None if value is None else str(value)


def _message(data: Any, place: Place) -> ImportedMessage:
    if not isinstance(data, Mapping):
        raise place.error(f"expected a message with role and content, found {shown(data)}")
    role = data.get("role")
    role = _ROLES.get(role, role) if isinstance(role, str) else role
    if role not in _KNOWN_ROLES:
        raise (place / "role").error(f"{shown(data.get('role'))} isn't one of {', '.join(_KNOWN_ROLES)}")
    stamp = next((field for field in ("created_at", "timestamp") if data.get(field) is not None), None)
    return ImportedMessage(
        role=role,
        content=_content(data.get("content"), place / "content"),
        name=_label(data, "name", place),
        id=_label(data, "id", place),
        created_at=_time(data[stamp], place / stamp) if stamp else None,
    )


def _label(data: Mapping[str, Any], field: str, place: Place) -> str | None:
    """A name or an id: a text, or a number as its text."""
    value = data.get(field)
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise (place / field).error(f"expected a text or a number, found {shown(value)}")
    return str(value)


def _content(value: Any, place: Place) -> str:
    """The text of a message: a text, or OpenAI's list of parts, of which only texts have words."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise place.error(f"expected a text or a list of parts, found {shown(value)}")
    texts = []
    for number, part in enumerate(value):
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else None
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(text, str):
            texts.append(text)
        elif kind in _TEXTS and isinstance(part, Mapping):
            if text is not None:
                raise (place / f"[{number}].text").error(f"expected a text, found {shown(text)}")
        elif isinstance(kind, str):
            texts.append(f"[{kind.removeprefix('input_').removesuffix('_url')}]")
        else:
            raise (place / f"[{number}]").error(f"expected a part with a type, found {shown(part)}")
    return "\n".join(texts)


def _time(value: Any, place: Place) -> dt.datetime:
    """A time as people and programs write it: ISO 8601, or seconds or milliseconds since 1970."""
    try:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        time = parse_epoch(value) if number else parse_time(value)
    except ValueError as error:
        raise place.error(f"{shown(value)} isn't a time: {error}") from error
    if not isinstance(time, dt.datetime):
        raise place.error(f"{shown(value)} isn't a time; write it like 2023-05-08T13:56:00Z")
    return time


def _read_sample(data: Mapping[str, Any], place: Place, fallback: str) -> Iterator[Conversation]:
    """A LoCoMo sample: one thread a session, ``conv-26/session_1``.

    Two people talk, none of them an assistant, so both are ``user``: what either says is their own word and counts as
    a source of facts. Who it was stands in ``name``.

    Source: Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents".
    """
    sample = _label(data, "sample_id", place) or fallback
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
        role="user", content=content, name=data["speaker"], id=_label(data, "dia_id", place), created_at=said_at
    )


def _session_time(value: Any, place: Place) -> dt.datetime:
    """LoCoMo's ``1:56 pm on 8 May, 2023``, which names no zone and is taken as UTC, in any locale."""
    match = _SESSION_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[5].lower() not in _MONTHS:
        return _time(value, place)
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    try:
        month = _MONTHS.index(match[5].lower()) + 1
        return dt.datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=dt.UTC)
    except ValueError as error:
        raise place.error(f"{value!r} isn't a time: {error}") from error
