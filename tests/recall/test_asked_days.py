"""Questions for days and nothing else, and what was said then."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig
from langmem_plus.recall.asked_days import asked_days
from langmem_plus.recall.times import Period

SATURDAY = dt.date(2026, 3, 7)
CONFIG = MemoryConfig(background=False, embeddings="none", rerank_bits="none")
SAID = [
    "Priya had soup with me",
    "The film was Dune",
    "A new bike for 400 euros",
    "Mr Brown was in town",
    "Lemon cake!",
]


def day(number: int, month: int = 3, year: int = 2026) -> list[Period]:
    """One day."""
    return [Period(dt.date(year, month, number), dt.date(year, month, number))]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did I do yesterday?", day(6)),
        ("What did I do on Wednesday?", day(4)),
        ("Where was I on Monday?", day(2)),
        ("What did we talk about yesterday?", day(6)),
        ("Tell me what happened on 4 March", day(4)),
        ("What did I say on May 7?", day(7, 5, 2025)),
        ("What did I do on 2026-03-04?", day(4)),
        ("What have I done since Monday?", [Period(dt.date(2026, 3, 2), SATURDAY)]),
        ("What happened in February?", [Period(dt.date(2026, 2, 1), dt.date(2026, 2, 28))]),
        ("Was habe ich gestern gemacht?", day(6)),
        ("Was ist am Montag passiert?", day(2)),
        ("Was habe ich dir gestern erzählt?", day(6)),
        ("Wo war ich am 4. März?", day(4)),
        ("Qu'est-ce que j'ai fait hier ?", day(6)),
        ("¿Qué hice ayer?", day(6)),
        ("¿Qué pasó el lunes?", day(2)),
        ("昨天我做了什么？", day(6)),
        ("what did i do yesterday", day(6)),
        ("Hey, what did I do yesterday", day(6)),
        ("Que hice ayer", day(6)),
        ("我昨天做了什么", day(6)),
        ("Was hab ich gestern gemacht?", day(6)),
        ("昨天发生了什么事？", day(6)),
        ("What did I do the day before yesterday?", day(5)),
        ("Was hab ich vorgestern erlebt?", day(5)),
        ("Qu'est-ce que j'ai fait avant-hier", day(5)),
        ("¿Qué hice anteayer?", day(5)),
        ("前天发生了什么", day(5)),
        ("大前天我做了什么？", day(4)),
        ("What did I do 2 days ago?", day(5)),
        ("Was habe ich vor drei Tagen gemacht?", day(4)),
        ("What did I do a few days ago?", [Period(dt.date(2026, 3, 3), dt.date(2026, 3, 5))]),
        ("What did I do on 29 February?", day(29, 2, 2024)),
    ],
)
def test_questions_for_days(question: str, days: list[Period]) -> None:
    """In each language, by a date, a weekday or a word for it."""
    assert asked_days(question, SATURDAY) == days


@pytest.mark.parametrize(
    "question",
    [
        "What film did I see on Tuesday?",
        "What did Ann do yesterday?",
        "Who did I meet on Monday?",
        "Did it rain yesterday?",
        "I did it yesterday.",
        "What will I do on Monday?",
        "What do I do on Wednesdays?",
        "What are my plans for this week?",
        "Was mache ich am Montag?",
        "What did I do?",
        "When did I last see Tom?",
        "What I did yesterday was fun",
        "What happened on 31 April?",
        "What happened on 2026-02-30?",
        "What did I do on 29 February 2023?",
    ],
)
def test_what_asks_for_more_is_searched(question: str) -> None:
    """As is what asks for no day, for one that doesn't exist, for what is to come, or for nothing."""
    assert asked_days(question, SATURDAY) == []


@given(st.text(max_size=60), st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)))
def test_any_text_and_day_are_understood(text: str, today: dt.date) -> None:
    """Whatever is asked, whenever, days come in their order."""
    assert all(each.first <= each.last for each in asked_days(f"What did I do yesterday on {text}?", today))


@contextmanager
def week(store: BaseStore, clock: list[dt.datetime]) -> Iterator[MemoryClient]:
    """A memory of five days, one message each, and of many others long ago."""
    with MemoryClient(store, config=CONFIG, clock=lambda: clock[0]) as client:
        for number in range(60):
            clock[0] = dt.datetime(2025, 6, 1, 12, tzinfo=dt.UTC) + dt.timedelta(days=number)
            client.add(f"Number {number} of what I did and told", user_id="ann", thread_id=f"old-{number}")
        for number, text in enumerate(SAID):
            clock[0] = dt.datetime(2026, 3, 2 + number, 12, tzinfo=dt.UTC)
            client.add(text, user_id="ann", thread_id=f"day-{number}")
        clock[0] = dt.datetime(2026, 3, 7, 12, tzinfo=dt.UTC)
        yield client


def stores(folder: Path, clock: list[dt.datetime]) -> dict[str, Callable[[], BaseStore]]:
    """A store that compares times, and one that doesn't."""
    return {
        "markdown": lambda: MarkdownStore(folder, config=CONFIG, clock=lambda: clock[0]),
        "in memory": InMemoryStore,
    }


@pytest.mark.parametrize("kind", ["markdown", "in memory"])
def test_what_was_said_then_answers(kind: str, tmp_path: Path) -> None:
    """Although it shares no word with the question; what was said on other days doesn't, however much it shares."""
    clock = [dt.datetime(2026, 3, 7, tzinfo=dt.UTC)]
    with week(stores(tmp_path, clock)[kind](), clock) as client:
        for question, said in (("What did I do on Wednesday?", SAID[2]), ("What did I tell you yesterday?", SAID[4])):
            assert {hit.text for hit in client.explain(question, user_id="ann").hits} == {said}
            assert {hit.text for hit in client.search(question, user_id="ann")} == {said}
        assert len(client.explain("What have I done since Tuesday?", user_id="ann").hits) == 4


def test_a_day_without_memories_is_searched(tmp_path: Path) -> None:
    """As any question is: nothing of that day is put in the place of an answer. For one that doesn't exist there is
    none.
    """
    clock = [dt.datetime(2026, 3, 7, tzinfo=dt.UTC)]
    with week(stores(tmp_path, clock)["markdown"](), clock) as client:
        hits = client.explain("What did I do on 1 January?", user_id="ann").hits
        assert not {hit.text for hit in hits} & set(SAID)
        for question in ("What did I do on 31 June?", "What did I do on 2025-06-31?", "What did I do on 31 June 2025?"):
            assert not client.explain(question, user_id="ann").hits
            assert not client.search(question, user_id="ann")


def test_what_only_asked_stands_back(tmp_path: Path) -> None:
    """Of one day, what told something comes before what asked, and before replies."""
    clock = [dt.datetime(2026, 3, 6, 12, tzinfo=dt.UTC)]
    with MemoryClient(stores(tmp_path, clock)["markdown"](), config=CONFIG, clock=lambda: clock[0]) as client:
        said = [("user", "Where is the harbour?"), ("assistant", "Down the hill."), ("user", "The soup was good")]
        client.add([{"role": role, "content": text} for role, text in said], user_id="ann", thread_id="day")
        clock[0] += dt.timedelta(days=1)
        assert client.explain("What did I do yesterday?", user_id="ann").hits[0].text == "The soup was good"
