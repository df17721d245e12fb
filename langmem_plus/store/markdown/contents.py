"""Everything that a namespace holds on disk, deleted items too, which no search and no listing shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.index import Index, Row
from langmem_plus.store.markdown.layout import LIVE_FOLDERS, SUFFIX, Closed
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.sync import modified_at, scan


@dataclass(frozen=True)
class HeldFile:
    """A file of a namespace.

    Attributes:
        path: its place below the namespace's folder.
        entry: what it holds; None where it can't be read.
        reason: why not.
    """

    path: str
    entry: Entry | None
    reason: str = ""


def read_contents(room: OpenNamespace) -> list[HeldFile]:
    """All files of a namespace, by their paths, and the folders that can't be read; the caller holds it. What the index
    knows isn't read again.
    """
    room.look_again()
    rows = room.use(_rows) if room.count() else {}
    closed: Closed = {}
    held = [_held(room, path, rows.get(path)) for path in sorted(scan(room.folder, tidy=False, closed=closed))]
    return held + [HeldFile(str(place.relative_to(room.folder)), None, reason) for place, reason in closed.items()]


def _rows(index: Index) -> dict[str, Row]:
    rows = index.newest(None, "1", ())
    found: dict[str, Row] = {}
    while rows:
        found.update({row.path: row for row in rows})
        rows = index.newest((rows[-1].updated_at, rows[-1].id), "1", ())
    return found


def _held(room: OpenNamespace, path: str, row: Row | None) -> HeldFile:
    if row is not None:
        indexing = None if row.indexing is None else json.loads(row.indexing)
        return HeldFile(
            path,
            Entry(
                row.key, json.loads(row.json), row.created_at, row.updated_at, indexing, None, row.ttl, row.expires_at
            ),
        )
    try:
        return HeldFile(path, read_entry(room, path))
    except (UnreadableFileError, OSError, ValueError) as error:
        return HeldFile(path, None, str(error))


def read_entry(room: OpenNamespace, path: str) -> Entry:
    """What a file holds, without looking into the index.

    Raises:
        UnreadableFileError, OSError, ValueError: it can't be read.
    """
    file = room.folder / path
    time = modified_at(file.stat().st_mtime_ns)
    return parse(file.read_bytes().decode("utf-8"), PurePosixPath(path), room.namespace, time)


def newest(held: list[HeldFile]) -> dict[str, HeldFile]:
    """Of the files with one key the one that counts: an item before a tombstone, the newest of its kind first."""
    found: dict[str, HeldFile] = {}
    for file in held:
        other = found.get(file.entry.key) if file.entry else None
        if file.entry and (other is None or _rank(file) > _rank(other)):
            found[file.entry.key] = file
    return found


def _rank(held: HeldFile) -> tuple[bool, str, str]:
    assert held.entry is not None
    return held.entry.removed_at is None, held.entry.updated_at, held.path


def other_files(room: OpenNamespace) -> Iterator[str]:
    """The files among a namespace's memories that are none, by their paths: copies that an editor leaves, for one."""
    roots = [room.folder / folder.split("/")[0] for folder in LIVE_FOLDERS]
    for root in {*roots, room.folder / "deleted"}:
        for file in sorted(root.rglob("*")):
            name = file.name
            if (not name.endswith(SUFFIX) or name.startswith(".")) and (file.is_file() or file.is_symlink()):
                yield file.relative_to(room.folder).as_posix()
