"""Blocking calls from async code: results, errors, context, and no waiting for what was cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from langmem_plus.providers.threads import in_thread

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
