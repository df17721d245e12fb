"""Values of our own are read without conversion, and exactly as the model itself reads them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import SearchItem
from pydantic import ValidationError

from langmem_plus.recall.items import read_item
from langmem_plus.recall.own import own_record
from langmem_plus.records import ROLES, MemoryRecord, Scope, Scores

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
TIMES = st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC))
TEXTS = st.text(min_size=1, max_size=20)
RECORDS = st.builds(
    MemoryRecord,
    id=TEXTS,
    role=st.sampled_from(ROLES),
    text=st.text(max_size=30).map(lambda text: f"{text}tea"),
    user_id=TEXTS,
    thread_id=st.none() | TEXTS,
    created_at=st.just(NOW),
    updated_at=st.just(NOW),
    observed_at=TIMES,
    expires_at=TIMES,
    importance=st.floats(0, 1),
    pinned=st.booleans(),
    tags=st.lists(TEXTS, max_size=3),
    source_ids=st.lists(TEXTS, max_size=3),
    simhash=st.none() | st.just("0123456789abcdef"),
    repeat_count=st.integers(0, 9),
    extracted=st.none() | st.booleans(),
    metadata=st.dictionaries(TEXTS, st.none() | TEXTS | st.integers() | st.lists(TEXTS), max_size=3),
    last_scores=st.none() | st.builds(Scores, relevance=st.floats(0, 1), computed_at=st.just(NOW)),
)
ANYTHING: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.text(st.characters(codec=None), max_size=5),
    st.sampled_from(
        ["", " ", "active", "memory", "2026-01-01", "1683554160", "0123456789abcdef\n", "9999-12-31T23-01"]
    ),
    st.lists(st.none() | st.text(st.characters(codec=None), max_size=3) | st.integers(), max_size=2),
    st.dictionaries(st.integers() | st.text(st.characters(codec=None), max_size=3), st.integers(), max_size=2),
)


def by_the_model(value: dict[str, Any]) -> MemoryRecord | None:
    """What `MemoryRecord` makes of it."""
    try:
        return MemoryRecord(**value)
    except (ValidationError, TypeError):
        return None


@given(RECORDS)
def test_every_record_comes_back(record: MemoryRecord) -> None:
    """With all its fields, with which of them were given, and with the same dump."""
    value = record.to_value()
    read = own_record(record.id, value)
    assert read == record
    assert read is not None
    assert (read.to_value(), [*read.to_value()]) == (value, [*value])
    assert read.model_fields_set == {name for name, field in value.items() if field is not None}
    assert read.model_copy(update={"text": "x"}).text == "x"


@given(RECORDS, st.sampled_from([*MemoryRecord.model_fields]), ANYTHING)
def test_whatever_stands_in_a_field_is_read_as_the_model_reads_it(record: MemoryRecord, name: str, found: Any) -> None:
    """A record that is read here is the one that the model reads; one that the model refuses isn't read here."""
    value = {**record.to_value(), name: found}
    read = own_record(record.id, value)
    if read is not None:
        assert read == by_the_model({**value, "id": record.id})
        assert read.model_dump_json() == by_the_model({**value, "id": record.id}).model_dump_json()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [{"text": " "}, {"colour": "green"}, {"importance": 2.0}, {"status": "retired"}, {"tags": [1]}, {"pinned": 1}],
)
def test_what_is_not_quite_a_record_is_left_to_the_tolerant_reader(change: dict[str, Any]) -> None:
    """Other fields, other types, and values out of bounds."""
    record = MemoryRecord(id="k", text="tea", user_id="ann")
    assert own_record("k", {**record.to_value(), **change}) is None
    assert own_record("k", dict(reversed(record.to_value().items()))) is None


def test_a_record_shares_nothing_with_the_value() -> None:
    """A store may hand out the value that it keeps."""
    value = MemoryRecord(id="k", text="tea", user_id="ann", tags=["a"], metadata={"name": "Ann"}).to_value()
    item = SearchItem(("memories",), "k", value, NOW, NOW)
    record = read_item(item, Scope("ann"))
    assert record is not None
    record.tags.append("b")
    record.source_ids.append("c")
    record.replaces.append("d")
    record.metadata["x"] = 1
    assert (value["tags"], value["source_ids"], value["replaces"], value["metadata"]) == (
        ["a"],
        [],
        [],
        {"name": "Ann"},
    )
