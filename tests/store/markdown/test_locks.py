"""The mutex between processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from langmem_plus.store.markdown.locks import ProcessLock

HOLDER = """
import sys
from pathlib import Path
from langmem_plus.store.markdown.locks import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A lock file in a folder that isn't there yet."""
    return tmp_path / "locks" / "a.lock"


def test_it_keeps_two_holders_apart(path: Path) -> None:
    """One that doesn't want to wait is told."""
    one, other = ProcessLock(path), ProcessLock(path)
    assert one.acquire()
    assert not other.acquire(wait=False)
    one.release()
    assert other.acquire(wait=False)
    other.release()


def test_it_may_be_taken_several_times(path: Path) -> None:
    """And is free when it was given back as often."""
    one, other = ProcessLock(path), ProcessLock(path)
    assert one.acquire()
    assert one.acquire(wait=False)
    one.release()
    assert not other.acquire(wait=False)
    one.release()
    assert other.acquire(wait=False)
    other.release()


def test_a_waiter_gets_it_when_it_is_free(path: Path) -> None:
    """In whatever order they come."""
    one, other = ProcessLock(path), ProcessLock(path)
    one.acquire()
    got = threading.Event()

    def wait() -> None:
        other.acquire()
        got.set()
        other.release()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not got.wait(0.05)
    one.release()
    thread.join(timeout=20)
    assert got.is_set()


def test_it_dies_with_its_process(path: Path) -> None:
    """A killed writer locks nobody out."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        lock = ProcessLock(path)
        assert not lock.acquire(wait=False)
        process.kill()
        process.wait()
        assert lock.acquire(wait=False)
        lock.release()


def test_a_removed_file_is_made_again(path: Path) -> None:
    """A waiter isn't left with a lock on a file that nobody else will ever open."""
    one = ProcessLock(path)
    one.acquire()
    path.unlink()
    path.parent.rmdir()
    other, third = ProcessLock(path), ProcessLock(path)
    assert other.acquire(wait=False)
    assert not third.acquire(wait=False)
    one.release()
    assert not third.acquire(wait=False)
    other.release()
    assert third.acquire(wait=False)
    third.release()


def test_a_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """And nothing is held."""
    (tmp_path / "file").touch()
    lock = ProcessLock(tmp_path / "file" / "a.lock")
    for _ in range(2):
        with pytest.raises(OSError, match="Not a directory"):
            lock.acquire()


def test_a_child_neither_holds_nor_frees_what_its_parent_has(path: Path) -> None:
    """It lets go of the handle that it inherited; then it waits as everyone does, and the parent's release counts."""
    one = ProcessLock(path)
    one.acquire()
    child = os.fork()
    if child == 0:
        one.leave_to_parent()
        free = ProcessLock(path).acquire(wait=False)
        os._exit(1 if free else 0)
    assert os.waitpid(child, 0)[1] == 0
    other = ProcessLock(path)
    assert not other.acquire(wait=False)
    one.release()
    assert other.acquire(wait=False)
    other.release()
