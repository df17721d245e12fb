"""The archive of a conversation: one record a thread, merged, replay-safe, by rules at once and by a model later."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.controls import clear_steps, forget_steps
from langmem_plus.errors import ConfigError, ConflictError
from langmem_plus.prompts import Archived
from langmem_plus.records import FORGOTTEN, REVIEW, MemoryRecord, Scope, archive_key, summary_key
from langmem_plus.remember.archive import Archiving, aarchive, archive, archive_node, archive_steps
from langmem_plus.remember.extract import extract
from langmem_plus.remember.gist import UNREAD
from langmem_plus.remember.retain import retain
from langmem_plus.remember.review import WAITS
from langmem_plus.remember.steps import Exchange, run_steps
from langmem_plus.remember.summarize import Work, summarize
from langmem_plus.remember.tombstones import COMPRESSED
from langmem_plus.remember.undelete import restore_steps
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.text import fingerprint

NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
SCOPE = Scope("ann", thread_id="t")
RUN: Any = {"configurable": {"user_id": "ann", "thread_id": "t"}}
KYOTO = ("I'm planning a trip to Kyoto.", "When?", "Let's go with May.", "Shall I look for trains?")
ANSWER = Archived(summary="The user plans a trip to Kyoto in May.", topics=["travel"], entities=["Kyoto", "Oslo"])


def make(model: ScriptedChatModel | None = None, store: BaseStore | None = None, **settings: Any) -> Services:
    """Services over a store in memory, at a fixed time."""
    config = MemoryConfig(embeddings="none", archive_conversations=True, **settings)
    return Services(config=config, store=store or InMemoryStore(), model=model, clock=lambda: NOW)


def put(services: Services, *lines: str, start: int = 0, **fields: Any) -> list[MemoryRecord]:
    """Stored turns of the thread, a minute apart."""
    found = []
    for place, line in enumerate(lines, start):
        said = NOW - dt.timedelta(hours=5) + dt.timedelta(minutes=place)
        role = "assistant" if place % 2 else "user"
        known = {"thread_id": "t", "extracted": True, "created_at": said, "updated_at": said, "observed_at": said}
        record = MemoryRecord(id=f"turn {place}", role=role, text=line, user_id="ann", **{**known, **fields})
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
        found.append(record)
    return found


def read(services: Services, key: str = "") -> MemoryRecord:
    """A stored record; the thread's archive where none is named."""
    item = services.find_store().get(SCOPE.namespace, key or archive_key(SCOPE))
    assert item is not None
    return MemoryRecord.model_validate(item.value)


def test_an_archive_holds_what_the_conversation_was() -> None:
    """Text to read, and the parts in its metadata."""
    services = make()
    turns = put(services, *KYOTO)
    done = archive(services, SCOPE)
    record = read(services)
    assert (done.record, done.written, record.role, record.thread_id) == (record, True, "archive", "t")
    assert "I'm planning a trip to Kyoto." in record.text
    known = record.metadata
    assert known["decisions"] == ["Let's go with May."]
    assert known["open_questions"] == ["Shall I look for trains?"]
    assert "Kyoto" in known["entities"]
    assert known["topics"]
    assert known["message_count"] == 4
    assert known["first_said_at"] == turns[0].said_at.isoformat()
    assert known["last_said_at"] == turns[-1].said_at.isoformat()
    assert record.said_at == turns[-1].said_at
    assert set(record.source_ids) == {turn.id for turn in turns}


async def test_doing_it_again_changes_nothing() -> None:
    """Neither a replay nor the async twin doubles it; what was said since is merged under the same key."""
    services = make()
    put(services, *KYOTO)
    first = archive(services, SCOPE).record
    assert not (await aarchive(services, SCOPE)).written
    assert read(services) == first
    put(services, "I like trains.", "Good.", start=4)
    assert (await aarchive(services, SCOPE)).written
    merged = read(services)
    assert merged.metadata["message_count"] == 6
    assert {"I'm planning a trip to Kyoto.", "I like trains."} <= set(merged.text.splitlines())
    assert len(services.find_store().search(SCOPE.namespace, filter={"role": "archive"})) == 1


def test_small_talk_and_nothing_are_not_archived() -> None:
    """There is nothing to find again."""
    services = make()
    assert archive(services, SCOPE).record is None
    put(services, "hi", "hello")
    assert archive(services, SCOPE) == Archiving()


def test_a_model_makes_it() -> None:
    """It reads the turns and the facts as data; names that nobody said are dropped."""
    model = ScriptedChatModel([ANSWER])
    services = make(model)
    put(services, *KYOTO)
    fact = MemoryRecord(id="f", text="The user is vegan.", user_id="ann", thread_id="t")
    services.find_store().put(SCOPE.namespace, "f", fact.to_value())
    record = archive(services, SCOPE).record
    assert record is not None
    assert record.text.splitlines() == ["The user plans a trip to Kyoto in May.", "Topics: travel"]
    assert record.metadata["entities"] == ["Kyoto"]
    assert "The user is vegan." in model.calls[0].text
    assert UNREAD not in record.metadata


@pytest.mark.parametrize("answer", [RuntimeError("down"), "no JSON", Archived(summary="")])
def test_where_the_model_fails_rules_do_it(answer: Any) -> None:
    """Nothing is lost, and the model reads it later."""
    services = make(ScriptedChatModel(then=answer))
    put(services, *KYOTO)
    done = archive(services, SCOPE)
    assert done.record is not None
    assert done.record.metadata["decisions"] == ["Let's go with May."]
    assert done.record.metadata[UNREAD] == [f"turn {place}" for place in range(4)]
    assert archive(services, SCOPE).record == done.record


def test_wrong_settings_pass() -> None:
    """They are no outage."""
    services = make(ScriptedChatModel([ConfigError("no key")]))
    put(services, *KYOTO)
    with pytest.raises(ConfigError):
        archive(services, SCOPE)


@pytest.mark.parametrize("gone", [False, True])
async def test_what_rules_made_a_model_reads_in_the_background(gone: bool) -> None:
    """Also where compression has deleted the turns; a turn that was forgotten since isn't read."""
    model = ScriptedChatModel([ANSWER])
    services = make(model)
    turns = put(services, *KYOTO, "My pin is 1234.")
    archive(services, SCOPE, ask=False)
    assert not model.calls
    for turn in turns[:4] if gone else ():
        retired = turn.model_copy(update={"status": "deleted", "metadata": {"reason": COMPRESSED}})
        services.find_store().put(SCOPE.namespace, turn.id, retired.to_value())
    hidden = turns[4].model_copy(update={"metadata": {FORGOTTEN: True}})
    services.find_store().put(SCOPE.namespace, hidden.id, hidden.to_value())
    report = (await archive_node(services).ainvoke({}, RUN))["memory_report"]
    assert report["counts"]["archives"] == 1
    assert "Let's go with May." in model.calls[0].text
    assert "user: My pin" not in model.calls[0].text
    assert "Kyoto in May" in read(services).text
    assert archive_node(services).invoke({}, RUN)["memory_report"]["counts"]["archives"] == 0
    assert read(services).metadata["message_count"] == 5


def test_little_that_is_new_waits_for_more() -> None:
    """A long thread that is compressed at every turn costs no call at every turn."""
    model = ScriptedChatModel(then=ANSWER)
    services = make(model, summary_refresh_turns=3)
    put(services, *KYOTO)
    archive(services, SCOPE)
    for start in (4, 6, 8):
        put(services, f"I like number {start}.", "Fine.", start=start)
        archive(services, SCOPE, ask=False)
        archive_node(services).invoke({}, RUN)
        assert len(model.calls) == (2 if start == 8 else 1)


def test_an_archive_that_was_forgotten_takes_nothing_of_it_in_again() -> None:
    """Only what is said later."""
    services = make()
    old = put(services, *KYOTO)
    archive(services, SCOPE)
    run_steps(forget_steps(services, SCOPE, archive_key(SCOPE), "no"), services, services.find_store())
    assert not archive(services, SCOPE).written
    put(services, "I like trains.", "Good.", start=4)
    assert archive(services, SCOPE).written
    assert "Kyoto" not in str(read(services).to_value())
    assert read(services).metadata["message_count"] == 2
    fact = MemoryRecord(id="f", text="The user is going to Kyoto.", user_id="ann", source_ids=["turn 0"])
    steps = archive_steps(services, SCOPE, extra=[fact, *old])
    assert not run_steps(steps, services, services.find_store()).written
    assert "Kyoto" not in str(read(services).to_value())


def test_what_was_forgotten_or_has_expired_is_not_archived() -> None:
    """It is gone for the user."""
    services = make()
    put(services, "My pin is 1234.", metadata={FORGOTTEN: True})
    put(services, "x", "I live in Lyon.", "y", start=1, expires_at=NOW)
    assert archive(services, SCOPE).record is None


def test_whoever_rewrites_the_thread_meanwhile_is_read() -> None:
    """The archive is made of what stands when it is written."""
    services = make(ScriptedChatModel(then=ANSWER))
    turns = put(services, *KYOTO)
    steps = archive_steps(services, SCOPE)

    def edited(messages: Sequence[Any]) -> Any:
        record = turns[0].model_copy(update={"text": "I'm planning a trip to Nara."})
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
        return ANSWER

    done = run_steps(steps, make(ScriptedChatModel([edited]), services.find_store()), services.find_store())
    assert done.record is not None
    assert "Nara" in done.record.text
    assert "Kyoto" not in done.record.text


def test_others_who_are_faster_again_and_again_are_told() -> None:
    """Nothing is written, so whoever wanted to erase doesn't."""

    class Busy(InMemoryStore):
        def exchange(self, namespace: Any, expected: Any, ops: Any) -> bool:
            return False

        async def aexchange(self, namespace: Any, expected: Any, ops: Any) -> bool:
            return False

    services = make(store=Busy())
    put(services, *KYOTO)
    with pytest.raises(ConflictError):
        run_steps(clear_steps(services, Scope("ann"), "t"), services, services.find_store())
    assert read(services, "turn 0").status == "active"


def test_the_archive_stands_before_anything_is_cleared() -> None:
    """A crash in between leaves both; the next try clears, and the archive stays as it is."""
    services = make()
    put(services, *KYOTO)
    steps = clear_steps(services, Scope("ann"), "t")
    request = next(steps)
    while not (isinstance(request, Exchange) and any(op.value["status"] == "deleted" for op in request.ops)):
        if isinstance(request, Exchange):
            request = steps.send(None)
        else:
            request = steps.send(services.find_store().batch(request.ops))
    steps.close()
    before = read(services)
    assert read(services, "turn 0").status == "active"
    assert len(run_steps(clear_steps(services, Scope("ann"), "t"), services, services.find_store())) == 4
    assert read(services) == before


def test_a_request_to_forget_leaves_the_archives(person: Any) -> None:
    """What the user asks to forget in a conversation goes out of the archives of all."""
    ann = person(archive_conversations=True)
    ann.say("I live in Lyon. I like green tea.")
    archive(ann.services, ann.scope)
    ann.tell("Please forget that I live in Lyon.")
    found = extract(ann.services, ann.scope)
    summarize(ann.services, ann.scope, Work(found.turns, found.facts))
    (record,) = ann.records("archive")
    assert "Lyon" not in str(record.to_value())
    assert "green tea" in record.text


@pytest.mark.parametrize("change", ["restored", "approved", "imported"])
def test_what_comes_back_after_an_archive_was_made_is_unread(change: str) -> None:
    """Restored, approved and imported turns were written before what the archive has read."""
    services = make()
    (old,) = put(services, "We sold the boat Marieke.")
    hidden = {
        "restored": {"status": "deleted", "metadata": {"reason": "its owner cleared the conversation"}},
        "approved": {"metadata": {REVIEW: {"f": WAITS}}},
        "imported": None,
    }[change]
    if hidden is None:
        services.find_store().delete(SCOPE.namespace, old.id)
    else:
        services.find_store().put(SCOPE.namespace, old.id, old.model_copy(update=hidden).to_value())
    put(services, "I like trains.", start=2)
    assert archive(services, SCOPE).written
    assert "Marieke" not in read(services).text
    services.find_store().put(SCOPE.namespace, old.id, old.to_value())
    assert archive(services, SCOPE).written
    assert "Marieke" in read(services).text
    assert set(read(services).source_ids) == {"turn 0", "turn 2"}
    assert not archive(services, SCOPE).written


def test_a_clock_that_was_ahead_passes_nothing_over() -> None:
    """What is said until it catches up is read, too; and of many turns each one is known."""
    services = make(summary_source_max_turns=3)
    put(services, "I like trains.", created_at=NOW + dt.timedelta(days=2))
    put(services, *(f"I like number {place}." for place in range(10)), start=2)
    archive(services, SCOPE)
    put(services, "We sold the boat Marieke.", start=20)
    assert archive(services, SCOPE).written
    assert "Marieke" in read(services).text
    assert len(read(services).source_ids) == 12
    assert not archive(services, SCOPE).written


@pytest.mark.parametrize("model", [None, ScriptedChatModel(then=Archived(summary="A chat."))])
def test_a_persons_line_stays(model: ScriptedChatModel | None) -> None:
    """However much is said since, and whoever makes the archive anew."""
    services = make(model, summary_max_items=2)
    put(services, *KYOTO)
    record = archive(services, SCOPE).record
    assert record is not None
    edited = record.model_copy(update={"text": f"{record.text}\nBring the key.\nDecided: Pay Bob."})
    services.find_store().put(SCOPE.namespace, record.id, edited.to_value())
    for start in (4, 14):
        put(services, *(f"I like number {place}." for place in range(10)), start=start)
        assert archive(services, SCOPE).written
        assert {"Bring the key.", "Decided: Pay Bob."} <= set(read(services).text.splitlines())


DOWN = RuntimeError("down")


def put_summary(services: Services, text: str, *read: str) -> None:
    """Store the thread's rolling summary, which has read some turns."""
    known = {"role": "summary", "thread_id": "t", "covers_until": NOW, "source_ids": list(read)}
    record = MemoryRecord(id=summary_key(SCOPE), text=text, user_id="ann", **known)
    services.find_store().put(SCOPE.namespace, record.id, record.to_value())


@pytest.mark.parametrize("hidden", ["waits", "forgotten", "turned down", "deleted", "gone", "kept out"])
@pytest.mark.parametrize("ask", [True, False])
def test_rules_tell_nothing_of_a_summary_that_has_read_what_may_not_be_told(hidden: str, ask: bool) -> None:
    """Which of its words are whose can't be told, so they go by the turns."""
    services = make(ScriptedChatModel(then=DOWN))
    put(services, "I live in Lyonville.")
    if hidden == "kept out":
        put_summary(services, "- Lives in Lyonville.", "turn 0")
        assert archive(services, SCOPE, ask=ask).written
        run_steps(forget_steps(services, SCOPE, archive_key(SCOPE), "no"), services, services.find_store())
    elif hidden == "gone":
        services.find_store().delete(SCOPE.namespace, "turn 0")
    else:
        note = {
            "waits": {REVIEW: {"f": WAITS}},
            "turned down": {REVIEW: {"f": "rejected"}},
            "forgotten": {FORGOTTEN: 1},
        }
        put(
            services,
            "I live in Lyonville.",
            status="active" if hidden in note else "deleted",
            metadata=note.get(hidden, {}),
        )
    put(services, "I like green tea.", start=2)
    put_summary(services, "- Lives in Lyonville.\n- Likes green tea, always.", "turn 0", "turn 2")
    assert archive(services, SCOPE, ask=ask).written
    told = read(services).text
    assert "Lyonville" not in told
    assert "I like green tea." in told


def test_rules_tell_a_models_summary_where_all_of_it_may_be_told() -> None:
    """Also of turns that left a conversation that was compressed."""
    services = make(ScriptedChatModel(then=DOWN))
    put(services, "I live in Lyon.", status="deleted", metadata={"reason": COMPRESSED})
    put(services, "I like tea.", start=2)
    put_summary(services, "- Lives in Lyon and likes green tea.", "turn 0", "turn 2")
    assert "Lives in Lyon and likes green tea." in archive(services, SCOPE, ask=False).record.text  # type: ignore[union-attr]


def test_no_model_is_told_a_fact_that_a_forgotten_archive_had_read() -> None:
    """Nor one that was drawn from what it had read."""
    model = ScriptedChatModel(then=Archived(summary="The user likes trains."))
    services = make(model)
    put(services, "My gate code is 4711.")
    fact = MemoryRecord(id="f", text="The gate code is 4711.", user_id="ann", thread_id="t", source_ids=["turn 0"])
    services.find_store().put(SCOPE.namespace, fact.id, fact.to_value())
    archive(services, SCOPE)
    assert "4711" in model.calls[-1].text
    run_steps(forget_steps(services, SCOPE, archive_key(SCOPE), "no"), services, services.find_store())
    put(services, "I like trains.", start=2)
    assert archive(services, SCOPE).written
    assert "4711" not in model.calls[-1].text


@pytest.mark.parametrize("gone", ["fact", "summary"])
def test_what_is_forgotten_while_a_model_thinks_is_not_told(gone: str) -> None:
    """Facts and the summary are what an archive is made of, too."""
    services = make(ScriptedChatModel([lambda _: forget(), lambda _: forget()]))
    put(services, "I like green tea.")
    put_summary(services, "- The gate code is 4711.", "turn 0")
    fact = MemoryRecord(id="f", text="The gate code is 4711.", user_id="ann", thread_id="t", source_ids=["gone"])
    services.find_store().put(SCOPE.namespace, fact.id, fact.to_value())

    def forget() -> Archived:
        store = services.find_store()
        store.put(SCOPE.namespace, "f", fact.model_copy(update={"status": "deleted"}).to_value())
        put_summary(services, "- Likes green tea.", "turn 0")
        if gone == "summary":
            raise DOWN
        return Archived(summary="The gate code is 4711.")

    assert archive(services, SCOPE).written
    assert "4711" not in str(read(services).to_value())


@pytest.mark.parametrize("ask", [True, False])
def test_rules_tell_what_a_models_summary_hasnt_read(ask: bool) -> None:
    """Also what was written before that: restored, imported, or said where the clock is behind."""
    services = make(ScriptedChatModel(then=DOWN))
    put(services, "The gate was painted green by Otto.")
    put(services, "I like tea.", start=2)
    put_summary(services, "- Likes green tea.", "turn 2")
    assert archive(services, SCOPE, ask=ask).written
    assert {"Likes green tea.", "The gate was painted green by Otto."} <= set(read(services).text.splitlines())


@pytest.mark.parametrize("restored", [True, False])
def test_what_waits_when_a_conversation_is_cleared_is_archived_once_it_is_approved(restored: bool) -> None:
    """And what was rejected, or cleared while no archive was wanted, never."""
    services = make()
    notes = [{REVIEW: {"f": WAITS}}, {REVIEW: {"f": "rejected"}}, {FORGOTTEN: True}]
    turns = [put(services, f"We sold the boat {n}.", start=2 * n, metadata=note)[0] for n, note in enumerate(notes)]
    run_steps(clear_steps(services, Scope("ann"), "t"), services, services.find_store())
    assert not archive(services, SCOPE).written
    if restored:
        run_steps(restore_steps(services, Scope("ann"), "t"), services, services.find_store())
    gone = read(services, turns[0].id)
    approved = gone.model_copy(
        update={"metadata": {name: each for name, each in gone.metadata.items() if name != REVIEW}}
    )
    services.find_store().put(SCOPE.namespace, gone.id, approved.to_value())
    if restored:
        config = services.config.model_copy(update={"archive_conversations": False})
        unwanted = Services(config=config, store=services.find_store(), clock=services.clock)
        run_steps(clear_steps(unwanted, Scope("ann"), "t"), unwanted, unwanted.find_store())
        assert not archive(services, SCOPE).written
        return
    assert archive(services, SCOPE).written
    assert read(services).metadata["decisions"] == []
    assert read(services).source_ids == [turns[0].id]
    assert not archive(services, SCOPE).written


@pytest.mark.parametrize("way", ["retention", "archive"])
def test_what_was_approved_by_hand_replaces_something_before_it_is_told(way: str) -> None:
    """With ``status: active`` in the pending record's file, and nobody came across it since."""
    services = make(retention_days=1)
    known = {"user_id": "ann", "thread_id": "t", "created_at": NOW - dt.timedelta(days=9)}
    old = MemoryRecord(id="old", text="I live in Paris.", updated_at=NOW - dt.timedelta(days=9), **known)
    note = {"event": "UPDATE", "targets": {"old": fingerprint(old.text)}, "reason": "moved", "by": "rule"}
    new = MemoryRecord(id="new", text="I live in Lyon now.", updated_at=NOW, metadata={REVIEW: note}, **known)
    for record in (old, new):
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    put(services, "I like tea.")
    if way == "archive":
        archive(services, SCOPE)
        assert [read(services, id).status for id in ("old", "new")] == ["superseded", "active"]
        assert REVIEW not in read(services, "new").metadata
        return
    retain(services, SCOPE)
    services.looked_through.clear()
    later = dataclasses.replace(services, clock=lambda: NOW + dt.timedelta(days=2))
    retain(later, SCOPE)
    assert "I live in Paris (until 2026-05-01)" in read(services).text.splitlines()
    assert "I live in Lyon now." in read(services).text.splitlines()


@pytest.mark.parametrize("way", ["at once", "archived before", "by a model", "with what replaced it"])
@pytest.mark.parametrize("again", [True, False])
def test_a_turn_that_says_what_was_replaced_is_told_with_the_day(way: str, again: bool) -> None:
    """Though the turn alone is to go; not where the same holds again."""
    services = make(ScriptedChatModel(then=Archived(summary="I live in Paris.\nTea.")) if way == "by a model" else None)
    (turn, *_) = put(services, "I live in Paris.", "Fine.", "I like tea.")
    if way == "archived before":
        archive(services, SCOPE)
    if way == "with what replaced it":
        put(services, "I live in Lyon now.", start=4)
    known = {"user_id": "ann", "thread_id": "t", "updated_at": NOW, "source_ids": [turn.id]}
    fact = MemoryRecord(id="f", text="I live in Paris.", status="superseded", replaced_by="g", **known)
    newer = MemoryRecord(id="g", text="I live in Paris." if again else "I live in Lyon.", user_id="ann")
    for record in (fact, newer):
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    steps = archive_steps(services, SCOPE, extra=[turn])
    assert run_steps(steps, services, services.find_store()).written
    told = read(services).text.splitlines()
    assert ("I live in Paris (until 2026-05-01)" in told) is not again
    assert ("I live in Paris." in told) is again
