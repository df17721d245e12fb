"""An adverb of the present in front of a statement: the same as behind its verb, in five languages."""

from __future__ import annotations

import pytest

from langmem_plus.remember.fronted import left_out, put_behind
from langmem_plus.remember.rules import replaces
from langmem_plus.remember.slots import find_slot
from langmem_plus.remember.statements import find_statements

CHANGED = [
    ("I live in Paris.", "Now I live in Lyon."),
    ("I live in Paris.", "Nowadays, I live in Lyon."),
    ("I live in Paris.", "These days, I live in Lyon."),
    ("I work at Acme.", "Now I'm working at Globex."),
    ("My employer is Acme.", "Now my employer is Globex."),
    ("My favourite colour is red.", "Now my favourite colour is blue."),
    ("Ich wohne in Berlin.", "Jetzt wohne ich in Hamburg."),
    ("Ich wohne in Berlin.", "Früher wohnte ich in Berlin, jetzt wohne ich in Hamburg."),
    ("Ich wohne in Berlin.", "Jetzt bin ich nach Hamburg gezogen."),
    ("Ich arbeite bei Siemens.", "Mittlerweile arbeite ich bei Bosch."),
    ("Ich heiße Anna.", "Jetzt heiße ich Berta."),
    ("Meine Telefonnummer ist 123.", "Jetzt ist meine Telefonnummer 456."),
    ("Vivo en Madrid.", "Ahora vivo en Sevilla."),
    ("Vivo en Madrid.", "Antes vivía en Madrid y ahora vivo en Sevilla."),
    ("Trabajo en Acme.", "Ahora trabajo en Globex."),
    ("Me llamo Ana.", "Ahora me llamo Eva."),
    ("Tengo 30 años.", "Ahora tengo 31 años."),
    ("Mi color favorito es el rojo.", "Ahora mi color favorito es el azul."),
    ("J'habite à Paris.", "Maintenant j'habite à Lyon."),
    ("J’habite à Paris.", "Désormais, j’habite à Lyon."),
    ("Je travaille chez Renault.", "À présent, je travaille chez Peugeot."),
    ("J'ai 30 ans.", "Maintenant j'ai 31 ans."),
    ("Ma couleur préférée est le rouge.", "Maintenant ma couleur préférée est le bleu."),
    ("我住在北京。", "现在我住在上海。"),
    ("我住在北京。", "我以前住在北京，现在住在上海。"),
    ("我在华为工作。", "如今我在腾讯工作。"),
    ("我最喜欢的颜色是红色。", "现在我最喜欢的颜色是蓝色。"),
]


@pytest.mark.parametrize(("known", "said"), CHANGED)
def test_what_holds_now_retires_what_held(known: str, said: str) -> None:
    """It is kept as it was said, as a fact and no instruction, and takes the other's place."""
    (fact,) = find_statements(said, 3)
    assert fact.text in said
    assert fact.kind != "instruction"
    assert replaces(fact.text, known)


@pytest.mark.parametrize(
    ("in_front", "behind"),
    [
        ("Now I live in Lyon.", "I live in Lyon now."),
        ("Currently I live in Lyon.", "I currently live in Lyon."),
        ("Now Anne lives in Bonn.", "Anne now lives in Bonn."),
        ("Now my wife works at Acme.", "My wife now works at Acme."),
        ("Jetzt wohne ich in Hamburg.", "Ich wohne jetzt in Hamburg."),
        ("Derzeit arbeite ich bei Bosch.", "Ich arbeite derzeit bei Bosch."),
        ("Ahora vivo en Sevilla.", "Vivo en Sevilla ahora."),
        ("Maintenant j'habite à Lyon.", "J'habite maintenant à Lyon."),
        ("现在我住在上海。", "我现在住在上海。"),
    ],
)
def test_it_fills_the_same_slot_as_behind(in_front: str, behind: str) -> None:
    """Whether it tells of a change included: "currently" doesn't."""
    assert find_slot(in_front) == find_slot(behind) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Now is the time.",
        "Now that I live in Lyon",
        "Now, what do I do?",
        "Nowhere I live is quiet",
        "Jetzt oder nie.",
        "Jetzt, wo ich in Hamburg wohne",
        "Ahora que vivo en Sevilla",
        "Ahora, ¿qué?",
        "Maintenant que j'habite à Lyon",
        "现在几点了",
        "现在",
        "",
    ],
)
def test_nothing_else_is_moved(text: str) -> None:
    """Conjunctions and other subjects stay as they are."""
    assert put_behind(text) == left_out(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Now I'm looking for a good book.",
        "Now I have to go.",
        "Right now I'm in a meeting.",
        "At the moment I have no time.",
        "Jetzt habe ich eine Frage.",
        "Jetzt muss ich los.",
        "Im Moment habe ich keine Zeit.",
        "Ahora tengo una pregunta.",
        "Ahora tengo que irme.",
        "Maintenant j'ai une question.",
        "En ce moment je suis fatigué.",
        "现在我有问题。",
        "现在我想问一下。",
    ],
)
def test_the_moment_is_no_fact(text: str) -> None:
    """Needs and questions of now are none, with the adverb as without it."""
    assert find_statements(text, 3) == []


@pytest.mark.parametrize(
    ("turn", "facts"),
    [
        ("Ich wohne in Berlin und arbeite bei Siemens.", ["Ich wohne in Berlin", "Ich arbeite bei Siemens."]),
        ("Jetzt wohne ich in Köln und studiere Physik.", ["Jetzt wohne ich in Köln", "Ich studiere Physik."]),
        ("Vivo en Madrid y trabajo en Acme.", ["Vivo en Madrid", "trabajo en Acme."]),
    ],
)
def test_a_clause_keeps_the_subject_that_it_shares(turn: str, facts: list[str]) -> None:
    """German needs it; the Spanish verb tells it."""
    assert [statement.text for statement in find_statements(turn, 3)] == facts
