"""Writing files: each whole, several all or none."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown import files
from langmem_plus.store.markdown.files import Action, Stamp, carried_out, journals, replay, write_file
from langmem_plus.store.markdown.layout import LABEL_FILE, Layout, encode_name, is_temporary

A, B = ("a",), ("b",)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """An empty root."""
    layout = Layout(tmp_path / "root")
    layout.create()
    return layout


def _tree(layout: Layout) -> dict[str, str]:
    return {
        str(path.relative_to(layout.entries)): path.read_text()
        for path in sorted(layout.entries.rglob("*"))
        if path.is_file()
    }


def _do(layout: Layout, *actions: Action, durable: bool = False) -> list[Stamp | None]:
    with carried_out(layout, actions, durable=durable) as stamps:
        return stamps


def _setup(layout: Layout) -> list[Action]:
    """Three files, and a batch that changes one, adds one in another namespace and removes one."""
    _do(layout, Action(A, "items/1.md", "one"), Action(A, "items/2.md", "two"), Action(B, "items/3.md", "three"))
    return [Action(A, "items/1.md", "ONE"), Action(B, "items/4.md", "four"), Action(A, "items/2.md", None)]


BEFORE = {"a/items/1.md": "one", "a/items/2.md": "two", "b/items/3.md": "three"}
AFTER = {"a/items/1.md": "ONE", "b/items/3.md": "three", "b/items/4.md": "four"}


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_and_stamped(tmp_path: Path, durable: bool) -> None:
    """The stamp is the one that the next look will see; nothing else is left in the folder."""
    path = tmp_path / "new" / "folders" / "k.md"
    for content in (b"one", b"two and more"):
        stamp = write_file(path, content, durable=durable)
        assert path.read_bytes() == content
        assert stamp == Stamp.of(path.stat())
    assert [entry.name for entry in path.parent.iterdir()] == ["k.md"]


def test_a_durable_write_flushes_the_file_and_every_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that isn't flushed into the one above it is gone after a power cut, and the file with it."""
    monkeypatch.setattr(files, "_settled", {})
    flushed: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(Path(f"/proc/self/fd/{handle}").readlink()))
    write_file(tmp_path / "a" / "b" / "k.md", b"x", durable=True)
    temporary, *folders = flushed
    assert is_temporary(temporary.name)
    assert folders[:4] == [tmp_path / "a/b", tmp_path / "a", tmp_path, tmp_path.parent]
    del flushed[:]
    write_file(tmp_path / "a" / "b" / "k2.md", b"x", durable=True)
    assert flushed[1:] == [tmp_path / "a/b"]  # the others are there for good by now
    shutil.rmtree(tmp_path / "a")
    write_file(tmp_path / "a" / "b" / "k.md", b"x", durable=True)
    assert flushed[-3:] == [tmp_path / "a/b", tmp_path / "a", tmp_path]


def test_a_removal_is_flushed_too(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``durable`` a file that went stays gone."""
    _do(layout, Action(A, "items/1.md", "one"))
    flushed: list[str] = []
    monkeypatch.setattr(files, "flush_folder", lambda folder: flushed.append(folder.name))
    _do(layout, Action(A, "items/1.md", None), durable=True)
    assert flushed == ["items"]


def test_a_write_that_fails_leaves_the_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the file and what to do."""
    path = tmp_path / "k.md"
    write_file(path, b"before", durable=False)

    def refuse(*names: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StoreError, match=r"k\.md.*No space left.*make room"):
        write_file(path, b"after", durable=False)
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["k.md"]


def test_a_system_that_takes_little_at_a_time_gets_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write may take a part; what is left is written then."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:3]))
    assert write_file(tmp_path / "k.md", b"0123456789", durable=False).size == 10
    assert (tmp_path / "k.md").read_bytes() == b"0123456789"
    assert write_file(tmp_path / "k.md", b"", durable=False).size == 0


def test_a_batch_is_carried_out_and_its_journal_goes(layout: Layout) -> None:
    """The stamps are in the order of the steps, None for what went; the journal stays until the caller is done."""
    actions = _setup(layout)
    with carried_out(layout, actions, durable=False) as stamps:
        assert _tree(layout) == AFTER
        assert [touched for _, touched in journals(layout)] == [[A, B]]
    assert stamps == [
        Stamp.of((layout.entries / "a/items/1.md").stat()),
        Stamp.of((layout.entries / "b/items/4.md").stat()),
        None,
    ]
    assert list(layout.journal.iterdir()) == []


def test_the_journal_goes_also_when_the_caller_fails(layout: Layout) -> None:
    """The files are written; what else the caller does with them is its own business."""
    actions = _setup(layout)
    with pytest.raises(ZeroDivisionError), carried_out(layout, actions, durable=False):
        raise ZeroDivisionError
    assert _tree(layout) == AFTER
    assert list(layout.journal.iterdir()) == []


def test_one_step_needs_no_journal(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A put costs one file."""
    monkeypatch.setattr(files, "_write_journal", None)
    _do(layout, Action(A, "items/1.md", "one"))
    _do(layout)
    assert (layout.entries / "a" / "items" / "1.md").read_text(encoding="utf-8") == "one"


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_batch_that_fails_is_undone(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, failure: BaseException, step: int
) -> None:
    """At whichever step, and whatever stops it."""
    actions, carry_out, steps = _setup(layout), files._carry_out, iter(range(9))

    def fail(*args: Any) -> Any:
        if next(steps) == step:
            raise failure
        return carry_out(*args)

    monkeypatch.setattr(files, "_carry_out", fail)
    with pytest.raises(type(failure)):
        _do(layout, *actions)
    assert _tree(layout) == BEFORE
    assert list(layout.journal.iterdir()) == []


def test_a_batch_that_can_neither_go_on_nor_back_is_finished_later(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal stays: all instead of none, never half."""
    actions, carry_out, steps = _setup(layout), files._carry_out, iter(range(9))

    def fail(*args: Any) -> Any:
        if next(steps) == 1:
            monkeypatch.setattr(files, "write_file", refuse)
            raise OSError(28, "No space left on device")
        return carry_out(*args)

    def refuse(*args: Any, **more: Any) -> Any:
        raise StoreError("no room")

    monkeypatch.setattr(files, "_carry_out", fail)
    with pytest.raises(OSError, match="No space"):
        _do(layout, *actions)
    monkeypatch.undo()
    ((journal, touched),) = journals(layout)
    assert touched == [A, B]
    replay(layout, journal, durable=False)
    assert _tree(layout) == AFTER


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_what_a_crash_left_is_carried_out(layout: Layout, done: int) -> None:
    """After any number of its steps; once more changes nothing."""
    actions = _setup(layout)
    journal = files._write_journal(layout, actions, durable=False)
    for action in actions[:done]:
        files._carry_out(layout, action, durable=False)
    replay(layout, journal, durable=False)
    assert _tree(layout) == AFTER
    assert list(journals(layout)) == []
    replay(layout, journal, durable=False)


def test_what_was_changed_after_the_crash_is_left_alone(layout: Layout) -> None:
    """Neither a later put of another process nor a person's edit is overwritten or removed by an old journal."""
    actions = _setup(layout)
    journal = files._write_journal(layout, actions, durable=False)
    os.utime(journal, ns=(0, journal.stat().st_mtime_ns - 10**9))
    _do(layout, Action(A, "items/1.md", "later"))
    _do(layout, Action(A, "items/2.md", "also later"))
    replay(layout, journal, durable=False)
    assert _tree(layout) == {**AFTER, "a/items/1.md": "later", "a/items/2.md": "also later"}


def test_a_journal_that_is_not_whole_is_set_aside(layout: Layout, caplog: pytest.LogCaptureFixture) -> None:
    """Its batch was never begun; nothing stops for it."""
    (layout.journal / "broken.json").write_text('[["a"], ["b"')
    (layout.journal / "empty.json").touch()
    assert [touched for _, touched in journals(layout)] == [[], []]
    assert list(journals(layout)) == []
    assert sorted(path.name for path in layout.journal.iterdir()) == ["broken.broken", "empty.broken"]
    (layout.journal / "half.json").write_text('[["a"]]\n[[["a"], "items/1.md", "o')
    ((journal, touched),) = journals(layout)
    assert touched == [A]
    replay(layout, journal, durable=False)
    assert _tree(layout) == {}
    assert "set aside" in caplog.text


def test_a_journal_without_a_folder_is_none(layout: Layout) -> None:
    """Somebody may remove it while it is empty."""
    layout.journal.rmdir()
    assert list(journals(layout)) == []
    _do(layout, *_setup(layout))
    assert _tree(layout) == AFTER


def test_litter_in_the_journal_goes_after_a_while(layout: Layout) -> None:
    """Not at once: its writer may be alive."""
    old, new = (layout.journal / f".{digit * 32}.tmp" for digit in "01")
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    assert list(journals(layout)) == []
    assert list(layout.journal.iterdir()) == [new]


def test_a_long_label_is_kept_beside(layout: Layout) -> None:
    """Written before the first file, and mended where it says something else."""
    namespace = ("x" * 200, "short")
    file = layout.entries / encode_name("x" * 200) / LABEL_FILE
    _do(layout, Action(namespace, "items/1.md", "one"))
    assert file.read_text() == "x" * 200
    file.write_text("x" * 10)
    _do(layout, Action(namespace, "items/2.md", "two"))
    assert list(layout.find_namespaces()) == [(namespace, True)]


def test_broken_text_is_kept_in_the_journal(layout: Layout) -> None:
    """Half of a surrogate pair in a label, or a name that isn't UTF-8."""
    actions = [Action(("\ud800",), "items/1.md", "one"), Action(A, "items/2.md", "two")]
    journal = files._write_journal(layout, actions, durable=False)
    assert [touched for _, touched in journals(layout)] == [[A, ("\ud800",)]]
    replay(layout, journal, durable=False)
    assert sorted(layout.find_namespaces()) == [(A, True), (("\ud800",), True)]


def test_removing_from_a_folder_that_is_gone_is_done(layout: Layout) -> None:
    """A person may have removed it all."""
    assert _do(layout, Action(("nobody",), "items/1.md", None), durable=True) == [None]


def test_the_journal_holds_the_steps_as_json(layout: Layout) -> None:
    """One line with the namespaces, which is all that those who aren't concerned read, then the steps."""
    journal = files._write_journal(layout, _setup(layout), durable=False)
    first, second = map(json.loads, journal.read_text().splitlines())
    assert first == [["a"], ["b"]]
    assert second == [[["a"], "items/1.md", "ONE"], [["b"], "items/4.md", "four"], [["a"], "items/2.md", None]]
