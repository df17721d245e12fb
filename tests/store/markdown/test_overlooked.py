"""What a person may have meant for a memory, and nobody reads, is named with what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.cli.options import file_parts
from langmem_plus.config import MemoryConfig


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("X.MD", "X.md"),
        ("a.Md", "a.md"),
        (".hidden.md", "hidden.md"),
        (".Hidden.MD", "Hidden.md"),
        ("note.txt", "note.md"),
        ("note.markdown", "note.md"),
        ("note.md.txt", "note.md"),
        ("README", "README.md"),
        ("user/deep.text", "deep.md"),
    ],
)
def test_a_file_with_another_name_is_named(
    store: Any, ns: Any, folder: Path, record: Any, name: str, better: str
) -> None:
    """With the name to give it; then it is a memory, before and after a rebuild."""
    store.put(ns, "k", record("k"))
    path = folder / "facts" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("Ann likes jasmine tea.")
    for _ in range(2):
        assert store.search(ns, query="jasmine") == []
        ((named, (reason, remedy)),) = store.overlooked().items()
        assert named == path
        assert "name" in reason
        assert f"{better!r}" in remedy
        shutil.rmtree(store.path / ".index")
    path.rename(path.with_name(better))
    assert store.overlooked() == {}
    assert len(store.search(ns, query="jasmine")) == 1


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("memories/ann/default/note.md", "facts"),
        ("memories/ann/note.md", "facts"),
        ("note.md", "facts"),
        ("facts/note.md", "user"),
        ("memories/Bob/default/facts/note.md", "'~42ob'"),
        ("memories/a.b/default/facts/note.md", "'a~2eb'"),
        ("memories/.ann/default/facts/note.md", "without a dot"),
        ("memories/ann/default/facts/.old/note.md", "without a dot"),
    ],
)
def test_a_file_in_another_place_is_named(store: Any, root: Path, place: str, word: str) -> None:
    """With where to move it."""
    path = root / "entries" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Ann likes jasmine tea.")
    assert store.search((), query="jasmine") == []
    ((named, (_, remedy)),) = store.overlooked().items()
    assert named == path
    assert word in remedy


def test_what_the_store_and_editors_leave_is_not_named(store: Any, ns: Any, folder: Path, record: Any) -> None:
    """Nor what is a memory, whatever its namespace is called, nor pictures."""
    store.put(ns, "k", record("k"))
    store.put(("X" * 300, "a.b".replace(".", "~")), "k", {"text": "tea"})
    store.put(ns, "gone", record("gone"))
    store.delete(ns, "gone")
    for name in (".DS_Store", "._k.md", ".#k.md", "#k.md#", "k.md~", ".k.md.swp", "cat.png", f".{'a' * 32}.tmp"):
        (folder / "facts" / name).write_text("x")
    assert store.overlooked() == {}


def test_doctor_warns_of_them(root: Path, open_store: Any, ns: Any, folder: Path, record: Any) -> None:
    """Beside the files that can't be read."""
    with open_store() as store:
        store.put(ns, "k", record("k"))
    (folder / "facts" / "X.MD").write_text("Ann likes jasmine tea.")
    (part,) = [part for part in file_parts(root, MemoryConfig(embeddings="none")) if part.name == "memory files"]
    assert (part.state, part.in_use) == ("degraded", str(folder / "facts" / "X.MD"))
    assert "ignored" in part.detail
    assert "'X.md'" in part.remedy
