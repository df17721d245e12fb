"""One thread for work that nobody waits for: it starts when there is some, and ends when there is none."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

# A step that is under way is waited for so long when its owner closes, and when the process ends: a thread that is
# within a model then takes the process down.
_STOP_SECONDS, _EXIT_SECONDS = 2.0, 20.0


class StoppedError(Exception):
    """The worker's owner was closed: leave everything as it is."""


class _Bell:
    """What the thread and its owner share, so that the thread keeps no owner alive that nobody uses any more."""

    def __init__(self) -> None:
        self.changed, self.pid = threading.Condition(), os.getpid()
        self.touching = threading.Lock()
        self.due: float | None = None
        self.stopped = False
        self.thread: threading.Thread | None = None

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


class Worker:
    """Runs a step again and again in a daemon thread of its own, as long as the step asks for the next one.

    Args:
        name: the thread's.
        step: a method; does one piece of work, and returns the seconds until the next one, or None where nothing is
            left. It is held weakly: without its owner the thread ends.
    """

    def __init__(self, name: str, step: Callable[[], float | None]) -> None:
        self._name, self._step = name, weakref.WeakMethod(step)
        self._start_over()

    def _start_over(self) -> None:
        self._bell, self._pid = _Bell(), os.getpid()
        weakref.finalize(self, self._bell.stop)

    @property
    def is_running(self) -> bool:
        """Whether there is a thread now."""
        thread = self._bell.thread
        return self._pid == os.getpid() and thread is not None and thread.is_alive()

    def wake(self, delay: float = 0.0) -> None:
        """Run a step in ``delay`` seconds, or sooner where that is planned already."""
        if self._pid != os.getpid() or self._bell.stopped:
            self._start_over()
        bell, due = self._bell, time.monotonic() + delay
        with bell.changed:
            bell.due = due if bell.due is None else min(bell.due, due)
            if bell.thread is None:
                _RUNNING.add(bell)
                bell.thread = threading.Thread(target=_work, args=(bell, self._step), name=self._name, daemon=True)
                bell.thread.start()
            bell.changed.notify_all()

    @contextlib.contextmanager
    def touching(self) -> Iterator[None]:
        """Around what a step does to its owner's things; not around what it waits for. `stop` waits for it, and after
        that nothing is touched any more.

        Raises:
            StoppedError: the owner was closed meanwhile.
        """
        bell = getattr(_CURRENT, "bell", self._bell)
        with bell.touching:
            if bell.stopped:
                raise StoppedError
            yield

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        """End the thread after what it is touching now, and wait a moment for it. A later `wake` begins anew."""
        if self._pid != os.getpid():
            return
        bell = self._bell
        bell.stop()
        with bell.touching:
            thread = bell.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)


_RUNNING: set[_Bell] = set()  # also of owners that are gone
_CURRENT = threading.local()


def _work(bell: _Bell, step: weakref.WeakMethod[Callable[[], float | None]]) -> None:
    _CURRENT.bell = bell
    try:
        _run(bell, step)
    finally:
        with bell.changed:
            if bell.thread in (None, threading.current_thread()):
                _RUNNING.discard(bell)


def _run(bell: _Bell, step: weakref.WeakMethod[Callable[[], float | None]]) -> None:
    while _wait(bell):
        method = step()
        if method is None:
            return
        pause: float | None = None
        try:
            pause = method()
        except StoppedError:
            return
        except Exception:
            logger.exception("background work of the store failed; its next use tries again")
        del method
        if pause is not None:
            with bell.changed:
                due = time.monotonic() + pause
                bell.due = due if bell.due is None else min(bell.due, due)


def _wait(bell: _Bell) -> bool:
    """Whether it is time for a step; False where the thread is to end."""
    with bell.changed:
        while not bell.stopped and bell.due is not None:
            left = bell.due - time.monotonic()
            if left <= 0:
                bell.due = None
                return True
            bell.changed.wait(left)
        bell.thread = None
        return False


def _stop_all() -> None:
    ends = time.monotonic() + _EXIT_SECONDS
    running = [(bell, bell.thread) for bell in list(_RUNNING) if bell.pid == os.getpid()]
    for bell, _ in running:
        bell.stop()
    for _, thread in running:
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, ends - time.monotonic()))


atexit.register(_stop_all)
