"""Vectors, by model and text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.windows import write_windows
from langmem_plus.store.refused import text_hash

NOW = "2026-05-01T10:00:00.000000Z"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def _put(index: Index, key: str, value: dict[str, Any]) -> int:
    entry = Entry(key, value, NOW, NOW)
    with index.writing():
        row_id = index.put(entry, describe(entry, None), f"items/{key}.md", Stamp(1, 2, 3))
        write_windows(index, [row_id])
    return row_id


def _drop(index: Index, *keys: str) -> None:
    with index.writing():
        for key in keys:
            index.remove(key)
        write_windows(index, [])


def test_vectors_are_kept_by_model_and_text(index: Index) -> None:
    """The version changes with every write elsewhere; what arrives here is told once."""
    seen = {index.vectors.version()}
    index.vectors.put("m", {b"a": b"1"})
    seen.add(index.vectors.version())
    index.vectors.put("m", {b"a": b"2"})
    index.vectors.put("n", {b"a": b"3"})
    assert (index.vectors.take_arrived(), index.vectors.take_arrived()) == ([b"a", b"a", b"a"], [])
    assert index.vectors.get("m", [b"a"]) == {b"a": b"2"}
    assert index.vectors.get("n", [b"a"]) == {b"a": b"3"}
    assert index.vectors.known("m", [bytes([n]) for n in range(256)] * 5 + [b"a"]) == {b"a"}
    other = sqlite3.connect(next(file for _, name, file in index.db.execute("PRAGMA database_list") if name == "paid"))
    with other:
        other.execute("INSERT INTO vectors VALUES('m', x'62', x'34')")
    other.close()
    seen.add(index.vectors.version())
    assert len(seen) == 2


def test_the_texts_of_items_come_with_their_vectors(index: Index) -> None:
    """None where one waits; those of a removed item are gone."""
    first = _put(index, "a", {"text": "tea", "content": "milk"})
    second = _put(index, "b", {"text": "tea"})
    index.vectors.put("m", {text_hash("tea"): b"1234"})
    tea, milk = text_hash("tea"), text_hash("milk")
    assert index.vectors.of_items(0, "m") == [(first, tea, b"1234"), (first, milk, None), (second, tea, b"1234")]
    _drop(index, "a")
    assert index.vectors.of_items(0, "m") == [(second, tea, b"1234")]


def test_a_vector_of_another_size_is_not_the_one_that_is_known(index: Index) -> None:
    """Where the size is told."""
    index.vectors.put("m", {b"a": b"1234", b"b": b"12345678"})
    assert index.vectors.known("m", [b"a", b"b"]) == {b"a", b"b"}
    assert index.vectors.known("m", [b"a", b"b"], 2) == {b"b"}
