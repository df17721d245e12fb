"""Small talk in several languages, and how cue words are found: whole words, longest first, in every script."""

from __future__ import annotations

import pytest

from langmem_plus import small_talk
from langmem_plus.small_talk import find_cues, find_small_talk, normalise, unspaced


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


@pytest.mark.parametrize("name", ["GREETINGS_AND_THANKS", "ACKNOWLEDGEMENTS", "FILLERS"])
def test_the_lists_are_written_as_they_are_matched(name: str) -> None:
    """A cue with punctuation or capitals could never be found."""
    phrases = getattr(small_talk, name)
    assert [phrase for phrase in phrases if normalise(phrase) != phrase] == []
    assert list(phrases) == sorted(phrases, key=lambda phrase: (-len(phrase), phrase))


@pytest.mark.parametrize("text", ["Thanks a lot!", "ok, great", "Hallo zusammen!", "谢谢你的帮助！", "Merci beaucoup"])
def test_small_talk_is_told_in_several_languages(text: str) -> None:
    """Greetings, thanks and acknowledgements, and the words that stand beside them."""
    assert find_small_talk(text)


@pytest.mark.parametrize("text", ["Thanks, I live in Lyon", "How are you?", "Hello Anne", "", "I like tea"])
def test_what_says_or_asks_something_is_no_small_talk(text: str) -> None:
    """One word more is enough."""
    assert find_small_talk(text) is None


def test_an_acknowledgement_after_a_question_is_an_answer() -> None:
    """Thanks are none."""
    assert find_small_talk("ok", asked=True) is None
    assert find_small_talk("thanks", asked=True) == "thanks"
