"""What searches read at every query, in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from langmem_plus.store.markdown import catalog as module
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.refused import text_hash

NOW = "2026-05-01T10:00:00.000000Z"
MODEL = "m"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def _put(index: Index, key: str, *vector: float, **value: Any) -> int:
    value = {"text": key, **value}
    entry = Entry(key, value, NOW, NOW)
    with index.writing():
        if vector:
            index.vectors.put(MODEL, {text_hash(value["text"]): np.asarray(vector, np.float32).tobytes()})
        return index.put(entry, describe(entry, ["text"]), f"items/{key}.md", Stamp(1, 2, 3))


def _remove(index: Index, key: str) -> None:
    with index.writing():
        index.remove(key)


def _turn(index: Index, key: str, turn: int, *vector: float, **value: Any) -> int:
    fields = {"role": "user", "status": "active", "thread_id": "t", "metadata": {"turn": turn}}
    return _put(index, key, *vector, **{**fields, **value})


def _cosines(catalog: Catalog, index: Index, *query: float) -> dict[str, tuple[float, float]]:
    """Key → its cosine alone and with its neighbours."""
    rows = catalog.select(None)
    keys = dict(index.db.execute("SELECT id, key FROM items"))
    alone, window = catalog.cosines(rows, np.asarray(query, np.float32))
    names = [keys[int(row_id)] for row_id in catalog.ids(rows)]
    return {name: (round(float(a), 3), round(float(w), 3)) for name, a, w in zip(names, alone, window, strict=True)}


def test_it_follows_what_is_written_and_removed(index: Index) -> None:
    """The living items, each in its last version, and nothing twice."""
    catalog = Catalog(None)
    keys = {}
    random.seed(7)
    for step in range(300):
        key = f"k{random.randrange(30)}"
        if random.random() < 0.3:
            _remove(index, key)
            keys.pop(key, None)
        else:
            keys[key] = _put(index, key)
        if step % 7 == 0:
            catalog.refresh(index)
            assert catalog.ids(catalog.select(None)).tolist() == sorted(keys.values())


def test_it_reads_everything_anew_when_it_lags_too_far(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """When more was dropped than is remembered, or most of what it holds is dead."""
    catalog = Catalog(MODEL)
    _put(index, "a", 1, 0)
    catalog.refresh(index)
    for where in ("connection", "index"):
        monkeypatch.setattr(f"langmem_plus.store.markdown.{where}.REMEMBERED_DROPS", 3)
    for _ in range(9):
        last = _put(index, "a", 1, 0)
    catalog.refresh(index)
    assert catalog.ids(catalog.select(None)).tolist() == [last]
    monkeypatch.setattr(module, "_DEAD", 2)
    for _ in range(9):
        last = _put(index, "b", 0, 1)
        catalog.refresh(index)
    assert len(catalog.ids(catalog.select(None))) == 2
    assert _cosines(catalog, index, 1, 0) == {"a": (1, 1), "b": (0, 0)}


def test_two_connections_that_write_in_turns(index: Index, tmp_path: Path) -> None:
    """What the other one wrote is neither missed nor read twice."""
    other = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    catalogs = [(index, Catalog(MODEL)), (other, Catalog(MODEL))]
    for n in range(20):
        writer = (index, other)[n % 2]
        _put(writer, f"k{n % 7}", 1, n)
        for reader, catalog in catalogs:
            catalog.refresh(reader)
            assert len(catalog.select(None)) == min(n + 1, 7)
    other.close()


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (None, "abcd"),
        ({"role": "user"}, "a"),
        ({"role": {"$eq": "user"}}, "a"),
        ({"role": {"$ne": "user"}}, "bcd"),
        ({"status": {"$ne": "deleted"}, "role": "memory"}, "b"),
        ({"role": "nobody"}, ""),
        ({"role": {"$ne": "nobody"}}, "abcd"),
        ({"thread_id": "t"}, "a"),
        ({"role": None}, "abcd"),
        ({"role": ["user"]}, "abcd"),
        ({"other": "x"}, "abcd"),
        ({"role": {"$gt": "a"}}, "abcd"),
    ],
    ids=repr,
)
def test_it_narrows_what_can_meet_a_filter(index: Index, condition: Any, found: str) -> None:
    """By role, status and thread; never more than that, since the values themselves decide."""
    _turn(index, "a", 1)
    _put(index, "b", role="memory", status="active")
    _put(index, "c", role="memory", status="deleted")
    _put(index, "d", role=5)
    catalog = Catalog(None)
    catalog.refresh(index)
    keys = dict(index.db.execute("SELECT id, key FROM items"))
    assert "".join(keys[int(i)] for i in catalog.ids(catalog.select(condition))) == found


def test_a_window_is_a_turn_and_half_of_each_neighbour(index: Index) -> None:
    """A neighbour that is missing, or has no vector, doesn't count."""
    _turn(index, "a", 1, 1, 0)
    _turn(index, "b", 2, 0, 1)
    _turn(index, "c", 3, 0, 1)
    _turn(index, "d", 4)
    _put(index, "lone", 1, 0)
    catalog = Catalog(MODEL)
    catalog.refresh(index)
    found = _cosines(catalog, index, 1, 0)
    assert str(found.pop("d")) == "(nan, nan)"
    assert found == {"a": (1, 0.667), "b": (0, 0.25), "c": (0, 0), "lone": (1, 1)}


def test_a_removed_turn_is_nobodys_neighbour(index: Index) -> None:
    """Its old neighbours are neighbours then; so are those of a turn that moved or was retired."""
    catalog = Catalog(MODEL)
    for n, key in enumerate("abcd"):
        _turn(index, key, n, 1 if key == "b" else 0, 0 if key == "b" else 1)
    catalog.refresh(index)
    assert _cosines(catalog, index, 1, 0)["c"] == (0, 0.25)
    _remove(index, "b")
    catalog.refresh(index)
    assert _cosines(catalog, index, 1, 0) == {"a": (0, 0), "c": (0, 0), "d": (0, 0)}
    _turn(index, "d", 9, 1, 0)
    catalog.refresh(index)
    assert _cosines(catalog, index, 1, 0)["c"] == (0, 0.25)
    _turn(index, "d", 9, 1, 0, status="superseded")
    catalog.refresh(index)
    assert _cosines(catalog, index, 1, 0) == {"a": (0, 0), "c": (0, 0), "d": (1, 1)}


def test_an_item_counts_with_its_best_vector(index: Index) -> None:
    """And hands that one out."""
    with index.writing():
        index.vectors.put(
            MODEL, {text_hash("x"): np.float32([1, 0]).tobytes(), text_hash("y"): np.float32([0, 1]).tobytes()}
        )
        entry = Entry("k", {"a": "x", "b": "y"}, NOW, NOW)
        row_id = index.put(entry, describe(entry, ["a", "b"]), "items/k.md", Stamp(1, 2, 3))
    other = _put(index, "other", 0, 1)
    catalog = Catalog(MODEL)
    catalog.refresh(index)
    query = np.float32([0.8, 0.6])
    assert _cosines(catalog, index, 0.8, 0.6)["k"] == (0.8, 0.8)
    found = catalog.nearest_vectors([other, row_id, 999], query)
    assert {key: vector.tolist() for key, vector in found.items()} == {row_id: [1, 0], other: [0, 1]}
    late = _put(index, "late", 0, 1)
    catalog.refresh(index)
    assert set(catalog.nearest_vectors([late, row_id], query)) == {late, row_id}


def test_what_waits_is_known_until_its_vector_comes_or_it_goes(index: Index, tmp_path: Path) -> None:
    """A vector that another connection brings counts; a removed item's text waits no more, nor hides what does."""
    catalog = Catalog(MODEL)
    first, second = _put(index, "a"), _put(index, "b")
    _put(index, "same", text="b")
    catalog.refresh(index)
    assert catalog.waiting == [text_hash("a"), text_hash("b")]
    _remove(index, "a")
    catalog.refresh(index)
    assert catalog.waiting == [text_hash("b")]
    other = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    other.vectors.put(MODEL, {text_hash("b"): np.float32([1, 0]).tobytes()})
    other.close()
    catalog.refresh(index)
    assert catalog.waiting == []
    assert _cosines(catalog, index, 1, 0) == {"b": (1, 1), "same": (1, 1)}
    assert set(catalog.nearest_vectors([first, second], np.float32([1, 0]))) == {second}


def test_vectors_are_only_looked_for_when_some_may_have_come(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an embedder that is down, thousands may wait at every search."""
    catalog = Catalog(MODEL)
    _put(index, "a")
    catalog.refresh(index)
    monkeypatch.setattr(index.vectors, "get", None)
    catalog.refresh(index)
    assert catalog.count_waiting() == 1


def test_vectors_of_another_size_are_left_aside(index: Index) -> None:
    """They can't be compared; a question of another size finds nothing by cosine."""
    _put(index, "a", 1, 0)
    _put(index, "b", 1, 0, 0)
    catalog = Catalog(MODEL)
    catalog.refresh(index)
    assert str(_cosines(catalog, index, 1, 0)["b"]) == "(nan, nan)"
    assert str(_cosines(catalog, index, 1, 0, 0)["a"]) == "(nan, nan)"
    assert catalog.nearest_vectors([1], np.float32([1, 0, 0])) == {}


def test_a_failed_reading_leaves_it_as_it_was(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one reads the same again, and nothing twice."""
    catalog = Catalog(MODEL)
    _put(index, "a", 1, 0)

    def fail(*args: Any) -> Any:
        raise TimeoutError

    with monkeypatch.context() as patch, pytest.raises(TimeoutError):
        patch.setattr(index, "outlines", fail)
        catalog.refresh(index)
    catalog.refresh(index)
    assert len(catalog.select(None)) == 1
    assert _cosines(catalog, index, 1, 0) == {"a": (1, 1)}


def test_vectors_of_another_size_wait_to_be_made_anew(index: Index) -> None:
    """As soon as the embedder's size is known to be another; until then they are the ones to compare with."""
    _put(index, "old", 1.0, 0.0)
    catalog = Catalog(MODEL)
    catalog.refresh(index)
    assert _cosines(catalog, index, 1.0, 0.0) == {"old": (1.0, 1.0)}
    catalog.refresh(index, 3)
    assert catalog.waiting == [text_hash("old")]
    _put(index, "new", 0.0, 0.0, 1.0)
    catalog.refresh(index, 3)
    assert catalog.waiting == [text_hash("old")]
    with index.writing_vectors():
        index.vectors.put(MODEL, {text_hash("old"): np.float32([0, 1, 0]).tobytes()})
    catalog.refresh(index, 3)
    assert catalog.waiting == []
    assert _cosines(catalog, index, 0.0, 1.0, 0.0) == {"old": (1.0, 1.0), "new": (0.0, 0.0)}
    catalog.refresh(index)
    assert catalog.waiting == []
