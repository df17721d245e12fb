"""The watcher: edits show without waiting for the interval, its own writes cost nothing, and its thread ends."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import watching
from langmem_plus.store.markdown.layout import Layout

Namespace = tuple[str, ...]
BOUND = 30.0  # seconds that a slow machine may take


def until(condition: Callable[[], bool]) -> bool:
    """Wait until something holds, within a bound."""
    end = time.monotonic() + BOUND
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def watchers() -> list[threading.Thread]:
    """The watching threads of this process."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("langmem-plus-watcher")]


@pytest.fixture
def watched(open_store: Any, ns: Namespace, record: Any) -> MarkdownStore:
    """A store with one record that would look at its files again only tomorrow; its watch stands."""
    store: MarkdownStore = open_store(sync_interval=86_400, start_watcher=True)
    room = store._engine.room(ns)
    store.put(ns, "k", record("k"))
    assert until(lambda: room._asked > 2)  # the store's own opening, and the watch's beginning
    assert store.get(ns, "k") is not None
    return store


def text_of(store: MarkdownStore, ns: Namespace, key: str = "k") -> str | None:
    """The text of a record, if there is one."""
    item = store.get(ns, key)
    return item.value["text"] if item else None


def test_a_changed_file_shows(watched: MarkdownStore, ns: Namespace) -> None:
    """Written in place, or replaced as editors do."""
    path = watched.path_of(ns, "k")
    assert path is not None
    text = path.read_text()
    path.write_text(text.replace("green", "black"))
    assert until(lambda: text_of(watched, ns) == "Ann likes black tea.")
    other = path.with_name("4913")
    other.write_text(text.replace("green", "white"))
    other.replace(path)
    assert until(lambda: text_of(watched, ns) == "Ann likes white tea.")


def test_new_moved_and_deleted_files_show(watched: MarkdownStore, ns: Namespace, folder: Path) -> None:
    """Also in a folder that a person has just made."""
    path = watched.path_of(ns, "k")
    assert path is not None
    own = folder / "facts" / "own"
    own.mkdir()
    (own / "chess.md").write_text("Ann plays chess.")
    assert until(lambda: len(watched.search(ns)) == 2)
    path.rename(own / "tea.md")
    assert until(lambda: watched.path_of(ns, "k") == own / "tea.md")
    shutil.rmtree(own)
    assert until(lambda: watched.search(ns) == [])


def test_a_namespace_that_comes_and_goes_shows(watched: MarkdownStore, ns: Namespace, folder: Path) -> None:
    """A folder that is renamed is another namespace, with everything in it."""
    other = (*ns[:-1], "work")
    assert watched.search(other) == []
    folder.rename(folder.with_name("work"))
    assert until(lambda: text_of(watched, other) == "Ann likes green tea.")
    assert until(lambda: text_of(watched, ns) is None)


def test_own_writes_cause_no_look(watched: MarkdownStore, ns: Namespace, record: Any) -> None:
    """The index has them already; a look at a large namespace costs something."""
    room = watched._engine.room(ns)
    watcher = watched._engine.companions.watcher
    assert watcher is not None
    watched.put(ns, "k", record("k", "Ann likes coffee."))
    watched.put(ns, "other", record("other"))
    watched.delete(ns, "other")
    own = [str(path) for path in watcher._own]
    assert len(own) == 3
    assert watcher._touched(own) == set()
    path = room.folder / "facts" / "by-hand.md"
    path.write_text("x")
    assert watcher._touched([*own, str(path)]) == {ns}


def test_what_is_derived_or_hidden_is_no_change(root: Path) -> None:
    """Only files of memories, and folders, count."""
    counts = {name: watching._counts(str(root / name)) for name in ("a.md", "facts", ".a.md.swp", "a.md~", ".label")}
    assert counts == {"a.md": True, "facts": True, ".a.md.swp": False, "a.md~": False, ".label": True}
    layout = Layout(root)
    assert layout.namespace_of(layout.index / "x.db") is None
    assert layout.namespace_of(layout.entries / "memories" / ".git" / "x.md") is None
    assert layout.namespace_of(layout.entries / "memories" / "ann" / "work" / "facts" / "x.md") == (
        *("memories", "ann", "work"),
    )


def test_the_thread_begins_with_use_and_ends_with_the_store(open_store: Any, ns: Namespace, record: Any) -> None:
    """One a store; a store that is used again after its close watches again; one that is dropped doesn't."""
    before = set(watchers())
    store = open_store(start_watcher=True)
    assert set(watchers()) == before
    store.put(ns, "k", record("k"))
    store.put((*ns, "x"), "k", record("k"))
    assert len(set(watchers()) - before) == 1
    store.close()
    assert set(watchers()) == before
    assert store.get(ns, "k") is not None
    assert len(set(watchers()) - before) == 1
    store.close()


def test_a_store_that_is_dropped_ends_its_watcher(tmp_path: Path) -> None:
    """Nobody has to close it."""
    from langmem_plus.config import MemoryConfig

    before = set(watchers())
    store = MarkdownStore(tmp_path, index=None, config=MemoryConfig(start_watcher=True))
    store.put(("a",), "k", {"text": "x"})
    assert set(watchers()) - before
    del store
    gc.collect()
    assert until(lambda: set(watchers()) == before)


def test_without_the_package_one_warning_says_so(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And edits are seen once an interval."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.setattr(watching, "_TOLD", set())
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        store = open_store(start_watcher=True)
        store.put(ns, "k", record("k"))
        watcher = store._engine.companions.watcher
        assert until(lambda watcher=watcher: watcher._failed)
    store.path_of(ns, "k").write_text("Ann likes wine.")
    assert len(store.search(ns)) == 1
    assert caplog.text.count("pip install 'langmem-plus[watch]'") == 1


def test_a_watch_that_the_system_refuses_is_no_error(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit of watches is told, with what to do."""

    def refuse(*args: Any) -> Any:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(watching, "_changes", refuse)
    monkeypatch.setattr(watching, "_TOLD", set())
    store = open_store(start_watcher=True)
    store.put(ns, "k", record("k"))
    assert until(lambda: "watch limit reached" in caplog.text)
    assert store._engine.companions.watcher._failed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_a_watcher_of_its_own(watched: MarkdownStore, ns: Namespace) -> None:
    """None is carried over; the child starts one when it uses the store, the parent's goes on."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            inherited = len(watchers())
            path = watched.path_of(ns, "k")
            assert path is not None
            path.write_text(path.read_text().replace("green", "black"))
            seen = until(lambda: text_of(watched, ns) == "Ann likes black tea.")
            code = 0 if inherited == 0 and seen and len(watchers()) == 1 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert until(lambda: text_of(watched, ns) == "Ann likes black tea.")


def test_a_look_that_is_asked_for_during_a_look_is_not_lost(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change may have come after the file was read."""
    from langmem_plus.store.markdown import namespace as module

    store = open_store(sync_interval=86_400)
    store.put(ns, "k", record("k"))
    room, look = store._engine.room(ns), module.bring_in_step
    path = store.path_of(ns, "k")

    def slow(*args: Any) -> bool:
        changed = look(*args)
        monkeypatch.setattr(module, "bring_in_step", look)
        path.write_text(path.read_text().replace("green", "black"))
        room.look_again()
        return changed

    monkeypatch.setattr(module, "bring_in_step", slow)
    room.look_again()
    store.get(ns, "k")
    assert text_of(store, ns) == "Ann likes black tea."
