"""Graphs that the client runs are no part of a graph that it is called in.

A node of a running graph hands its thread, its user, its checkpointer and its callbacks on to every graph that is run
within it, and a user whom the run's context names wins. A call of the client says whose memory it is by itself, so it
runs without any of that; everything else that belongs to the caller's context stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from typing import Any, TypeVar

from langmem_plus.identity import alone

T = TypeVar("T")


def apart(function: Callable[[], T]) -> T:
    """What a function gives, run apart from the graph that is running."""
    return alone().run(function)


async def aapart(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, as `apart`."""
    return await asyncio.get_running_loop().create_task(coroutine, context=alone())


def stream_apart(start: Callable[[], Generator[T, Any, Any]]) -> Iterator[T]:
    """What a generator yields, as `apart`; whoever leaves early closes it."""
    context = alone()
    stream = context.run(start)
    try:
        while True:
            try:
                item = context.run(next, stream)
            except StopIteration:
                return
            yield item
    finally:
        context.run(stream.close)


async def astream_apart(start: Callable[[], AsyncGenerator[T, Any]]) -> AsyncGenerator[T, None]:
    """What an async generator yields, as `stream_apart`."""
    context, loop = alone(), asyncio.get_running_loop()
    stream = context.run(start)

    async def following() -> T:
        return await anext(stream)

    try:
        while True:
            try:
                item = await loop.create_task(following(), context=context)
            except StopAsyncIteration:
                return
            yield item
    finally:
        await loop.create_task(stream.aclose(), context=context)
