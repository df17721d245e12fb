"""What a search may find: every operator and field, checked before anything is searched, and exact however rare."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import InvalidValueError
from langmem_plus.recall import arecall, filter_fields, read_filter, recall
from langmem_plus.recall.filters import OPERATORS
from langmem_plus.recall.retrieve import aretrieve, retrieve
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeRecord = Callable[..., MemoryRecord]


def meets(filter: Any, made: MemoryRecord) -> bool:
    """Whether a record meets a filter; one without conditions lets everything through."""
    read = read_filter(filter)
    return read is None or read.matches(made)


CASES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"role": "user"}, {"role": "user"}, True),
    ({"role": {"ne": "user"}}, {"role": "user"}, False),
    ({"role": {"in": ["user", "assistant"]}}, {"role": "assistant"}, True),
    ({"role": {"$nin": ("user", "assistant")}}, {"role": "assistant"}, False),
    ({"role": {"in": []}}, {}, False),
    ({"role": {"nin": []}}, {}, True),
    ({"tags": "tea"}, {"tags": ["Tea", "home"]}, True),
    ({"tag": {"eq": " TEA "}}, {"tags": ["tea"]}, True),
    ({"tags": {"in": ["milk", "straße"]}}, {"tags": ["STRASSE"]}, True),
    ({"tags": {"in": {"milk"}}}, {"tags": ["milkshake"]}, False),
    ({"tags": {"ne": "tea"}}, {"tags": ["Tea"]}, False),
    ({"tags": {"nin": ["tea"]}}, {"tags": []}, True),
    ({"thread_id": 7}, {"thread_id": "7"}, True),
    ({"thread": uuid.UUID(int=1)}, {"thread_id": str(uuid.UUID(int=1))}, True),
    ({"thread_id": None}, {}, True),
    ({"thread_id": {"ne": None}}, {"thread_id": "t"}, True),
    ({"thread_id": {"ne": "t"}}, {}, True),
    ({"thread_id": {"in": ["t", None]}}, {}, True),
    ({"agent_id": "bot"}, {"agent_id": "bot"}, True),
    ({"id": {"in": ["a", "b"]}}, {"id": "b"}, True),
    ({"importance": {"gte": 0.5, "lt": 1}}, {"importance": 0.5}, True),
    ({"importance": {"gt": 0.5}}, {"importance": 0.5}, False),
    ({"importance": 1}, {"importance": 1.0}, True),
    ({"pinned": True}, {"pinned": True}, True),
    ({"manually_saved": {"ne": True}}, {"manually_saved": True}, False),
    ({"source_ids": "m1"}, {"source_ids": ["m0", "m1"]}, True),
    ({"source_ids": {"nin": ["m1"]}}, {"source_ids": ["M1"]}, True),
    ({"created_at": {"gte": "2026-03-01"}}, {}, True),
    ({"created_at": {"gt": "2026-03-01"}}, {}, False),
    ({"created_at": {"lte": "2026-03-01"}}, {}, True),
    ({"created_at": {"lt": "2026-03-01"}}, {}, False),
    ({"created_at": "2026-03-01"}, {}, True),
    ({"created_at": {"ne": dt.date(2026, 3, 1)}}, {}, False),
    ({"created_at": {"lte": "9999-12-31"}}, {}, True),
    ({"created_at": {"gt": "2026-03-01T12:00"}}, {}, False),
    ({"created_at": {"gte": "2026-03-01T13:00:00+01:00"}}, {}, True),
    ({"created_at": {"eq": dt.datetime(2026, 3, 1, 12)}}, {}, True),
    ({"created_at": NOW.timestamp()}, {}, True),
    ({"updated_at": {"in": ["2026-02-28", NOW]}}, {}, True),
    ({"observed_at": None}, {}, True),
    ({"observed_at": {"lt": "2030-01-01"}}, {}, False),
    ({"observed_at": {"ne": "2026-01-01"}}, {}, True),
    ({"time": {"lt": "2026-03-01"}}, {"observed_at": "2023-05-08T23:59:59Z"}, True),
    ({"time": {"gte": "2026-03-01"}}, {}, True),
    ({"metadata.name": "Ann"}, {"metadata": {"name": "Ann"}}, True),
    ({"metadata.name": None}, {}, True),
    ({"metadata.turn": {"gt": 1}}, {"metadata": {"turn": 2}}, True),
    ({"metadata.turn": {"gt": 1}}, {"metadata": {"turn": "2"}}, False),
    ({"metadata.turn": 1}, {"metadata": {"turn": True}}, False),
    ({"metadata.a.b": {"eq": {"c": 1}}}, {"metadata": {"a": {"b": {"c": 1}}}}, True),
    ({"metadata.a.b": 2}, {"metadata": {"a.b": 2, "a": {"b": 1}}}, True),
    ({"metadata.who": "Ann"}, {"metadata": {"who": ["Bob", "Ann"]}}, True),
    ({"metadata.due": {"lt": dt.date(2026, 5, 2)}}, {"metadata": {"due": "2026-05-01T23:00:00-01:00"}}, False),
    ({"metadata.due": {"lte": dt.date(2026, 5, 2)}}, {"metadata": {"due": "2026-05-01T23:00:00-01:00"}}, True),
    ({"metadata.due": {"lt": "2026-05-02"}}, {"metadata": {"due": "2026-05-01"}}, True),
    ({"or": [{"role": "user"}, {"or": [{"pinned": True}]}]}, {"pinned": True}, True),
    ({"$or": [{"role": "user"}, {"pinned": True}], "tags": "tea"}, {"pinned": True}, False),
    ({"and": [{"tags": "tea"}, {"tags": "home"}]}, {"tags": ["tea", "home"]}, True),
    ({}, {}, True),
]


@pytest.mark.parametrize(("filter", "fields", "found"), CASES)
def test_a_condition_means_what_it_says(
    filter: dict[str, Any], fields: dict[str, Any], found: bool, record: MakeRecord
) -> None:
    """Every field and operator, and what people might expect otherwise."""
    assert meets(filter, record("green tea", **fields)) is found


WRONG: list[tuple[Any, str]] = [
    ("role", "isn't a dict"),
    ([{"role": "user"}], "isn't a dict"),
    ({"rolle": "user"}, "'rolle': use role, tags"),
    ({1: "user"}, "no field 1"),
    ({"metadata": {"name": "Ann"}}, "metadata.<name>"),
    ({"metadata.": 1}, "metadata.<name>"),
    ({"role": "human"}, "'human': choose from memory, user"),
    ({"role": None}, "choose from memory"),
    ({"role": ["user", "assistant"]}, '"in": […]'),
    ({"role": {}}, "no condition"),
    ({"role": {"like": "u"}}, "'like': use eq, ne"),
    ({"role": {"$eq": "user", "$regex": "u"}}, "'$regex'"),
    ({"role": {"gt": "user"}}, "no order"),
    ({"tags": {"gte": "a"}}, "no order"),
    ({"tags": ""}, "give a text"),
    ({"tags": {"in": "tea"}}, "give a list"),
    ({"thread_id": {"in": [1.5]}}, "1.5, a float"),
    ({"importance": "high"}, "'high': give a number"),
    ({"importance": {"lt": float("nan")}}, "give a number"),
    ({"importance": {"lt": True}}, "give a number"),
    ({"pinned": 1}, "give True or False"),
    ({"observed_at": "last week"}, "'last week', which isn't a time"),
    ({"observed_at": {"gt": None}}, "something that has an order"),
    ({"created_at": None}, "isn't a time"),
    ({"created_at": {"gte": True}}, "isn't a time"),
    ({"created_at": {"gte": 1e300}}, "isn't a time"),
    ({"metadata.turn": {"gt": [1]}}, "something that has an order"),
    ({"or": []}, "give a list of filters"),
    ({"or": {"role": "user"}}, "give a list of filters"),
    ({"or": [{}]}, "each of its filters"),
    ({"or": ["user"]}, "each of its filters"),
]


@pytest.mark.parametrize(("filter", "says"), WRONG)
def test_what_cant_be_read_is_refused_before_anything_is_searched(filter: Any, says: str) -> None:
    """The error names the value and what to write instead; no store is even looked for."""
    nowhere = Services(config=MemoryConfig(), store=None, clock=lambda: NOW)
    with pytest.raises(InvalidValueError) as refused:
        recall(nowhere, Scope("ann"), "tea", filter=filter)
    assert says in str(refused.value)


def test_a_filter_nested_without_end_is_refused() -> None:
    """An error of ours, not of Python's stack."""
    filter: dict[str, Any] = {"role": "user"}
    for _ in range(3000):
        filter = {"or": [filter]}
    with pytest.raises(InvalidValueError, match="deeper than"):
        read_filter(filter)


def test_only_what_every_store_can_tell_is_left_to_it() -> None:
    """Equality of texts; not the role of facts, which values of other programs don't name."""
    read = read_filter({"role": "user", "thread": 7, "agent_id": {"$eq": "bot", "ne": "x"}, "pinned": True})
    assert read is not None
    assert read.pushed == {"role": "user", "thread_id": "7", "agent_id": "bot"}
    others = read_filter({"role": "memory", "or": [{"thread_id": "t"}], "agent_id": {"ne": "b"}, "thread_id": None})
    assert others is not None
    assert others.pushed == {}
    assert read_filter(read) is read


# --- against a filter that knows nothing but lists ---

TIMES = st.datetimes(dt.datetime(2025, 12, 30), dt.datetime(2026, 1, 4), timezones=st.just(dt.UTC))
FIELDS = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["memory", "user", "assistant", "archive", "document"]),
        "tags": st.lists(st.sampled_from(["tea", "Tea", "home", "work"]), max_size=2),
        "thread_id": st.sampled_from([None, "t1", "t2"]),
        "observed_at": st.none() | TIMES,
        "importance": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        "pinned": st.booleans(),
        "metadata": st.dictionaries(st.just("n"), st.sampled_from([1, 2, "1"]), max_size=1),
    }
)
OPERANDS: dict[str, st.SearchStrategy[Any]] = {
    "role": st.sampled_from(["memory", "user", "assistant", "archive", "document"]),
    "tags": st.sampled_from(["tea", "home", "work"]),
    "thread_id": st.sampled_from([None, "t1", "t2"]),
    "observed_at": TIMES,
    "importance": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    "pinned": st.booleans(),
    "metadata.n": st.sampled_from([1, 2, "1"]),
}
ORDERED = frozenset({"observed_at", "importance", "metadata.n"})


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    """One field with up to two operators, spelt with or without ``$``."""
    name = draw(st.sampled_from(sorted(OPERANDS)))
    operators = [op for op in OPERATORS if name in ORDERED or op in ("eq", "ne", "in", "nin")]
    chosen = draw(st.lists(st.sampled_from(operators), min_size=1, max_size=2, unique=True))
    spelt = draw(st.sampled_from(["", "$"]))
    return {
        name: {
            spelt + op: draw(st.lists(OPERANDS[name], max_size=3) if "in" in op else OPERANDS[name]) for op in chosen
        }
    }


def joined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Alternatives, beside other conditions."""
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.builds(lambda some, more: {"or": some, **more}, branches, conditions() | st.just({}))


FILTERS = st.recursive(conditions(), joined, max_leaves=5)


def naive(filter: dict[str, Any], made: MemoryRecord) -> bool:
    """The filter's meaning, spelt out over plain values."""
    for name, wanted in filter.items():
        if name == "or":
            if not any(naive(branch, made) for branch in wanted):
                return False
            continue
        value = made.metadata.get("n") if name == "metadata.n" else getattr(made, name)
        values = [tag.lower() for tag in value] if name == "tags" else [value]
        for op, operand in wanted.items():
            if not _naive_op(op.strip("$"), values, operand):
                return False
    return True


def _naive_op(op: str, values: list[Any], operand: Any) -> bool:
    if op in ("eq", "in"):
        return any(value in (operand if op == "in" else [operand]) for value in values)
    if op in ("ne", "nin"):
        return not _naive_op("eq" if op == "ne" else "in", values, operand)
    (value,) = values
    if value is None or isinstance(value, str) != isinstance(operand, str):
        return False
    return bool({"gt": value > operand, "gte": value >= operand, "lt": value < operand, "lte": value <= operand}[op])


def _stores(path: Path) -> list[BaseStore]:
    index: Any = {"dims": 64, "embed": BagOfWordsEmbeddings(64), "fields": ["text", "content"]}
    return [
        InMemoryStore(),
        InMemoryStore(index=index),
        MarkdownStore(path / "words", index=None, clock=lambda: NOW),
        MarkdownStore(path / "vectors", index=index, clock=lambda: NOW),
    ]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The four kinds of store with the same 160 records, and the records."""
    stores, scope = _stores(tmp_path_factory.mktemp("filters")), Scope("ann", thread_id="now")
    made = [_varied(number) for number in range(160)]
    for store in stores:
        store.batch([PutOp(scope.namespace, each.id, each.to_value()) for each in made])
        store.put(scope.namespace, "foreign", {"kind": "Memory", "content": {"content": "green tea of langmem"}})
    yield stores, scope, made
    for store in stores:
        if isinstance(store, MarkdownStore):
            store.close()


def _varied(number: int) -> MemoryRecord:
    pick = lambda choices, step: choices[(number // step) % len(choices)]  # noqa: E731
    return MemoryRecord(
        id=f"r{number}",
        text=f"green tea number {number}",
        user_id="ann",
        created_at=NOW,
        updated_at=NOW,
        role=pick(["memory", "user", "assistant", "archive", "document"], 1),
        tags=pick([["Tea"], [], ["home", "tea"], ["work"]], 2),
        thread_id=pick([None, "t1", "t2"], 3),
        observed_at=pick([None, *(dt.datetime(2025, 12, 30 + day, 5, tzinfo=dt.UTC) for day in (0, 1))], 5),
        importance=pick([0.0, 0.25, 0.5, 1.0], 7),
        pinned=number % 11 == 0,
        metadata=pick([{}, {"n": 1}, {"n": 2}, {"n": "1"}], 13),
    )


@given(FILTERS, FIELDS)
@settings(max_examples=100, deadline=None)
def test_a_filter_is_what_a_naive_one_is(filter: dict[str, Any], fields: dict[str, Any]) -> None:
    """Any filter, any record."""
    made = MemoryRecord(id="r", text="x", user_id="ann", created_at=NOW, updated_at=NOW, **fields)
    assert meets(filter, made) is naive(filter, made)


@given(FILTERS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_search_finds_all_that_meets_a_filter_and_nothing_else(filled: Any, filter: dict[str, Any]) -> None:
    """Over every kind of store, with pages much smaller than the namespace; values of other programs, too."""
    stores, scope, made = filled
    foreign = MemoryRecord(id="foreign", text="x", user_id="ann")
    wanted = sorted(each.id for each in (*made, foreign) if naive(filter, each))
    for store in stores:
        services = Services(config=MemoryConfig(keyword_pool=5), store=store, clock=lambda: NOW)
        hits, _ = retrieve(services, scope, "green tea", limit=170, filter=read_filter(filter))
        assert sorted(hit.record.id for hit in hits) == wanted
        few, _ = retrieve(services, scope, "green tea", limit=4, filter=read_filter(filter))
        assert len(few) == min(4, len(wanted))
        assert {hit.record.id for hit in few} <= set(wanted)


RARE: list[dict[str, Any]] = [
    {"tags": "rare"},
    {"thread_id": "rare"},
    {"importance": {"gt": 0.9}},
    {"observed_at": {"lt": "2024-01-01"}},
    {"or": [{"pinned": True}, {"metadata.n": 7}]},
]


@pytest.mark.parametrize("filter", RARE, ids=json.dumps)
def test_one_in_five_hundred_is_found(
    filter: dict[str, Any], store: BaseStore, scope: Scope, record: MakeRecord
) -> None:
    """It ranks behind five hundred that answer better, and behind a namespace of another that begins alike."""
    often = [record(f"green tea number {number}", id=f"r{number}") for number in range(500)]
    fields = {"importance": 1.0, "observed_at": "2023-05-08", "pinned": True, "tags": ["Rare"], "thread_id": "rare"}
    rare = record("tea of another kind than anything beside it", id="rare", **fields)
    store.batch([PutOp(scope.namespace, each.id, each.to_value()) for each in (rare, *often)])
    services = Services(config=MemoryConfig(fetch_k=10, keyword_pool=10), store=store, clock=lambda: NOW)
    hits, report = recall(services, scope, "green tea number", filter=filter)
    assert [hit.record.id for hit in hits] == ["rare"]
    assert report.counts["candidates"] == 1


async def test_async_filters_the_same(store: BaseStore, scope: Scope, record: MakeRecord) -> None:
    """The twins differ in the call alone."""
    made = [record(f"green tea {number}", id=f"r{number}", pinned=number % 9 == 0) for number in range(60)]
    store.batch([PutOp(scope.namespace, each.id, each.to_value()) for each in made])
    services, filter = Services(config=MemoryConfig(fetch_k=5), store=store, clock=lambda: NOW), {"pinned": True}
    found, report = retrieve(services, scope, "green tea", limit=5, filter=read_filter(filter))
    again, report_again = await aretrieve(services, scope, "green tea", limit=5, filter=read_filter(filter))
    assert [hit.record.id for hit in again] == [hit.record.id for hit in found]
    assert (len(found), report_again.counts) == (5, report.counts)
    hits, _ = recall(services, scope, "green tea", filter=filter)
    assert [hit.record.id for hit in (await arecall(services, scope, "green tea", filter=filter))[0]] == [
        hit.record.id for hit in hits
    ]


def test_a_filter_brings_back_nothing_that_was_corrected(store: BaseStore, scope: Scope, record: MakeRecord) -> None:
    """The words of a fact that was replaced stay away, though neither fact is of the kind that is asked for."""
    records = [
        record("I live in Lyon.", id="said", role="user"),
        record("You live in Lyon.", id="reply", role="assistant", created_at=NOW),
        record("I live in Lyon.", id="old", status="superseded", replaced_by="new", source_ids=["said"]),
        record("I live in Grenoble.", id="new", created_at=NOW + dt.timedelta(hours=1)),
        record("I live for green tea.", id="tea", role="user"),
    ]
    for each in records:
        store.put(scope.namespace, each.id, each.to_value())
    services = Services(config=MemoryConfig(), store=store, clock=lambda: NOW)
    turns = read_filter({"role": {"in": ["user", "assistant"]}})
    hits, _ = retrieve(services, scope, "where do I live?", limit=10, filter=turns)
    assert [hit.record.id for hit in hits] == ["tea"]


def test_strict_sessions_stay_strict(store: BaseStore, scope: Scope, record: MakeRecord) -> None:
    """A filter narrows what a thread may see, it never widens it."""
    records = [
        record("green tea here", id="own", thread_id="now", role="user"),
        record("green tea there", id="other", thread_id="old", role="user"),
        record("green tea once", id="archive", thread_id="old", role="archive"),
    ]
    store.batch([PutOp(scope.namespace, each.id, each.to_value()) for each in records])
    services = Services(config=MemoryConfig(recall_scope="thread"), store=store, clock=lambda: NOW)
    hits, _ = retrieve(services, scope, "green tea", limit=1, filter=read_filter({"thread_id": "old"}))
    assert [hit.record.id for hit in hits] == ["archive"]


@given(
    st.sampled_from([10**400, -(10**400), 10**5000, float("nan"), 1e308, "9" * 5000, "\ud800"]),
    st.sampled_from(sorted(filter_fields.FIELDS)),
)
def test_a_value_beyond_all_bounds_is_refused_or_compared(value: Any, name: str) -> None:
    """Whatever a model writes: no error of Python's own comes out."""
    for condition in (value, {"gt": value}, {"in": [value]}):
        try:
            read = read_filter({name: condition})
        except InvalidValueError:
            continue
        assert read is not None
        read.matches(MemoryRecord(id="r", text="I like tea", user_id="ann"))


def test_a_filter_has_so_many_conditions_and_no_more() -> None:
    """Parts that stand in several places count in each: 2 to the 18th of one is refused at once; so is a long list."""
    shared: dict[str, Any] = {"role": "memory"}
    for _ in range(18):
        shared = {"or": [shared, shared]}
    for filter in (shared, {"and": [shared]}, {"tags": {"in": ["x"] * 100_000}}):
        with pytest.raises(InvalidValueError, match="more than 10000 conditions"):
            read_filter(filter)
    assert read_filter({"id": {"in": [str(number) for number in range(9000)]}}) is not None
