"""What is said in the form of a question, and what is asked by the like words."""

from __future__ import annotations

from pathlib import Path

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.questions import only_asks
from langmem_plus.recall.readings import asserts, read

SAID = [
    "Did you know I'm allergic to peanuts?",
    "Did I mention that I'm vegetarian?",
    "Guess what, did I tell you I got married?",
    "Did you know that my sister lives in Lyon?",
    "Did you know my sister lives in Lyon?",
    "Have I told you I have two kids?",
    "Wusstest du, dass ich Vegetarier bin?",
    "Habe ich dir schon erzählt, dass ich umgezogen bin?",
    "Weißt du, dass ich Vegetarier bin?",
    "Tu savais que je suis végétarien ?",
    "Est-ce que tu savais que j'habite à Lyon ?",
    "Je t'ai dit que je suis végétarien ?",
    "¿Sabías que soy vegetariano?",
    "¿Te dije que soy vegetariano?",
    "你知道我吃素吗？",
    "我跟你说过我吃素吗？",
    "I'm allergic to peanuts, remember?",
    "I live in Lyon, okay?",
    "I'm allergic to peanuts?!",
    "Ich wohne in Köln, weißt du noch?",
    "J'habite à Lyon, d'accord ?",
    "Vivo en Lyon, ¿recuerdas?",
    "我住在北京，记得吗？",
    "I live in Lyon, right?",
]
ASKED = [
    "Where do I live?",
    "Did you know where I live?",
    "Do you know what my dog is called?",
    "Do you know if I have a dog?",
    "Did I tell you my address?",
    "Did I tell you about my dog?",
    "Did I mention my dog's name?",
    "Do you know my sister's name?",
    "Weißt du, wo ich wohne?",
    "Weißt du, was mein Hund frisst?",
    "Habe ich dir gesagt, wo ich wohne?",
    "Tu sais où j'habite ?",
    "Sais-tu quel est mon nom ?",
    "¿Sabes dónde vivo?",
    "¿Sabes qué hora es?",
    "你知道我住在哪里吗？",
    "你知道我叫什么吗？",
    "Where do I live, remember?",
    "Where do I live?!",
    "Am I allergic to peanuts?!",
    "Wohne ich in Köln?!",
    "Wo wohne ich, weißt du noch?",
    "¿Dónde vivo?!",
    "Did I say I live in Lyon or in Nice?",
    "Do you know that restaurant?",
    "Did I tell you that?",
    "我住在哪里？！",
    "你知道我有没有狗吗？",
    "Do you remember where I live?",
    "Où est-ce que j'habite, tu sais ?",
]


@pytest.mark.parametrize("text", SAID)
def test_what_is_said_by_asking(text: str) -> None:
    """Whether one knows it or was told, whether one agrees, or in astonishment: all of it counts as told."""
    assert asserts(text)
    assert not only_asks(text)


@pytest.mark.parametrize("text", ASKED)
def test_what_is_asked_by_the_like_words(text: str) -> None:
    """A question word behind them, a thing without a verb, a choice, or the word order of a question."""
    assert not asserts(text)
    assert only_asks(text)


def test_what_is_announced_is_told() -> None:
    """The sentence as a whole tells, and the one beside it that asks doesn't."""
    assert read("Did you know that I live in Lyon?").tells == 1
    assert 0 < read("Did you know that I live in Lyon? Where do you live?").tells < 1


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("Did you know I'm allergic to peanuts?", "Am I allergic to peanuts?", "peanuts"),
        ("Have I told you I have two kids?", "Do I have two kids?", "two kids"),
        ("I live in Lyon, okay?", "Do I live in Lyon?", "Lyon"),
        ("Wusstest du, dass ich Vegetarier bin?", "Bin ich Vegetarier?", "Vegetarier"),
        ("Tu savais que je suis végétarien ?", "Est-ce que je suis végétarien ?", "végétarien"),
        ("¿Sabías que soy vegetariano?", "¿Soy vegetariano?", "vegetariano"),
        ("你知道我吃素吗？", "我吃素吗？", "吃素"),
    ],
)
def test_a_statement_put_as_a_question_answers(tmp_path: Path, said: str, question: str, answer: str) -> None:
    """What only asks the same is left out; this doesn't only ask."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add(said, user_id="ann", thread_id="t")
        assert answer in client.explain(question, user_id="ann").context
