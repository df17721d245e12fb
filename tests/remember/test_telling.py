"""Which records an archive tells, and the lines that stay in it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.gist import Gist, lasting, marks_of
from langmem_plus.remember.telling import Telling, Told, fact_line, joined, not_lasting, taken_in, turn_lines

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def record(text: str, id: str = "x", **fields: Any) -> MemoryRecord:
    """A record; a fact where nothing else is said."""
    return MemoryRecord(id=id, text=text, user_id="ann", updated_at=NOW, **fields)


@pytest.mark.parametrize(
    ("line", "statement", "told"),
    [
        ("I live in Lyon, and I work there.", "I live in Lyon.", True),
        ("Decided: Wir kaufen das rote Zelt.", "Wir kaufen das rote Zelt", True),
        ("I live in Lyonville.", "I live in Lyon", False),
        ("Teal or green.", "Teal", False),
        ("Ann: I live in Lyon.", "I live in Lyon.", False),
        ("Ann: I live in Lyon.", "Bob: I live in Lyon.", False),
        ("Ann: I live in Lyon.", "Ann: I live in Lyon.", True),
        ("Я живу в Лионе.", "Я живу в Лионе", True),
        ("我住在里昂。", "我住在里昂", True),
        ("I live in Paris (until 2026-05-01)", "I live in Paris.", True),
        ("I live in Paris (until 2026-05-01)", "I live in Paris (until 2026-05-01)", True),
        ("I live in Paris (until 2026-05-01) (until 2026-06-01)", "I live in Paris (until 2026-05-01)", True),
        ("I sing (until 2026-05-01)", "I sing (until 2026-05-01).", True),
        ("I live in Paris", "I live in Paris (until 2026-05-01)", False),
        ("They had a chat.", "I am allergic to penicillin.", False),
    ],
)
def test_a_fact_is_told_word_for_word(line: str, statement: str, told: bool) -> None:
    """Of the one who said it, in any language; a mark in front or what follows doesn't matter."""
    assert Told([line]).has(statement) is told


@pytest.mark.parametrize(
    ("line", "sentence", "told"),
    [
        ("The user plans a trip to Kyoto in May.", "I'm planning a trip to Kyoto.", True),
        ("The user eats meat.", "I never eat meat.", False),
        ("The room has the code 98.", "The room has the code 99.", False),
        ("Bob: plans a trip to Kyoto.", "I plan a trip to Kyoto.", False),
        ("Ann plans a trip to Kyoto.", "Ann: I plan a trip to Kyoto.", True),
    ],
)
def test_a_turn_may_be_told_in_other_words(line: str, sentence: str, told: bool) -> None:
    """With each number, by the same speaker, and not its contrary."""
    assert Told([line]).tells(sentence) is told


@pytest.mark.parametrize(
    "text",
    [
        "Room 4711. Code 99.",
        "Anna, Bergen.",
        "```\nmake all\n```",
        "Мы купили дом. Ключ лежит под ковром.",
        "Abbiamo comprato una casa. La chiave è sotto il tappeto.",
        "家を買いました。鍵はマットの下です。",
        "집을 샀어요. 열쇠는 매트 아래에 있어요.",
    ],
)
def test_a_turn_has_lines_of_its_own(text: str) -> None:
    """Every sentence of it where no fact tells it, in any language."""
    turn = record(text, role="user")
    lines = Telling(Told([]), [turn]).missing()
    assert lines == turn_lines(turn) != []
    assert not Telling(Told(lines), [turn]).untold()
    assert Telling(Told([]), [turn]).untold() == [turn]


def test_a_reply_goes_with_the_turn_that_it_answers() -> None:
    """And a turn with a fact that was drawn from it; small talk needs no line, a reply to nothing known does."""
    number = {"turn": 3}
    asked = record("Well, I live in Lyon since May.", "a", role="user", metadata=number)
    reply = record("A fine city.", "b", role="assistant", metadata=number)
    fact = record("I live in Lyon.", "f", source_ids=["a"])
    loose = record("Here is the report. It is long.", "c", role="assistant")
    thanks = record("Thanks!", "d", role="user")
    group = [asked, reply, fact, loose, thanks]
    assert Telling(Told(["I live in Lyon."]), group).untold() == [loose]
    assert Telling(Told([]), group).untold() == [fact, asked, reply, loose]
    assert Telling(Told([]), group).missing() == ["I live in Lyon.", "Here is the report."]


def test_what_was_replaced_is_told_as_such() -> None:
    """With the day on which it ended, in one sentence, so that all of it goes when it is forgotten."""
    assert fact_line(record("I live in Paris.", status="superseded")) == "I live in Paris (until 2026-05-01)"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from(["", "Ann", "Open"]))
def test_whatever_it_is_the_missing_lines_tell_it(texts: list[str], name: str) -> None:
    """Facts and turns, also once the archive's text is read back."""
    metadata = {"name": name} if name else {}
    facts = [record(text, f"f{n}", metadata=metadata) for n, text in enumerate(texts)]
    turns = [record(text, f"t{n}", role="user", metadata=metadata) for n, text in enumerate(texts)]
    lines = Telling(Told([]), [*facts, *turns]).missing()
    archive = record("\n".join(lines), role="archive")
    assert not Telling(Told.by(archive), [*facts, *turns]).untold()


def test_a_persons_lines_and_marked_ones_last() -> None:
    """What the metadata doesn't have is a person's; what is gone from the text isn't brought back."""
    made = Gist(("I like tea.", "I sing."), decisions=("Go by train.",))
    kept = Gist(("I sing.",))
    archive = record(
        "I like tea.\nI sing.\nBring the key.\nDecided: Go by train.\nDecided: Pay Bob.",
        role="archive",
        metadata={**made.metadata, **marks_of(kept, made)},
    )
    found = lasting(archive)
    assert (found.told, found.decisions) == (("I sing.", "Bring the key."), ("Pay Bob.",))
    assert marks_of(kept, Gist(("I like tea.",))) == {}
    assert [each.id for each in not_lasting([record("I sing."), record("I like tea.", "y")], archive)] == ["y"]


def test_a_model_takes_in_what_it_tells() -> None:
    """What it doesn't, stays behind its answer."""
    previous = Gist(("I'm planning a trip to Kyoto.", "The ticket is number 4711.", "My sister sings."))
    made = taken_in(Gist(("The trip to Kyoto that was planned is off; the ticket is paid.",)), previous)
    assert made.told[1:] == ("The ticket is number 4711.", "My sister sings.")
    assert joined(Gist(("I sing",)), Gist(("I sing.",))).told == ("I sing.",)
