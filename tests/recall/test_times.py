"""Times that questions name, in several languages."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.recall.times import (
    Named,
    Period,
    date_match,
    named_dates,
    period_match,
    periods,
    weekdays,
    without_times,
)

ASKED = dt.date(2026, 3, 4)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ann do on 7 May, 2023?", [Named(5, 7, 2023)]),
        ("What did they give him on Aug 15th?", [Named(8, 15)]),
        ("What happened in May 2022?", [Named(5, None, 2022)]),
        ("Which spot did she visit in May?", [Named(5)]),
        ("Was habe ich am 3. Juni gekauft?", [Named(6, 3)]),
        ("Was war im März?", [Named(3)]),
        ("Qu'ai-je fait le 14 juillet 2024 ?", [Named(7, 14, 2024)]),
        ("¿Qué compré el 2 de enero de 2025?", [Named(1, 2, 2025)]),
        ("我5月7日做了什么？", [Named(5, 7)]),
        ("What was due 2024-02-29?", [Named(2, 29, 2024)]),
        ("May I ask who may come?", []),
        ("And in\n March?", [Named(3)]),
        ("The march of last  May.", [Named(5)]),
        ("Begin May here, in may, in, May", []),
        ("Did we march along the mars rover?", []),
        ("How many fun runs were on 31 steps?", []),
    ],
)
def test_days_and_months_are_found(question: str, expected: list[Named]) -> None:
    """Whatever the order; words that are also months don't count."""
    assert named_dates(question) == expected


@pytest.mark.parametrize("filler", ["1", "١", "May ", "in May", "一", "last ", "2025-", " ", "1 of "])
def test_a_long_text_is_read_to_its_end(filler: str) -> None:
    """Each place of a text is looked at once, so that even a book of the like is read: else it would take hours."""
    text = filler * (100_000 // len(filler))
    assert Named(5, 7, 2023) in named_dates(f"{text} on 7 May 2023")
    assert Period(ASKED - dt.timedelta(1), ASKED - dt.timedelta(1)) in periods(f"{text} yesterday", ASKED)


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("two weeks ago", dt.date(2026, 2, 18), dt.date(2026, 1, 20)),
        ("last Saturday", dt.date(2026, 2, 28), dt.date(2026, 2, 27)),
        ("in the last three months", dt.date(2026, 1, 2), dt.date(2025, 10, 1)),
        ("yesterday", dt.date(2026, 3, 3), ASKED),
        ("this year", dt.date(2026, 1, 1), dt.date(2025, 12, 31)),
        ("vor zwei Wochen", dt.date(2026, 2, 18), dt.date(2026, 1, 20)),
        ("letzten Samstag", dt.date(2026, 2, 28), dt.date(2026, 2, 20)),
        ("gestern", dt.date(2026, 3, 3), dt.date(2026, 3, 1)),
        ("il y a deux semaines", dt.date(2026, 2, 18), dt.date(2026, 1, 20)),
        ("samedi dernier", dt.date(2026, 2, 28), dt.date(2026, 2, 20)),
        ("hace 3 días", dt.date(2026, 3, 1), dt.date(2026, 2, 20)),
        ("el mes pasado", dt.date(2026, 2, 10), dt.date(2026, 3, 1)),
        ("两周前", dt.date(2026, 2, 18), dt.date(2026, 1, 20)),
        ("昨天", dt.date(2026, 3, 3), dt.date(2026, 3, 1)),
        ("last night", dt.date(2026, 3, 3), dt.date(2026, 3, 1)),
        ("letzte Woche", dt.date(2026, 2, 26), dt.date(2026, 2, 18)),
        ("la semaine dernière", dt.date(2026, 2, 26), dt.date(2026, 2, 18)),
        ("la semana pasada", dt.date(2026, 2, 26), dt.date(2026, 2, 18)),
        ("la última semana", dt.date(2026, 2, 26), dt.date(2026, 2, 18)),
        ("el fin de semana pasado", dt.date(2026, 2, 28), dt.date(2026, 2, 25)),
        ("anoche", dt.date(2026, 3, 3), dt.date(2026, 3, 1)),
        ("上周", dt.date(2026, 2, 26), dt.date(2026, 2, 18)),
        ("上个星期", dt.date(2026, 2, 26), dt.date(2026, 3, 3)),
        ("上上周", dt.date(2026, 2, 18), dt.date(2026, 2, 26)),
        ("上周三", dt.date(2026, 2, 25), dt.date(2026, 2, 26)),
        ("上星期天", dt.date(2026, 3, 1), dt.date(2026, 2, 22)),
        ("这周", dt.date(2026, 3, 2), dt.date(2026, 2, 28)),
        ("上个月", dt.date(2026, 2, 1), dt.date(2026, 3, 1)),
        ("本月", dt.date(2026, 3, 1), dt.date(2026, 2, 28)),
        ("去年", dt.date(2025, 12, 31), dt.date(2026, 1, 1)),
        ("今年", dt.date(2026, 1, 1), dt.date(2025, 12, 31)),
    ],
)
def test_spans_are_counted_from_the_day_of_asking(question: str, inside: dt.date, outside: dt.date) -> None:
    """In English, German, French, Spanish and Chinese."""
    found = periods(f"What did I do {question}?", ASKED)
    assert period_match(found, inside) == 1
    assert period_match(found, outside) == 0


def test_a_day_is_better_than_its_month() -> None:
    """Give or take one day, over the turn of a year; a month alone is half, another day of it a quarter."""
    assert date_match([Named(1, 1)], dt.date(2025, 12, 31)) == 1
    assert date_match([Named(5)], dt.date(2025, 5, 9)) == 0.5
    assert date_match([Named(5, 20)], dt.date(2025, 5, 9)) == 0.25
    assert date_match([Named(5, 9, 2024)], dt.date(2025, 5, 9)) == 0
    assert date_match([], dt.date(2025, 5, 9)) == 0


def test_a_span_of_the_past_may_lie_before_all_calendars() -> None:
    """Then no day is meant."""
    assert periods("前年", dt.date(1, 5, 1)) == []


@given(
    st.text()
    | st.from_regex(r"(上上|上|这|本)个?(周[一二日]?|星期|月)|[今去前]年")
    | st.from_regex(r"[0-9]{1,9} (days|weeks|years|Jahre) ago on [0-9]{1,4} May [0-9]{4}"),
    st.dates(),
)
def test_any_question_can_be_read(question: str, day: dt.date) -> None:
    """Matches lie in [0, 1]; no number is too large."""
    assert 0 <= date_match(named_dates(question), day) <= 1
    assert period_match(periods(question, day), day) in (0, 1)
    assert all(isinstance(period, Period) for period in periods(question, day))


@pytest.mark.parametrize(
    "question", ["Where was I on 5 Aprıl?", "5 APRİL 2023", "auguſt 2023", "fıve days ago", "sıx weeks ago", "hıer"]
)
def test_letters_that_only_look_alike_are_read(question: str) -> None:
    """Case is ignored, and more letters than these have i, k and s as theirs."""
    assert named_dates(question) or periods(question, dt.date(2026, 3, 4))


def test_a_weekday_alone_is_its_last_one() -> None:
    """Or all days since then; a habit ("on Wednesdays") is no day."""
    monday = dt.date(2026, 3, 2)
    assert (
        weekdays("What did I do on Monday?", ASKED) == weekdays("Was war am Montag?", ASKED) == [Period(monday, monday)]
    )
    assert weekdays("Since Monday?", ASKED) == weekdays("desde el lunes", ASKED) == [Period(monday, ASKED)]
    assert weekdays("On Wednesday?", ASKED) == [Period(ASKED - dt.timedelta(7), ASKED - dt.timedelta(7))]
    assert weekdays("What do I do on Mondays?", ASKED) == []


@pytest.mark.parametrize(
    "question", ["Tea on 7 May 2023?", "Tea two weeks ago?", "Tea last Monday?", "Tea since Monday?", "Tea in March?"]
)
def test_what_a_question_holds_beside_its_times(question: str) -> None:
    """Is what is left without them."""
    assert without_times(question).split() in (["Tea", "?"], ["Tea", "on", "?"])
