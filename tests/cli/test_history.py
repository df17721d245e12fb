"""``langmem-plus history``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from langmem_plus.cli import main


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process."""
    monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    output = capsys.readouterr()
    return int(exit_.value.code or 0), output.out, output.err


@pytest.mark.parametrize("versioning", ["true", "false"])
def test_a_facts_past(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, versioning: str
) -> None:
    """A change that was told shows as two facts, as a table and as JSON; an unknown id is an error in one line."""
    monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "memory"))
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    monkeypatch.setenv("LANGMEM_PLUS_VERSIONING", versioning)
    monkeypatch.setenv("COLUMNS", "160")
    for text in ("I live in Paris", "I moved to Lyon"):
        assert run(monkeypatch, capsys, "add", text, "-u", "ann")[0] == 0
    facts = json.loads(run(monkeypatch, capsys, "list", "-u", "ann", "--json")[1])
    assert len(facts) == 1
    code, out, _ = run(monkeypatch, capsys, "history", facts[0]["id"][:8], "-u", "ann", "--json")
    past = json.loads(out)
    assert code == 0
    assert [state["status"] for state in past] == ["active", "superseded", "active"]
    assert {state["source"] for state in past} == {"git" if versioning == "true" else "file"}
    code, out, _ = run(monkeypatch, capsys, "history", facts[0]["id"], "-u", "ann")
    assert code == 0
    assert "Paris" in out and "Lyon" in out
    code, _, err = run(monkeypatch, capsys, "history", "nothing", "-u", "ann")
    assert code != 0
    assert "nothing is known" in " ".join(err.split())
