"""A memory's past, with git and without."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.versioning import commit

Namespace = tuple[str, ...]


@pytest.fixture
def keep(root: Path) -> Callable[[], str | None]:
    """Commits everything now."""
    return lambda: commit(Layout(root), [root / "entries"])


def told(store: MarkdownStore, ns: Namespace, key: str) -> list[tuple[str, str, str, str]]:
    """Whose, the text, the status and the source of each state."""
    return [(state.key, state.text, state.status, state.source) for state in store.history(ns, key)]


def test_without_git_the_chain_of_tombstones_is_the_past(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """From either end."""
    store.put(ns, "a", record("a", "Ann lives in Paris."))
    store.put(ns, "a", record("a", "Ann lives in Paris.", status="superseded", replaced_by="b"))
    store.put(ns, "b", record("b", "Ann lives in Lyon.", replaces=["a"]))
    for key in "ab":
        states = told(store, ns, key)
        assert [state[::2] for state in states] == [("a", "active"), ("a", "superseded"), ("b", "active")]
        assert {state[3] for state in states} == {"file"}
    assert store.history(ns, "nobody") == []


def test_a_deleted_item_has_a_past(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Though no get finds it."""
    for key, value in (("k", record("k")), ("an item", {"text": "tea"})):
        store.put(ns, key, value)
        store.delete(ns, key)
        *_, last = store.history(ns, key)
        assert (last.key, last.status) == (key, "deleted")
        assert "deleted" in last.place


def test_with_git_every_version_is_told(
    store: MarkdownStore, ns: Namespace, record: Any, keep: Callable[[], str | None]
) -> None:
    """With its commit; what isn't committed yet comes last."""
    commits = []
    for text in ("tea", "coffee"):
        store.put(ns, "k", record("k", text))
        store.put(ns, "other", record("other", f"other {text}"))
        commits.append(keep())
    store.put(ns, "k", record("k", "wine"))
    states = store.history(ns, "k")
    assert [(state.text, state.source) for state in states] == [("tea", "git"), ("coffee", "git"), ("wine", "file")]
    assert [state.place for state in states[:2]] == commits
    assert states[0].changes == ("added",)
    assert all("text" in state.changes for state in states[1:])
    store.delete(ns, "k")
    keep()
    assert told(store, ns, "k")[-1] == ("k", "wine", "deleted", "git")


def test_edits_and_moves_by_hand_are_told(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any, keep: Callable[[], str | None]
) -> None:
    """An edit, a removal and a return, though the store's own line tells the same time."""
    store.put(ns, "k", record("k", "tea"))
    keep()
    path = store.path_of(ns, "k")
    assert path is not None
    path.write_text(path.read_text().replace("tea", "coffee"))
    keep()
    text = path.read_text()
    path.unlink()
    keep()
    (folder / "facts" / "own").mkdir()
    (folder / "facts" / "own" / "drinks.md").write_text(text)
    keep()
    assert [state[1:3] for state in told(store, ns, "k")] == [
        ("tea", "active"),
        ("coffee", "active"),
        ("", "gone"),
        ("coffee", "active"),
    ]


def test_broken_versions_and_a_broken_repository_hide_nothing_else(
    store: MarkdownStore,
    ns: Namespace,
    root: Path,
    record: Any,
    keep: Callable[[], str | None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A version that can't be read is left out; where git can't be used the files tell what they know."""
    store.put(ns, "k", record("k", "tea"))
    keep()
    path = store.path_of(ns, "k")
    assert path is not None
    good = path.read_text()
    path.write_text("---\nbroken")
    keep()
    assert [state[1] for state in told(store, ns, "k")] == ["tea"]
    path.write_text(good)
    assert [state[1] for state in told(store, ns, "k")] == ["tea"]
    (root / ".git" / "HEAD").write_text("nonsense")
    caplog.set_level(logging.WARNING)
    assert [state[3] for state in told(store, ns, "k")] == ["file"]


def test_keys_and_namespaces_with_odd_signs(open_store: Any, record: Any, keep: Callable[[], str | None]) -> None:
    """Stars, brackets, umlauts and long keys name only themselves."""
    store = open_store()
    ns = ("memories", "a*[b]?", "größe")
    keys = ["*", "[a-z]", "größe", "x" * 300, "a"]
    for n in range(2):
        for key in keys:
            store.put(ns, key, {"text": f"{key[:5]} {n}"})
        keep()
    for key in keys:
        assert [state[1] for state in told(store, ns, key)] == [f"{key[:5]} 0", f"{key[:5]} 1"]
