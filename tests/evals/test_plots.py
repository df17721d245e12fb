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
from langmem_plus.evals.plots import _by_type, _found, _silence, _tokens, colours, plot
from langmem_plus.evals.recall import Place, evaluate
from langmem_plus.evals.setups import make_setups

Write = Callable[..., Path]


def test_figures_are_files(tmp_path: Path, dataset_file: Write) -> None:
    """Four PNG files, named as they are told, so that files of one name have figures each."""
    pytest.importorskip("matplotlib")
    dataset, setups = read_dataset(dataset_file("locomo")), make_setups([], MemoryConfig(embeddings="none"))
    result = evaluate(dataset, setups, Place(tmp_path / "stores", tmp_path / "vectors"), probes=False)
    written = plot(result, tmp_path / "new" / "figures", "a-locomo.v2")
    assert [path.name for path in written] == [
        "a-locomo.v2-found.png",
        "a-locomo.v2-by-type.png",
        "a-locomo.v2-tokens.png",
        "a-locomo.v2-silence.png",
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


def test_a_row_has_a_colour_of_its_own_in_every_figure() -> None:
    """However many rows there are; one that injects nothing is named without a point."""
    figures = pytest.importorskip("matplotlib.figure")
    assert all(len(set(colours(count))) == count for count in range(1, 60))
    assert all(colours(count)[:10] == colours(10) for count in range(10, 21))
    measures = {name: {"mean": 1.0, "low": 1.0, "high": 1.0} for name in ("recall@5", "ndcg@10")}
    rows = [
        {
            "name": f"row {n}",
            "tokens": {"mean": 0.0 if n == 3 else 90.0},
            "measures": {"ndcg@10": measures["ndcg@10"]} if n == 5 else measures,
            "by_kind": {"a": measures},
        }
        for n in range(13)
    ]
    found, by_type, tokens = (figures.Figure().add_subplot() for _ in range(3))
    _found(found, rows)
    _by_type(by_type, rows)
    _tokens(tokens, rows)
    bars = [
        [bar.patches[0].get_facecolor() for bar in axes.containers if hasattr(bar, "patches")]
        for axes in (found, by_type)
    ]
    points = [tuple(each.get_facecolor()[0][:3]) for each in tokens.collections]
    assert bars[0] == bars[1]
    assert len(set(bars[0])) == len(rows)
    assert points == [colour[:3] for n, colour in enumerate(bars[0]) if n not in (3, 5)]
    told = [text.get_text() for text in tokens.get_legend().get_texts()]
    assert (told[3], told[5], len(told)) == ("row 3: injects nothing", "row 5: no turn is evidence", len(rows))


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
