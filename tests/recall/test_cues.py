"""How cue words are found: whole words, longest first, in scripts with and without spaces."""

from __future__ import annotations

import pytest

from langmem_plus.recall import cues
from langmem_plus.recall.cues import first_phrase, without_phrases
from langmem_plus.small_talk import normalise


def test_phrases_are_found_on_word_boundaries() -> None:
    """The phrase is given back as it was written in the settings."""
    assert first_phrase("it was the last time ever", ["Last Time"]) == "Last Time"
    assert first_phrase("the blast timeline", ["last time"]) is None
    assert first_phrase("anything", ["", "  "]) is None


def test_phrases_are_taken_out_as_they_were_written() -> None:
    """Whatever stands between their words; the rest keeps its case."""
    assert without_phrases("LAST-time, Anne said", ["last time"]) == ", Anne said"


@pytest.mark.parametrize("name", ["CONTINUITY", "CONTINUITY_FILLERS", "DOCUMENTS"])
def test_the_lists_are_written_as_they_are_matched(name: str) -> None:
    """A cue with punctuation or capitals could never be found."""
    phrases = getattr(cues, name)
    assert [phrase for phrase in phrases if normalise(phrase) != phrase] == []
    assert list(phrases) == sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
