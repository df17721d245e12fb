"""The contract is consistent, since a small store fulfils every point of it, and it bites, since broken ones don't."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
import itertools
import json
import threading
import time
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    validate_op_namespace,
)

from langmem_plus.testing import BagOfWordsEmbeddings
from langmem_plus.testing.contract import StoreContract

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
MISSING = object()


class ReferenceStore(BaseStore):
    """A dict behind a lock: plan, embed, commit."""

    supports_ttl = True

    def __init__(self, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self.ttl_config = ttl
        self.clock = time.monotonic
        self.ends: dict[tuple[tuple[str, ...], str], tuple[float, float]] = {}
        self.fields = (index or {}).get("fields") or ["$"]
        self.dims = (index or {}).get("dims")
        self.embeddings = ensure_embeddings(index["embed"]) if index else None
        self.rows: dict[tuple[tuple[str, ...], str], tuple[Item, str, int, np.ndarray]] = {}
        self.ticks = itertools.count()
        self.lock = threading.RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Embed, then commit."""
        checked = [check(op) for op in ops]
        puts, texts, queries = self.plan(checked)
        vectors = self.embeddings.embed_documents(texts) if texts else []
        asked = {query: self.embeddings.embed_query(query) for query in queries}
        return self.commit(checked, puts, texts, vectors, asked)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Embed with await, then commit."""
        checked = [check(op) for op in ops]
        puts, texts, queries = self.plan(checked)
        vectors = await self.embeddings.aembed_documents(texts) if texts else []
        asked = {query: await self.embeddings.aembed_query(query) for query in queries}
        return self.commit(checked, puts, texts, vectors, asked)

    def plan(self, ops: list[Op]) -> tuple[dict[Any, tuple[PutOp, list[str]]], list[str], list[str]]:
        """The last put of each key with its texts, the distinct texts, and the distinct queries."""
        puts: dict[Any, tuple[PutOp, list[str]]] = {}
        for op in ops:
            if isinstance(op, PutOp):
                paths = self.fields if op.index is None else op.index or []
                found = [text for path in paths for text in get_text_at_path(op.value, path if path != "$" else "")]
                puts[op.namespace, op.key] = op, found if self.embeddings and op.value is not None else []
        texts = dict.fromkeys(text for _, found in puts.values() for text in found)
        queries = dict.fromkeys(op.query for op in ops if isinstance(op, SearchOp) and op.query and self.embeddings)
        return puts, list(texts), list(queries)

    def commit(self, ops: list[Op], puts: Any, texts: list[str], vectors: Any, asked: Any) -> list[Result]:
        """Answer the reads, then write, under the lock; nothing is written when the vectors are wrong."""
        if len(vectors) != len(texts) or any(len(vector) != self.dims for vector in vectors):
            raise ValueError(f"{len(texts)} texts need as many vectors of {self.dims} numbers.")
        by_text = dict(zip(texts, vectors, strict=True))
        with self.lock:
            self.sweep_ttl()
            results = [self.read(op, asked) for op in ops]
            for op, result in zip(ops, results, strict=True):
                if isinstance(op, GetOp | SearchOp) and op.refresh_ttl:
                    self.prolong(result)
            for place, (op, found) in puts.items():
                old = self.rows.pop(place, None)
                self.ends.pop(place, None)
                if op.ttl is not None:
                    self.ends[place] = op.ttl, self.clock() + op.ttl * 60
                if op.value is not None:
                    now = dt.datetime.now(dt.UTC)
                    item = Item(
                        value={},
                        key=op.key,
                        namespace=op.namespace,
                        created_at=old[0].created_at if old else now,
                        updated_at=now,
                    )
                    matrix = np.array([by_text[text] for text in found]).reshape(len(found), self.dims or 0)
                    self.rows[place] = item, json.dumps(dict(op.value)), next(self.ticks), matrix
        return results

    def prolong(self, result: Any) -> None:
        """Count the time of what was read anew."""
        for item in result if isinstance(result, list) else [result]:
            place = (item.namespace, item.key) if item else None
            if place in self.ends:
                self.ends[place] = self.ends[place][0], self.clock() + self.ends[place][0] * 60

    def sweep_ttl(self) -> int:
        """Drop what has expired."""
        with self.lock:
            over = [place for place, (_, end) in self.ends.items() if end <= self.clock()]
            for place in over:
                del self.ends[place]
            return sum(self.rows.pop(place, None) is not None for place in over)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Nothing to do: everything sweeps."""

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Nothing runs."""
        return True

    def read(self, op: Op, asked: dict[str, list[float]]) -> Result:
        """One read's result."""
        if isinstance(op, GetOp):
            row = self.rows.get((op.namespace, op.key))
            return self.give(Item, row) if row else None
        if isinstance(op, ListNamespacesOp):
            places = {place for place, _ in self.rows if all(fits(c, place) for c in op.match_conditions or ())}
            return sorted({place[: op.max_depth] for place in places})[op.offset : op.offset + op.limit]
        if not isinstance(op, SearchOp):
            return None
        depth = len(op.namespace_prefix)
        rows = [row for (place, _), row in self.rows.items() if place[:depth] == op.namespace_prefix]
        rows = [row for row in rows if matches(json.loads(row[1]), op.filter or {})]
        scored = [(self.score(row[3], asked.get(op.query)), row) for row in rows]
        scored.sort(key=lambda pair: (pair[0] is None, -(pair[0] or 0.0), -pair[1][2]))
        page = scored[op.offset : op.offset + op.limit]
        return [self.give(SearchItem, row, score=score) for score, row in page]

    def score(self, matrix: np.ndarray, query: list[float] | None) -> float | None:
        """The best cosine of an item, or None where nothing is ranked."""
        if query is None or not len(matrix):
            return None
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
        return float(np.max(matrix @ np.array(query) / np.where(lengths == 0, 1, lengths)))

    def give(self, kind: type[Any], row: Any, **more: Any) -> Any:
        """A copy of a row as an item."""
        fields = {name: getattr(row[0], name) for name in ("key", "namespace", "created_at", "updated_at")}
        return kind(value=json.loads(row[1]), **fields, **more)


def check(op: Op) -> Op:
    """The operation, its namespace, value and filter checked, its value copied."""
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise TypeError(f"unknown operation: {op!r}")
    validate_op_namespace(op)
    if isinstance(op, PutOp) and op.value is not None:
        names = list(op.value)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"names must be text: {names}")
        return op._replace(value=json.loads(json.dumps(dict(op.value))))
    if isinstance(op, SearchOp):
        matches({}, op.filter or {})
    return op


def fits(condition: Any, place: tuple[str, ...]) -> bool:
    """Whether a namespace fulfils a condition."""
    path = condition.path
    part = place[: len(path)] if condition.match_type == "prefix" else place[-len(path) :]
    return len(place) >= len(path) and all(a in ("*", b) for a, b in zip(path, part, strict=True))


def matches(value: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a value passes a filter; every condition is looked at, so that a wrong one always raises."""
    passed = [passes(value.get(name, MISSING), condition) for name, condition in wanted.items()]
    return all(passed)


def passes(value: Any, wanted: Any) -> bool:
    """Whether one field's value passes one condition."""
    if not isinstance(wanted, dict):
        return same(value, wanted)
    if any(name.startswith("$") for name in wanted):
        held = [compare(value, operator, bound) for operator, bound in wanted.items()]
        return all(held)
    return isinstance(value, dict) and matches(value, wanted)


def same(value: Any, wanted: Any) -> bool:
    """Equality by JSON type."""
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(same, value, wanted))
    if isinstance(wanted, dict):
        return (
            isinstance(value, dict) and value.keys() == wanted.keys() and all(same(value[n], wanted[n]) for n in wanted)
        )
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def compare(value: Any, operator: str, bound: Any) -> bool:
    """Whether an operator holds."""
    if operator not in OPERATORS:
        raise ValueError(f"unknown operator {operator!r}: use one of {', '.join(OPERATORS)}")
    if operator in ("$eq", "$ne"):
        return same(value, bound) == (operator == "$eq")
    kinds = (str,) if isinstance(bound, str) else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        return False
    return {"$gt": value > bound, "$gte": value >= bound, "$lt": value < bound, "$lte": value <= bound}[operator]


class TestReferenceStore(StoreContract):
    moment = 60.0

    @pytest.fixture(autouse=True)
    def _at_the_beginning(self) -> None:
        self.now = 0.0

    def make_store_with_ttl(self, ttl: TTLConfig) -> BaseStore:
        """A fresh store with a clock that stands still."""
        store = ReferenceStore(ttl=ttl)
        store.clock = lambda: self.now
        return store

    def pass_time(self, seconds: float) -> None:
        """Set the clock."""
        self.now += seconds

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh store."""
        return ReferenceStore(index)


class JoinedLabels(ReferenceStore):
    """Prefixes are compared as text."""

    def read(self, op: Op, asked: dict[str, list[float]]) -> Result:
        """Everything whose joined labels begin alike."""
        if not isinstance(op, SearchOp) or not op.namespace_prefix:
            return super().read(op, asked)
        joined = "/".join(op.namespace_prefix)
        found = super().read(op._replace(namespace_prefix=(), limit=10**6, offset=0), asked)
        kept = [item for item in cast("list[SearchItem]", found) if "/".join(item.namespace).startswith(joined)]
        return kept[op.offset : op.offset + op.limit]


class FilterAfterLimit(ReferenceStore):
    """The nearest few are taken first and filtered then, as approximate indexes like to do."""

    def read(self, op: Op, asked: dict[str, list[float]]) -> Result:
        """Filter what twenty neighbours leave."""
        if not isinstance(op, SearchOp) or not op.query:
            return super().read(op, asked)
        near = super().read(op._replace(filter=None, limit=20, offset=0), asked)
        kept = [item for item in cast("list[SearchItem]", near) if matches(item.value, op.filter or {})]
        return kept[op.offset : op.offset + op.limit]


class WholeValue(ReferenceStore):
    """The fields to embed are passed over."""

    def plan(self, ops: list[Op]) -> tuple[dict[Any, tuple[PutOp, list[str]]], list[str], list[str]]:
        """Embed the whole value, whatever the put and the configuration say."""
        self.fields = ["$"]
        return super().plan([op._replace(index=None) if isinstance(op, PutOp) else op for op in ops])


class WritesFirst(ReferenceStore):
    """Reads see the puts of their batch, and a superseded put is embedded."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """One operation after another."""
        return [super(WritesFirst, self).batch([op])[0] for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """One operation after another."""
        return [(await super(WritesFirst, self).abatch([op]))[0] for op in ops]


class OneLoop(ReferenceStore):
    """The store belongs to the event loop of its first use."""

    loop: asyncio.AbstractEventLoop | None = None

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Refuse another loop."""
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        return await super().abatch(ops)


class Forgetful(ReferenceStore):
    """An update is a new item."""

    def commit(self, ops: list[Op], puts: Any, texts: list[str], vectors: Any, asked: Any) -> list[Result]:
        """Drop what was there."""
        results = super().commit(ops, {}, texts, vectors, asked)
        for place in puts:
            self.rows.pop(place, None)
        super().commit([], puts, texts, vectors, asked)
        return results


CAUGHT = [
    (JoinedLabels, "test_17_a_prefix_is_compared_label_by_label"),
    (JoinedLabels, "test_16_labels_are_literal"),
    (FilterAfterLimit, "test_30_a_rare_filter_and_a_prefix_are_exact"),
    (FilterAfterLimit, "test_36_pages_of_a_query_partition_the_items"),
    (WholeValue, "test_32_the_configured_fields_are_embedded"),
    (WholeValue, "test_31_without_index_nothing_is_embedded"),
    (WholeValue, "test_37_an_update_without_index_drops_the_vectors"),
    (WritesFirst, "test_40_reads_come_before_puts"),
    (WritesFirst, "test_40_a_superseded_put_is_not_embedded"),
    (WritesFirst, "test_40_one_embedding_call_a_batch"),
    (OneLoop, "test_44_one_event_loop_after_another"),
    (Forgetful, "test_04_created_at_survives_an_update"),
]


@pytest.mark.parametrize(("broken", "test"), CAUGHT, ids=lambda each: getattr(each, "__name__", each))
def test_the_contract_catches_a_broken_store(broken: type[ReferenceStore], test: str) -> None:
    """A store with one fault fails the test of that point, where the reference store passes it."""
    embedder = BagOfWordsEmbeddings(dims=1024)
    for kind in (ReferenceStore, broken):
        embedder.clear()
        given = {"store": kind(), "opened": kind, "opened_plain": kind, "embedder": embedder}
        run = getattr(StoreContract(), test)
        wanted = {name: given[name] for name in inspect.signature(run).parameters}
        expected = (
            nullcontext() if kind is ReferenceStore else pytest.raises((AssertionError, RuntimeError, ValueError))
        )
        with expected:
            run(**wanted)
