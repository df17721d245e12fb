"""The benchmark of the store, at a size at which it takes no time: what it measures is there, and it finds the gold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langmem_plus.evals.bench import store as bench
from langmem_plus.evals.bench.__main__ import app
from langmem_plus.evals.bench.rivals import open_rivals
from langmem_plus.evals.bench.timing import Figure, Times, resident, stopwatch
from langmem_plus.evals.scale import HashEmbeddings, memories, questions


def test_every_store_finds_what_was_asked_for(tmp_path: Path) -> None:
    """A comparison of times is worth something only between stores that answer."""
    corpus, asked = list(memories(300, 3)), questions(300, 3, 30)
    for name, make in open_rivals(tmp_path, HashEmbeddings()).items():
        rival = make()
        rival.fill(corpus)
        found = [str(each.gold) in rival.search(each.user, each.text, 5) for each in asked]
        rival.close()
        assert sum(found) >= 24, name


def test_the_command_prints_tables_and_writes_json(tmp_path: Path) -> None:
    """Each figure with its target; a part that is switched off isn't measured."""
    written = tmp_path / "figures.json"
    options = ["--sizes", "60", "--single", "50", "--puts", "10", "--million", "120", "--users", "6"]
    result = CliRunner().invoke(app, ["store", *options, "--json", str(written)])
    assert result.exit_code == 0, result.output
    found = json.loads(written.read_text())
    assert {"MarkdownStore", "floor, partitioned", "InMemoryStore"} <= found["searches"].keys()
    assert found["searches"]["MarkdownStore"]["60"]["count"] > 0
    names = [figure["name"] for figure in found["figures"]]
    assert "memory with 200 namespaces visited" in names
    assert next(f for f in found["figures"] if "embedded again" in f["name"])["value"] == 0
    assert "MarkdownStore" in result.output

    nothing = CliRunner().invoke(app, ["store", "--sizes", "", "--single", "0", "--puts", "0"])
    assert nothing.exit_code == 0
    assert "floor" not in nothing.output


def test_a_large_store_is_made_once_and_measured_again(tmp_path: Path) -> None:
    """Its folder is kept where it is named."""
    said: list[str] = []
    root = tmp_path / "large"
    first = list(bench.time_many_namespaces(60, 4, root, said.append))
    made = len(said)
    again = next(iter(bench.time_many_namespaces(60, 4, root, said.append)))
    assert again.name == first[0].name
    assert len(said) == made + 1


def test_a_figure_knows_whether_it_reached_its_target() -> None:
    """Without a target there is nothing to reach."""
    assert Figure("a", 1.0, "ms", 2.0).reached is True
    assert Figure("a", 3.0, "ms", 2.0).reached is False
    assert Figure("a", 3.0, "ms").reached is None
    assert Figure("a", 3.0, "ms", 2.0).to_json()["reached"] is False


def test_times_are_quantiles_and_memory_is_real() -> None:
    """Milliseconds; a stopwatch stands once it ended."""
    assert Times.of([1.0, 2.0, 3.0]) == Times(2.0, 2.9, 3)
    with stopwatch() as seconds:
        pass
    assert seconds() == seconds()
    assert resident() == pytest.approx(resident(), rel=0.5)
    assert resident() > 10
