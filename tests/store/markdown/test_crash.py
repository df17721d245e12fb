"""A writer that dies at any step: all of a batch or none, and nothing lost that was acknowledged."""

from __future__ import annotations

import contextlib
import os
import random
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.connection import Connection
from langmem_plus.store.markdown.files import carried_out
from langmem_plus.store.markdown.layout import is_temporary
from langmem_plus.store.markdown.planning import Write, actions
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

A, B = ("memories", "ann", "home"), ("memories", "ann", "x" * 150)
SYSTEM_CALLS = ("open", "replace", "unlink", "mkdir")


def _record(key: str, text: str, **fields: Any) -> dict[str, Any]:
    return MemoryRecord(id=key, text=text, user_id="ann", **fields).to_value()


OLD = {
    A: {
        "update": _record("update", "old words"),
        "retire": _record("retire", "old facts"),
        "delete": {"text": "old item"},
        "stay": {"text": "old stone"},
    },
    B: {},
}
NEW = {
    A: {
        "update": _record("update", "new words"),
        "retire": _record("retire", "old facts", status="superseded", replaced_by="fresh"),
        "fresh": _record("fresh", "new facts"),
        "stay": {"text": "old stone"},
    },
    B: {"other": {"text": "new place"}},
}


def _open(root: Path, **settings: Any) -> MarkdownStore:
    embedder = BagOfWordsEmbeddings()
    config = MemoryConfig(sync_interval=0, **settings)
    return MarkdownStore(root, index={"dims": 256, "embed": embedder, "fields": ["text"]}, config=config)


def _fill(root: Path) -> None:
    with _open(root) as store:
        store.batch(
            [PutOp(namespace, key, value) for namespace, values in OLD.items() for key, value in values.items()]
        )


def _write(store: MarkdownStore) -> None:
    puts = [PutOp(A, key, value) for key, value in NEW[A].items() if key != "stay"]
    store.batch([*puts, PutOp(A, "delete", None), *(PutOp(B, key, value) for key, value in NEW[B].items())])


def _state(store: MarkdownStore) -> dict[Any, Any]:
    """What get, listing and search agree on."""
    state: dict[Any, Any] = {}
    for namespace in (A, B):
        listed = {item.key: item.value for item in store.search(namespace, limit=100)}
        found = {item.key: item.value for item in store.search(namespace, query="old new", limit=100)}
        assert found == listed
        for key in {*OLD[namespace], *NEW[namespace]}:
            item = store.get(namespace, key)
            assert (item.value if item else None) == listed.get(key)
        state[namespace] = listed
    return state


def _die_at(number: int) -> None:
    """From now on, end the process at its n-th step: a call that changes a folder, or either side of a commit."""
    steps = iter(range(1, 10**6))

    def step() -> None:
        if next(steps) == number:
            os._exit(9)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            step()
            result = call(*args, **more)
            step()
            return result

        return run

    for name in SYSTEM_CALLS:
        setattr(os, name, counted(getattr(os, name)))
    writing = Connection.writing

    @contextlib.contextmanager
    def watched(self: Connection) -> Iterator[None]:
        with writing(self):
            yield
            step()
        step()

    Connection.writing = watched  # type: ignore[method-assign]


def _in_child(work: Callable[[], None]) -> int:
    """Run something in a child and give its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the child must end
            os.write(2, f"in the child: {error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("durable", [False, True])
def test_a_batch_that_dies_at_any_step_is_there_as_a_whole_or_not_at_all(tmp_path: Path, durable: bool) -> None:
    """For whoever opens the store next, and for who has had it open all the time; and again without the index."""
    _fill(tmp_path / "template")
    outcomes = []
    for number in range(1, 500, 4 if durable else 1):
        root = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "template", root)
        with _open(root) as witness:
            assert _state(witness) == OLD

            def work(root: Path = root, number: int = number) -> None:
                store = _open(root, durable=durable)
                store.get(A, "stay")
                store.search(B, query="warm")
                _die_at(number)
                _write(store)

            status = _in_child(work)
            assert status in (0, 9)
            with _open(root) as store:
                state = _state(store)
            assert state in (OLD, NEW)
            assert _state(witness) == state
            shutil.rmtree(root / ".index")
            assert _state(witness) == state
        outcomes.append(state == NEW)
        assert not [path for path in (root / "entries").rglob("*") if is_temporary(path.name)]
        assert [path for path in (root / ".journal").iterdir() if not is_temporary(path.name)] == []
        if status == 0:
            break
        shutil.rmtree(root)
    assert status == 0
    assert outcomes == sorted(outcomes)  # once it is there it is there, however late the end comes
    assert outcomes[0] is False
    assert outcomes.count(False) > 2
    assert outcomes.count(True) > 5


@pytest.mark.parametrize("old", [None, {"text": "old words"}])
def test_a_single_put_that_dies_at_any_step_is_whole(tmp_path: Path, old: Any) -> None:
    """The old value or the new one, never half of one; once acknowledged, the new one."""
    new = {"text": "new words"}
    for number in range(1, 100):
        root = tmp_path / f"{number}"
        with _open(root) as store:
            store.put(A, "other", {"text": "another"})
            if old:
                store.put(A, "k", old)

        def work(root: Path = root, number: int = number) -> None:
            store = _open(root)
            store.get(A, "k")
            _die_at(number)
            store.put(A, "k", new)

        status = _in_child(work)
        with _open(root) as store:
            item = store.get(A, "k")
            assert (item.value if item else None) in (old, new)
            words = [found.value for found in store.search(A, query="words", filter={"text": {"$ne": "another"}})]
            assert words == ([item.value] if item else [])
        if status == 0:
            assert item is not None
            assert item.value == new
            return
    pytest.fail("it never ended")


def test_an_interrupted_batch_does_not_undo_what_came_later(tmp_path: Path) -> None:
    """Another process, which had the store open when the writer died, wrote to one of its keys meanwhile."""
    _fill(tmp_path)
    with _open(tmp_path) as other:
        other.get(A, "stay")

        def work() -> None:
            store = _open(tmp_path)
            store.get(A, "stay")
            store.search(B, query="warm")
            _die_at(12)
            _write(store)

        assert _in_child(work) == 9
        assert len(list((tmp_path / ".journal").glob("*.json"))) == 1
        other.put(A, "update", _record("update", "even newer words"))
        expected = {**NEW[A], "update": _record("update", "even newer words")}
        assert other.get(A, "update").value["text"] == "even newer words"  # type: ignore[union-attr]
        with _open(tmp_path) as store:
            for reader in (other, store):
                found = {item.key: item.value["text"] for item in reader.search(A, limit=100)}
                assert found == {key: value["text"] for key, value in expected.items()}
                assert len(reader.search(B)) == 1


def test_a_live_writers_batch_is_not_taken_for_a_dead_ones(tmp_path: Path) -> None:
    """While it runs, other namespaces are read and written without waiting, and its own are read as they were."""
    _fill(tmp_path)
    with _open(tmp_path) as writer, _open(tmp_path) as other:
        other.put(("elsewhere",), "k", {"text": "x"})
        assert _state(other) == OLD
        with writer._engine.rooms.locked([A, B]) as rooms:
            steps = rooms[0].plan([Write("update", NEW[A]["update"]), Write("fresh", NEW[A]["fresh"])])
            with carried_out(writer._layout, actions(A, steps), durable=False) as stamps:
                other.put(("elsewhere",), "k", {"text": "y"})
                assert other.get(("elsewhere",), "k").value == {"text": "y"}  # type: ignore[union-attr]
                assert _state(other) == OLD
                done = {step.path: stamp for step, stamp in zip(steps, stamps, strict=True) if stamp}
                rooms[0].commit(steps, done, {})
        assert _state(other)[A]["update"] == NEW[A]["update"]


def _writer(root: Path, acknowledgements: int, name: str) -> None:
    """Puts, updates, batches and deletes without end; tells each when it has returned."""
    store = _open(root)
    for n in range(10**6):
        key = f"{name}{n % 17}"
        match n % 4:
            case 0 | 1:
                store.put(A, key, {"text": f"words of {name}", "n": n})
            case 2:
                store.batch([PutOp(A, key, {"text": "words", "n": n}), PutOp(B, key, {"text": "words", "n": n})])
            case _:
                store.put(A, key, _record(key, f"words {n}", status="superseded" if n % 8 == 7 else "active"))
        os.write(acknowledgements, f"{n}\n".encode())


def test_a_writer_killed_at_random_loses_nothing(tmp_path: Path) -> None:
    """Whatever was acknowledged is there, nothing is half there, and search agrees with the files."""
    random.seed(5)
    for life in range(20):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            _writer(tmp_path, write_end, f"life{life}-")
            os._exit(1)
        os.close(write_end)
        select.select([read_end], [], [], 20)
        time.sleep(random.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read_end, "rb") as answers:
            acknowledged = [int(line) for line in answers.read().decode().splitlines()]
        with _open(tmp_path) as store:
            _check(store, f"life{life}-", acknowledged[-1])
    assert not [path for path in (tmp_path / "entries").rglob("*") if is_temporary(path.name)]


def _check(store: MarkdownStore, name: str, last: int) -> None:
    expected: dict[str, tuple[int, int]] = {f"{name}{n % 17}": (n, n % 4) for n in range(last + 1)}
    unsure = f"{name}{(last + 1) % 17}"
    for key, (n, kind) in expected.items():
        if key == unsure:
            continue
        item = store.get(A, key)
        assert item is not None
        assert item.value.get("n", n) == n
        if kind == 2:
            assert store.get(B, key).value["n"] == n  # type: ignore[union-attr]
    assert (store.get(A, unsure) is None) <= (unsure not in expected)
    for namespace in (A, B):
        listed = {item.key for item in store.search(namespace, limit=10_000)}
        found = {item.key for item in store.search(namespace, query="words", limit=10_000)}
        assert listed == found
        files = list(store._layout.folder(namespace).rglob("*.md"))
        assert len(files) == len(listed)
    assert store.unreadable() == {}
