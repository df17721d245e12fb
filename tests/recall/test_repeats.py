"""Saying a thing once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langmem_plus.recall.repeats import (
    TURN_MARGIN,
    corrections,
    place_of,
    without_copies,
    without_echoes,
    without_repeats,
)
from langmem_plus.records import DRAWN, SAYS_MORE, MemoryHit
from langmem_plus.text import fingerprint

MakeHit = Callable[..., MemoryHit]
LIVES, HOME = fingerprint("I live in Lyon."), fingerprint("My home is Lyon.")


def ids(hits: list[MemoryHit]) -> list[str]:
    """The hits' ids, in order."""
    return [hit.record.id for hit in hits]


def family(hit: MakeHit, turn_total: float, *fact_totals: float) -> list[MemoryHit]:
    """A turn and the facts drawn from it, sorted by total."""
    facts = [hit(f"fact{n}", {"total": total}, source_ids=["turn"]) for n, total in enumerate(fact_totals)]
    turn = hit("turn", {"total": turn_total}, role="user", source_ids=["m1"])
    return sorted([turn, *facts], key=lambda hit: -hit.scores["total"])


def test_a_fact_stands_for_its_turn(hit: MakeHit) -> None:
    """At the better of both places."""
    kept, dropped = without_repeats(family(hit, 0.9, 0.7, 0.6))
    assert [(hit.record.id, hit.scores["total"]) for hit in kept] == [("fact0", 0.9), ("fact1", 0.6)]
    assert [(choice.id, "fact0" in choice.reason) for choice in dropped] == [("turn", True)]


def test_a_turn_that_says_much_more_stands_for_its_facts(hit: MakeHit) -> None:
    """The margin is in totals."""
    kept, dropped = without_repeats(family(hit, 0.9, 0.9 - TURN_MARGIN - 0.01))
    assert (ids(kept), [choice.id for choice in dropped]) == (["turn"], ["fact0"])


@pytest.mark.parametrize(
    ("turn", "fact", "shown"),
    [
        ({}, {}, "turn"),
        ({"metadata": {}}, {}, "fact"),
        ({"text": "I live in Lyon. " + "It was a long day at the lab. " * 9}, {}, "fact"),
        ({}, {"pinned": True}, "fact"),
        ({"metadata": {SAYS_MORE: {"other": "0"}}}, {}, "fact"),
        ({}, {"source_ids": ["turn", "m1", "later"]}, "fact"),
    ],
)
def test_a_turn_that_tells_more_than_its_facts_stands_for_them(
    hit: MakeHit, turn: dict[str, Any], fact: dict[str, Any], shown: str
) -> None:
    """At the better of both places; not where it is long, nor for a fact that is newer than it, or pinned."""
    said = {
        "text": "I live in Lyon. It is hot.",
        "metadata": {SAYS_MORE: {"fact": LIVES}},
        "source_ids": ["m1"],
        **turn,
    }
    known = {"text": "I live in Lyon.", "source_ids": ["turn", "m1"], **fact}
    hits = [
        hit(known.pop("text"), {"total": 0.9}, id="fact", **known),
        hit(said.pop("text"), {"total": 0.6}, id="turn", role="user", **said),
    ]
    kept, dropped = without_repeats(hits, query="Where do I live?")
    assert [(each.record.id, each.scores["total"]) for each in kept] == [(shown, 0.9)]
    assert len(dropped) == 1


def test_a_fact_may_name_the_message_of_its_turn(hit: MakeHit) -> None:
    """Turns are known by their own id and by their message's."""
    fact = hit("fact", {"total": 0.5}, source_ids=["m1"])
    turn = hit("turn", {"total": 0.6}, role="user", source_ids=["m1"])
    kept, _ = without_repeats([turn, fact, hit("other", {"total": 0.1})])
    assert ids(kept) == ["fact", "other"]


def test_a_reply_that_quotes_a_memory_is_left_out(hit: MakeHit) -> None:
    """Memories don't come back through the replies that they were quoted in, whatever the lines and the case."""
    fact = hit("I'm allergic to peanuts.", {"total": 0.5}, id="fact")
    reply = hit("I know this:\n- i'm allergic\n to peanuts. (2026)", {"total": 0.9}, id="reply", role="assistant")
    kept, dropped = without_echoes([reply, fact])
    assert ids(kept) == ["fact"]
    assert [(choice.id, "fact" in choice.reason) for choice in dropped] == [("reply", True)]


def test_a_reply_that_says_something_of_its_own_stays(hit: MakeHit) -> None:
    """Short words in common, and users who quote, are no echoes."""
    yes = hit("yes", {"total": 0.9}, id="yes", role="user")
    reply = hit("Yes, the train leaves at nine.", {"total": 0.8}, id="reply", role="assistant")
    quote = hit("You said: yes, the train leaves at nine.", {"total": 0.7}, id="quote", role="user")
    kept, dropped = without_echoes([yes, reply, quote])
    assert (ids(kept), dropped) == (["yes", "reply", "quote"], [])


def test_a_turn_comes_back_where_its_fact_is_not_shown(hit: MakeHit) -> None:
    """One fact of two turns stands for the first, and the second one says more than it: both turns are shown."""
    fact = hit("fact", {"total": 0.5}, source_ids=["one", "two"])
    one, two = hit("one", {"total": 0.6}, role="user"), hit("two", {"total": 0.99}, role="user")
    answers = {place_of(fact): 0.4, place_of(one): 0.5, place_of(two): 0.99}
    kept, dropped = without_repeats([two, one, fact], answers)
    assert ids(kept) == ["two", "one"]
    assert [choice.id for choice in dropped] == ["fact"]


def test_one_id_in_two_namespaces_is_two_hits(hit: MakeHit) -> None:
    """A space and global may hold records of one key."""
    here = hit("turn", {"total": 0.9}, role="user")
    there = hit("turn", {"total": 0.4}, role="user", namespace=("memories", "ann", "global"))
    fact = hit("fact", {"total": 0.3}, source_ids=["turn"], namespace=("memories", "ann", "global"))
    kept, dropped = without_repeats([here, there, fact])
    assert [place_of(each) for each in kept] == [place_of(here), place_of(fact)]
    assert [choice.id for choice in dropped] == ["turn"]


def test_the_same_words_are_shown_once(hit: MakeHit) -> None:
    """By one speaker, whatever their case; what another one says, or the other side, is something else."""
    hits = [
        hit("What is my name?", {"total": 0.9}, role="user", id="a"),
        hit("what is my name? ", {"total": 0.8}, role="user", id="b"),
        hit("What is my name?", {"total": 0.7}, role="user", id="c", metadata={"name": "Bob"}),
        hit("What is my name?", {"total": 0.6}, role="assistant", id="d"),
    ]
    kept, dropped = without_copies(hits)
    assert ids(kept) == ["a", "c", "d"]
    assert [(choice.id, choice.reason) for choice in dropped] == [("b", "the same is shown: a")]


def test_a_pinned_fact_is_not_dropped_for_more_words_of_the_question(hit: MakeHit) -> None:
    """Where it is as near to the question as its turn; what isn't pinned gives way to the turn."""
    turn = hit(
        "I live in Lyon. It is hot.", {"total": 0.6}, id="turn", role="user", metadata={SAYS_MORE: {"fact": HOME}}
    )
    for pinned, shown in ((True, "fact"), (False, "turn")):
        fact = hit("My home is Lyon.", {"total": 0.9}, id="fact", source_ids=["turn"], pinned=pinned)
        near = {place_of(turn): 0.8, place_of(fact): 0.8}
        kept, _ = without_repeats([fact, turn], query="Do I live where it is hot?", near=near)
        assert ids(kept) == [shown]


@pytest.mark.parametrize("mark", [SAYS_MORE, DRAWN])
def test_a_corrected_fact_is_never_dropped_for_its_turn(hit: MakeHit, mark: str) -> None:
    """However much better the turn answers; what still says what was drawn from it gives way."""
    drawn = {"old": LIVES, "same": HOME}
    turn = hit(
        "I live in Lyon. My home is Lyon. It is hot.", {"total": 0.9}, id="turn", role="user", metadata={mark: drawn}
    )
    old = hit("I live in Nice.", {"total": 0.2}, id="old", source_ids=["turn"])
    same = hit("My home is Lyon.", {"total": 0.1}, id="same", source_ids=["turn"])
    kept, dropped = without_repeats([turn, old, same], query="Where is it hot?")
    assert ids(kept) == ["turn", "old"]
    assert [choice.id for choice in dropped] == ["same"]


@pytest.mark.parametrize(
    ("fact", "beside"),
    [
        ({"id": "one", "text": "I live in Nice."}, True),
        ({"id": "new", "text": "I moved to Paris.", "replaces": ["one"]}, True),
        ({"id": "one", "text": "I live in Lyon."}, False),
        ({"id": "new", "text": "I moved to Paris.", "replaces": ["other"]}, False),
        ({"id": "one", "text": "I live in Nice.", "namespace": ("memories", "ann", "global")}, False),
        ({"id": "one", "text": "I live in Nice.", "role": "user"}, False),
    ],
)
def test_what_corrects_a_turn_stands_below_it(hit: MakeHit, fact: dict[str, Any], beside: bool) -> None:
    """A fact of it that says something else by now, and one that replaced one; nothing else that was refused."""
    turn = hit("I live in Lyon. It is hot.", {"total": 0.6}, id="turn", role="user", metadata={DRAWN: {"one": LIVES}})
    other = hit("Ice helps.", {"total": 0.9}, id="ice", role="user")
    refused = hit(fact.pop("text"), {"total": 0.01}, **fact)
    found = corrections([other, turn], [refused])
    assert list(found) == ([place_of(refused)] if beside else [])
    assert all(0.59 < total < 0.6 for total in found.values())
    assert corrections([other], [refused]) == {}
