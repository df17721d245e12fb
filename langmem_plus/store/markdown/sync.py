"""Bringing the index in step with the files: what a person changed, moved, added or removed since the last look."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from langmem_plus.records import format_time
from langmem_plus.store.markdown.describe import Description, describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.files import Namespace, Stamp
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.index import DUPLICATE, REMOVED, UNREADABLE, Index
from langmem_plus.store.markdown.layout import (
    RESERVED,
    Closed,
    is_memory_file,
    is_temporary,
    reason_of,
    walk_files,
)
from langmem_plus.store.markdown.windows import write_windows

logger = logging.getLogger(__name__)

_SAME_ID = "the memory file %r was left out: it has the same id as %r, which is newer"


@dataclass(frozen=True)
class _Read:
    """A file that holds an item."""

    path: str
    stamp: Stamp
    entry: Entry
    description: Description

    @property
    def rank(self) -> tuple[str, int, str]:
        """Of two files with one key, the one with the higher rank counts."""
        return self.entry.updated_at, self.stamp.mtime, self.path


def scan(folder: Path, *, tidy: bool, closed: Closed) -> dict[str, Stamp]:
    """Every Markdown file of a namespace, by its path below the namespace's folder. With ``tidy``, what dead writers
    left half-written is removed: the caller holds the lock, so no writer lives.

    Args:
        folder: the namespace's folder.
        tidy: whether to remove what is half-written.
        closed: is given the folders that can't be read until somebody mends that.

    Raises:
        OSError: a folder can't be read just now, so nothing can be said about its files.
    """
    found: dict[str, Stamp] = {}
    start = len(str(folder)) + 1
    for entry in _beside(folder, closed):
        _tidy(entry, tidy=tidy)
    for name in sorted(RESERVED) if folder not in closed else ():
        for entry in walk_files(folder / name, closed=closed):
            if is_memory_file(entry.name):
                try:
                    found[to_posix(entry.path[start:])] = Stamp.of(_look_at(entry))
                except FileNotFoundError:  # removed between the listing and the look
                    continue
            else:
                _tidy(entry, tidy=tidy)
    return found


def _look_at(entry: os.DirEntry[str]) -> os.stat_result:
    """What is known of a file; of a link that leads nowhere readable, what is known of the link."""
    try:
        return entry.stat()
    except FileNotFoundError:
        raise
    except OSError:
        return entry.stat(follow_symlinks=False)


def _tidy(entry: os.DirEntry[str], *, tidy: bool) -> None:
    if tidy and is_temporary(entry.name):
        with contextlib.suppress(OSError):
            Path(entry.path).unlink()


def _scan_with_closed(folder: Path, known: Mapping[str, Stamp], *, tidy: bool) -> dict[str, Stamp]:
    """As `scan`, with the folders that can't be read as if they were files, to be named, and with what the index knows
    of their files: it stands until they can be read again.
    """
    closed: Closed = {}
    found = scan(folder, tidy=tidy, closed=closed)
    for place in closed:
        path = to_posix(str(place.relative_to(folder)))
        below = "" if path == "." else f"{path}/"
        found.update({name: stamp for name, stamp in known.items() if name.startswith(below) and name != path})
        with contextlib.suppress(OSError):
            found[path] = Stamp.of(place.lstat())
    return found


def to_posix(path: str) -> str:
    """A path below a namespace's folder as the index has it."""
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _beside(folder: Path, closed: Closed) -> list[os.DirEntry[str]]:
    """What lies in the namespace's folder itself: no memories, but what was being written there."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if is_temporary(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError as error:
        closed[folder] = reason_of(error)
        return []


def bring_in_step(index: Index, folder: Path, namespace: Namespace, fields: Sequence[str] | None) -> bool | None:
    """Read what changed on disk into the index; unchanged files are not opened. The caller holds the lock,
    unless the index is in memory.

    Returns:
        Whether anything changed; None where files were read that say what they said before.

    Raises:
        OSError: a folder can't be read; the index is as it was.
    """
    known = index.files.all()
    on_disk = _scan_with_closed(folder, known, tidy=not index.in_memory)
    if on_disk == known:  # told at once, however many there are
        return False
    changed = {path for path, stamp in on_disk.items() if known.get(path) != stamp}
    vanished = [path for path in known if path not in on_disk]
    edited = {path for path in changed if not _is_touched(known.get(path), on_disk[path])}
    # A file that lost against another of the same id may be the only one now.
    skipped = index.skipped()
    losers = {path for path, (reason, _) in skipped.items() if reason == DUPLICATE and path in on_disk}
    with index.writing():
        todo = {path: on_disk[path] for path in sorted(changed | losers)}
        reads = _read_all(index, folder, namespace, fields, todo, skipped)
        rivals = _rivals(reads, index) & (on_disk.keys() - changed - losers)
        todo = {path: on_disk[path] for path in sorted(rivals)}
        reads += _read_all(index, folder, namespace, fields, todo, skipped)
        reads.sort(key=lambda read: read.rank)
        best = {read.entry.key: read for read in reads}
        written = [_take(index, read) for read in best.values()]
        for read in reads:
            better = best[read.entry.key].path
            if better != read.path:
                index.skip(read.path, read.stamp, DUPLICATE, f"it has the same id as {better}, which is newer")
                if read.path not in skipped or not edited.isdisjoint((read.path, better)):
                    logger.warning(_SAME_ID, str(folder / read.path), better)
        for path in vanished:
            index.remove_path(path)
        write_windows(index, [row for row in written if row is not None])
    if edited or vanished or any(row is not None for row in written) or index.skipped() != skipped:
        return True
    return None


def _is_touched(before: Stamp | None, now: Stamp) -> bool:
    """Whether a file may be as it was: it was linked, or its rights were changed, or its ``mtime`` was put back."""
    return before is not None and before._replace(ctime=now.ctime) == now


def _read_all(
    index: Index,
    folder: Path,
    namespace: Namespace,
    fields: Sequence[str] | None,
    stamps: Mapping[str, Stamp],
    skipped: Mapping[str, tuple[str, str]],
) -> list[_Read]:
    reads = []
    for path, stamp in stamps.items():
        written_at, holder = modified_at(stamp.mtime), index.holder(path)
        try:
            text = (folder / path).read_bytes().decode("utf-8")
            entry = parse(text, PurePosixPath(path), namespace, written_at, holder[1] if holder else None)
            description = describe(entry, fields)
        except FileNotFoundError:
            index.remove_path(path)
        except Exception as error:  # noqa: BLE001 - one file, whatever is in it, never takes the others with it
            reason = str(error) if isinstance(error, UnreadableFileError) else f"it can't be read: {error}"
            if skipped.get(path) != (UNREADABLE, reason):
                logger.warning("the memory file %r was left out: %s", str(folder / path), reason)
            index.skip(path, stamp, UNREADABLE, reason)
        else:
            if entry.removed_at is None:
                reads.append(_Read(path, stamp, entry, description))
            else:
                index.skip(path, stamp, REMOVED)
    return reads


def modified_at(nanoseconds: int) -> str:
    """A file's time as the store writes times."""
    try:
        return format_time(dt.datetime.fromtimestamp(nanoseconds / 1e9, dt.UTC))
    except (OverflowError, ValueError, OSError):  # a file system may tell any time
        return format_time(dt.datetime.fromtimestamp(0, dt.UTC))


def _rivals(reads: Iterable[_Read], index: Index) -> set[str]:
    """The files in which the index has the same items."""
    rows = ((read, index.get(read.entry.key)) for read in reads)
    return {row.path for read, row in rows if row is not None and row.path != read.path}


def _take(index: Index, read: _Read) -> int | None:
    entry, row = read.entry, index.get(read.entry.key)
    if row is not None:
        same = row.says(entry)
        if same and row.path == read.path:
            index.files.restamp(read.path, read.stamp)
            return None
        if not same and entry.updated_at <= row.updated_at:
            # Edited by hand: the store's own line still tells the time before.
            entry = replace(entry, updated_at=max(modified_at(read.stamp.mtime), row.updated_at))
    return index.put(entry, read.description, read.path, read.stamp)
