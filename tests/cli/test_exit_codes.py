"""The exit codes, by kind: 1 nothing found, 2 wrong usage, 3 a setting or an identity, 4 a file or a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.main import get_command

from langmem_plus.cli import main
from langmem_plus.cli.app import app

USER = ("-u", "u")
OF_A_RECORD = ("show", "history", "pin", "unpin", "forget", "undelete")
OF_A_THREAD = ("clear", "archive", "restore-conversation")
READING = {
    **{name: (name, "x", *USER) for name in ("search", *OF_A_RECORD, *OF_A_THREAD)},
    **{name: (name, *USER) for name in ("list", "spaces", "review")},
    "erase": ("erase", "x", *USER, "--yes"),
    "export": ("export", "new.zip", *USER),
}
COMMANDS = {
    **READING,
    "add": ("add", "x", *USER),
    "chat": ("chat", *USER),
    "demo": ("demo",),
    "doctor": ("doctor",),
    "config": ("config",),
    "documents": ("documents", "."),
    "restore": ("restore", "file"),
    "import": ("import", "talk.json", *USER),
    "eval recall": ("eval", "recall", "file"),
    "eval tasks": ("eval", "tasks"),
    **{f"eval {name}": ("eval", name, "file") for name in ("write", "extract", "reconcile")},
}
WRONG = [
    (("search", "x", *USER, "--since", "yesterday"), 2, "yesterday"),
    (("search", "x", *USER, "--until", "soon"), 2, "soon"),
    (("search", "x", *USER, "--role", "facts"), 2, "facts"),
    (("search", " ", *USER), 2, "empty"),
    (("list", *USER, "--role", "facts"), 2, "facts"),
    (("list", *USER, "--limit", "0"), 2, "limit"),
    (("add", " ", *USER), 2, "empty"),
    (("erase", *USER), 2, "--thread"),
    (("review", "x", *USER), 2, "--approve"),
    (("import", "talk.json"), 2, "--all-users"),
    (("import", "talk.json", *USER, "--dry-run"), 2, "--dry-run"),
    (("eval", "recall", "file", "--compare", "nothing"), 2, "nothing to compare"),
    (("eval", "tasks", "--json", "."), 2, "is a folder"),
    (("documents", "memory"), 2, "memory's folder"),
    (("documents", ".", " "), 2, "empty"),
    (("spaces", "-u", " "), 3, "user_id"),
    (("list", *USER, "--space", " "), 3, "space"),
    (("add", "x", *USER, "--config", "typo.toml"), 3, "top_kk"),
    (("chat", *USER, "--model", "nobody"), 3, "nobody"),
    (("documents", "missing"), 4, "is no folder"),
    (("documents", "file"), 4, "is no folder"),
    (("import", "missing", *USER), 4, "missing"),
    (("restore", "missing"), 4, "missing"),
    (("restore", "file"), 4, "no archive"),
    (("export", "memory", *USER), 4, "memory"),
    *(
        ((*COMMANDS[f"eval {name}"][:2], "missing"), 4, "missing")
        for name in ("recall", "write", "extract", "reconcile")
    ),
    (("eval", "recall", "file", "--compare", "missing.toml"), 4, "missing.toml"),
    (("doctor", "--path", "file"), 4, "is a file"),
    (("add", "x", *USER, "--path", "file"), 4, "file"),
    *(((*arguments, "--path", "file"), 4, "is a file") for arguments in READING.values()),
    *(((*arguments, "--config", "missing.toml"), 4, "missing.toml") for arguments in COMMANDS.values()),
    *(((*arguments, "--config", "broken.toml"), 4, "broken.toml") for arguments in (("config",), ("list", *USER))),
    *(((*arguments, "--nonsense"), 2, "--nonsense") for arguments in COMMANDS.values()),
    *(((*arguments, "--path", "missing"), 1, "doesn't exist") for arguments in READING.values()),
]


@pytest.mark.parametrize(
    ("arguments", "expected", "named"), WRONG, ids=lambda each: " ".join(each)[:50] if isinstance(each, tuple) else None
)
def test_what_is_wrong_gives_its_kinds_code(
    arguments: tuple[str, ...],
    expected: int,
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In each command, and what is wrong is named; nothing is made by it."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"MEMORY_PATH": "memory", "EMBEDDINGS": "none"}.items():
        monkeypatch.setenv(f"LANGMEM_PLUS_{name}", value)
    monkeypatch.setenv("COLUMNS", "300")
    facts = tmp_path / "memory" / "entries" / "memories" / "u" / "default" / "facts"
    facts.mkdir(parents=True)
    (facts / "tea.md").write_text("I like tea.", "utf-8")
    (tmp_path / "memory" / ".index").mkdir()
    texts = {
        "file": "",
        "broken.toml": "x = [",
        "typo.toml": "top_kk = 3",
        "talk.json": '[{"role": "user", "content": "x"}]',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
    before = {each.name for each in tmp_path.iterdir()}
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert (ended.value.code, named in told) == (expected, True), told
    assert {each.name for each in tmp_path.iterdir()} == before


def test_every_command_is_asked() -> None:
    """A new command needs its rows."""
    found: set[str] = set()
    for name, command in vars(get_command(app))["commands"].items():
        found |= {f"{name} {each}" for each in getattr(command, "commands", {})} or {name}
    assert found == COMMANDS.keys()
