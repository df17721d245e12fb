"""A memory's past: from git, where its files are kept there, and from what the files tell by themselves."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from langmem_plus.records import format_time, parse_time
from langmem_plus.store.markdown.contents import read_entry
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.git import GitError, Repository, find_repository
from langmem_plus.store.markdown.layout import DELETED, RESERVED, Layout, encode_name, is_memory_file, walk_files
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.objects import Objects
from langmem_plus.store.versions import Value, Version, chain, compared, in_order, lives, make_version

logger = logging.getLogger(__name__)

_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0"}


@dataclass(frozen=True)
class _Change:
    """What a commit did to a file: its place below the namespace's folder, and its blob, None for a removed one."""

    commit: str
    at: dt.datetime
    path: str
    blob: str | None


class History:
    """The pasts of a namespace's memories, as they are when they are asked for.

    Args:
        layout: where things lie.
        room: the namespace.
    """

    def __init__(self, layout: Layout, room: OpenNamespace) -> None:
        self._layout, self._room = layout, room
        self._repository = self._find()
        self._known: dict[str, list[Version]] = {}

    def _find(self) -> Repository | None:
        try:
            found = find_repository(self._layout)
            return found if found is not None and found.head() else None
        except GitError as error:
            logger.warning("%s Only what the files tell by themselves is shown.", error)
            return None

    def of(self, key: str) -> list[Version]:
        """All states of a memory, of what it replaced and of what replaced it, the oldest first."""
        return in_order(self._states(name) for name in chain(key, self._last))

    def _last(self, key: str) -> Value | None:
        states = self._states(key)
        return states[-1].value if states else None

    def _states(self, key: str) -> list[Version]:
        if key not in self._known:
            self._known[key] = self._read_states(key)
        return self._known[key]

    def _read_states(self, key: str) -> list[Version]:
        files = dict(self._files(key))
        told = self._committed(key, list(files)) if self._repository is not None else []
        for path, entry in files.items():
            place, removed = str(self._room.folder / path), entry.removed_at is not None
            since = entry.removed_at or entry.updated_at
            if told:  # what isn't committed yet
                at = max(parse_time(since), told[-1].at)
                told.append(make_version(key, entry.value, at, "file", place, removed=removed))
            else:
                told += lives(key, entry.value, entry.created_at, since, place, removed=removed)
        return compared(told)

    def _files(self, key: str) -> Iterator[tuple[str, Entry]]:
        """The files that hold an item now, tombstones too, by their places."""
        row, name = self._room.get(key), encode_name(key)
        start = len(str(self._room.folder)) + 1
        paths = {row.path} if row else set()
        for folder in sorted(RESERVED):
            for found in walk_files(self._room.folder / folder, closed={}):
                if name in found.name and is_memory_file(found.name):
                    paths.add(PurePosixPath(found.path[start:].replace("\\", "/")).as_posix())
        for path in sorted(paths):
            try:
                entry = read_entry(self._room, path)
            except (UnreadableFileError, OSError, ValueError) as error:
                logger.warning("the memory file %r is left out: %s", str(self._room.folder / path), error)
                continue
            if entry.key == key:
                yield path, entry

    # from git

    def _committed(self, key: str, paths: list[str]) -> list[Version]:
        repository = self._repository
        if repository is None:
            return []
        found: list[Version] = []
        with Objects(repository) as objects:
            for changes in self._commits(repository, key, paths):
                states = [state for change in changes if (state := self._state(objects, key, change))]
                if not states and found and all(change.blob is None for change in changes):
                    at = max(changes[0].at, found[-1].at)
                    states = [make_version(key, None, at, "git", changes[0].commit)]
                for state in states:
                    # An edit by hand leaves the store's own time as it was: then the commit tells it, to the second.
                    late = found and state.at <= found[-1].at
                    at = max(changes[0].at, found[-1].at) if late else state.at
                    found.append(
                        make_version(key, state.value or None, at, "git", state.place, removed=_removed(state))
                    )
        return found

    def _state(self, objects: Objects, key: str, change: _Change) -> Version | None:
        read = objects.read(change.blob) if change.blob else None
        if read is None:
            return None
        try:
            text, time = read[1].decode("utf-8"), format_time(change.at)
            entry = parse(text, PurePosixPath(change.path), self._room.namespace, time)
        except (UnreadableFileError, ValueError):
            return None
        if entry.key != key:
            return None
        removed = entry.removed_at is not None
        return make_version(
            key, entry.value, entry.removed_at or entry.updated_at, "git", change.commit, removed=removed
        )

    def _commits(self, repository: Repository, key: str, paths: list[str]) -> Iterator[list[_Change]]:
        """What each commit did to the files of an item, the oldest commit first."""
        folder = repository.prefix + self._room.folder.relative_to(self._layout.root).as_posix()
        places = {place for path in paths for place in (path, f"{DELETED}/{path}", path.removeprefix(f"{DELETED}/"))}
        patterns = [f":(literal){folder}/{place}" for place in sorted(places)]
        escaped = re.sub(r"([*?\[\\])", r"\\\1", folder)
        patterns.append(f":(glob){escaped}/**/*{encode_name(key)}*.md")
        arguments = ("log", "--reverse", "--topo-order", "--raw", "-z", "--no-abbrev", "--no-renames")
        told = repository.run(*arguments, "--format=%x01%H %ct", "HEAD", "--", *patterns, environment=_PATTERNS)
        for part in told.split(b"\x01")[1:]:
            head, *rest = part.split(b"\0")
            commit, _, seconds = head.decode().strip().partition(" ")
            at = dt.datetime.fromtimestamp(int(seconds), dt.UTC)
            changes = []
            for line, name in zip(rest[::2], rest[1::2], strict=False):
                new = line.strip().split(b" ")[3].decode()
                path = name.decode("utf-8", "surrogateescape").removeprefix(f"{folder}/")
                if path.split("/")[0] in RESERVED:
                    changes.append(_Change(commit, at, path, new if new.strip("0") else None))
            if changes:
                yield changes


def _removed(state: Version) -> bool:
    return state.status == "deleted" and state.value.get("status") != "deleted"
