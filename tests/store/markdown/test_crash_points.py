"""A writer that dies between any two of its steps: every call is there as a whole or not at all.

The child counts its steps and ends itself right before the n-th, for every n until the call gets through.
"""

from __future__ import annotations

import builtins
import datetime as dt
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.records import MemoryRecord, utc_now
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

A, B, LONG = ("memories", "ann", "home"), ("memories", "ann", "work"), ("y" * 150, "ann", "z" * 150)
SECRET = "words of a secret garden"
_CALLS = ("open", "replace", "rename", "unlink", "mkdir", "rmdir", "fsync", "utime")
_QUIET = ("SELECT", "BEGIN", "PRAGMA", "ATTACH", "DETACH", "WITH")
_MOST = 600
_SPARE = 10  # steps by which two runs of a call may differ
DURABLE = (("durable", True),)


class Steps:
    """What a process does to its disk from now on, told by kind; it dies right before one of them.

    Args:
        root: the store's folder; what happens elsewhere doesn't count.
        last: at which step it dies.
        told: a file that is given the kinds of the steps; outside of ``root``.
    """

    def __init__(self, root: Path, last: int, told: Path) -> None:
        self._root, self._last, self._count = str(root), last, 0
        self._told = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for name in _CALLS:
            setattr(os, name, self._counted(name, getattr(os, name)))
        self._write = os.write
        os.write = self._written
        self._open_file = builtins.open
        builtins.open = self._opened  # type: ignore[assignment]

    def step(self, kind: str, path: Any = "") -> None:
        """The process is about to do this."""
        if isinstance(path, int):
            path = Path(f"/proc/self/fd/{path}").readlink() if Path("/proc/self/fd").is_dir() else self._root
        place = os.fsdecode(path).removeprefix(f"{self._root}/").split("/")[0] if path else ""
        if "deleted" in Path(os.fsdecode(path)).parts:
            place = "deleted"
        self._count += 1
        self._write(self._told, f"{kind} {place}".strip().encode() + b"\n")
        if self._count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            # Neither a file that is only read nor one that is there already changes by being opened.
            if name != "open" or (args[1] & os.O_CREAT and not Path(args[0]).exists()):
                self.step(name, args[1] if name in ("replace", "rename") else args[0])
            return call(*args, **more)

        return run

    def _written(self, handle: int, content: Any) -> int:
        self.step("write", handle)
        half = self._write(handle, content[: len(content) // 2])
        self.step("write", handle)
        return half + self._write(handle, content[half:])

    def _opened(self, file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        opened = self._open_file(file, mode, *args, **more)
        if "w" not in mode:
            return opened
        write = opened.write

        def in_halves(content: Any) -> int:
            self.step("write", file)
            write(content[: len(content) // 2])
            opened.flush()
            self.step("write", file)
            return int(write(content[len(content) // 2 :]))

        return _Replaced(opened, in_halves)


class _Replaced:
    """An open file whose ``write`` is another."""

    def __init__(self, file: Any, write: Callable[[Any], int]) -> None:
        self._file, self.write = file, write

    def __enter__(self) -> _Replaced:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Watched(sqlite3.Connection):
    """A connection that tells of what changes its file."""

    steps: Steps | None = None

    def _step(self, sql: str) -> None:
        word = sql.split()[0].upper()
        if self.steps and word == "COMMIT":
            self.steps.step("commit")
        elif self.steps and not self.in_transaction and (word not in _QUIET or "checkpoint" in sql):
            self.steps.step("statement")

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:  # type: ignore[override]
        """As it is, told before."""
        self._step(sql)
        return super().execute(sql, *more)

    def executescript(self, sql: str, /) -> sqlite3.Cursor:
        """As it is, told before."""
        self._step("script")
        return super().executescript(sql)


def _record(key: str, text: str, **fields: Any) -> dict[str, Any]:
    day = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    return MemoryRecord(id=key, text=text, user_id="ann", created_at=day, updated_at=day, **fields).to_value()


def _open(root: Path, clock: Callable[[], dt.datetime] = utc_now, **settings: Any) -> MarkdownStore:
    config = MemoryConfig(sync_interval=0, **settings)
    index: Any = {"dims": 64, "embed": BagOfWordsEmbeddings(64), "fields": ["text"]}
    return MarkdownStore(root, index=index, ttl={"omit_expired": False}, config=config, clock=clock)


def _fill(root: Path) -> None:
    """What each call finds: items, records, a turn that waits, what has expired, and texts without vectors."""
    with _open(root, lambda: utc_now() - dt.timedelta(days=1)) as store:
        store.put(A, "item", {"text": "words of old"})
        store.put(A, "fact", _record("fact", "words of a fact"))
        store.put(A, "turn", _record("turn", "words of a turn", role="user", thread_id="t", extracted=False))
        store.put(A, "secret", {"text": SECRET})
        for n in range(3):
            store.put(B, f"short{n}", {"text": f"words that go {n}"}, ttl=5)
        store.put(B, "stays", {"text": "words that stay"})
        store._engine.embedder._embeddings.inner.fail = ConnectionError("down")  # type: ignore[union-attr]
        store.put(B, "bare", {"text": "words without vectors"})


@dataclass(frozen=True)
class Call:
    """A call, and steps that it must have."""

    run: Callable[[MarkdownStore], object]
    steps: str
    settings: tuple[tuple[str, Any], ...] = ()


def _batch(store: MarkdownStore) -> None:
    turn = _record("turn", "words of a turn", role="user", thread_id="t", extracted=True)
    retired = _record("fact", "words of a fact", status="superseded", replaced_by="fresh")
    puts = {"turn": turn, "fact": retired, "fresh": _record("fresh", "words of fresh"), "item": None}
    store.batch([*(PutOp(A, key, value) for key, value in puts.items()), PutOp(B, "other", {"text": "words"})])


_ERASES = "replace .journal; rename .journal; unlink .journal; unlink entries; statement; fsync .journal"
CALLS = {
    "new": Call(lambda store: store.put(A, "new", {"text": "words anew"}), "write entries; replace entries; commit"),
    "new, durable": Call(
        lambda store: store.put(A, "new", {"text": "words anew"}),
        "fsync entries; replace entries",
        (("durable", True),),
    ),
    "new namespace": Call(lambda store: store.put(LONG, "new", {"text": "words anew"}), "mkdir entries; commit"),
    "turn": Call(
        lambda store: store.put(A, "told", _record("told", "words", role="user", thread_id="t", extracted=False)),
        "write .pending; replace .pending",
    ),
    "update": Call(lambda store: store.put(A, "item", {"text": "words of new"}), "replace entries; commit"),
    "delete": Call(
        lambda store: store.delete(A, "item"), "write .journal; replace deleted; unlink entries; unlink .journal"
    ),
    "tombstone": Call(
        lambda store: store.put(A, "turn", _record("turn", "words", role="user", thread_id="t", status="deleted")),
        "replace .journal; replace deleted; unlink entries; unlink .pending",
    ),
    "batch": Call(_batch, "replace .journal; replace entries; replace deleted; commit; unlink .journal"),
    "batch, durable": Call(_batch, "fsync .journal; fsync deleted; commit; unlink .journal", DURABLE),
    "erase": Call(lambda store: store.erase(A, lambda held: Erasure(keys=frozenset({"secret"}))), _ERASES),
    "erase all": Call(lambda store: store.erase(A), "replace .journal; rename .journal; rmdir entries; unlink .index"),
    "sweep": Call(lambda store: store.sweep_ttl(), "replace .journal; replace deleted; unlink entries; commit"),
    "backfill": Call(lambda store: store.embed_waiting(), "commit"),
}


def _state(root: Path, store: MarkdownStore, sound: Any, deep: bool = True) -> tuple[Any, set[str]]:
    """The values, and the files: what has expired, or is a tombstone, tells apart what the values don't."""
    for namespace in (A, B, LONG):
        store.get(namespace, "touched"), store.search(namespace, query="words")
    return sound(root, store, deep=deep), {str(path.relative_to(root)) for path in (root / "entries").rglob("*.md")}


def _run_and_die(root: Path, call: Call, number: int, told: Path) -> None:
    """Make a call, and end right before its step of that number."""
    sqlite_connect = sqlite3.connect
    sqlite3.connect = lambda *args, **more: sqlite_connect(*args, factory=Watched, **more)  # type: ignore[assignment]
    store = _open(root, **dict(call.settings))
    store.get(A, "item"), store.get(B, "stays")
    Watched.steps = Steps(root, number, told)
    call.run(store)


Die = Callable[[Path, str, int, Path], int]


@pytest.fixture(scope="module")
def die() -> Iterator[Die]:
    """Runs `_run_and_die` in a child of a small process, and gives its exit status: a process that has loaded all tests
    takes four times as long to fork.
    """
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
        asked, answers = server.stdin, server.stdout
        assert asked is not None and answers is not None

        def run(root: Path, name: str, number: int, told: Path) -> int:
            asked.write(json.dumps([str(root), name, number, str(told)]) + "\n")
            return int(answers.readline())

        yield run
        asked.close()
    assert server.returncode == 0


def _serve() -> None:
    """Answer each line of the input with a child's exit status, below 0 for the signal that ended it."""
    for line in sys.stdin:
        root, name, number, told = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                _run_and_die(Path(root), CALLS[name], number, Path(told))
            except BaseException:  # noqa: BLE001 - whatever it is, the child must end
                os.write(2, f"in the child: {traceback.format_exc()}\n".encode())
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


def _points(name: str, folder: Path, die: Die) -> list[int]:
    """At which steps the call dies; the last number is beyond its last step.

    A durable call flushes beside what others do. So it dies at each flush and right behind it; where else it may die,
    the same call dies that isn't durable.
    """
    root, told = folder / "whole", folder / "told"
    shutil.copytree(folder / "before", root, symlinks=True)
    assert die(root, name, _MOST, told) == 0
    shutil.rmtree(root)
    kinds = told.read_text().splitlines()
    flushes = {place for place, kind in enumerate(kinds, 1) if kind.startswith("fsync")}
    everywhere = range(1, len(kinds) + _SPARE)
    if not CALLS[name].settings:
        return list(everywhere)
    return [number for number in everywhere if number > len(kinds) or {number, number - 1} & flushes]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_dies_at_any_step_is_whole(tmp_path: Path, name: str, sound: Any, die: Die) -> None:
    """For whoever opens the store next, for who has had it open all the time, and without the index; and the same call
    can be made again.
    """
    call, told = CALLS[name], tmp_path / "told"
    for part in ("before", "after"):
        _fill(tmp_path / part)
    with _open(tmp_path / "before") as store:
        before = _state(tmp_path / "before", store, sound)
    with _open(tmp_path / "after") as store:
        call.run(store)
        after = _state(tmp_path / "after", store, sound)
    assert (before == after) == (name == "backfill")
    done, status = [], -signal.SIGKILL
    for number in _points(name, tmp_path, die):
        root = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "before", root, symlinks=True)
        told.unlink(missing_ok=True)
        with _open(root) as witness:
            if number % 2:
                witness.get(A, "item"), witness.get(B, "stays")
            status = die(root, name, number, told)
            assert status in (0, -signal.SIGKILL)
            # What git is to forget, and the marker of a turn whose call never came back, wait for the next start.
            fresh = number % 2 == 0 or name.startswith("erase") or name == "turn"
            with _open(root) if fresh else witness as store:
                state = _state(root, store, sound, deep=number % 5 == 0)
                assert state in (before, after), f"died before {told.read_text().splitlines()[-1]!r}, step {number}"
                if number % 3 == 0:
                    store.close()
                    shutil.rmtree(root / ".index")
                    assert _state(root, store, sound, deep=False) == state
                if name == "erase" and state == after:
                    assert not [p for p in root.rglob("*") if p.is_file() and b"secret garden" in p.read_bytes()]
                if number % 4 == 0:
                    call.run(store)
                    assert _state(root, store, sound) == after
        done.append(state == after)
        if status == 0:
            break
        shutil.rmtree(root)
    assert status == 0
    assert name == "backfill" or done == sorted(done)  # once it is there it is there, however late the end comes
    assert done[-1]
    assert set(call.steps.split("; ")) <= set(told.read_text().splitlines())


if __name__ == "__main__":
    _serve()
