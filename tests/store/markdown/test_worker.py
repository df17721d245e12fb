from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from langmem_plus.store.markdown.worker import StoppedError, Worker


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


class Counting:
    """Does so many steps."""

    def __init__(self, steps: int, pause: float = 0.0) -> None:
        self.left, self.pause, self.done = steps, pause, 0
        self.worker = Worker("counting", self.step)

    def step(self) -> float | None:
        """One less."""
        self.done += 1
        self.left -= 1
        return self.pause if self.left > 0 else None


def test_it_runs_while_there_is_work_and_ends_then() -> None:
    """No thread before there is any, none afterwards, and a new one for new work."""
    counting = Counting(3)
    assert not counting.worker.is_running
    counting.worker.wake()
    until(lambda: counting.done == 3 and not counting.worker.is_running)
    counting.worker.wake()
    until(lambda: counting.done == 4 and not counting.worker.is_running)


def test_stopping_ends_a_pause_at_once_and_waking_begins_anew() -> None:
    """However long it would have waited."""
    counting = Counting(9, pause=1000.0)
    counting.worker.wake()
    until(lambda: counting.done == 1)
    counting.worker.stop()
    assert not counting.worker.is_running
    counting.worker.wake()
    until(lambda: counting.done == 2)
    counting.worker.stop()


def test_without_its_owner_the_thread_ends() -> None:
    """It keeps nothing alive that nobody uses any more."""
    owners = [Counting(9, pause=1000.0)]
    owners[0].worker.wake()
    until(lambda: owners[0].done == 1)
    thread = owners[0].worker._bell.thread
    assert thread is not None
    owners.clear()
    gc.collect()
    until(lambda: not thread.is_alive())


def test_after_stop_nothing_is_touched() -> None:
    """Neither by a step that was waiting for something outside while its owner was closed."""
    told: list[str] = []
    entered, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self) -> None:
            self.worker = Worker("slow", self.step)

        def step(self) -> float | None:
            """Waits, then touches."""
            entered.set()
            go_on.wait(5)
            try:
                with self.worker.touching():
                    told.append("touched")
            except StoppedError:
                told.append("left alone")
                raise
            return None

    slow = Slow()
    slow.worker.wake()
    assert entered.wait(5)
    slow.worker.stop(0)
    go_on.set()
    until(lambda: told)
    assert told == ["left alone"]


def test_a_step_that_fails_ends_the_thread_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The next wake tries again."""

    class Failing:
        def __init__(self) -> None:
            self.worker = Worker("failing", self.step)

        def step(self) -> float | None:
            """Never works."""
            raise RuntimeError("broken")

    failing = Failing()
    failing.worker.wake()
    until(lambda: not failing.worker.is_running)
    assert "background work of the store failed" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    """The parent's isn't there, whatever it was doing."""
    counting = Counting(9, pause=1000.0)
    counting.worker.wake()
    until(lambda: counting.done == 1)
    child = os.fork()
    if not child:
        ok = not counting.worker.is_running
        counting.worker.wake()
        for _ in range(400):
            if counting.done == 2:
                break
            time.sleep(0.005)
        os._exit(0 if ok and counting.done == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert counting.worker.is_running
    counting.worker.stop()


def test_the_process_waits_for_a_step_whose_owner_is_gone() -> None:
    """A thread that is still within a model when the interpreter ends takes the process down, so there it is waited for
    longer than where a store closes.
    """
    program = """
import time
from langmem_plus.store.markdown.worker import Worker
Worker.stop.__defaults__ = (0.01,)
class Owner:
    def __init__(self):
        self.worker = Worker("test", self.step)
    def step(self):
        print("begun", flush=True)
        time.sleep(0.3)
        print("ended", flush=True)
owner = Owner()
owner.worker.wake()
time.sleep(0.1)
del owner
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["begun", "ended"]
