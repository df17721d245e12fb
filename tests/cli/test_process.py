"""The command line as a process of its own: its streams, whatever they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from langmem_plus.cli import process
from langmem_plus.cli.process import main

CODE = "from langmem_plus.cli import main; main()"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
TEXT = "I live in Zürich 用户 😀"


def run(folder: Path, *arguments: str, shell: str = "", input: bytes = b"", **variables: str) -> tuple[int, bytes, str]:
    """Run a command in a process of its own; returns its exit code, output and errors."""
    own = {"LANGMEM_PLUS_MEMORY_PATH": str(folder / "memory"), "LANGMEM_PLUS_EMBEDDINGS": "none"}
    command = [sys.executable, "-c", CODE, *arguments]
    if shell:
        command = ["sh", "-c", f'"$0" "$@" {shell}', *command]
    environment = {**os.environ, **own, **variables}
    done = subprocess.run(command, env=environment, input=input, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def test_a_terminal_that_knows_ascii_alone(tmp_path: Path) -> None:
    """What it can't show is a question mark there; what is stored is what was typed, and JSON gives it back whole."""
    code, out, err = run(tmp_path, "add", TEXT, "--user", "u", **ASCII)
    assert code == 0, err
    assert out.isascii()
    code, out, err = run(tmp_path, "list", "--user", "u", "--role", "user", "--json", **ASCII)
    assert code == 0, err
    assert out.isascii()
    assert json.loads(out)[0]["text"] == TEXT
    code, out, err = run(tmp_path, "list", "--user", "u", "--role", "user", PYTHONIOENCODING="latin-1")
    assert (code, "Zürich" in out.decode("latin-1")) == (0, True), err


def test_standard_input_is_utf8(tmp_path: Path) -> None:
    """In any locale; bytes that are no text don't end it."""
    code, _, err = run(tmp_path, "add", "-", "--user", "u", input=TEXT.encode() + b"\xff\xfe", **ASCII)
    assert code == 0, err
    _, out, _ = run(tmp_path, "list", "--user", "u", "--role", "user", "--json")
    assert json.loads(out)[0]["text"] == f"{TEXT}\ufffd\ufffd"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_full_disk_is_one_line(tmp_path: Path, form: tuple[str, ...]) -> None:
    """Output that can't be written is exit code 4, also where it is only found out at the end."""
    code, _, err = run(tmp_path, "config", *form, shell=">/dev/full")
    assert code == 4
    assert "No space left" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_closed_output_is_no_error(tmp_path: Path, form: tuple[str, ...]) -> None:
    """Who closes standard output wants none."""
    code, _, err = run(tmp_path, "config", *form, shell=">&-")
    assert (code, err) == (0, "")


def test_a_mistake_in_the_program_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody foresaw is told with its name and an exit code of its own, without a traceback."""

    def broken() -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(process, "app", broken)
    monkeypatch.setattr(process, "_let_go_of_output", lambda: None)
    monkeypatch.setattr(sys, "argv", ["langmem-plus"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == process.OWN_MISTAKE
    err = capsys.readouterr().err
    assert "RuntimeError: two lines" in err
    assert len(err.splitlines()) == 1
