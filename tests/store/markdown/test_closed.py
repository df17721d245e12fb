"""What can't be read, at any level: it is named, and stops nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MarkdownStore
from langmem_plus.errors import StoreError
from langmem_plus.store.markdown import erase as erase_module

ALICE, WORK, BOB = ("memories", "alice", "default"), ("memories", "alice", "work"), ("memories", "bob", "default")


@pytest.fixture
def filled(store: MarkdownStore) -> MarkdownStore:
    """A store with three namespaces of two users."""
    for namespace in (ALICE, WORK, BOB):
        store.put(namespace, "k", {"text": f"green tea of {namespace[1]} at {namespace[2]}"})
    return store


def _close(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Folders that this process may not read, though it may be root's."""
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if any(Path(path).is_relative_to(folder) for folder in folders):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)


LINKS: dict[str, Callable[[Path], None]] = {
    "loop": lambda folder: (folder / "odd.md").symlink_to("odd.md"),
    "long": lambda folder: (folder / "odd.md").symlink_to("x" * 300),
    "through a file": lambda folder: (folder / "odd.md").symlink_to("k.md/odd.md"),
    "nowhere": lambda folder: (folder / "odd.md").symlink_to("nowhere.md"),
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_bad_link_stops_no_other_file(open_store: Any, root: Path, kind: str) -> None:
    """What is put, changed, added and removed beside it counts; an index is built anew beside it; it can be erased."""
    store = open_store(sync_interval=0)
    for key in ("k", "gone"):
        store.put(ALICE, key, {"text": f"green tea {key}"})
    items = root / "entries" / "memories" / "alice" / "default" / "items"
    LINKS[kind](items)
    (items / "gone.md").unlink()
    (items / "new.md").write_text("black tea", encoding="utf-8")
    assert sorted(item.value["text"] for item in store.search(ALICE, query="tea")) == ["black tea", "green tea k"]
    assert list(store.unreadable()) == ([] if kind == "nowhere" else [items / "odd.md"])
    store.close()
    for file in (root / ".index").iterdir():
        file.unlink()
    assert len(store.search(ALICE, query="tea")) == 2
    receipt = store.erase(("memories", "alice"))
    assert not os.path.lexists(items)
    assert receipt.removed["item"] >= 2


def test_a_closed_folder_keeps_what_is_known_of_it(
    open_store: Any, root: Path, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memories stand until it can be read; the other folders of the namespace are followed, and it is named."""
    store = open_store(sync_interval=0)
    store.put(ALICE, "f", record("f", "green tea"))
    store.put(ALICE, "k", {"text": "black tea"})
    folder = root / "entries" / "memories" / "alice" / "default"
    with monkeypatch.context() as patch:
        _close(patch, folder / "facts")
        (folder / "items" / "k.md").write_text("white tea", encoding="utf-8")
        assert sorted(i.value["text"] for i in store.search(ALICE, query="tea")) == ["green tea", "white tea"]
    assert sorted(i.value["text"] for i in store.search(ALICE, query="tea")) == ["green tea", "white tea"]
    assert store.unreadable() == {}


def test_a_closed_space_is_named_by_all_that_leave_it_out(
    filled: MarkdownStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A search warns, `unreadable` tells, an archive lists it, and the receipt of an erasure doesn't look complete."""
    work = root / "entries" / "memories" / "alice" / "work"
    vectors = sorted((root / ".index").glob("*.db"))
    with monkeypatch.context() as patch:
        _close(patch, work)
        found = filled.search(("memories", "alice"), query="tea")
        assert [item.namespace for item in found] == [ALICE]
        assert f"{str(work)!r} can't be read (Permission denied)" in caplog.text
        assert filled.unreadable() == {work: "Permission denied"}
        assert filled.export(("memories", "alice"), tmp_path / "a.zip").left_out == {str(work): "Permission denied"}
        receipt = filled.erase(("memories", "alice"))
    assert any(str(work) in missed and "make it readable and erase again" in missed for missed in receipt.unreached)
    assert (work / "items" / "k.md").exists()
    assert len(sorted((root / ".index").glob("*.db"))) == len(vectors) - 2  # bob's is nobody's orphan
    assert filled.erase(("memories", "alice")).unreached == []
    assert not (work / "items" / "k.md").exists()
    assert [item.namespace for item in filled.search(("memories",), query="tea")] == [BOB]


def test_a_bad_link_among_the_users_stops_nobody(filled: MarkdownStore, root: Path) -> None:
    """Store-wide calls go on, and it is named."""
    odd = root / "entries" / "memories" / "odd"
    odd.symlink_to("odd")
    assert len(filled.search(("memories",), query="tea")) == 3
    assert filled.list_namespaces() == [ALICE, WORK, BOB]
    assert list(filled.unreadable()) == [odd]
    assert filled.sweep_ttl() == 0
    filled.overlooked()
    assert filled.erase(("memories", "bob")).unreached == []
    assert odd.is_symlink()


def test_an_erasure_that_fails_at_once_leaves_everything(
    filled: MarkdownStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, and no later read finishes it."""

    def refuse(*args: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(erase_module, "_note", refuse)
        with pytest.raises(StoreError, match=r"alice.*can't be erased.*Input/output error.*nothing was removed"):
            filled.erase(("memories", "alice"))
    filled.close()
    assert len(filled.search(("memories", "alice"), query="tea")) == 2


def test_an_erasure_that_fails_midway_is_finished_and_says_so(
    filled: MarkdownStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receipt names what is still there; the next use erases it."""
    note, rooms = erase_module._note, []

    def refuse(room: Any, receipt: Any) -> None:
        rooms.append(room.namespace)
        if room.namespace == WORK:
            raise OSError(5, "Input/output error")
        note(room, receipt)

    with monkeypatch.context() as patch:
        patch.setattr(erase_module, "_note", refuse)
        receipt = filled.erase(("memories", "alice"))
    assert any("Input/output error" in missed and "work" in missed for missed in receipt.unreached)
    assert filled.search(("memories", "alice"), query="tea") == []


def test_a_folder_that_was_moved_away_is_told(
    filled: MarkdownStore, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is written then begins a new one, once with a word about it."""
    root.rename(root.with_name("elsewhere"))
    for key in ("new", "newer"):
        filled.put(ALICE, key, {"text": "white tea"})
    (told,) = caplog.records
    assert str(root) in told.message and "moved or removed" in told.message
    assert sorted(item.key for item in filled.search(ALICE, query="tea")) == ["new", "newer"]


def test_a_folder_whose_label_is_lost_is_named(store: MarkdownStore, root: Path) -> None:
    """Nobody can tell whose it is; one without any memory is of no interest."""
    long = ("memories", "x" * 200)
    store.put(long, "k", {"text": "green tea"})
    folder = store.path_of(long, "k").parent.parent  # type: ignore[union-attr]
    (folder / ".label").write_bytes(b"")
    (folder.parent / f"~~{0:064x}").mkdir()
    assert list(store.unreadable()) == [folder]
    store.put(long, "k", {"text": "black tea"})
    assert store.unreadable() == {}
