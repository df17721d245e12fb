"""A file that may have changed is read again, whatever its time says; one that was only touched isn't edited."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store.markdown.files import Stamp, write_file
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings


def _edit_keeping_time(path: Path, old: str, new: str) -> None:
    stat = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)


@pytest.mark.skipif(os.name == "nt", reason="there a file has no such time")
def test_an_edit_that_keeps_size_and_time_is_seen(open_store: Any, ns: Any) -> None:
    """As rsync, tar and some editors write."""
    store = open_store()
    store.put(ns, "k", {"text": "green tea"})
    path = store.path_of(ns, "k")
    _edit_keeping_time(path, "green", "black")
    assert store.get(ns, "k").value == {"text": "black tea"}
    assert [item.key for item in store.search(ns, query="black")] == ["k"]
    path.write_text("---\nbroken")
    stat = path.stat()
    assert store.get(ns, "k") is None
    assert list(store.unreadable()) == [path]
    path.write_text("pu-erh tea")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert stat.st_size == path.stat().st_size
    assert store.get(ns, "k").value == {"text": "pu-erh tea"}


def _link(path: Path, spare: Path) -> None:
    os.link(path, spare / path.name)


def _rights(path: Path, spare: Path) -> None:
    path.chmod(0o600)


def _away_and_back(path: Path, spare: Path) -> None:
    shutil.move(path, spare / path.name)
    shutil.move(spare / path.name, path)


def _touched(path: Path, spare: Path) -> None:
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.skipif(os.name == "nt", reason="there a file has no such time")
@pytest.mark.parametrize("touch", [_link, _rights, _away_and_back, _touched])
def test_what_was_only_touched_is_not_edited(
    open_store: Any, ns: Any, tmp_path: Path, touch: Callable[[Path, Path], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """It is read once, and keeps its times, its version in the index, its scores and its vector."""
    embedder = BagOfWordsEmbeddings(dims=16)
    store = open_store(embedder)
    store.put(ns, "k", {"text": "green tea"})
    item, path = store.get(ns, "k"), store.path_of(ns, "k")
    broken = path.with_name("broken.md")
    broken.write_text("---\nbroken")
    assert list(store.unreadable()) == [broken]
    room, edits = store._engine.room(ns), []
    before, texts = room.use(lambda index: index.position()), len(embedder.texts)
    room.edited = edits.append
    caplog.clear()
    for file in (path, broken):
        touch(file, tmp_path)
    assert store.get(ns, "k") == item
    assert room.use(lambda index: index.position()) == before
    assert (edits, len(embedder.texts), caplog.text) == ([], texts, "")
    assert room.use(lambda index: index.files.all())[f"items/{path.name}"] == Stamp.of(path.stat())


def test_what_the_store_writes_is_not_read_again(open_store: Any, ns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index has the stamp that the file has under its name."""
    store = open_store()
    for n in range(3):
        store.put(ns, f"k{n}", {"text": "green tea"})
    store.put(ns, "k1", {"text": "black tea"})
    store.delete(ns, "k2")
    reads: list[Path] = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (reads.append(path), read(path))[1])
    assert len(store.search(ns)) == 2
    assert [path for path in reads if path.suffix == ".md"] == []


def test_somebody_else_s_file_has_not_the_stamp_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file is replaced just after it was written, its content isn't taken for what was written."""
    path, replace = tmp_path / "a.md", os.replace

    def and_then(temporary: str, target: str) -> None:
        replace(temporary, target)
        other = tmp_path / "other"
        other.write_bytes(b"theirs")
        replace(other, target)

    monkeypatch.setattr(os, "replace", and_then)
    stamp = write_file(path, b"ours!!", durable=False)
    assert path.read_bytes() == b"theirs"
    assert stamp != Stamp.of(path.stat())
