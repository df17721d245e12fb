"""What a summary by rules tells beside its points: every turn, in any language, each line by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.archive_amend import requested
from langmem_plus.remember.beside import MARK, bare, fitted, lines_of, packed, unpacked
from langmem_plus.remember.points import amend, draw_points, read_points, write_points
from langmem_plus.remember.traces import says_it
from langmem_plus.remember.whose import Speakers
from langmem_plus.speakers import Voice


def turn(text: str, number: int = 1, role: str = "user", **metadata: Any) -> MemoryRecord:
    """A turn of a thread."""
    return MemoryRecord(id=f"{role} {number}", role=role, text=text, user_id="u", metadata=metadata)


def told(*texts: str, previous: list[str] | None = None, items: int = 7, room: int = 900) -> list[str]:
    """A summary of what a user said."""
    said = [turn(text, number) for number, text in enumerate(texts)]
    return draw_points(previous or [], said, items, 3, fits=lambda text: len(text) <= room)[0]


@pytest.mark.parametrize(
    "said",
    [
        "The train leaves at 8 from Ulm.",
        "Der Zug fährt um 8 Uhr ab Ulm.",
        "El tren sale a las 8 de Ulm.",
        "Le train part à 8 heures d'Ulm.",
        "火车八点从乌尔姆出发。",
        "O trem sai às 8 de Ulm.",
        "Поезд отправляется в 8 из Ульма.",
        "電車は八時に出ます。",
    ],
)
def test_what_is_no_statement_of_ones_own_is_told(said: str) -> None:
    """In any language, known to the rules or not; small talk around it isn't."""
    assert [bare(point) for point in told("Hello!", said, "Thanks!")] == [said]


def test_questions_and_statements_that_have_no_room_are_told() -> None:
    """An answered question too; statements beyond the points aren't lost."""
    asked = [turn("Where is the hut?", 1), turn("In the valley.", 1, "assistant")]
    assert draw_points([], asked, 7, 3, fits=lambda _: True) == ([f"{MARK}Where is the hut?"], True)
    points = told(*(f"I own a {each}." for each in ("boat", "car", "house", "horse")), items=3)
    assert [bare(point) for point in points if point.startswith(MARK)] == ["I own a boat.", "I own a car."]
    assert len(packed(points)) == 3
    assert told("Bye.", previous=["Where is my key?"]) == [f"{MARK}Where is my key?"]


def test_small_talk_alone_and_code_alone_are_told() -> None:
    """So that a thread of nothing else can be shortened, too."""
    assert told("hi", "ok") == [f"{MARK}hi", f"{MARK}ok"]
    assert told("```python\nprint(12)\n```") == [f"{MARK}python print(12)"]


@pytest.mark.parametrize("said", ["Forget that my dog is Rex.", "Off the record: my pin is 1234.", "<>", "👍"])
def test_what_is_not_to_be_kept_is_not_told(said: str) -> None:
    """Neither requests to forget nor what is off the record, even where nothing else was said."""
    assert told(said) == []


def test_each_line_is_replaced_and_forgotten_by_itself() -> None:
    """The others stay; nobody changes what is told of another speaker."""
    points = [f"{MARK}I live in Lyon.", f"{MARK}Jan has a nut allergy.", f"{MARK}Bob: I live in Bonn."]
    assert told("I moved to Oslo.", previous=points) == ["I moved to Oslo.", *points[1:]]
    assert amend(points, [], [Voice("Jan has a nut allergy")]) == [points[0], points[2]]
    assert [p for p in points if Speakers().tells(p, Voice("I live in Bonn.", "Bob"), says_it)] == [points[2]]
    assert requested([Voice("Jan has a nut allergy")])(points[1])


async def test_a_turn_that_is_forgotten_or_erased_leaves_the_summary(tmp_path: Any) -> None:
    """With all of its lines, whether it was drawn facts out of or not; those of other turns stay."""
    config = MemoryConfig(embeddings="none", background=False, sync_interval=0, summary_refresh_turns=2)
    for store in (InMemoryStore(), tmp_path / "memories"):
        with MemoryClient(store, config=config) as client:
            client.add("The train leaves at 8. The hut is cold.", user_id="ann", thread_id="t")
            client.add("Jan has a nut allergy.", user_id="ann", thread_id="t")
            client.add("The key is under the mat.", user_id="ann", thread_id="t")
            client.add("The boat is red.", user_id="ann", thread_id="t")
            turns = {each.text: each.id for each in client.list(user_id="ann", role="user")}
            await client.aforget(turns["The train leaves at 8. The hut is cold."], user_id="ann")
            (summary,) = client.list(user_id="ann", role="summary")
            assert summary.text == "- Also said: Jan has a nut allergy. · The key is under the mat. · The boat is red."
            await client.aerase(user_id="ann", id=turns["The key is under the mat."])
            (summary,) = client.list(user_id="ann", role="summary")
            assert summary.text == "- Also said: Jan has a nut allergy. · The boat is red."


def test_lines_grow_shorter_before_any_goes_and_the_oldest_goes_first() -> None:
    """Whoever asks for more turns than have room is told so."""
    long = [f"Number {number} of the plan: {'walk on ' * 40}" for number in range(6)]
    points = told(*long, room=700)
    assert [bare(point)[:8] for point in points] == [f"Number {number}" for number in range(6)]
    assert fitted(points, lambda text: len(text) <= 150) == fitted(points, lambda text: len(text) <= 150)[-2:]
    turns = [turn(text, number) for number, text in enumerate(long)]
    assert not draw_points([], turns, 7, 3, fits=lambda text: len(text) < 200)[1]
    old = [f"{MARK}{'old words ' * 20}{number}" for number in range(9)]
    made, is_whole = draw_points(old, turns[:1], 7, 3, fits=lambda text: len(text) < 200)
    assert is_whole
    assert made[-1].startswith(f"{MARK}Number 0")


def test_a_statement_stands_in_no_line_beside() -> None:
    """Of its sentence the other clauses are told: it may be replaced or forgotten."""
    points = told("I live in Lyon, but my wife leaves at 8 from Ulm, and the hut is cold.")
    assert "I live in Lyon" in points
    assert sum("Lyon" in point for point in points) == 1
    assert "the hut is cold." in write_points(points)


def test_a_turn_has_a_few_lines_those_that_name_something() -> None:
    """The first sentence, and those with figures or names."""
    chatter = "It goes on and on here. " * 9
    lines = lines_of(turn(f"So we begin. {chatter}The hut costs 80 euros."), ())
    assert bare(lines[0]) == "we begin."
    assert bare(lines[-1]) == "The hut costs 80 euros."
    assert len(lines) == 5


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text("aB ·-?!07。\n我:…", max_size=40),
            st.sampled_from(
                ["I like tea.", "Jan · has a dog.", "Why?", "- a\n- b", "Also said: x · y", "我住在北京。"]
            ),
        ),
        max_size=10,
    ),
    st.integers(1, 7),
    st.integers(1, 400),
)
def test_any_summary_is_read_back_and_bounded(texts: list[str], items: int, room: int) -> None:
    """What is written is read; it has no more points than it may."""
    points = told(*texts, items=items, room=room)
    assert len(packed(points)) <= max(items, 1)
    read = read_points(MemoryRecord(id="s", role="summary", user_id="u", text=write_points(points)))
    assert read_points(MemoryRecord(id="s", role="summary", user_id="u", text=write_points(read))) == read
    assert all(unpacked(point) == [point] for point in read)
