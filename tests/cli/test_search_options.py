"""`langmem-plus search` with conditions: role, tag and time, alone and together, and what isn't one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.cli import main
from langmem_plus.cli.options import read_conditions

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Searches for tea in a memory with turns of two days and a fact; gives the exit code and the texts."""
    config = MemoryConfig(embeddings="none", background=False)
    with MemoryClient(tmp_path / "memory", config=config) as client:
        said = [("I drink green tea.", "2026-01-30T23:00:00Z"), ("Black tea is fine, too.", "2026-01-31T23:00:00Z")]
        client.add([{"role": "user", "content": text, "created_at": time} for text, time in said], user_id="ann")
    monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "memory"))
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")

    def run(*options: str) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", "search", "tea", "--user", "ann", "--json", *options])
        with pytest.raises(SystemExit) as exit_:
            main()
        output, code = capsys.readouterr(), int(exit_.value.code or 0)
        return code, output.err if code > 1 else sorted(
            (hit["record"]["role"], hit["record"]["text"]) for hit in json.loads(output.out)
        )

    return run


def test_conditions_narrow_a_search(search: Run) -> None:
    """By role, also several; by day, the last one whole; together; nothing found is exit code 1."""
    green, black = ("user", "I drink green tea."), ("user", "Black tea is fine, too.")
    assert search("--role", "user") == (0, [black, green])
    assert {role for role, _ in search("-r", "user", "-r", "memory")[1]} >= {"user"}
    assert search("--role", "user", "--since", "2026-01-31") == (0, [black])
    assert search("--role", "user", "--until", "2026-01-31") == (0, [black, green])
    assert search("--role", "user", "--until", "2026-01-30") == (0, [green])
    assert search("--role", "user", "--since", "2026-01-30T23:30:00Z", "--until", "2026-01-31") == (0, [black])
    assert search("--role", "document") == (1, [])
    assert search("--tag", "nonsense") == (1, [])


@pytest.mark.parametrize(
    ("options", "says"),
    [(("--role", "human"), "choose from"), (("--since", "yesterday"), "isn't a time"), (("--tag", " "), "give a text")],
)
def test_what_cant_be_read_is_one_line(search: Run, options: tuple[str, str], says: str) -> None:
    """It names the value and the remedy."""
    code, error = search(*options)
    assert (code, len(error.strip().splitlines())) == (2, 1)
    assert says in error


def test_options_become_a_filter() -> None:
    """None of them is no filter."""
    assert read_conditions(None, [], None, None) is None
    assert read_conditions(["user"], ["tea", "home"], "2026-01-01", "2026-02-01") == {
        "role": {"in": ["user"]},
        "tags": {"in": ["tea", "home"]},
        "time": {"gte": "2026-01-01", "lte": "2026-02-01"},
    }


@pytest.mark.parametrize(
    ("since", "until", "empty"),
    [
        ("2025-01-01", "2024-01-01", True),
        ("2026-01-31T12:00:00Z", "2026-01-31T11:00:00Z", True),
        ("2026-01-31", "2026-01-31", False),
        ("2026-01-31T12:00:00Z", "2026-01-31", False),
    ],
)
def test_a_span_in_which_nothing_can_lie_is_wrong_usage(search: Run, since: str, until: str, empty: bool) -> None:
    """Both of its ends are named; a day is meant whole."""
    code, found = search("--since", since, "--until", until)
    assert (code == 2) == empty
    assert not empty or all(named in " ".join(found.split()) for named in (since, until, "later than"))
