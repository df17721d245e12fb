"""What embedding cost is kept for the next run."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.building import build
from langmem_plus.evals.datasets import read_dataset
from langmem_plus.evals.setups import make_setups
from langmem_plus.evals.vectors import keep_vectors, take_vectors
from langmem_plus.testing import BagOfWordsEmbeddings

Write = Callable[..., Path]


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> BagOfWordsEmbeddings:
    """What every store embeds with."""
    embedder = BagOfWordsEmbeddings()
    monkeypatch.setattr("langmem_plus.store.markdown.indexing.make_embeddings", lambda *_: embedder)
    return embedder


def test_texts_are_embedded_once(tmp_path: Path, dataset_file: Write, embedder: BagOfWordsEmbeddings) -> None:
    """By the first store that holds them; only what a new store is given first isn't looked for in the folder."""
    (sample,) = read_dataset(dataset_file("locomo")).samples
    (setup, _) = make_setups([], MemoryConfig())
    build(sample, tmp_path / "first", setup, tmp_path / "cache")
    assert any("Oslo" in text for text in embedder.texts)
    embedder.clear()
    build(sample, tmp_path / "second", setup, tmp_path / "cache")
    assert not any("Oslo" in text for text in embedder.texts)
    embedder.clear()
    build(sample, tmp_path / "apart", setup)
    assert any("Oslo" in text for text in embedder.texts)


def test_only_what_belongs_to_a_text_is_kept(tmp_path: Path) -> None:
    """A store's other numbers are its own; what another version wrote differently stays as it is."""
    for number, columns in enumerate(("hash BLOB PRIMARY KEY, vector BLOB", "hash BLOB, other BLOB")):
        folder = tmp_path / f"store{number}" / ".vectors"
        folder.mkdir(parents=True)
        with contextlib.closing(sqlite3.connect(folder / "x.db")) as db:
            db.execute(f"CREATE TABLE vectors ({columns})")
            db.execute("CREATE TABLE prolonged (key BLOB, ttl REAL)")
            db.execute("INSERT INTO vectors VALUES (?, 'v')", (number,))
            db.execute("INSERT INTO prolonged VALUES (1, 2)")
            db.commit()
        for _ in range(2):
            keep_vectors(folder.parent, tmp_path / "cache")
    with contextlib.closing(sqlite3.connect(tmp_path / "cache" / "x.db")) as db:
        assert db.execute("SELECT * FROM vectors").fetchall() == [(0, "v")]
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name='prolonged'").fetchone() == (0,)


def test_nothing_known_is_no_error(tmp_path: Path) -> None:
    """A folder that isn't there gives nothing, and is made when something is kept."""
    take_vectors(tmp_path / "none", tmp_path / "store")
    keep_vectors(tmp_path / "store", tmp_path / "kept")
    assert (tmp_path / "store" / ".vectors").is_dir()
    assert not list((tmp_path / "kept").iterdir())
