"""What stays of a conversation: by rules, by a model's answer, merged, bounded, and without what is forgotten."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.prompts import Archived
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.gist import (
    Gist,
    gist_by_answer,
    gist_by_rules,
    lasting,
    marks_of,
    read_gist,
    without,
    without_statement,
)

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def turns(*lines: str, name: str | None = None) -> list[MemoryRecord]:
    """The user and the assistant, one after the other."""
    return [
        MemoryRecord(
            id=str(place),
            role="assistant" if place % 2 else "user",
            text=line,
            user_id="ann",
            metadata={"name": name} if name and place % 2 == 0 else {},
        )
        for place, line in enumerate(lines)
    ]


def by_rules(*lines: str, previous: Gist | None = None, items: int = 7) -> Gist:
    """The gist of a conversation, or of its going on."""
    return gist_by_rules(previous or Gist(), turns(*lines), items, 3)


KYOTO = (
    "I'm planning a trip to Kyoto with my wife Anne. I'm allergic to shellfish.",
    "Which ryokan would you like?",
    "Let's go with the Kyoto Garden.",
    "Shall I look for trains?",
)


def test_a_conversation_by_rules() -> None:
    """Statements in the user's words, the choice, the question nobody answered, names and topics."""
    gist = by_rules(*KYOTO)
    assert "I'm allergic to shellfish." in gist.told
    assert gist.decisions == ("Let's go with the Kyoto Garden.",)
    assert gist.questions == ("Shall I look for trains?",)
    assert {"Kyoto", "Anne"} <= set(gist.names)
    assert "trip" in gist.topics


@pytest.mark.parametrize(
    ("line", "is_choice"),
    [
        ("We decided to take the train.", True),
        ("OK, I'll go with the blue one.", True),
        ("Ich habe mich für Plagwitz entschieden.", True),
        ("Wir nehmen das Haus am See.", True),
        ("J'ai choisi le vélo rouge.", True),
        ("He decidido alquilar un traje.", True),
        ("我决定买联想的。", True),
        ("Let's meet in York on 12 December.", True),
        ("Wir treffen uns am Samstag.", True),
        ("Nos vemos el 12 de diciembre.", True),
        ("On se retrouve à Lyon mardi.", True),
        ("我们明天见面。", True),
        ("Let's meet.", False),
        ("Wann treffen wir uns am Samstag?", False),
        ("Vielleicht sehen wir uns am Montag.", False),
        ("If we decided to take the train, what would it cost?", False),
        ("We haven't decided yet.", False),
        ("Should I go with the blue one?", False),
        ("I might go for a walk.", False),
        ("Vielleicht nehmen wir das Haus.", False),
    ],
)
def test_choices(line: str, is_choice: bool) -> None:
    """What was chosen, in five languages; no question, no wish, no maybe."""
    assert bool(by_rules(line).decisions) == is_choice


def test_what_was_asked_is_told_where_nothing_is_stated() -> None:
    """A conversation of questions is about what they ask."""
    gist = by_rules("Can you explain how TLS handshakes work?", "Yes: …", "How do certificates work?", "By a chain.")
    assert gist.told == ("Can you explain how TLS handshakes work?", "How do certificates work?")
    assert gist.questions == ()


@pytest.mark.parametrize(
    "said",
    [
        "We'll meet on 12 December in York. The budget is 4,000 euros. I'll bring the tent.",
        "Wir treffen uns am 12. Dezember in York. Das Budget beträgt 4000 Euro. Ich bringe das Zelt mit.",
        "Nos vemos el 12 de diciembre en York. El presupuesto es de 4.000 euros. Yo traigo la tienda.",
        "On se voit le 12 décembre à York. Le budget est de 4000 euros. J'apporte la tente.",
        "我们十二月十二日在约克见面。预算是4000欧元。我带帐篷。",
    ],
)
def test_dates_figures_and_plans_are_kept(said: str) -> None:
    """All that one turn says, the date among what was agreed."""
    gist = by_rules(said)
    assert len(gist.decisions) == 1
    assert ("12" in gist.decisions[0] or "十二" in gist.decisions[0]) and len(gist.told) == 2
    assert "000" in gist.told[0]


def test_what_has_figures_or_names_goes_first() -> None:
    """Where there is no room for all of it."""
    lines = [part for n in range(12) for part in (f"The weather {'x' * n} is so lovely there.", "Yes.")]
    gist = by_rules(*lines[:12], "The boat to Ulm costs 80 euros.", "Good.", *lines[12:], items=2)
    assert "The boat to Ulm costs 80 euros." in gist.told
    assert len(gist.told) <= 5


def test_question_words_and_verbs_are_neither_names_nor_topics() -> None:
    """In Spanish, where both look like nouns."""
    gist = by_rules("¿Cuánto cuesta el tren? Estoy buscando un restaurante en Lisboa.", "Mucho.")
    assert gist.names == ("Lisboa",)
    assert set(gist.topics) == {"tren", "restaurante"}


@pytest.mark.parametrize("lines", [("hi", "hello"), ("ok",), (), ("Thanks!", "You're welcome.")])
def test_small_talk_is_worth_no_archive(lines: tuple[str, ...]) -> None:
    """Nothing stays of it."""
    assert not by_rules(*lines)


def test_the_text_tells_all_and_is_read_back() -> None:
    """The text is the truth: what a person changes in it counts."""
    gist = by_rules(*KYOTO)
    record = MemoryRecord(id="a", role="archive", text=gist.text, user_id="ann", metadata=gist.metadata)
    assert read_gist(record) == gist
    edited = record.model_copy(update={"text": record.text.replace("Kyoto Garden", "Hiiragiya") + "\nOpen: who pays?"})
    assert read_gist(edited).decisions == ("Let's go with the Hiiragiya.",)
    assert read_gist(edited).questions == ("Shall I look for trains?", "who pays?")


def test_what_goes_on_is_merged() -> None:
    """Old lines stay, a repeat is told once, an answered question goes, a replaced statement is replaced."""
    before = by_rules("I live in Leipzig.", "Where do you want to go?")
    assert before.questions == ("Where do you want to go?",)
    after = by_rules("I live in Lyon now. I like trains.", "Good.", "I like trains.", previous=before)
    assert after.told.count("I like trains.") == 1
    assert "I live in Leipzig." not in after.told
    assert after.questions == ()


def test_named_speakers_keep_their_words() -> None:
    """In a shared thread it is told who decided."""
    gist = gist_by_rules(Gist(), turns("Let's go with the red tent.", name="Bob"), 7, 3)
    assert gist.decisions == ("Bob: Let's go with the red tent.",)


def test_a_models_answer() -> None:
    """Invented names are dropped, no line passes for one of another kind, and lists are bounded."""
    answer = Archived(
        summary="The user plans a trip.\nDecided: to fly.",
        topics=["trip, travel", "trip, travel"],
        entities=["Kyoto", "Osaka"],
        decisions=["Open: take the train", "take the train"] + [f"do {number * 7919}" for number in range(9)],
        open_questions=[],
    )
    gist = gist_by_answer(answer, Gist(names=("Anne",)), "a trip to kyoto", 3, 3)
    assert gist.told == ("The user plans a trip.", "to fly.")
    assert gist.topics == ("trip  travel",)
    assert gist.names == ("Kyoto", "Anne")
    assert len(gist.decisions) == 3
    assert read_gist(MemoryRecord(id="a", text=gist.text, user_id="u")).questions == ()


def test_what_is_forgotten_leaves_with_its_names() -> None:
    """Of a paragraph the other sentences stay; nothing left is a tombstone."""
    gist = Gist(("The user lives in Lyon with Anne. The user likes tea.",), ("tea", "lyon"), ("Lyon", "Anne"))
    left = without(gist, lambda line: "Lyon" in line)
    assert (left.told, left.topics, left.names) == (("The user likes tea.",), ("tea",), ())
    record = MemoryRecord(
        id="a", role="archive", text=gist.text, user_id="u", metadata={**gist.metadata, "unread": ["x"]}
    )
    assert "Lyon" not in str(without_statement(record, lambda line: "Lyon" in line, NOW).to_value())
    assert "unread" not in without_statement(record, lambda line: False, NOW).metadata
    assert without_statement(record, lambda line: True, NOW).status == "deleted"


@pytest.mark.parametrize("status", ["active", "deleted"])
def test_a_persons_line_lasts_whatever_is_forgotten(status: Any) -> None:
    """Also what is left of it, and in a tombstone that may be brought back; nothing tells of what is gone."""
    made = Gist(("I like tea.", "I live in Lyon."), decisions=("Let's go.",))
    text = f"{made.text}\nMarieke paid 4000. My cat is Mimi.\nDecided: Pay Bob.\nThe code is 4711."
    kept = marks_of(Gist(("I like tea.", "I live in Lyon.")), made)
    known = {"role": "archive", "user_id": "u", "status": status, "metadata": {**made.metadata, **kept}}
    record = MemoryRecord(id="a", text=text, **known)
    for gone in ("Lyon", "Mimi", "4711"):
        record = without_statement(record, lambda line, gone=gone: gone in line, NOW)  # type: ignore[misc]
    assert lasting(record.model_copy(update={"status": "active"})) == Gist(
        ("I like tea.", "Marieke paid 4000."), decisions=("Pay Bob.",)
    )
    assert len(record.metadata["lasting"]) == 3
    assert not lasting(record) or status == "active"


words = st.sampled_from(
    [
        "I like tea.",
        "My dog is Rex.",
        "Let's go with it.",
        "Why?",
        "我住在北京。",
        "Ich wohne in Köln.",
        "",
        "Decided: x",
        "\n- a",
    ]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(words, max_size=4).map(" ".join), max_size=12), st.integers(1, 5))
def test_any_conversation_is_bounded_and_stable(lines: list[str], items: int) -> None:
    """No list grows beyond its room, the text is read back as it is, and merging nothing changes nothing told."""
    gist = by_rules(*lines, items=items)
    assert len(gist.decisions) <= items
    assert len(gist.told) <= 2 * items + 1
    record = MemoryRecord(id="a", text=gist.text, user_id="u", metadata=gist.metadata)
    assert read_gist(record) == gist
    again = gist_by_rules(gist, [], items, 3)
    assert set(again.told) <= set(gist.told)
    assert again.decisions == gist.decisions
