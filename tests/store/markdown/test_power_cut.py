"""A power cut: with ``durable`` nothing acknowledged is lost, without it what is torn is told by name.

A model of the disk notes what was flushed: a file's content, and which names a folder has. Whatever wasn't may be lost.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import files
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

A, LONG = ("memories", "ann", "home"), ("y" * 150, "ann", "z" * 150)
State = dict[tuple[str, ...], dict[str, Any]]


def _open(root: Path, **settings: Any) -> MarkdownStore:
    config = MemoryConfig(sync_interval=0, **settings)
    index: Any = {"dims": 64, "embed": BagOfWordsEmbeddings(64), "fields": ["text"]}
    return MarkdownStore(root, index=index, config=config)


def _record(key: str, text: str, **fields: Any) -> dict[str, Any]:
    day = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    return MemoryRecord(id=key, text=text, user_id="ann", created_at=day, updated_at=day, **fields).to_value()


Left = dict[Path, tuple[bytes, int] | None]
"""Folders, and files with their content and time, by their place below the root; those above come first."""


class _Content:
    """What the disk has of one file."""

    flushed, mtime = b"", 0


class Disk:
    """What the disk surely has of a folder; ``changed`` is called after each call that alters it or may do so.

    What SQLite writes isn't seen, so it is lost: it is derived.
    """

    def __init__(self, top: Path, patch: pytest.MonkeyPatch, changed: Callable[[], None]) -> None:
        self._top, self._changed, self.asleep = top, changed, False
        self._contents: dict[int, _Content] = {}
        self._folders: dict[str, dict[str, _Content | None]] = {}
        for name in ("open", "fsync", "replace", "rename", "unlink", "rmdir"):
            patch.setattr(os, name, self._watched(getattr(os, name), getattr(self, f"_{name}", None)))

    def _watched(self, call: Callable[..., Any], note: Callable[..., None] | None) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            result = call(*args, **more)
            if not self.asleep:
                if note:
                    note(result, *args)
                if note != self._open:
                    self._changed()
            return result

        return run

    def _open(self, handle: int, path: Any, flags: int, *mode: int) -> None:
        if flags & os.O_EXCL:
            self._contents[os.fstat(handle).st_ino] = _Content()

    def _fsync(self, _: None, handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_dir():
            self._folders[str(path)] = self._names(path)
        else:
            content = self._contents.setdefault(path.stat().st_ino, _Content())
            content.flushed, content.mtime = path.read_bytes(), path.stat().st_mtime_ns

    def _names(self, folder: Path) -> dict[str, _Content | None]:
        entries = [(path, path.stat().st_ino) for path in folder.iterdir()] if folder.is_dir() else []
        known = self._contents
        return {path.name: None if path.is_dir() else known.setdefault(inode, _Content()) for path, inode in entries}

    def left(self, root: Path, kept: Callable[[Path], bool]) -> Left:
        """What a cut leaves of ``root``; ``kept`` says whether a folder has the names that it has now, or else those of
        its last flush.
        """
        names = self._names(root.parent) if kept(root.parent) else self._folders.get(str(root.parent), {})
        return self._below(root, Path(), kept) if root.name in names else {}

    def _below(self, folder: Path, place: Path, kept: Callable[[Path], bool]) -> Left:
        found: Left = {place: None}
        names = self._names(folder) if kept(folder) else self._folders.get(str(folder), {})
        for name, content in names.items():
            if content is None:
                found |= self._below(folder / name, place / name, kept)
            else:
                found[place / name] = content.flushed, content.mtime
        return found


def _write(left: Left, target: Path) -> None:
    for place, content in left.items():
        if content is None:
            (target / place).mkdir()
        else:
            (target / place).write_bytes(content[0])
            os.utime(target / place, ns=(content[1], content[1]))


Calls = list[tuple[Callable[[MarkdownStore], object], list[PutOp]]]


def _calls() -> Calls:
    turn = _record("turn", "words of a turn", role="user", thread_id="t", extracted=False)
    batch = [PutOp(LONG, "k", {"text": "words far off"}), PutOp(A, "item", {"text": "words of a batch"})]
    again = [PutOp(A, "item", {"text": "words that came later"})]
    mixed = [PutOp(A, "item", None), PutOp(A, "fact", _record("fact", "words")), PutOp(LONG, "k2", {"text": "words"})]
    retired = [PutOp(A, "fact", _record("fact", "words", status="superseded", replaced_by="turn"))]
    revived = [PutOp(A, "item", {"text": "words once more"})]
    plain = [[PutOp(A, "item", {"text": "words"})], batch, again, [PutOp(A, "turn", turn)], mixed, retired, revived]
    calls: Calls = [(lambda store, ops=ops: store.batch(ops), ops) for ops in plain]  # type: ignore[misc]
    erased = Erasure(keys=frozenset({"turn"}))
    calls.append((lambda store: store.erase(A, lambda held: erased), [PutOp(A, "turn", None)]))
    calls.append((lambda store: store.delete(LONG, "k"), [PutOp(LONG, "k", None)]))
    return calls


def _after(state: State, ops: list[PutOp]) -> State:
    changed = {namespace: dict(values) for namespace, values in state.items()}
    for op in ops:
        changed[op.namespace].pop(op.key, None)
        if op.value is not None:
            changed[op.namespace][op.key] = op.value
    return changed


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells by /proc which folder was flushed")
@pytest.mark.parametrize("lost", ["everything", "content", "some"])
def test_what_was_acknowledged_survives_a_power_cut(
    tmp_path: Path, lost: Literal["everything", "content", "some"], sound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after each call to the system: all that wasn't flushed is lost, or only what stood in the files, or the names
    of some folders. What was under way is there as a whole or not at all.
    """
    monkeypatch.setattr(files, "_settled", {})
    root, left, choice = tmp_path / "memory", tmp_path / "left", random.Random(3)
    allowed: list[State] = [{A: {}, LONG: {}}]
    cuts, last = 0, None

    def kept(folder: Path) -> bool:
        return lost == "content" or (lost == "some" and choice.random() < 0.5)

    def cut() -> None:
        nonlocal cuts, last
        disk.asleep = True
        now = disk.left(root, kept), allowed[0]
        disk.asleep = now != last
        if not disk.asleep:  # nothing that wasn't looked at already
            return
        cuts, last = cuts + 1, now
        _write(now[0], left)
        with _open(left, durable=True) as store:
            for namespace in (A, LONG):
                store.get(namespace, "touched"), store.search(namespace, query="words")
            assert {A: {}, LONG: {}, **sound(left, store, deep=False)} in allowed
        shutil.rmtree(left, ignore_errors=True)
        disk.asleep = False

    disk = Disk(tmp_path, monkeypatch, cut)
    with _open(root, durable=True) as writer:
        for call, ops in _calls():
            allowed.append(_after(allowed[0], ops))
            call(writer)
            del allowed[0]
            cut()
        disk.asleep = True
    assert cuts > 30


def test_a_folder_that_somebody_made_without_flushing_is_flushed(
    tmp_path: Path, sound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a store without ``durable`` left, long labels too, carries what is written with it."""
    monkeypatch.setattr(files, "_settled", {})
    root, left = tmp_path / "memory", tmp_path / "left"
    disk = Disk(tmp_path, monkeypatch, lambda: None)
    with _open(root) as store:
        store.put(LONG, "lost", {"text": "words"})
    with _open(root, durable=True) as store:
        store.put(LONG, "kept", {"text": "words"})
        disk.asleep = True
        _write(disk.left(root, lambda folder: False), left)
    with _open(left) as store:
        assert store.list_namespaces() == [LONG]
        assert store.get(LONG, "kept").value == {"text": "words"}  # type: ignore[union-attr]


def _torn(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and ".locks" not in path.parts)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_file_that_a_power_cut_tore_is_told_by_name_and_takes_nothing_with_it(tmp_path: Path, share: float) -> None:
    """Whichever it is: a memory, a label, a marker, a journal, the index, the vectors. Everything else is there."""
    template = tmp_path / "template"
    with _open(template) as store:
        for namespace in (A, LONG):
            for key in ("one", "two"):
                turn = _record(key, f"words of {key}", role="user", thread_id="t", extracted=False)
                store.batch([PutOp(namespace, key, turn), PutOp(namespace, f"{key}-item", {"text": "words"})])
        store.delete(A, "two-item")
    steps = [[list(A), "items/late.md", "x"]]
    (template / ".journal" / f"{'0' * 32}.json").write_text(f"{json.dumps([list(A)])}\n{json.dumps(steps)}\n")
    for number, path in enumerate(_torn(template)):
        root = tmp_path / str(number)
        shutil.copytree(template, root)
        torn = root / path.relative_to(template)
        content = torn.read_bytes()
        torn.write_bytes(content[: int(len(content) * share)])
        with _open(root) as store:
            expected = {A: {"one", "one-item", "two"}, LONG: {"one", "one-item", "two", "two-item"}}
            if torn.name == ".label":
                expected[LONG] = set()
            for namespace, keys in expected.items():
                found = {item.key: item.value for item in store.search(namespace, query="words", limit=99)}
                listed = {item.key: item.value for item in store.search(namespace, limit=99)}
                reported = store.unreadable()
                assert listed == found or torn in reported
                assert keys - set(listed) <= ({torn.stem.split("__")[-1]} if torn in reported else set())
                turns = {key for key in listed if key in ("one", "two")}
                assert store.claim(namespace, turns, 60) == turns
            if torn.suffix == ".md" and "deleted" not in torn.parts and not share:
                assert torn in reported
        shutil.rmtree(root)
