"""Items of any program are read as records; what can't be recalled is left out and counted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import SearchItem

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.items import Found, Wanted, choose, read_item, read_items, without_outdated
from langmem_plus.records import MemoryHit, MemoryRecord, Scope
from langmem_plus.text import find_text

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]
ANN = Scope(user_id="ann", thread_id="now")


def item(value: dict[str, Any], key: str = "k", score: float | None = None) -> SearchItem:
    """A search result of a foreign store."""
    return SearchItem(ANN.namespace, key, value, NOW, NOW, score)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "tea"}, "tea"),
        ({"content": "tea"}, "tea"),
        ({"kind": "Memory", "content": {"content": "tea"}}, "tea"),
        ({"text": " ", "content": "tea"}, "tea"),
        ({"kind": "Profile", "content": {"name": "Änne", "age": 3}}, 'Profile: {"age": 3, "name": "Änne"}'),
        ({"content": {"likes": "茶"}}, '{"likes": "茶"}'),
        ({"text": 3}, None),
        ({"text": ""}, None),
        ({"content": {}}, None),
        ({"content": {"content": ""}}, None),
        ({}, None),
    ],
)
def test_the_text_is_found_where_programs_write_it(value: dict[str, Any], text: str | None) -> None:
    """Ours, plain ones, and both shapes of langmem."""
    assert find_text(value) == text
    record = read_item(item(value), ANN)
    assert (record.text if record else None) == text
    assert record is None or (record.role, record.id, record.user_id, record.created_at) == ("memory", "k", "ann", NOW)


def test_our_own_record_is_read_whole() -> None:
    """What was stored comes back equal."""
    record = MemoryRecord(id="k", text="tea", user_id="ann", role="user", tags=["drinks"], metadata={"name": "Ann"})
    assert read_item(item(record.to_value()), ANN) == record


def test_fields_that_fit_are_taken_from_a_foreign_value() -> None:
    """A field of another type, or another program's, doesn't hide the memory."""
    value = {"text": "tea", "tags": ["drinks"], "importance": "very", "user_id": 7, "colour": "green", "id": "other"}
    record = read_item(item(value), ANN)
    assert record is not None
    assert (record.tags, record.importance, record.user_id, record.id) == (["drinks"], 0.0, "ann", "k")


def test_a_state_that_nobody_knows_is_not_recalled() -> None:
    """A status written by hand that isn't one may mean "retired"."""
    assert read_item(item({"text": "tea", "status": "retired"}), ANN) is None


def read(*items: SearchItem, **wanted: Any) -> Found:
    """Read items with the defaults, changed as asked."""
    fields = {"scope": ANN, "query": "tea", "limit": 10, "config": MemoryConfig(), "now": NOW, **wanted}
    found = Found()
    read_items(Wanted(**fields), items, found)
    return found


def test_what_is_not_in_force_is_counted_by_its_kind() -> None:
    """Tombstones, summaries, expired and unreadable values never become hits."""
    found = read(
        item({"text": "a", "status": "superseded"}, "1"),
        item({"text": "b", "status": "pending"}, "2"),
        item({"text": "c", "role": "summary"}, "3"),
        item({"text": "d", "expires_at": "2026-03-01T12:00:00Z"}, "4"),
        item({"text": "e", "expires_at": "2026-03-01T12:00:01Z"}, "5"),
        item({"colour": "green"}, "6"),
    )
    assert [hit.text for hit in found.hits.values()] == ["e"]
    _, report = choose(Wanted(ANN, "tea", 10, MemoryConfig(), NOW), found)
    assert report.counts == {"candidates": 1, "inactive": 3, "expired": 1, "unreadable": 1}


def test_an_item_of_two_searches_is_one_hit_at_its_better_score() -> None:
    """The same record may be found by two filters."""
    found = read(item({"text": "a"}, score=0.2), item({"text": "a"}, score=0.7), item({"text": "a"}, score=0.1))
    assert [hit.scores for hit in found.hits.values()] == [{"store": 0.7}]


def test_an_unranked_page_is_ranked_by_words() -> None:
    """A store that can't rank: the limit keeps those that share words with the query, wherever they stood."""
    found = read(*(item({"text": f"filler {n}"}, str(n)) for n in range(20)), item({"text": "she drinks tea"}, "t"))
    wanted = Wanted(ANN, "green tea", 5, MemoryConfig(), NOW)
    hits, report = choose(wanted, found)
    assert report.counts["candidates"] == 5
    assert {hit.record.id: hit.scores["coverage"] for hit in hits}["t"] == 0.5


def test_a_turn_whose_fact_was_replaced_is_left_out(hit: MakeHit) -> None:
    """What was corrected doesn't come back through the turn that said it first."""
    turn = hit("Hi! My name is Sam and I live in Lyon.", {"cosine": 0.4}, id="turn", role="user")
    fact = hit("I live in Lyon.", {"cosine": 0.5}, source_ids=["turn"], status="superseded", replaced_by="new")
    kept, outdated = without_outdated("Where do I live?", [turn], [fact])
    assert kept == []
    assert [(choice.id, "new" in choice.reason) for choice in outdated] == [("turn", True)]


def test_a_turn_of_several_sentences_goes_with_its_replaced_fact(hit: MakeHit) -> None:
    """It always has somewhat more of a question's words, and is somewhat nearer."""
    turn = hit("My flat in this city is small. I live in Lyon.", {"cosine": 0.5}, id="turn", role="user")
    fact = hit("I live in Lyon.", {"cosine": 0.4}, source_ids=["turn"], status="superseded", replaced_by="new")
    kept, outdated = without_outdated("Which city do I live in?", [turn], [fact])
    assert (kept, [choice.id for choice in outdated]) == ([], ["turn"])


def test_a_turn_that_says_more_than_its_replaced_fact_stays(hit: MakeHit) -> None:
    """A turn is kept for whatever else it says, by words or by nearness."""
    turn = hit("I live in Lyon and the door code is 4711.", {"cosine": 0.5}, id="turn", role="user")
    fact = hit("I live in Lyon.", {"cosine": 0.1}, source_ids=["turn"], status="superseded")
    for query in ("What is the door code?", "How do I get in?"):
        kept, outdated = without_outdated(query, [turn], [fact])
        assert ([found.record.id for found in kept], outdated) == (["turn"], [])


def test_any_of_the_facts_that_ended_takes_its_turn_along(hit: MakeHit) -> None:
    """The one that says what the turn says of the query, wherever the search put it; also where its time is over."""
    turn = hit("I live in Lyon. I drive a Saab.", id="turn", role="user")
    home = hit("I live in Lyon.", source_ids=["turn"], status="superseded", replaced_by="new")
    car = hit("I drive a Saab.", source_ids=["turn"], expires_at=NOW)
    for facts in ([home, car], [car, home]):
        for query, reason in (("Where do I live?", "was replaced: new"), ("What do I drive?", "no longer holds")):
            kept, outdated = without_outdated(query, [turn], facts)
            assert kept == []
            assert [reason in choice.reason for choice in outdated] == [True]
    kept, _ = without_outdated("What do I drive?", [turn], [home])
    assert kept == [turn]


@pytest.mark.parametrize("id", ["m1", "m2", None])
def test_an_image_message_in_the_window_is_known_by_its_id_or_its_text(hit: MakeHit, id: str | None) -> None:
    """A turn holds a placeholder for the image, and so does the message's text, also where its id is another one."""
    turn = hit("Look:\n[image]", role="user", thread_id="now", source_ids=["m1"]).record
    parts: list[str | dict[str, Any]] = [{"type": "text", "text": "Look:"}, {"type": "image", "url": "https://x/y.png"}]
    wanted = Wanted(ANN, "What do you see?", 5, MemoryConfig(), NOW, messages=[HumanMessage(parts, id=id)])
    found = Found()
    assert read_items(wanted, [item(turn.to_value(), "turn", 0.7)], found) == 0
    assert set(found.left_out.values()) == {"in_window"}


LYON = {"id": "old", "status": "superseded", "replaced_by": "new", "source_ids": ["turn"]}


def reply_is_kept(hit: MakeHit, query: str, reply: str, **fields: Any) -> bool:
    """Whether a reply is kept beside "I live in Grenoble now.", which replaced "I live in Lyon."."""
    said = hit(reply, id="reply", role="assistant", **fields)
    new = hit("I live in Grenoble now.", id="new", replaces=["old"])
    kept, _ = without_outdated(query, [said, new], [hit("I live in Lyon.", **LYON)])
    return "reply" in {found.record.id for found in kept}


def test_a_reply_that_repeated_a_replaced_fact_is_left_out(hit: MakeHit) -> None:
    """What was corrected doesn't come back through the assistant's words, either."""
    assert not reply_is_kept(hit, "what city do I live in", "You live in Lyon.")


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("what city do I live in", "You moved from Lyon; you live in Grenoble."),
        ("what is Lyon known for", "Lyon is known for its cooking."),
        ("what is my dog called", "You live in Lyon and your dog is called Waldi."),
        ("what city do I live in", "Lyon, your old city, is a place to live well."),
    ],
)
def test_a_reply_that_says_something_else_stays(hit: MakeHit, query: str, reply: str) -> None:
    """About the change, about the thing itself, or more about the query than the replaced fact."""
    assert reply_is_kept(hit, query, reply)


def test_a_reply_given_after_the_change_stays(hit: MakeHit) -> None:
    """It speaks of the past."""
    later = NOW + dt.timedelta(days=1)
    assert reply_is_kept(hit, "where did I live", "You used to live in Lyon.", created_at=later)


def test_a_fact_that_was_replaced_twice_has_its_last_successor(hit: MakeHit) -> None:
    """Lyon, then Paris, then Grenoble: a reply about Lyon is outdated by the last."""
    facts = [hit("I live in Lyon.", **{**LYON, "replaced_by": "mid"}), hit("I live in Paris.", **{**LYON, "id": "mid"})]
    said = hit("You live in Lyon.", id="reply", role="assistant")
    kept, _ = without_outdated("where do I live", [said, hit("I live in Grenoble.", id="new")], facts)
    assert [found.record.id for found in kept] == ["new"]


def test_what_stands_below_the_namespace_is_not_read() -> None:
    """A shared namespace's recall shows nothing of the rooms below it, which a store's prefix search also covers."""
    shared = Scope("bob", org="acme", template=("org", "{org}"))
    wanted = Wanted(shared, "salary", 10, MemoryConfig(), NOW)
    found = Found()
    below = SearchItem(("org", "acme", "alice"), "k", {"text": "my salary"}, NOW, NOW, 0.9)
    own = SearchItem(("org", "acme"), "o", {"text": "the office is in Ghent"}, NOW, NOW, 0.1)
    assert read_items(wanted, [below, own], found) == 1
    assert [hit.text for hit in found.hits.values()] == ["the office is in Ghent"]
