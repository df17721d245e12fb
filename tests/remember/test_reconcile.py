from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.prompts import Change, Changes, ExtractedFact, ExtractedFacts
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.extract import aextract, extract
from langmem_plus.remember.reconcile import areconcile, reconcile, reconcile_node
from langmem_plus.remember.simhash import simhash
from langmem_plus.remember.steps import put
from langmem_plus.services import Services


def said(*texts: str) -> ExtractedFacts:
    """What a model extracts."""
    return ExtractedFacts(facts=[ExtractedFact(text=text) for text in texts])


def changes(*items: Change) -> Changes:
    """What a model decides."""
    return Changes(changes=list(items))


# without a model, over any store


def test_saying_a_thing_twice_keeps_it_once_and_stronger(person: Any) -> None:
    """A duplicate is NONE: the record counts it, and keeps both sources."""
    ann = person()
    ann.say("I like tea.", id="m1")
    before = ann.records()[0]
    result = ann.say("I like tea!", id="m2")
    (record,) = ann.records()
    assert [(each.event, each.by) for each in result.decisions] == [("NONE", "duplicate")]
    assert (record.id, record.repeat_count) == (before.id, 1)
    assert record.importance > before.importance
    assert {"m1", "m2"} <= set(record.source_ids)
    assert record.simhash == simhash(record.text)


def test_saying_a_thing_twice_in_one_breath_keeps_it_once(person: Any) -> None:
    """Duplicates among the new facts themselves."""
    ann = person()
    ann.say("I like tea. I like tea! I live in Lyon.")
    assert ann.texts() == ["I like tea!", "I live in Lyon."] or ann.texts() == ["I like tea.", "I live in Lyon."]


def test_a_repeat_from_another_thread_is_found_without_a_neighbourhood(person: Any) -> None:
    """``neighbourhood=0`` replaces nothing, yet the same fact isn't stored twice."""
    for thread_id in ("t1", "t2"):
        person(thread_id=thread_id, neighbourhood=0).say("I like tea.")
    (record,) = person().records()
    assert record.repeat_count == 1


def test_another_value_of_a_slot_supersedes_the_old_one(person: Any) -> None:
    """The old one becomes a tombstone that names its successor; the successor names what it replaces."""
    ann = person()
    ann.say("I live in Paris.")
    result = ann.say("I moved to Lyon.")
    (new,) = ann.records()
    (old,) = ann.records(status="superseded")
    assert (new.text, old.text) == ("I moved to Lyon.", "I live in Paris.")
    assert (old.replaced_by, new.replaces) == (new.id, [old.id])
    assert result.report.counts["facts_updated"] == 1
    assert result.report.decisions[0]["reason"] == "another home"


def test_a_slot_is_found_among_many_memories(person: Any) -> None:
    """Also where the store ranks nothing, or the words have nothing in common."""
    ann = person()
    ann.say("I live in Paris.")
    for thing in ("tea", "jazz", "chess", "boats", "maps", "snow", "trains", "owls", "bread", "ink"):
        ann.say(f"I love {thing} more than anything else.")
    ann.say("I moved to Lyon.")
    assert "I live in Paris." not in ann.texts()
    assert len(ann.texts()) == 11


def test_additive_recurring_and_unrelated_facts_all_stay(person: Any) -> None:
    """Nothing is retired by likeness."""
    ann = person()
    told = [
        "I like coffee.",
        "I also like tea.",
        "I went to the dentist on May 3.",
        "I went to the dentist on June 3.",
        "My brother is a cook.",
        "My sister is a cook.",
    ]
    for text in told:
        ann.say(text)
    assert ann.texts() == sorted(told)


def test_what_is_no_longer_so_is_retired_and_nothing_else(person: Any) -> None:
    """Only the same subject and attribute."""
    ann = person()
    for text in ("I work at Acme.", "My sister works at Acme.", "I live in Lyon.", "I no longer work at Acme."):
        ann.say(text)
    assert ann.texts() == ["I live in Lyon.", "I no longer work at Acme.", "My sister works at Acme."]


def test_contradictions_within_one_run_are_resolved_in_their_order(person: Any) -> None:
    """Turns that waited together: the later one wins, the earlier one is kept as history."""
    ann = person()
    ann.tell("I live in Paris.")
    ann.tell("I moved to Rome.")
    ann.tell("I live in Lyon now.")
    ann.work()
    assert ann.texts() == ["I live in Lyon now."]
    assert ann.texts(status="superseded") == ["I live in Paris.", "I moved to Rome."]


def test_an_old_conversation_that_is_imported_late_does_not_win(person: Any) -> None:
    """The messages' own times decide, not the order of import."""
    ann = person()
    ann.say("I moved to Lyon.")
    ann.say("I live in Paris.", additional_kwargs={"created_at": "2019-03-01"})
    assert ann.texts() == ["I moved to Lyon."]
    (old,) = ann.records(status="superseded")
    assert (old.text, old.replaced_by) == ("I live in Paris.", ann.records()[0].id)


def test_a_request_to_forget_deletes_the_memory_and_only_that(person: Any) -> None:
    """The request itself isn't stored."""
    ann = person()
    for text in ("My phone number is 555-1234.", "My dog is Rex.", "Please forget my phone number."):
        ann.say(text)
    assert ann.texts() == ["My dog is Rex."]
    assert ann.texts(status="deleted") == ["My phone number is 555-1234."]


def test_an_ambiguous_request_to_forget_deletes_nothing(person: Any) -> None:
    """And the report says why."""
    ann = person()
    ann.say("My dog likes the beach.")
    ann.say("My dog likes the forest.")
    result = ann.say("Forget my dog.")
    assert len(ann.texts()) == 2
    assert "2 memories could be meant" in result.decisions[0].reason


def test_what_was_saved_on_purpose_hands_the_wish_on(person: Any) -> None:
    """The user's own newer statement replaces it, and is kept as firmly."""
    ann = person()
    ann.say("Remember that I live in Paris.")
    ann.say("I moved to Lyon.")
    (record,) = ann.records()
    assert (record.text, record.manually_saved) == ("I moved to Lyon.", True)


def test_a_retry_writes_once(person: Any) -> None:
    """The same facts of the same turns, reconciled again: nothing is added, nothing is counted twice."""
    ann = person()
    ann.say("I like tea.")
    ann.tell("I like tea. I live in Lyon.")
    found = extract(ann.services, ann.scope)
    reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    before = ann.records()
    reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    assert ann.records() == before


def test_a_fact_that_was_deleted_does_not_come_back_by_a_retry(person: Any) -> None:
    """Its key exists, whatever its status: it isn't written again."""
    ann = person()
    ann.tell("I live in Lyon.")
    found = extract(ann.services, ann.scope)
    reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    (record,) = ann.records()
    ann.store.put(ann.scope.namespace, record.id, record.model_copy(update={"status": "deleted"}).to_value())
    (turn,) = ann.records("user")
    ann.store.put(ann.scope.namespace, turn.id, turn.model_copy(update={"extracted": False}).to_value())
    ann.work()
    assert ann.texts() == []
    assert ann.records("user")[0].extracted is True


def test_a_turn_that_was_deleted_meanwhile_gives_nothing_and_stays_deleted(person: Any) -> None:
    """Erasing while the background works must not be undone."""
    ann = person()
    ann.tell("I live in Lyon.")
    found = extract(ann.services, ann.scope)
    (turn,) = ann.records("user")
    ann.store.put(ann.scope.namespace, turn.id, turn.model_copy(update={"status": "deleted"}).to_value())
    reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    assert ann.texts() == []
    assert ann.texts("user") == []


def test_turns_without_facts_are_done_too(person: Any) -> None:
    """They aren't read again and again."""
    ann = person()
    ann.say("Thanks!")
    assert ann.records("user")[0].extracted is True


def test_every_script_stays_byte_for_byte(person: Any) -> None:
    """No translation, no normal form: what was said is what is stored."""
    ann = person()
    texts = ["我妻子叫安娜。", "Ich wohne in Köln.", "Me gusta el té.", "I like cafe\u0301s a lot."]
    for text in texts:
        ann.say(text)
    assert ann.texts() == sorted(texts)


def test_users_and_spaces_do_not_see_each_other(person: Any) -> None:
    """The same statement by another user is no duplicate, and replaces nothing."""
    ann, bob = person(user_id="ann"), person(user_id="ann/b")
    ann.say("I live in Paris.")
    bob.say("I live in Lyon.")
    assert (ann.texts(), bob.texts()) == (["I live in Paris."], ["I live in Lyon."])


def test_speakers_in_one_room_are_told_apart(person: Any) -> None:
    """Two people with names: one's move doesn't move the other."""
    ann = person()
    ann.say("I live in Paris.", name="Anne")
    ann.say("I live in Lyon.", name="Bob")
    ann.say("I like tea.", name="Anne")
    ann.say("I like tea.", name="Bob")
    assert ann.texts() == ["I like tea.", "I like tea.", "I live in Lyon.", "I live in Paris."]


def test_expired_memories_are_no_neighbours(person: Any) -> None:
    """What is over can't be repeated or replaced."""
    ann = person()
    ann.say("I like tea.")
    (record,) = ann.records()
    over = record.model_copy(update={"expires_at": ann.clock.now - dt.timedelta(days=1)})
    ann.store.put(ann.scope.namespace, record.id, over.to_value())
    ann.say("I like tea.")
    # A store that knows times to live doesn't even show what is over.
    assert [found.expires_at for found in ann.records() if found.expires_at is None] == [None]
    assert len(ann.records()) == (1 if ann.store.supports_ttl else 2)


def test_a_neighbourhood_of_none_adds_everything(person: Any) -> None:
    """neighbourhood=0 switches the comparison off."""
    ann = person(neighbourhood=0)
    ann.say("I live in Paris.")
    ann.say("I live in Lyon.")
    assert len(ann.texts()) == 2


# with a model


def test_nothing_known_asks_no_model(person: Any, script: Any, way: str) -> None:
    """All facts are added at the cost of one call, the extraction."""
    model = script(said("The user lives in Lyon.", "The user likes tea."))
    ann = person(model)
    ann.say("I live in Lyon and like tea.")
    assert ann.texts() == ["The user likes tea.", "The user lives in Lyon."]
    assert len(model.calls) == 1


def test_a_duplicate_asks_no_model(person: Any, script: Any, way: str) -> None:
    """It is NONE before any model is asked."""
    model = script(said("The user likes tea."), said("The user likes tea."))
    ann = person(model)
    ann.say("I like tea.")
    ann.say("By the way, I like tea.")
    assert ann.records()[0].repeat_count == 1
    assert len(model.calls) == 2


def test_the_model_sees_short_ids_and_no_others(person: Any, script: Any, way: str) -> None:
    """Numbers for memories, letters for facts; keys and other users' memories never."""
    model = script(
        said("The user works at Acme."),
        said("The user works at Globex."),
        changes(Change(event="UPDATE", fact="A", id=0)),
    )
    ann = person(model)
    ann.say("I work at Acme.")
    result = ann.say("I work at Globex.")
    asked = model.calls[-1].messages[-1].text
    assert ("I work at Globex." if way == "together" else "A: The user works at Globex.") in asked
    assert "0: The user works at Acme." in asked
    assert not any(record.id in asked for record in ann.records(status=None))
    assert ann.texts() == ["The user works at Globex."]
    assert ann.texts(status="superseded") == ["The user works at Acme."]
    assert result.decisions[0].by == "model"


@pytest.mark.parametrize(
    "failure", [ConnectionError("down"), TimeoutError("slow"), "no JSON at all", "", '{"changes": "?"}']
)
def test_a_model_that_fails_to_decide_loses_no_fact(person: Any, script: Any, failure: Any) -> None:
    """Everything is added, nothing is retired, and the report says why."""
    model = script(said("The user works at Acme."), said("The user works at Globex."), then=failure)
    ann = person(model)
    ann.say("I work at Acme.")
    result = ann.say("I work at Globex.")
    assert ann.texts() == ["The user works at Acme.", "The user works at Globex."]
    assert "added everything" in result.report.warnings[0]
    assert result.decisions[0].by == "fallback"


def test_a_model_cannot_touch_what_is_pinned(person: Any, script: Any, way: str) -> None:
    """The new fact stands beside it."""
    model = script(
        said("The user works at Acme."),
        said("The user works at Globex."),
        changes(Change(event="UPDATE", fact="A", id=0)),
    )
    ann = person(model)
    ann.say("I work at Acme.")
    (record,) = ann.records()
    ann.store.put(ann.scope.namespace, record.id, record.model_copy(update={"pinned": True}).to_value())
    ann.say("I work at Globex.")
    assert ann.texts() == ["The user works at Acme.", "The user works at Globex."]


def test_another_users_memory_is_out_of_reach(person: Any, script: Any, way: str) -> None:
    """An id beyond the list becomes an ADD; there is no way to name a record of somebody else."""
    bob = person(user_id="bob")
    bob.say("I work at Acme.")
    model = script(
        said("The user works at Acme."),
        said("The user works at Globex."),
        changes(Change(event="UPDATE", fact="A", id=1), Change(event="DELETE", id=2)),
    )
    ann = person(model)
    ann.say("I work at Acme.")
    result = ann.say("I work at Globex.")
    assert ann.texts() == ["The user works at Acme.", "The user works at Globex."]
    assert bob.texts() == ["I work at Acme."]
    assert len(result.report.warnings) == 2


def test_a_forget_request_is_done_before_the_model_is_asked(person: Any, script: Any, way: str) -> None:
    """The rules find what is meant; the model sees the rest."""
    model = script(said("The user works at Acme."), said())
    ann = person(model)
    ann.say("I work at Acme.")
    ann.say("Forget that I work at Acme.")
    assert ann.texts() == []
    assert len(model.calls) == 2


# writes


class CountingStore(InMemoryStore):
    """Keeps the batches that write, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[list[PutOp]] = []
        self.fails = False
        self.free: list[str] = []

    def batch(self, ops: Any) -> list[Any]:
        """Count, then do."""
        ops = list(ops)
        puts = [op for op in ops if isinstance(op, PutOp)]
        if puts and self.fails:
            raise OSError("disk full")
        if puts:
            self.writes.append(puts)
        return super().batch(ops)

    async def abatch(self, ops: Any) -> list[Any]:
        """The same."""
        return self.batch(ops)

    def claim(self, namespace: tuple[str, ...], keys: Any, seconds: float, *, owner: str) -> set[str]:
        """Everything is free."""
        return set(keys)

    def release(self, namespace: tuple[str, ...], keys: Any, *, owner: str) -> None:
        """Remember what was given up."""
        self.free += keys


SCOPE = Scope("alice", thread_id="t1")


def waiting(*texts: str) -> tuple[Services, CountingStore]:
    """A store with turns that wait."""
    store = CountingStore()
    for number, text in enumerate(texts):
        said_at = dt.datetime(2024, 5, 1, number, tzinfo=dt.UTC)
        turn = MemoryRecord(
            id=f"turn {number}", role="user", text=text, user_id="alice", thread_id="t1", extracted=False
        )
        store.put(SCOPE.namespace, turn.id, turn.model_copy(update={"observed_at": said_at}).to_value())
    store.writes.clear()
    return Services(store=store), store


def test_one_batch_carries_the_whole_decision() -> None:
    """Facts, tombstones, strengthened duplicates and the turns marked as extracted."""
    services, store = waiting("I live in Paris. I like tea.", "I like tea.", "I moved to Lyon.")
    found = extract(services, SCOPE)
    reconcile(services, SCOPE, found.turns, found.facts, found.claim)
    (batch,) = store.writes
    roles = sorted((op.value["role"], op.value["status"]) for op in batch if op.value)
    assert roles == [("memory", "active")] * 2 + [("memory", "superseded")] + [("user", "active")] * 3
    assert sorted(store.free) == ["turn 0", "turn 1", "turn 2"]


def test_a_batch_that_fails_leaves_the_turns_waiting_and_free() -> None:
    """Nothing is half done; the next try does it all."""
    services, store = waiting("I live in Paris.")
    found = extract(services, SCOPE)
    store.fails = True
    with pytest.raises(OSError, match="disk full"):
        reconcile(services, SCOPE, found.turns, found.facts, found.claim)
    assert store.free == ["turn 0"]
    store.fails = False
    found = extract(services, SCOPE)
    assert reconcile(services, SCOPE, found.turns, found.facts, found.claim).report.counts["facts_added"] == 1


async def test_reconciliation_is_the_same_in_async() -> None:
    """The same steps under another driver."""
    services, store = waiting("I live in Paris.", "I moved to Lyon.")
    found = await aextract(services, SCOPE)
    result = await areconcile(services, SCOPE, found.turns, found.facts, found.claim)
    assert [decision.event for decision in result.decisions] == ["ADD", "UPDATE"]
    assert len(store.writes) == 1


async def test_the_node_writes_decisions_and_nothing_incognito() -> None:
    """Decisions and counts are in the report."""
    services, store = waiting("I live in Paris.")
    found = extract(services, SCOPE)
    state = {"memory_turns": found.turns, "memory_facts": found.facts}
    config: dict[str, Any] = {"configurable": {"user_id": "alice", "thread_id": "t1", "incognito": True}}
    node = reconcile_node(services)
    assert node.invoke(state, config)["memory_decisions"] == []
    assert store.writes == []
    del config["configurable"]["incognito"]
    update = await node.ainvoke(state, config)
    assert [decision.event for decision in update["memory_decisions"]] == ["ADD"]
    assert update["memory_report"]["decisions"][0]["text"] == "I live in Paris."


def test_what_was_replaced_stays_indexed_and_what_was_forgotten_does_not() -> None:
    """Recall finds a replaced fact to know that its turn is outdated; nothing leads to what was to be forgotten."""
    services, store = waiting("I live in Paris.", "I moved to Lyon.")
    found = extract(services, SCOPE)
    reconcile(services, SCOPE, found.turns, found.facts, found.claim)
    ops = {op.value["text"]: op for op in store.writes[0] if op.value and op.value["role"] == "memory"}
    assert {text: op.index for text, op in ops.items()} == {"I live in Paris.": None, "I moved to Lyon.": None}
    gone = MemoryRecord(**{**ops["I live in Paris."].value, "status": "deleted"})
    assert put(SCOPE.namespace, gone).index is False
