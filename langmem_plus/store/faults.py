"""Whose fault it is when an embedder raises, pure: its own, or that of the text that it was sent."""

from __future__ import annotations

import asyncio

from langmem_plus.errors import LangMemPlusError
from langmem_plus.providers.too_long import http_status, is_too_long

_REFUSED = (ValueError, TypeError, LookupError, ArithmeticError, AssertionError)
_DOWN = (OSError, ImportError, LangMemPlusError)
# HTTP: bad request, content too large, not processable. Every other status tells of the server, its load or the key,
# unless its message tells of a length.
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
    status = http_status(error)
    if status is not None:
        return status not in _REFUSED_STATUS and not is_too_long(error)
    name = type(error).__name__.lower()
    return isinstance(error, _DOWN) or any(part in name for part in _DOWN_NAMES)


def is_refusal(error: BaseException) -> bool:
    """Whether the embedder says that it can't read this text. Neither this nor an outage: nobody can tell."""
    if is_outage(error):
        return False
    return http_status(error) in _REFUSED_STATUS or isinstance(error, _REFUSED) or is_too_long(error)
