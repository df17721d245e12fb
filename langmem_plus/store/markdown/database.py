"""A namespace's database, held against other threads and processes, and built anew when it is lost or broken."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout, namespace_id

logger = logging.getLogger(__name__)

T = TypeVar("T")


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
        self._lock = threading.RLock()
        # The index may be deleted under us; the lock file never is, so it alone keeps processes apart.
        self._file_lock = FileLock(layout.locks / f"{name}.lock", thread_local=False)
        self._index: Index | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold it against other threads."""
        with self._lock:
            yield

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold it against other threads and processes."""
        with self._lock:
            try:
                self._file_lock.acquire()
            except OSError as error:
                raise StoreError(
                    f"the lock file {self._file_lock.lock_file!r} can't be used ({error}): make its folder writable."
                ) from error
            try:
                yield
            finally:
                self._file_lock.release()

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def use(self, job: Callable[[Index], T]) -> T:
        """Run a job on the index. A broken index is thrown away and built anew, and the job run once more.

        Raises:
            StoreError: the index is busy for longer than its time-out, or can't be built.
        """
        with self._lock:
            try:
                return job(self._open())
            except sqlite3.DatabaseError as error:
                if "locked" in str(error):
                    raise StoreError(f"the index of {self._namespace} is busy ({error}): try again.") from error
                logger.warning("the index of %s is broken (%s) and is built anew", self._namespace, error)
            return self._rebuild(job)

    def _open(self) -> Index:
        if self._index is not None and not self._index.is_current():
            self.close()
        if self._index is None:
            self._index = Index(self._index_file, self._vector_file)
            self._opened()
        return self._index

    def _rebuild(self, job: Callable[[Index], T]) -> T:
        with self.locked():
            self.close()
            _remove(self._index_file)
            if not _is_sound(self._vector_file):
                logger.warning("the vectors of %s are broken and will be embedded again", self._namespace)
                _remove(self._vector_file)
            try:
                return job(self._open())
            except sqlite3.DatabaseError as error:
                raise StoreError(
                    f"the index {str(self._index_file)!r} can't be built ({error}): make its folder writable and make "
                    "room; the Markdown files are untouched."
                ) from error


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False
