"""What texts hold and questions ask for, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.recall.readings import asks_assistant, asks_name, asks_number, asks_past, asks_time, read


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


@pytest.mark.parametrize(
    "question",
    [
        "What did I buy?",
        "Has Ann moved?",
        "Was hat Anna gekauft?",
        "Wo warst du, als es begann? Sie war dort.",
        "Qu'est-ce qu'ils ont acheté ?",
        "¿Qué compraste?",
        "我买了什么？",
    ],
)
def test_questions_for_what_was(question: str) -> None:
    """In each language; not those for what is."""
    assert asks_past(question)
    for present in ("What hat do I like?", "Was mag ich?", "Qu'est-ce que j'aime ?", "¿Qué me gusta?", "我喜欢什么？"):
        assert not asks_past(present)


@pytest.mark.parametrize(
    "question",
    [
        "Which city is it?",
        "Who helps?",
        "Was mag ich?",
        "Wo wohne ich?",
        "Welchen Film?",
        "Où ?",
        "¿Dónde?",
        "Quel film ?",
    ],
)
def test_questions_for_a_name(question: str) -> None:
    """In each language."""
    assert asks_name(question)
    assert not asks_name("Do I like tea? Mag ich Tee? When was it?")


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("We went to the lake", True),
        ("I baked a cake", True),
        ("Ich habe einen Kuchen gebacken", True),
        ("J'ai mangé une pomme", True),
        ("Ayer compré pan", True),
        ("昨天我买了茶", True),
        ("I need to feed the cat, and a red hat", False),
        ("Where was it?", True),
        ("Wir backen morgen", False),
        ("Je mange une pomme", False),
        ("Mañana compro pan", False),
        ("我喜欢茶", False),
    ],
)
def test_what_tells_of_the_past(text: str, past: bool) -> None:
    """In each language."""
    assert read(text).past is past


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I saw Inception, then The Matrix", {"inception", "the", "matrix"}),
        ("He lives in Ávila", {"ávila"}),
        ("Nice. Great! Yes", set()),
        ("I think I am", set()),
        ("", set()),
    ],
)
def test_names_have_a_capital_within_a_sentence(text: str, names: set[str]) -> None:
    """Its first word has one anyway."""
    assert read(text).names == names


def test_how_much_of_a_text_tells() -> None:
    """Questions tell nothing, in any script; without one, everything tells."""
    assert read("Where do you live?").tells == 0
    assert read("你住在哪里？").tells == 0
    assert read("I moved. And you?").tells == pytest.approx(8 / 17)
    assert read("I moved.").tells == read("").tells == 1


@given(st.text(alphabet="ab ?.？!\n"))
def test_the_share_that_tells_is_a_share(text: str) -> None:
    """Of any text; it is whole where no question mark stands."""
    reading = read(text)
    assert 0 <= reading.tells <= 1
    assert reading.tells == 1 or reading.asks
