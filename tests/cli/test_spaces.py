"""Which spaces of a user hold something: by a command, after an import, and where one looks into an empty one."""

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
    """Runs a command in a folder of its own; gives exit code, output and errors, each on one line."""
    monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "memory"))
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    monkeypatch.setenv("LANGMEM_PLUS_USER", "own")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as exit_:
            main()
        output = capsys.readouterr()
        return int(exit_.value.code or 0), " ".join(output.out.split()), " ".join(output.err.split())

    return command


@pytest.fixture
def samples(tmp_path: Path) -> str:
    """A file of two people's messages."""
    said = [("mara", "I live in Leeds."), ("mara", "I like tea."), ("jo.nas", "I play chess.")]
    lines = [{"role": "user", "content": text, "thread_id": name, "sample_id": name} for name, text in said]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return "own.jsonl"


def test_an_import_names_the_spaces_that_it_filled(run: Run, samples: str) -> None:
    """With what was stored in each; also for programs, and when nothing is new."""
    code, out, _ = run("import", samples)
    assert code == 0
    assert "stored in the spaces: mara 2, jo.nas 1" in out
    assert json.loads(run("import", samples, "--json")[1])["spaces"] == {"mara": 0, "jo.nas": 0}
    assert "spaces: work 3" in run("import", samples, "--space", "work")[1]
    assert json.loads(run("import", samples, "--space", "default", "--json")[1])["spaces"] == {"default": 3}


def test_an_empty_space_names_those_that_hold_something(run: Run, samples: str) -> None:
    """To list and to search; not for another user, nor where something is there."""
    run("import", samples)
    for command in (("list",), ("search", "where do I live?")):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert "is in 'jo.nas' (2), 'mara' (4): name a space with --space" in err
        assert "'mara'" not in run(*command, "--user", "bo")[2]
    assert "--space" not in run("search", "xyzzy", "--space", "mara")[2]
    assert run("list", "--json")[1] == "[]"


def test_the_spaces_are_listed(run: Run, samples: str, tmp_path: Path) -> None:
    """Those that hold something in force, with numbers; others aren't there, and none is exit code 1."""
    with MemoryClient(tmp_path / "memory", config=MemoryConfig(embeddings="none")) as client:
        client.store.put(("memories", "own", "elsewhere"), "x", {"content": "put by another program"})
        client.store.put(("memories", "own", "mara", "below"), "x", {"content": "no space"})
    run("import", samples)
    run("add", "I live in Rome.", "--space", "gone")
    for record in json.loads(run("list", "--space", "gone", "--role", "all", "--json")[1]):
        run("forget", record["id"], "--space", "gone")
    code, out, _ = run("spaces")
    assert (code, out) == (0, "space facts messages others elsewhere 1 0 0 jo.nas 1 1 0 mara 2 2 0")
    listed = json.loads(run("spaces", "--json")[1])
    assert {each["space"]: each["records"] for each in listed}["mara"] == {"user": 2, "memory": 2}
    code, out, err = run("spaces", "--user", "bo")
    assert (code, out) == (1, "")
    assert "Nothing is stored of 'bo'" in err
