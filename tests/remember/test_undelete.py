"""What was deleted softly is brought back, for a while."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import NotFoundError
from langmem_plus.records import FORGOTTEN, MemoryRecord, Scope

START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> dt.datetime:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture(params=["memory", "markdown"])
def client(request: pytest.FixtureRequest, tmp_path: Any, clock: Clock) -> Any:
    """A client that knows where Ann lives and what she likes."""
    store: Any = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    config = MemoryConfig(embeddings="none", background=False, sync_interval=0)
    with MemoryClient(store, config=config, clock=clock) as opened:
        opened.add("I live in Reykjavik.", user_id="ann", thread_id="t")
        opened.add("I like green tea.", user_id="ann", thread_id="t")
        yield opened


def fact(client: MemoryClient, word: str) -> MemoryRecord:
    """The fact with a word."""
    return next(record for record in client.list(user_id="ann", role="memory") if word in record.text)


def turns(client: MemoryClient) -> dict[str, bool]:
    """What was said, and whether it is withheld."""
    return {record.text: FORGOTTEN in record.metadata for record in client.list(user_id="ann", role="user")}


def test_a_forgotten_fact_comes_back_with_its_turns(client: MemoryClient, clock: Clock) -> None:
    """Recall finds it again, and the turn that it was drawn from; doing it twice changes nothing."""
    home = fact(client, "Reykjavik")
    client.forget(home.id, user_id="ann")
    assert turns(client) == {"I live in Reykjavik.": True, "I like green tea.": False}
    clock.now += dt.timedelta(hours=23)
    back = client.undelete(home.id, user_id="ann")
    assert (back.status, "reason" in back.metadata) == ("active", False)
    assert fact(client, "Reykjavik") == back == client.undelete(home.id, user_id="ann")
    assert not any(turns(client).values())
    assert client.search("Reykjavik", user_id="ann")


def test_a_turn_that_says_something_else_that_is_forgotten_stays_withheld(client: MemoryClient) -> None:
    """Two facts of one turn were forgotten, and one comes back."""
    client.add("I live in Reykjavik. I like green tea.", user_id="ann", thread_id="u")
    home, tea = fact(client, "Reykjavik"), fact(client, "tea")
    client.forget(home.id, user_id="ann")
    client.forget(tea.id, user_id="ann")
    client.undelete(home.id, user_id="ann")
    assert turns(client) == {
        "I live in Reykjavik.": False,
        "I like green tea.": True,
        "I live in Reykjavik. I like green tea.": True,
    }


def test_after_a_while_it_is_gone(client: MemoryClient, clock: Clock) -> None:
    """``tombstone_hours``; the error says when it was deleted, and what the limit is."""
    home = fact(client, "Reykjavik")
    client.forget(home.id, user_id="ann")
    clock.now += dt.timedelta(hours=25)
    with pytest.raises(NotFoundError, match=r"2026-05-01 12:00 UTC.*24 hours \(tombstone_hours\)"):
        client.undelete(home.id, user_id="ann")


def test_what_was_replaced_or_never_was(client: MemoryClient) -> None:
    """The error says what to do."""
    home = fact(client, "Reykjavik")
    client.add("I live in Oslo now.", user_id="ann", thread_id="t")
    with pytest.raises(NotFoundError, match="was replaced by"):
        client.undelete(home.id, user_id="ann")
    with pytest.raises(NotFoundError, match="there is no record"):
        client.undelete("nothing", user_id="ann")
    client.store.put(Scope("ann").namespace, "foreign", {"content": "x"})
    with pytest.raises(NotFoundError, match="isn't a record of this package"):
        client.undelete("foreign", user_id="ann")


def test_a_cleared_conversation_comes_back(client: MemoryClient, clock: Clock) -> None:
    """What was forgotten in it before stays forgotten; too late, nothing comes back."""
    turn = client.list(user_id="ann", role="user")[0]
    client.forget(turn.id, user_id="ann")
    assert client.clear_conversation("t", user_id="ann") == 1
    assert client.restore_conversation("t", user_id="ann") == 1
    assert len(client.list(user_id="ann", role="user")) == 1
    assert client.restore_conversation("t", user_id="ann") == 0
    client.clear_conversation("t", user_id="ann")
    clock.now += dt.timedelta(hours=25)
    assert client.restore_conversation("t", user_id="ann") == 0
