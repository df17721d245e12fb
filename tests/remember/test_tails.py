"""What stands behind a told home or employer: harmless endings, and all others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.remember.rules import replaces
from langmem_plus.remember.tails import ends_plainly, is_framed, tells_trade

HARMLESS = [
    *("", "!", " yesterday", " last month with my dog", " with my husband Tom and our two kids", " because of work"),
    *(", UK", " and I love it", ", not Paris", " for my wife's job", " again", " 🎉", " into a flat", " 了"),
]
OTHER = [
    *("in my twenties", "at 18", "for university", "in a dream", "as an au pair", "in the nineties", "last year"),
    *("with my parents", "to study", "in May", "until June", "once", "when I was young", "but left", "on paper"),
    *("als ich 18 war", "für ein Jahr", "pour mes études", "quand j'avais 5 ans", "a los 18 años", "por un año"),
    *(", then back to Leeds", ", but I'm back in Leeds", "and hated it", ", said Tom", "三年"),
]
TOLD = {
    "home": ("I moved to York", "Ich bin nach York gezogen", "J'ai déménagé à York", "Me mudé a York"),
    "employer": ("I started at Google", "Ich habe bei Google angefangen", "J'ai commencé chez Google"),
}
KNOWN = {"home": "I live in Leeds", "employer": "I work at Apple"}


@pytest.mark.parametrize("tail", HARMLESS)
def test_a_recent_day_company_and_a_reason_change_nothing(tail: str) -> None:
    """Nor do a larger place and joy, in any order."""
    assert ends_plainly("home", tail)


@pytest.mark.parametrize("tail", OTHER)
def test_any_other_ending_retires_nothing(tail: str) -> None:
    """Of a home as of an employer, in any language, whatever harmless is said as well."""
    for attribute, told in TOLD.items():
        for text in told:
            joined = f"{text}{tail}" if tail.startswith(",") else f"{text} {tail}"
            for whole in (joined, f"{joined} with my dog", f"{joined}."):
                assert not replaces(whole, KNOWN[attribute]), whole


PARTS = st.sampled_from([tail.strip(" ,.!") for tail in HARMLESS if len(tail) > 3 and tail[:2] != ", "])


@given(st.lists(PARTS, max_size=3), st.sampled_from(OTHER), st.integers(0, 3))
def test_one_other_part_is_enough(parts: list[str], other: str, place: int) -> None:
    """Wherever it stands among harmless ones."""
    assert ends_plainly("home", "".join(f" {part}" for part in parts))
    tail = " ".join([*parts[:place], other.strip(" ,"), *parts[place:]])
    assert not ends_plainly("home", f" {tail}"), tail


def test_as_what_one_works_tells_a_job_and_a_time_of_life_doesnt() -> None:
    """A teenager and an intern aren't trades."""
    assert tells_trade("I started at Acme as a senior software engineer")
    for who in ("teenager", "student", "young man", "volunteer", "summer intern"):
        assert not tells_trade(f"I started at Acme as a {who}")


def test_what_somebody_else_says_or_a_story_tells_is_framed() -> None:
    """It retires nothing of whatever kind."""
    for text in (
        "My favourite colour is blue, said Tom",
        "In the game my name is Bob",
        "I don't like tea anymore, he said",
    ):
        assert is_framed(text)
    assert not is_framed("I said I moved to York, and Tom came")
    assert not replaces("My favourite colour is blue, said Tom", "My favourite colour is red")
    assert not replaces("I no longer live in Leeds, said Tom", "I live in Leeds")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [" ", ", ", " with my dog", " and", ", A", " as a b", " in a ", " 了"])
def test_hostile_endings_are_read_in_no_time(unit: str) -> None:
    """As long as a statement can be."""
    tail = (unit * 400)[:400] + "\x00"
    for attribute in ("home", "employer"):
        assert not ends_plainly(attribute, tail)
    assert not is_framed(tail) or "in a" in tail
