"""What may be asked for as a time to live, and when it is over."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.store.ttl import check_config, check_minutes, minutes_after

NOON = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(("given", "read"), [(None, None), (0, 0.0), (2, 2.0), (0.05, 0.05)])
def test_minutes_are_any_number_from_nought(given: Any, read: float | None) -> None:
    """Whole or in part; None is no end."""
    assert check_minutes(given, "ttl") == read


@pytest.mark.parametrize("given", [-1, float("inf"), float("nan"), True, "5", [1]])
def test_what_is_no_number_of_minutes_is_named(given: Any) -> None:
    """With what to give."""
    with pytest.raises(InvalidValueError, match="ttl="):
        check_minutes(given, "ttl")


def test_a_setting_is_copied_and_checked() -> None:
    """The caller's dict may change later; an unknown name is told."""
    given: Any = {"default_ttl": 5}
    checked = check_config(given)
    given["default_ttl"] = 6
    assert checked == {"default_ttl": 5}
    assert check_config(None) is None
    with pytest.raises(ConfigError, match="default_tll"):
        check_config({"default_tll": 5})  # type: ignore[typeddict-unknown-key]


def test_times_are_counted_in_parts_of_minutes() -> None:
    """And end with the calendar, however long they are."""
    assert minutes_after(NOON, 0.001) == "2030-01-01T12:00:00.060000Z"
    assert minutes_after(NOON, 1e300) == minutes_after(NOON, 1e12) == "9999-12-31T23:59:59.999999Z"
