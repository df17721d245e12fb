"""Whatever is put, an index that is built anew from the files says what the one that was written beside them said."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore

TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
LABELS = st.text(st.characters(exclude_characters=".\0"), min_size=1, max_size=30).filter(lambda label: bool(label))
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple).filter(lambda labels: labels[0] != "langgraph")
MINUTES = st.none() | st.floats(1, 1e9)
TIMES = st.datetimes(dt.datetime(2030, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC))
FOREIGN = st.dictionaries(TEXT | st.sampled_from(["text", "content", "role", "status", "thread_id", "tags"]), JSON)
RECORDS = st.builds(
    lambda **fields: MemoryRecord(id="", user_id="ann", **fields).to_value(),
    text=TEXT.filter(lambda text: text < "\ud800" or text > "\udfff"),
    role=st.sampled_from(["memory", "user", "assistant", "summary"]),
    thread_id=st.none() | st.text(min_size=1, max_size=10),
    status=st.sampled_from(["active", "deleted"]),
    tags=st.lists(st.text(min_size=1, max_size=8), max_size=3),
    metadata=st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=3),
    source_ids=st.lists(st.text(min_size=1, max_size=8), max_size=2),
    importance=st.floats(0, 1),
    created_at=TIMES,
    expires_at=st.none() | TIMES,
)
INDEXES = st.none() | st.just(False) | st.lists(st.sampled_from(["text", "content", "$", "tags[*]"]), max_size=2)
PUTS = st.lists(st.tuples(st.sampled_from("abc") | TEXT, FOREIGN | RECORDS, MINUTES, INDEXES), min_size=1, max_size=4)

_COLUMNS = (
    *("key", "path", "value", "created_at", "updated_at", "indexing", "role", "status", "thread_id", "place"),
    *("pending", "ttl", "expires_at", "ends_at", "deadline"),
)


def _said(store: MarkdownStore, namespace: tuple[str, ...]) -> list[Any]:
    """All that the index says of the items, but their numbers."""
    room = store._engine.room(namespace)
    room.count()
    sql = f"SELECT {', '.join(_COLUMNS)}, coalesce((SELECT tokens FROM words WHERE rowid=id), '') FROM items"
    rows = room.use(lambda index: [list(row) for row in index.db.execute(sql)])
    for row in rows:
        row[2] = json.dumps(json.loads(row[2]), sort_keys=True)
    return sorted(rows, key=repr)


@settings(max_examples=60)
@given(NAMESPACES, PUTS)
@example(("\ud800", "A"), [("\udfff", {"text": "\ud800", "content": "\0"}, 1.5, None)])
@example(
    ("deleted", "items"), [("", {"role": "user", "status": "active", "extracted": False, "text": ""}, None, False)]
)
@example(("~", "%2e"), [("k", {"value": {"stored": {"ttl": 0}}, "expires_at": "2000-01-01"}, None, ["$"])])
@example(("a",), [("k", {"stored": {"ttl": 0, "expires_at": "2000-01-01"}}, 2.0, None), ("k", {"n": 1}, None, None)])
def test_an_index_built_anew_says_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    namespace: tuple[str, ...],
    puts: list[tuple[str, dict[str, Any], float | None, Any]],
) -> None:
    """Values, times, words, places, times to live, whichever way each of them was written into a file."""
    root = tmp_path_factory.mktemp("any")
    kept: dict[str, dict[str, Any]] = {}
    with MarkdownStore(root, index=None) as store:
        for key, value, ttl, index in puts:
            written = {**value, "id": key} if value.get("user_id") == "ann" else value
            try:
                store.batch([PutOp(namespace, key, written, index, ttl)])
            except InvalidValueError:
                continue
            kept[key] = written
        before = _said(store, namespace)
        order = [item.key for item in store.search(namespace, limit=99, refresh_ttl=False)]
    with MarkdownStore(root, index=None) as store:
        assert _said(store, namespace) == before
    shutil.rmtree(root / ".index")
    with MarkdownStore(root, index=None) as store:
        assert _said(store, namespace) == before
        assert [item.key for item in store.search(namespace, limit=99, refresh_ttl=False)] == order
        for key, value in kept.items():
            item = store.get(namespace, key)
            assert item is not None
            assert item.value == value
