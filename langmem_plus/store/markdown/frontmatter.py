"""One entry as a Markdown file, both ways, exactly: front matter, then the text as the body.

A record's fields that have their default are left out; a foreign value stands whole in ``value``, its ``text`` or
``content`` as the body. ``stored`` holds what the store itself needs to know.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from langmem_plus.errors import InvalidValueError
from langmem_plus.labels import decode_label
from langmem_plus.records import MemoryRecord, format_time, parse_time, record_id
from langmem_plus.store.markdown.entry import RECORD_FIELDS, RETIRED, Entry
from langmem_plus.store.markdown.fields import UnreadableFileError, read_fields, write_fields
from langmem_plus.store.markdown.layout import decode_name, is_deleted, role_of
from langmem_plus.store.markdown.misplaced import above_front, lost_front
from langmem_plus.store.ttl import check_minutes, minutes_after
from langmem_plus.store.values import check_value

_FENCE = "---\n"
_FRONT = re.compile(r"---[ \t]*\n((?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_MEMORIES = "memories"  # the first label of the usual template
_BODY_FIELDS = ("text", "content")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_STAMPED = re.compile(r"\d{8}T[\d-]+Z__(.+)")
_TEXT_FIELDS = ("id", "role", "text", "user_id", "space", "thread_id", "agent_id", "replaced_by", "summary_kind")
_LIST_FIELDS = ("tags", "source_ids", "replaces")
_DEFAULTS: dict[str, str] = {
    name: json.dumps(value)
    for name, value in MemoryRecord(id="", text="", user_id="").model_dump(mode="json").items()
    if name not in ("id", "role", "text", "user_id", "space", "created_at", "updated_at")
}


def render(entry: Entry, namespace: tuple[str, ...] = ()) -> str:
    """The file of an entry. One whose record names another user or space than its namespace says so, or it would be
    taken for one that a person moved.
    """
    stored: dict[str, Any] = {}
    fields, body = _record_fields(entry.value) if entry.role is not None else _foreign_fields(entry, stored)
    stored.update(created_at=entry.created_at, updated_at=entry.updated_at)
    if entry.role is not None and any(entry.value[name] != label for name, label in _owner(namespace).items()):
        stored["elsewhere"] = True
    if entry.index is not None:
        stored["index"] = entry.index
    times = {"removed_at": entry.removed_at, "ttl": entry.ttl, "expires_at": entry.expires_at}
    stored.update({name: held for name, held in times.items() if held is not None})
    return f"{_FENCE}{write_fields([*fields, ('stored', stored)])}{_FENCE}{body}\n"


def _record_fields(value: dict[str, Any]) -> tuple[list[tuple[str, Any]], str]:
    fields = [
        (name, value[name])
        for name in RECORD_FIELDS
        if name not in ("text", "last_scores") and json.dumps(value[name]) != _DEFAULTS.get(name)
    ]
    # An empty body is one that a person lost, so an empty text stands among the fields.
    if not value["text"].strip() or _UNPRINTABLE.search(value["text"]):
        return [*fields, ("text", value["text"])], ""
    return fields, value["text"]


def _foreign_fields(entry: Entry, stored: dict[str, Any]) -> tuple[list[tuple[str, Any]], str]:
    stored["key"] = entry.key
    for name in _BODY_FIELDS:
        text = entry.value.get(name)
        if isinstance(text, str) and not _UNPRINTABLE.search(text):
            stored["body"] = name
            return [("value", {n: v for n, v in entry.value.items() if n != name})], text
    return [("value", entry.value)], ""


def parse(
    text: str, path: PurePosixPath, namespace: tuple[str, ...], modified_at: str, born_at: str | None = None
) -> Entry:
    """Read a file, ours or hand-made.

    Args:
        text: the file's content.
        path: its place below the namespace's folder; the folder gives the role, the name the id, where the front
            matter is silent. In ``deleted/`` everything is deleted, elsewhere only what says so in its ``status``.
        namespace: gives user and space, whatever the front matter says: a file belongs where a person moves it.
        modified_at: the file's own time, for entries without one.
        born_at: when the store first saw the file, for entries that don't say when they were written.

    Raises:
        UnreadableFileError: the front matter is broken, isn't at the top, or contradicts itself; or a record has no
            text.
    """
    fields, body = _split(text)
    stored = fields.pop("stored", None) or {}
    if not isinstance(stored, dict):
        raise UnreadableFileError(f"'stored' is {stored!r}; it is the store's own line, so restore it or delete it.")
    removed_at = _time(stored.get("removed_at"), modified_at) if is_deleted(path) and "removed_at" in stored else None
    if "key" not in stored and (role_of(path) or {"id", "role", "user_id"} <= fields.keys()):
        owner = {} if stored.get("elsewhere") is True else _owner(namespace)
        key, value = _record({**fields, **owner}, body, path, namespace, (born_at or modified_at, modified_at))
        if is_deleted(path) and removed_at is None and value["status"] not in RETIRED:
            value["status"] = "deleted"
    else:
        key, value = _foreign(fields, body, stored, path)
        if is_deleted(path) and removed_at is None:
            removed_at = modified_at
    index = stored.get("index")
    updated_at = _time(stored.get("updated_at"), modified_at)
    ttl, expires_at = _time_to_live(stored, updated_at)
    return Entry(
        key,
        value,
        created_at=_time(stored.get("created_at"), born_at, value.get("created_at"), modified_at),
        updated_at=updated_at,
        index=index if index is False or (isinstance(index, list) and all(isinstance(p, str) for p in index)) else None,
        removed_at=removed_at,
        ttl=ttl,
        expires_at=expires_at,
    )


def _time_to_live(stored: dict[str, Any], updated_at: str) -> tuple[float | None, str | None]:
    """The minutes and the time in the store's own line, either of which a person may write alone. What can't be read is
    no reason to take something for mortal or for immortal, so it is told.
    """
    minutes, time = stored.get("ttl"), stored.get("expires_at")
    try:
        ttl = check_minutes(minutes, "ttl")
        given = None if time is None else parse_time(time)
    except ValueError as error:
        raise UnreadableFileError(f"'stored' has {error}") from error
    if given is not None and not isinstance(given, dt.datetime):
        raise UnreadableFileError(f"'stored' has expires_at={time!r}: give a time such as 2030-01-31T12:00:00Z.")
    if given is not None:
        return ttl, format_time(given)
    return ttl, None if ttl is None else minutes_after(parse_time(updated_at), ttl)


def _split(text: str) -> tuple[dict[str, Any], str]:
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise UnreadableFileError("the file is empty: write something in it, or delete it.")
    # The store writes no carriage return into a file: those that are there are an editor's line ends.
    text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    start = above_front(text)
    front = _FRONT.match(text, start)
    if front is None and text.startswith(_FENCE, start):
        raise UnreadableFileError("the front matter has no closing line '---'.")
    if (front is None or not front[1].strip()) and lost_front(text) is not None:
        raise UnreadableFileError(
            "its fields stand at the top, but not between two lines '---': put one above them, another below them."
        )
    if front is None:
        return {}, text.removesuffix("\n")
    fields = read_fields(front[1].removesuffix("\n"), line=2 + text.count("\n", 0, start))
    return fields, text[front.end() :].removesuffix("\n")


def _owner(namespace: tuple[str, ...]) -> dict[str, str]:
    """The user and the space that a namespace of the usual shape stands for."""
    if len(namespace) != 3 or namespace[0] != _MEMORIES:
        return {}
    return {"user_id": decode_label(namespace[1]), "space": decode_label(namespace[2])}


def _foreign(
    fields: dict[str, Any], body: str, stored: dict[str, Any], path: PurePosixPath
) -> tuple[str, dict[str, Any]]:
    value = fields.get("value", fields)
    if not isinstance(value, dict):
        raise UnreadableFileError(f"'value' is {value!r}; it must be an object such as {{\"a\": 1}}.")
    value = dict(value)
    if "body" in stored:
        value[str(stored["body"])] = body
    elif body or "key" not in stored:
        value.setdefault("text", body)
    key = stored.get("key")
    if not isinstance(key, str):
        key = decode_name(path.stem) or path.stem
    return key, _checked(value)


def _record(
    fields: dict[str, Any], body: str, path: PurePosixPath, namespace: tuple[str, ...], times: tuple[str, str]
) -> tuple[str, dict[str, Any]]:
    given = {name: _as_meant(name, value) for name, value in fields.items() if value is not None}
    if "text" not in given and not body.strip():
        raise UnreadableFileError("it has no text: write one below the second line '---', or delete the file.")
    given.setdefault("text", body)
    given.setdefault("role", role_of(path))
    given.setdefault("user_id", decode_label(namespace[1] if len(namespace) > 1 else namespace[0]))
    if len(namespace) > 2:
        given.setdefault("space", decode_label(namespace[2]))
    given.setdefault("created_at", times[0])
    given.setdefault("updated_at", times[1])
    if "id" not in given:
        stamped = _STAMPED.fullmatch(path.stem)
        given["id"] = (decode_name(stamped[1]) if stamped else None) or record_id("file", *namespace, path)
    others = {name: given.pop(name) for name in list(given) if name not in RECORD_FIELDS}
    if others and isinstance(given.get("metadata", {}), dict):
        given["metadata"] = {**others, **given.get("metadata", {})}
    try:
        record = MemoryRecord.model_validate(given)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        raise UnreadableFileError(f"{name} is {problem['input']!r}: {problem['msg']}.") from error
    return record.id, record.to_value()


def _as_meant(name: str, value: Any) -> Any:
    """A field as a person may write it: ``thread_id: 42``, ``tags: tea, green``."""
    if name in _TEXT_FIELDS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if name in _LIST_FIELDS:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",")]
        return [
            part if isinstance(part, str) else str(part) for part in (value if isinstance(value, list) else [value])
        ]
    return value


def _checked(value: dict[str, Any]) -> dict[str, Any]:
    try:
        return check_value(value)
    except InvalidValueError as error:
        raise UnreadableFileError(str(error)) from error


def _time(*candidates: Any) -> str:
    for candidate in candidates:
        try:
            time = parse_time(candidate)
        except ValueError:  # out of a calendar's range
            continue
        if isinstance(time, dt.datetime):
            return format_time(time)
    raise UnreadableFileError("no time can be read.")
