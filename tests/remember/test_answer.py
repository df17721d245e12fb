"""What a person's answer may look like, and what it means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.errors import InvalidValueError
from langmem_plus.remember.answer import APPROVED, read_answer
from langmem_plus.remember.review import REJECTED, WAITS

KEYS = ["abc1", "abd2", "xyz3"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, [APPROVED] * 3),
        (" Approve ", [APPROVED] * 3),
        (False, [REJECTED] * 3),
        ("reject", [REJECTED] * 3),
        ({"approve": ["abc1"], "reject": ["xyz3"]}, [APPROVED, WAITS, REJECTED]),
        ({"approve": "xyz3"}, [WAITS, WAITS, APPROVED]),
        ({"approve": ["x", "abd"]}, [WAITS, APPROVED, APPROVED]),
        ({"approve": True, "reject": ["abc1"]}, [REJECTED, APPROVED, APPROVED]),
        ({"approve": ["abc1"], "reject": True}, [APPROVED, REJECTED, REJECTED]),
        ({"approve": []}, [WAITS] * 3),
        ({"reject": False}, [WAITS] * 3),
    ],
)
def test_an_answer_means_something_for_each(value: Any, words: list[str]) -> None:
    """What is named in neither list goes on waiting."""
    answer = read_answer(value, KEYS)
    assert [answer.of(key) for key in KEYS] == words


@pytest.mark.parametrize(
    "value",
    [
        None,
        "perhaps",
        7,
        [],
        {},
        ["abc1"],
        {"yes": ["abc1"]},
        {"approve": 3},
        {"approve": ["nobody"]},
        {"approve": ["ab"]},
        {"approve": [""]},
        {"approve": [None]},
        {"approve": ["abc1"], "reject": ["abc1"]},
        {"approve": True, "reject": True},
    ],
)
def test_what_cant_be_read_is_refused_with_the_remedy(value: Any) -> None:
    """Nothing is guessed about what is written into memory."""
    with pytest.raises(InvalidValueError, match=r"True approves all, False rejects all"):
        read_answer(value, KEYS)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["approve", "reject"])))
def test_every_choice_can_be_said(chosen: dict[str, str]) -> None:
    """Of each, one word, whatever is said of the others."""
    lists = {verdict: [key for key in KEYS if chosen.get(key) == verdict] for verdict in ("approve", "reject")}
    answer = read_answer(lists, KEYS)
    words = {"approve": APPROVED, "reject": REJECTED, None: WAITS}
    assert [answer.of(key) for key in KEYS] == [words[chosen.get(key)] for key in KEYS]
