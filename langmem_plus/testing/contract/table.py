"""Which points stores hold, as a table. It needs no run: known failures are strict, so a passing suite proves it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from langmem_plus.testing.contract.base import ContractBase

POINTS = 45


def failing_points(suite: type[ContractBase]) -> list[int]:
    """The points of which a backend is known to fail a test."""
    found = (re.match(r"test_(\d\d)_", name) for name in suite.known_failures)
    return sorted({int(match[1]) for match in found if match} - suite.not_offered.keys())


def spans(points: Collection[int]) -> str:
    """Numbers in a short form.

    >>> spans([1, 2, 3, 7, 9, 10])
    '1–3, 7, 9, 10'
    """
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs and point == runs[-1][-1] + 1:
            runs[-1].append(point)
        else:
            runs.append([point])
    shown = (f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return ", ".join(shown) or "–"


def points_table(suites: Mapping[str, type[ContractBase]]) -> str:
    """One row a store in Markdown: how many of the points it holds, which ones it fails, which ones it leaves out."""
    lines = [f"| store | held of {POINTS} | fails | leaves out |", "|---|---|---|---|"]
    for name, suite in suites.items():
        fails, left_out = failing_points(suite), suite.not_offered
        held = POINTS - len(fails) - len(left_out)
        lines.append(f"| {name} | {held} | {spans(fails)} | {spans(left_out)} |")
    return "\n".join(lines) + "\n"
