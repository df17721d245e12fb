"""The facts of a turn, and the requests to forget among them."""

from __future__ import annotations

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import ExtractedFact, ExtractedFacts
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.decide import is_request
from langmem_plus.remember.facts import facts_by_answer, facts_by_rules

CONFIG = MemoryConfig(max_facts=5)


def turn(text: str) -> MemoryRecord:
    """A turn that waits."""
    return MemoryRecord(id="turn", role="user", text=text, user_id="u", extracted=False)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Forget my PIN. My PIN is 4712.", "request, fact"),
        ("My PIN is 4712. Forget my PIN.", "fact, request"),
        ("I like jazz. Forget my PIN. My PIN is 4712. Forget where I live.", "fact, request, fact, request"),
        ("My PIN is 4712. Forget my PIN. My PIN is 4712.", "request, fact"),
        ("忘记我的电话号码。我的电话是13899999999。", "request, fact"),
        ("Vergiss, wo ich wohne. Ich wohne in Bonn.", "request, fact"),
    ],
)
def test_requests_stand_where_they_were_said(text: str, kinds: str) -> None:
    """Among the statements; one that is said twice stands where it was said last. Each has a key of its own."""
    found = facts_by_rules(turn(text), CONFIG)
    assert ", ".join("request" if is_request(fact) else "fact" for fact in found) == kinds
    assert len({fact.key for fact in found}) == len(found)


def test_a_models_facts_stand_where_the_turn_says_them() -> None:
    """In its own words, in whatever order it gives them."""
    said = turn("I live in Bonn. Forget my phone number. My phone number is 555 9999 999.")
    texts = ["The user's phone number is 555 9999 999.", "The user lives in Bonn."]
    answer = ExtractedFacts(facts=[ExtractedFact(text=text) for text in texts])
    found, dropped = facts_by_answer(said, answer, CONFIG)
    assert [fact.text for fact in found] == [texts[1], "my phone number.", texts[0]]
    assert dropped == []
