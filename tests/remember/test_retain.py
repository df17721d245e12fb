"""What is old is archived and erased: in batches, by a clock, and never what is kept by a wish."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import Archived
from langmem_plus.records import FORGOTTEN, REVIEW, MemoryRecord, Scope, archive_key
from langmem_plus.remember import retain as retaining
from langmem_plus.remember.archive import archive
from langmem_plus.remember.retain import Pending, aretain, has_expired, is_old, retain, retain_node
from langmem_plus.remember.review import REJECTED, WAITS
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import ScriptedChatModel

START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
SCOPE = Scope("ann", thread_id="now")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> dt.datetime:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture(params=["memory", "markdown"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store that erases for good, and one that only deletes."""
    if request.param == "memory":
        yield InMemoryStore()
    else:
        with MarkdownStore(tmp_path, index=None) as ours:
            yield ours


def make(store: BaseStore, clock: Clock, **fields: Any) -> Services:
    """Services with a retention of a week."""
    config = MemoryConfig(embeddings="none", **{"retention_days": 7, **fields})
    return Services(config=config, store=store, clock=clock)


def put(store: BaseStore, id: str, text: str, days: float = 30, **fields: Any) -> MemoryRecord:
    """A record that was written so many days ago."""
    time = START - dt.timedelta(days=days)
    known = {"user_id": "ann", "thread_id": "old", "created_at": time, "updated_at": time, "observed_at": time}
    record = MemoryRecord(id=id, text=text, **{**known, **fields})
    store.put(SCOPE.namespace, id, record.to_value())
    return record


def ids(store: BaseStore) -> set[str]:
    """The keys that are left."""
    return {item.key for item in store.search(SCOPE.namespace, limit=1000)}


def archived(store: BaseStore, thread_id: str | None) -> str:
    """What an archive tells."""
    item = store.get(SCOPE.namespace, archive_key(SCOPE.model_copy(update={"thread_id": thread_id})))
    return item.value["text"] if item else ""


def test_what_is_old_is_archived_and_erased(store: BaseStore, clock: Clock) -> None:
    """Facts and turns of a conversation into its archive, others into the space's; what is young, pinned or kept by a
    wish stays, and so do summaries and what waits for extraction.
    """
    put(store, "turn", "I live in Lyon.", role="user", extracted=True)
    put(store, "reply", "Nice city.", role="assistant", extracted=True)
    put(store, "fact", "I live in Lyon.")
    put(store, "loose", "The user likes green tea.", thread_id=None)
    put(store, "young", "The user has a cat.", days=2)
    put(store, "again", "The user sings.", updated_at=START - dt.timedelta(days=1))
    put(store, "pinned", "The user is called Ann.", pinned=True)
    put(store, "saved", "The user is allergic to nuts.", manually_saved=True)
    put(store, "waiting", "I moved.", role="user", extracted=False)
    put(store, "summary", "- Lyon", role="summary")
    report = retain(make(store, clock), SCOPE)
    kept = {"young", "again", "pinned", "saved", "waiting", "summary"}
    assert report.counts == {"retired": 4}
    assert kept <= ids(store)
    assert not ids(store) & {"turn", "reply", "fact", "loose"}
    assert "I live in Lyon." in archived(store, "old")
    assert "green tea" in archived(store, None)
    assert all(store.get(SCOPE.namespace, id) is None for id in ("turn", "fact"))


def test_expired_turns_go_without_an_archive(store: BaseStore, clock: Clock) -> None:
    """Their time was limited when they were stored; facts that are known from them stay, and so does what is pinned or
    still waits for its facts to be drawn.
    """
    past = START - dt.timedelta(minutes=1)
    put(store, "turn", "I live in Lyon.", 2, role="user", extracted=True, expires_at=past)
    put(store, "unread", "I dance.", 2, role="user", extracted=False, expires_at=past)
    put(store, "pinned", "I sing.", 2, role="user", extracted=True, expires_at=past, pinned=True)
    put(store, "fact", "I live in Lyon.", 2, source_ids=["turn"])
    report = retain(make(store, clock, retention_days=None, turn_ttl_days=1), SCOPE)
    assert report.counts == {"retired": 1}
    assert ids(store) == {"fact", "unread", "pinned"}
    assert retain(make(store, clock, retention_days=None, turn_ttl_days=1), SCOPE).counts == {"retired": 0}


def test_tombstones_go_once_nobody_can_bring_them_back(store: BaseStore, clock: Clock) -> None:
    """And what was deleted isn't archived."""
    gone = {"status": "deleted", "metadata": {"reason": "x"}}
    put(store, "gone", "My pin is 1234.", **gone)
    put(store, "lately", "My safe word is x.", **gone, updated_at=START - dt.timedelta(hours=1))
    put(store, "replaced", "I live in Paris.", status="superseded", replaced_by="x")
    assert retain(make(store, clock), SCOPE).counts == {"retired": 2}
    assert "1234" not in archived(store, "old")
    assert "lately" in ids(store) or store.get(SCOPE.namespace, "lately") is not None


async def test_a_run_is_bounded_and_the_next_goes_on(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first; once nothing is left, an hour passes before the namespace is looked through again."""
    monkeypatch.setattr(retaining, "_BATCH", 2)
    store = InMemoryStore()
    services = make(store, clock)
    for number in range(5):
        put(store, f"f{number}", f"The user likes number {number}.", days=30 - number)
    assert (await aretain(services, SCOPE)).counts == {"retired": 2, "retain_left": 3}
    assert {"f2", "f3", "f4"} <= ids(store)
    assert retain(services, SCOPE).counts == {"retired": 2, "retain_left": 1}
    assert retain(services, SCOPE).counts == {"retired": 1}
    put(store, "late", "The user likes boats.")
    assert retain(services, SCOPE).counts == {}
    clock.now += dt.timedelta(hours=2)
    assert (await retain_node(services).ainvoke({}, {"configurable": {"user_id": "ann"}}))["memory_report"][
        "counts"
    ] == {"retired": 1}
    assert "number 0" in archived(store, "old")


def test_where_the_archive_cannot_be_written_nothing_is_erased(clock: Clock) -> None:
    """The others go, with a warning about what stays."""

    class Closed(InMemoryStore):
        def batch(self, ops: Any) -> Any:
            if any(getattr(op, "value", None) and op.value["role"] == "archive" for op in ops):
                raise OSError("disk full")
            return super().batch(ops)

    store = Closed()
    put(store, "fact", "I live in Lyon.")
    put(store, "gone", "x", status="deleted")
    report = retain(make(store, clock), SCOPE)
    assert report.counts == {"retired": 1, "retain_left": 1}
    assert ids(store) == {"fact"}
    assert "disk full" in report.warnings[0]
    with pytest.raises(OSError, match="disk full"):
        retain(Services(config=make(store, clock).config.replace(strict=True), store=store, clock=clock), SCOPE)


def test_what_is_pinned_or_edited_while_it_is_archived_stays(clock: Clock) -> None:
    """It is looked at again when it goes."""
    store = InMemoryStore()
    first, second = put(store, "a", "I live in Lyon."), put(store, "b", "I like tea.")

    def meanwhile(messages: Any) -> Any:
        store.put(SCOPE.namespace, "a", first.model_copy(update={"pinned": True}).to_value())
        store.put(SCOPE.namespace, "b", second.model_copy(update={"text": "I like coffee."}).to_value())
        raise RuntimeError("down")

    services = make(store, clock)
    asked = Services(config=services.config, store=store, clock=clock, model=ScriptedChatModel([meanwhile]))
    assert retain(asked, SCOPE).counts["retired"] == 0
    assert {"a", "b"} <= ids(store)


def test_doing_it_twice_tells_it_once(clock: Clock) -> None:
    """A crash after the archive was written and before anything went."""
    store = InMemoryStore()
    fact = put(store, "fact", "I live in Lyon.")
    retain(make(store, clock), SCOPE)
    before = archived(store, "old")
    store.put(SCOPE.namespace, "fact", fact.to_value())
    retain(make(store, clock), SCOPE)
    assert archived(store, "old") == before
    assert "fact" not in ids(store)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        MemoryRecord,
        id=st.just("x"),
        text=st.just("x"),
        user_id=st.just("u"),
        role=st.sampled_from(["memory", "user", "assistant", "summary", "archive", "document"]),
        status=st.sampled_from(["active", "pending", "superseded", "deleted"]),
        pinned=st.booleans(),
        manually_saved=st.booleans(),
        extracted=st.sampled_from([None, True, False]),
        created_at=st.datetimes(dt.datetime(2026, 4, 1), dt.datetime(2026, 5, 1), timezones=st.just(dt.UTC)),
        expires_at=st.none() | st.just(START),
    ),
    st.sampled_from([None, 1.0, 7.0]),
)
def test_what_is_kept_by_a_wish_never_goes(record: MemoryRecord, days: float | None) -> None:
    """Nor documents, nor summaries and archives in force, nor, without expiry, what is younger or waits."""
    record = record.model_copy(update={"updated_at": record.created_at})
    old = is_old(record, MemoryConfig(retention_days=days), START, Pending())
    if old or has_expired(record, START):
        assert not (record.pinned or record.manually_saved)
        assert record.role != "document"
        assert record.role not in ("summary", "archive") or record.status != "active"
    if old:
        assert days is not None
        assert record.created_at <= START - dt.timedelta(days=days)
        assert record.extracted is not False or record.status != "active"


def test_no_fact_goes_that_no_line_tells(store: BaseStore, clock: Clock) -> None:
    """However many there are, in however many conversations, also beside a person's line; what waits isn't told."""
    facts = [put(store, f"f{n}", f"My tree {n} is called Ñ{n}.", thread_id=f"t{n % 3}") for n in range(60)]
    key = archive_key(SCOPE.model_copy(update={"thread_id": "t0"}))
    put(store, key, "Bring the key.", role="archive", thread_id="t0")
    assert retain(make(store, clock), SCOPE).counts == {"retired": 60}
    assert all(fact.text in archived(store, fact.thread_id).splitlines() for fact in facts)
    assert "Bring the key." in archived(store, "t0").splitlines()


@pytest.mark.parametrize(
    "text", ["Room 4711. Code 99.", "Anna, Bergen.", "`make all`", "Мы купили дом. Ключ под ковром."]
)
def test_no_turn_goes_without_a_line_of_its_own(clock: Clock, text: str) -> None:
    """Also one that is worth no archive otherwise; small talk goes as it is."""
    store = InMemoryStore()
    put(store, "turn", text, role="user")
    put(store, "thanks", "Thanks a lot!", role="user", thread_id="other")
    assert retain(make(store, clock), SCOPE).counts == {"retired": 2}
    found = archived(store, "old")
    assert all(word in found for word in text.replace("`", " ").replace(".", " ").replace(",", " ").split())
    assert not archived(store, "other")


def test_what_a_model_doesnt_tell_stands_behind_its_answer(clock: Clock) -> None:
    """Facts word for word, and what stood there, a person's line, too."""
    store = InMemoryStore()
    put(store, "fact", "I am allergic to penicillin.")
    put(store, archive_key(SCOPE.model_copy(update={"thread_id": "old"})), "Call Bob back.", role="archive")
    services, answer = make(store, clock), Archived(summary="They had a chat.")
    asked = Services(config=services.config, store=store, clock=clock, model=ScriptedChatModel(then=answer))
    assert retain(asked, SCOPE).counts == {"retired": 1}
    told = {"They had a chat.", "Call Bob back.", "I am allergic to penicillin."}
    assert set(archived(store, "old").splitlines()) == told
    put(store, "later", "I sing.")
    clock.now += dt.timedelta(hours=2)
    assert retain(asked, SCOPE).counts == {"retired": 1}
    assert told | {"I sing."} == set(archived(store, "old").splitlines())


@pytest.mark.parametrize("how", ["edited", "forgotten"])
def test_an_archive_that_loses_the_line_keeps_the_fact(clock: Clock, how: str) -> None:
    """Between its writing and the erasure, or before: what no archive tells stays, is counted, and warned about."""

    class Edited(InMemoryStore):
        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            for op in ops:
                if how == "edited" and getattr(op, "value", None) and op.value["role"] == "archive":
                    op.value["text"] = "Nothing of it."
            return super().batch(ops)

    store = Edited()
    put(store, "fact", "I live in Lyon.")
    if how == "forgotten":
        key = archive_key(SCOPE.model_copy(update={"thread_id": "old"}))
        put(store, key, "I live in Lyon.", role="archive", status="deleted", source_ids=["fact"])
    report = retain(make(store, clock), SCOPE)
    assert report.counts == {"retired": 0, "retain_left": 1}
    assert report.warnings == ["1 old records stay, because no archive tells them"]
    assert "fact" in ids(store)


def test_what_waits_for_its_owner_stays(store: BaseStore, clock: Clock) -> None:
    """The fact, what it would replace, and the turn that it was drawn from; what was turned down goes untold."""
    put(store, "target", "I live in Paris.")
    put(store, "waits", "I live in Lyon.", status="pending", metadata={REVIEW: {"targets": {"target": "x"}}})
    put(store, "turn", "I live in Lyon. I sing.", role="user", metadata={REVIEW: {"waits": WAITS}})
    put(store, "no", "My pin is 1234.", role="user", metadata={REVIEW: {"x": REJECTED}})
    assert retain(make(store, clock), SCOPE).counts == {"retired": 1}
    assert {"target", "waits", "turn"} <= ids(store)
    assert not archived(store, "old")


def test_a_turn_waits_as_long_as_a_fact_of_it_does(clock: Clock) -> None:
    """Not where its fact was forgotten, erased or answered meanwhile, whatever the turn notes; one that waits is
    enough, and neither what it would retire goes, nor what stands in the place of that.
    """
    store = InMemoryStore()
    one, other = {REVIEW: {"targets": {"paris": "x"}}}, {"waits": REJECTED, "gone": REJECTED}
    put(store, "paris", "I live in Paris.", status="superseded", replaced_by="bonn")
    put(store, "bonn", "I live in Bonn.")
    put(store, "waits", "I live in Lyon.", status="pending", metadata=one)
    put(store, "both", "I live in Lyon. My pin is 1234.", role="user", extracted=True, metadata={REVIEW: other})
    put(store, "left", "My pin is 1234.", role="user", extracted=True, metadata={REVIEW: {"gone": WAITS}})
    put(store, "spoilt", "I sing.", role="user", extracted=True, metadata={REVIEW: 7})
    assert retain(make(store, clock), SCOPE).counts == {"retired": 1}
    assert ids(store) == {"paris", "bonn", "waits", "both", "spoilt"}


def test_what_would_be_retired_by_now_stays(store: BaseStore, clock: Clock) -> None:
    """Something that waits comes while the archive is made."""
    put(store, "target", "I live in Paris.")

    def meanwhile(messages: Any) -> Any:
        put(store, "waits", "I live in Lyon.", 0, status="pending", metadata={REVIEW: {"targets": {"target": "x"}}})
        return Archived(summary="I live in Paris.")

    services = make(store, clock)
    asked = Services(config=services.config, store=store, clock=clock, model=ScriptedChatModel([meanwhile]))
    assert retain(asked, SCOPE).counts["retired"] == 0
    assert {"target", "waits"} <= ids(store)


def test_a_replaced_fact_is_told_before_it_goes(store: BaseStore, clock: Clock) -> None:
    """Counted from when it was replaced; what was forgotten, by itself, in its place or in its turn, isn't told."""
    day = START - dt.timedelta(days=8)
    put(store, "paris", "I live in Paris.", 300, status="superseded", replaced_by="lyon", updated_at=day)
    put(store, "lately", "I live in Bonn.", 300, status="superseded", replaced_by="lyon", updated_at=START)
    put(store, "lyon", "I live in Lyon.", 1)
    put(store, "pin", "My pin is 1234.", status="superseded", replaced_by="new pin")
    put(store, "new pin", "My pin is 5678.", status="deleted")
    put(store, "word", "My safe word is tulip.", status="superseded", replaced_by="lyon", source_ids=["hidden"])
    put(store, "hidden", "My safe word is tulip.", role="user", metadata={FORGOTTEN: True})
    assert retain(make(store, clock), SCOPE).counts == {"retired": 5}
    assert archived(store, "old") == "I live in Paris (until 2026-04-23)"
    assert store.get(SCOPE.namespace, "lately") is not None
    assert "lyon" in ids(store)


def test_a_forgotten_archive_keeps_out_what_it_had_read(store: BaseStore, clock: Clock) -> None:
    """As long as any of it is there; then it goes."""
    key = archive_key(SCOPE.model_copy(update={"thread_id": "old"}))
    put(store, key, "We sold the boat.", role="archive", status="deleted", source_ids=["turn", "fact"])
    put(store, "turn", "We sold the boat.", 3, role="user", extracted=True)
    services = make(store, clock)
    assert retain(services, SCOPE).counts == {"retired": 0}
    assert archive(services, SCOPE.model_copy(update={"thread_id": "old"})).record is None
    store.delete(SCOPE.namespace, "turn")
    clock.now += dt.timedelta(hours=2)
    assert retain(services, SCOPE).counts == {"retired": 1}
    assert store.get(SCOPE.namespace, key) is None


def test_a_clock_that_was_ahead_stops_nothing(clock: Clock) -> None:
    """The hour's pause counts from the past alone."""
    store = InMemoryStore()
    services = make(store, clock)
    clock.now += dt.timedelta(days=3650)
    retain(services, SCOPE)
    clock.now = START
    put(store, "fact", "I live in Lyon.")
    assert retain(services, SCOPE).counts == {"retired": 1}


def test_the_global_space_is_looked_through_too(store: BaseStore, clock: Clock) -> None:
    """Whichever space somebody talks in; its facts are told by archives of its own."""
    own = SCOPE.model_copy(update={"space": "global"})
    time = START - dt.timedelta(days=30)
    known = {"user_id": "ann", "space": "global", "thread_id": "old", "created_at": time, "updated_at": time}
    store.put(own.namespace, "fact", MemoryRecord(id="fact", text="I live in Lyon.", **known).to_value())
    put(store, "here", "I sing.")
    assert retain(make(store, clock), SCOPE).counts == {"retired": 2}
    assert store.get(own.namespace, "fact") is None
    (item,) = store.search(own.namespace, filter={"role": "archive"})
    assert item.value["text"].splitlines()[0] == "I live in Lyon."
    assert archived(store, "old") == "I sing."
