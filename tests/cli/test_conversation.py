"""One thread with an agent that remembers, as chat and demo hold it."""

from __future__ import annotations

from pathlib import Path

import pytest

from langmem_plus.cli.conversation import Conversation
from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelCallError

CONFIG = MemoryConfig(embeddings="none")


def test_a_reply_is_shown_and_its_recall_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one thread was told is recalled in the next, and the report says so."""
    with MemoryClient(tmp_path, config=CONFIG) as client:
        first = Conversation(client, CONFIG, "ann", "default", "monday")
        assert first.quotes_only
        first.say("My wife is called Anne")
        assert client.flush()
        report = Conversation(client, CONFIG, "ann", "default", "friday").say("What is my wife called?")
    assert any(choice.kept and "Anne" in choice.text for choice in report.choices)
    assert "Anne" in capsys.readouterr().out.split("agent")[-1]


def test_a_model_that_fails_is_named(tmp_path: Path) -> None:
    """One error with what went wrong, that says that nothing is lost."""
    with MemoryClient(tmp_path, config=CONFIG) as client:
        talk = Conversation(client, CONFIG, "ann", "default", "monday")
        talk._graph = _Broken()  # type: ignore[assignment]
        with pytest.raises(ModelCallError, match=r"TimeoutError: late.* What you said is stored"):
            talk.say("hello")


class _Broken:
    def stream(self, *args: object, **kwargs: object) -> object:
        yield from ()
        raise TimeoutError("late")
