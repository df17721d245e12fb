"""Bringing the index in step with the files: what a person changed, moved, added or removed since the last look."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from langmem_plus.records import format_time
from langmem_plus.store.markdown.describe import Description, describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.files import Namespace, Stamp
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.index import DUPLICATE, REMOVED, UNREADABLE, Index
from langmem_plus.store.markdown.layout import RESERVED, is_memory_file, is_temporary, walk_files
from langmem_plus.store.markdown.windows import write_windows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Read:
    """A file that holds an item; without a description it is one that the index knows and that hasn't changed."""

    path: str
    stamp: Stamp
    entry: Entry
    description: Description | None = None

    @property
    def rank(self) -> tuple[str, int, str]:
        """Of two files with one key, the one with the higher rank counts."""
        return self.entry.updated_at, self.stamp.mtime, self.path


def scan(folder: Path) -> dict[str, Stamp]:
    """Every Markdown file of a namespace, by its path below the namespace's folder. What dead writers left half-written
    is removed: the caller holds the lock, so no writer lives.

    Raises:
        OSError: a folder can't be read, so nothing can be said about its files.
    """
    found: dict[str, Stamp] = {}
    start = len(str(folder)) + 1
    for name in sorted(RESERVED):
        for entry in walk_files(folder / name):
            with contextlib.suppress(FileNotFoundError):  # removed between the listing and the look
                if is_memory_file(entry.name):
                    found[entry.path[start:].replace(os.sep, "/")] = Stamp.of(entry.stat())
                elif is_temporary(entry.name):
                    Path(entry.path).unlink()
    return found


def bring_in_step(index: Index, folder: Path, namespace: Namespace, fields: Sequence[str] | None) -> bool:
    """Read what changed on disk into the index; unchanged files are not opened. The caller holds the lock.

    Returns:
        Whether anything changed.

    Raises:
        OSError: a folder can't be read; the index is as it was.
    """
    on_disk, known = scan(folder), index.paths()
    changed = {path for path, stamp in on_disk.items() if known.get(path) != stamp}
    vanished = [path for path in known if path not in on_disk]
    if not changed and not vanished:
        return False
    # A file that lost against another of the same id may be the only one now.
    losers = {path for path, (reason, _) in index.skipped().items() if reason == DUPLICATE and path in on_disk}
    with index.writing():
        stamps = {path: on_disk[path] for path in sorted(changed | losers)}
        reads = _read_all(index, folder, namespace, fields, stamps)
        chosen, beaten = _newest_by_key(reads, index, on_disk, changed)
        chosen.sort(key=lambda read: read.rank)
        written = [_take(index, read, read.description) for read in chosen if read.description is not None]
        for read, better in beaten:
            index.skip(read.path, read.stamp, DUPLICATE, f"it has the same id as {better}, which is newer")
            if not changed.isdisjoint((read.path, better)):
                logger.warning(
                    "the memory file %r was left out: it has the same id as %r, which is newer",
                    str(folder / read.path),
                    better,
                )
        for path in vanished:
            index.remove_path(path)
        write_windows(index, [row for row in written if row is not None])
    return True


def _read_all(
    index: Index, folder: Path, namespace: Namespace, fields: Sequence[str] | None, stamps: Mapping[str, Stamp]
) -> list[_Read]:
    reads = []
    for path, stamp in stamps.items():
        modified_at, holder = _modified_at(stamp), index.holder(path)
        try:
            text = (folder / path).read_bytes().decode("utf-8")
            entry = parse(text, PurePosixPath(path), namespace, modified_at, holder[1] if holder else None)
            description = describe(entry, fields)
        except FileNotFoundError:
            index.remove_path(path)
        except Exception as error:  # noqa: BLE001 - one file, whatever is in it, never takes the others with it
            reason = str(error) if isinstance(error, UnreadableFileError) else f"it can't be read: {error}"
            logger.warning("the memory file %r was left out: %s", str(folder / path), reason)
            index.skip(path, stamp, UNREADABLE, reason)
        else:
            if entry.removed_at is None:
                reads.append(_Read(path, stamp, entry, description))
            else:
                index.skip(path, stamp, REMOVED)
    return reads


def _modified_at(stamp: Stamp) -> str:
    try:
        return format_time(dt.datetime.fromtimestamp(stamp.mtime / 1e9, dt.UTC))
    except (OverflowError, ValueError, OSError):  # a file system may tell any time
        return format_time(dt.datetime.fromtimestamp(0, dt.UTC))


def _newest_by_key(
    reads: Iterable[_Read], index: Index, on_disk: Mapping[str, Stamp], changed: Collection[str]
) -> tuple[list[_Read], list[tuple[_Read, str]]]:
    """Of several files with one key the newest counts, among them the file that the index knows, unless that changed.

    Returns:
        The files that count anew, and those that don't, each with the path of the better one.
    """
    best: dict[str, _Read] = {}
    beaten: list[_Read] = []
    for read in reads:
        key = read.entry.key
        row = index.get(key) if key not in best else None
        if row is not None and row.path in on_disk and row.path != read.path and row.path not in changed:
            best[key] = _Read(row.path, on_disk[row.path], Entry(key, {}, row.created_at, row.updated_at))
        rival = best.get(key)
        if rival is None or read.rank > rival.rank:
            best[key] = read
            beaten += [rival] if rival is not None else []
        else:
            beaten.append(read)
    return list(best.values()), [(read, best[read.entry.key].path) for read in beaten]


def _take(index: Index, read: _Read, description: Description) -> int | None:
    entry, row = read.entry, index.get(read.entry.key)
    if row is not None:
        same = row.says(entry)
        if same and row.path == read.path:
            index.restamp(read.path, read.stamp)
            return None
        if not same and entry.updated_at <= row.updated_at:
            # Edited by hand: the store's own line still tells the time before.
            entry = replace(entry, updated_at=max(_modified_at(read.stamp), row.updated_at))
    return index.put(entry, description, read.path, read.stamp)
