"""Blocking calls in threads of their own: they hold up neither the loop, nor the process's exit, nor those who waited
long enough.

SDKs share one async HTTP client among all their models and bind it to the loop that used it first: in the next loop
every other call fails with "Event loop is closed", and a second loop at the same time disturbs the first one's calls.
Their sync clients work from any thread, so async calls that may come from any loop go through them.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, function: Callable[..., Result], *arguments: object) -> Result:
    """Run a blocking function in a daemon thread of its own, with the caller's context variables, and give it up when
    it takes too long: the thread goes on, and nobody waits for it any more, not even the process's exit.

    Raises:
        TimeoutError: it took longer.
        BaseException: what the function raised.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(context.run(function, *arguments))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=run, daemon=True, name="langmem-plus-call").start()
    return answer.result(seconds)


def all_within(seconds: float, calls: Sequence[Callable[[], Result]], at_once: int) -> list[Result]:
    """Run several blocking calls as `within`, so many at a time, and give their results in order. The first failure
    ends it: calls that haven't begun never do, and nobody waits for the others.

    Raises:
        TimeoutError: not all were ready in time.
        BaseException: what one of them raised.
    """
    answers: list[Future[Result]] = [Future() for _ in calls]
    waiting, over = deque(zip(calls, answers, strict=True)), threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                call, answer = waiting.popleft()
            except IndexError:
                return
            try:
                answer.set_result(call())
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                answer.set_exception(error)

    for _ in range(min(at_once, len(calls))):
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(work,), daemon=True, name="langmem-plus-call").start()
    try:
        done, late = wait(answers, seconds, FIRST_EXCEPTION)
    finally:
        over.set()
    for answer in done:
        answer.result()
    if late:
        raise TimeoutError
    return [answer.result() for answer in answers]


async def in_thread(function: Callable[..., Result], *arguments: object) -> Result:
    """Run a blocking function in a daemon thread of its own, with this task's context variables.

    Unlike with ``asyncio.to_thread`` there is no pool that fills up, and a call that was cancelled isn't waited for
    when the loop or the process ends.
    """
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[Result] = loop.create_future()

    def hand_over(result: Result | None, error: BaseException | None) -> None:
        if finished.done():  # cancelled meanwhile
            return
        if error is not None:
            finished.set_exception(error)
        else:
            finished.set_result(result)  # type: ignore[arg-type] # a result is None only where Result is

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(function, *arguments)
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        if isinstance(failure, StopIteration):  # a future can't hold one
            failure = RuntimeError(f"{function!r} raised StopIteration")
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(hand_over, result, failure)

    context = contextvars.copy_context()
    threading.Thread(target=run, daemon=True, name="langmem-plus-call").start()
    return await finished
