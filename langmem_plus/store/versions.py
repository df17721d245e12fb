"""A memory's past as a list of states, pure: which there were, and what changed from one to the next."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from langmem_plus.records import parse_time

Source = Literal["file", "git"]
Value = Mapping[str, Any]
GONE = "gone"
_SILENT = frozenset({"updated_at", "last_scores"})  # they change with everything, or by mere reading


@dataclass(frozen=True)
class Version:
    """One state of a memory.

    Attributes:
        key: whose; a memory's past also holds what it replaced and what replaced it, under their own keys.
        at: since when it was so.
        text: the text; "" where the file was gone.
        status: active, pending, superseded, deleted, or ``gone`` for a file that was removed without a tombstone.
        changes: what differs from the state before, in words: ``added``, ``text``, ``status: active → deleted``, …
        source: ``git`` for a state that a commit holds, ``file`` for what the files tell by themselves.
        place: the commit, or the file.
        value: the whole value.
    """

    key: str
    at: dt.datetime
    text: str
    status: str
    changes: tuple[str, ...]
    source: Source
    place: str
    value: Value

    def to_value(self) -> dict[str, Any]:
        """It as plain JSON."""
        names = ("key", "text", "status", "source", "place")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {"at": self.at.isoformat(), **found, "changes": list(self.changes), "value": dict(self.value)}


def make_version(
    key: str, value: Value | None, at: str | dt.datetime, source: Source, place: str, *, removed: bool = False
) -> Version:
    """A state, not yet compared with the one before.

    Args:
        key: whose.
        value: the value; None where the file was gone.
        at: since when.
        source, place: who tells it.
        removed: whether it is a deleted item's.
    """
    status = GONE if value is None else "deleted" if removed else str(value.get("status") or "active")
    return Version(key, parse_time(at), text_of(value or {}), status, (), source, place, value or {})


def text_of(value: Value) -> str:
    """What a person reads of a value: its text, else its JSON."""
    found = (value.get(name) for name in ("text", "content"))
    return next(
        (text for text in found if isinstance(text, str)), json.dumps(value, ensure_ascii=False) if value else ""
    )


def lives(
    key: str, value: Value, created_at: str, updated_at: str, place: str, *, removed: bool = False
) -> list[Version]:
    """What a file tells of its own past: when it came to be, and since when it is as it is."""
    now = make_version(key, value, updated_at, "file", place, removed=removed)
    began = min(parse_time(value.get("created_at", created_at)), parse_time(created_at))
    if began >= now.at:
        return [now]
    earlier = {**value, "status": "active", "replaced_by": None} if "status" in value else value
    return [make_version(key, earlier, began, "file", place), now]


def compared(versions: Iterable[Version]) -> list[Version]:
    """The states of one memory in their order, each with what changed; those in which nothing did are left out."""
    found: list[Version] = []
    for version in sorted(versions, key=lambda version: version.at):
        before = found[-1] if found else None
        changes = _changes(before, version)
        if changes:
            found.append(replace(version, changes=changes))
    return found


def _changes(before: Version | None, after: Version) -> tuple[str, ...]:
    if before is None:
        status = () if after.status == "active" else (f"status: {after.status}",)
        return ("added", *status)
    words = [f"status: {before.status} → {after.status}"] if before.status != after.status else []
    if GONE in (before.status, after.status):
        return tuple(words)
    names = sorted((before.value.keys() | after.value.keys()) - _SILENT - {"status"})
    return (*words, *(name for name in names if before.value.get(name) != after.value.get(name)))


def chain(key: str, read: Callable[[str], Value | None]) -> list[str]:
    """The keys of what a memory replaced and was replaced by, with its own, in no order; each read once."""
    found: dict[str, None] = {}
    waiting = [key]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        value = read(name) or {}
        replaces, by = value.get("replaces"), value.get("replaced_by")
        waiting += [
            other for other in (*(replaces if isinstance(replaces, list) else ()), by) if isinstance(other, str)
        ]
    return list(found)


def in_order(pasts: Iterable[Iterable[Version]]) -> list[Version]:
    """The pasts of several memories as one, the oldest state first; what is replaced comes before what replaces it."""
    versions = [version for past in pasts for version in past]
    began = {version.key: version.at for version in reversed(versions)}

    def place(version: Version) -> tuple[dt.datetime, bool]:
        # The file of the replaced one may be written a moment after the other one came to be.
        by: Any = version.value.get("replaced_by")
        replaced = version.status == "superseded" and by in began
        return min(version.at, began[by]) if replaced else version.at, not replaced

    return sorted(versions, key=place)


def past_of(key: str, read: Callable[[str], tuple[Value, str, str] | None]) -> list[Version]:
    """A memory's past by what a store without files tells.

    Args:
        key: whose.
        read: gives an item's value, and when it was made and last written.
    """
    items = {name: read(name) for name in chain(key, lambda name: (read(name) or ({},))[0])}
    return in_order(compared(lives(name, *item, "")) for name, item in items.items() if item)
