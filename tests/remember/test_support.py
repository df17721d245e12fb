from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.remember.support import entities, find_tags, importance, support


@given(st.text(max_size=100))
def test_a_text_supports_itself(text: str) -> None:
    """Whatever it is."""
    assert support(text, text) == 1.0


def test_another_inflection_supports_too() -> None:
    """In languages that are known and others."""
    assert support("The user is moving to Lyon", "I moved to Lyon") == 1.0
    assert support("Der Nutzer studiert Medizin", "Ich studiere Medizin") == 1.0


def test_names_and_numbers_are_all_or_nothing() -> None:
    """One invented name or number takes all support away."""
    assert support("The user met Anne and Bob in Lyon", "I met Anne in Lyon") == 0.0
    assert support("The user paid 30 euros for the tea", "I paid 20 euros for the tea") == 0.0
    assert support("Bob likes green tea", "I like green tea") == 0.0
    assert support("Anne's dog likes the sea", "My dog likes the sea") == 0.0
    assert support("Prefers green tea", "I like green tea") > 0.5


def test_a_relative_time_may_have_become_a_date_near_the_words() -> None:
    """Counted from the time of the words; without a relative time a date is as invented as any number."""
    said = dt.datetime(2023, 5, 8, tzinfo=dt.UTC)
    for dated in ("The user moved to Lyon on May 1, 2023.", "The user moved to Lyon in the week of 2023-05-01."):
        assert support(dated, "I moved to Lyon last week", said) >= 0.5
        assert support(dated, "I moved to Lyon", said) == 0.0
        assert support(dated, "I moved to Lyon last week") == 0.0
    assert support("The user moved to Lyon on May 1, 2026.", "I moved to Lyon last week", said) == 0.0
    assert support("The user moved to Rome on May 1, 2023.", "I moved to Lyon last week", said) == 0.0


def test_importance_is_within_bounds() -> None:
    """All bonuses together, and a malus alone."""
    assert importance("preference", asked=True, confidence=1) == 1.0
    assert importance("small_talk", asked=False) == 0.0


def test_entities_are_runs_of_names() -> None:
    """A name of several words is one; the word that opens a sentence is none."""
    assert entities("We met Ren Solanke and Anne in New York. Rain fell") == ["Ren Solanke", "Anne", "New York"]
    assert find_tags("preference", "I like Rome") == ["preference", "Rome"]
    assert find_tags("fact", "I like it") == []
