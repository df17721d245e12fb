"""The second view of a turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.windows import write_windows

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


def _turn(index: Index, key: str, text: str, turn: int, thread: str = "t", **fields: Any) -> int:
    value = {"role": "user", "status": "active", "thread_id": thread, "text": text, "metadata": {"turn": turn}}
    return _put(index, key, {**value, **fields})


def _drop(index: Index, *keys: str) -> None:
    with index.writing():
        for key in keys:
            index.remove(key)
        write_windows(index, [])


def _words(index: Index) -> dict[str, str]:
    """Key → the words of its second view."""
    rows = dict(index.db.execute("SELECT id, key FROM items"))
    return {rows[row_id]: text for row_id, text in index.tokens(list(rows), "windows").items()}


def test_a_turn_is_found_by_its_neighbours_words(index: Index) -> None:
    """One before and one after, in the order of the thread and not of the writing."""
    _turn(index, "3", "third", 3)
    _turn(index, "1", "first", 1)
    _turn(index, "2", "second", 2)
    _turn(index, "4", "fourth", 4)
    _turn(index, "x", "elsewhere", 2, thread="other")
    _put(index, "lone", {"text": "lonely"})
    assert _words(index) == {
        "1": "first second",
        "2": "first second third",
        "3": "second third fourth",
        "4": "third fourth",
    }  # a turn or an item that stands alone has no more than its own words


def test_when_a_turn_goes_its_neighbours_become_neighbours(index: Index) -> None:
    """Removed, moved to another thread, retired, or said at another time."""
    for n in range(1, 6):
        _turn(index, str(n), f"word{n}", n)
    _drop(index, "3")
    assert _words(index)["2"] == "word1 word2 word4"
    _turn(index, "2", "word2", 2, thread="other")
    assert _words(index) == {"1": "word1 word4", "4": "word1 word4 word5", "5": "word4 word5"}
    _turn(index, "4", "word4", 4, status="superseded")
    assert _words(index) == {"1": "word1 word5", "5": "word1 word5"}
    _turn(index, "1", "word1", 9)
    assert _words(index)["5"] == "word5 word1"
    _drop(index, "1", "5")
    assert _words(index) == {}


def test_a_changed_turn_keeps_its_place_among_equals(index: Index) -> None:
    """Turns that say nothing of their order stand in that of their first writing."""
    for key in "abc":
        _put(
            index,
            key,
            {"role": "user", "status": "active", "thread_id": "t", "text": f"word{key}", "created_at": NOW},
        )
    _put(index, "a", {"role": "user", "status": "active", "thread_id": "t", "text": "new", "created_at": NOW})
    assert _words(index) == {"a": "new wordb", "b": "new wordb wordc", "c": "wordb wordc"}


def test_a_turn_without_words_still_stands_between(index: Index) -> None:
    """It has none of its own, and is found by those of its neighbours."""
    for n, text in enumerate(["tea", "…", "milk"]):
        _turn(index, str(n), text, n)
    assert _words(index) == {"1": "tea milk"}  # the others find nothing new beside them
