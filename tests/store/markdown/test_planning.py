"""Where the writes of a batch go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.store import MarkdownStore

Namespace = tuple[str, ...]
THEN = "2026-05-01T10:00:00.000000Z"


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def _text(store: MarkdownStore, ns: Namespace, key: str) -> Any:
    item = store.get(ns, key)
    return item.value["text"] if item else None


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "facts/20260501T100000-000000Z__k.md"),
        ({"role": "user"}, "turns/user/20260501T100000-000000Z__k.md"),
        ({"role": "assistant"}, "turns/assistant/20260501T100000-000000Z__k.md"),
        ({"role": "summary", "thread_id": "t/1"}, "summaries/t~2f1.md"),
        ({"role": "archive"}, "archives/20260501T100000-000000Z__k.md"),
        ({"role": "document"}, "documents/20260501T100000-000000Z__k.md"),
        ({"status": "superseded"}, "deleted/facts/20260501T100000-000000Z__k.md"),
        ({"status": "pending"}, "facts/20260501T100000-000000Z__k.md"),
    ],
)
def test_a_record_lies_in_the_folder_of_its_role(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any, fields: dict[str, Any], path: str
) -> None:
    """Under its time and id, a summary under its thread; a retired one under ``deleted/``."""
    store.put(ns, "k", record("k", created_at=THEN, **fields))
    assert _files(folder) == [path]
    assert store.path_of(ns, "k") == folder / path


@pytest.mark.parametrize("status", ["superseded", "deleted"])
def test_a_retired_record_moves_and_comes_back(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any, status: str
) -> None:
    """A put with that status moves its file to ``deleted/``; get still gives it; an active put moves it back."""
    for _ in range(2):
        store.put(ns, "k", record("k", created_at=THEN))
        assert _files(folder) == ["facts/20260501T100000-000000Z__k.md"]
        retired = record("k", created_at=THEN, status=status, replaced_by="other")
        store.put(ns, "k", retired)
        assert _files(folder) == ["deleted/facts/20260501T100000-000000Z__k.md"]
        assert store.get(ns, "k").value == retired  # type: ignore[union-attr]
    assert store.list_namespaces() == [ns]


def test_a_deleted_item_leaves_a_tombstone(store: MarkdownStore, ns: Namespace, folder: Path, record: Any) -> None:
    """Which is no item, also after the index was built anew, and which a later delete replaces."""
    for value in ({"text": "tea"}, {"text": "milk"}):
        store.put(ns, "k", value)
        assert "items/k.md" in _files(folder)
        store.delete(ns, "k")
        assert _files(folder) == ["deleted/items/k.md"]
        assert value["text"] in (folder / "deleted/items/k.md").read_text()
        assert store.get(ns, "k") is None
        assert store.list_namespaces() == []
    store.put(ns, "s", record("s", role="summary", thread_id="t"))
    store.put(ns, "s", record("s", role="summary", thread_id="t", status="superseded"))
    store.delete(ns, "s")
    assert store.get(ns, "s") is None
    assert _files(folder) == ["deleted/items/k.md", "deleted/summaries/t.md"]


def test_a_role_that_changes_moves_the_file(store: MarkdownStore, ns: Namespace, folder: Path, record: Any) -> None:
    """And a record that becomes a foreign value, and back."""
    store.put(ns, "k", record("k", created_at=THEN))
    store.put(ns, "k", record("k", created_at=THEN, role="archive"))
    assert _files(folder) == ["archives/20260501T100000-000000Z__k.md"]
    store.put(ns, "k", {"text": "foreign"})
    assert _files(folder) == ["items/k.md"]
    store.put(ns, "k", record("k", created_at=THEN))
    assert _files(folder) == ["facts/20260501T100000-000000Z__k.md"]


@pytest.mark.parametrize("at_once", [False, True])
def test_records_that_ask_for_one_file_have_one_each(
    store: MarkdownStore, ns: Namespace, record: Any, at_once: bool
) -> None:
    """Two summaries of one thread; also where another thread is called like the name that one then gets."""
    values = {
        "k": record("k", "one", role="summary", thread_id="t"),
        "x": record("x", "two", role="summary", thread_id="t"),
        "y": record("y", "three", role="summary", thread_id="t__x"),
        "z": record("z", "four", role="summary", thread_id="t"),
    }
    ops = [PutOp(ns, key, value) for key, value in values.items()]
    for batch in [ops] if at_once else [[op] for op in ops]:
        store.batch(batch)
    paths = {store.path_of(ns, key) for key in values}
    assert len(paths) == 4
    for key, value in values.items():
        assert _text(store, ns, key) == value["text"]
        store.put(ns, key, value)
        assert store.path_of(ns, key) in paths
    for key in values:
        store.delete(ns, key)
    assert store.search(ns) == []


def test_a_file_that_a_person_made_is_not_overwritten(store: MarkdownStore, ns: Namespace, folder: Path) -> None:
    """One that stands where a new item would go, and holds another item or nothing that can be read."""
    (folder / "items").mkdir(parents=True)
    (folder / "items" / "broken.md").write_text("---\nnot yet finished")
    (folder / "items" / "copy.md").write_text('---\nvalue: {"n": 1}\nstored: {"key": "original"}\n---\n')
    for key in ("broken", "copy"):
        store.put(ns, key, {"text": f"about {key}"})
        assert _text(store, ns, key) == f"about {key}"
    assert store.get(ns, "original").value == {"n": 1}  # type: ignore[union-attr]
    assert (folder / "items" / "broken.md").read_text() == "---\nnot yet finished"
    assert len(_files(folder)) == 4


def test_a_key_too_long_for_a_name_is_kept_in_the_file(store: MarkdownStore, ns: Namespace, folder: Path) -> None:
    """Two of them don't meet, and a rebuilt index knows them."""
    keys = ["x" * 500, "x" * 501, "用" * 100, ""]
    for key in keys:
        store.put(ns, key, {"key": key})
    assert all(len(Path(path).name.encode()) < 130 for path in _files(folder))
    store._engine.rooms.get(ns).look_again()
    assert {item.key: item.value["key"] for item in store.search(ns)} == {key: key for key in keys}


def test_an_update_is_later_than_what_it_updates(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Even where a clock went back, or a person wrote a time of the future."""
    store.put(ns, "k", {"n": 1})
    path = store.path_of(ns, "k")
    assert path is not None
    item = store.get(ns, "k")
    assert item is not None
    path.write_text(path.read_text().replace("2026-", "2999-").replace("2027-", "2999-"))
    edited = store.get(ns, "k")
    store.put(ns, "k", {"n": 2})
    after = store.get(ns, "k")
    assert edited is not None
    assert after is not None
    assert after.updated_at > edited.updated_at
