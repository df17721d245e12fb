"""Time to live as LangGraph's ``TTLConfig`` says it, pure: what may be asked for, and when the time is over."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from langgraph.store.base import TTLConfig

from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.records import format_time

_LAST = dt.datetime.max.replace(tzinfo=dt.UTC)
_FLAGS = ("refresh_on_read", "omit_expired")


def check_minutes(value: Any, name: str) -> float | None:
    """Minutes of a time to live, fractions too; None for no end, 0 for over at once.

    Raises:
        InvalidValueError: it isn't a finite number of at least 0.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InvalidValueError(f"{name}={value!r}: give minutes, 0 or more, such as 1.5, or None for no end.")
    return float(value)


def check_config(ttl: TTLConfig | None) -> TTLConfig | None:
    """A copy of the store's time to live.

    Raises:
        ConfigError: a name or a value isn't one of LangGraph's ``TTLConfig``.
    """
    if ttl is None:
        return None
    if unknown := sorted(set(ttl) - TTLConfig.__annotations__.keys()):
        raise ConfigError(f"ttl has {unknown[0]!r}; use {', '.join(sorted(TTLConfig.__annotations__))}.")
    given: dict[str, Any] = dict(ttl)
    try:
        check_minutes(given.get("default_ttl"), "ttl: default_ttl")
        interval = check_minutes(given.get("sweep_interval_minutes"), "ttl: sweep_interval_minutes")
    except InvalidValueError as error:
        raise ConfigError(str(error)) from error
    if interval == 0:
        raise ConfigError("ttl: sweep_interval_minutes=0: give more than 0, or None for no sweeping.")
    for name in _FLAGS:
        if not isinstance(given.get(name, True), bool):
            raise ConfigError(f"ttl: {name}={given[name]!r}: give True or False.")
    return ttl.copy()


def minutes_after(time: dt.datetime, minutes: float) -> str:
    """The time so many minutes later, as the store writes times; the end of the calendar for what lies beyond it."""
    try:
        return format_time(time + dt.timedelta(minutes=minutes))
    except OverflowError:
        return format_time(_LAST)
