"""Exact search beside Chroma's: what is compared is there, and both find the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from langmem_plus.evals.bench.__main__ import app
from langmem_plus.evals.bench.dense import ClusteredEmbeddings
from langmem_plus.evals.bench.rivals import StoreRival, open_rivals
from langmem_plus.evals.scale import HashEmbeddings, ScaleMemory

pytest.importorskip("chromadb")


@pytest.mark.parametrize("vectors", ["clustered", "hashed"])
def test_the_command_compares_both(tmp_path: Path, vectors: str) -> None:
    """Every column, for every size, with either kind of vectors."""
    written = tmp_path / "figures.json"
    options = ["--sizes", "40", "--vectors", vectors, "--json", str(written)]
    result = CliRunner().invoke(app, ["chroma", *options])
    assert result.exit_code == 0, result.output
    exact, chroma = json.loads(written.read_text())["rows"]
    assert (exact["mode"], exact["recall"], chroma["mode"]) == ("exact", 1.0, "chroma")
    assert chroma["recall"] > 0.9
    assert chroma["fill"] > exact["fill"]
    assert exact["vectors"]["count"] == exact["both"]["count"] > 0
    assert "recall" in result.output
    assert CliRunner().invoke(app, ["chroma", "--vectors", "odd"]).exit_code == 2


def test_clustered_vectors_are_a_function_of_the_text() -> None:
    """Of unit length; those of one cluster are near each other, and no others."""
    embeddings, other = ClusteredEmbeddings(), ClusteredEmbeddings()
    vectors = np.stack([embeddings.vector(f"text {n}") for n in range(600)])
    assert np.array_equal(vectors[3], other.vector("text 3"))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    alike = vectors @ vectors.T
    assert 0.0 < np.mean(alike > 0.4) < 0.02


def test_equal_texts_in_a_batch(tmp_path: Path) -> None:
    """InMemoryStore fails on them, so they come in batches apart; every store has all of them."""
    same = [ScaleMemory(n, "u0", f"I like tea {n // 3}", ("u0", "x"), "tea?", "tea") for n in range(9)]
    for name, make in open_rivals(tmp_path, HashEmbeddings()).items():
        rival = make()
        rival.fill(same)
        assert len(rival.search("u0", "tea", 9)) == 9, name
        rival.close()
    rival = open_rivals(tmp_path / "again", HashEmbeddings())["InMemoryStore"]()
    assert isinstance(rival, StoreRival)
    assert [len(part) for part in rival._parts(same)] == [3, 3, 3]
