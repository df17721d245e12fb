"""What is said of somebody by name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.by_name import tells_of
from langmem_plus.remember.traces import says_it
from langmem_plus.remember.whose import Speakers
from langmem_plus.speakers import Voice


@pytest.mark.parametrize(
    ("text", "said", "name"),
    [
        ("Ann's gate code is 4711.", "My gate code is 4711.", "Ann"),
        ("Did you know? Bob says ann’s gate code is 4711.", "My gate code is 4711.", "Ann"),
        ("Ann's gate code is 4711.", "My gate code is 4711.", "Ann Lee"),
        ("Ann Lee's dog is Rex", "Ann Lee's dog is Rex.", "Ann Lee"),
        ("Ann lives in Lyon now.", "I live in Lyon.", "Ann"),
        ("Ann lives in Lyon and works for a bakery in Vienne.", "I live in Lyon.", "Ann"),
        ("Ann is vegan.", "I'm vegan", "Ann"),
        ("Anns Katze heißt Mimi.", "Meine Katze heißt Mimi.", "Ann"),
        ("Ann wohnt in Bonn.", "Ich wohne in Bonn.", "Ann"),
        ("Ann habite à Lyon", "J'habite à Lyon", "Ann"),
        ("Ann vive en Sevilla", "Vivo en Sevilla.", "Ann"),
        ("Аня живёт в Москве", "Я живу в Москве", "Аня"),
        ("安娜住在杭州。", "我住在杭州。", "安娜"),
        ("Ann #0406 lives in Lyon.", "I live in Lyon.", "Ann*"),
    ],
)
def test_told_by_name(text: str, said: str, name: str) -> None:
    """Whoever says it, in whichever language; a turn and a line of an archive alike."""
    assert tells_of(text, Voice(said, name))
    voice = Voice(said, name)
    known = [MemoryRecord(id=each.name, text=each.text, user_id="u", metadata={"name": each.name}) for each in (voice,)]
    known.append(MemoryRecord(id="Bob", text=text, user_id="u", metadata={"name": "Bob"}))
    for line in (Voice(text, "Bob").shown, text):
        assert Speakers(known).tells(line, voice, says_it)


@pytest.mark.parametrize(
    ("text", "said", "name"),
    [
        ("Ann Roux lives in Lyon.", "I live in Lyon.", "Ann"),
        ("Ann #0406 lives in Lyon.", "I live in Lyon.", "Ann"),
        ("Anna lives in Lyon.", "I live in Lyon.", "Ann"),
        ("Ann likes vegan food.", "I'm vegan", "Ann"),
        ("Ann has 34 cats.", "I am 34.", "Ann"),
        ("Ann's code is 47112.", "My code is 4711", "Ann"),
        ("Ann moved. I live in Lyon.", "I live in Lyon.", "Ann"),
        ("Hi Ann", "I am Ann", "Ann"),
        ("Ann lives in Lyon.", "I live in Lyon.", ""),
    ],
)
def test_told_of_something_else(text: str, said: str, name: str) -> None:
    """Of another one, or of another thing."""
    assert not tells_of(text, Voice(said, name))


@given(*(st.text("Ann live's#*. \n你я\ud800", max_size=size) for size in (30, 20, 6)))
@settings(max_examples=15, deadline=None)
def test_anything(text: str, said: str, name: str) -> None:
    """Nothing fails; where there is nobody, nobody is told of."""
    assert tells_of(text, Voice(said, name)) in (True, False)
    assert not tells_of(text, Voice(said, ""))
