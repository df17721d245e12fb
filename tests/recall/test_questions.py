"""A question that was asked before isn't an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langgraph.store.base import BaseStore

from langmem_plus.config import MemoryConfig
from langmem_plus.recall import recall
from langmem_plus.recall.questions import only_asks, questions_last
from langmem_plus.records import MemoryHit, MemoryRecord, Scope
from langmem_plus.services import Services

MakeHit = Callable[..., MemoryHit]
Put = Callable[..., MemoryRecord]
QUERY = "what city do I live in"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which city do I live in?", True),
        ("Hi! Which city do I live in? And since when?", True),
        ("我住在哪里？", True),
        ("I live in Lyon. Which city is it?", False),
        ("Which city do I live in? I think it is Lyon", False),
        ("I live in Lyon.", False),
        ("Hi!", False),
        ("", False),
    ],
)
def test_a_text_only_asks_when_every_sentence_does(text: str, expected: bool) -> None:
    """Small talk beside a question states nothing; any other sentence does."""
    assert only_asks(text) is expected


def test_a_turn_that_asks_the_same_comes_after_what_states_something(hit: MakeHit) -> None:
    """At a total that isn't better than theirs, so that the choice among them keeps it last."""
    asked = hit("Which city do I live in?", {"total": 0.9}, role="user")
    said = hit("I live in Grenoble now.", {"total": 0.4})
    found = questions_last(QUERY, [asked, said])
    assert [(each.text, each.scores["total"]) for each in found] == [(said.text, 0.4), (asked.text, 0.4)]
    assert asked.scores == {"total": 0.9}


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Grenoble. Which city do I live in?",
        "Do you like my new bike?",
        "Since I left Lyon for a job at the Grenoble lab in May, which city do I live in?",
    ],
)
def test_other_turns_keep_their_place(hit: MakeHit, text: str) -> None:
    """A statement beside the question, another question, and one that tells much by itself."""
    turn, said = hit(text, {"total": 0.9}, role="user"), hit("I like tea.", {"total": 0.4})
    assert questions_last(QUERY, [turn, said]) == [turn, said]


def test_a_question_alone_is_still_found(hit: MakeHit) -> None:
    """Where nothing states anything, the question is what there is."""
    asked = hit("Which city do I live in?", {"total": 0.9}, role="user")
    assert questions_last(QUERY, [asked]) == [asked]


def test_the_current_fact_comes_before_an_old_question_and_its_outdated_answer(
    store: BaseStore, put: Put, scope: Scope
) -> None:
    """Over every store: the fact that holds first, the reply that it outdates not at all."""
    put("Hi! My name is Sam and I live in Lyon.", id="turn", role="user", thread_id="old")
    put("I live in Lyon.", id="lyon", status="superseded", replaced_by="home", source_ids=["turn"])
    put("Which city do I live in?", id="asked", role="user", thread_id="old")
    put("You live in Lyon.", id="reply", role="assistant", thread_id="old")
    put("I live in Grenoble now.", id="home", replaces=["lyon"])
    services = Services(config=MemoryConfig(), store=store)
    hits, _ = recall(services, scope, QUERY)
    assert [hit.record.id for hit in hits] == ["home", "asked"]
