"""Which namespaces there are, remembered until a folder changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from langmem_plus.store.markdown import walks
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.walks import Walks


def _write(layout: Layout, namespace: Namespace, path: str = "items/k.md") -> Path:
    """A memory file, made long ago as far as the folders tell."""
    file = layout.folder(namespace) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("text", encoding="utf-8")
    return file


def _age(layout: Layout) -> None:
    """Let all folders have changed at different times long ago."""
    for number, (folder, _, _) in enumerate(os.walk(layout.entries)):
        os.utime(folder, ns=(0, 10**18 + number * 10**9))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A folder with one namespace and one below it."""
    layout = Layout(tmp_path)
    layout.create()
    _write(layout, ("a",))
    _write(layout, ("a", "b"), "facts/f.md")
    _age(layout)
    return layout


def test_nothing_is_listed_twice(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """While no folder changes, the answer is remembered."""
    found = Walks(layout)
    assert found.below(("a",)) == [("a",), ("a", "b")]
    monkeypatch.setattr(layout, "find_namespaces", lambda *args: pytest.fail("it was listed again"))
    assert found.below(("a",)) == [("a",), ("a", "b")]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda layout: _write(layout, ("a", "c")), [("a",), ("a", "b"), ("a", "c")]),
        (lambda layout: _write(layout, ("a", "b", "c")), [("a",), ("a", "b"), ("a", "b", "c")]),
        (lambda layout: (layout.folder(("a", "b")) / "facts" / "f.md").unlink(), [("a",)]),
        (lambda layout: (layout.folder(("a",)) / "items" / "k.md").unlink(), [("a", "b")]),
        (lambda layout: shutil.rmtree(layout.folder(("a", "b"))), [("a",)]),
        (lambda layout: shutil.rmtree(layout.folder(("a",))), []),
        (lambda layout: layout.folder(("a", "b")).rename(layout.folder(("a", "d"))), [("a",), ("a", "d")]),
    ],
)
def test_every_change_of_a_folder_counts(layout: Layout, change: object, left: list[Namespace]) -> None:
    """New ones, files that go, folders that go or get another name."""
    found = Walks(layout)
    assert found.below(("a",)) == [("a",), ("a", "b")]
    change(layout)  # type: ignore[operator]
    assert found.below(("a",)) == left
    _age(layout)
    assert found.below(("a",)) == left


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        (1_800_000_000_123_000_789, False),
        (1_799_999_999_123_000_789, True),
        (1_799_999_999_000_000_000, False),
        (1_799_999_990_000_000_000, True),
    ],
)
def test_a_folder_that_changed_just_now_is_not_trusted(
    layout: Layout, changed: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time may stay the same over another change; longer where times are kept in whole seconds."""
    monkeypatch.setattr(walks.time, "time_ns", lambda: 1_800_000_000_133_000_789)
    os.utime(layout.folder(("a",)) / "items", ns=(changed, changed))
    found = Walks(layout)
    found.below(("a",))
    assert (("a",) in found._known) is kept


def test_large_trees_and_many_prefixes_are_not_kept(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded."""
    monkeypatch.setattr(walks, "_KEPT", 1)
    found = Walks(layout)
    found.below(("a",))
    found.below(("a", "b"))
    assert list(found._known) == [("a", "b")]
    monkeypatch.setattr(walks, "_LARGEST", 1)
    assert found.below(("a",)) == [("a",), ("a", "b")]
    assert list(found._known) == [("a", "b")]


def test_a_namespace_that_has_files_is_listed_once(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that was found is looked for; when it goes, the folder is listed again."""
    found = Walks(layout)
    assert (found.is_namespace(("a",)), found.is_namespace(("b",))) == (True, False)
    listed: list[object] = []
    list_folder = walks.find_file
    monkeypatch.setattr(walks, "find_file", lambda folder: listed.append(folder) or list_folder(folder))
    assert found.is_namespace(("a",))
    assert listed == []
    _write(layout, ("a",), "facts/f.md")
    (layout.folder(("a",)) / "items" / "k.md").unlink()
    assert found.is_namespace(("a",))
    assert listed
    (layout.folder(("a",)) / "facts" / "f.md").unlink()
    assert not found.is_namespace(("a",))
    _write(layout, ("b",))
    assert found.is_namespace(("b",))


def test_the_files_that_are_remembered_are_bounded(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """One a namespace, for so many namespaces."""
    monkeypatch.setattr(walks, "_KEPT", 1)
    found = Walks(layout)
    assert [found.is_namespace(each) for each in (("a",), ("a", "b"), ("a",))] == [True, True, True]
    assert list(found._files) == [("a",)]
