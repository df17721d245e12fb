"""Which of two homes surely excludes the other: known places that lie apart."""

from __future__ import annotations

import itertools

import pytest

from langmem_plus.remember.places import find_kind, lie_apart, may_hold
from langmem_plus.remember.rules import may_outdate, replaces
from langmem_plus.remember.slots import find_slot

HOLD_EACH_OTHER = [
    ("England", "Leeds"),
    ("Yorkshire", "Leeds"),
    ("the UK", "Leeds"),
    ("England", "the UK"),
    ("Bavaria", "Munich"),
    ("France", "Lyon"),
]
UNKNOWN = ["Catholicism", "Monday.com", "Hackney", "Camden", "Minecraft", "Angst", "Little Snoring"]


@pytest.mark.parametrize("pair", HOLD_EACH_OTHER)
def test_a_place_within_another_is_no_other_home(pair: tuple[str, str]) -> None:
    """Whichever is said first: who lives in England now may live in Leeds still; none is the newer one either."""
    for new, old in itertools.permutations(pair):
        assert not replaces(f"I moved to {new}", f"I live in {old}")
        assert not replaces(f"I live in {new} now", f"I live in {old}")
        assert not may_outdate(f"I live in {new} now", f"I live in {old}")


@pytest.mark.parametrize("new", UNKNOWN)
def test_what_isnt_known_as_a_place_retires_none(new: str) -> None:
    """A faith, a tool, a part of the town that is known."""
    for text in (f"I moved to {new}", f"I live in {new} now", f"Ich lebe jetzt in {new}", f"Ahora vivo en {new}"):
        assert not replaces(text, "I live in London"), text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Leeds", "I moved to the Netherlands"),
        ("I live in the Netherlands", "I moved to York"),
        ("I live in Scotland", "I live in England now"),
        ("I live in Little Snoring", "I moved to York"),
        ("I live in Leeds", "I moved from Leeds to Little Snoring"),
        ("我住在上海市", "我搬到北京了"),
        ("I live in Leeds", "Since May I live in Paris."),
    ],
)
def test_places_that_lie_apart_exclude_each_other(old: str, new: str) -> None:
    """A town and another country; an unknown place that was left for a town, or the one that is said to be left."""
    assert replaces(new, old)


def test_an_unknown_place_that_is_said_to_hold_now_is_the_newer_one() -> None:
    """Both stay: the one may be a part of the other."""
    assert not replaces("I live in York now", "I live in Little Snoring")
    assert may_outdate("I live in York now", "I live in Little Snoring")


def test_values_of_slots_are_found() -> None:
    """As slots spell them, in several languages, of one word or more."""
    for text, kind in [
        ("I live in New York City", "town"),
        ("I live in the UK", "country"),
        ("J'habite à Montréal", "town"),
        ("我住在石家庄", "town"),
        ("我住在广东省", "part"),
        ("I live in Baden-Württemberg", "part"),
        ("I live in Cambridge", ""),
    ]:
        slot = find_slot(text)
        assert slot is not None
        assert find_kind(slot.value) == kind, text
    assert not lie_apart("leeds", "leeds", moved=False) or not replaces("I moved to Leeds", "I live in Leeds")
    assert not may_hold("england", "lyon")
