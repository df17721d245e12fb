"""Records out of a store's answers."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from langgraph.store.base import GetOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.client.stored import begins_with, chosen, everything, exact, gets, listing
from langmem_plus.errors import ConfigError, InvalidValueError, NotFoundError
from langmem_plus.records import MemoryRecord, Scope

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ANN = Scope("ann")


def filled(*records: MemoryRecord) -> InMemoryStore:
    """A store that holds these records."""
    store = InMemoryStore()
    for record in records:
        store.put(Scope(record.user_id, record.space).namespace, record.id, record.to_value())
    return store


def record(id: str, **fields: Any) -> MemoryRecord:
    """A record of Ann's."""
    return MemoryRecord(**{"id": id, "text": id, "user_id": "ann", "created_at": NOW, **fields})


@pytest.mark.parametrize("thread", ["7", 7, uuid.UUID(int=7)])
def test_a_thread_is_told_by_the_text_of_its_id(thread: Any) -> None:
    """Numbers and UUIDs, which are stored as their text, are found by themselves."""
    (op,) = listing(ANN, thread, "user")
    assert isinstance(op, SearchOp)
    assert op.filter == {"thread_id": str(thread), "role": "user"}


@pytest.mark.parametrize("thread", [["t"], {"t": 1}, True, 1.5, b"t"])
def test_what_is_no_thread_is_refused(thread: Any) -> None:
    """The error names the value and what would be right."""
    with pytest.raises(ConfigError, match=r"thread_id is .*: give a text, a number or a UUID"):
        listing(ANN, thread, None)


@pytest.mark.parametrize("role", ["facts", "", ["user"], 5])
def test_an_unknown_role_is_refused(role: Any) -> None:
    """The error names it, and the roles that there are."""
    with pytest.raises(InvalidValueError, match="choose from memory, user, assistant"):
        listing(ANN, None, role)


@pytest.mark.parametrize("limit", [-1, "5", 1.5, True])
def test_a_limit_is_a_number_of_records(limit: Any) -> None:
    """Nothing else is taken for one."""
    with pytest.raises(InvalidValueError, match="limit="):
        chosen([], ANN, NOW, limit)


def test_active_records_newest_first() -> None:
    """What is retired or expired is left out, but for a pinned turn; what was said last stands first, in a thread by
    its place.
    """
    day = dt.timedelta(days=1)
    store = filled(
        record("old", observed_at=NOW - 2 * day),
        record("gone", status="superseded"),
        record("expired", expires_at=NOW),
        record("kept", role="user", pinned=True, expires_at=NOW, observed_at=NOW - 3 * day),
        record("fresh", expires_at=NOW + day, observed_at=NOW - day),
        record("second", metadata={"turn": 1, "position": 1}),
        record("first", metadata={"turn": 1, "position": 0}),
        record("elsewhere", space="work"),
    )
    found = store.batch(listing(ANN, None, None))
    assert [each.id for each in chosen(found, ANN, NOW, None)] == ["second", "first", "fresh", "old", "kept"]
    assert [each.id for each in chosen(found, ANN, NOW, 2)] == ["second", "first"]
    assert chosen(found, ANN, NOW, 0) == []


def test_an_id_is_looked_for_in_the_space_first_then_in_global() -> None:
    """The same id in both is the space's."""
    store = filled(record("a", text="global", space="global"), record("a", text="own"), record("b", space="global"))
    ops = gets(ANN, "a")
    assert all(isinstance(op, GetOp) for op in ops)
    found = exact(store.batch(ops), ANN)
    assert found is not None
    assert found.text == "own"
    shared = exact(store.batch(gets(ANN, "b")), ANN)
    assert shared is not None
    assert exact(store.batch(gets(ANN, "c")), ANN) is None


@pytest.mark.parametrize("id", [5, None, ["a"]])
def test_an_id_is_a_text(id: Any) -> None:
    """Anything else is refused before a store is asked."""
    with pytest.raises(InvalidValueError, match="is no text"):
        gets(ANN, id)


def test_the_beginning_of_an_id() -> None:
    """It has to be one record's alone; the error is short, however long the id is."""
    found = filled(record("abc"), record("abd"), record("xyz", user_id="bob")).batch(everything(ANN))
    assert begins_with(found, ANN, "abd").id == "abd"
    with pytest.raises(NotFoundError, match=r"2 records begin with 'ab'.*'ann'"):
        begins_with(found, ANN, "ab")
    for id in ("xyz", "", "z" * 10_000):
        with pytest.raises(NotFoundError, match="there is no record") as caught:
            begins_with(found, ANN, id)
        assert len(str(caught.value)) < 300
