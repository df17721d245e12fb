"""Archives through the client: made at a conversation's end, found in others, kept when it is cleared."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import NotFoundError
from langmem_plus.testing import ScriptedChatModel

CONFIG = MemoryConfig(embeddings="none", rerank_bits="none", background=False, sync_interval=0)
TALK = [
    {"role": "user", "content": "I'm planning a trip to Kyoto with Anne.", "id": "1"},
    {"role": "assistant", "content": "When do you want to go?", "id": "2"},
    {"role": "user", "content": "Let's go with the last week of May.", "id": "3"},
]


@pytest.fixture(params=["memory", "markdown"])
def make(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """Makes a client over a store of that kind, with one conversation in it."""

    def opened(**settings: Any) -> MemoryClient:
        store: Any = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
        client = MemoryClient(store, config=CONFIG.replace(**settings), chat_model=ScriptedChatModel(then="Good."))
        client.add(TALK, user_id="ann", thread_id="trip")
        return client

    return opened


def texts(client: MemoryClient, role: Any) -> list[str]:
    """What the active records of a role say."""
    return [record.text for record in client.list(user_id="ann", role=role)]


def test_a_conversation_that_has_ended_is_found_in_others(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """By its own words and the trigger; the audit trail has the archive, once."""
    with make() as client, caplog.at_level(logging.INFO, "langmem_plus.audit"):
        record = client.archive("trip", user_id="ann")
        assert client.archive("trip", user_id="ann") == record
        assert record.metadata["decisions"] == ["Let's go with the last week of May."]
        assert sum(line.startswith("archive ") for line in caplog.messages) == 1
        reply = client.chat("What did we discuss about Kyoto?", user_id="ann", thread_id="new")
        assert "# Earlier conversations" in reply.context
        same = client.chat("What did we discuss about Kyoto?", user_id="ann", thread_id="trip")
        assert "# Earlier conversations" not in same.context
        assert "Kyoto" not in client.chat("What did we discuss about Kyoto?", user_id="bob").context
        client.add("Thanks!", user_id="ann", thread_id="small talk")
        assert client.archive("small talk", user_id="ann") is None
        with pytest.raises(NotFoundError, match="there is no conversation 'nothing' of 'ann'"):
            client.archive("nothing", user_id="ann")
        with pytest.raises(NotFoundError, match="there is no conversation"):
            client.archive("trip", user_id="bob")


@pytest.mark.parametrize("archives", [False, True])
async def test_a_cleared_conversation_is_counted_and_archived(make: Any, archives: bool) -> None:
    """With the setting its archive is made; without, one that was asked for stays. Neither is counted."""
    with make(archive_conversations=archives) as client:
        if not archives:
            client.archive("trip", user_id="ann")
        assert await client.aclear_conversation("trip", user_id="ann") == 3
        assert not texts(client, "user")
        (archive,) = client.list(user_id="ann", role="archive")
        assert "# Earlier conversations" in client.chat("What did we discuss about Kyoto?", user_id="ann").context
        assert client.clear_conversation("trip", user_id="ann") == 0
        assert client.restore_conversation("trip", user_id="ann") == 3
        client.forget(archive.id, user_id="ann")
        assert not texts(client, "archive")


def test_clearing_makes_no_archive_that_nobody_asked_for(make: Any) -> None:
    """Without the setting, and without a call for it, none is there."""
    with make() as client:
        client.clear_conversation("trip", user_id="ann")
        assert not texts(client, "archive")


def test_erasing_takes_out_of_archives_what_was_erased(make: Any) -> None:
    """With a fact its lines and names; with the conversation all of it."""
    with make() as client:
        client.add("My brother is called Zebedee.", user_id="ann", thread_id="trip")
        client.archive("trip", user_id="ann")
        fact = next(each for each in client.list(user_id="ann", role="memory") if "Zebedee" in each.text)
        client.erase(user_id="ann", id=fact.id)
        (left,) = client.list(user_id="ann", role="archive")
        assert "Zebedee" not in str(left.to_value())
        assert "Kyoto" in left.text
        assert left.metadata["message_count"] == 3
        client.erase(user_id="ann", thread_id="trip")
        assert not texts(client, "archive")


def test_forgetting_takes_it_out_of_archives(make: Any) -> None:
    """Softly deleted facts don't come back through them."""
    with make() as client:
        client.add("I live in Lyon.", user_id="ann", thread_id="trip")
        client.archive("trip", user_id="ann")
        fact = next(each for each in client.list(user_id="ann", role="memory") if "Lyon" in each.text)
        client.forget(fact.id, user_id="ann")
        assert "Lyon" not in str([each.to_value() for each in client.list(user_id="ann", role="archive")])
