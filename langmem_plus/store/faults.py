"""Whose fault it is when an embedder raises, pure: its own, or that of the text that it was sent."""

from __future__ import annotations

import asyncio

from langmem_plus.errors import LangMemPlusError

_REFUSED = (ValueError, TypeError, LookupError, ArithmeticError, AssertionError)
_DOWN = (OSError, ImportError, LangMemPlusError)
# HTTP: bad request, content too large, not processable. Every other status tells of the server, its load or the key.
_REFUSED_STATUS = (400, 413, 422)
# Providers have errors of their own for what Python calls a ConnectionError or a TimeoutError.
_DOWN_NAMES = ("timeout", "connect", "ratelimit", "auth", "unavailable")


# Not the embedder's: somebody wants the whole call to end.
_WISHES = (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)


def as_failure(error: BaseException) -> Exception:
    """What an embedder raised, as a failure of the embedder: a library that exits the process, or whose native part
    panics, takes no write with it.

    Raises:
        KeyboardInterrupt, GeneratorExit, CancelledError: it was one of these.
    """
    if isinstance(error, Exception):
        return error
    if isinstance(error, _WISHES):
        raise error
    failure = RuntimeError(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def is_outage(error: BaseException) -> bool:
    """Whether the embedder can't be reached, or can't answer anything: another text would fare no better."""
    status = _status(error)
    if status is not None:
        return status not in _REFUSED_STATUS
    name = type(error).__name__.lower()
    return isinstance(error, _DOWN) or any(part in name for part in _DOWN_NAMES)


def is_refusal(error: BaseException) -> bool:
    """Whether the embedder says that it can't read this text. Neither this nor an outage: nobody can tell."""
    if is_outage(error):
        return False
    return _status(error) in _REFUSED_STATUS or isinstance(error, _REFUSED)


def _status(error: BaseException) -> int | None:
    """The HTTP status that the clients of most providers carry in their errors."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
