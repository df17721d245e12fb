"""What is forgotten leaves archives in whatever words they tell it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.controls import forget_steps
from langmem_plus.records import FORGOTTEN, Decision, MemoryRecord, Scope
from langmem_plus.remember.archive_amend import amend_archives
from langmem_plus.remember.archive_words import sharing
from langmem_plus.remember.gist import Gist
from langmem_plus.remember.steps import run_steps
from langmem_plus.services import Services
from langmem_plus.speakers import Voice

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
SCOPE = Scope("ann")


def record(id: str, text: str, role: Any = "user", **fields: Any) -> MemoryRecord:
    """A record of the conversation."""
    return MemoryRecord(id=id, text=text, role=role, user_id="ann", **{"thread_id": "t", "created_at": NOW, **fields})


def archived(gist: Gist, **fields: Any) -> MemoryRecord:
    """An archive that a model made."""
    return record(fields.pop("id", "archive"), gist.text, "archive", **{"metadata": gist.metadata, **fields})


CODE = record("code", "My gate code is 4711.", "memory", source_ids=["turn"])
TURN = record("turn", CODE.text)
GIST = Gist(
    ("The home's entrance opens with 4711. The user bakes.", "Reach them at noon."),
    topics=("gate 4711", "bread"),
    names=("4711",),
    decisions=("Change the code.",),
)


def make(*records: MemoryRecord) -> Services:
    """Services over a store that holds some records."""
    services = Services(config=MemoryConfig(embeddings="none"), store=InMemoryStore(), clock=lambda: NOW)
    for each in records:
        services.find_store().put(SCOPE.namespace, each.id, each.to_value())
    return services


def left_of(services: Services, id: str = "archive") -> MemoryRecord:
    """A record as it is now."""
    item = services.find_store().get(SCOPE.namespace, id)
    assert item is not None
    return MemoryRecord.model_validate(item.value)


@pytest.mark.parametrize("way", ["by id", "by request"])
@pytest.mark.parametrize("near", [{"thread_id": "t"}, {"thread_id": "u", "source_ids": ["turn"]}])
def test_whatever_the_words_they_leave_the_archives_of_its_conversations(way: str, near: dict[str, Any]) -> None:
    """With topics and names; what is told of something else stays. The request itself holds no word of it."""
    asked = record("asked", "Please forget my gate code.", thread_id="u")
    services = make(TURN, record("bread", "I bake bread."), archived(GIST, **near))
    store = services.find_store()
    store.put(SCOPE.namespace, CODE.id, CODE.to_value())
    if way == "by id":
        run_steps(forget_steps(services, SCOPE, "code", "asked"), services, store)
    else:
        store.put(SCOPE.namespace, asked.id, asked.to_value())
        store.put(SCOPE.namespace, CODE.id, CODE.model_copy(update={"status": "deleted"}).to_value())
        store.put(SCOPE.namespace, TURN.id, TURN.model_copy(update={"metadata": {FORGOTTEN: True}}).to_value())
        gone = [Decision(event="DELETE", target="code")]
        run_steps(amend_archives(services, SCOPE, [Voice("my gate code", "")], gone, ["asked"]), services, store)
    left = left_of(services)
    assert left.text.splitlines() == ["The user bakes.", "Reach them at noon.", "Topics: bread"]
    assert "4711" not in str(left.to_value())


def test_another_conversations_archive_loses_what_says_it_alone() -> None:
    """A word tells nothing there."""
    shares = sharing(archived(GIST, thread_id="u"), [CODE], [CODE, TURN])
    assert not any(map(shares, GIST.lines))
    assert not sharing(archived(GIST), [record("archive 2", "4711", "archive")], [TURN])("4711")


def test_a_word_that_something_else_holds_tells_nothing() -> None:
    """Nor what everybody says, nor who said it."""
    bob = {"name": "Bob"}
    fact = record("fact", "I collect stamps with Bob.", "memory", metadata=bob, source_ids=["said"])
    said = [fact, record("said", f"{fact.text} I sing.", metadata=bob), record("other", "Stamps are dear.")]
    shares = sharing(archived(Gist()), [fact], said)
    lines = ("Bob: I sing.", "I like stamps.", "They collect letters.", "A friend, Bob, was there.")
    assert [shares(line) for line in lines] == [False, False, True, True]


def test_what_stands_in_the_archive_alone_goes_only_for_more_than_a_word() -> None:
    """A person's line, or one whose sources are gone: for a number, or half of the words."""
    lines = ("The gate was painted by Otto.", "It opens with 4711.", "The code of the gate hangs inside.")
    shares = sharing(archived(Gist(lines), metadata={}), [CODE], [CODE, TURN])
    assert [shares(line) for line in lines] == [False, True, True]
    made = sharing(archived(Gist(lines)), [CODE], [CODE, TURN])
    assert [made(line) for line in lines] == [True, True, True]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Ich wohne in Bergen.", "Das Haus liegt in Bergen."),
        ("Мой кот любит сметану.", "Купить сметану."),
        ("我住在里昂。", "里昂的房子。"),
    ],
)
def test_in_any_language(said: str, line: str) -> None:
    """By the words that the index knows."""
    fact = record("fact", said, "memory")
    assert sharing(archived(Gist((line,))), [fact], [fact])(line)


def test_a_forgotten_turn_leaves_sentence_by_sentence() -> None:
    """The archive and the summary of its conversation; what another turn of it says stays, and so do others."""
    turn = record("long", "My cat is called Mimi. We decided to sell the boat Marieke. I bake bread.")
    gist = Gist(
        ("My cat is called Mimi. I sing.", "I bake bread."), decisions=("We decided to sell the boat Marieke.",)
    )
    summary = record("summary", "- My cat is called Mimi.\n- I sing.", "summary")
    far = archived(gist, id="far", thread_id="u")
    services = make(turn, record("again", "I bake bread."), archived(gist), far, summary)
    run_steps(forget_steps(services, SCOPE, turn.id, "asked"), services, services.find_store())
    assert left_of(services).text.splitlines() == ["I sing.", "I bake bread."]
    assert {"I bake bread.", "Decided: We decided to sell the boat Marieke."} <= set(
        left_of(services, "far").text.splitlines()
    )
    assert left_of(services, "summary").text == "- I sing."


@pytest.mark.parametrize("role", ["archive", "summary"])
def test_a_forgotten_archive_goes_alone(role: str) -> None:
    """Others may have told the same of their own conversations."""
    one, two = (record(id, "- I sing.", role, thread_id=id) for id in "ab")
    services = make(one, two, record("third", "- I sing.", "summary", thread_id="c"))
    run_steps(forget_steps(services, SCOPE, "a", "asked"), services, services.find_store())
    assert [left_of(services, id).status for id in ("a", "b", "third")] == ["deleted", "active", "active"]
