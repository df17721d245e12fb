"""What a recall asks a store for, batch by batch: written once, for those who wait for a store and those who don't."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from langgraph.store.base import BaseStore, Op, Result

AnswerT = TypeVar("AnswerT")
Batches: TypeAlias = Generator[list[Op], list[Result], AnswerT]
"""Yields batches of ops, is sent their results, and returns what these come to."""


def run_batches(find_store: Callable[[], BaseStore], batches: Batches[AnswerT]) -> AnswerT:
    """Ask a store, which isn't looked for where nothing is asked."""
    try:
        ops = next(batches)
        while True:
            ops = batches.send(find_store().batch(ops))
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def arun_batches(find_store: Callable[[], BaseStore], batches: Batches[AnswerT]) -> AnswerT:
    """As `run_batches`."""
    try:
        ops = next(batches)
        while True:
            ops = batches.send(await find_store().abatch(ops))
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
