"""A writer that is killed at random, hundreds of times, and what others see of a batch that it left or works at."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import files
from langmem_plus.store.markdown.files import carried_out
from langmem_plus.store.markdown.planning import Write, actions
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

A, B = ("memories", "ann", "home"), ("memories", "ann", "x" * 150)
KILLS = 100  # for each of two seeds
_DEEP = 20  # every so many kills, the databases are looked into
_WAIT = 60.0  # no time that is measured: a child that says nothing for so long hangs

Values = dict[tuple[str, ...], dict[str, Any]]


def _record(key: str, text: str, **fields: Any) -> dict[str, Any]:
    day = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    return MemoryRecord(id=key, text=text, user_id="ann", created_at=day, updated_at=day, **fields).to_value()


def _open(root: Path, **settings: Any) -> MarkdownStore:
    config = MemoryConfig(sync_interval=0, **settings)
    index: Any = {"dims": 64, "embed": BagOfWordsEmbeddings(64), "fields": ["text"]}
    return MarkdownStore(root, index=index, config=config)


def _value(key: str, number: int, choice: random.Random) -> dict[str, Any] | None:
    """A foreign item, a fact, a turn that waits or doesn't, a fact that was replaced, or nothing: a delete."""
    text = f"words {number} " + "tea " * choice.randrange(40)
    match choice.randrange(7):
        case 0:
            return None
        case 1:
            return _record(key, text)
        case 2:
            return _record(key, text, role="user", thread_id="t", extracted=bool(choice.randrange(2)))
        case 3:
            return _record(key, text, status="superseded", replaced_by="k0")
        case _:
            return {"text": text, "n": number}


def _calls(seed: int) -> Iterator[list[PutOp]]:
    """What a writer calls, one after the other: the same for whoever asks with the same seed."""
    choice = random.Random(seed)
    for number in range(10**6):
        count = choice.choice([1, 1, 1, 2, 5])
        places = choice.sample([(namespace, f"k{n}") for namespace in (A, B) for n in range(12)], count)
        yield [PutOp(namespace, key, _value(key, number, choice)) for namespace, key in places]


def _after(values: Values, ops: list[PutOp]) -> Values:
    changed = {namespace: dict(items) for namespace, items in values.items()}
    for op in ops:
        changed[op.namespace].pop(op.key, None)
        if op.value is not None:
            changed[op.namespace][op.key] = op.value
    return changed


def _write_on(root: Path, seed: int, acknowledgements: int) -> None:
    """Write without end, and tell of each call that has returned."""
    store = _open(root, durable=seed % 5 == 0)
    for ops in _calls(seed):
        if len(ops) == 1:
            store.put(*ops[0][:3]) if ops[0].value else store.delete(*ops[0][:2])
        else:
            store.batch(ops)
        os.write(acknowledgements, b".")


@pytest.fixture(scope="module")
def writers() -> Iterator[subprocess.Popen[str]]:
    """A small process whose children write: one that has loaded all tests takes several times as long to fork."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
        assert server.stdin is not None
        yield server
        server.stdin.close()
    assert server.returncode == 0


def _serve() -> None:
    """For each line of the input, a child that writes, its id, and once it has ended, its exit status, below 0 for the
    signal that ended it.
    """
    for line in sys.stdin:
        root, seed, acknowledgements = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                _write_on(Path(root), seed, os.open(acknowledgements, os.O_WRONLY))
            finally:
                os._exit(1)
        _tell(child)
        _tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _kill_a_writer(writers: subprocess.Popen[str], root: Path, seed: int, choice: random.Random) -> int:
    """How many calls it had acknowledged when it was killed, a moment after some of them."""
    assert writers.stdin is not None and writers.stdout is not None
    pipe = root.with_name(f"{root.name} {seed}")
    os.mkfifo(pipe)
    writers.stdin.write(json.dumps([str(root), seed, str(pipe)]) + "\n")
    child = int(writers.stdout.readline())
    with pipe.open("rb", buffering=0) as answers:
        wanted, heard = choice.randrange(8), 0
        while heard < wanted:
            assert select.select([answers], [], [], _WAIT)[0], f"seed {seed}: the writer hangs"
            said = len(answers.read(wanted - heard))
            assert said, f"seed {seed}: the writer ended by itself"
            heard += said
        time.sleep(choice.uniform(0, 0.008))
        os.kill(child, signal.SIGKILL)
        assert int(writers.stdout.readline()) == -signal.SIGKILL, f"seed {seed}: it ended by itself"
        pipe.unlink()
        return heard + len(answers.read())


@pytest.mark.parametrize("first", [7, 8])
def test_a_writer_killed_at_random_loses_nothing(
    tmp_path: Path, sound: Any, writers: subprocess.Popen[str], first: int
) -> None:
    """Whatever was acknowledged is there, what was under way as a whole or not at all, nothing half-written is left,
    and listing, get, search and markers agree with the files: again and again in one folder.
    """
    choice, both = random.Random(first), set()
    values: Values = {A: {}, B: {}}
    for kill in range(KILLS):
        seed = first * 1000 + kill
        acknowledged = _kill_a_writer(writers, tmp_path, seed, choice)
        calls = _calls(seed)
        for _ in range(acknowledged):
            values = _after(values, next(calls))
        under_way = _after(values, next(calls))
        with _open(tmp_path) as store:
            store.search(A, query="words"), store.search(B, query="words")
            found = {A: {}, B: {}, **sound(tmp_path, store, deep=kill % _DEEP == 0)}
        assert found in (values, under_way), f"seed {seed}, after {acknowledged} calls"
        if values != under_way:
            both.add(found == under_way)
        values = found
    assert both == {True, False}


OLD = [
    PutOp(A, "update", _record("update", "old words")),
    PutOp(A, "retire", _record("retire", "words of facts")),
    PutOp(A, "delete", {"text": "words of an item"}),
    PutOp(A, "stay", {"text": "words of stone"}),
]
NEW = [
    PutOp(A, "update", _record("update", "new words")),
    PutOp(A, "retire", _record("retire", "words of facts", status="superseded", replaced_by="fresh")),
    PutOp(A, "fresh", _record("fresh", "words of new facts")),
    PutOp(A, "delete", None),
    PutOp(B, "other", {"text": "words of a new place"}),
]


def _die_within_a_batch(root: Path) -> None:
    """Make the calls of `NEW`, and die when some of the files are written."""
    store, carry_out, steps = _open(root), files._carry_out, iter(range(10))
    store.get(A, "stay")

    def dying(*args: Any) -> Any:
        if next(steps) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return carry_out(*args)

    files._carry_out = dying
    store.batch(NEW)


def test_an_interrupted_batch_does_not_undo_what_came_later(tmp_path: Path, sound: Any, in_child: Any) -> None:
    """Another process, which had the store open when the writer died, wrote to one of its keys meanwhile."""
    with _open(tmp_path) as other:
        other.batch(OLD)
        assert in_child(lambda: _die_within_a_batch(tmp_path)) == -signal.SIGKILL
        assert len(list((tmp_path / ".journal").glob("*.json"))) == 1
        later = PutOp(A, "update", _record("update", "even newer words"))
        other.put(*later[:3])
        expected = _after(_after(_after({A: {}, B: {}}, OLD), NEW), [later])
        with _open(tmp_path) as store:
            for reader in (other, store):
                assert sound(tmp_path, reader) == expected


def test_a_live_writers_batch_is_not_taken_for_a_dead_ones(tmp_path: Path, sound: Any) -> None:
    """While it runs, other namespaces are read and written without waiting, and its own are read as they were."""
    with _open(tmp_path) as writer, _open(tmp_path) as other:
        writer.batch(OLD)
        before = {key: value for _, key, value, *_ in OLD}
        assert {item.key: item.value for item in other.search(A)} == before
        with writer._engine.rooms.locked([A]) as (room,):
            steps = room.plan([Write(op.key, op.value) for op in NEW if op.namespace == A])
            with carried_out(writer._layout, actions(A, steps), durable=False) as stamps:
                other.put(("elsewhere",), "k", {"text": "words"})
                assert other.get(("elsewhere",), "k").value == {"text": "words"}  # type: ignore[union-attr]
                assert {item.key: item.value for item in other.search(A)} == before
                done = [stamp for stamp in stamps if stamp]
                room.commit(steps, {step.path: stamp for step, stamp in zip(steps, done, strict=True)}, {})
        other.embed_waiting()
        expected = _after({A: before, B: {}}, NEW[:-1])
        assert sound(tmp_path, other) == {A: expected[A], ("elsewhere",): {"k": {"text": "words"}}}


if __name__ == "__main__":
    _serve()
