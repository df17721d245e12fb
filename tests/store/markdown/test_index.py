"""What a namespace's database says of its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.records import MemoryRecord
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import DUPLICATE, UNREADABLE, Index, _read_json, rarity
from langmem_plus.store.markdown.windows import write_windows
from langmem_plus.store.refused import text_hash

STAMP = Stamp(1, 2, 3)
EARLY, LATE = "2026-05-01T10:00:00.000000Z", "2026-05-02T10:00:00.000000Z"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def _entry(key: str, value: dict[str, Any], updated_at: str = EARLY) -> Entry:
    return Entry(key, value, EARLY, updated_at)


def _put(index: Index, key: str, value: dict[str, Any], path: str | None = None, updated_at: str = EARLY) -> int:
    entry = _entry(key, value, updated_at)
    with index.writing():
        row_id = index.put(entry, describe(entry, None), path or f"items/{key}.md", STAMP)
        write_windows(index, [row_id])
    return row_id


def _drop(index: Index, *keys: str) -> None:
    with index.writing():
        for key in keys:
            index.remove(key)
        write_windows(index, [])


def test_an_update_is_a_new_version(index: Index) -> None:
    """With a higher id; the old one is gone in every table, and told to who follows."""
    first = _put(index, "k", {"text": "green tea"})
    before = index.position()
    second = _put(index, "k", {"text": "black coffee"})
    assert second > first
    assert index.count() == 1
    assert index.dropped(before[1]) == [first]
    assert [outline[0] for outline in index.outlines(before[0])] == [second]
    assert index.postings("words", "tea") == []
    assert index.postings("words", "coffe") == [(second, 1)]
    assert index.vectors.texts([text_hash("green tea"), text_hash("black coffee")]) == {"black coffee": "k"}


def test_ids_are_never_used_twice(index: Index) -> None:
    """Not even the highest one of a removed item: a follower would take the new item for the old one."""
    first = _put(index, "a", {"text": "tea"})
    _drop(index, "a")
    assert _put(index, "b", {"text": "milk"}) > first


def test_a_file_holds_one_item(index: Index) -> None:
    """A new key in a file takes the place of the old one, and nothing of it."""
    record = MemoryRecord(id="a", text="tea", user_id="ann").to_value()
    _put(index, "a", record, "facts/x.md")
    with index.writing():
        index.set_scores({"a": '{"total": 0.5}'})
    _put(index, "b", {**record, "id": "b"}, "facts/x.md")
    row = index.get("b")
    assert index.get("a") is None
    assert row is not None
    assert row.load_value()["last_scores"] is None


def test_scores_are_the_indexs_own(index: Index) -> None:
    """They stay over an update without scores; an update with scores brings its own; a foreign value has none."""
    value = MemoryRecord(id="k", text="tea", user_id="ann").to_value()
    _put(index, "k", value)
    with index.writing():
        index.set_scores({"k": '{"total": 0.5}', "nobody": "{}"})
    _put(index, "k", {**value, "text": "coffee"})
    assert index.get("k").load_value()["last_scores"] == {"total": 0.5}  # type: ignore[union-attr]
    own = {"relevance": 0.0, "recency": 0.0, "importance": 0.0, "total": 0.25, "computed_at": None}
    _put(index, "k", {**value, "last_scores": own})
    assert index.get("k").load_value()["last_scores"] == own  # type: ignore[union-attr]
    _put(index, "k", {"text": "foreign", "last_scores": 7})
    assert index.get("k").load_value() == {"text": "foreign", "last_scores": 7}  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["tea", "", "a\0b", "\ud800", "x\udcff.md", "用户"])
def test_any_text_is_a_key_a_path_and_a_thread(index: Index, text: str) -> None:
    """Also one that has no UTF-8."""
    _put(index, text, {"role": "user", "status": "active", "thread_id": text, "text": f"about {text}"}, f"items/{text}")
    row = index.get(text)
    assert row is not None
    assert (row.key, row.path) == (text, f"items/{text}")
    assert list(index.files.all()) == [f"items/{text}"]
    assert index.holder(f"items/{text}") == (text, EARLY)
    assert index.outlines(0)[0][3] == text
    assert index.vectors.texts([text_hash(f"about {text}")]) == {f"about {text}": text}
    with index.writing():
        index.skip(f"items/{text}", STAMP, UNREADABLE, text)
    assert index.skipped() == {f"items/{text}": (UNREADABLE, text)}
    assert index.count() == 0


def test_newest_first_page_by_page(index: Index) -> None:
    """By the last update, then by the id; a position continues where a page ended."""
    ids = {key: _put(index, key, {"n": 1}, updated_at=time) for key, time in [("a", LATE), ("b", EARLY), ("c", EARLY)]}
    assert [row.key for row in index.newest(None, "1", [])] == ["a", "c", "b"]
    assert [row.key for row in index.newest((EARLY, ids["c"]), "1", [])] == ["b"]
    assert index.newest(None, "role IS ?", ["user"]) == []


def test_postings_and_lengths(index: Index) -> None:
    """Which items hold a word, how often, and how many words each has; an item without words has neither."""
    ids = [_put(index, f"k{n}", {"text": " ".join(["tea"] * n + ["milk"] * 5)}) for n in range(4)]
    empty = _put(index, "empty", {})
    assert index.postings("words", "tea") == [(ids[1], 1), (ids[2], 2), (ids[3], 3)]
    assert index.postings("words", "wine") == []
    assert index.lengths("words", [*ids, empty]) == [(ids[n], 5 + n) for n in range(4)]
    long = _put(index, "long", {"text": " ".join(f"word{n}" for n in range(40_000))})
    assert index.lengths("words", [long]) == [(long, 40_000)]
    many = list(range(1, 2000))
    assert dict(index.lengths("windows", many)) == dict(index.lengths("windows", [*ids, long]))


def test_rarity_is_above_zero_and_falls() -> None:
    """Also for a word that every item holds; a word that nobody holds is the rarest."""
    found = rarity(4, {"tea": 4, "milk": 3, "wine": 0})
    assert 0 < found["tea"] < found["milk"] < found["wine"]
    assert rarity(0, {}) == {}


def test_drops_are_remembered_for_a_while(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for more than is remembered is told so."""
    for module in ("connection", "index"):
        monkeypatch.setattr(f"langmem_plus.store.markdown.{module}.REMEMBERED_DROPS", 3)
    ids = [_put(index, "k", {"n": n}) for n in range(6)]
    assert index.dropped(0) is None
    assert index.dropped(2) == ids[2:5]
    assert index.db.execute("SELECT count(*) FROM gone").fetchone() == (4,)


def test_a_value_is_kept_as_json(index: Index) -> None:
    """Each reading gives a fresh one; a row says the same as an entry by type, not by Python's equality."""
    _put(index, "k", {"n": 1, "list": [True]})
    row = index.get("k")
    assert row is not None
    row.load_value()["list"].append(2)
    assert row.load_value() == {"n": 1, "list": [True]}
    assert row.says(_entry("k", {"list": [True], "n": 1}))
    for other in ({"n": True, "list": [True]}, {"n": 1.0, "list": [True]}, {"n": 1, "list": [1]}):
        assert not row.says(_entry("k", other))
    assert not row.says(Entry("k", {"n": 1, "list": [True]}, EARLY, EARLY, index=False))
    assert not row.says(Entry("k", {"n": 1, "list": [True]}, LATE, EARLY))
    assert json.loads(row.json) == {"n": 1, "list": [True]}


def test_duplicates_are_told_from_unreadable_files(index: Index) -> None:
    """With the words for it."""
    with index.writing():
        index.skip("facts/a.md", STAMP, DUPLICATE, "as b")
        index.skip("facts/a.md", STAMP, UNREADABLE, "no YAML")
    assert index.skipped() == {"facts/a.md": (UNREADABLE, "no YAML")}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_value_is_read_as_json_reads_it(value: Any) -> None:
    """To the last bit of a number, in its order, and with halves of surrogate pairs."""
    read = _read_json(json.dumps(value))
    assert (read, repr(read)) == (value, repr(value))


def test_a_deep_value_is_read() -> None:
    """However deep it is nested, as long as it could be written."""
    text = "[" * 400 + "]" * 400
    assert _read_json(text) == json.loads(text)
