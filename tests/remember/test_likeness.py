from __future__ import annotations

import pytest

from langmem_plus.prompts import Change
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.forgetting import concerns
from langmem_plus.remember.likeness import holds, may_replace
from langmem_plus.remember.simhash import near_duplicate

HELD = [
    ("I am allergic to nuts and my wife to cats.", "The user is allergic to nuts."),
    ("My wife Anne likes coffee.", "My wife likes coffee."),
    ("I own an old red bike", "I own a red bike"),
    ("I live in Lyon", "The user resides in Lyon"),
    ("Ich spiele jeden Tag Klavier", "Ich spiele jeden Tag Klavier."),
    ("我现在有一只猫。", "我有一只猫"),
    ("I like tea but my wife Anne likes coffee.", "I like tea."),
]
NOT_HELD = [
    ("My sister is allergic to nuts.", "I am allergic to nuts."),
    ("I am allergic to nuts and my wife to cats.", "My wife is allergic to nuts."),
    ("I like tea but my wife Anne likes coffee.", "I like coffee."),
    ("I like tea but Anne likes coffee.", "I like coffee."),
    ("My son Tom is older than my son Max.", "My son Max is older than my son Tom."),
    ("Anne owes me 20 euros.", "I owe Anne 20 euros."),
    ("I stopped smoking", "I smoke"),
    ("I used to smoke cigars", "I smoke cigars"),
    ("I have a dog house", "I have a dog"),
    ("Mi hermana vive en Madrid.", "Mi hermano vive en Madrid."),
    ("Meine Mutter mag Tee", "Ich mag Tee"),
    ("我妈妈喜欢茶", "我喜欢茶"),
    ("I program in C", "I program in C#"),
    ("My brother plays the drums and works at Acme.", "I work at Acme."),
    ("We have a garden", "My neighbour has a garden"),
]
MAY = [
    ("The user now works at Globex", "The user works at Acme"),
    ("The user lives in Rome", "The user lives in Lyon"),
    ("My boat is now red", "My boat is blue"),
    ("Ich habe 4 Katzen", "Ich habe 3 Katzen"),
    ("我有三只猫", "我有两只猫"),
    ("The user now trains on Fridays", "The user trains on Mondays"),
    ("My locker code is 77", "My locker code is 45"),
    ("I no longer eat meat", "I eat meat"),
    ("Vivo en Roma", "Vivo en Madrid"),
]
MAY_NOT = [
    ("My wife Anne loves opera.", "My wife Anne is allergic to nuts."),
    ("My wife Anne is from Lyon.", "My wife Anne is a doctor."),
    ("I paid the rent for June.", "I paid the rent for May."),
    ("I paid 30 euros for tea", "I paid 20 euros for tea"),
    ("I have an appointment with the lawyer on Friday.", "I have an appointment with the dentist on Friday."),
    ("My private email is b@x.org.", "My email at work is a@x.org."),
    ("Mi hermano vive en Roma.", "Mi hermana vive en Madrid."),
    ("Ich habe ein Auto.", "Ich habe einen Hund."),
    ("Ich habe jetzt ein Auto.", "Ich habe einen Hund."),
    ("J'ai une voiture.", "J'ai un chat."),
    ("Ich spreche Englisch.", "Ich spreche Deutsch."),
    ("我有一辆车。", "我有一只猫。"),
    ("我的妻子喜欢茶。", "我的妻子是医生。"),
    ("My dog is called Bello.", "My dog is called Rex."),
    ("I live in Rome", "I live in Lyon with my wife Anne"),
    ("My brother's car is 5 years old", "My sister's car is 4 years old"),
]


@pytest.mark.parametrize(("record", "fact"), HELD)
def test_a_record_holds_what_one_of_its_clauses_says(record: str, fact: str) -> None:
    """Of the same subject, from the verb on, whatever describes it more closely."""
    assert holds(record, fact)


@pytest.mark.parametrize(("record", "fact"), NOT_HELD)
def test_common_words_hold_nothing(record: str, fact: str) -> None:
    """Somebody else, another order, another verb, another thing: the fact would be lost."""
    assert not holds(record, fact)


@pytest.mark.parametrize(("new", "old"), MAY)
def test_a_model_may_replace_a_value_of_the_same_attribute(new: str, old: str) -> None:
    """A slot, a datum, a count, or what a told change puts in its place."""
    assert may_replace(new, old)


@pytest.mark.parametrize(("new", "old"), MAY_NOT)
def test_what_can_be_true_beside_it_replaces_nothing(new: str, old: str) -> None:
    """The same person, verb or day isn't the same attribute."""
    assert not may_replace(new, old)


def test_a_request_concerns_what_says_it() -> None:
    """One word in common is not enough, and what says more of the same subject is."""
    for request, text in [("I live in Lyon", "I live in Lyon near the park"), ("where I work", "I work at Acme")]:
        assert concerns(request, MemoryRecord(id="r", text=text, user_id="u")), request
    for request, text in [
        ("I like beer", "I like opera"),
        ("I like Lyon", "I live in Lyon near the park"),
        ("I have a cold", "I have a dog"),
        ("I like this city", "My city guide lives in Rome"),
    ]:
        assert not concerns(request, MemoryRecord(id="r", text=text, user_id="u")), request


@pytest.mark.parametrize(("said", "read"), [(0, 0), ("3", 3), (" 3 ", 3), ("0abc", None), ("m0", None), (None, None)])
def test_only_a_number_names_a_memory(said: object, read: int | None) -> None:
    """What merely holds one names none."""
    assert Change.model_validate({"event": "UPDATE", "id": said}).id == read


def test_signs_inside_words_tell_texts_apart() -> None:
    """A sentence's own signs don't."""
    for one, other in [("I program in C.", "I program in C#."), ("My code is a!b.", "My code is a?b.")]:
        assert not near_duplicate(one, other, 3)
    assert near_duplicate("I like tea!", "I like tea.", 3)
