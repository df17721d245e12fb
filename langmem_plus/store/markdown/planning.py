"""Where the writes of a batch go: the entry, its file, the file that it leaves."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from langmem_plus.records import format_time, parse_time, utc_now
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Action, Namespace
from langmem_plus.store.markdown.frontmatter import render
from langmem_plus.store.markdown.index import Index, Row
from langmem_plus.store.markdown.layout import DELETED, SUFFIX, file_path, is_deleted, role_of
from langmem_plus.store.ttl import minutes_after


@dataclass(frozen=True)
class Write:
    """One put (or, with ``value`` None, one delete) that a batch asks for."""

    key: str
    value: dict[str, Any] | None
    index: list[str] | bool | None = None
    ttl: float | None = None


@dataclass(frozen=True)
class Step:
    """One planned write: the entry (a deleted one has its ``removed_at``), its file, and the file that goes."""

    key: str
    entry: Entry
    path: str
    old_path: str | None


def plan(index: Index, folder: Path, writes: Sequence[Write], clock: dt.datetime | None = None) -> list[Step]:
    """Decide the files of some writes, each key at most once. The index is in step with the files.

    Args:
        index: the index.
        folder: the namespace's folder.
        writes: what is asked for.
        clock: from when a time to live is counted; None for now. What has expired by then is replaced as if it weren't
            there.
    """
    clock = clock or utc_now()
    steps: list[Step] = []
    taken: set[str] = set()
    rows = index.get_all([write.key for write in writes])
    for write in writes:
        row = rows.get(write.key)
        now = later_than(row.updated_at if row else None)
        if write.value is not None:
            created_at = row.created_at if row and row.lives(format_time(clock)) else now
            expires_at = None if write.ttl is None else minutes_after(clock, write.ttl)
            entry = Entry(write.key, write.value, created_at, now, write.index, None, write.ttl, expires_at)
            path = _live_path(entry, row, index, folder, taken)
        elif row is not None:
            entry = Entry(row.key, row.load_value(), row.created_at, now, removed_at=now)
            path = row.path if is_deleted(PurePosixPath(row.path)) else f"{DELETED}/{row.path}"
            path = _free_path(path, row.key, index, folder, taken)
        else:
            continue
        taken.add(path)
        steps.append(Step(write.key, entry, path, row.path if row and row.path != path else None))
    return steps


def moved(index: Index, folder: Path, writes: Sequence[Write]) -> bool:
    """Whether a file that a write replaces isn't where the index has it: a person moved or removed it just now."""
    rows = index.get_all([write.key for write in writes]).values()
    return any(not (folder / row.path).exists() for row in rows)


def actions(namespace: Namespace, steps: Sequence[Step]) -> list[Action]:
    """The files to write and remove."""
    found = []
    for step in steps:
        found.append(Action(namespace, step.path, render(step.entry, namespace)))
        if step.old_path is not None:
            found.append(Action(namespace, step.old_path, None))
    return found


def _live_path(entry: Entry, row: Row | None, index: Index, folder: Path, taken: Collection[str]) -> str:
    thread = entry.value.get("thread_id")
    said = entry.value["created_at"] if entry.role else entry.created_at
    path = file_path(entry.role, entry.key, said, thread if isinstance(thread, str) else None, entry.is_tombstone)
    if row is not None:
        old, new = PurePosixPath(row.path), PurePosixPath(path)
        if (role_of(old), is_deleted(old)) == (role_of(new), is_deleted(new)):
            return row.path  # it stays where a person may have put it
    return _free_path(path, entry.key, index, folder, taken)


def _free_path(path: str, key: str, index: Index, folder: Path, taken: Collection[str]) -> str:
    """The path, or one like it where another item or a file that a person made is in the way. A tombstone may take the
    place of an older one.
    """
    stem = path.removesuffix(SUFFIX)
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    others = (f"{stem}__{mark}{number or ''}{SUFFIX}" for number in itertools.count())
    for candidate in itertools.chain([path], others):
        holder = index.holder(candidate)
        if candidate in taken or (holder is not None and holder[0] != key):
            continue
        taken_by_hand = os.path.exists(os.path.join(folder, candidate))  # noqa: PTH110, PTH118 - once for every write
        if holder is not None or not taken_by_hand or is_deleted(PurePosixPath(path)):
            return candidate
    raise AssertionError("there are always more names")


def later_than(time_before: str | None) -> str:
    """The time now, and in any case later than the one before."""
    now = format_time(utc_now())
    if time_before is None or now > time_before:
        return now
    before: dt.datetime = parse_time(time_before)
    return format_time(before + dt.timedelta(microseconds=1))
