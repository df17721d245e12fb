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
from langmem_plus.records import MemoryRecord, Scope, archive_key
from langmem_plus.remember import retain as retaining
from langmem_plus.remember.retain import aretain, has_expired, is_old, retain, retain_node
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
    """Their time was limited when they were stored; facts that are known from them stay."""
    past = START - dt.timedelta(minutes=1)
    put(store, "turn", "I live in Lyon.", 2, role="user", extracted=False, expires_at=past)
    put(store, "pinned", "I sing.", 2, role="user", expires_at=past, pinned=True)
    put(store, "fact", "I live in Lyon.", 2, source_ids=["turn"])
    report = retain(make(store, clock, retention_days=None, turn_ttl_days=1), SCOPE)
    assert report.counts == {"retired": 1}
    assert ids(store) - {"pinned"} == {"fact"}  # a store may hide what has expired
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
    old = is_old(record, MemoryConfig(retention_days=days), START)
    if old or has_expired(record, START):
        assert not (record.pinned or record.manually_saved)
        assert record.role != "document"
        assert record.role not in ("summary", "archive") or record.status != "active"
    if old:
        assert days is not None
        assert record.created_at <= START - dt.timedelta(days=days)
        assert record.extracted is not False or record.status != "active"
