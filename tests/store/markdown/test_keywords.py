"""Keyword scores from postings that are kept: FTS5's own numbers, after whatever was written."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.store.markdown import keywords
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.windows import write_windows
from langmem_plus.text import tokens

NOW = "2026-05-01T10:00:00.000000Z"
TERMS = ["tea", "milk", "jazz", "rome"]
TEXT = st.lists(st.sampled_from([*TERMS, "the", "wine"]), max_size=8).map(" ".join)
TURN = st.tuples(st.sampled_from("abcdef"), TEXT, st.sampled_from(["t1", "t2", None]), st.integers(0, 3))
CHANGES = st.lists(st.one_of(TURN, st.sampled_from("abcdef")), min_size=1, max_size=25)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def put(index: Index, key: str, text: str, thread: str | None = None, turn: int = 0) -> None:
    """Write an item, or a turn of a thread."""
    value: dict[str, object] = {"text": text}
    if thread:
        value = {
            "id": key, "role": "user", "text": text, "user_id": "ann", "thread_id": thread, "status": "active",
            "metadata": {"turn": turn, "position": 0}, "created_at": NOW, "updated_at": NOW,
        }  # fmt: skip
    entry = Entry(key, value, NOW, NOW)
    with index.writing():
        row_id = index.put(entry, describe(entry, None), f"items/{key}.md", Stamp(1, 2, 3))
        write_windows(index, [row_id])


def drop(index: Index, key: str) -> None:
    """Remove an item."""
    with index.writing():
        index.remove(key)
        write_windows(index, [])


def by_fts(index: Index, view: str, terms: list[str]) -> dict[int, float]:
    """What FTS5 itself says of a table that holds the whole view: windows where there are some, else the words."""
    ids = [row_id for (row_id,) in index.db.execute("SELECT id FROM items")]
    texts = {**index.tokens(ids), **(index.tokens(ids, "windows") if view == "windows" else {})}
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE whole USING fts5(tokens, tokenize='ascii')")
        db.executemany("INSERT INTO whole(rowid, tokens) VALUES(?, ?)", sorted(texts.items()))
        query = " OR ".join(f'"{term}"' for term in terms)
        return dict(db.execute("SELECT rowid, -bm25(whole) FROM whole WHERE whole MATCH ?", (query,)))


def by_us(index: Index, catalog: Catalog, view: str, terms: list[str], pool: int = 10_000) -> dict[int, float]:
    """The scores of the living items."""
    rows = catalog.select(None)
    scores = getattr(catalog, view).scores(index, catalog, terms, rows, pool)
    hit = np.isfinite(scores)
    return dict(zip(catalog.ids(rows[hit]).tolist(), scores[hit].tolist(), strict=True))


@settings(max_examples=60)
@given(changes=CHANGES, looks=st.integers(1, 4))
def test_the_scores_are_those_of_fts5(changes: list[object], looks: int) -> None:
    """In both views, for any words, after any writes, whether they are followed one by one or many at once."""
    with tempfile.TemporaryDirectory() as folder, closing(Index(None, Path(folder, "vectors.db"))) as index:
        follow(index, changes, looks)


def follow(index: Index, changes: list[object], looks: int) -> None:
    """Make the changes, and compare the scores at every so many of them."""
    catalog = Catalog(None)
    for number, change in enumerate(changes):
        if isinstance(change, tuple):
            put(index, *change)
        elif isinstance(change, str):
            drop(index, change)
        if number % looks == 0 or number == len(changes) - 1:
            catalog.refresh(index)
            for view in ("words", "windows"):
                for terms in (["tea"], tokens("milk jazz"), TERMS):
                    assert by_us(index, catalog, view, terms) == pytest.approx(by_fts(index, view, terms), rel=1e-5)


def test_the_best_are_kept(index: Index) -> None:
    """As many as the pool holds, of the rows that are asked for; no term finds nothing."""
    for n in range(6):
        put(index, f"k{n}", " ".join(["tea"] * n + ["milk"] * 5))
    put(index, "other", "wine")
    catalog = Catalog(None)
    catalog.refresh(index)
    everything = by_us(index, catalog, "words", ["tea"])
    assert len(everything) == 5
    best = sorted(everything, key=everything.__getitem__, reverse=True)
    assert list(by_us(index, catalog, "words", ["tea"], 2)) == sorted(best[:2])
    assert by_us(index, catalog, "words", []) == {}
    few = catalog.words.scores(index, catalog, ["tea"], catalog.rows_of([1, best[0]]), 10)
    assert np.isnan(few[0]) and few[1] == pytest.approx(everything[best[0]])


def test_terms_may_be_scored_apart(index: Index) -> None:
    """Without the rarity of each term here, which is taken from elsewhere: BM25 all the same."""
    for n, text in enumerate(["tea milk", "tea tea honey", "wine", "tea"]):
        put(index, f"k{n}", text)
    catalog = Catalog(None)
    catalog.refresh(index)
    tea, milk, nothing = catalog.words.scores_apart(index, catalog, ["tea", "milk", "nothing"])
    length = (2 + 3 + 1 + 1) / 4

    def bm25(times: int, words: int) -> float:
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * words / length))

    assert tea == pytest.approx([bm25(1, 2), bm25(2, 3), np.nan, bm25(1, 1)], nan_ok=True)
    assert milk == pytest.approx([bm25(1, 2), *[np.nan] * 3], nan_ok=True)
    assert np.isnan(nothing).all()
    assert catalog.words.held(index, catalog, ["tea", "nothing"]) == {"tea": 3, "nothing": 0}
    assert catalog.words.total == 4
    assert catalog.words.holds(index, catalog, "tea", np.asarray([0, 2, 3])).tolist() == [True, False, True]


def test_what_is_kept_is_bounded(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is too much, it is read anew, and the scores are the same."""
    monkeypatch.setattr(keywords, "_KEPT", 3)
    for n in range(5):
        put(index, f"k{n}", "tea milk jazz")
    put(index, "other", "wine")
    catalog = Catalog(None)
    catalog.refresh(index)
    for _ in range(2):
        for term in ("tea", "milk", "jazz"):
            assert by_us(index, catalog, "words", [term]) == pytest.approx(by_fts(index, "words", [term]), rel=1e-5)
    assert len(catalog.words._terms) == 1
