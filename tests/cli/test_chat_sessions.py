"""Conversations on the command line, one after another."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from langmem_plus.cli import main
from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig

MOVES = ("I live in Lyon", "I live in Paris now", "I live in Lyon now")


@pytest.mark.parametrize("thread", [(), ("--thread", "home")])
def test_what_is_said_again_in_a_later_chat_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, thread: tuple[str, ...]
) -> None:
    """Each session is a conversation of its own, or goes on in the thread that is named; who moves away and back lives
    where they live now."""
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    for text in MOVES:
        monkeypatch.setattr(sys, "argv", ["langmem-plus", "chat", "--user", "alice", "--path", str(tmp_path), *thread])
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n/quit\n"))
        with pytest.raises(SystemExit) as exit_:
            main()
        assert not exit_.value.code
    with MemoryClient(tmp_path, config=MemoryConfig(embeddings="none")) as client:
        turns = client.list(user_id="alice", role="user")
        (fact,) = client.list(user_id="alice", role="memory")
    assert sorted(turn.text for turn in turns) == sorted(MOVES)
    assert len({turn.thread_id for turn in turns}) == (1 if thread else 3)
    assert "Lyon" in fact.text
