"""Bringing the index in step with the files: what a person changed, moved, added or removed since the last look."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from langmem_plus.errors import LangMemPlusError
from langmem_plus.records import format_time
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.frontmatter import Entry, UnreadableFileError, parse
from langmem_plus.store.markdown.index import Index, Stamp
from langmem_plus.store.markdown.layout import RESERVED, scan_files

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Read:
    path: str
    stamp: Stamp
    entry: Entry


def scan(folder: Path) -> dict[str, Stamp]:
    """Every Markdown file of a namespace, by its path below the namespace's folder."""
    found: dict[str, Stamp] = {}
    for name in sorted(RESERVED):
        for entry in scan_files(folder / name):
            try:
                found[PurePosixPath(entry.path).relative_to(folder).as_posix()] = Stamp.of(entry.stat())
            except FileNotFoundError:
                continue  # removed between the listing and the look
    return found


def bring_in_step(index: Index, folder: Path, namespace: Namespace, fields: Sequence[str] | None) -> bool:
    """Read what changed on disk into the index; unchanged files are not opened. The caller holds the lock.

    Returns:
        Whether anything changed.
    """
    on_disk, known = scan(folder), index.paths()
    changed = sorted(path for path, stamp in on_disk.items() if known.get(path) != stamp)
    vanished = [path for path in known if path not in on_disk]
    if not changed and not vanished:
        return False
    index.begin()
    try:
        entries = _newest_by_key(_read_all(index, folder, namespace, changed, on_disk), index, on_disk)
        for path in vanished:
            index.remove_path(path)
        written = [_take(index, read, fields) for read in entries]
        write_windows(index, [row for row in written if row is not None])
        index.commit()
    except BaseException:
        index.rollback()
        raise
    return True


def _read_all(
    index: Index, folder: Path, namespace: Namespace, paths: Iterable[str], stamps: dict[str, Stamp]
) -> list[_Read]:
    entries = []
    for path in paths:
        modified_at = format_time(dt.datetime.fromtimestamp(stamps[path].mtime / 1e9, dt.UTC))
        try:
            text = (folder / path).read_bytes().decode("utf-8")
            entry = parse(text, PurePosixPath(path), namespace, modified_at)
        except FileNotFoundError:
            index.remove_path(path)
        except (LangMemPlusError, UnicodeDecodeError, OSError) as error:
            reason = str(error) if isinstance(error, UnreadableFileError) else f"it isn't readable text: {error}"
            logger.warning(
                "the memory file %s was left out: %s Correct it, and it counts again.", folder / path, reason
            )
            index.skip(path, stamps[path], reason)
        else:
            if entry.removed_at is None:
                entries.append(_Read(path, stamps[path], entry))
            else:
                index.skip(path, stamps[path], "deleted")
    return entries


def _newest_by_key(reads: list[_Read], index: Index, on_disk: dict[str, Stamp]) -> list[_Read]:
    """Of several files with one key the newest counts; the others are named and left out."""
    chosen: dict[str, _Read] = {}
    for read in reads:
        rivals = [chosen[read.entry.key]] if read.entry.key in chosen else []
        row = index.get(read.entry.key)
        if row is not None and row.path != read.path and row.path in on_disk and not rivals:
            rivals.append(
                _Read(row.path, on_disk[row.path], Entry(row.key, row.load_value(), row.created_at, row.updated_at))
            )
        best = max([read, *rivals], key=lambda r: (r.entry.updated_at, r.path))
        for loser in (read, *rivals):
            if loser is not best:
                logger.warning(
                    "the memory file %s has the same id as %s, which is newer, and was left out", loser.path, best.path
                )
                index.skip(loser.path, loser.stamp, f"the same id as {best.path}")
        if best is read:
            chosen[read.entry.key] = read
    return list(chosen.values())


def _take(index: Index, read: _Read, fields: Sequence[str] | None) -> int | None:
    entry, row = read.entry, index.get(read.entry.key)
    if row is not None:
        same = json.loads(row.value) == {**entry.value, **({"last_scores": None} if entry.role else {})}
        if same and row.path == read.path:
            index.restamp(read.path, read.stamp)
            return None
        if not same and entry.updated_at <= row.updated_at:
            # Edited by hand: the store's own line still tells the time before.
            modified = format_time(dt.datetime.fromtimestamp(read.stamp.mtime / 1e9, dt.UTC))
            entry = Entry(entry.key, entry.value, row.created_at, max(modified, row.updated_at), entry.index)
    index.remove_path(read.path)
    return index.put(entry, describe(entry, fields), read.path, read.stamp)


def write_windows(index: Index, changed: Sequence[int]) -> None:
    """Index the words of changed items together with their neighbours' in the thread, and their neighbours anew."""
    lone, windows = set(changed), {}
    for _, turns in index.threads(changed):
        at = [i for i, row in enumerate(turns) if row in lone]
        near = sorted({j for i in at for j in (i - 1, i, i + 1) if 0 <= j < len(turns)})
        needed = sorted({j for i in near for j in (i - 1, i, i + 1) if 0 <= j < len(turns)})
        words = index.tokens([turns[j] for j in needed])
        for i in near:
            windows[turns[i]] = " ".join(words.get(row, "") for row in turns[max(0, i - 1) : i + 2])
        lone.difference_update(turns)
    windows.update(index.tokens(sorted(lone)))
    index.write_windows(windows)
