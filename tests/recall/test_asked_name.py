"""Questions for the name of who asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.asked_name import asks_name, names_asked, tells_name
from langmem_plus.records import MemoryHit

MakeHit = Callable[..., MemoryHit]


@pytest.mark.parametrize(
    "question",
    [
        "What's my name?",
        "so what is my full name",
        "Do you remember my name?",
        "Can you tell me what my name is?",
        "Wie heiße ich?",
        "Weißt du noch, wie ich heiße?",
        "Comment je m'appelle ?",
        "Quel est mon nom ?",
        "¿Cómo me llamo?",
        "¿Cuál es mi nombre?",
        "我叫什么名字？",
        "你还记得我的名字吗？",
    ],
)
def test_a_question_for_ones_own_name(question: str) -> None:
    """In five languages."""
    assert asks_name(question)


@pytest.mark.parametrize(
    "question",
    [
        "What's my cat's name?",
        "What is my name tag for?",
        "My name is Ann.",
        "Wie heißt mein Hund?",
        "我的狗叫什么名字？",
        "",
    ],
)
def test_a_question_for_something_else(question: str) -> None:
    """Another's name, or what has to do with a name."""
    assert not asks_name(question)


@pytest.mark.parametrize(
    "text",
    [
        "I'm Priya, nice to meet you.",
        "Hi, I am Ann van der Berg!",
        "I'm Sam and I live in York.",
        "Hello! My name is Priya Nair.",
        "Please call me Bo.",
        "The user is named Ann.",
        "Ich heiße Jürgen.",
        "Ich bin die Anna.",
        "Je m'appelle Élodie",
        "Me llamo José y vivo en Lugo.",
        "你好，我叫王芳。",
    ],
)
def test_a_text_that_tells_a_name(text: str) -> None:
    """As people introduce themselves."""
    assert tells_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "My cat's name is Olive.",
        "I'm Irish.",
        "I'm Irish and tired.",
        "I'm a nurse.",
        "I'm tired, Ann.",
        "Call me Monday.",
        "I'm OK.",
        "My name is hard to spell.",
        "Ich bin Deutscher.",
        "我叫什么名字？",
        "",
    ],
)
def test_a_text_that_tells_none(text: str) -> None:
    """Another's name, a people, a day."""
    assert not tells_name(text)


def test_others_names_are_no_answer_to_a_named_asker(hit: MakeHit) -> None:
    """Nor are replies; where nobody is named, all who speak count."""
    hits = [
        hit("I'm Bob.", role="user", metadata={"name": "Bob"}),
        hit("I'm Ann.", role="user", metadata={"name": "Ann"}),
        hit("I'm Max.", role="assistant"),
    ]
    assert names_asked("What's my name?", hits, "ann").tolist() == [False, True, False]
    assert names_asked("What's my name?", hits, "").tolist() == [True, True, False]
    assert not names_asked("Where is the dog?", hits, "ann").any()


@pytest.mark.parametrize("embeddings", ["none", "local"])
@pytest.mark.parametrize("question", ["What's my name?", "¿Cómo me llamo?", "我叫什么名字？"])
def test_ones_own_name_comes_first(tmp_path: Path, embeddings: str, question: str) -> None:
    """Though another's shares more words with the question, and it shares none."""
    config = MemoryConfig(background=False, embeddings=embeddings)
    with MemoryClient(tmp_path, config=config) as client:
        for place, text in enumerate(
            ["I'm Priya, nice to meet you.", "My cat's name is Olive.", "My dog is called Rex."]
        ):
            client.add(text, user_id="ann", thread_id=f"t{place}")
        hits = client.explain(question, user_id="ann").hits
    assert "Priya" in hits[0].text
