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
        "Where did I go?",
        "Who is my dentist?",
        "Which book is it?",
        "What favourite book has she?",
        "Wie heißt mein Hund?",
        "Wo wohne ich?",
        "Mein Benutzername?",
        "Où est-ce que j'habite ?",
        "Avec qui ?",
        "¿Quién es?",
        "¿Dónde?",
        "住在哪里",
    ],
)
def test_questions_for_a_name(question: str) -> None:
    """In each language; not for a date, a number or an order."""
    assert asks_name(question)
    assert not asks_name("What did she do?")


@pytest.mark.parametrize(
    "question", ["Which year was it?", "How many people who ride?", "Which came first?", "Welches Jahr?", "Quel âge ?"]
)
def test_what_a_name_does_not_answer(question: str) -> None:
    """Although "which" and "who" are asked."""
    assert not asks_name(question)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I moved to Lyon, with Anna. Then home.", {"lyon", "anna"}),
        ('We read "Becoming" and "the hat".', {"becoming"}),
        ("Thanks, Émile! It's fine, I'm OK", {"émile", "ok"}),
        ("He said: Paris is nice, It rains", {"paris"}),
        ("我读了《红楼梦》", {"红楼梦"}),
        ("On Monday in July I slept", set()),
        ("Nothing here", set()),
    ],
)
def test_names_in_a_text(text: str, names: set[str]) -> None:
    """What has a capital within a sentence or stands in quotation marks, but for weekdays, months and small words."""
    assert read(text).names == names


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
        "What has Bob done since?",
        "Where was the party?",
        "Was hat Anna gekauft?",
        "Wo bin ich geboren?",
        "Wie alt waren wir?",
        "Qu'est-ce qu'ils ont acheté ?",
        "Qu'ai-je acheté ?",
        "¿Qué compraste?",
        "¿Dónde nací?",
        "¿Dónde he puesto las llaves?",
        "我买了什么？",
    ],
)
def test_questions_for_what_was(question: str) -> None:
    """In each language."""
    assert asks_past(question)


@pytest.mark.parametrize(
    "question",
    [
        "What do I like?",
        "Which phone do I have?",
        "What medicine do I have to take?",
        "What hat do I like?",
        "What is my taste in music?",
        "Was mag ich?",
        "Was habe ich für Haustiere?",
        "Qu'est-ce que j'aime ?",
        "Quelle est ma liste de courses ?",
        "¿Qué me gusta?",
        "¿Existe aquí un café?",
        "我喜欢什么？",
        "我对什么过敏？",
    ],
)
def test_questions_for_what_is(question: str) -> None:
    """What somebody has, must do, or is fond of, is no past."""
    assert not asks_past(question)


@pytest.mark.parametrize(
    "text",
    [
        "We went to the lake",
        "I baked a cake",
        "Where was it?",
        "Ich habe einen Kuchen gebacken.",
        "Wir sind nach Kiel umgezogen",
        "Ich habe Physik studiert, in Bonn",
        "J'ai mangé une pomme",
        "Ayer compré pan",
        "El año pasado viví en Lima",
        "昨天我买了茶",
    ],
)
def test_what_tells_of_the_past(text: str) -> None:
    """In each language."""
    assert read(text).past


@pytest.mark.parametrize(
    "text",
    [
        "I need to feed the cat, and a red hat, for a hundred guests",
        "I love my café.",
        "Wir backen morgen",
        "Ich bin gegen Nüsse.",
        "Ich habe ein Gericht gern.",
        "Je mange une pomme",
        "Ma fille s'appelle Zoé.",
        "Mañana compro pan",
        "我喜欢茶",
        "我对花生过敏",
    ],
)
def test_what_tells_of_the_present(text: str) -> None:
    """What only looks like a past form is none."""
    assert not read(text).past


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Where do you live?", ""),
        ("你住在哪里？", ""),
        ("أين تعيش؟", ""),
        ("¿Dónde vives?", ""),
        ("I moved. And you?", "I moved."),
        ("I moved.", "I moved."),
        ("", ""),
        ("Concert on 7 June at 8pm, right?", "Concert on 7 June at 8pm, right?"),
        ("Ich wohne in Kiel, kennst du dort einen Arzt?", "Ich wohne in Kiel, "),
        ("Vivo en Lima, ¿y tú?", "Vivo en Lima, "),
        ("I like it, but where did you find it, with all the fog?", "I like it, "),
        ("My website is https://example.org/?id=42", "My website is https://example.org/?id=42"),
    ],
)
def test_how_much_of_a_text_tells(text: str, told: str) -> None:
    """Questions tell nothing, in any script; what stands before one in its sentence does, and so does what only asks
    for agreement, or holds a question mark.
    """
    assert read(text).tells == pytest.approx(len(told) / max(len(text), 1) if text else 1)


@given(st.text(alphabet="ab ?.？!\n"))
def test_the_share_that_tells_is_a_share(text: str) -> None:
    """Of any text; it is whole where no question mark stands."""
    reading = read(text)
    assert 0 <= reading.tells <= 1
    assert reading.tells == 1 or reading.asks


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("y ñ " * 30_000, False),
        ("hat " + "ge" * 50_000, False),
        ("bin " + "iert" * 30_000 + "x", False),
        (", right" + " " * 100_000 + "x?", False),
        (", " * 20_000 + "?", False),
        ("¿" * 100_000, False),
        ("¿ hemos " * 10_000, False),
        ("é " * 50_000 + "y compré", True),
    ],
)
def test_hostile_texts_are_read_to_their_end(text: str, past: bool) -> None:
    """What grows with the square of a text's length would take hours here."""
    assert read(text).past is past
    assert not asks_past(text)
