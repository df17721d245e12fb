"""Time to live in the store of files: enforced at every read, prolonged by reads, kept in the file, swept."""

from __future__ import annotations

import datetime as dt
import gc
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp, TTLConfig

from langmem_plus.errors import StoreError
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import expiring, sweeping

DOCS = ("docs",)


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.time = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        """Now."""
        return self.time

    def go(self, minutes: float) -> None:
        """Let minutes pass."""
        self.time += dt.timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Callable[..., MarkdownStore]:
    """Opens the same folder, each time as a process of its own would."""

    def open_store(ttl: TTLConfig | None = None, **options: Any) -> MarkdownStore:
        return MarkdownStore(tmp_path / "memory", index=None, ttl=ttl, clock=clock, **options)

    return open_store


def _visible(store: MarkdownStore, namespace: tuple[str, ...] = DOCS) -> dict[str, set[str]]:
    """What each way of reading shows, without prolonging anything."""
    search: Any = store.search
    return {
        "listing": {item.key for item in search(namespace, limit=99, refresh_ttl=False)},
        "below": {item.key for item in search((), limit=99, refresh_ttl=False)},
        "filtered": {item.key for item in search(namespace, filter={"a": 1}, limit=99, refresh_ttl=False)},
        "ranked": {item.key for item in search(namespace, query="tea", limit=99, refresh_ttl=False)},
        "both": {item.key for item in search((), query="tea", filter={"a": 1}, limit=99, refresh_ttl=False)},
        "get": {key for key in ("k", "other") if store.get(namespace, key, refresh_ttl=False)},
        "path": {key for key in ("k", "other") if store.path_of(namespace, key)},
    }


def test_expired_items_are_not_given_out(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """By any way of reading, before anything is swept; the last of a namespace takes it from the list."""
    store = opened()
    store.put(DOCS, "k", {"text": "green tea", "a": 1}, ttl=0.5)
    store.put(DOCS, "other", {"text": "black tea", "a": 1}, ttl=2)
    assert all(found == {"k", "other"} for found in _visible(store).values())
    clock.go(0.5)
    assert all(found == {"other"} for found in _visible(store).values())
    assert store.list_namespaces() == [DOCS]
    clock.go(1.5)
    assert not any(_visible(store).values())
    assert store.list_namespaces() == []


def test_a_lost_index_makes_nothing_live_again(
    opened: Callable[..., MarkdownStore], clock: Clock, tmp_path: Path
) -> None:
    """The file says when it expires, so another process and a new index know."""
    with opened() as store:
        store.put(DOCS, "k", {"text": "tea"}, ttl=1)
        store.put(DOCS, "other", {"text": "tea"})
    clock.go(1)
    shutil.rmtree(tmp_path / "memory" / ".index")
    again = opened()
    assert again.list_namespaces() == [DOCS]
    assert {item.key for item in again.search(DOCS)} == {"other"}
    again.delete(DOCS, "other")
    shutil.rmtree(tmp_path / "memory" / ".index")
    assert opened().list_namespaces() == []


@pytest.mark.parametrize("ending", ["close", "sweep_ttl"])
def test_a_prolonged_time_reaches_the_file(
    opened: Callable[..., MarkdownStore], clock: Clock, tmp_path: Path, ending: str
) -> None:
    """When the store closes or sweeps, at the latest; other processes know at once, from the index."""
    store, other = opened(), opened()
    store.put(DOCS, "k", {"text": "tea"}, ttl=1)
    before = store.get(DOCS, "k", refresh_ttl=False)
    clock.go(0.9)
    store.get(DOCS, "k")
    clock.go(0.9)
    assert other.get(DOCS, "k", refresh_ttl=False) == before
    getattr(store, ending)()
    shutil.rmtree(tmp_path / "memory" / ".index")
    assert opened().get(DOCS, "k", refresh_ttl=False) == before
    clock.go(0.1)
    assert opened().get(DOCS, "k") is None


def test_a_search_prolongs_what_it_gives_out_and_nothing_else(
    opened: Callable[..., MarkdownStore], clock: Clock
) -> None:
    """Only the page, and not with ``refresh_ttl=False``."""
    store = opened({"default_ttl": 1})
    for n in range(4):
        store.put(DOCS, f"k{n}", {"text": "tea"})
    clock.go(0.9)
    page = {item.key for item in store.search(DOCS, query="tea", limit=1)}
    page |= {item.key for item in store.search(DOCS, limit=1, offset=3)}
    store.search(DOCS, refresh_ttl=False)
    clock.go(0.2)
    assert {item.key for item in store.search(DOCS)} == page
    assert len(page) == 2


def test_settings_say_whether_reads_prolong(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """``refresh_on_read`` is the default of get and search; what they are told themselves counts more, and an op's own
    word is the last one.
    """
    store = opened({"refresh_on_read": False, "default_ttl": 1})
    for key in "abcd":
        store.put(DOCS, key, {"text": "tea"})
    clock.go(0.9)
    store.search(DOCS)
    store.get(DOCS, "a", refresh_ttl=True)
    store.batch([GetOp(DOCS, "b", refresh_ttl=True), GetOp(DOCS, "c", refresh_ttl=False), SearchOp(("no",))])
    clock.go(0.2)
    assert {item.key for item in store.search(DOCS)} == {"a", "b"}


def test_a_put_says_how_long(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """The default, a time of its own, None for no end, 0 for none; an update counts anew or takes the end away."""
    store = opened({"default_ttl": 1})
    store.put(DOCS, "default", {})
    store.put(DOCS, "long", {}, ttl=10.5)
    store.put(DOCS, "endless", {}, ttl=None)
    store.put(DOCS, "nothing", {}, ttl=0)
    store.batch([PutOp(DOCS, "raw", {})])
    store.put(DOCS, "cleared", {}, ttl=1)
    store.put(DOCS, "cleared", {}, ttl=None)
    store.put(DOCS, "again", {})
    keys: Any = lambda: {item.key for item in store.search(DOCS, limit=99, refresh_ttl=False)}  # noqa: E731
    everything = {"default", "long", "endless", "raw", "cleared", "again"}
    assert keys() == everything
    clock.go(0.75)
    store.put(DOCS, "again", {"n": 2})
    clock.go(0.75)
    assert keys() == everything - {"default"}
    clock.go(5)
    assert keys() == {"long", "endless", "raw", "cleared"}
    clock.go(1e9)
    assert keys() == {"endless", "raw", "cleared"}


def test_a_record_ends_when_it_says(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """Its ``expires_at`` is one truth with a put's time: the earlier of both counts, and no read prolongs the record's
    own. A foreign value's field of that name is only a value.
    """
    store = opened()
    ends = clock.time + dt.timedelta(minutes=2)
    for name, ttl in (("plain", None), ("short", 1.0), ("long", 60.0)):
        record = MemoryRecord(id=name, text="tea", user_id="ann", expires_at=ends)
        store.put(DOCS, name, record.to_value(), ttl=ttl)
    store.put(DOCS, "foreign", {"text": "tea", "expires_at": "2000-01-01T00:00:00Z"})
    clock.go(0.9)
    assert len(store.search(DOCS)) == 4
    clock.go(0.9)
    assert len(store.search(DOCS)) == 4
    assert store.sweep_ttl() == 0
    clock.go(0.2)
    assert [item.key for item in store.search(DOCS)] == ["foreign"]
    assert store.sweep_ttl() == 3


def test_sweeping_deletes_as_a_delete_does(opened: Callable[..., MarkdownStore], clock: Clock, tmp_path: Path) -> None:
    """A tombstone stays, and what still lives too; a second sweep finds nothing."""
    store = opened()
    store.put(DOCS, "k", {"text": "tea"}, ttl=1)
    store.put(("a", "b"), "k", {"text": "tea"}, ttl=1)
    store.put(DOCS, "lives", {"text": "tea"}, ttl=2)
    clock.go(1)
    assert store.sweep_ttl() == 2
    assert store.sweep_ttl() == 0
    deleted = sorted(path.parent.parent.name for path in (tmp_path / "memory" / "entries").rglob("*.md"))
    assert deleted == ["deleted", "deleted", "docs"]
    assert [item.key for item in opened().search(())] == ["lives"]


def test_what_expired_is_no_past_of_what_is_put_then(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """A put under its key makes a new item; a conditional write sees nothing there."""
    store = opened()
    store.put(DOCS, "k", {"n": 1}, ttl=1)
    first = store.get(DOCS, "k")
    clock.go(1)
    assert store.exchange(DOCS, {"k": None}, [PutOp(DOCS, "k", {"n": 2})])
    second = store.get(DOCS, "k")
    assert first is not None
    assert second is not None
    assert second.created_at > first.created_at
    clock.go(1e6)
    assert store.get(DOCS, "k") is not None


def test_a_store_may_show_what_is_not_swept(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """With ``omit_expired=False``, as LangGraph's stores do; a read doesn't bring it back to life."""
    store = opened({"omit_expired": False})
    store.put(DOCS, "k", {"text": "tea", "a": 1}, ttl=1)
    clock.go(1)
    assert all(found == {"k"} for found in _visible(store).values())
    assert store.get(DOCS, "k") is not None
    assert store.list_namespaces() == [DOCS]
    assert store.sweep_ttl() == 1
    assert store.list_namespaces() == []


def test_a_person_may_write_the_time(opened: Callable[..., MarkdownStore], clock: Clock, tmp_path: Path) -> None:
    """A date alone, or minutes alone; what can't be read is reported, and neither kept for ever nor lost."""
    store = opened(config=None)
    for key in ("date", "minutes", "broken", "nonsense"):
        store.put(DOCS, key, {"text": "tea"})
    store.close()
    lines = {"date": '"expires_at": "2030-01-02"', "minutes": '"ttl": 0', "broken": '"expires_at": "soon"'}
    for key, line in (lines | {"nonsense": '"ttl": "long"'}).items():
        path = store.path_of(DOCS, key)
        assert path is not None
        path.write_text(path.read_text().replace('"updated_at"', f'{line}, "updated_at"'))
    again = opened()
    assert [item.key for item in again.search(DOCS)] == ["date"]
    told = again.unreadable()
    assert sorted(path.stem for path in told) == ["broken", "nonsense"]
    assert all("'stored' has" in reason for reason in told.values())
    clock.go(24 * 60)
    assert again.search(DOCS) == []


def test_an_edit_by_hand_keeps_the_prolonged_time(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """What reads have prolonged isn't taken back by a person who mends a word, nor is the edit by the flush."""
    store = opened({"default_ttl": 1})
    store.put(DOCS, "k", {"text": "tea"})
    clock.go(0.9)
    store.get(DOCS, "k")
    path = store.path_of(DOCS, "k")
    assert path is not None
    path.write_text(path.read_text().replace("tea", "coffee"))
    store.close()
    clock.go(0.9)
    item = opened().get(DOCS, "k")
    assert item is not None
    assert item.value == {"text": "coffee"}


def test_a_turn_does_not_end_before_its_facts_are_drawn(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """While it waits for extraction, and while it is pinned or saved on purpose, no sweep takes it; then it ends."""
    ends = clock.time + dt.timedelta(minutes=1)
    turn = MemoryRecord(id="k", role="user", text="tea", user_id="ann", extracted=False, expires_at=ends)
    store = opened()
    store.put(DOCS, "k", turn.to_value())
    clock.go(1)
    assert store.sweep_ttl() == 0
    assert store.pending() == [DOCS]
    assert store.claim(DOCS, ["k"], 5) == {"k"}
    for kept in ("pinned", "manually_saved"):
        store.put(DOCS, "k", turn.model_copy(update={"extracted": True, kept: True}).to_value())
        assert store.sweep_ttl() == 0
        assert store.pending() == []
        assert len(store.search(DOCS)) == 1
    store.put(DOCS, "k", turn.model_copy(update={"extracted": True}).to_value())
    assert store.search(DOCS) == []
    assert store.sweep_ttl() == 1


def test_a_read_does_not_fail_for_what_it_cannot_prolong(
    opened: Callable[..., MarkdownStore], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does closing for what it can't write; both say so."""
    store = opened({"default_ttl": 1})
    store.put(DOCS, "k", {"text": "tea"})

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise StoreError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(expiring, "prolong", refuse)
        assert store.get(DOCS, "k") is not None
    assert store.get(DOCS, "k") is not None
    with monkeypatch.context() as broken:
        broken.setattr(sweeping, "carried_out", refuse)
        broken.setattr(expiring, "later_than_files", lambda index: [("k", "2031-01-01T00:00:00.000000Z")])
        store.close()
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "reading couldn't prolong what expires in ('docs',)",
        "the files of ('docs',) don't say yet how far reading prolonged them",
    ]


def test_the_sweeper_sweeps_until_it_is_stopped(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """In a thread of its own; starting it twice starts one; cancelling its future stops it, too."""
    store = opened()
    store.put(DOCS, "k", {"text": "tea"}, ttl=1)
    clock.go(1)
    future = store.start_ttl_sweeper(0.0002)
    assert store.start_ttl_sweeper(0.0002) is not future
    assert [thread.name for thread in threading.enumerate()].count("ttl-sweeper") == 1
    _wait(lambda: store.sweep_ttl() == 0 and not (store.path / "entries" / "docs" / "items" / "k.md").exists())
    assert store.stop_ttl_sweeper(timeout=5)
    assert future.result(timeout=5) is None
    assert store.stop_ttl_sweeper()
    assert store.start_ttl_sweeper(60).cancel()
    _wait(lambda: "ttl-sweeper" not in [thread.name for thread in threading.enumerate()])


def test_an_interval_in_the_settings_starts_it(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """With the first use of the store, and closing ends it; a store that nobody has any more ends it as well."""
    others = _sweepers()  # stores of other tests may not have been collected yet
    for end in (MarkdownStore.close, None):
        store = opened({"sweep_interval_minutes": 0.0002})  # type: ignore[typeddict-item]
        store.put(DOCS, "k", {"text": "tea"}, ttl=1)
        clock.go(1)
        file = store.path / "entries" / "docs" / "items" / "k.md"
        _wait(lambda file=file: not file.exists())  # type: ignore[misc]
        if end:
            end(store)
        del store
        # A sweep that runs just now holds the store for its time, so it is collected again until it is gone.
        _wait(lambda: gc.collect() >= 0 and not _sweepers() - others)


async def test_the_async_twins(opened: Callable[..., MarkdownStore], clock: Clock) -> None:
    """Put, get, search, list, sweep and the sweeper."""
    store = opened({"default_ttl": 1})
    await store.aput(DOCS, "k", {"text": "tea"})
    await store.aput(DOCS, "endless", {"text": "tea"}, ttl=None)
    clock.go(0.9)
    assert await store.aget(DOCS, "k") is not None
    clock.go(0.9)
    assert len(await store.asearch(DOCS, query="tea", refresh_ttl=False)) == 2
    clock.go(0.1)
    assert len(await store.asearch(DOCS, query="tea")) == 1
    assert await store.asweep_ttl() == 1
    await store.astart_ttl_sweeper(60)
    assert await store.astop_ttl_sweeper()


def _sweepers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "ttl-sweeper"}


def _wait(until: Callable[[], bool]) -> None:
    for _ in range(1000):
        if until():
            return
        time.sleep(0.02)
    raise AssertionError("it didn't happen")
