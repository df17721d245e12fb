"""Texts that an embedder refuses."""

from __future__ import annotations

import pytest

from langmem_plus.store import refused as module
from langmem_plus.store.refused import LONGEST, Refused, text_hash


def test_equal_texts_have_one_hash() -> None:
    """Any text has one, also one without UTF-8."""
    assert text_hash("tea") == text_hash("tea") != text_hash("tea ")
    assert len(text_hash("\ud800")) == 16


def test_the_pause_of_a_text_grows() -> None:
    """Twice as long each time, up to a bound; its first refusal is news."""
    now = 0.0
    refused = Refused(10.0, lambda: now)
    assert refused.note("tea", "too long")
    pauses = []
    for _ in range(20):
        assert refused.pausing() == {text_hash("tea")}
        found = refused.find("tea")
        assert found is not None
        pauses.append(found.until - now)
        now = found.until
        assert refused.pausing() == frozenset()
        assert not refused.note("tea", "still too long")
    assert pauses[:3] == [10.0, 20.0, 40.0]
    assert pauses[-1] == 10.0 * LONGEST
    assert refused.find("tea").reason == "still too long"  # type: ignore[union-attr]


def test_a_text_that_has_its_vector_is_forgotten() -> None:
    """It alone."""
    refused = Refused(10.0)
    refused.note("tea", "no")
    refused.note("milk", "no")
    refused.clear(["tea", "wine"])
    assert (len(refused), refused.find("tea")) == (1, None)
    assert refused.note("tea", "no")
    refused.forked()
    assert len(refused) == 2


def test_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were refused last."""
    monkeypatch.setattr(module, "REMEMBERED", 3)
    refused = Refused(10.0)
    for text in "abcd":
        refused.note(text, "no")
    refused.note("b", "no")
    refused.note("e", "no")
    assert [refused.find(text) is not None for text in "abcde"] == [False, True, False, True, True]
