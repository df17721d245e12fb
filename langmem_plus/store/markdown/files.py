"""Writing files so that a crash leaves each of them whole, and several of them all or none.

A file is written under a temporary name and renamed. Several files are first written into a journal as a whole, which
goes when all of them are written and indexed; what a crash leaves there is carried out again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown.layout import Layout, is_temporary, temporary_name

logger = logging.getLogger(__name__)

Namespace = tuple[str, ...]

# Nobody writes one file for so long: its writer is gone.
_STALE_SECONDS = 3600.0
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write other line ends
# What this process has flushed once: folders with those above them, and label files; each with its inode.
_settled: dict[str, int] = {}


class Stamp(NamedTuple):
    """What tells that a file may have changed. Programs can keep a file's ``mtime`` as it was, but not its ``ctime``; a
    link or a change of its rights alters that, too, so it only asks for another look at the content.
    """

    inode: int
    size: int
    mtime: int
    ctime: int = 0

    @staticmethod
    def of(stat: os.stat_result) -> Stamp:
        """The stamp of a file."""
        ctime = 0 if os.name == "nt" else stat.st_ctime_ns  # there it is the time of its making
        return Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns, ctime)


@dataclass(frozen=True)
class Action:
    """One step: a file gets this content, or, with None, goes."""

    namespace: Namespace
    path: str
    content: str | None


def write_file(path: Path, content: bytes, *, durable: bool, by_way_of: Path | None = None) -> Stamp:
    """Replace a file's content in one step; with ``durable`` the disk has it before this returns.

    Args:
        path: the file.
        content: what is to be in it.
        durable: whether to wait for the disk.
        by_way_of: the folder in which it is written until it is whole, where its own one is tidied by nobody.

    Raises:
        StoreError: the disk is full or the folder can't be written; the file is as it was.
    """
    folder = by_way_of or path.parent
    try:
        try:
            return _replace(path, content, durable, folder)
        except FileNotFoundError:
            for needed in (path.parent, folder):
                _make_folder(needed)
            return _replace(path, content, durable, folder)
    except OSError as error:
        raise _refused(path, error) from error


def _replace(path: Path, content: bytes, durable: bool, folder: Path) -> Stamp:
    temporary, target = os.path.join(folder, temporary_name()), os.fspath(path)  # noqa: PTH118 - many a batch
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        try:
            _write_all(handle, content)
            if durable:
                os.fsync(handle)
            written = Stamp.of(os.fstat(handle))
        finally:
            os.close(handle)
        os.replace(temporary, target)  # noqa: PTH105 - as above
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise
    if durable:
        flush_folder(path.parent)
        _settle(path.parent)
    return _renamed(target, written)


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:  # the system may take less at a time
        left = left[os.write(handle, left) :]


def _renamed(path: str, written: Stamp) -> Stamp:
    """The stamp of a file that got its name, which changes its ``ctime``, unless somebody has written there since."""
    try:
        stamp = Stamp.of(os.stat(path))  # noqa: PTH116 - as above
    except OSError:
        return written
    return stamp if stamp._replace(ctime=written.ctime) == written else written


def _refused(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{str(path)!r} can't be written ({error.strerror or error}): make room, or make the folder writable; "
        "nothing of this call was stored."
    )


def move_file(path: Path, target: Path, content: bytes, *, durable: bool) -> Stamp:
    """Give a file another place, in one step, and then other content as far as that fits into the room that it has: for
    a disk without any. Where it doesn't fit, or the file is linked elsewhere too, the old content stays.

    Raises:
        StoreError: it can't be moved; it is as it was.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    except OSError as error:
        raise _refused(target, error) from error
    before = target.read_bytes()
    if target.stat().st_nlink == 1:
        try:
            _overwrite(target, content)
        except OSError as error:
            logger.warning("%r doesn't say yet when it was deleted: %s", str(target), error)
            _overwrite(target, before)
    if durable:
        _flush(target)
        for folder in (path.parent, target.parent):
            flush_folder(folder)
    return Stamp.of(target.stat())


def _overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        if file.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.truncate()


def is_full(error: StoreError) -> bool:
    """Whether a file couldn't be written for want of room."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)


def _make_folder(folder: Path) -> None:
    for parent in (folder, *folder.parents):
        if parent.exists():
            break
        _settled.pop(str(parent), None)  # a new one may get the old one's inode
    folder.mkdir(parents=True, exist_ok=True)


def _settle(folder: Path) -> None:
    """Flush the folders above one: until then it isn't there for good, and who made it may have died before, or not
    have cared. What this process did once isn't done again.
    """
    for made in (folder, *folder.parents):
        inode = made.stat().st_ino
        if _settled.get(str(made)) == inode:
            return
        try:
            flush_folder(made.parent)
        except OSError as error:  # not ours to open, so it was there long before
            logger.debug("%r isn't flushed: %s", str(made.parent), error)
        _settled[str(made)] = inode


def flush_folder(folder: Path) -> None:
    """Flush a folder's own entries to the disk; Windows does so by itself."""
    if os.name != "nt":
        _flush(folder)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def carried_out(layout: Layout, actions: Sequence[Action], *, durable: bool) -> Iterator[list[Stamp | None]]:
    """Carry out all steps, and keep their journal until the caller's block is done with them.

    Yields:
        The stamps of the files, None for those that went.

    Raises:
        StoreError: a file can't be written; everything is as it was.
    """
    for namespace in {action.namespace for action in actions if action.content is not None}:
        _keep_labels(layout, namespace, durable)
    if len(actions) < 2:  # one file is written in one step anyway
        yield [_carry_out(layout, action, durable) for action in actions]
        return
    journal = _write_journal(layout, actions, durable)
    stamps: list[Stamp | None] = []
    before: list[tuple[Path, bytes | None]] = []
    try:
        for action in actions:
            path = layout.folder(action.namespace) / action.path
            before.append((path, _read(path)))
            stamps.append(_carry_out(layout, action, durable))
    except BaseException:
        if _undo(before, durable):
            _remove_journal(journal, durable)
        raise
    try:
        yield stamps
    finally:
        _remove_journal(journal, durable)


def _remove_journal(journal: Path, durable: bool) -> None:
    """With ``durable`` it is gone for good: one that a power cut brought back could undo what was written since."""
    journal.unlink(missing_ok=True)
    if durable:
        flush_folder(journal.parent)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _undo(before: Sequence[tuple[Path, bytes | None]], durable: bool) -> bool:
    """Give files the content that they had. Where even that fails the journal stays, and the batch will be finished."""
    done = True
    for path, content in reversed(before):
        try:
            if content is None:
                path.unlink(missing_ok=True)
                if durable:
                    flush_folder(path.parent)
            elif _read(path) != content:
                write_file(path, content, durable=durable)
        except OSError as error:
            logger.error("%r can't be restored (%s); the batch will be finished instead", str(path), error)
            done = False
    return done


def _carry_out(layout: Layout, action: Action, durable: bool) -> Stamp | None:
    path = layout.folder(action.namespace) / action.path
    if action.content is None:
        try:
            path.unlink(missing_ok=True)
            if durable:
                flush_folder(path.parent)
        except FileNotFoundError:
            return None  # somebody removed the whole folder
        except OSError as error:
            raise _refused(path, error) from error
        return None
    return write_file(path, action.content.encode(), durable=durable)


def _keep_labels(layout: Layout, namespace: Namespace, durable: bool) -> None:
    for file, label in layout.label_files(namespace):
        kept = label.encode("utf-8", "surrogatepass")
        if _read(file) != kept:
            # A folder above may be no namespace, and nobody would look there for what a crash left half-written.
            write_file(file, kept, durable=durable, by_way_of=layout.folder(namespace))
        elif durable and os.name != "nt" and _settled.get(str(file)) != (inode := file.stat().st_ino):
            _flush(file)
            _settled[str(file)] = inode


# the journal: one line with the namespaces, one with the steps


def _write_journal(layout: Layout, actions: Sequence[Action], durable: bool) -> Path:
    journal = layout.journal / f"{uuid.uuid4().hex}.json"
    namespaces = sorted({action.namespace for action in actions})
    steps = [[list(action.namespace), action.path, action.content] for action in actions]
    write_file(journal, f"{json.dumps(namespaces)}\n{json.dumps(steps)}\n".encode(), durable=durable)
    return journal


def journals(layout: Layout) -> Iterator[tuple[Path, list[Namespace]]]:
    """The batches that are under way or that a crash left unfinished, each with its namespaces in order."""
    try:
        with os.scandir(layout.journal) as listing:
            entries = list(listing)
    except FileNotFoundError:
        return
    for entry in entries:
        path = Path(entry.path)
        with contextlib.suppress(FileNotFoundError):  # its writer has just finished
            if is_temporary(entry.name) and time.time() - entry.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
            elif entry.name.endswith(".json"):
                namespaces = _read_line(path, 0)
                yield path, [tuple(namespace) for namespace in namespaces or []]


def _read_line(journal: Path, number: int) -> Any:
    """One line of a journal; one that isn't whole was never begun, and is set aside."""
    with journal.open("rb") as file:
        lines = [file.readline() for _ in range(number + 1)]
    try:
        return json.loads(lines[number])
    except ValueError as error:
        logger.warning("the journal %r is broken (%s) and was set aside", str(journal), error)
        journal.replace(journal.with_suffix(".broken"))
        return None


def replay(layout: Layout, journal: Path, *, durable: bool) -> None:
    """Finish a batch; the caller holds its namespaces, so its writer is gone. A file that was changed after the batch
    began and says something else is somebody's later work, and is left alone.
    """
    try:
        steps, began = _read_line(journal, 1), journal.stat().st_mtime_ns
    except FileNotFoundError:
        return  # its writer was only slow
    for namespace in {tuple(namespace) for namespace, _, content in steps or [] if content is not None}:
        _keep_labels(layout, namespace, durable)
    for namespace, path, content in steps or []:
        action = Action(tuple(namespace), path, content)
        file = layout.folder(action.namespace) / path
        if not file.exists() or file.stat().st_mtime_ns <= began:
            _carry_out(layout, action, durable)
    _remove_journal(journal, durable)
    logger.warning("finished a batch of %d steps that a crash had interrupted", len(steps or []))
