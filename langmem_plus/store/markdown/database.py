"""A namespace's database, held against other threads and processes, and built anew when it is lost or broken."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown.connection import MORTALS, OutdatedIndexError, explain, is_busy, is_outside
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout, namespace_id, temporary_name
from langmem_plus.store.markdown.locks import ProcessLock

logger = logging.getLogger(__name__)

T = TypeVar("T")

# An index that had to be kept in memory tries the disk again after so long, where there is so much room.
_MEMORY_SECONDS = 60.0
_ROOM_BYTES = 1 << 20
# Times that a job is run when its index is broken or removed under it: somebody may be clearing the folder just now.
_TRIES = 5
_PAUSE = 0.01
_IN_MEMORY = "the index of %s can't be kept on disk (%s), so it is kept in memory: make %r writable and make room"


class Database:
    """One open index, its thread lock and its lock file.

    Args:
        layout: where things lie.
        namespace: whose index it is.
        opened: called whenever a database was opened, before it is used.
    """

    def __init__(self, layout: Layout, namespace: Namespace, opened: Callable[[], None]) -> None:
        name = namespace_id(namespace)
        self._namespace, self._opened = namespace, opened
        self._index_file = layout.index / f"{name}.db"
        self._vector_file = layout.vectors / f"{name}.db"
        self._lock_file = layout.locks / f"{name}.lock"
        self._lock = threading.RLock()
        # The index may be deleted under us; the lock file never is, so it alone keeps processes apart.
        self._process_lock = ProcessLock(self._lock_file)
        self._index: Index | None = None
        self._memory_until = 0.0
        self._tried: int | None = None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold it against other threads and processes.

        Raises:
            StoreError: the lock file can't be used.
        """
        with self.trying(wait=True):
            yield

    @contextlib.contextmanager
    def trying(self, *, wait: bool = False) -> Iterator[bool]:
        """As `locked`; without ``wait`` it may find that somebody else holds it, which it says, and goes on."""
        taken = self._lock.acquire(blocking=wait)
        try:
            held = taken and self._acquire(wait)
            try:
                yield held
            finally:
                if held:
                    self._process_lock.release()
        finally:
            if taken:
                self._lock.release()

    def _acquire(self, wait: bool) -> bool:
        try:
            return self._process_lock.acquire(wait=wait)
        except OSError as error:
            raise StoreError(
                f"the lock file {str(self._lock_file)!r} can't be used ({error}): make its folder writable."
            ) from error

    def tell(self) -> None:
        """Tell the others, by the lock file's time, that files were written of which an index on disk doesn't know. The
        caller holds `locked`.
        """
        now = time.time_ns()
        with contextlib.suppress(OSError):
            try:
                os.utime(self._lock_file, ns=(now, now))
            except PermissionError:  # somebody else's file: writing it is allowed, choosing its time isn't
                os.utime(self._lock_file)

    def told(self) -> int:
        """Changes when somebody told something."""
        try:
            return os.stat(self._lock_file).st_mtime_ns  # noqa: PTH116 - at every use, so the cheapest call
        except OSError:
            return 0

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def discard(self) -> None:
        """Remove the index and the vectors; the caller holds `locked`.

        Raises:
            OSError: one of their files can't be removed.
        """
        self.close()
        for file in (self._index_file, self._vector_file):
            _remove(file)

    def close_if_idle(self) -> bool:
        """Close the connection unless another thread is using it, and say whether that was so."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self.close()
        finally:
            self._lock.release()
        return True

    def hold(self, seconds: float) -> bool:
        """Before a fork: keep every thread out and the connection closed, until `let_go`."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self.close()
        return True

    def let_go(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()

    def leave_to_parent(self) -> None:
        """After a fork, in the child."""
        self._process_lock.leave_to_parent()

    def glance(self, job: Callable[[Index], bool]) -> bool:
        """What a quick job says of the index as it stands open; False where none does, or where somebody else is using
        it.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._index is not None and job(self._index)
        except sqlite3.Error:
            return False  # `use` finds out what is wrong
        finally:
            self._lock.release()

    def use(self, job: Callable[[Index], T], *, hint: bool = False) -> T:
        """Run a job on the index. A broken or lost index is built anew, and the job run once more; so it is where the
        disk is full or can't be written: then one in memory, made from the files, stands in until there is room again.

        Args:
            job: what to do.
            hint: what it writes can be done without: that is no reason to leave the index on disk.

        Raises:
            StoreError: the index is busy for longer than its time-out, or can't be built.
        """
        with self._lock:
            for again in reversed(range(_TRIES)):
                try:
                    return job(self._open())
                except sqlite3.DatabaseError as error:
                    if isinstance(error, sqlite3.ProgrammingError):
                        raise
                    lost = self._index is not None and self._index.condition() != "current"
                    outside = not lost and is_outside(error)
                    stays = hint or self._index is None or self._index.in_memory
                    if not again or (not lost and is_busy(error)) or (outside and stays):
                        raise explain(error, self._index_file) from error
                    if outside:
                        self._leave_the_disk(error)
                        continue
                    if not lost:
                        outdated = isinstance(error, OutdatedIndexError)
                        kind, level = ("old", logging.INFO) if outdated else ("broken", logging.WARNING)
                        logger.log(level, "the index of %s is %s (%s) and is built anew", self._namespace, kind, error)
                        self._throw_away()
                    time.sleep(_PAUSE)
        raise AssertionError("the last try returns or raises")

    def _open(self) -> Index:
        index = self._index
        if index is not None and index.in_memory and time.monotonic() > self._memory_until:
            if self._has_room():
                self.close()
            else:
                self._memory_until = time.monotonic() + _MEMORY_SECONDS
        elif index is not None and (condition := index.condition()) != "current":
            if condition == "torn":
                logger.warning("a log of the index of %s was removed; it is built anew", self._namespace)
                self._throw_away()
            else:
                self.close()
        if self._index is None:
            self._index = self._connect()
            self._opened()
        return self._index

    def _connect(self) -> Index:
        for again in reversed(range(_TRIES)):
            try:
                for folder in (self._index_file.parent, self._vector_file.parent):
                    folder.mkdir(parents=True, exist_ok=True)
                self._check_lock()
                self._tried = _inode(self._index_file)
                if self._tried is not None:
                    return Index(self._index_file, self._vector_file)
                with self.locked():  # only one makes the tables
                    made = Index(self._index_file, self._vector_file)
                    self._tried = _inode(self._index_file)
                    return made
            except (sqlite3.Error, OSError) as error:
                if isinstance(error, sqlite3.Error) and not is_outside(error):
                    raise
                if not again:
                    self._warn(error)
        return self._in_memory()

    def _check_lock(self) -> None:
        """Where the lock can't be held, as on a file system that is read-only, nobody may use an index on disk.

        Raises:
            OSError: it can't.
        """
        place = self._lock_file if self._lock_file.exists() else self._lock_file.parent
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, "it can't be written", str(place))

    def _warn(self, error: Exception) -> None:
        logger.warning(_IN_MEMORY, self._namespace, error, str(self._index_file.parent))

    def _in_memory(self) -> Index:
        self._memory_until = time.monotonic() + _MEMORY_SECONDS
        return Index(None, self._vector_file)

    def _leave_the_disk(self, error: Exception) -> None:
        """What is written from now on is in the files and in an index in memory; the one on disk is behind, and follows
        when it is opened again.
        """
        self._warn(error)
        self.close()
        self._index = self._in_memory()
        self._opened()

    def _has_room(self) -> bool:
        """Whether the index could be kept on disk again."""
        probe = self._index_file.with_name(temporary_name())
        try:
            probe.parent.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(bytes(_ROOM_BYTES))
        except OSError:
            return False
        finally:
            with contextlib.suppress(OSError):
                probe.unlink(missing_ok=True)
        return True

    def make_room(self) -> None:
        """Give the room of the index on disk to the files: it is derived from them, and stays in memory until there is
        room for both. The caller holds `locked`.
        """
        with contextlib.suppress(OSError):  # what can't be removed gives no room
            self.close()
            _remove(self._index_file)
        self._index = self._in_memory()
        self._opened()

    def _throw_away(self) -> None:
        """Remove a broken index, unless somebody else did so and made another one meanwhile, and the vectors too where
        they are broken. What can't be removed is left: then the index is kept in memory.
        """
        try:
            with self.locked():
                # While the connection is open its file's number can't be another file's.
                ours = _inode(self._index_file) in (None, self._tried)
                self.close()
                if ours:
                    _remove(self._index_file)
                if not _is_sound(self._vector_file):
                    logger.warning("the vectors of %s are broken and will be embedded again", self._namespace)
                    _remove(self._vector_file)
        except OSError as error:
            self.close()
            logger.warning("the broken index of %s can't be removed: %s", self._namespace, error)
            self._index = self._in_memory()
            self._opened()


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", MORTALS):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        # Vectors were paid for: only what is surely broken is given up.
        return getattr(error, "sqlite_errorname", "") not in ("SQLITE_CORRUPT", "SQLITE_NOTADB")
