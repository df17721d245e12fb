"""The mutex between processes: one lock file a namespace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    from filelock import FileLock, Timeout

    class ProcessLock:
        """A lock on a file, reentrant; its owner keeps threads apart."""

        def __init__(self, path: Path) -> None:
            self._lock = FileLock(path, thread_local=False)

        def acquire(self, *, wait: bool = True) -> bool:
            """Take the lock; without ``wait``, False when another process has it."""
            try:
                self._lock.acquire(timeout=-1 if wait else 0, poll_interval=0.005)
            except Timeout:
                return False
            return True

        def release(self) -> None:
            """Give it back, once for each time that it was taken."""
            self._lock.release()

        def leave_to_parent(self) -> None:
            """In a forked child: let go of what the parent may hold. Windows doesn't fork."""

else:
    import fcntl

    class ProcessLock:
        """A lock on a file, reentrant; its owner keeps threads apart.

        Args:
            path: the file; made when missing. It is never removed, but should a person remove it, a waiting process
                takes the new one.
        """

        def __init__(self, path: Path) -> None:
            self._path = path
            self._handle = -1
            self._depth = 0

        def acquire(self, *, wait: bool = True) -> bool:
            """Take the lock; without ``wait``, False when another process has it.

            Raises:
                OSError: the file can't be made or locked.
            """
            if self._depth == 0:
                handle = self._lock(wait)
                if handle < 0:
                    return False
                self._handle = handle
            self._depth += 1
            return True

        def _lock(self, wait: bool) -> int:
            while True:
                handle = self._open()
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self._is_current(handle):
                        return handle
                except BlockingIOError:
                    os.close(handle)
                    return -1
                except BaseException:
                    os.close(handle)
                    raise
                os.close(handle)

        def _open(self) -> int:
            flags = os.O_RDWR | os.O_CREAT
            try:
                return os.open(self._path, flags, 0o666)
            except FileNotFoundError:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                return os.open(self._path, flags, 0o666)

        def _is_current(self, handle: int) -> bool:
            try:
                return os.fstat(handle).st_ino == self._path.stat().st_ino
            except FileNotFoundError:
                return False

        def release(self) -> None:
            """Give it back, once for each time that it was taken."""
            self._depth -= 1
            if self._depth == 0:
                handle, self._handle = self._handle, -1
                # Not by closing alone: a child that was forked meanwhile shares the handle, and with it the lock.
                fcntl.flock(handle, fcntl.LOCK_UN)
                os.close(handle)

        def leave_to_parent(self) -> None:
            """In a forked child: let go of what the parent may hold, which keeps it for the parent."""
            if self._handle >= 0:
                os.close(self._handle)
                self._handle, self._depth = -1, 0
