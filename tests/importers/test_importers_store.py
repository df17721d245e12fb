"""What becomes of another system's memories: stored, known, brought up to date, repeated, left alone."""

from __future__ import annotations

import datetime as dt
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.graph import make_services
from langmem_plus.importers import ImportReport, store_steps
from langmem_plus.importers import store as storing
from langmem_plus.importers.foreign import IMPORTED, OTHERS, Foreign
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.steps import run_steps

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
LONG_AGO = dt.datetime(2024, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
ANN = ("memories", "ann", "default")
COUNTED = ("stored", "updated", "known", "repeated", "retired")


def memory(id: str, text: str, **fields: Any) -> Foreign:
    """A memory of langmem's, of Ann's."""
    given: dict[str, Any] = {"system": "langmem", "parts": (id,), "place": f"at {id}", "user_id": "ann", **fields}
    return Foreign(id=id, text=text, **{"space": "default", **given})


def load(store: InMemoryStore, *found: Foreign, dry_run: bool = False, **settings: Any) -> ImportReport:
    """Import some memories."""
    services = make_services(store=store, config=MemoryConfig(embeddings="none", **settings), clock=lambda: NOW)
    report = ImportReport(read=len(found))
    return run_steps(store_steps(services, found, report, dry_run=dry_run), services, store)


def facts(store: InMemoryStore) -> dict[str, MemoryRecord]:
    """Ann's active facts, by their texts."""
    items = store.search(ANN, filter={"status": "active"}, limit=10_000)
    records = [MemoryRecord.model_validate(item.value) for item in items]
    assert len({record.text for record in records}) == len(records)
    return {record.text: record for record in records}


def counts(report: ImportReport) -> dict[str, int]:
    """The counts of a report that aren't 0."""
    found = {name: getattr(report, name) for name in COUNTED}
    assert report.read == sum(found.values()) + len(report.skipped)
    return {name: number for name, number in found.items() if number}


def test_a_memory_becomes_a_fact_with_its_own_times() -> None:
    """Its id in the source, its thread, agent and tags are kept; what it says has a fingerprint like every fact."""
    store = InMemoryStore()
    one = memory("k", "likes tea", thread_id="t", agent_id="a", tags=("food",), created_at=LONG_AGO, updated_at=NOW)
    assert counts(load(store, one)) == {"stored": 1}
    record = facts(store)["likes tea"]
    assert (record.role, record.status, record.source_ids, record.tags) == ("memory", "active", ["k"], ["food"])
    assert (record.thread_id, record.agent_id) == ("t", "a")
    assert (record.created_at, record.updated_at, record.said_at) == (LONG_AGO, NOW, LONG_AGO)
    assert record.simhash is not None


def test_without_times_it_is_of_now_and_names_become_tags() -> None:
    """Nobody knows when it was said; names are found as in a fact that was said here."""
    store = InMemoryStore()
    load(store, memory("k", "my wife is Anne"))
    record = facts(store)["my wife is Anne"]
    assert (record.created_at, record.observed_at, record.tags) == (NOW, None, ["Anne"])


def test_the_same_import_twice_adds_nothing() -> None:
    """Nor does one whose times alone differ: it says the same."""
    store = InMemoryStore()
    load(store, memory("a", "likes tea"), memory("b", "has a cat"))
    before = facts(store)
    assert counts(load(store, memory("a", "likes tea", updated_at=NOW), memory("b", "has a cat"))) == {"known": 2}
    assert facts(store) == before


def test_a_dry_run_counts_the_same_and_writes_nothing() -> None:
    """So that a person sees what would happen."""
    store = InMemoryStore()
    report = load(store, memory("a", "likes tea"), memory("b", "likes  tea"), dry_run=True)
    assert counts(report) == {"stored": 1, "repeated": 1}
    assert report.dry_run
    assert store.search(()) == []


def test_what_changed_in_the_source_is_brought_up_to_date() -> None:
    """In its place; a pin, repeats and the time when it was first said stay."""
    store = InMemoryStore()
    load(store, memory("a", "lives in Lyon", created_at=LONG_AGO, metadata={"kind": "Memory", "old": 1}))
    old = facts(store)["lives in Lyon"]
    kept = old.model_copy(update={"pinned": True, "repeat_count": 2, "importance": 0.5})
    store.put(ANN, old.id, kept.to_value())
    assert counts(load(store, memory("a", "lives in Nice", updated_at=NOW, metadata={"kind": "Memory"}))) == {
        "updated": 1
    }
    (record,) = facts(store).values()
    assert (record.id, record.text, record.created_at, record.updated_at) == (old.id, "lives in Nice", LONG_AGO, NOW)
    assert (record.pinned, record.repeat_count, record.importance) == (True, 2, 0.5)
    assert record.simhash != old.simhash
    assert "old" not in record.metadata


@pytest.mark.parametrize("status", ["deleted", "superseded"])
def test_what_was_forgotten_or_replaced_here_stays_so(status: str) -> None:
    """However often it is imported, and whatever the source says by then."""
    store = InMemoryStore()
    load(store, memory("a", "lives in Lyon"))
    (record,) = facts(store).values()
    store.put(ANN, record.id, record.model_copy(update={"status": status}).to_value())
    assert counts(load(store, memory("a", "lives in Lyon"))) == {"retired": 1}
    assert counts(load(store, memory("a", "lives in Lyons"))) == {"retired": 1}
    assert facts(store) == {}


def test_the_same_words_are_one_fact() -> None:
    """The known fact gains the source, the tags and the metadata; the rest is kept in a tombstone."""
    store = InMemoryStore()
    said = MemoryRecord(id="said", text="Likes green tea", user_id="ann", tags=["tea"], source_ids=["turn"])
    store.put(ANN, "said", said.to_value())
    twins = memory("a", "Likes  green tea ", tags=("drink",), metadata={"kind": "P"}), memory("b", "Likes green tea")
    assert counts(load(store, *twins)) == {"repeated": 2}
    (record,) = facts(store).values()
    assert (record.id, record.source_ids, record.repeat_count) == ("said", ["turn", "a", "b"], 2)
    assert (record.tags, record.metadata["kind"]) == (["tea", "drink"], "P")
    assert counts(load(store, *twins)) == {"known": 2}
    assert facts(store) == {"Likes green tea": record}


def test_an_expired_fact_says_nothing_any_more() -> None:
    """Words that hold again are a fact of their own."""
    store = InMemoryStore()
    past = MemoryRecord(id="past", text="likes tea", user_id="ann", expires_at=LONG_AGO)
    store.put(ANN, "past", past.to_value())
    assert counts(load(store, memory("a", "likes tea"))) == {"stored": 1}


def test_a_repeat_that_is_forgotten_stays_forgotten() -> None:
    """The words don't come back through the memory that only repeated them."""
    store = InMemoryStore()
    twins = memory("a", "likes tea"), memory("b", "likes tea")
    load(store, *twins)
    (record,) = facts(store).values()
    store.put(ANN, record.id, record.model_copy(update={"status": "deleted"}).to_value())
    load(store, *twins)
    assert facts(store) == {}


def test_a_repeat_speaks_for_itself_once_the_other_says_something_else() -> None:
    """Whichever of the two changed."""
    store = InMemoryStore()
    load(store, memory("a", "likes tea"), memory("b", "likes tea"))
    assert counts(load(store, memory("a", "likes coffee"), memory("b", "likes tea"))) == {"updated": 1, "stored": 1}
    assert facts(store).keys() == {"likes coffee", "likes tea"}
    other = InMemoryStore()
    load(other, memory("a", "likes tea"), memory("b", "likes tea"))
    assert counts(load(other, memory("a", "likes tea"), memory("b", "likes coffee"))) == {"known": 1, "stored": 1}
    assert facts(other).keys() == {"likes coffee", "likes tea"}


def test_two_users_with_the_same_words_have_a_fact_each() -> None:
    """And spaces are as apart as users."""
    store = InMemoryStore()
    report = load(
        store,
        memory("a", "likes tea"),
        memory("b", "likes tea", user_id="bob"),
        memory("c", "likes tea", space="work"),
    )
    assert counts(report) == {"stored": 3}
    assert report.users == {"ann": 2, "bob": 1}
    assert {item.namespace for item in store.search((), limit=10)} == {
        ANN,
        ("memories", "bob", "default"),
        ("memories", "ann", "work"),
    }


def test_names_that_mean_something_here_are_kept_apart() -> None:
    """A field called ``name`` isn't a speaker, and one called ``forgotten`` hides nothing."""
    store = InMemoryStore()
    load(store, memory("a", "likes tea", metadata={"name": "Profile", "forgotten": True, "kind": "P"}))
    metadata = facts(store)["likes tea"].metadata
    assert metadata.keys() == {"kind", IMPORTED}
    assert metadata[IMPORTED][OTHERS] == {"name": "Profile", "forgotten": True}


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2, "a": 3}])
def test_what_is_no_json_is_left_out_alone(value: object) -> None:
    """The others of the same batch are stored, and the report says which wasn't, and why."""
    store = InMemoryStore()
    report = load(store, memory("a", "likes tea"), memory("b", "bad", metadata={"x": value}), memory("c", "has a cat"))
    assert counts(report) == {"stored": 2}
    (left,) = report.skipped
    assert (left.id, left.place) == ("b", "at b")
    assert "isn't plain JSON" in left.reason
    assert facts(store).keys() == {"likes tea", "has a cat"}


def test_more_facts_than_are_kept_are_told() -> None:
    """Eviction would take what was just imported; the setting is named."""
    report = load(InMemoryStore(), *(memory(str(n), f"fact {n}") for n in range(4)), max_entries=3)
    assert "holds 4 facts, and max_entries is 3" in report.warnings[0]


_entries = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["tea", "cat", "Lyon", "Lyon ", "née"])),
    max_size=12,
)


@settings(max_examples=50)
@given(_entries, _entries, st.sampled_from([1, 2, 500]))
def test_any_two_imports_end_at_what_the_second_says(
    first: list[tuple[str, str]], second: list[tuple[str, str]], at_once: int
) -> None:
    """Each entry is counted once, a dry run counts the same, a third import of the same changes nothing, and all that
    the source says last is known, whatever is written in one batch.
    """
    store = InMemoryStore()
    one, two = ({id: memory(id, text) for id, text in each} for each in (first, second))
    with patch.object(storing, "_AT_ONCE", at_once):
        counts(load(store, *one.values()))
        planned = counts(load(store, *two.values(), dry_run=True))
        assert counts(load(store, *two.values())) == planned
        known = facts(store)
        said = {" ".join(each.text.split()) for each in two.values()}
        assert said <= {" ".join(text.split()) for text in known}
        assert set(counts(load(store, *two.values()))) <= {"known"}
    assert facts(store) == known
    assert {record.id for record in known.values()} <= {each.key for each in (*one.values(), *two.values())}
