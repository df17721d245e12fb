"""The client over a real model: add, flush, search, pin, several users at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.background import background

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PATIENCE = 240.0


def test_add_flush_search(server: Any, tmp_path: Path, config: MemoryConfig) -> None:
    """What is added is found word for word at once, and its facts after a flush; nothing is given up."""
    failed = background.failed
    with MemoryClient(tmp_path / "db", model=server.chat(), config=config) as client:
        client.add("My dog is called Rex and I live in Lyon.", user_id="alice", thread_id="t1")
        assert "Rex" in client.search("What is my dog called?", user_id="alice")[0].text
        assert client.flush(PATIENCE)
        assert all(turn.extracted for turn in client.list(user_id="alice", role="user"))
        assert client.search("What is my dog called?", user_id="alice")
        assert not client.search("What is my dog called?", user_id="bob")
    assert background.failed == failed


async def test_many_users_at_once(server: Any, tmp_path: Path, config: MemoryConfig) -> None:
    """Users whose turns are worked off at the same time, more of them than the server has places, get their own
    facts."""
    names = [f"user{number}" for number in range(5)]
    async with MemoryClient(tmp_path / "db", model=server.chat(), config=config) as client:
        await asyncio.gather(*(client.aadd(f"I am {name} and I like tea.", user_id=name) for name in names))
        assert await client.aflush(PATIENCE)
        for name in names:
            (turn,) = await client.alist(user_id=name, role="user")
            assert turn.extracted
            facts = await client.alist(user_id=name, role="memory")
            assert all(fact.user_id == name and fact.thread_id == turn.thread_id for fact in facts)


def test_no_model_changes_what_is_pinned(server: Any, tmp_path: Path, config: MemoryConfig) -> None:
    """A hot model decides about three changes of mind: the pinned fact stays as it is, nothing vanishes without a
    trace, and every turn is worked off."""
    with MemoryClient(tmp_path / "db", config=config.replace(background=False)) as rules:
        rules.add("I live in Lyon.", user_id="alice")
        (fact,) = rules.list(user_id="alice", role="memory")
        rules.pin(fact.id, user_id="alice")
    model = server.chat(temperature=1.3, seed=7)
    with MemoryClient(tmp_path / "db", model=model, config=config.replace(background=False)) as client:
        for place in ("Paris", "Rome", "Oslo"):
            client.add(f"I live in {place} now, and my dog Rex, too.", user_id="alice")
        assert client.get(fact.id, user_id="alice").text == fact.text
        turns = client.list(user_id="alice", role="user")
        assert len(turns) == 4 and all(turn.extracted for turn in turns)
        facts = client.list(user_id="alice", role="memory")
        assert fact.id in {each.id for each in facts} and {each.status for each in facts} == {"active"}
