"""Figures of a measurement: what is found, by type of question, against tokens, and how well silence is told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langmem_plus.errors import MissingExtraError

_SHOWN = ("recall@5", "recall@10", "ndcg@10", "session recall@5")
_PERCENT = (-3, 103)  # so that marks at 0 and 100 are whole
_MARKERS = "osD^vP*X"
_MOST = 20  # rows that a legend has in one column, and whose colours are from a list made for telling them apart
_DPI, _WIDTH, _HEIGHT = 120, 9.0, 4.5


def plot(result: Mapping[str, Any], folder: Path, label: str | None = None) -> list[Path]:
    """Write the figures of one measurement of recall as PNG files.

    Args:
        result: what `langmem_plus.evals.recall.evaluate` gives.
        folder: made when missing.
        label: what the files' names begin with; the data's name, without its ending, where there is none.

    Returns:
        The files.

    Raises:
        MissingExtraError: matplotlib isn't installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("--plot", "plot") from error
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    stem = label or Path(result["dataset"]["file"]).stem
    written = []
    figures: tuple[tuple[str, Callable[[Any, Sequence[Mapping[str, Any]]], None]], ...] = (
        ("found", _found),
        ("by-type", _by_type),
        ("tokens", _tokens),
        ("silence", _silence),
    )
    for name, draw in figures:
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        draw(axes, result["rows"])
        axes.set_title(f"{stem}: {axes.get_title()}")
        path = folder / f"{stem}-{name}.png"
        figure.savefig(path, dpi=_DPI)
        written.append(path)
    return written


def colours(count: int) -> list[Any]:
    """As many different colours, the same in every figure of a run: the first ten are those that matplotlib begins
    with, their lighter kin follow.
    """
    from matplotlib import colormaps

    if count > _MOST:
        return [colormaps["turbo"](number / (count - 1)) for number in range(count)]
    pairs = [colormaps["tab20"](number) for number in range(_MOST)]
    return (pairs[::2] + pairs[1::2])[:count]


def _legend(axes: Any, count: int) -> None:
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), ncols=1 + (count - 1) // _MOST)


def _found(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    shades = colours(len(rows))
    names = [name for name in _SHOWN if any(name in row["measures"] for row in rows)]
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        known = [(place, row["measures"][name]) for place, name in enumerate(names) if name in row["measures"]]
        places = [place + (number - (len(rows) - 1) / 2) * width for place, _ in known]
        means = [100 * each["mean"] for _, each in known]
        below = [100 * (each["mean"] - each["low"]) for _, each in known]
        above = [100 * (each["high"] - each["mean"]) for _, each in known]
        axes.bar(places, means, width, yerr=[below, above], capsize=2, color=[shades[number]], label=row["name"])
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(0, _PERCENT[1])
    axes.set_ylabel("% (bars: 95 % interval)")
    axes.set_title("what is found")
    _legend(axes, len(rows))


def _by_type(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    kinds, shades = list(rows[0]["by_kind"]), colours(len(rows))
    height = 0.8 / len(rows)
    for number, row in enumerate(rows):
        means = [100 * row["by_kind"][kind].get("recall@5", {"mean": 0.0})["mean"] for kind in kinds]
        places = [place + (number - (len(rows) - 1) / 2) * height for place in range(len(kinds))]
        axes.barh(places, means, height, color=[shades[number]], label=row["name"])
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlim(0, _PERCENT[1])
    axes.set_xlabel("recall@5, %")
    axes.set_title("by type of question")
    _legend(axes, len(rows))


def _tokens(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """One point a row; a legend names them, since points of like settings lie upon each other, and says which rows have
    none.
    """
    shades = colours(len(rows))
    shown = [row for row in rows if row["tokens"]["mean"] and "recall@5" in row["measures"]]
    for number, row in enumerate(rows):
        if row in shown:
            spot = row["tokens"]["mean"], 100 * row["measures"]["recall@5"]["mean"]
            look: dict[str, Any] = {"marker": _MARKERS[number % len(_MARKERS)], "color": [shades[number]]}
            axes.scatter(*spot, s=60, alpha=0.8, label=row["name"], **look)
        else:
            why = "no turn is evidence" if row["tokens"]["mean"] else "injects nothing"
            axes.plot([], [], linestyle="none", label=f"{row['name']}: {why}")
    axes.set_ylim(*_PERCENT)
    axes.set_xlim(0, 1.1 * max((row["tokens"]["mean"] for row in shown), default=1.0))
    axes.set_xlabel("tokens injected, mean")
    axes.set_ylabel("recall@5, %")
    axes.set_title("accuracy against tokens")
    if rows:
        _legend(axes, len(rows))


def _silence(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """How many questions with an answer, and of the others, a threshold would refuse, in the first row."""
    scores: dict[str, list[float]] = {}
    for answer in rows[0]["answers"]:
        scores.setdefault(answer["probe"] or "answerable", []).append(answer["score"])
    for name, values in scores.items():
        refused = [100 * n / len(values) for n in range(len(values) + 1)]
        last = max(1.0, *values)
        axes.step([0, *sorted(values), last], [*refused, 100], where="post", label=f"{name} ({len(values)})")
    axes.set_ylim(*_PERCENT)
    axes.set_xlabel("threshold: relevance of the best hit")
    axes.set_ylabel("questions at or below it, %")
    axes.set_title(f"telling silence apart ({rows[0]['name']})")
    _legend(axes, len(scores))
