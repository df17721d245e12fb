"""The commands by which an owner decides."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a command in a folder of its own that knows two facts; gives exit code, output, errors."""
    monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "memory"))
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    monkeypatch.setenv("LANGMEM_PLUS_USER", "alice")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, input: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        with pytest.raises(SystemExit) as exit_:
            main()
        output = capsys.readouterr()
        return int(exit_.value.code or 0), output.out, output.err

    command("add", "My wife is called Anne.", "-u", "alice", "--thread", "t")
    command("add", "I live in Lyon.", "-u", "alice")
    return command


def facts(run: Run) -> dict[str, dict]:
    """The facts that are listed, by their texts."""
    return {record["text"]: record for record in json.loads(run("list", "-u", "alice", "--json")[1] or "[]")}


def test_pin_unpin_forget(run):
    """A memory is pinned, let go, and forgotten by the beginning of its id."""
    id = facts(run)["I live in Lyon."]["id"]
    assert run("pin", id[:8], "-u", "alice")[0] == 0
    assert facts(run)["I live in Lyon."]["pinned"]
    assert not json.loads(run("unpin", id, "-u", "alice", "--json")[1])["pinned"]
    assert json.loads(run("forget", id, "-u", "alice", "--json")[1])["status"] == "deleted"
    assert list(facts(run)) == ["My wife is called Anne."]
    assert run("pin", "nothing", "-u", "alice")[0] == 1


def test_what_was_done_is_told(run):
    """In a word, and that it was so already where it was."""
    id = facts(run)["I live in Lyon."]["id"]
    told = {
        "pin": ("pinned", "pinned already"),
        "unpin": ("unpinned", "not pinned anyway"),
        "forget": ("forgotten", "forgotten already"),
        "undelete": ("brought back", "not deleted, nothing to bring back"),
    }
    for command, lines in told.items():
        for line in lines:
            code, out, _ = run(command, id, "-u", "alice")
            assert (code, out.splitlines()[0]) == (0, line)
            assert "I live in Lyon." in out
    assert json.loads(run("pin", id, "-u", "alice", "--json")[1])["pinned"]


def test_a_memory_that_says_the_same_is_told(run):
    """What isn't brought back because of it isn't called brought back."""
    id = facts(run)["I live in Lyon."]["id"]
    run("forget", id, "-u", "alice")
    run("add", "I live in Lyon.", "-u", "alice", "--thread", "later")
    code, out, _ = run("undelete", id, "-u", "alice")
    assert (code, out.splitlines()[0]) == (0, "not brought back: another memory says the same")


@pytest.mark.parametrize("command", ["pin", "unpin"])
def test_what_is_not_in_force_is_neither_pinned_nor_unpinned(run, command):
    """The error says which of both can't be done, and what to do first."""
    id = facts(run)["I live in Lyon."]["id"]
    run("forget", id, "-u", "alice")
    code, _, err = run(command, id, "-u", "alice")
    assert code == 1
    assert f"can't be {command}ned. It was forgotten: undelete it first." in " ".join(err.split())


def test_erased_things_are_counted_in_words(run):
    """One of a kind, or several."""
    out = run("erase", "--all", "-u", "alice", "--yes")[1].splitlines()[0]
    assert out.startswith("removed: ")
    assert {"4 files", "2 memories", "2 user messages"} <= set(out.removeprefix("removed: ").split(", "))


def test_erase_asks(run):
    """Nothing is erased without a yes; a receipt says what went and what couldn't be reached."""
    id = facts(run)["I live in Lyon."]["id"]
    code, _, _ = run("erase", id, "-u", "alice", input="n\n")
    assert code != 0
    assert len(facts(run)) == 2
    code, out, err = run("erase", id, "-u", "alice", input="y\n")
    assert code == 0
    assert "1 memory" in out
    assert "checkpoints" in err
    assert list(facts(run)) == ["My wife is called Anne."]


def test_erase_more(run):
    """A conversation, and everything of a user; what is to go has to be named."""
    assert run("erase", "-u", "alice", "--yes")[0] == 2
    assert run("erase", "--all", "--space", "x", "-u", "alice", "--yes")[0] == 2
    assert run("erase", "id", "--thread", "t", "-u", "alice", "--yes")[0] == 2
    receipt = json.loads(run("erase", "--thread", "t", "-u", "alice", "--yes", "--json")[1])
    assert receipt["removed"]["memory"] == 1
    assert list(facts(run)) == ["I live in Lyon."]
    assert run("erase", "--all", "-u", "alice", "--yes")[0] == 0
    assert facts(run) == {}


def test_clear_and_restore_conversation(run):
    """What was said goes and comes back; a conversation that isn't there is told."""
    code, out, _ = run("clear", "t", "-u", "alice")
    assert (code, out.strip()) == (0, "1 record of the conversation 't' cleared")
    assert len(facts(run)) == 2
    assert run("clear", "t", "-u", "alice")[0] == 1
    assert json.loads(run("restore-conversation", "t", "-u", "alice", "--json")[1]) == {"restored": 1}
    code, out, _ = run("restore-conversation", "t", "-u", "alice")
    assert (code, out.strip()) == (1, "no records of the conversation 't' restored")
    for command in ("restore-conversation", "archive"):
        code, _, err = run(command, "nope", "-u", "alice")
        assert code == 1
        assert "there is no conversation 'nope'" in " ".join(err.split())


def test_export_and_restore(run, tmp_path):
    """An archive of a user is taken in elsewhere; another's is refused."""
    assert run("export", "alice.zip", "-u", "alice")[0] == 0
    code, out, _ = run("restore", "alice.zip", "--path", "other", "--json")
    assert code == 0
    assert json.loads(out)["written"] == 4
    assert "0 written" in run("restore", "alice.zip", "--path", "other", "--user", "alice")[1]
    code, _, err = run("restore", "alice.zip", "--path", "third", "--user", "bob")
    assert code == 4
    assert "alice" in err


def test_what_is_not_there_is_neither_exported_nor_restored(run, tmp_path):
    """A user without a memory, and an archive without a file: both are told, and nothing is made."""
    code, _, err = run("export", "bob.zip", "-u", "bob")
    assert (code, "no memory of 'bob'" in err) == (1, True)
    for name, what in {"nofile.zip": "no such file", str(tmp_path): "is a folder"}.items():
        code, _, err = run("restore", name, "--path", "other")
        assert (code, what in " ".join(err.split())) == (4, True)
    assert not {"bob.zip", "other"} & {path.name for path in tmp_path.iterdir()}


def test_undelete_and_archive(run):
    """What was forgotten comes back; a conversation is archived, and one that says nothing isn't."""
    id = facts(run)["I live in Lyon."]["id"]
    run("forget", id, "-u", "alice")
    assert list(facts(run)) == ["My wife is called Anne."]
    assert run("undelete", id, "-u", "alice")[0] == 0
    assert len(facts(run)) == 2
    archived = json.loads(run("archive", "t", "-u", "alice", "--json")[1])
    assert (archived["role"], archived["metadata"]["message_count"]) == ("archive", 1)
    assert "My wife is called Anne." in run("archive", "t", "-u", "alice")[1]
    assert run("archive", "nothing", "-u", "alice")[0] == 1
