"""What one moves to without living there."""

from __future__ import annotations

import pytest

from langmem_plus.remember.no_places import is_no_place
from langmem_plus.remember.rules import replaces

NO_PLACES = [
    *("Slack", "GitHub Actions", "PostgreSQL", "Linux", "Windows", "AWS", "Google Cloud", "Friday", "Phase", "HR"),
    *("Engineering", "Building", "Plan", "楼上", "新办公室", "S3"),
]
PLACES = ["York", "New York", "LA", "UK", "NYC", "McAllen", "O'Fallon", "Bury St Edmunds", "Köln", "São Paulo", "北京"]


@pytest.mark.parametrize("value", NO_PLACES)
def test_tools_departments_days_and_rooms_are_no_homes(value: str) -> None:
    """ "We moved to Slack" is built as "We moved to York" is, and retires no home."""
    assert is_no_place(value)
    assert not replaces(f"We moved to {value}", "I live in Leeds")


@pytest.mark.parametrize("value", PLACES)
def test_places_are(value: str) -> None:
    """Also initials of states and cities, and names with a capital inside."""
    assert not is_no_place(value)
