"""What a memory was before, asked of the client."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import MissingIdentityError, NotFoundError
from langmem_plus.records import MemoryRecord, Scope

CONFIG = MemoryConfig(embeddings="none", background=False)
NS = Scope("ann").namespace


def put(client: MemoryClient, key: str, text: str, **fields: object) -> None:
    """Store a record."""
    client.store.put(NS, key, MemoryRecord(id=key, text=text, user_id="ann", **fields).to_value())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["markdown", "memory"])
async def test_the_past_of_a_replaced_fact(tmp_path: Path, kind: str) -> None:
    """In any store, by the id or its beginning, sync and async alike."""
    with MemoryClient(tmp_path if kind == "markdown" else InMemoryStore(), config=CONFIG) as client:
        put(client, "old-fact", "Ann lives in Paris.")
        put(client, "old-fact", "Ann lives in Paris.", status="superseded", replaced_by="new-fact")
        put(client, "new-fact", "Ann lives in Lyon.", replaces=["old-fact"])
        past = client.history("new", user_id="ann")
        assert [(state.key, state.status) for state in past] == [
            ("old-fact", "active"),
            ("old-fact", "superseded"),
            ("new-fact", "active"),
        ]
        assert await client.ahistory("old", user_id="ann") == past
        assert client.history("new-fact", user_id="ann") == past


async def test_who_is_not_there_has_no_past(tmp_path: Path) -> None:
    """Nor has another user's; without a user nothing is told."""
    with MemoryClient(tmp_path, config=CONFIG) as client:
        put(client, "fact", "Ann lives in Paris.")
        for asked in (("nobody", "ann"), ("fact", "bob")):
            with pytest.raises(NotFoundError, match="nothing is known"):
                client.history(asked[0], user_id=asked[1])
            with pytest.raises(NotFoundError, match="nothing is known"):
                await client.ahistory(asked[0], user_id=asked[1])
        with pytest.raises(MissingIdentityError):
            client.history("fact", user_id="")
        client.store.delete(NS, "fact")
        assert client.history("fact", user_id="ann")[-1].status == "deleted"
