"""Records that others change at the same time are never overwritten unread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.errors import ConflictError
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import arun_steps, put, run_steps
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore

NAMESPACE = ("memories", "ann", "default")
KEYS = ["a", "b"]


def record(key: str, text: str) -> MemoryRecord:
    """A fact."""
    return MemoryRecord(id=key, text=text, user_id="ann")


def marked(current: dict[str, MemoryRecord]) -> list[PutOp]:
    """Each record's text with a mark behind it."""
    return [put(NAMESPACE, found.model_copy(update={"text": f"{found.text}!"})) for found in current.values()]


def texts(store: BaseStore) -> dict[str, str]:
    """What is stored."""
    return {item.key: item.value["text"] for item in store.search(NAMESPACE)}


def disturbed(store: BaseStore, times: int) -> Callable[[dict[str, MemoryRecord]], list[PutOp]]:
    """A change, during the first calls of which somebody else writes."""
    calls = 0

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal calls
        calls += 1
        if calls <= times:
            store.put(NAMESPACE, "a", record("a", f"theirs {calls}").to_value())
        return marked(current)

    return change


@pytest.fixture
def known(store: BaseStore) -> BaseStore:
    """A store with two facts."""
    for key in KEYS:
        store.put(NAMESPACE, key, record(key, f"mine {key}").to_value())
    return store


def test_a_change_of_others_is_read_before_it_is_changed(known: BaseStore) -> None:
    """Both changes are in the record afterwards, and the other record was changed once."""
    run_steps(rewrite(NAMESPACE, KEYS, disturbed(known, 2)), Services(store=known), known)
    assert texts(known) == {"a": "theirs 2!", "b": "mine b!"}


async def test_it_is_the_same_in_async_code(known: BaseStore) -> None:
    """The twin reads and compares too."""
    change = disturbed(known, 0)
    await arun_steps(rewrite(NAMESPACE, KEYS, change), Services(store=known), known)
    assert texts(known) == {"a": "mine a!", "b": "mine b!"}


def test_others_that_never_rest_are_an_error_and_nothing_is_half_written(known: BaseStore) -> None:
    """The message says how many memories, and that it is tried again."""
    with pytest.raises(ConflictError, match=r"2 memories of .* 5 times"):
        run_steps(rewrite(NAMESPACE, KEYS, disturbed(known, 99)), Services(store=known), known)
    assert texts(known) == {"a": "theirs 5", "b": "mine b"}


def test_an_edit_by_hand_a_moment_ago_counts(tmp_path: Path) -> None:
    """However long the interval between two looks at the files is."""
    with MarkdownStore(tmp_path, index=None) as store:
        store.put(NAMESPACE, "a", record("a", "mine").to_value())
        (path,) = tmp_path.glob("entries/**/*.md")
        edited = False

        def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
            nonlocal edited
            if not edited:
                path.write_text(path.read_text().replace("mine", "edited by hand"))
                edited = True
            return marked(current)

        run_steps(rewrite(NAMESPACE, ["a"], change), Services(store=store), store)
        assert texts(store) == {"a": "edited by hand!"}


def test_a_file_deleted_by_hand_stays_deleted(tmp_path: Path) -> None:
    """What is gone when it is to be changed is given as gone."""
    with MarkdownStore(tmp_path, index=None) as store:
        store.put(NAMESPACE, "a", record("a", "mine").to_value())
        (path,) = tmp_path.glob("entries/**/*.md")

        def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
            path.unlink(missing_ok=True)
            return marked(current)

        run_steps(rewrite(NAMESPACE, ["a"], change), Services(store=store), store)
        assert texts(store) == {}


def test_many_that_count_on_one_record_lose_no_count(tmp_path: Path) -> None:
    """Threads that raise one number at once raise it as often as they said."""

    def raised(current: dict[str, MemoryRecord]) -> list[PutOp]:
        found = current["a"]
        return [put(NAMESPACE, found.model_copy(update={"repeat_count": found.repeat_count + 1}))]

    async def all_at_once(store: MarkdownStore) -> None:
        def once(_: int) -> None:
            for _ in range(50):
                try:
                    return run_steps(rewrite(NAMESPACE, ["a"], raised), Services(store=store), store)
                except ConflictError:
                    continue
            raise AssertionError("never written")

        await asyncio.gather(*(asyncio.to_thread(once, n) for n in range(8)))

    with MarkdownStore(tmp_path, index=None) as store:
        store.put(NAMESPACE, "a", record("a", "mine").to_value())
        asyncio.run(all_at_once(store))
        value: Any = store.get(NAMESPACE, "a")
        assert value.value["repeat_count"] == 8
