"""What texts hold and questions ask for, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.recall.readings import asks_assistant, asks_number, asks_time, read


@pytest.mark.parametrize(
    "question",
    [
        "How many dogs?",
        "Wie viele Hunde?",
        "Wie alt ist er?",
        "Combien de chiens ?",
        "¿Cuántos?",
        "多少钱",
        "做了几罐果酱？",
    ],
)
def test_questions_for_a_number(question: str) -> None:
    """In each language."""
    assert asks_number(question)
    assert not asks_number("Who is it? Wer? Qui? 谁 几乎")


@pytest.mark.parametrize(
    "question", ["When did I move?", "Wann zog ich um?", "Quand ?", "¿Cuándo?", "什么时候", "What year was it?"]
)
def test_questions_for_a_time(question: str) -> None:
    """In each language."""
    assert asks_time(question)
    assert not asks_time("Who is it? Wer? Qui? 谁")


@pytest.mark.parametrize(
    "question",
    [
        "What restaurant did you recommend?",
        "Was hast du mir empfohlen?",
        "Qu'est-ce que tu m'as conseillé ?",
        "¿Qué me recomendaste?",
        "你推荐了什么？",
    ],
)
def test_questions_for_what_the_assistant_said(question: str) -> None:
    """In each language."""
    assert asks_assistant(question)
    assert not asks_assistant("What did I say about my dog? Was habe ich gesagt?")


@pytest.mark.parametrize(
    ("text", "number", "time", "person"),
    [
        ("I bought two cups yesterday", True, True, True),
        ("Ich habe zwei Hunde, seit Montag", True, True, True),
        ("J'ai acheté trois pommes hier", True, True, True),
        ("Mi perro tiene cuatro años", True, True, True),
        ("我昨天买了三个", True, True, True),
        ("我五月十四号过生日", True, True, True),
        ("生日想要一台望远镜，天气好的时候看星星", False, False, False),
        ("The cat sleeps", False, False, False),
    ],
)
def test_numbers_times_and_the_first_person(text: str, number: bool, time: bool, person: bool) -> None:
    """In each language."""
    reading = read(text)
    assert (reading.has_number, reading.has_time, reading.first_person) == (number, time, person)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """Its length is the number of its words; pairs are made of them."""
    reading = read(text)
    assert sum(reading.words.values()) == reading.length
    assert {word for pair in reading.pairs for word in pair} <= set(reading.words)
