"""Small talk and what was said before, word for word: no model is asked, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import ExtractedFact, ExtractedFacts
from langmem_plus.recall.plan import plan
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.unasked import says_nothing
from langmem_plus.testing import ScriptedChatModel


def facts(*texts: str) -> ExtractedFacts:
    """What a model answers."""
    return ExtractedFacts(facts=[ExtractedFact(text=text) for text in texts])


@pytest.mark.parametrize("text", ["Thanks!", "ok, great", "[image]", "```\ncode\n```", "谢谢你", "Guten Morgen!"])
def test_what_says_nothing(text: str) -> None:
    """Small talk in any language, and turns without words of the user's own."""
    assert says_nothing(MemoryRecord(id="t", role="user", text=text, user_id="u"), MemoryConfig())


@pytest.mark.parametrize("text", ["Thanks, I live in Lyon.", "Ok?", "Hello, I'm Anne", "Tea.", "我住在上海"])
def test_what_says_something(text: str) -> None:
    """A model is to read it."""
    assert not says_nothing(MemoryRecord(id="t", role="user", text=text, user_id="u"), MemoryConfig())


@pytest.mark.parametrize(
    ("text", "cues", "nothing"),
    [
        ("Ahoi!", (), False),
        ("Ahoi!", ("ahoi",), True),
        ("ahoi, thanks", ("Ahoi",), True),
        ("Ahoi, I live in Lyon", ("ahoi",), False),
        ("Thanks!", ("-thanks",), False),
        ("Thanks!", ("-*", "ahoi"), False),
    ],
)
def test_remembering_has_the_cues_of_recall(text: str, cues: tuple[str, ...], nothing: bool) -> None:
    """What a setting adds to small talk, or takes out of it, counts for both, so that neither side asks a model."""
    config = MemoryConfig(small_talk_cues=cues)
    assert says_nothing(MemoryRecord(id="t", role="user", text=text, user_id="u"), config) is nothing
    assert (plan(text, config).strategy == "none") is nothing


def test_ones_own_small_talk_asks_no_model(person: Any) -> None:
    """Neither for facts nor for a summary."""
    model = ScriptedChatModel([])
    ann = person(model, small_talk_cues=("ahoi",), summary_refresh_turns=1)
    ann.say("Ahoi!")
    assert (model.calls, [turn.extracted for turn in ann.records("user")]) == ([], [True])


def test_small_talk_asks_no_model_and_is_done(person: Any, way: str) -> None:
    """It isn't read again and again."""
    model = ScriptedChatModel([])
    ann = person(model)
    ann.say("Thanks a lot!")
    assert model.calls == []
    assert [record.extracted for record in ann.records("user")] == [True]


def test_the_same_words_again_make_what_is_known_stronger_without_a_call(person: Any, way: str) -> None:
    """As often as they are said, and in another thread, too."""
    model = ScriptedChatModel([facts("The user likes tea.", "The user lives in Lyon.")])
    ann = person(model)
    ann.say("I like tea, and I live in Lyon.")
    for again in (ann, person(model, thread_id="t2")):
        result = again.say("I like tea, and I live in Lyon!")
        assert [(each.event, each.by) for each in result.decisions] == [("NONE", "duplicate")] * 2
    assert [record.repeat_count for record in ann.records()] == [2, 2]
    assert len(model.calls) == 1


def test_what_is_not_known_any_more_is_asked_for_again(person: Any, way: str) -> None:
    """Replaced, deleted, or edited into something that the words don't say."""
    gone = {"status": "deleted"}
    other = {"text": "The user likes coffee and trains."}
    for change in (gone, other):
        model = ScriptedChatModel([facts("The user likes tea.")], then=facts("The user likes tea."))
        ann = person(model, user_id=f"ann {len(change)} {next(iter(change))}")
        ann.say("I like tea.")
        (record,) = ann.records()
        ann.store.put(ann.scope.namespace, record.id, record.model_copy(update=change).to_value())
        ann.say("I like tea.")
        assert len(model.calls) >= 2
        assert "The user likes tea." in ann.texts()


def test_a_relative_time_says_another_thing_each_time(person: Any, way: str) -> None:
    """The dentist of last week isn't the one of yesterday."""
    model = ScriptedChatModel(then=facts())
    ann = person(model)
    ann.say("I went to the dentist yesterday.")
    ann.say("I went to the dentist yesterday.")
    assert len(model.calls) == 2


def test_another_speakers_words_are_no_repeat(person: Any, way: str) -> None:
    """Anne's "I like tea" isn't Bob's."""
    model = ScriptedChatModel(
        then=lambda messages: facts("Bob likes tea." if "Bob" in str(messages) else "Anne likes tea.")
    )
    ann = person(model)
    ann.say("I like tea.", name="Anne")
    ann.say("I like tea.", name="Bob")
    assert ann.texts() == ["Anne likes tea.", "Bob likes tea."]


def test_a_question_asked_again_holds_nothing_again(person: Any, way: str) -> None:
    """It gave no facts, and rules see none in it."""
    model = ScriptedChatModel([facts()])
    ann = person(model)
    ann.say("What is the capital of Belgium?")
    ann.say("What is the capital of Belgium?")
    assert len(model.calls) == 1
    assert ann.texts() == []
