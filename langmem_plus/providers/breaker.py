"""Leaving something alone for a while that fails again and again, and finding out with one try that it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# A pause grows to so many times the first one.
LONGEST = 64
# A call that fails after so long was a time-out: another one isn't risked first.
SLOW_SECONDS = 1.0


class Breaker:
    """A circuit breaker; thread-safe.

    Closed, it lets every call through. Open, none, until its pause is over: then a single one, the probe, and the next
    only after another pause, so that a probe that never ends or is cancelled blocks nothing. A success closes it; a
    probe that fails makes the next pause twice as long.

    Args:
        failures: so many in a row open it; a slow one does so at once.
        pause: seconds that it stays open at first.
        clock: seconds that only ever grow.
    """

    def __init__(self, failures: int, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._first, self._clock = failures, pause, clock
        self.forked()

    def forked(self) -> None:
        """In a forked child, and at first: closed, held by nobody."""
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = 0.0
        self._until = 0.0
        self._probing = False

    @property
    def failures(self) -> int:
        """The calls that failed since the last one that worked."""
        with self._lock:
            return self._failures

    @property
    def is_open(self) -> bool:
        """Whether calls are left out, but for the probe when it is due."""
        with self._lock:
            return self._pause > 0

    def resting(self) -> float:
        """Seconds until the next call is let through; 0 where one would be."""
        with self._lock:
            return max(0.0, self._until - self._clock()) if self._pause else 0.0

    def allows(self) -> bool:
        """Whether to make a call now; who is told so while it is open makes the probe."""
        with self._lock:
            if not self._pause:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until, self._probing = now + self._pause, True
            return True

    def probe_now(self) -> None:
        """End the pause: somebody asked for another try."""
        with self._lock:
            self._until = 0.0

    def succeeded(self) -> bool:
        """A call worked; says whether that ended a time of failures."""
        with self._lock:
            ended = self._failures > 0
            self._failures, self._pause, self._until, self._probing = 0, 0.0, 0.0, False
            return ended

    def failed(self, seconds: float) -> None:
        """A call that was let through failed, after so many seconds."""
        with self._lock:
            self._failures += 1
            if self._pause and not self._probing:
                return  # it was under way when another one opened it
            if self._pause:
                self._pause, self._probing = min(self._pause * 2, self._first * LONGEST), False
            elif self._failures >= self._limit or seconds >= SLOW_SECONDS:
                self._pause = self._first
            self._until = self._clock() + self._pause
