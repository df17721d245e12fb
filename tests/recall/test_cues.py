"""How cue words are found: whole words, longest first, in scripts with and without spaces."""

from __future__ import annotations

import pytest

from langmem_plus.recall import cues
from langmem_plus.recall.cues import find_cues, first_phrase, normalise, unspaced, without_phrases


def test_normalising_keeps_words_alone() -> None:
    """Case, punctuation, wide letters and curly apostrophes don't count."""
    assert normalise("  Hi,  THERE!! It’s ｍｅ…") == "hi there it's me"


def test_cues_are_whole_words() -> None:
    """ "hi" isn't found in "hiking"."""
    assert find_cues("hiking hi", ("hi",)) == (["hi"], "hiking")


def test_unspaced_scripts_are_matched_by_character() -> None:
    """A cue may stand anywhere in a run, and what is left stays together."""
    assert find_cues("谢谢你的帮助", ("谢谢你", "谢谢")) == (["谢谢你"], "的帮助")
    assert unspaced("谢")
    assert not unspaced("é")


def test_phrases_are_found_on_word_boundaries() -> None:
    """The phrase is given back as it was written in the settings."""
    assert first_phrase("it was the last time ever", ["Last Time"]) == "Last Time"
    assert first_phrase("the blast timeline", ["last time"]) is None
    assert first_phrase("anything", ["", "  "]) is None


def test_phrases_are_taken_out_as_they_were_written() -> None:
    """Whatever stands between their words; the rest keeps its case."""
    assert without_phrases("LAST-time, Anne said", ["last time"]) == ", Anne said"


@pytest.mark.parametrize(
    "name", ["GREETINGS_AND_THANKS", "ACKNOWLEDGEMENTS", "FILLERS", "CONTINUITY", "CONTINUITY_FILLERS", "DOCUMENTS"]
)
def test_the_lists_are_written_as_they_are_matched(name: str) -> None:
    """A cue with punctuation or capitals could never be found."""
    phrases = getattr(cues, name)
    assert [phrase for phrase in phrases if normalise(phrase) != phrase] == []
    assert list(phrases) == sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
