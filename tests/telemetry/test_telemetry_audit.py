"""What a user decides leaves a line in the audit trail, and none of their words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import NotFoundError, PinnedError
from langmem_plus.telemetry import audit
from langmem_plus.tools import create_forget_memory_tool, create_pin_memory_tool

PLAIN = MemoryConfig(embeddings="none", background=False)
RUN = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


@pytest.fixture
def client(tmp_path) -> Iterator[MemoryClient]:
    """A client over files, with one conversation in it."""
    with MemoryClient(tmp_path / "memories", config=PLAIN) as opened:
        opened.add("My dog is called Rex.", user_id="alice", thread_id="t1")
        yield opened


@pytest.fixture
def trail(caplog: pytest.LogCaptureFixture) -> Any:
    """Reads the audit trail: each action with what it was about."""
    caplog.set_level(logging.INFO, "langmem_plus.audit")

    def read() -> list[dict[str, Any]]:
        return [record.memory_action for record in caplog.records if record.name == "langmem_plus.audit"]

    return read


def fact(client: MemoryClient) -> str:
    """The id of the fact that is known."""
    (found,) = client.list(user_id="alice", role="memory")
    return found.id


class TestClient:
    def test_every_decision_is_logged_and_counted(self, client, trail, told, tmp_path, caplog) -> None:
        """Pin, unpin, forget, clear, erase, export and import: with ids and numbers, without texts."""
        id, whose = fact(client), {"user_id": "alice"}
        client.pin(id[:12], **whose)
        client.unpin(id, **whose)
        client.forget(id, **whose, reason="Rex is a secret")
        client.clear_conversation("t1", **whose)
        client.export_user(tmp_path / "alice.zip", **whose)
        client.erase(**whose)
        client.import_user(tmp_path / "alice.zip")
        found = trail()
        assert [each["action"] for each in found] == ["pin", "unpin", "forget", "clear", "export", "erase", "import"]
        assert {(each["by"], each["user_id"]) for each in found} == {("owner", "alice")}
        assert [each.get("id") for each in found[:3]] == [id] * 3
        assert (found[3]["thread_id"], found[3]["records"]) == ("t1", 1)
        assert found[5]["records"] >= 2 and found[6]["records"] == found[4]["records"]
        assert "Rex" not in caplog.text
        counted = told.sums("langmem_plus.user_actions", "langmem_plus.action")
        assert counted == {each["action"]: 1 for each in found}

    def test_what_is_asked_for_in_so_many_words_is_a_decision(self, client, trail) -> None:
        """Who says "forget that …" has decided so; who only says something new hasn't."""
        id = fact(client)
        client.add("My cat is called Tom.", user_id="alice")
        assert trail() == []
        client.add("Please forget that my dog is called Rex.", user_id="alice")
        assert [(each["action"], each["by"], each["id"]) for each in trail()] == [("forget", "conversation", id)]

    async def test_async_calls_are_logged_alike(self, client, trail) -> None:
        """Both doors of each call are the same call."""
        id = fact(client)
        await client.apin(id, user_id="alice")
        await client.aforget(id, user_id="alice")
        await client.aerase(user_id="alice", thread_id="t1")
        assert [each["action"] for each in trail()] == ["pin", "forget", "erase"]

    def test_what_was_not_done_is_not_logged(self, client, trail) -> None:
        """A record that isn't there is nobody's decision."""
        for call in (client.pin, client.forget):
            with pytest.raises(NotFoundError):
                call("nonsense", user_id="alice")
        with pytest.raises(NotFoundError):
            client.erase(user_id="alice", id="nonsense")
        assert trail() == []


class TestReview:
    def test_an_answer_counts_what_became_of_the_fact(self, tmp_path, trail, told) -> None:
        """Added, updated, repeated, deleted or rejected, as where nothing waits; the same again counts nothing."""
        whose = {"user_id": "alice"}
        with MemoryClient(tmp_path / "memories", config=PLAIN.replace(review="all")) as client:

            def waiting(*texts: str) -> list[str]:
                for text in texts:
                    client.add(text, **whose)
                ids = {record.text: record.id for record in client.pending(**whose)}
                return [ids.get(text, "") for text in texts]

            home, tea, again, boat = waiting("I live in Paris.", "I like tea.", "I like tea!", "I own a boat.")
            for id in (home, tea, again, tea):
                client.approve(id, **whose)
            client.reject(boat, **whose)
            waiting("I live in Lyon now.", "Forget that I like tea.")
            for record in client.pending(**whose):
                client.approve(record.id, **whose)
        events = told.sums("langmem_plus.facts", "langmem_plus.event")
        assert events == {"waiting": 6, "added": 2, "repeated": 1, "rejected": 1, "updated": 1, "deleted": 1}
        assert [each["action"] for each in trail()].count("approve") == 5


class TestTools:
    def test_a_model_is_named_as_who_did_it(self, client, trail) -> None:
        """By the tool's name."""
        id = fact(client)
        pin = create_pin_memory_tool(store=client.store, config=PLAIN, actions_permitted=("pin", "unpin"))
        forget = create_forget_memory_tool(store=client.store, config=PLAIN)
        pin.invoke({"id": id}, RUN)
        with pytest.raises(PinnedError):
            forget.invoke({"id": id}, RUN)
        pin.invoke({"id": id, "action": "unpin"}, RUN)
        forget.invoke({"id": id}, RUN)
        assert [(each["action"], each["by"]) for each in trail()] == [
            ("pin", "pin_memory"),
            ("unpin", "pin_memory"),
            ("forget", "forget_memory"),
        ]


def test_stores_that_are_not_files_are_audited_too(trail) -> None:
    """The trail is the package's, not the store's."""
    client = MemoryClient(InMemoryStore(), config=PLAIN)
    client.add("My dog is called Rex.", user_id="alice")
    asyncio.run(client.aforget(fact(client), user_id="alice"))
    assert [each["action"] for each in trail()] == ["forget"]


@given(name=st.text(min_size=1, max_size=20), records=st.integers(0, 9))
def test_an_entry_is_one_line(name: str, records: int) -> None:
    """Whatever an id is, it can't write lines of its own."""
    written: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    log, handler = logging.getLogger("langmem_plus.audit"), Kept()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        audit("erase", user_id=name, records=records, thread_id=None)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    (line,) = written
    assert len(line.splitlines()) == 1 and line.startswith("erase by='owner' user_id=") and "thread_id" not in line
