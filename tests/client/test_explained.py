"""What an agent would be told, and why, asked of the client."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import InvalidValueError, MissingIdentityError

CONFIG = MemoryConfig(embeddings="none", background=False)


@pytest.mark.parametrize("kind", ["markdown", "memory"])
async def test_a_question_is_answered_from_memory(tmp_path: Path, kind: str) -> None:
    """The fenced context holds the memory, the report every stage; sync and async alike, over any store."""
    with MemoryClient(tmp_path if kind == "markdown" else InMemoryStore(), config=CONFIG) as client:
        client.add("My dog is called Pixel.", user_id="ann")
        found = client.explain("What is my dog called?", user_id="ann")
        again = await client.aexplain("What is my dog called?", user_id="ann")
    assert "Pixel" in found.context
    assert "Pixel" in found.hits[0].text
    assert set(found.report.milliseconds) == {"plan", "retrieve", "rerank", "mmr", "inject"}
    assert found.report.tokens["context"] > 0
    assert any(choice.kept for choice in found.report.choices)
    assert again.context == found.context


def test_what_needs_no_memory_is_told_nothing() -> None:
    """A greeting recalls nothing, and the report says why."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        client.add("My dog is called Pixel.", user_id="ann")
        found = client.explain("Hello!", user_id="ann")
    assert (found.context, found.hits, found.report.strategy) == ("", [], "none")


def test_nobodys_memory_explains_nothing() -> None:
    """As everywhere, no identity is an error."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client, pytest.raises(MissingIdentityError):
        client.explain("Hello!", user_id="")


def test_ages_are_counted_by_the_clients_clock() -> None:
    """A question can be asked as of another day."""
    now = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    with MemoryClient(InMemoryStore(), config=CONFIG, clock=lambda: now) as client:
        client.add("My dog is called Pixel.", user_id="ann")
        (fresh, *_) = client.search("dog", user_id="ann")
        now += dt.timedelta(days=CONFIG.recency_tau_days)
        (aged, *_) = client.search("dog", user_id="ann")
    assert fresh.record.created_at == dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    assert (fresh.scores["recency"], round(aged.scores["recency"], 3)) == (1.0, 0.368)


@pytest.mark.parametrize("kind", ["markdown", "memory"])
async def test_a_message_says_who_asks(tmp_path: Path, kind: str) -> None:
    """ "My" is what that person said, of `explain` and of `search`; a dict says it as well, and a text is nobody's."""
    said = [("Ann", "I live in Lyon."), ("Bob", "I live in Bonn."), ("", "I live in Oslo.")]
    with MemoryClient(tmp_path if kind == "markdown" else InMemoryStore(), config=CONFIG) as client:
        client.add([HumanMessage(text, name=name or None) for name, text in said], user_id="house")
        for name, text in said[:2]:
            asked = HumanMessage("Where do I live?", name=name)
            as_dict = {"role": "user", "content": [{"type": "text", "text": "Where do I live?"}], "name": name}
            assert client.explain(asked, user_id="house").hits[0].text == text
            assert (await client.aexplain(as_dict, user_id="house")).hits[0].text == text
            assert client.search(asked, user_id="house", k=1)[0].text == text
            assert (await client.asearch(as_dict, user_id="house", k=1))[0].text == text
        plain = [hit.id for hit in client.search("Where do I live?", user_id="house")]
        again = client.search(HumanMessage("Where do I live?"), user_id="house")
        assert [hit.id for hit in again] == plain
        assert client.explain(["Where do I live?"], user_id="house").hits


@pytest.mark.parametrize("query", [AIMessage("Where?"), HumanMessage(" "), {"role": "system", "content": "Where?"}, 7])
def test_what_no_user_asks_is_refused(query: Any) -> None:
    """With words that say what to give, by both calls."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        for call in (client.explain, client.search):
            with pytest.raises(InvalidValueError, match="give "):
                call(query, user_id="ann")
