"""`langmem-plus import` takes in what mem0 knew, tells what became of it, and says what to do about a wrong use."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.cli import main

EXPORT = {
    "results": [
        {"id": "1", "memory": "Alex is vegan", "user_id": "alex", "created_at": "2024-07-26T10:00:00Z"},
        {"id": "2", "memory": "Bo plays chess", "user_id": "bo", "created_at": "long ago"},
        {"id": "3", "memory": ""},
    ],
    "relations": [{"source": "alex"}],
    "next": "page 2",
}


class Shell:
    """Runs commands in this process, in a folder of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(folder / "memory"))
        monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; returns its exit code, output and errors, each on one line."""
        self.monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
        self.monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as exit_:
            main()
        output = self.capsys.readouterr()
        return int(exit_.value.code or 0), " ".join(output.out.split()), " ".join(output.err.split())

    def write(self, data: Any, name: str = "mem0.json") -> str:
        """Write a file."""
        (self.folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return name


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(monkeypatch, capsys, tmp_path)


def test_one_users_memories(shell: Shell) -> None:
    """What was stored, left out with its place and reason, and passed over; a second run stores nothing."""
    file = shell.write(EXPORT)
    code, out, err = shell("import", file, "--user", "alex")
    assert code == 0
    assert out == (
        "memories: 3 read, 1 stored, 2 left out, 1 relations ignored (no memories by themselves) "
        "left out: results[1]: it belongs to 'bo', not to 'alex' left out: results[2]: its memory is empty"
    )
    assert "more follow" in err
    assert "3 read, 1 were there already, 2 left out" in shell("import", file, "--user", "alex")[1]
    listed = shell("list", "--user", "alex")[1]
    assert "2024-07-26" in listed
    assert "Alex is vegan" in listed


def test_everybodys_memories(shell: Shell) -> None:
    """Each to whom the file names, with what came over differently."""
    out = shell("import", shell.write(EXPORT), "--all-users")[1]
    assert "3 read, 2 stored, 1 left out" in out
    assert "users: alex 1, bo 1" in out
    assert "changed: results[1]: created_at is 'long ago', no time; kept in the metadata" in out
    assert "Bo plays chess" in shell("list", "--user", "bo")[1]


def test_another_name_and_a_dry_run(shell: Shell) -> None:
    """The file's name for a user may be another; nothing is written that is only tried."""
    file = shell.write(EXPORT)
    arguments = ("import", file, "--user", "robert", "--from-user", "bo", "--space", "games")
    assert "would be done: 3 read, 1 stored" in shell(*arguments, "--dry-run")[1]
    assert shell("list", "--user", "robert", "--space", "games")[0] == 1
    report = json.loads(shell(*arguments, "--json")[1])
    assert (report["stored"], report["dry_run"], report["users"]) == (1, False, {"robert": 1})
    assert report["skipped"][0]["place"] == "results[0]"
    assert "Bo plays chess" in shell("list", "--user", "robert", "--space", "games")[1]


def test_many_remarks_are_summed_up(shell: Shell) -> None:
    """The first are named, the others are counted by their reason."""
    file = shell.write({"results": [*EXPORT["results"][:1], *({"id": str(n), "memory": ""} for n in range(9))]})
    out = shell("import", file, "--user", "alex")[1]
    assert out.count("left out: results[") == 5
    assert "left out: 4 more (4 × its memory is empty); --json names all" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "say whose memory it is, or --all-users"),
        (("--all-users", "--from-user", "bo"), 2, "leave out --from-user"),
        (("--user", "zoe"), 4, "it belongs to 'alex', not to 'zoe'. Take the user's name in the file"),
    ],
)
def test_a_wrong_use_says_what_to_do(shell: Shell, arguments: tuple[str, ...], code: int, message: str) -> None:
    """And nothing is stored."""
    found, _, err = shell("import", shell.write(EXPORT), *arguments)
    assert found == code
    assert message in err.replace("│ ", "")
    assert not list(shell.folder.rglob("*.md"))


@pytest.mark.parametrize("option", ["--all-users", "--dry-run", "--from-user=x"])
def test_conversations_take_a_user_alone(shell: Shell, option: str) -> None:
    """What is for memories is refused for messages."""
    code, _, err = shell("import", shell.write([{"role": "user", "content": "hi"}]), "--user", "alex", option)
    assert code == 2
    assert "holds conversations" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results": [{"id": "1", "memory": "li', "bad.json: line 1, column 36: not JSON"),
        ('{"results": {}}', "bad.json: results: expected a list of memories, found {}"),
        ('{"name": "Dev", "company": "TechCorp"}', 'or memories of mem0, {"results": [...]}'),
    ],
)
def test_bad_files(shell: Shell, text: str, message: str) -> None:
    """One line names the file, the place and what was expected."""
    code, _, err = shell("import", shell.write(text, "bad.json"), "--user", "alex")
    assert code == 4
    assert message in err


def test_nothing_to_import_is_exit_code_1(shell: Shell) -> None:
    """A file of which nothing is kept, be it conversations or memories; one that was imported before is done."""
    said = [{"role": "user", "content": "I like tea", "id": "m1"}]
    assert shell("import", shell.write([{"role": "system", "content": "x"}], "silent.json"), "--user", "alex")[0] == 1
    assert shell("import", shell.write({"results": [{"id": "3", "memory": ""}]}), "--user", "alex")[0] == 1
    assert shell("import", shell.write(said, "chat.json"), "--user", "alex")[0] == 0
    assert shell("import", "chat.json", "--user", "alex")[0] == 0
