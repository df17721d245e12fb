from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.remember.simhash import distance, names, near_duplicate, normalise, numbers, simhash

LIMIT = 3
LONG = (
    "We agreed with the landlord that the rent for the flat in the old town is going to be 850 euros a month from the "
    "first of May, and that Anne repairs the heating in the kitchen before the winter comes back to us"
)
ALPHABET = st.characters(codec="utf-8", exclude_categories=("Cs",))


def test_case_spacing_and_punctuation_do_not_count() -> None:
    """A trailing full stop or other white space is no new fact."""
    assert near_duplicate("My wife is Anne.", "My wife is  Anne", LIMIT)
    assert simhash("My wife is Anne.") == simhash("my WIFE is\nAnne")
    assert near_duplicate(LONG, LONG.replace("We agreed", "We really agreed"), 64)


def test_long_texts_that_differ_in_one_particular_are_not_duplicates() -> None:
    """A number, a "not", a name, an opposite: fingerprints of long texts hardly see them, the guards do."""
    for old, new in [
        ("850", "860"),
        ("is going", "is not going"),
        ("Anne", "Anna"),
        ("before", "after"),
        ("May", "June"),
        ("repairs", "ruins"),
        ("euros", "dollars"),
    ]:
        changed = LONG.replace(old, new)
        assert distance(simhash(LONG), simhash(changed)) < 16
        assert not near_duplicate(LONG, changed, LIMIT)


def test_short_texts_that_differ_in_a_word_are_not_duplicates() -> None:
    """Letters alone tell these apart, in any script."""
    for a, b in [
        ("My wife is Anne", "My wife is Anna"),
        ("I live in Lyon", "I live in Paris"),
        ("I like coffee", "I hate coffee"),
        ("我妻子叫安娜", "我妻子叫安妮"),
        ("I like Apple", "I like apple"),
        ("Write to a@b.org", "Write to a@b.com"),
        ("It costs $5", "It costs €5"),
        ("It was -5 degrees", "It was 5 degrees"),
        ("Anne loves Bob", "Bob loves Anne"),
    ]:
        assert not near_duplicate(a, b, LIMIT)


def test_numbers_are_read_without_separators() -> None:
    """1,000 and 1000 are one number; dates and versions stay whole."""
    assert numbers("1,000 and 1'000'000 and 2.5 and 2024-05-01") == ["1000", "1000000", "2.5", "2024-05-01"]


def test_names_are_capitalised_words_inside_a_sentence() -> None:
    """The word that opens a sentence, and I, are no names."""
    assert names("My sister Ann-Marie met O'Brien. Then I left") == {"Ann-Marie", "O'Brien"}


def test_a_text_without_words_has_a_fingerprint() -> None:
    """Punctuation and nothing at all hash to zeros."""
    assert simhash("") == simhash("…!?") == "0" * 16


@given(st.text(ALPHABET, max_size=200))
def test_a_fingerprint_has_sixteen_digits_and_equals_itself(text: str) -> None:
    """Any text, of any script."""
    assert re.fullmatch(r"[0-9a-f]{16}", simhash(text))
    assert near_duplicate(text, text, 0)
    assert simhash(text) == simhash(normalise(text))


@given(st.text(ALPHABET, max_size=60), st.text(ALPHABET, max_size=60))
def test_nearness_is_symmetric_and_within_bounds(a: str, b: str) -> None:
    """It doesn't matter which of the two was first."""
    assert near_duplicate(a, b, LIMIT) == near_duplicate(b, a, LIMIT)
    assert 0 <= distance(simhash(a), simhash(b)) <= 64


@given(st.integers(0, 99_999), st.integers(0, 99_999))
def test_other_numbers_are_other_facts(a: int, b: int) -> None:
    """However long the text around them is."""
    assert near_duplicate(f"{LONG} {a}", f"{LONG} {b}", 64) == (a == b)


@given(st.sampled_from(["not", "never", "no", "nicht", "pas", "nunca", "不"]))
def test_a_denial_is_another_fact(word: str) -> None:
    """In any language that is known."""
    assert not near_duplicate(LONG, f"{LONG} {word}", 64)


@pytest.mark.parametrize(("a", "b", "same"), [("🎉", "🎊", False), ("🎉", " 🎉 ", True), ("...", "🎉", False)])
def test_texts_without_words_are_the_same_only_as_they_stand(a: str, b: str, same: bool) -> None:
    """They have no letters to be compared by."""
    assert near_duplicate(a, b, LIMIT) == same


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["\n ", "a", "a@", "A-", "0.", "a/", ".", "我"])
def test_hostile_texts_are_compared_in_linear_time(unit: str) -> None:
    """However long, and whatever they repeat."""
    text = unit * (100_000 // len(unit)) + "-"
    assert near_duplicate(text, text, LIMIT)
