"""The tools for what a memory's owner decides: pin, forget, and see what there is."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from langmem_plus.errors import NotFoundError
from langmem_plus.tools import create_forget_memory_tool, create_list_memories_tool, create_pin_memory_tool

ANNE = "My wife is called Anne"


@pytest.fixture
def pin(store, config) -> Any:
    """The tool that pins and unpins."""
    return create_pin_memory_tool(store=store, config=config, actions_permitted=("pin", "unpin"))


@pytest.fixture
def forget(store, config) -> Any:
    """The tool that forgets."""
    return create_forget_memory_tool(store=store, config=config)


@pytest.fixture
def listing(store, config) -> Any:
    """The tool that lists."""
    return create_list_memories_tool(store=store, config=config)


class TestPin:
    def test_pin_and_unpin(self, pin, ask, records, remember, alice) -> None:
        """Each as often as it is called."""
        remember("wife", ANNE)
        for action in ("pin", "pin", "unpin", "unpin"):
            answer = ask(pin, "c1", alice, id="wife", action=action)
            assert (answer.content, answer.status) == (f"{action}ned memory wife", "success")
            assert records()["wife"].pinned == (action == "pin")

    def test_a_model_pins_and_does_not_unpin(self, store, config, ask, records, remember, alice) -> None:
        """Unless who builds the agent permits it, so that nothing lifts what protects a memory from the model."""
        remember("wife", ANNE, pinned=True)
        tool = create_pin_memory_tool(store=store, config=config)
        with pytest.raises(ValueError, match="pin"):
            ask(tool, "c1", alice, id="wife", action="unpin")
        assert records()["wife"].pinned

    def test_unknown_and_gone(self, pin, forget, ask, use, remember, alice) -> None:
        """An id that isn't the user's, or whose memory was forgotten, is an error."""
        remember("hers", "Bob's secret", user_id="bob")
        remember("wife", ANNE)
        ask(forget, "c1", alice, id="wife")
        for id in ("hers", "wife", "nonsense", ""):
            assert ask(pin, "c2", alice, id=id or "-").content.startswith("there is no memory")
            with pytest.raises(NotFoundError):
                use(pin, {"id": id or "-"}, alice)


class TestForget:
    def test_what_was_said_is_withheld_too(self, forget, search, ask, use, records, remember, alice) -> None:
        """The fact leaves a tombstone, and the words that told it aren't recalled."""
        remember("turn", f"{ANNE}.", role="user", extracted=True, thread_id="t1")
        remember("fact", ANNE, source_ids=["turn"])
        for _ in range(2):
            assert ask(forget, "c1", alice, id="fact").content == "deleted memory fact"
        assert "fact" not in records()
        assert use(search, "What is my wife called?", alice) == "Nothing relevant is remembered."

    def test_pinned_and_unknown(self, forget, ask, records, remember, alice) -> None:
        """Neither is forgotten, and the answer says why."""
        remember("wife", ANNE, pinned=True)
        assert "is pinned" in ask(forget, "c1", alice, id="wife").content
        answer = ask(forget, "c1", alice, id="nonsense")
        assert (answer.status, "there is no memory" in answer.content) == ("error", True)
        assert "wife" in records()


class TestList:
    def test_the_newest_first_page_by_page(self, listing, use, keys, remember, alice) -> None:
        """Facts of the space and of ``global``, by when they were said."""
        start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        for place in range(12):
            space = "global" if place % 3 == 0 else "default"
            remember(f"m{place:02}", f"fact {place}", observed_at=start + dt.timedelta(days=place), space=space)
        expected = [f"m{place:02}" for place in range(11, -1, -1)]
        assert keys(use(listing, {}, alice)) == expected[:10]
        assert keys(use(listing, {"limit": 5, "offset": 10}, alice)) == expected[10:]
        assert use(listing, {"offset": 12}, alice) == "There are no more results."

    def test_only_what_is_in_force(self, listing, use, keys, remember, alice) -> None:
        """Nothing of others, nothing deleted, replaced, expired or withheld; turns only where they are asked for."""
        past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        remember("fact", ANNE)
        remember("turn", "hello", role="user", extracted=True)
        remember("withheld", "secret", role="user", extracted=True, metadata={"forgotten": True})
        remember("old", "expired", expires_at=past)
        remember("gone", "deleted", status="deleted")
        remember("replaced", "replaced", status="superseded", replaced_by="fact")
        remember("hers", "Bob's", user_id="bob")
        assert keys(use(listing, {}, alice)) == ["fact"]
        assert keys(use(listing, {"role": "user"}, alice)) == ["turn"]
        assert use(listing, {"role": "archive"}, alice) == "Nothing is remembered yet."

    def test_incognito(self, listing, pin, forget, use, records, remember, alice) -> None:
        """Nothing is read, and nothing is written."""
        before = remember("wife", ANNE)
        hidden = {"configurable": {**alice["configurable"], "incognito": True}}
        assert "incognito" in use(listing, {}, hidden)
        for tool in (pin, forget):
            assert "nothing was written" in use(tool, {"id": "wife"}, hidden)
        assert records() == {"wife": before}
