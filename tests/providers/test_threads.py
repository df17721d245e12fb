"""Blocking calls from async code: results, errors, context, and no waiting for what was cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from functools import partial

import pytest

from langmem_plus.providers.threads import all_within, in_thread

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def test_results_and_context_come_through() -> None:
    """The function runs in another thread, with the caller's context variables."""
    WHO.set("ann")
    assert await in_thread(lambda x: (x, WHO.get(), threading.current_thread().daemon), 3) == (3, "ann", True)


async def test_errors_come_through() -> None:
    """An error is raised where the call is awaited; even one that a future can't hold."""

    def fail(error: BaseException) -> None:
        raise error

    with pytest.raises(KeyError):
        await in_thread(fail, KeyError("x"))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(fail, StopIteration())


def test_a_cancelled_call_is_not_waited_for() -> None:
    """The loop ends at once although the thread still blocks, and its late result disturbs nobody."""
    release, ended = threading.Event(), threading.Event()

    def block() -> None:
        release.wait(5)
        ended.set()

    async def give_up() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(in_thread(block), 0.05)

    asyncio.run(give_up())
    assert not ended.is_set()
    release.set()
    assert ended.wait(5)


def test_several_calls_give_their_results_in_order() -> None:
    """So many run at a time, with the caller's context variables, and the slowest doesn't change the order."""
    running, most, guard = 0, 0, threading.Lock()
    WHO.set("caller")

    def call(number: int) -> tuple[int, str]:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        time.sleep(0.02 if number == 0 else 0.001)
        with guard:
            running -= 1
        return number, WHO.get()

    found = all_within(10, [partial(call, number) for number in range(6)], 2)
    assert found == [(number, "caller") for number in range(6)]
    assert most <= 2
    assert all_within(10, [], 2) == []


def test_the_first_failure_ends_the_calls() -> None:
    """What hasn't begun never does; what hangs is given up in time."""
    begun: list[int] = []

    def call(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        all_within(10, [partial(call, number) for number in range(2)], 1)
    over = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            all_within(0.05, [partial(over.wait, 10), partial(over.wait, 10), partial(call, 7)], 2)
    finally:
        over.set()
    assert begun == [0, 1]
