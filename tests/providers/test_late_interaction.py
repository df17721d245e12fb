"""The first choice by token bits: which questions have one, and how near texts are to them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from langmem_plus.providers.late_interaction import ask_for_order, can_read, is_foreign, nearness
from langmem_plus.providers.token_bits import AskedTokens, TextBits, TokenEncoder, local_token_encoder


def test_the_text_that_holds_the_words_is_nearest(encoder: TokenEncoder) -> None:
    """One number a text, in the order of the texts."""
    asked = ask_for_order(encoder, "r x")
    assert asked is not None
    near = nearness(asked, encoder.read(["bcd", "r x", "r"]))
    assert near.argmax() == 1
    assert (np.abs(near) <= 1.5).all()


def test_a_text_without_bits_is_unknown_and_an_empty_one_is_not_near(encoder: TokenEncoder) -> None:
    """NaN is told apart from 0."""
    asked = ask_for_order(encoder, "r x")
    assert asked is not None
    empty = TextBits(np.empty((0, 2), np.uint8), np.empty((0, 2), np.uint8))
    near = nearness(asked, [None, empty, encoder.read(["r x"])[0]])
    assert np.isnan(near[0])
    assert near[1] == 0 < near[2]


@pytest.mark.parametrize(
    ("question", "readable"),
    [("Where do I live?", True), ("Wie heißt mein Hund?", True), ("我住在哪里？", False), ("42?", False), ("", False)],
)
def test_only_a_script_that_the_model_knows_is_compared(question: str, readable: bool) -> None:
    """Latin letters are."""
    assert can_read(question) == readable


def test_a_language_that_the_model_never_learnt_has_no_order() -> None:
    """Its words break into pieces that tell about spelling alone."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("there is no local model")
    assert ask_for_order(encoder, "Where does my grandmother live?") is not None
    assert ask_for_order(encoder, "Wo wohnt eigentlich meine Großmutter seit ihrem Umzug?") is None
    assert ask_for_order(encoder, "is it the?") is None  # no word says anything


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("Who painted Guernica?", False),
        ("dog name", False),
        ("What is on the à la carte menu?", False),
        ("What did my aunt persue?", False),
        ("Wer hat Guernica gemalt?", True),
        ("Was ist das?", True),
        ("¿Quién pintó el Guernica?", True),
        ("Qui a peint Guernica ?", True),
        ("Chi ha dipinto Guernica?", True),
    ],
)
def test_function_words_tell_a_foreign_question(question: str, foreign: bool) -> None:
    """Also where its words don't break into pieces, as names and short words don't."""
    whole = AskedTokens(np.empty((0, 16), np.float32), np.empty(0, np.float32), np.empty(16, np.float32), broken=0.0)
    assert is_foreign(question, whole) is foreign
    surely = question.startswith("What ")
    assert is_foreign(question, dataclasses.replace(whole, broken=0.5)) is not surely


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("veterinarian phone?", False),
        ("haemoglobin level?", False),
        ("wifi password?", False),
        ("van Gogh artwork?", False),
        ("Los Angeles flight?", False),
        ("El Niño worries?", False),
        ("Welche Allergie hat Lena?", True),
        ("El perro de Ana, ¿cómo se llama?", True),
        ("Geburtstag von Lena?", True),
        ("Name von Annas Hund?", True),
        ("Farbe des Autos?", True),
        ("Kennst du Witze?", True),
        ("Jakie mam auto?", True),
        ("Milyen autóm van?", True),
        ("Hvor bor jeg?", True),
        ("dirección?", True),
    ],
)
def test_a_short_question_is_told_by_words_that_the_model_knows_whole(question: str, foreign: bool) -> None:
    """Where it has no function words; a name's particle is none."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    assert is_foreign(question, encoder.ask(question)) is foreign
