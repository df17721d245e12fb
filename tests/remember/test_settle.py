"""Decisions over what is stored when they are written: others wrote, edited, pinned or deleted meanwhile."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore

from langmem_plus.prompts import Change, Changes, ExtractedFact, ExtractedFacts
from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.settle import settle
from langmem_plus.testing import ScriptedChatModel

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
TURN = MemoryRecord(id="turn", role="user", text="said", user_id="ann", created_at=NOW, updated_at=NOW)
FACT = Fact(text="I live in Rome", source_id="turn", ordinal=0)
OLD = MemoryRecord(id="old", text="I live in Lyon", user_id="ann", created_at=NOW, updated_at=NOW)
EVENTS = ("ADD", "UPDATE", "DELETE", "NONE")


def decide(event: str, *, fact: Fact | None = FACT, target: str | None = "old") -> Decision:
    """A decision about the fact and the old record."""
    return Decision.model_validate({"event": event, "fact": fact, "target": target, "reason": "so"})


def now_is(**changes: Any) -> dict[str, MemoryRecord]:
    """What is stored now, after the old record was changed."""
    return {"turn": TURN, "old": OLD.model_copy(update=changes)}


@pytest.mark.parametrize("event", EVENTS)
def test_what_nobody_touched_is_done_as_decided(event: str) -> None:
    """The record is as it was seen; other fields than its text may be edited."""
    decision = decide(event)
    assert settle([decision], {"old": OLD}, now_is(tags=["edited"], repeat_count=7)) == [decision]


@pytest.mark.parametrize(
    "changes", [{"status": "deleted"}, {"status": "superseded"}, {"text": "I live in Paris"}, {"pinned": True}]
)
def test_a_record_that_changed_meanwhile_stays_and_the_fact_stands_beside_it(changes: dict[str, Any]) -> None:
    """An update becomes an addition, and the reason says why."""
    (settled,) = settle([decide("UPDATE")], {"old": OLD}, now_is(**changes))
    assert (settled.event, settled.target, settled.fact) == ("ADD", None, FACT)
    assert settled.reason.startswith("so; but it ")


def test_a_record_that_is_gone_is_not_brought_back() -> None:
    """Its file was deleted: a repetition of it is a new fact, a deletion nothing."""
    current = {"turn": TURN}
    assert [d.event for d in settle([decide("NONE")], {"old": OLD}, current)] == ["ADD"]
    assert [d.event for d in settle([decide("DELETE", fact=None)], {"old": OLD}, current)] == ["NONE"]
    assert [d.event for d in settle([decide("UPDATE"), decide("DELETE")], {"old": OLD}, current)] == ["ADD"]


def test_a_pinned_record_is_still_counted() -> None:
    """What is said again may be counted on a record that was pinned meanwhile."""
    assert settle([decide("NONE")], {"old": OLD}, now_is(pinned=True)) == [decide("NONE")]


@pytest.mark.parametrize("turn", [None, {"extracted": True}, {"status": "deleted"}, {"text": "edited"}])
def test_a_turn_that_is_gone_or_done_gives_nothing(turn: dict[str, Any] | None) -> None:
    """Whoever worked it off meanwhile stored its facts; what was deleted has none."""
    current = {"old": OLD} | ({"turn": TURN.model_copy(update=turn)} if turn else {})
    assert settle([decide("ADD", target=None), decide("UPDATE")], {"old": OLD, "turn": TURN}, current) == []


def test_a_fact_may_repeat_one_of_the_same_run() -> None:
    """It is stored by the same batch, so nobody can have changed it."""
    second = Fact(text="I live in Rome", source_id="turn", ordinal=1)
    decisions = [decide("ADD", target=None), decide("NONE", fact=second, target=FACT.key)]
    assert settle(decisions, {}, {"turn": TURN}) == decisions


@given(
    events=st.lists(st.sampled_from(EVENTS), max_size=6),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "status": st.sampled_from(["active", "deleted", "superseded"]),
            "text": st.sampled_from([OLD.text, "edited"]),
            "pinned": st.booleans(),
            "manually_saved": st.booleans(),
        },
    ),
    gone=st.booleans(),
)
def test_no_fact_is_lost_and_no_changed_record_is_retired(
    events: list[str], changes: dict[str, Any], gone: bool
) -> None:
    """Whatever happened: each fact is stored or counted on a record that says it still, unless that was forgotten."""
    facts = [Fact(text=f"fact {n}", source_id="turn", ordinal=n) for n in range(len(events))]
    decisions = [decide(event, fact=fact) for event, fact in zip(events, facts, strict=True) if event != "DELETE"]
    current = {"turn": TURN} if gone else now_is(**changes)
    settled = settle(decisions, {"old": OLD}, current)
    now = current.get("old")
    is_forgotten = now is not None and now.status == "deleted"
    assert [d.fact for d in settled] == [d.fact for d in decisions if not (is_forgotten and d.event == "NONE")]
    if now is None or now.status != "active" or now.text != OLD.text:
        assert {(d.event, d.target) for d in settled} <= {("ADD", None)}
    elif now.pinned or now.manually_saved:
        assert "UPDATE" not in {d.event for d in settled}


# through a store, while the model thinks


def said(text: str) -> ExtractedFacts:
    """What a model extracts."""
    return ExtractedFacts(facts=[ExtractedFact(text=text)])


def meanwhile(action: Callable[[], object], *changes: Change) -> Callable[[Any], Changes]:
    """A model's decision, before which somebody does something."""

    def answer(_: Any) -> Changes:
        action()
        return Changes(changes=list(changes))

    return answer


UPDATE = Change(event="UPDATE", fact="A", id=0, reason="moved")


def learn_lyon(person: Any, model: ScriptedChatModel) -> tuple[Any, MemoryRecord]:
    """Somebody whose home is known."""
    ann = person(model)
    ann.say("I live in Lyon.")
    (record,) = ann.records()
    return ann, record


def test_a_pin_set_while_the_model_thinks_holds(person: Any) -> None:
    """The record stays active and pinned; the new fact stands beside it."""
    model = ScriptedChatModel([said("The user lives in Lyon.")])
    ann, record = learn_lyon(person, model)

    def pin() -> None:
        ann.store.put(ann.scope.namespace, record.id, record.model_copy(update={"pinned": True}).to_value())

    again = ScriptedChatModel([said("The user lives in Rome."), meanwhile(pin, UPDATE)])
    bob = person(again)
    result = bob.say("I live in Rome.")
    assert [d.event for d in result.decisions] == ["ADD"]
    assert [(r.text, r.pinned) for r in bob.records()] == [
        ("The user lives in Lyon.", True),
        ("The user lives in Rome.", False),
    ]


def test_a_turn_deleted_while_the_model_thinks_stays_deleted(person: Any) -> None:
    """Neither the turn nor a fact of it comes back."""
    model = ScriptedChatModel([said("The user lives in Lyon.")])
    learn_lyon(person, model)
    bob = person(None)

    def delete() -> None:
        for turn in bob.records("user"):
            if not turn.extracted:
                bob.store.delete(bob.scope.namespace, turn.id)

    bob.services = type(bob.services)(
        config=bob.services.config,
        store=bob.store,
        model=ScriptedChatModel([said("The user lives in Rome."), meanwhile(delete, UPDATE)]),
        clock=bob.clock,
    )
    assert bob.say("I live in Rome.").decisions == []
    assert bob.texts() == ["The user lives in Lyon."]
    assert all(turn.extracted for turn in bob.records("user"))


def test_a_count_that_another_process_raised_is_kept(person: Any, store: BaseStore) -> None:
    """What is merged is merged into the record as it is."""
    model = ScriptedChatModel([said("The user lives in Lyon.")])
    ann, record = learn_lyon(person, model)

    def raise_count(_: Any) -> ExtractedFacts:
        store.put(ann.scope.namespace, record.id, record.model_copy(update={"repeat_count": 5}).to_value())
        return said("The user lives in Lyon.")

    person(ScriptedChatModel([raise_count])).say("As I said, I live in Lyon.")
    assert [r.repeat_count for r in ann.records()] == [6]


def test_a_turn_edited_while_the_model_thinks_is_read_again(person: Any) -> None:
    """What it said before gives no fact, and what it says now does."""
    ann = person(None)

    def edit(_: Any) -> ExtractedFacts:
        (turn,) = ann.records("user")
        ann.store.put(ann.scope.namespace, turn.id, turn.model_copy(update={"text": "I live in Nice."}).to_value())
        return said("The user lives in Lyon.")

    bob = person(ScriptedChatModel([edit, said("The user lives in Nice.")]))
    bob.say("I live in Lyon.")
    assert bob.texts() == []
    bob.work()
    assert bob.texts() == ["The user lives in Nice."]
