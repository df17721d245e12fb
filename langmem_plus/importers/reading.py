"""Which form a file has, and the conversations in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langmem_plus.errors import ImportFileError
from langmem_plus.importers.beam import is_chat, read_chat
from langmem_plus.importers.locomo import is_sample, read_sample
from langmem_plus.importers.longmemeval import is_entry, read_entry
from langmem_plus.importers.mem0 import Export, is_export, read_export
from langmem_plus.importers.parts import Conversation, ImportedMessage, Place, read_label, read_time
from langmem_plus.shown import shown

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}
_KNOWN_ROLES = ("user", "assistant", "system", "developer", "tool", "function")
_CONVERSATIONS = frozenset({"messages", "conversation", "haystack_sessions"})
_TEXTS = ("text", "input_text", "output_text")


def read_messages(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The conversations in a file, in order. A message without a time was said when the one before it was, or, at the
    beginning, the one after it.

    Raises:
        ImportFileError: the file can't be read, or isn't of a known form; the message names the file and the place.
    """
    for found in _read_file(_place_of(path)):
        yield replace(found, messages=_dated(found.messages))


def _dated(messages: Sequence[ImportedMessage]) -> list[ImportedMessage]:
    known = next((message["created_at"] for message in messages if message["created_at"] is not None), None)
    dated: list[ImportedMessage] = []
    for message in messages:
        known = message["created_at"] or known
        dated.append({**message, "created_at": known})
    return dated


def read_file(path: str | os.PathLike[str]) -> list[Conversation] | Export:
    """What a file holds: conversations, or the memories of another system.

    Raises:
        ImportFileError: the file can't be read, or isn't of a known form; the message names the file and the place.
    """
    place = _place_of(path)
    text = _read_text(place.path)
    whole = _parse(text, place)
    if whole is None:
        lines = list(read_lines(text, place))
        if lines and is_export(lines[0][0]):
            return read_export(((data, here) for data, here, _ in lines), place)
        found = _read_each(lines, place)
    elif is_export(whole.data):
        return read_export(iter([(whole.data, place)]), place)
    else:
        found = _read_data(whole.data, place)
    return [replace(each, messages=_dated(each.messages)) for each in found]


@dataclass(frozen=True)
class _Whole:
    """A file that is one JSON document."""

    data: Any


def _place_of(path: str | os.PathLike[str]) -> Place:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ImportFileError(f"the file is {shown(path)}: pass its path, as a text or a Path.")
    return Place(Path(path))


def _read_file(place: Place) -> Iterator[Conversation]:
    text = _read_text(place.path)
    whole = _parse(text, place)
    yield from _read_data(whole.data, place) if whole is not None else _read_each(read_lines(text, place), place)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ImportFileError(f"{path}: can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{path}: byte {error.start} isn't UTF-8; save the file as UTF-8.") from error
    except ValueError as error:  # NUL, or half a surrogate pair
        raise ImportFileError(f"{shown(str(path))} is no path of a file: {error}.") from error


def _parse(text: str, place: Place) -> _Whole | None:
    """The document that a file is; None where it is one a line."""
    if place.path.suffix in (".jsonl", ".ndjson"):
        return None
    if not text.strip():
        raise place.error("the file is empty")
    try:
        return _Whole(json.loads(text))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None
        raise place.error(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(place, error) from error


def _unreadable(place: Place, error: Exception) -> ImportFileError:
    """JSON that is right, but that no program here can hold."""
    deep = isinstance(error, RecursionError)
    return place.error("it is nested too deeply" if deep else "a number in it has thousands of digits; make it a text")


def _read_each(lines: Iterable[tuple[Any, Place, int]], place: Place) -> Iterator[Conversation]:
    """JSON lines: conversations one by one, messages gathered into their threads; questions are passed over."""
    threads = _Threads()
    for data, here, number in lines:
        if is_export(data):
            raise here.error("here stands a memory among messages: import each in a file of its own")
        if isinstance(data, Mapping) and "role" in data:
            threads.add(data, here)
        elif not is_question(data):
            yield from _read_conversation(data, here, f"{place.path.stem}/{number}")
    yield from threads.conversations()


def read_lines(text: str, place: Place) -> Iterator[tuple[Any, Place, int]]:
    """The JSON of each line that isn't blank, where it stands, and its number.

    Raises:
        ImportFileError: a line isn't JSON.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        here = place / f"line {number}"
        try:
            yield json.loads(line), here, number
        except json.JSONDecodeError as error:
            raise here.error(f"column {error.colno}: not JSON: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            raise _unreadable(here, error) from error


def is_question(data: Any) -> bool:
    """Whether a line asks something of the messages, as `langmem_plus.evals.datasets` describes."""
    return isinstance(data, Mapping) and "question" in data and not {"role", "messages", "conversation"} & data.keys()


class _Threads:
    """Messages, gathered into the threads that they name."""

    def __init__(self) -> None:
        self._found: dict[tuple[str | None, str], list[ImportedMessage]] = {}

    def add(self, data: Any, place: Place) -> None:
        """One message more."""
        message = _message(data, place)
        key = read_label(data, "sample_id", place), _thread_id(data, place) or place.path.stem
        self._found.setdefault(key, []).append(message)

    def conversations(self) -> Iterator[Conversation]:
        """The threads, in the order of their first messages."""
        for (sample, thread_id), messages in self._found.items():
            yield Conversation(thread_id, messages, sample)


def _read_data(data: Any, place: Place) -> Iterator[Conversation]:
    """A whole JSON document."""
    if not isinstance(data, list):
        yield from _read_conversation(data, place, place.path.stem)
    elif data and all(isinstance(item, Mapping) and _CONVERSATIONS & item.keys() for item in data):
        for number, item in enumerate(data):
            yield from _read_conversation(item, place / f"[{number}]", f"{place.path.stem}/{number + 1}")
    else:
        threads = _Threads()
        for number, item in enumerate(data):
            threads.add(item, place / f"[{number}]")
        yield from threads.conversations()


def _read_conversation(data: Any, place: Place, thread_id: str) -> Iterator[Conversation]:
    """One conversation, or the sessions of one sample of a data set."""
    for fits, read in ((is_sample, read_sample), (is_entry, read_entry), (is_chat, read_chat)):
        if fits(data):
            yield from read(data, place, thread_id)
            return
    if isinstance(data, list):
        messages = data
    elif isinstance(data, Mapping) and isinstance(data.get("messages"), list):
        messages = data["messages"]
        thread_id = _thread_id(data, place) or thread_id
    else:
        raise place.error(
            'expected a list of messages, {"messages": [...]}, a sample of LoCoMo, LongMemEval or BEAM, or memories of '
            'mem0, {"results": [...]}'
        )
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
    if role in ("user", "assistant") and "content" not in data and isinstance(data.get("text"), str):
        raise place.error(f'"text" isn\'t read: a message\'s words stand in "content"; found {shown(data)}')
    stamp = next((field for field in ("created_at", "timestamp") if data.get(field) is not None), None)
    return ImportedMessage(
        role=role,
        content=_content(data.get("content"), place / "content"),
        name=read_label(data, "name", place),
        id=read_label(data, "id", place),
        created_at=read_time(data[stamp], place / stamp) if stamp else None,
    )


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
