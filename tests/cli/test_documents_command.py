"""`langmem-plus documents`: a folder is listed and searched, and what is left out is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs the command over a folder with two documents; gives the exit code and what was printed."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text("# Handbook\n\n## Leave\n\nEverybody has thirty days of leave.")
    (folder / "travel.txt").write_text("[bold]Trains[/bold] are booked by the office.")
    for number in range(7):
        (folder / f"{number}.py").write_text("no document")
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "memory"))
    monkeypatch.setenv("COLUMNS", "120")

    def call(*options: str, folder: Path = folder) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", "documents", str(folder), *options])
        with pytest.raises(SystemExit) as exit_:
            main()
        output = capsys.readouterr()
        return int(exit_.value.code or 0), output.out, output.err

    return call


def test_the_list(run: Run) -> None:
    """Each document with its title and pieces; what is new, and why other files are left out."""
    code, out, err = run()
    assert code == 0
    assert "leave.md" in out and "Handbook" in out and "travel.txt" in out
    assert "2 documents, 2 new" in err
    assert "left out: 0.py: it ends in .py" in err
    assert "2 more; --json names them" in err
    told = json.loads(run("--json")[1])
    assert [each["path"] for each in told["documents"]] == ["leave.md", "travel.txt"]
    assert len(told["skipped"]) == 7
    assert told["added"] == []


def test_a_search(run: Run) -> None:
    """Best first, cited; markup in a file is text; nothing found is exit code 1."""
    code, out, _ = run("How many days of leave do we have?")
    assert code == 0
    assert "leave.md:3-5" in out and "Handbook > Leave" in out and "thirty days" in out
    assert "[bold]Trains[/bold]" in run("Who books trains?")[1]
    (hit,) = json.loads(run("thirty days", "--json", "-k", "1")[1])
    assert hit["record"]["metadata"]["path"] == "leave.md"
    code, out, err = run("quantum chromodynamics")
    assert (code, out) == (1, "")
    assert "Nothing relevant" in err


def test_where_the_index_lies(run: Run, tmp_path: Path) -> None:
    """Below the memory folder that is named."""
    assert run("--path", str(tmp_path / "other"))[0] == 0
    assert list((tmp_path / "other" / ".index").glob("documents-*"))


def test_what_is_no_folder(run: Run, tmp_path: Path) -> None:
    """One line names it; a folder without documents is exit code 1."""
    code, _, err = run(folder=tmp_path / "missing")
    assert code == 4
    assert "is no folder" in err
    (tmp_path / "empty").mkdir()
    code, out, err = run(folder=tmp_path / "empty")
    assert (code, out) == (1, "")
    assert "0 documents" in err
