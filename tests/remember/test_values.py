"""Numbers, addresses and codes that tell by themselves what they are."""

from __future__ import annotations

import pytest

from langmem_plus.remember.values import find_values

PHONE = "My phone number is 415 555 0199."


def is_told(statement: str, reply: str, asked: str) -> bool:
    """Whether a reply tells a value of a statement."""
    return any(value.is_told(reply, asked) for value in find_values(statement))


@pytest.mark.parametrize(
    ("statement", "reply"),
    [
        (PHONE, "I've noted your number, 4155550199."),
        (PHONE, "OK! I'll call you on +1 (415) 555-0199 tomorrow."),
        ("My phone number is +1 415 555 0199.", "Right: 415.555.0199."),
        ("Meine Telefonnummer ist +49 30 1234567.", "Notiert: 030/1234567."),
        ("Mon numéro est le 06 12 34 56 78.", "C'est le 06.12.34.56.78."),
        ("我的电话是13812345678。", "好的，13812345678已记下。"),
        ("Call me on 415 555 0199.", "415-555-0199, got it."),
        ("My email is Ann@Example.org.", "I wrote to ann@example.org."),
        ("Mi correo es ana@x.org.", "Anotado: ana@x.org."),
        ("My address is 12 Rue de la Paix, Lyon.", "Delivering to 12 rue de la Paix."),
        ("My wifi password is sunflower99.", "Noted, sunflower99."),
        ("我的密码是abc12。", "好的，abc12记住了。"),
        ("My IBAN is DE89 3704 0044 0532 0130 00.", "Noted DE89370400440532013000."),
    ],
)
def test_what_is_long_is_told_by_itself(statement: str, reply: str) -> None:
    """However it is spelled, with the country's code and without."""
    assert is_told(statement, reply, "")


@pytest.mark.parametrize(
    ("statement", "reply", "asked"),
    [
        ("My PIN is 4711.", "It's 4711.", "What is my PIN?"),
        ("My gate code is 4711.", "4711.", "What's the code of the gate?"),
        ("My password is swordfish.", "It's swordfish.", "What is my password?"),
        ("My birthday is on May 3rd.", "It's on 3 May.", "When is my birthday?"),
        ("我的密码是4711。", "是4711哦。", "我的密码是多少？"),
    ],
)
def test_what_is_short_is_told_where_its_thing_is_named(statement: str, reply: str, asked: str) -> None:
    """In the reply or in what it replies to; elsewhere it stands by chance."""
    assert is_told(statement, reply, asked)
    assert not is_told(statement, reply, "What is that?")


@pytest.mark.parametrize(
    ("statement", "reply", "asked"),
    [
        ("My PIN is 4711.", "It's order 24711, or 4711-22, or 3.4711.", "What is my PIN?"),
        ("My PIN is 1985.", "It came out in 1985.", "When did the film come out?"),
        ("My gate code is 4711.", "Your door code is 4711.", "What is my door code?"),
        (PHONE, "415 555 01999, 555 0199", "What is my phone number?"),
        ("My email is ann@example.org.", "joann@example.org, ann@example.org.uk", "What is my email?"),
        ("I live in Lyon.", "Lyon is a city.", "What is Lyon?"),
    ],
)
def test_what_holds_it_by_chance_does_not_tell_it(statement: str, reply: str, asked: str) -> None:
    """A part of a longer number, a year, another thing's."""
    assert not is_told(statement, reply, asked)
