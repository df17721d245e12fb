"""Figures of a measurement."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import MissingExtraError
from langmem_plus.evals.datasets import read_dataset
from langmem_plus.evals.plots import _silence, _tokens, plot
from langmem_plus.evals.recall import Place, evaluate
from langmem_plus.evals.setups import make_setups

Write = Callable[..., Path]


def test_figures_are_files(tmp_path: Path, dataset_file: Write) -> None:
    """Four PNG files, named after the data."""
    pytest.importorskip("matplotlib")
    dataset, setups = read_dataset(dataset_file("locomo")), make_setups([], MemoryConfig(embeddings="none"))
    result = evaluate(dataset, setups, Place(tmp_path / "stores", tmp_path / "vectors"), probes=False)
    written = plot(result, tmp_path / "new" / "figures")
    assert [path.name for path in written] == [
        "locomo-found.png",
        "locomo-by-type.png",
        "locomo-tokens.png",
        "locomo-silence.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_without_matplotlib_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written."""
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"langmem-plus\[plot\]"):
        plot({"dataset": {"file": "x.json"}, "rows": []}, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_shares_stay_within_a_hundred_percent() -> None:
    """Of one question as of many; no axis goes on above 100 %, where nothing can be."""
    figures = pytest.importorskip("matplotlib.figure")
    answers = [{"probe": "", "score": 0.9}, *({"probe": "nonsense", "score": n / 100} for n in range(100))]
    row = {"name": "default", "answers": answers, "tokens": {"mean": 90.0}, "measures": {"recall@5": {"mean": 1.0}}}
    silence, tokens = (figures.Figure().add_subplot() for _ in range(2))
    _silence(silence, [row])
    _tokens(tokens, [row, {**row, "tokens": {"mean": 0.0}}])
    shares = [line.get_ydata() for line in silence.get_lines()]
    assert [(min(each), max(each)) for each in shares] == [(0, 100), (0, 100)]
    assert len(tokens.collections) == 1
    assert all(axes.get_ylim()[1] < 105 for axes in (silence, tokens))
