"""What remembering costs, measured over the wire, and what a turn may cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.bench import cost
from langmem_plus.evals.bench.__main__ import app
from langmem_plus.tokens import counter


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, cost.Cost]:
    """Each way of asking, without an embedder."""
    turns = cost.read_turns()
    ways = (cost.APART, cost.TOGETHER, cost.WAITING)
    return {way: cost.measure(way, turns, tmp_path_factory.mktemp("memory"), embeddings="none") for way in ways}


def test_a_combined_turn_costs_one_call_and_a_thousand_tokens_at_most(costs: dict[str, cost.Cost]) -> None:
    """On average, with the schemas; asked apart it costs more, and where turns wait for each other less."""
    assert costs[cost.TOGETHER].reached
    assert costs[cost.WAITING].reached
    calls = [costs[way].total.calls for way in (cost.WAITING, cost.TOGETHER, cost.APART)]
    assert calls == sorted(calls)


def test_each_way_knows_the_same_in_the_end(costs: dict[str, cost.Cost]) -> None:
    """What is saved costs no memory: the same facts, nothing outdated, and a summary."""
    for found in costs.values():
        assert (found.known, found.wrong) == (found.expected, 0)
        assert found.points


def test_small_talk_and_a_repeat_cost_no_call(costs: dict[str, cost.Cost]) -> None:
    """Of twenty turns, three are small talk, and one was said before."""
    assert costs[cost.TOGETHER].total.calls == 16


def test_a_call_is_counted_by_the_stage_that_its_schema_tells() -> None:
    """The texts of all messages, and the schema beside them."""
    body = {
        "messages": [{"role": "system", "content": "Keep it."}, {"role": "user", "content": "I like tea."}],
        "response_format": {"json_schema": {"name": "ExtractedFacts", "schema": {"type": "object"}}},
    }
    tokens = counter(MemoryConfig())
    found = cost.price([body, body], tokens)
    assert found.keys() == {"extract"}
    assert (found["extract"].calls, found["extract"].characters) == (2, 2 * len("Keep it.I like tea."))
    assert found["extract"].prompt == 2 * (tokens.count("Keep it.") + tokens.count("I like tea."))


def test_the_command_prints_a_table_and_writes_json(
    costs: dict[str, cost.Cost], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A row a way of asking."""
    monkeypatch.setattr(cost, "compare", lambda: list(costs.values()))
    result = CliRunner().invoke(app, ["cost", "--json", str(tmp_path / "cost.json")])
    assert result.exit_code == 0, result.output
    assert "combine" in result.output
    rows = json.loads((tmp_path / "cost.json").read_text())
    assert [row["way"] for row in rows] == list(costs)
    assert rows[1]["reached"] is True
