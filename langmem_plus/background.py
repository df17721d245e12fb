"""After the reply: a few worker threads of the process run what doesn't have to be waited for.

Work is named by a key. Two pieces of work under one key that still wait become one, nothing is cancelled once it runs,
and a submit during a run queues one more. Work of one lane is done one piece after another, so that two workers never
do the same; a piece that takes long holds up its own lane alone. A failure is tried again with a growing, jittered
delay, then counted, logged and kept in `Background.failures`. The exit of the process waits for the queue, within
``flush_seconds``.

The queue is a convenience, not the truth: what has to be done stands in the store as turns that aren't extracted yet,
so work that a crash or the bound at exit cuts off is found again at the next start. So is what is submitted once the
main thread has ended: by then no worker is left, and nobody waits for one.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread  # noqa: F401 - so that its own hook at exit is registered before ours, and runs after it
import contextvars
import datetime as dt
import logging
import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import LangMemPlusError
from langmem_plus.records import utc_now

logger = logging.getLogger(__name__)

# When atexit's functions run, thread pools refuse work already, and models and graphs may need one. The hook by which
# concurrent.futures closes its pools runs before that; where a Python hasn't got it, atexit has to do.
_register_at_exit: Callable[[Callable[[], None]], object] = getattr(threading, "_register_atexit", atexit.register)

Key = tuple[Hashable, ...]
KEPT_FAILURES = 100  # the newest failures that stay readable; all are counted


@dataclass(frozen=True)
class Failure:
    """One piece of work that was given up: its key, the last error, how often it was tried, and when it ended."""

    key: Key
    error: str
    attempts: int
    at: dt.datetime


@dataclass
class _Job:
    key: Key
    lane: Key
    work: Callable[[], object]
    config: MemoryConfig
    wanted: float  # when it was to be done
    awaited: bool
    attempts: int = 0
    not_before: float = 0.0  # after a failure
    waited: float = 0.0  # seconds that somebody waited for it in vain

    @property
    def due(self) -> float:
        """When it may begin."""
        return max(self.wanted, self.not_before)


class Background:
    """A queue and its workers: daemon threads that start when there is work for them, ``background_workers`` at most.

    A forked child starts with an empty queue and workers of its own; the parent keeps what it had queued.
    """

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            reset = weakref.WeakMethod(self._reset)

            def after_in_child() -> None:
                method = reset()
                if method is not None:
                    method()

            os.register_at_fork(after_in_child=after_in_child)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Key, _Job] = {}
        self._running: dict[Key, _Job] = {}  # by lane
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._draining = False
        self._told = False  # that nothing is worked off any more
        self._failures: deque[Failure] = deque(maxlen=KEPT_FAILURES)
        self._failed = 0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest pieces of work that were given up, oldest first."""
        return tuple(self._failures)

    @property
    def backlog(self) -> tuple[int, float]:
        """How many pieces of work are due or run now, and for how many seconds the oldest of them has been due."""
        now = time.monotonic()
        with self._changed:
            jobs = [*self._running.values(), *(job for job in self._waiting.values() if job.wanted <= now)]
        return len(jobs), max((now - job.wanted for job in jobs), default=0.0)

    @property
    def failed(self) -> int:
        """How many pieces of work were given up since the process started."""
        return self._failed

    def submit(
        self,
        key: Key,
        work: Callable[[], object],
        config: MemoryConfig,
        *,
        lane: Key | None = None,
        delay: float = 0.0,
        awaited: bool = True,
    ) -> None:
        """Run ``work`` soon in a worker thread, in fresh context variables; returns at once.

        Work that waits under the same key is replaced, so ``work`` must also do what the earlier one would have done
        (drawing facts out does: it takes every pending turn from the store).

        Args:
            key: what the work is about; `flush` can wait for the keys that begin alike.
            work: called without arguments; raises to be tried again.
            config: how often it is tried again, after how long, how many work at a time, and how long the process's
                exit may wait for it.
            lane: what mustn't be worked on twice at a time; the key, where it is left out.
            delay: seconds before it is done, unless somebody waits for it or it is submitted again.
            awaited: whether `flush` and the process's exit wait for it.
        """
        now = time.monotonic()
        with self._changed:
            job = _Job(key, lane or key, work, config, now + delay, awaited)
            if before := self._waiting.get(key):
                job.wanted, job.not_before = min(job.wanted, before.wanted), before.not_before
                job.awaited = awaited or before.awaited
            self._waiting[key] = job
            more = len(self._waiting) > self._idle and len(self._threads) < config.background_workers
            if more and not self._draining:
                self._start_worker()
            if not self._threads and not self._told:
                self._told = True
                logger.warning("memory: nothing works in the background now; what is left is found at the next start")
            self._changed.notify_all()

    def _start_worker(self) -> None:
        """One more worker, where a thread can still be had."""
        worker = threading.Thread(
            target=self._work_off, name=f"langmem-plus-background-{len(self._threads) + 1}", daemon=True
        )
        try:
            if not self._threads:
                _register_at_exit(self._drain)
            worker.start()
        except RuntimeError as error:  # the main thread has ended, or there are too many threads
            logger.debug("no worker can be started: %s", error)
        else:
            self._threads.append(worker)

    def flush(self, timeout: float | None, prefix: Key = ()) -> bool:
        """Do now what only waits for its time, and wait until nothing waits or runs any more, or no worker is left.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.
            prefix: only the keys that begin with it; the default is everything.

        Returns:
            False when ``timeout`` seconds were not enough, or nothing is worked off any more as the process ends.
        """
        started = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: not self._hurried(prefix) or not self._threads, timeout)
            left = self._open(prefix)
            for job in left:
                job.waited += time.monotonic() - started
            return not left

    def _hurried(self, prefix: Key) -> list[_Job]:
        """What is still open; what is only delayed is due from now on."""
        jobs, now = self._open(prefix), time.monotonic()
        for job in jobs:
            if job.wanted > now:
                job.wanted = now
                self._changed.notify_all()
        return jobs

    async def aflush(self, timeout: float | None, prefix: Key = ()) -> bool:
        """Wait like `flush` without holding up the event loop."""
        return await asyncio.to_thread(self.flush, timeout, prefix)

    def _open(self, prefix: Key) -> list[_Job]:
        jobs = [*self._waiting.values(), *self._running.values()]
        return [job for job in jobs if job.awaited and job.key[: len(prefix)] == prefix]

    def _work_off(self) -> None:
        while (job := self._take()) is not None:
            error: BaseException | None = None
            try:
                contextvars.Context().run(job.work)
            except BaseException as caught:  # noqa: BLE001 - the worker outlives any failure; _settle() logs it
                error = caught
            self._settle(job, error)

    def _take(self) -> _Job | None:
        """The next job that is due, waiting for it; None when the process ends and nothing has to be waited for."""
        with self._changed:
            while True:
                if self._draining and not any(job.awaited for job in self._waiting.values()):
                    self._threads.remove(threading.current_thread())
                    return None
                now = time.monotonic()
                free = [job for job in self._waiting.values() if job.lane not in self._running]
                ready = (job for job in free if job.due <= now or (self._draining and job.awaited))
                if (job := next(ready, None)) is not None:
                    self._running[job.lane] = self._waiting.pop(job.key)
                    return job
                self._idle += 1
                due = min((job.due for job in free), default=None)
                self._changed.wait(None if due is None else due - now)
                self._idle -= 1

    def _settle(self, job: _Job, error: BaseException | None) -> None:
        """Queue a failed job again, or give it up; then let the waiting ones know."""
        with self._changed:
            self._running.pop(job.lane, None)
            if error is not None:
                job.attempts += 1
                newer = self._waiting.get(job.key)
                if newer is None and (self._draining or job.attempts > job.config.retries):
                    self._give_up(job, error)
                else:
                    delay = job.config.retry_seconds * 2 ** (job.attempts - 1) * random.uniform(0.5, 1.0)
                    job.not_before = time.monotonic() + delay
                    logger.warning("memory: background work failed, next try in %.1f s: %s", delay, _describe(error))
                    if newer is None:
                        self._waiting[job.key] = job
                    else:
                        newer.not_before = job.not_before
            self._changed.notify_all()

    def _give_up(self, job: _Job, error: BaseException) -> None:
        self._failed += 1
        self._failures.append(Failure(job.key, _describe(error), job.attempts, utc_now()))
        logger.error(
            "memory: background work was given up after %d tries; its turns stay pending in the store: %s",
            job.attempts,
            _describe(error),
            exc_info=None if isinstance(error, LangMemPlusError) else error,  # ours say where and what to do
        )

    def _drain(self) -> None:
        """At the process's exit: try everything once more without delay, and wait for it within the bound, of which
        what a client waited for in vain when it was closed is a part.
        """
        with self._changed:
            self._draining = True
            bound = max((job.config.flush_seconds - job.waited for job in self._open(())), default=0.0)
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._open(()) or not self._threads, max(bound, 0.0))
        if left := len(self._open(())):
            logger.warning(
                "memory: the process ends with %d pieces of background work open; they are found again at the next "
                "start. Raise flush_seconds, or call flush(), to wait longer.",
                left,
            )


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


background = Background()
"""The process's queue."""
