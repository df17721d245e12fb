"""The value of a favourite: titles, pairs and things, and what is none."""

from __future__ import annotations

import itertools

import pytest

from langmem_plus.remember.favourites import MAY_BE_EITHER, favourite_shape, is_favourite, is_title
from langmem_plus.remember.rules import may_outdate, replaces
from langmem_plus.remember.slots import find_slot

SAME_SLOT = [
    ("band", "Radiohead", "The Beatles", "Florence and the Machine", "Simon and Garfunkel"),
    ("film", "The Godfather", "Blade Runner", "The Good, the Bad and the Ugly", "Gone with the Wind", "1917"),
    ("book", "Pride and Prejudice", "War and Peace", "The Hobbit", "Dune", "1984"),
    ("restaurant", "Bella Napoli", "Noma", "The Star Inn", "the noodle bar"),
    ("tea", "Earl Grey", "green tea", "chamomile and mint"),
    ("food", "lasagne", "fish and chips", "Pad Thai", "Thai curry", "French fries"),
    ("drink", "Coca Cola", "hot chocolate", "water"),
    ("colour", "Red", "dark green", "blue"),
]
ABROAD = [
    ("Mein Lieblingsbuch ist Krieg und Frieden", "Mein Lieblingsbuch ist Der Prozess"),
    ("Meine Lieblingsband ist Die Ärzte", "Meine Lieblingsband ist Rammstein"),
    ("Mein Lieblingstee ist Earl Grey", "Mein Lieblingstee ist grüner Tee"),
    ("Mon livre préféré est Le Rouge et le Noir", "Mon livre préféré est Orgueil et préjugés"),
    ("Mi libro favorito es Guerra y paz", "Mi libro favorito es El Quijote"),
    ("Mi comida favorita es la paella", "Mi comida favorita es Pizza"),
]
NO_OTHER = [
    ("My favourite restaurant is Noma", "My favourite restaurant is packed tonight"),
    ("My favourite restaurant is Noma", "My favourite restaurant is the one by the sea"),
    ("My favourite team is Leeds United", "My favourite team is winning"),
    ("My favourite tea is Earl Grey", "My favourite tea is cold"),
    ("My favourite film is The Godfather", "My favourite film is on TV tonight"),
    ("My favourite actor is Jean Reno", "My favourite actor is French"),
    ("My favourite mug is blue", "My favourite mug is broken"),
    ("My favourite number is 7", "My favourite number is prime"),
    ("My favourite drink is tea", "My favourite drink is sweet"),
    ("My favourite food is pizza", "My favourite food is cooked by my mother"),
    ("My favourite film is Alien", "My favourite film is Oscar winning"),
    ("My favourite film is Alien", "My favourite film is Ridley Scott's best"),
    ("My favourite song is Yesterday", "My favourite song is 3 minutes long"),
    ("Meine Lieblingsfarbe ist Rot", "Meine Lieblingsfarbe ist ausverkauft"),
    ("我最喜欢的餐厅是海底捞", "我最喜欢的餐厅是关门的"),
    ("My favourite band is The Beatles", "My favourite bands are Muse and Blur"),
    ("My favourite band is The Beatles", "One of my favourite bands is Muse"),
    ("My favourite band is The Beatles", "The Beatles are my favourite band"),
    ("My favourite band is The Beatles", "My sister's favourite band is Muse"),
    ("My favourite book is Pride and Prejudice", "My favourite film is Blade Runner"),
]


@pytest.mark.parametrize(
    ("of", "old", "new"), [(of, *pair) for of, *values in SAME_SLOT for pair in itertools.permutations(values, 2)]
)
def test_one_favourite_replaces_another_however_it_is_written(of: str, old: str, new: str) -> None:
    """With "The", with "and" within it, a title, a thing with an adjective, a number; also where it is told as new."""
    assert replaces(f"My favourite {of} is {new}", f"My favourite {of} is {old}")
    assert replaces(f"My favourite {of} is now {new}.", f"My favorite {of} is {old}.")


@pytest.mark.parametrize(("old", "new"), ABROAD)
def test_favourites_of_other_languages_are_replaced_alike(old: str, new: str) -> None:
    """Their articles and their "and" belong to names, too."""
    assert replaces(new, old)
    assert replaces(old, new)


@pytest.mark.parametrize(("old", "new"), NO_OTHER)
def test_what_names_no_other_favourite_replaces_none(old: str, new: str) -> None:
    """How it is, whose it is, several of them, or the same one."""
    assert not replaces(new, old)


@pytest.mark.parametrize(
    ("old", "value"),
    [
        ("My favourite food is pizza and my wife's is pasta", "pizza"),
        ("My favourite band is Radiohead and I saw them live", "radiohead"),
        ("My favourite book is Pride and Prejudice because it is witty", "pride and prejudice"),
        ("My favourite tea is Earl Grey with milk", "earl grey"),
    ],
)
def test_what_is_joined_to_a_favourite_isnt_lost_with_it(old: str, value: str) -> None:
    """The statement stays, and the newer one comes before it."""
    slot = find_slot(old)
    assert slot is not None and slot.value == value and not slot.alone
    new = f"My {slot.attribute} is Something Else"
    assert not replaces(new, old)
    assert may_outdate(new, old)


def test_a_title_is_told_by_its_capitals() -> None:
    """Small words stand small within it, and no clause is one."""
    assert is_title("The Lord of the Rings")
    assert not is_title("The one with Tom Hanks in it")
    assert not is_title("Lyon and Tom's is Paris")
    assert not is_title("Dune")


def test_what_is_asked_for_tells_a_thing() -> None:
    """A plain word may say how the favourite is, unless it is of a kind that has common names."""
    assert favourite_shape("tea", "green tea") == MAY_BE_EITHER
    assert favourite_shape("restaurant", "the noodle bar") == MAY_BE_EITHER
    assert favourite_shape("restaurant", "packed") == "plain"
    assert favourite_shape("restaurant", "Noma") == "proper"
    assert is_favourite("restaurant", "The Star Inn")
    assert not is_favourite("restaurant", "the same as yours")
    assert not is_favourite("actor", "French")
