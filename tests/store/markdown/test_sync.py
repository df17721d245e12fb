"""What a person does to the files shows in the store."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.records import Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.sync import scan
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Namespace = tuple[str, ...]


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _found(store: MarkdownStore, ns: Namespace, query: str) -> list[str]:
    return [item.key for item in store.search(ns, query=query)]


def _file(store: MarkdownStore, ns: Namespace, key: str) -> Path:
    path = store.path_of(ns, key)
    assert path is not None
    return path


def test_a_changed_text_is_found(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """And the old one isn't; the item keeps its age, and counts as updated."""
    store.put(ns, "k", record("k", "Ann likes green tea."))
    before = store.get(ns, "k")
    _edit(_file(store, ns, "k"), "green tea", "black coffee")
    after = store.get(ns, "k")
    assert before is not None
    assert after is not None
    assert after.value == {**before.value, "text": "Ann likes black coffee."}
    assert (after.created_at, after.updated_at > before.updated_at) == (before.created_at, True)
    assert _found(store, ns, "coffee") == ["k"]
    assert _found(store, ns, "tea") == []


def test_a_changed_field_counts(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Also one whose type alone changed, and where YAML is written instead of JSON."""
    store.put(ns, "k", record("k", metadata={"n": 1}))
    _edit(_file(store, ns, "k"), '{"n": 1}', '{"n": true}')
    assert store.get(ns, "k").value["metadata"] == {"n": True}  # type: ignore[union-attr]
    _edit(_file(store, ns, "k"), "role: memory\n", "role: memory\npinned: yes\ntags:\n  - Drinks\n")
    item = store.get(ns, "k")
    assert item is not None
    assert (item.value["pinned"], item.value["tags"], item.value["metadata"]) == (True, ["Drinks"], {"n": True})
    assert _found(store, ns, "drinks") == ["k"]


def test_a_touched_file_says_the_same(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Nothing counts as updated."""
    store.put(ns, "k", record("k"))
    before = store.get(ns, "k")
    _file(store, ns, "k").touch()
    assert store.get(ns, "k") == before


@pytest.mark.parametrize("text", ["Ann lives in Lyon.\n", "---\ntags: [home]\n---\nAnn lives in Lyon.\n"])
def test_a_new_file_is_a_new_memory(store: MarkdownStore, ns: Namespace, folder: Path, text: str) -> None:
    """With and without a front matter; edited later it is the same one."""
    folder.joinpath("facts").mkdir(parents=True)
    path = folder / "facts" / "home.md"
    path.write_text(text)
    (item,) = store.search(ns, query="Lyon")
    assert (item.value["text"], item.value["role"], item.value["user_id"]) == ("Ann lives in Lyon.", "memory", "ann")
    _edit(path, "Lyon", "Paris")
    (again,) = store.search(ns, query="Paris")
    assert (again.key, again.created_at, again.value["created_at"]) == (
        item.key,
        item.created_at,
        item.value["created_at"],
    )
    assert again.updated_at > item.updated_at
    store.put(ns, item.key, {**again.value, "text": "Ann lives in Nice."})
    assert path.read_text().endswith("Ann lives in Nice.\n")


def test_a_file_in_a_folder_of_ones_own_keeps_its_role_and_place(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any
) -> None:
    """Below a role's folder a person may sort as they like; an update stays there."""
    store.put(ns, "k", record("k"))
    own = folder / "facts" / "drinks"
    own.mkdir()
    _file(store, ns, "k").rename(own / "tea.md")
    item = store.get(ns, "k")
    assert item is not None
    store.put(ns, "k", {**item.value, "text": "Ann likes black tea."})
    assert _file(store, ns, "k") == own / "tea.md"
    assert len(list(folder.rglob("*.md"))) == 1


def test_a_renamed_file_is_the_same_memory(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Nothing of it changes: neither its times, nor the scores of its last recall."""
    store.put(ns, "k", record("k"))
    store.set_scores(ns, {"k": {"total": 0.5}})
    before = store.get(ns, "k")
    _file(store, ns, "k").rename(_file(store, ns, "k").with_name("green tea.md"))
    assert store.get(ns, "k") == before
    assert before is not None
    assert before.value["last_scores"]["total"] == 0.5


def test_two_files_may_swap_their_names(store: MarkdownStore, ns: Namespace, record: Any) -> None:
    """Neither is lost."""
    for key in "ab":
        store.put(ns, key, record(key, f"notes {key}"))
    a, b = (_file(store, ns, key) for key in "ab")
    a.rename(a.with_name("other"))
    b.rename(a)
    a.with_name("other").rename(b)
    assert [store.get(ns, key).value["text"] for key in "ab"] == ["notes a", "notes b"]  # type: ignore[union-attr]
    assert (_file(store, ns, "a"), _file(store, ns, "b")) == (b, a)


def test_a_removed_file_is_a_forgotten_memory(store: MarkdownStore, ns: Namespace, folder: Path, record: Any) -> None:
    """It is neither read nor found nor listed."""
    store.put(ns, "k", record("k"))
    _file(store, ns, "k").unlink()
    assert store.get(ns, "k") is None
    assert store.search(ns) == store.search(ns, query="tea") == []
    assert store.list_namespaces() == []
    store.put(ns, "k", record("k"))
    shutil.rmtree(folder)
    assert store.get(ns, "k") is None
    store.put(ns, "k", record("k"))
    assert _found(store, ns, "tea") == ["k"]


def test_a_file_moved_to_deleted_is_deleted_and_back_when_moved_back(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any
) -> None:
    """The folder decides, as a person would expect."""
    store.put(ns, "k", record("k"))
    store.put(ns, "item", {"text": "tea"})
    places = {}
    for key in ("k", "item"):
        path = places[key] = _file(store, ns, key)
        target = folder / "deleted" / path.relative_to(folder)
        target.parent.mkdir(parents=True)
        path.rename(target)
    assert store.get(ns, "k").value["status"] == "deleted"  # type: ignore[union-attr]
    assert store.get(ns, "item") is None
    for path in places.values():
        (folder / "deleted" / path.relative_to(folder)).rename(path)
    assert store.get(ns, "k").value["status"] == "active"  # type: ignore[union-attr]
    assert store.get(ns, "item").value == {"text": "tea"}  # type: ignore[union-attr]


def test_a_tombstone_moved_back_is_alive(store: MarkdownStore, ns: Namespace, folder: Path, record: Any) -> None:
    """As it was when it was deleted."""
    value = record("k")
    store.put(ns, "k", value)
    path = _file(store, ns, "k")
    store.delete(ns, "k")
    assert store.get(ns, "k") is None
    (folder / "deleted" / path.relative_to(folder)).rename(path)
    assert store.get(ns, "k").value == value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_text("---\nrole: [memory\n---\nx"), "isn't YAML"),
        (lambda path: path.write_text("---\nrole: memory\nx"), "no closing line"),
        (lambda path: path.write_text("---\nimportance: 9\n---\nx"), "importance is 9"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00x"), "can't be read"),
        (lambda path: path.write_bytes("größer".encode("latin-1")), "can't be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_left_out(
    store: MarkdownStore,
    ns: Namespace,
    record: Any,
    damage: Callable[[Path], Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once; the others live on, and when it is corrected it counts again."""
    for key in "ab":
        store.put(ns, key, record(key, f"notes {key}"))
    path = _file(store, ns, "a")
    good = path.read_bytes()
    with caplog.at_level(logging.WARNING):
        damage(path)
        assert store.get(ns, "a") is None
        assert _found(store, ns, "notes") == ["b"]
    assert caplog.text.count(str(path)) == 1
    assert reason in caplog.text
    ((named, words),) = store.unreadable().items()
    assert named == path
    assert reason in words
    path.write_bytes(good)
    assert sorted(_found(store, ns, "notes")) == ["a", "b"]
    assert store.unreadable() == {}


def test_a_file_with_a_name_that_is_not_utf8_is_read(
    store: MarkdownStore, ns: Namespace, folder: Path, record: Any
) -> None:
    """Old file systems have such names; a broken file among them is named like any other."""
    store.put(ns, "k", record("k"))
    path = _file(store, ns, "k")
    odd = Path(os.fsdecode(os.fsencode(path.parent) + b"/caf\xe9.md"))
    path.rename(odd)
    (folder / "items").mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/items/\xff.md")).write_text("a word")
    assert store.get(ns, "k").value["text"] == "Ann likes green tea."  # type: ignore[union-attr]
    assert len(store.search(ns)) == 2
    store.put(ns, "k", record("k", "Ann likes coffee."))
    assert _file(store, ns, "k") == odd
    odd.write_text("---\nbroken")
    assert store.get(ns, "k") is None
    assert list(store.unreadable()) == [odd]


def test_of_two_files_with_one_id_the_newer_counts(
    store: MarkdownStore, ns: Namespace, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The other is named; when the newer one goes, the other is there again."""
    store.put(ns, "k", record("k", "notes tea"))
    path = _file(store, ns, "k")
    copy = path.with_name("copy.md")
    copy.write_text(path.read_text().replace("tea", "coffee"))
    os.utime(copy, ns=(0, path.stat().st_mtime_ns + 10**9))
    assert _found(store, ns, "notes") == ["k"]
    assert store.get(ns, "k").value["text"] == "notes coffee"  # type: ignore[union-attr]
    assert caplog.text.count("same id") == 1
    store.put(ns, "other", record("other"))
    assert store.get(ns, "k").value["text"] == "notes coffee"  # type: ignore[union-attr]
    copy.unlink()
    assert store.get(ns, "k").value["text"] == "notes tea"  # type: ignore[union-attr]
    copy.write_text(path.read_text().replace("tea", "milk"))
    os.utime(copy, ns=(0, path.stat().st_mtime_ns + 10**9))
    assert store.get(ns, "k").value["text"] == "notes milk"  # type: ignore[union-attr]
    store.put(ns, "k", record("k", "notes wine"))
    assert store.get(ns, "k").value["text"] == "notes wine"  # type: ignore[union-attr]
    assert len(store.search(ns)) == 2


def test_an_index_built_anew_is_the_same(open_store: Any, root: Path, ns: Namespace, record: Any) -> None:
    """Values, times, order, ranking; only scores of recalls are forgotten."""
    store = open_store()
    for n in range(30):
        store.put(ns, f"k{n % 20}", record(f"k{n % 20}", f"tea number {n} is good tea " * (n % 5 + 1)))
        store.put(ns, f"i{n % 7}", {"text": f"tea item {n}", "n": n})
    store.delete(ns, "k3")
    store.put(ns, "k4", record("k4", "retired tea", status="superseded"))
    before = (store.search(ns, limit=100), store.search(ns, query="good tea item", limit=100))
    shutil.rmtree(root / ".index")
    for again in (store, open_store()):
        after = (again.search(ns, limit=100), again.search(ns, query="good tea item", limit=100))
        for one, other in zip(before, after, strict=True):
            assert [(i.key, i.value, i.created_at, i.updated_at, i.score) for i in one] == [
                (i.key, i.value, i.created_at, i.updated_at, i.score) for i in other
            ]


def test_an_edit_costs_one_embedding(open_store: Any, root: Path, ns: Namespace, record: Any) -> None:
    """And a rename, a rebuilt index or a file that was moved away and back none at all."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    for key in "abc":
        store.put(ns, key, record(key, f"notes {key}"))
    store.search(ns, query="notes")
    embedder.clear()
    path = _file(store, ns, "a")
    path.rename(path.with_name("renamed.md"))
    shutil.rmtree(root / ".index")
    assert len(store.search(ns, query="notes")) == 3
    assert embedder.texts == []
    _edit(_file(store, ns, "b"), "notes b", "notes beer")
    (best, *_) = store.search(ns, query="notes beer")
    assert embedder.texts == ["notes beer"]
    assert best.key == "b"
    assert best.scores["cosine"] == pytest.approx(1.0)
    _edit(_file(store, ns, "b"), "notes beer", "notes b")
    store.search(ns, query="notes")
    assert embedder.texts == ["notes beer"]


def test_a_turn_written_by_hand_waits_for_its_facts(store: MarkdownStore, ns: Namespace, folder: Path) -> None:
    """It is marked when it is seen."""
    (folder / "turns" / "user").mkdir(parents=True)
    (folder / "turns" / "user" / "hello.md").write_text("---\nid: t1\nextracted: false\n---\nI moved to Lyon.\n")
    assert store.get(ns, "t1") is not None
    assert store.pending() == [ns]
    assert store.claim(ns, ["t1"], 60) == {"t1"}


def test_a_namespace_made_by_hand_is_found(store: MarkdownStore, root: Path) -> None:
    """By its folders' names."""
    namespace = Scope("bob@x.org", "work").namespace
    folder = root / "entries" / "memories" / "bob@x%2eorg" / "work" / "facts"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("Bob plays chess.\n")
    assert store.list_namespaces() == [namespace]
    (item,) = store.search(("memories",), query="chess")
    assert (item.namespace, item.value["user_id"], item.value["space"]) == (namespace, "bob@x.org", "work")


def test_what_a_dead_writer_left_half_written_is_removed(folder: Path, store: MarkdownStore, ns: Namespace) -> None:
    """It was never acknowledged, and may hold what somebody wants erased; a person's own hidden files stay."""
    store.put(ns, "k", {"n": 1})
    litter, own = folder / "items" / f".{'0' * 32}.tmp", folder / "items" / ".own.tmp"
    litter.touch()
    own.touch()
    assert list(scan(folder, tidy=False, closed={})) == ["items/k.md"]
    assert litter.exists()
    assert list(scan(folder, tidy=True, closed={})) == ["items/k.md"]
    assert (litter.exists(), own.exists()) == (False, True)


def test_a_folder_that_cannot_be_read_now_loses_nothing(
    store: MarkdownStore, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the index knows stands until the files can be read again."""
    store.put(ns, "k", record("k"))
    store.get(ns, "k")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("facts"):
            raise OSError(24, "Too many open files")
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        assert store.get(ns, "k") is not None
        assert _found(store, ns, "tea") == ["k"]
    assert "Too many open files" in caplog.text
    assert store.get(ns, "k") is not None


def test_the_files_are_looked_at_once_an_interval(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And at every use where that is 0."""
    looks: list[None] = []

    def count(*args: Any) -> bool:
        looks.append(None)
        return False

    monkeypatch.setattr("langmem_plus.store.markdown.namespace.bring_in_step", count)
    for interval, most in ((0, 20), (3600, 1)):
        looks.clear()
        store = open_store(sync_interval=interval)
        for n in range(20):
            store.put(ns, f"k{n}", record(f"k{n}"))
        assert len(looks) == most


def test_a_writer_notices_at_once_that_a_file_was_moved(
    open_store: Any, ns: Namespace, folder: Path, record: Any
) -> None:
    """However long the interval: otherwise a delete would leave the file at its new place."""
    store = open_store(sync_interval=3600)
    store.put(ns, "k", record("k"))
    path = _file(store, ns, "k")
    path.rename(path.with_name("moved.md"))
    store.delete(ns, "k")
    assert store.get(ns, "k") is None
    assert [file.relative_to(folder).parts[0] for file in folder.rglob("*.md")] == ["deleted"]
