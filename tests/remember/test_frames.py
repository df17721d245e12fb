from __future__ import annotations

import pytest

from langmem_plus.remember.statements import find_statements

PLAYED = [
    "Act as a patient. I have asthma.",
    "You are to act as a patient. I have asthma and I live in Leeds.",
    "Play the role of a customer. I live in Boston.",
    "Imagina que soy médico y vivo en Roma.",
    "Supón que tengo dos hijos y vivo en Roma.",
    "Finge que soy abogada. Trabajo en Lima.",
    "Imagine que je suis médecin, j'ai deux enfants.",
    "Supposons que j'habite à Nice. J'ai deux enfants.",
    "Angenommen, ich bin Arzt. Ich wohne in Rom.",
    "假设我是医生，住在北京。",
    "想象我是律师，我有两个孩子。",
    "I need to say in German: I live in Rome.",
    "I'd like to write: I am a vegetarian.",
    "No soy vegano.",
    "I can't eat another bite.",
]
SAID = [
    "I can't eat gluten.",
    "I cannot drink milk.",
    "I can't have peanuts.",
    "Just moved to Austin last week.",
    "Got married last Saturday!",
    "Ich bin gegen Nüsse allergisch.",
    "Ich esse kein Fleisch.",
    "Wir wohnen in Köln.",
    "Wir haben zwei Kinder.",
    "Je ne mange pas de viande.",
    "Nous avons un chien.",
    "On habite à Nice.",
    "Soy vegano.",
    "Soy médico.",
    "No como carne.",
    "我在学校当老师。",
    "我上周搬到了上海。",
    "我的密码是abc1。",
]


@pytest.mark.parametrize("turn", PLAYED)
def test_a_role_and_a_case_go_on_to_the_end_of_the_turn(turn: str) -> None:
    """Nothing that is played, supposed, only to be said in another language, or denied is kept."""
    assert find_statements(turn, 5) == []


@pytest.mark.parametrize("turn", SAID)
def test_common_statements_are_found(turn: str) -> None:
    """What one can't eat, where one moved, in five languages."""
    assert [found.text for found in find_statements(turn, 5)] == [turn]


def test_a_correction_is_no_task() -> None:
    """What follows it is the user's own."""
    assert [found.text for found in find_statements("Correction: my name is John.", 5)] == ["my name is John."]
