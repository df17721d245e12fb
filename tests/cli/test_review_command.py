"""The command by which an owner answers what waits."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a command in a folder of its own, in which a move and a job wait; gives exit code, output, errors."""
    for name, value in (("MEMORY_PATH", str(tmp_path / "memory")), ("EMBEDDINGS", "none"), ("REVIEW", "conflicts")):
        monkeypatch.setenv(f"LANGMEM_PLUS_{name}", value)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, input: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments, "-u", "alice"])
        monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        with pytest.raises(SystemExit) as exit_:
            main()
        output = capsys.readouterr()
        return int(exit_.value.code or 0), output.out, output.err

    with MemoryClient(tmp_path / "memory", config=MemoryConfig(background=False)) as client:
        for text in ("I live in Paris.", "I live in Lyon now.", "I work at Acme.", "I work at Initech now."):
            client.add(text, user_id="alice")
    return command


def waiting(run: Run) -> dict[str, str]:
    """The ids of what waits, by the texts."""
    found = json.loads(run("review", "--json")[1])
    return {each["record"]["text"]: each["record"]["id"] for each in found}


def facts(run: Run) -> set[str]:
    """The facts in force."""
    return {record["text"] for record in json.loads(run("list", "--json")[1])}


def test_what_waits_is_listed_with_what_it_would_replace(run: Run):
    """As a table and as JSON; --beside alone is no answer."""
    code, out, _ = run("review")
    assert code == 0
    assert all(text in out for text in ("Lyon", "Paris", "another"))
    assert set(waiting(run)) == {"I live in Lyon now.", "I work at Initech now."}
    assert run("review", "--beside")[0] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Me gusta el té.", None),
        ("I live in Rome now.", "'I live in Rome now.' in place of 'I live in Paris.'"),
        ("Please forget that I work at Acme.", "forget 'I work at Acme.'"),
    ],
)
def test_what_waits_of_what_is_added_is_told_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: str, told: str | None
):
    """Instead of that no fact was found."""
    monkeypatch.setenv("LANGMEM_PLUS_REVIEW", "conflicts" if told is None or "Rome" in told else "all")
    out = run("add", text)[1]
    assert ("Waits for approval: " in out) == (told is not None)
    assert told is None or told in out
    assert "no fact was drawn" not in out


def test_what_waits_of_what_is_added_stands_in_its_json(run: Run):
    """After the turn."""
    records = json.loads(run("add", "I live in Rome now.", "--json")[1])
    assert [(record["role"], record["status"]) for record in records] == [("user", "active"), ("memory", "pending")]


def test_approve_and_reject_by_ids(run: Run):
    """One each; what can't be answered is said, and the others are answered all the same."""
    ids = waiting(run)
    code, out, err = run("review", "nobody", ids["I live in Lyon now."][:8], "--approve")
    assert (code, "Lyon" in out, "`pending` lists it" in err) == (1, True, True)
    assert run("review", ids["I work at Initech now."], "--reject", "--json")[0] == 0
    assert facts(run) == {"I live in Lyon now.", "I work at Acme."}
    code, out, err = run("review")
    assert (code, out) == (0, "")
    assert "Nothing of 'alice' waits" in err


def test_all_at_once_and_where_one_changed(run: Run):
    """A pinned memory stays until --beside says that both may."""
    ids = {record["text"]: record["id"] for record in json.loads(run("list", "--json")[1])}
    run("pin", ids["I live in Paris."])
    code, _, err = run("review", "--all", "--approve")
    assert code == 1
    assert "is pinned" in err
    assert "--beside" in err
    assert facts(run) == {"I live in Paris.", "I work at Initech now."}
    assert run("review", "--all", "--approve", "--beside")[0] == 0
    assert facts(run) == {"I live in Paris.", "I live in Lyon now.", "I work at Initech now."}


def test_one_after_another(run: Run):
    """A letter each; leaving it is the default."""
    code, out, _ = run("review", "--ask", input="a\n\n")
    assert code == 0
    assert "[1/2]" in out
    assert len(waiting(run)) == 1


def test_half_an_answer_is_none(run: Run):
    """Nothing is guessed."""
    for arguments in (
        ("x",),
        ("--all",),
        ("--approve",),
        ("x", "--all", "--reject"),
        ("x", "--approve", "--reject"),
        ("--ask", "--all"),
        ("--ask", "x", "--reject"),
    ):
        assert run("review", *arguments)[0] == 2
