"""What ``--help`` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from langmem_plus.cli.app import app


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with the words that call it."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*path, name))


def shown(path: tuple[str, ...]) -> str:
    """A command's help, without spaces and lines."""
    done = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == 0
    return bare(done.output)


def bare(text: str) -> str:
    """A text without spaces and lines."""
    return re.sub(r"[\s─-╿]+", "", text)


def test_nothing_of_a_help_text_is_taken_for_markup() -> None:
    """Of all commands, their arguments and their options each character stands there, brackets and all."""
    found = list(commands(get_command(app)))
    assert len(found) > 20
    for path, command in found:
        output = shown(path)
        texts = [command.help, command.epilog, *(getattr(each, "help", None) for each in command.params)]
        for text in filter(None, texts):
            assert bare(text) in output, f"{path}: {text}"


def test_the_forms_of_ones_own_files_are_told_whole() -> None:
    """Every key of a line that `eval recall` reads, and those of the files of `eval write`."""
    keys = ("role", "content", "id", "name", "created_at", "thread_id", "sample_id", "type", "asked_at", "older")
    recall = shown(("eval", "recall"))
    assert all(key in recall for key in (*keys, '"question"', '"evidence":["m1"]'))
    write = shown(("eval", "write"))
    assert all(key in write for key in ("messages", "gold", "memories", "old", "new", "update"))
