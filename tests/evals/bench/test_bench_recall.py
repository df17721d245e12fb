"""The benchmark of recall, at a size at which it takes no time: every stage is measured, and the answers are found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.bench import recall as bench
from langmem_plus.evals.bench.__main__ import app
from langmem_plus.evals.bench.timing import Times
from langmem_plus.evals.scale import questions
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.store.markdown.namespace import OpenNamespace


def test_the_command_prints_the_stages_and_writes_json(tmp_path: Path) -> None:
    """Each stage, cold and warm, beside the inference alone; the store is kept where it is named."""
    written = tmp_path / "figures.json"
    options = ["--sizes", "40", "--embedded", "0", "--questions", "3", "--root", str(tmp_path / "stores")]
    result = CliRunner().invoke(app, ["recall", *options, "--json", str(written)])
    assert result.exit_code == 0, result.output
    found = json.loads(written.read_text())
    (size,) = found["sizes"]
    assert (size["size"], size["vectors"]) == (40, "drawn")
    assert list(size["asked"]) == [bench.OPENED, bench.NEW, bench.AGAIN, bench.PAUSED, bench.WORDS]
    for rows in size["asked"].values():
        assert list(rows) == list(bench.ROWS)
        assert rows["recall"]["p50"] >= rows["ours"]["p50"] > 0
    assert all(stage in result.output for stage in bench.STAGES)
    assert "target" not in result.output, "nothing of this size has one"
    assert bench.Recalls.from_json(size).to_json() == size
    assert (tmp_path / "stores" / "recall-40-drawn.filled.json").is_file()


@pytest.mark.parametrize("kind", ["model", "drawn"])
def test_what_is_asked_for_is_found(tmp_path: Path, kind: str) -> None:
    """A time is worth something only of a recall that answers; the model is watched, and left as it was."""
    model, _ = find_local()
    fields = set(vars(model)) if model else set()
    bench.fill(tmp_path / "store", 60, kind)
    found = bench.measure(tmp_path / "store", 60, kind, 5)
    assert found.found >= 0.8
    assert found.asked[bench.NEW]["plan"].count == 5
    inferred = {name: rows["inference"].p50 for name, rows in found.asked.items()}
    assert inferred[bench.WORDS] == 0
    if model:
        assert inferred[bench.NEW] > 0
        assert set(vars(model)) - {"model_id"} <= fields | {"_loaded"}
        assert model.model_id != "local:drawn"
        assert local_token_encoder() is not None


def test_after_a_pause_the_files_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a question, and only then: what a look costs is what that column shows beside the one before it."""
    bench.fill(tmp_path / "store", 10, "drawn")
    asked = questions(5, 1, 3)
    with (
        bench.watch("drawn") as watched,
        MemoryClient(tmp_path / "store", config=MemoryConfig(sync_interval=86_400)) as c,
    ):
        bench._ask_all(c, watched, asked)
        looks: list[object] = []
        follow = OpenNamespace.follow
        monkeypatch.setattr(OpenNamespace, "follow", lambda room, index: (looks.append(room), follow(room, index))[1])
        bench._ask_all(c, watched, asked)
        assert not looks
        bench._ask_all(c, watched, asked, paused=True)
        assert len(looks) == len(asked)


def test_turns_are_a_users(tmp_path: Path) -> None:
    """So many, in threads of exchanges, the user's by name; what is drawn out of them is not what is timed."""
    records = [*bench.turns(45)]
    assert len({record.id for record in records}) == 45
    assert [record.role for record in records[:3]] == ["user", "assistant", "user"]
    assert {record.metadata["name"] for record in records if record.role == "user"} == {bench.SPEAKER}
    assert len({record.thread_id for record in records}) == 3
    assert all(record.extracted for record in records)
    bench.fill(tmp_path / "store", 10, "drawn")
    with bench.watch("drawn"), MemoryClient(tmp_path / "store") as client:
        assert len(client.list(user_id=bench.USER)) == 10


def test_only_ten_thousand_memories_have_a_target() -> None:
    """And only once the store is open, and in step with its files."""
    times = dict.fromkeys(bench.ROWS, Times(12.0, 20.0, 3))
    asked = dict.fromkeys((bench.OPENED, bench.NEW, bench.AGAIN, bench.PAUSED), times)
    few, many = (bench.Recalls(size, "model", 900.0, 1.0, asked) for size in (1000, 10_000))
    figures = [*bench.targets([few, many])]
    assert [figure.reached for figure in figures] == [None, None, None, None, False, False, None, None]


@pytest.mark.parametrize("sizes", ["abc", "0", "", "1000,-5", "10.5", "9999999999"])
@pytest.mark.parametrize("command", ["recall", "chroma"])
def test_sizes_that_are_none_are_told_at_once(command: str, sizes: str) -> None:
    """As wrong usage, with the option's name."""
    result = CliRunner().invoke(app, [command, "--sizes", sizes], env={"COLUMNS": "200"})
    assert result.exit_code == 2, result.output
    assert "--sizes" in result.output


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    """Not after the measurement."""
    result = CliRunner().invoke(app, ["cost", "--json", str(tmp_path)], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "it is a folder" in result.output
