"""What measuring and the doctor show in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langmem_plus.cli.app import app
from langmem_plus.cli.evaluation import print_parts, print_settings
from langmem_plus.config import GROUPS, MemoryConfig, knob_group
from langmem_plus.providers import Part


def test_every_part_is_shown_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """Long paths are neither cut nor broken: what can't be read whole can't be mended."""
    path = "/memory/" + "x" * 120 + ".md"
    print_parts([Part("memory files", path, "degraded", "left out: no YAML", "Mend it."), Part("tokens", "exact")])
    out = capsys.readouterr().out
    assert "degraded" in out
    assert path in out
    assert "  left out: no YAML\n  Mend it.\n" in out
    assert "exact" in out


def test_every_setting_is_shown_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """With its value; the groups come in their order."""
    values = MemoryConfig(top_k=7).model_dump(mode="json")
    print_settings({group: [name for name in values if knob_group(name) == group] for group in GROUPS}, values)
    out = capsys.readouterr().out
    places = [out.index(f"[{group}]") for group in GROUPS]
    assert places == sorted(places)
    (line,) = (line for line in out.splitlines() if line.startswith("top_k "))
    assert line.split()[1] == "7"
    assert all(name in out for name in values)


def own_file(folder: Path) -> Path:
    """Messages and a question of one's own."""
    lines = [
        {"role": "user", "content": "My dog is called Pixel.", "id": "m1"},
        {"role": "user", "content": "I work as a baker.", "id": "m2"},
        {"question": "What is my dog called?", "evidence": ["m1"]},
    ]
    path = folder / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [80, 120])
def test_a_measurement_fits_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Protocol, hash and all tables, in 80 columns and in 120, with every row of a comparison."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("langmem_plus.evals.recall.PROBED", 3)
    arguments = ["eval", "recall", str(own_file(tmp_path)), "--compare", "default,words,theoria,agent-cli"]
    result = CliRunner().invoke(app, arguments, env={"LANGMEM_PLUS_EMBEDDINGS": "none"})
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert all(len(line) <= width for line in lines)
    for wanted in (
        "own.jsonl",
        "sha256",
        "JSON lines, 1 sample, 2 messages, 1 question",
        "McNemar",
        "R@10",
        "AUROC",
        "p50/p95",
        "agent-cli",
        "bm25",
    ):
        assert wanted in result.output


def test_results_are_json_with_what_is_needed_to_run_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hash, settings, versions, protocol and every answer; into a file, or instead of the tables."""
    monkeypatch.setattr("langmem_plus.evals.recall.PROBED", 3)
    data, file = own_file(tmp_path), tmp_path / "new" / "out.json"
    runner, environment = CliRunner(), {"LANGMEM_PLUS_EMBEDDINGS": "none"}
    done = runner.invoke(app, ["eval", "recall", str(data), "--json", str(file)], env=environment)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(file.read_text(encoding="utf-8"))
    assert len(result["dataset"]["sha256"]) == 64
    assert result["versions"]["langmem-plus"]
    assert result["protocol"]
    assert result["rows"][0]["config"]["embeddings"] == "none"
    assert result["rows"][0]["answers"]
    printed = runner.invoke(app, ["eval", "recall", str(data), "--json", "-", "--no-probes"], env=environment)
    assert json.loads(printed.stdout)[0]["dataset"] == result["dataset"]


@pytest.mark.parametrize(
    ("command", "option"), [("recall", "--json"), ("recall", "--plot"), ("tasks", "--json"), ("extract", "--json")]
)
def test_results_that_cannot_be_written_are_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    """A folder for a file, and a file for a folder; what is measured isn't even looked at."""
    monkeypatch.setattr("langmem_plus.cli.evaluation.read_config", None)
    file = tmp_path / "file"
    file.touch()
    data = [] if command == "tasks" else [str(file)]
    path = tmp_path if option == "--json" else file
    done = CliRunner().invoke(app, ["eval", command, *data, option, str(path)], env={"COLUMNS": "300"})
    assert done.exit_code == 2, done.output
    assert "can't be used: it is a" in done.output
    assert option in done.output


def test_json_is_there_when_a_figure_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What took long to measure is kept first."""
    pytest.importorskip("matplotlib")

    def broken(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("langmem_plus.cli.evaluation.plot", broken)
    monkeypatch.setattr("langmem_plus.cli.evaluation.evaluate", lambda *_, **__: {"rows": []})
    monkeypatch.setattr("langmem_plus.cli.evaluation.print_recall", lambda _: None)
    file = tmp_path / "new" / "out.json"
    data = str(own_file(tmp_path))
    done = CliRunner().invoke(app, ["eval", "recall", data, "--json", str(file), "--plot", str(tmp_path / "figures")])
    assert isinstance(done.exception, OSError)
    assert json.loads(file.read_text(encoding="utf-8")) == [{"rows": []}]


def test_tasks_are_shown_with_what_memory_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a task and three sums; in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, ["eval", "tasks"], env={"LANGMEM_PLUS_EMBEDDINGS": "none"})
    assert done.exit_code == 0, done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())
    for wanted in ("without memory: 0 of", "with memory:", "words alone:", "favourite-drink"):
        assert wanted in done.output


def test_the_write_path_is_shown_by_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hash and protocol, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"text": "I like tea.", "memories": [{"content": "I like tea."}]}]), encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "extract", str(path)])
    assert done.exit_code == 0, done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())
    for wanted in ("sha256", "by rules", "even, tuned", "1.00"):
        assert wanted in done.output


def test_pairs_of_statements_are_shown_from_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How they are found again, also through remember, and what is retired against unrelated pairs; in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    pairs = [("Where do I live?", "I live in Porto.", "I live in Aveiro now."), ("What is my code?", "4512", "7730")]
    data = [
        {"id": f"p{n}", "kind": "update", "question": question, "old": {"text": old}, "new": {"text": new}}
        for n, (question, old, new) in enumerate(pairs)
    ]
    path, environment = tmp_path / "pairs.json", {"LANGMEM_PLUS_EMBEDDINGS": "none"}
    path.write_text(json.dumps(data), encoding="utf-8")
    found = CliRunner().invoke(app, ["eval", "recall", str(path), "--no-probes"], env=environment)
    assert found.exit_code == 0, found.output
    retired = CliRunner().invoke(app, ["eval", "reconcile", str(path)], env=environment)
    assert retired.exit_code == 0, retired.output
    assert all(len(line) <= 80 for line in (*found.output.splitlines(), *retired.output.splitlines()))
    for wanted in ("through remember", "older shown", "50.0"):
        assert wanted in found.output
    for wanted in ("random", "look-alike", "precision"):
        assert wanted in retired.output
