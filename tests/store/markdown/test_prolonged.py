"""What reads prolonged outlives the index: nothing goes before its time because that was deleted."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore

DOCS = ("docs",)
START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> dt.datetime:
        """Now."""
        return self.time

    def go(self, minutes: float) -> None:
        """Let minutes pass."""
        self.time += dt.timedelta(minutes=minutes)


def _open(root: Path, clock: Clock) -> MarkdownStore:
    ttl: Any = {"default_ttl": 10, "refresh_on_read": True}
    return MarkdownStore(root, index=None, ttl=ttl, clock=clock, config=MemoryConfig(sync_interval=0))


def _lives(store: MarkdownStore, key: str = "k") -> bool:
    return store.get(DOCS, key, refresh_ttl=False) is not None


def test_a_lost_index_ends_nothing_before_its_time(tmp_path: Path) -> None:
    """Nor does it bring back what is over."""
    clock = Clock()
    with _open(tmp_path, clock) as store, _open(tmp_path, clock) as other:
        for key in ("k", "over"):
            store.put(DOCS, key, {"text": key})
        clock.go(9)
        assert store.get(DOCS, "k")
        clock.go(8)
        assert (_lives(store), _lives(store, "over")) == (True, False)
        shutil.rmtree(tmp_path / ".index")
        for each in (store, other):
            assert (_lives(each), _lives(each, "over")) == (True, False)
        shutil.rmtree(tmp_path / ".index")
        assert other.sweep_ttl() == 1
        assert _lives(store)
        clock.go(3)
        assert not _lives(store)
        assert other.sweep_ttl() == 1


def test_what_is_written_makes_a_note_void(tmp_path: Path) -> None:
    """A put, a flush, and a record's own end count as they say, with or without the index."""
    clock = Clock()
    with _open(tmp_path, clock) as store:
        store.put(DOCS, "k", {"text": "tea"})
        ends = MemoryRecord(id="r", text="tea", user_id="u", expires_at=START + dt.timedelta(minutes=15)).to_value()
        store.put(DOCS, "r", ends)
        clock.go(9)
        assert store.get(DOCS, "k")
        assert store.get(DOCS, "r")
        store.put(DOCS, "k", {"text": "tea"}, ttl=1)
        shutil.rmtree(tmp_path / ".index")
        clock.go(2)
        assert (_lives(store), _lives(store, "r")) == (False, True)
        clock.go(4.5)
        assert not _lives(store, "r")
        store.put(DOCS, "l", {"text": "tea"})
        clock.go(5)
        assert store.get(DOCS, "l")
        store.sweep_ttl()
        shutil.rmtree(tmp_path / ".index")
        clock.go(9)
        assert _lives(store, "l")
        noted = "SELECT count(*) FROM paid.prolonged"
        assert store._engine.room(DOCS).use(lambda index: index.db.execute(noted).fetchone()[0]) == 0


def test_an_end_that_a_person_takes_out_of_a_record_is_out(tmp_path: Path) -> None:
    """Then the time to live alone counts."""
    clock = Clock()
    with _open(tmp_path, clock) as store:
        ends = MemoryRecord(id="r", text="tea", user_id="u", expires_at=START + dt.timedelta(minutes=2)).to_value()
        store.put(DOCS, "r", ends)
        path = store.path_of(DOCS, "r")
        assert path is not None
        lines = [line for line in path.read_text().splitlines() if not line.startswith("expires_at")]
        path.write_text("\n".join(lines) + "\n")
        clock.go(5)
        assert _lives(store, "r")


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "read", "read other"]), st.sampled_from("abc")),
        st.tuples(st.just("go"), st.integers(1, 12)),
        st.sampled_from([("lose", ""), ("sweep", ""), ("reopen", "")]),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(_STEPS)
def test_it_lives_as_long_as_it_was_read_whatever_happens_to_the_index(steps: list[tuple[str, Any]]) -> None:
    """Puts, reads of two stores, sweeps and restarts, with the index deleted in between."""
    ends: dict[str, dt.datetime] = {}
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        store, other = _open(Path(folder), clock), _open(Path(folder), clock)
        for what, how in steps:
            if what == "put":
                store.put(DOCS, how, {"text": how})
                ends[how] = clock() + dt.timedelta(minutes=10)
            elif what in ("read", "read other"):
                alive = how in ends and ends[how] > clock()
                assert ((store if what == "read" else other).get(DOCS, how) is not None) == alive
                if alive:
                    ends[how] = clock() + dt.timedelta(minutes=10)
            elif what == "go":
                clock.go(how)
            elif what == "lose":
                shutil.rmtree(Path(folder) / ".index", ignore_errors=True)
            elif what == "sweep":
                other.sweep_ttl()
            else:
                store.close()
            for key, end in ends.items():
                assert _lives(store, key) == _lives(other, key) == (end > clock())
        for each in (store, other):
            each.close()


def test_a_read_on_a_full_disk_prolongs(disk: Path) -> None:
    """And its store's sweep knows, also when the index is back on the disk."""
    clock, text = Clock(), "tea " * 2000
    with _open(disk / "memory", clock) as store:
        for n in range(12):
            store.put(DOCS, f"k{n}", {"text": text})
        room = os.statvfs(disk)
        (disk / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
        clock.go(9)
        database = store._engine.room(DOCS)._database
        while not database.use(lambda index: index.in_memory):  # the logs that are there have some room left
            for n in range(12):
                assert store.get(DOCS, f"k{n}")
        for n in range(12):
            assert store.get(DOCS, f"k{n}")
        clock.go(8)
        assert all(_lives(store, f"k{n}") for n in range(12))
        (disk / "filler").unlink()
        database._memory_until = -1.0
        assert store.sweep_ttl() == 0
        assert not database.use(lambda index: index.in_memory)
        assert all(_lives(store, f"k{n}") for n in range(12))
