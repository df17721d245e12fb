"""What calls of models cost, counted for whoever asked for them, however deep below they are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_COUNTS: ContextVar[dict[str, int] | None] = ContextVar("langmem_plus_spending", default=None)


@contextmanager
def spending() -> Iterator[dict[str, int]]:
    """Count what is spent within the block, also in threads that take its context along.

    >>> with spending() as counts:
    ...     spend("calls")
    ...     spend("calls", 2)
    >>> counts
    {'calls': 3}
    """
    counts: dict[str, int] = {}
    token = _COUNTS.set(counts)
    try:
        yield counts
    finally:
        _COUNTS.reset(token)


def spend(name: str, amount: int = 1) -> None:
    """Add to a count of the innermost `spending`; without one, nothing is counted."""
    counts = _COUNTS.get()
    if counts is not None:
        counts[name] = counts.get(name, 0) + amount
