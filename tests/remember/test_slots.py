from __future__ import annotations

import pytest

from langmem_plus.remember.quantities import find_quantity
from langmem_plus.remember.rules import ended_statement, replaces, same_subject
from langmem_plus.remember.slots import canonical, find_slot


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("My name is Anne", ("user", "name", "anne")),
        ("The user's name is Anne.", ("user", "name", "anne")),
        ("I live in Lyon now", ("user", "home", "lyon")),
        ("The user lives in New York City.", ("user", "home", "new york city")),
        ("I just moved from Paris to Lyon", ("user", "home", "lyon")),
        ("I work at Acme as a nurse", ("user", "employer", "acme")),
        ("I work as a night nurse", ("user", "job", "night nurse")),
        ("My wife is Anne", ("user", "wife name", "anne")),
        ("My wife's name is Bea", ("user", "wife name", "bea")),
        ("My wife lives in Rome", ("user's wife", "home", "rome")),
        ("Anne lives in Lyon", ("anne", "home", "lyon")),
        ("My favorite color is deep blue", ("user", "favourite colour", "deep blue")),
        ("Blue is my favourite colour", ("user", "favourite colour", "blue")),
        ("I'm 34", ("user", "age", "34")),
        ("My birthday is on May 5", ("user", "birthday", "may 5")),
        ("My e-mail address is a@b.org", ("user", "email address", "a b org")),
        ("My dog's name is Rex", ("user", "dog name", "rex")),
        ("I got divorced", ("user", "marital status", "divorced")),
        ("I'm vegan now", ("user", "diet", "vegan")),
        ("Ich wohne jetzt in Köln", ("user", "home", "köln")),
        ("Ich bin nach Berlin gezogen", ("user", "home", "berlin")),
        ("Meine Frau heißt Anne", ("user", "frau name", "anne")),
        ("J'habite à Lyon", ("user", "home", "lyon")),
        ("Je travaille chez Renault", ("user", "employer", "renault")),
        ("Me mudé a Sevilla", ("user", "home", "sevilla")),
        ("Mi comida favorita es la paella", ("user", "favourite comida", "la paella")),
        ("我住在上海", ("user", "home", "上海")),
        ("我妻子叫安娜", ("user", "妻子 name", "安娜")),
        ("我最喜欢的颜色是蓝色", ("user", "favourite 颜色", "蓝色")),
    ],
)
def test_what_there_is_one_of_at_a_time_is_a_slot(text: str, slot: tuple[str, str, str]) -> None:
    """Subject, attribute and value, in the user's words and in the third person."""
    found = find_slot(text)
    assert found is not None
    assert found.subject == slot[0]
    assert " ".join(found.value.split()) == " ".join(slot[2].split())
    assert found.attribute.split()[0] == slot[1].split()[0]


@pytest.mark.parametrize(
    "text",
    [
        "I used to live in Paris",
        "I moved to Lyon in 2010",
        "I'm moving to Lyon next month",
        "I don't live in Paris",
        "My wife is German",
        "My wife is Anne's sister",
        "I joined Netflix",
        "I am 5 minutes late",
        "My brother is Tom",
        "I live for music",
        "I temporarily live in Rome",
        "My budget is 500",
        "Do I live in Lyon?",
    ],
)
def test_what_may_be_several_or_is_over_is_no_slot(text: str) -> None:
    """A doubt leaves everything as it is."""
    found = find_slot(text)
    assert found is None or found.attribute not in ("home", "employer", "age", "wife name", "brother name")


RETIRES = [
    ("home", "I live in Paris", "I moved to Lyon"),
    ("home", "The user lives in Paris.", "I live in Lyon now"),
    ("employer", "I work at Acme", "I started a new job at Globex"),
    ("name", "My name is Anna", "My name is Anne"),
    ("colour", "My favourite colour is red", "My favorite color is blue"),
    ("wife", "My wife is Bea", "My wife's name is Anne"),
    ("phone", "My phone number is 555-1234", "My phone number is 555-9999"),
    ("age", "I'm 34", "I'm 35 years old"),
    ("coffee", "I like coffee", "I hate coffee"),
    ("tea", "I prefer tea over coffee", "I prefer coffee over tea"),
    ("employer", "I work at Acme as a nurse", "I no longer work at Acme"),
    ("coffee", "I like coffee", "I don't like coffee anymore"),
    ("tennis", "I play tennis every Sunday", "I no longer play tennis"),
    ("employer", "I'm working at Globex", "I quit my job at Globex"),
    ("luna", "I've had Luna for about 6 months now", "I've had my cat, Luna, for about 9 months now"),
    ("bikes", "I own three bikes", "I own four bikes now"),
    ("costco", "I spend $120 a week at Costco", "I spend $115 a week at Costco"),
    ("dentist", "I have a dentist appointment on Tuesday", "I moved my dentist appointment to Friday"),
    ("home", "Ich wohne in Köln", "Ich bin nach Berlin gezogen"),
    ("tennis", "Ich spiele Tennis", "Ich spiele kein Tennis mehr"),
    ("home", "J'habite à Lyon", "Je n'habite plus à Lyon"),
    ("home", "Vivo en Madrid", "Me mudé a Sevilla"),
    ("home", "我住在上海", "我搬到北京了"),
    ("home", "我住在上海", "我不再住在上海"),
    ("diet", "I'm a vegetarian", "I'm not vegetarian anymore"),
    ("nuts", "I'm allergic to nuts", "I'm not allergic to nuts after all"),
    ("birthday", "My birthday is on 12 May", "Oops, my birthday is on 21 May"),
    ("cat", "My cat is named Pixel", "Sorry, I meant my cat is named Pixie"),
    ("cat", "My cat is called Pixel", "No wait, my cat is called Pixie, not Pixel"),
    ("employer", "I work as a nurse at St. Mary's Hospital", "Actually I now work at City Clinic"),
    ("咖啡", "我喜欢咖啡", "我不喜欢咖啡了"),
    ("home", "wohne in Leipzig", "ich wohne jetzt in Dresden"),
    ("home", "住在上海", "我搬到北京了"),
    ("name", "I'm Marta.", "My name is Martha"),
]
STAYS = [
    ("I like coffee", "I also like tea"),
    ("I like coffee", "I like tea"),
    ("I live in Paris", "My sister lives in Lyon"),
    ("Anne lives in Paris", "I moved to Lyon"),
    ("My sister lives in Rome", "I no longer live in Rome"),
    ("I work at Acme", "I also work at Globex"),
    ("I live in Paris with my two cats", "I moved to Lyon"),
    ("I live in Paris and my favourite colour is blue", "I moved to Lyon"),
    ("I live in Lyon", "I live in Lyon, France"),
    ("My dog is Rex", "My other dog is Max"),
    ("My brother is Tom", "My brother is Bob"),
    ("I like coffee ice cream", "I don't like coffee anymore"),
    ("I went to the dentist on Tuesday", "I went to the dentist on Friday"),
    ("I caught 7 bass with Alex on 7/10", "I caught 9 bass with Alex on 7/22"),
    ("I have two meetings on Monday", "I have three meetings on Tuesday"),
    ("I ran 5 km this week", "I ran 7 km this week"),
    ("I've tried three different ones recently", "I've tried four different ones so far"),
    ("I play tennis with Anne", "I play tennis with Bob"),
    ("My wife is Anne", "My wife is a doctor"),
    ("I've never met Kelly", "I met Kelly in May"),
    ("I'm Marta", "I'm Dutch"),
    ("My name is Marta", "I'm Happy"),
    ("I'm allergic to peanuts", "I'm not allergic to cats after all"),
    ("I'm vegetarian", "I'm not allergic to nuts anymore"),
    ("我喜欢茶", "我不喜欢咖啡了"),
    ("I'm a vegetarian but I eat fish", "I'm not vegan anymore"),
    ("I work as a nurse at St. Mary's Hospital", "My sister works at City Clinic"),
]


@pytest.mark.parametrize(("topic", "old", "new"), RETIRES)
def test_the_same_attribute_of_the_same_subject_is_replaced(topic: str, old: str, new: str) -> None:
    """Another value of a slot, a quantity that changed, what is no longer so."""
    assert replaces(new, old)


@pytest.mark.parametrize(("old", "new"), STAYS)
def test_additive_recurring_and_unrelated_facts_all_stay(old: str, new: str) -> None:
    """Likeness alone retires nothing; neither does another subject, another occasion, or a record that says more."""
    assert not replaces(new, old)


def test_no_statement_of_one_topic_retires_one_of_another() -> None:
    """All statements against all: only those about the same thing meet."""
    for topic, _, new in RETIRES:
        for other_topic, old, _ in RETIRES:
            assert topic == other_topic or not replaces(new, old), (new, old)


def test_what_ended_is_read_as_it_was() -> None:
    """In English and, lightly, in other languages."""
    assert ended_statement("I no longer work at Acme") == "I work at Acme"
    assert ended_statement("I don't like coffee anymore") == "I like coffee"
    assert ended_statement("The user no longer eats meat.") == "I eats meat"
    assert ended_statement("I stopped smoking") == "I smoking"
    assert ended_statement("I like coffee") is None


def test_canonical_statements_name_their_subject() -> None:
    """First and third person meet."""
    assert canonical("By the way, the user's wife is Anne.") == ("user", "my wife is Anne")
    assert canonical("Anne's dog is Rex") == ("anne", "my dog is Rex")
    assert canonical("用户住在上海")[0] == "user"


def test_a_quantity_is_the_one_number_of_a_statement() -> None:
    """Versions, dates and several numbers are none."""
    assert find_quantity("I own 3 bikes") is not None
    assert find_quantity("I use Flask 2.3.1") is None
    assert find_quantity("I own 3 bikes and 2 cars") is None
    assert find_quantity("I like bikes") is None


def test_different_relatives_are_different_subjects() -> None:
    """A model may not replace one's home by the other's."""
    assert not same_subject("My brother lives in Rome", "My sister lives in Rome")
    assert same_subject("I live in Rome", "The user lives in Paris")
