"""Which clauses are facts of their own, and which are kept with what limits them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.remember.alone import frames, may_undo, tells_now
from langmem_plus.remember.rules import replaces
from langmem_plus.remember.statements import find_statements

FRAMES = [
    *("As a child", "In my twenties", "At 18", "In 1995", "For a year", "Not true", "In the film", "According to Tom"),
    *(
        "He said",
        "She told me",
        "My wife said",
        "Tom said",
        "Then he goes",
        "I dreamt",
        "My twenties",
        "Back in college",
    ),
    *("Als Kind", "Laut Tom", "Er sagte", "Enfant", "Selon Tom", "De niño", "Según Tom", "Ideally", "Let's say"),
]
HARMLESS = [
    *("Hi", "Thanks for the tips", "Good news", "Can you help me?", "Please recommend a café", "I love tea", "And yes"),
    *("my wife is Anne", "I told her", "Ich bin Lehrerin", "J'aime le thé", "你好", "我叫李明"),
]
CHANGES = [
    ("I moved to York", "I live in Leeds"),
    ("I now live in York", "I live in Leeds"),
    ("I now work at Google", "I work at Apple"),
    ("my favourite colour is blue", "My favourite colour is red"),
    ("I own four bikes now", "I own three bikes"),
    ("my name is Bob", "My name is Ann"),
    ("I don't like coffee anymore", "I like coffee"),
]
UNDOING = [
    *(
        "I came back to Leeds a year later.",
        "That was ten years ago.",
        "I was 18.",
        "Not really.",
        "Just for the summer.",
    ),
    *("I left after a week.", "Ich bin aber wieder zurück.", "Je suis revenu.", "Volví a Leeds.", "后来我回来了。"),
]


@pytest.mark.parametrize(("frame", "change"), list(itertools.product(FRAMES, CHANGES)))
def test_what_a_phrase_in_front_limits_retires_nothing(frame: str, change: tuple[str, str]) -> None:
    """No fact is told without it; with a colon and a dash as with a comma."""
    new, old = change
    for joint in (", ", ": ", " – "):
        for statement in find_statements(f"{frame}{joint}{new}.", 3):
            assert not replaces(statement.text, old), statement.text
            assert statement.text != f"{new}."


@pytest.mark.parametrize("piece", HARMLESS)
def test_a_greeting_a_request_and_a_statement_of_ones_own_limit_nothing(piece: str) -> None:
    """What follows is a fact of its own."""
    assert not frames(piece, "I moved to York")
    (*_, last) = find_statements(f"{piece}, I moved to York.", 3)
    assert last.text == "I moved to York."


@given(st.sampled_from(FRAMES), st.lists(st.sampled_from(HARMLESS[:3]), max_size=2))
def test_a_limit_holds_for_all_that_follows_it(frame: str, between: list[str]) -> None:
    """Whatever is said in between."""
    for statement in find_statements(", ".join([frame, *between, "I moved to York"]), 3):
        assert not replaces(statement.text, "I live in Leeds")


@pytest.mark.parametrize("undoing", UNDOING)
def test_a_sentence_that_undoes_a_move_is_kept_with_it(undoing: str) -> None:
    """Before it or behind it, also further away; together they retire nothing."""
    for turn in (
        f"I moved to York. {undoing}",
        f"I moved to York. It is nice. {undoing}",
        f"{undoing} I moved to York.",
    ):
        found = [statement.text for statement in find_statements(turn, 5)]
        assert not any(replaces(text, "I live in Leeds") for text in found), found


@pytest.mark.parametrize("behind", [", but I'm back in Leeds", ", and I was 18", ", or did I?", ", so I left in May"])
def test_a_clause_behind_that_undoes_a_move_isnt_cut_off(behind: str) -> None:
    """The sentence stands as it was said."""
    (*_, told) = find_statements(f"I moved to Paris{behind}", 3)
    assert not replaces(told.text, "I live in Leeds")


def test_what_surely_undoes_nothing_leaves_the_move_alone() -> None:
    """A question, a liking, another change, times that a recent move can't be of."""
    for turn in (
        "I moved to York. When can I visit the museum?",
        "I moved to York. It is lovely.",
        "I moved to York last week. When I was a kid, we had a dog.",
        "I used to live in Rome, now I live in York.",
    ):
        assert any(replaces(statement.text, "I live in Leeds") for statement in find_statements(turn, 5)), turn
    assert not may_undo("Did I move back?", "I moved to York")
    assert tells_now("now I live in York")


def test_relatives_of_different_names_are_different_people() -> None:
    """One's age, home and state tell nothing of the other's; without a name, nobody knows whose they are."""
    for old, new in (
        ("My daughter Mia is 5", "My daughter Lea is 7"),
        ("My sister Ann is single", "My sister Bea is married"),
        ("My brother Tom works at Apple", "My brother Ben now works at Google"),
        ("My sister Ann lives in Rome", "My sister Bea moved to Paris"),
        ("My daughter is 5", "My daughter Lea is 7"),
        ("My daughter Mia is 5", "My daughter is 7"),
    ):
        assert not replaces(new, old)
    assert replaces("My daughter Mia is 6", "My daughter Mia is 5")
    assert replaces("My wife now works at Google", "My wife works at Apple")


@pytest.mark.parametrize(
    "sentence",
    [
        "I booked a table at Nobu for Friday, but they cancelled it.",
        "I had a meeting with Dr. Patel but I cancelled it.",
        "I own a boat, no wait, my brother does.",
        "I'm allergic to nuts, or so I thought until the test came back negative.",
        "My appointment is on Monday, sorry, I meant Tuesday.",
        "I have a dog, but he died last year.",
        "I like tea, but only in the morning.",
        "I bought a Tesla, but I sold it again.",
        "I work at Apple, but I'm leaving next month.",
        "I'm a nurse but I don't work any more.",
    ],
)
def test_what_may_be_taken_back_is_no_fact_without_that(sentence: str) -> None:
    """In a message of its own, and within a longer one."""
    assert [statement.text for statement in find_statements(sentence, 9)] == [sentence]
    longer = find_statements(f"I live in Hull. {sentence} My sister is called Anna.", 9)
    assert sentence in [statement.text for statement in longer]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("I live in Leeds but I work in York.", ["I live in Leeds", "I work in York."]),
        ("My name is Tom, but everybody loves the garden.", ["My name is Tom"]),
        ("I live in Lyon, but my wife leaves at 8 from Ulm.", ["I live in Lyon"]),
        ("I used to smoke but I quit two years ago.", []),
    ],
)
def test_what_takes_nothing_back_is_cut_off(sentence: str, told: list[str]) -> None:
    """Another statement beside it; what ends something is no fact without what it ends."""
    assert [statement.text for statement in find_statements(sentence, 9)] == told


def test_what_was_said_before_undoes_nothing_that_is_told_of_now() -> None:
    """What comes behind it may."""
    assert "I live in York now." in [found.text for found in find_statements("I moved. I live in York now.", 3)]
    found = [found.text for found in find_statements("I moved to York today. I came back an hour later.", 3)]
    assert "I moved to York today." not in found
