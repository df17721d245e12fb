"""Erasing for good: what goes leaves no byte behind, and all else stays as it is."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.erasure import EraseReceipt, Erasure, Held
from langmem_plus.errors import InvalidValueError, StoreError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import erasing
from langmem_plus.store.markdown.layout import namespace_id
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
from langmem_plus.text import index_tokens

SECRET = "Xylographers catalogue Zwieback quarrels"
OTHER = ("memories", "ann", "work")


def only(*keys: str) -> Callable[[Held], Erasure]:
    """Chooses some keys."""
    return lambda held: Erasure(frozenset(keys))


def traces(root: Path, words: Iterable[str]) -> list[str]:
    """The files below a folder whose bytes, or whose names, hold one of the words or of their search tokens."""
    marks: set[bytes] = set()
    for word in words:
        for form in (word, word.casefold(), *index_tokens(word)):
            marks |= {form.encode(), form.encode("utf-16-le"), json.dumps(form)[1:-1].encode()}
    found = []
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        content = file.read_bytes() + str(file.relative_to(root)).encode()
        found += [f"{file.relative_to(root)}: {mark!r}" for mark in marks if mark in content]
    return found


def turns(record: Any, thread: str, texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A conversation's turns by their keys."""
    return {
        f"{thread}-{place}": record(
            f"{thread}-{place}", text, role="user", thread_id=thread, metadata={"turn": place, "position": 0}
        )
        for place, text in enumerate(texts, 1)
    }


def snapshot(root: Path) -> dict[str, bytes]:
    """The memories below a folder."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted((root / "entries").rglob("*.md"))}


@pytest.fixture
def embedder() -> BagOfWordsEmbeddings:
    """Vectors that need no model."""
    return BagOfWordsEmbeddings()


def test_an_item_leaves_no_bytes(open_store, root, ns, record, embedder) -> None:
    """Its file, its tokens, its text in the index, its place in its neighbours' windows and its vector go; the others
    are found as before.
    """
    store = open_store(embedder)
    told = turns(record, "t", ["I like tea.", SECRET, "I like coffee.", "I like water."])
    for key, value in told.items():
        store.put(ns, key, value)
    store.set_scores(ns, {"t-1": {"total": 0.5}, "t-2": {"total": 0.7}})
    assert traces(root, SECRET.split())
    before = snapshot(root)
    receipt = store.erase(ns, only("t-2"))
    assert traces(root, SECRET.split()) == []
    left = {path: content for path, content in before.items() if SECRET.encode() not in content}
    assert snapshot(root) == left
    assert store.get(ns, "t-2") is None
    assert {item.key for item in store.search(ns, query="coffee tea")} == {"t-1", "t-3", "t-4"}
    assert store.get(ns, "t-1").value["last_scores"]["total"] == 0.5
    assert (receipt.removed["user"], receipt.removed["file"], receipt.removed["vector"]) == (1, 1, 1)
    assert len(receipt.paths) == 1
    assert not receipt.unreached


def test_tombstones_and_older_versions_go(open_store, root, ns, record, embedder) -> None:
    """What was deleted softly before, what stood in a text before an update, and a retired record are erased too."""
    store = open_store(embedder)
    store.put(ns, "a", record("a", SECRET))
    store.put(ns, "a", record("a", "Something else."))
    store.put(ns, "b", record("b", SECRET))
    store.delete(ns, "b")
    store.put(ns, "c", record("c", SECRET, status="deleted"))
    store.put(ns, "item", {"anything": SECRET})
    store.delete(ns, "item")
    store.put(ns, "d", record("d"))
    receipt = store.erase(ns, only("a", "b", "c", "item"))
    assert traces(root, SECRET.split()) == []
    assert receipt.removed["file"] == 4
    assert store.get(ns, "d") is not None


def test_a_copy_of_a_living_item(open_store, root, ns, record) -> None:
    """The tombstone of an earlier life of a key is chosen apart from the item that has the key now."""
    store = open_store()
    store.put(ns, "a", record("a", SECRET))
    store.delete(ns, "a")
    store.put(ns, "a", record("a", "Something else."))

    def choose(held: Held) -> Erasure:
        return Erasure(frozenset(key for key, value in held if SECRET in value["text"]))

    store.erase(ns, choose)
    assert traces(root, SECRET.split()) == []
    assert store.get(ns, "a").value["text"] == "Something else."


def test_a_vector_that_another_item_needs_stays(open_store, root, ns, record, embedder) -> None:
    """Two items of one text share a vector: it goes with the last of them, and nothing is embedded again."""
    store = open_store(embedder)
    for key in ("a", "b"):
        store.put(ns, key, record(key, SECRET))
    assert "vector" not in store.erase(ns, only("a")).removed
    assert store.search(ns, query=SECRET)[0].key == "b"
    assert store.embedding_state().waiting == 0
    assert store.erase(ns, only("b")).removed["vector"] == 1


def test_what_stays_is_rewritten(open_store, ns, record, root) -> None:
    """An item that is rewritten without the erased keeps its file, its times of creation and its key."""
    store = open_store()
    store.put(ns, "s", record("s", f"- {SECRET}\n- I like tea", role="summary", thread_id="t"))
    before = store.get(ns, "s")

    def choose(held: Held) -> Erasure:
        return Erasure(rewritten={"s": {**dict(held)["s"], "text": "- I like tea"}})

    receipt = store.erase(ns, choose)
    after = store.get(ns, "s")
    assert after.value["text"] == "- I like tea"
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at
    assert receipt.rewritten == {"summary": 1}
    assert traces(root, SECRET.split()) == []


def test_an_editors_copies_go(open_store, root, ns, record, folder) -> None:
    """A backup beside the file, and a broken file with the same words, go too; a broken file that may hold anything is
    named in the receipt.
    """
    store = open_store()
    store.put(ns, "0123456789abcdef", record("0123456789abcdef", SECRET))
    file = store.path_of(ns, "0123456789abcdef")
    file.with_name(f"{file.name}~").write_bytes(file.read_bytes())
    (folder / "facts" / "broken.md").write_text(f"---\nid: [\n---\n{SECRET}\n", encoding="utf-8")
    (folder / "facts" / "other.md").write_text("---\nid: [\n---\nI like tea\n", encoding="utf-8")
    receipt = store.erase(ns, only("0123456789abcdef"))
    assert traces(root, SECRET.split()) == []
    assert receipt.removed["copy"] == 2
    assert len(receipt.unreached) == 1
    assert "other.md" in receipt.unreached[0]


def test_a_link_is_named(open_store, ns, record, tmp_path) -> None:
    """A memory file that is a link to another place: the link goes, the place is named in the receipt."""
    store = open_store()
    store.put(ns, "a", record("a", SECRET))
    file = store.path_of(ns, "a")
    file.rename(tmp_path / "elsewhere.md")
    file.symlink_to(tmp_path / "elsewhere.md")
    receipt = store.erase(ns, only("a"))
    assert not file.is_symlink()
    assert str(tmp_path / "elsewhere.md") in receipt.unreached[0]


def test_everything_below_a_namespace(open_store, root, ns, record, embedder) -> None:
    """A user's namespaces go with folders, databases, markers and tombstones; a neighbour's are as they were."""
    store = open_store(embedder)
    for namespace in (ns, OTHER, (*ns, "below"), ("memories", "ann2", "default")):
        text = SECRET if namespace[1] == "ann" else "I like tea."
        store.put(namespace, "a", record("a", text, role="user", thread_id="t", extracted=False))
        store.put(namespace, "b", record("b", text))
        store.delete(namespace, "b")
    before = {path: content for path, content in snapshot(root).items() if "/ann2/" in path}
    receipt = store.erase(("memories", "ann"))
    assert traces(root, SECRET.split()) == []
    assert snapshot(root) == before
    assert not (root / "entries" / "memories" / "ann").exists()
    living = namespace_id(("memories", "ann2", "default"))
    assert {path.name.split(".")[0] for path in (root / ".index").iterdir()} == {living}
    assert {path.name for path in (root / ".pending").iterdir()} == {living}
    assert (receipt.removed["file"], receipt.removed["user"]) == (6, 3)
    assert store.search(("memories", "ann")) == []
    store.put(ns, "a", record("a", "New."))
    assert store.search(ns, query="new")[0].key == "a"
    assert store.search(("memories", "ann2"), query="tea")


def test_databases_of_removed_folders_go(open_store, root, ns, record, folder) -> None:
    """A folder that was removed by hand has left its index behind: erasing the user finds that, too."""
    store = open_store()
    store.put(ns, "a", record("a", SECRET))
    store.close()
    shutil.rmtree(folder)
    assert traces(root, SECRET.split())
    store.erase(("memories", "ann"))
    assert traces(root, SECRET.split()) == []


def test_long_labels_go(open_store, root, record) -> None:
    """A label that is kept beside its folder goes with it."""
    store, user = open_store(), "Zwieback" * 40
    store.put(("memories", user, "default"), "a", record("a"))
    store.erase(("memories", user))
    assert traces(root, ["Zwieback"]) == []
    assert list((root / "entries").iterdir()) == []


def test_an_empty_namespace_is_refused(store) -> None:
    """Nobody erases everything by a slip."""
    with pytest.raises(InvalidValueError, match="remove its folder"):
        store.erase(())


def test_nothing_to_erase(store, ns, record) -> None:
    """An erasure that finds nothing removes nothing, and says where it looked."""
    store.put(ns, "a", record("a"))
    receipt = store.erase(ns, only("b"))
    assert receipt.removed == {}
    assert receipt.looked
    assert store.get(ns, "a") is not None


def test_an_old_journal_is_cleared(open_store, root, ns, record) -> None:
    """Batches that were never whole and were set aside don't keep the words; another namespace's stay."""
    store = open_store()
    store.put(ns, "a", record("a", SECRET))
    mine, theirs = json.dumps([list(ns)]), json.dumps([list(OTHER)])
    (root / ".journal" / "1.broken").write_text(f'{mine}\n[["x", "{SECRET}', encoding="utf-8")
    (root / ".journal" / "2.broken").write_text(f"{theirs}\n[[", encoding="utf-8")
    store.erase(ns, only("a"))
    assert traces(root, SECRET.split()) == []
    assert [path.name for path in (root / ".journal").iterdir()] == ["2.broken"]


def test_another_process_sees_it(open_store, ns, record, embedder) -> None:
    """A store that has the namespace open, as another process has, gives what was erased to nobody."""
    one, two = open_store(embedder), open_store(embedder)
    for key, text in (("a", SECRET), ("b", "I like tea.")):
        one.put(ns, key, record(key, text))
    assert {item.key for item in two.search(ns, query=SECRET)} >= {"a"}
    one.erase(ns, only("a"))
    assert two.get(ns, "a") is None
    assert "a" not in {item.key for item in two.search(ns, query=SECRET)}
    one.erase(("memories", "ann"))
    assert two.search(ns, query="tea") == []
    two.put(ns, "c", record("c", "I like milk."))
    assert one.search(ns, query="milk")[0].key == "c"


def test_a_reader_in_the_way(open_store, root, ns, record, embedder, monkeypatch) -> None:
    """Where somebody keeps an old state of the index open, the index is made anew rather than left with the words."""
    store = open_store(embedder)
    for key, text in (("a", SECRET), ("b", "I like tea.")):
        store.put(ns, key, record(key, text))
    store._engine.room(ns).use(lambda index: index.db.execute("PRAGMA busy_timeout=10"))
    reader = sqlite3.connect(root / ".index" / f"{namespace_id(ns)}.db")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchone()
    store.erase(ns, only("a"))
    reader.close()
    assert traces(root, SECRET.split()) == []
    assert store.search(ns, query="tea")[0].key == "b"


def test_writers_meanwhile(open_store, root, ns, record) -> None:
    """What others write while something is erased is all there afterwards."""
    store, writer = open_store(), open_store()
    store.put(ns, "secret", record("secret", SECRET))

    def write() -> None:
        for number in range(20):
            writer.put(ns, f"k{number}", record(f"k{number}", f"I like tea number {number}."))

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(3):
        store.erase(ns, only("secret"))
    thread.join()
    assert traces(root, SECRET.split()) == []
    assert len(store.search(ns, limit=100)) == 20


# crashes


CALLS = ("replace", "unlink", "rmdir")


def _erase_and_die(root: Path, whole: bool, number: int) -> None:
    """Erase in a child that ends itself at its n-th step."""
    steps = iter(range(1, 10**6))
    for name in CALLS:
        call = getattr(os, name)

        def dying(*args: Any, call: Callable[..., Any] = call, **more: Any) -> Any:
            if next(steps) == number:
                os._exit(9)
            return call(*args, **more)

        setattr(os, name, dying)
    clean = erasing._clean

    def cleaned(*args: Any) -> int:
        if next(steps) == number:
            os._exit(9)
        done = clean(*args)
        if next(steps) == number:
            os._exit(9)
        return done

    erasing._clean = cleaned
    store = MarkdownStore(root, index=None)
    store.erase(("memories", "ann")) if whole else store.erase(("memories", "ann", "default"), only("a", "b", "c"))
    os._exit(0)


@pytest.mark.parametrize("whole", [False, True])
def test_a_crash_at_every_step(root, record, whole) -> None:
    """Wherever the process dies, either nothing was erased, or the next use of the namespace finishes it."""
    ns, context, number, finished = ("memories", "ann", "default"), multiprocessing.get_context("fork"), 0, 0
    while True:
        number += 1
        with MarkdownStore(root, index=None) as store:
            for key in ("a", "b", "c"):
                store.put(ns, key, record(key, f"{SECRET} {key}"))
                store.put(OTHER, key, record(key, f"{SECRET} {key}" if whole else "I like milk."))
            store.put(("memories", "bob"), "d", record("d", "I like tea."))
        child = context.Process(target=_erase_and_die, args=(root, whole, number))
        child.start()
        child.join()
        with MarkdownStore(root, index=None) as store:
            left = len(store.search(ns)) + (len(store.search(OTHER)) if whole else 0)
            assert left in (0, 6 if whole else 3)
            assert store.get(("memories", "bob"), "d") is not None
            if left == 0:
                finished += 1
                assert traces(root, SECRET.split()) == []
            assert not [path for path in (root / ".journal").iterdir() if path.suffix == ".json"]
            store.erase(("memories", "ann"))
        if child.exitcode == 0:
            break
    assert finished > 2


def test_nothing_is_removed_without_room_for_what_stays(open_store, ns, record, monkeypatch) -> None:
    """A disk without room for a rewritten file: the erasure fails as a whole, and can be called again."""
    store = open_store()
    store.put(ns, "a", record("a", SECRET))
    store.put(ns, "s", record("s", f"- {SECRET}\n- tea", role="summary", thread_id="t"))

    def choose(held: Held) -> Erasure:
        return Erasure(frozenset({"a"}), {"s": {**dict(held)["s"], "text": "- tea"}})

    def full(path: Path, content: bytes, *, durable: bool) -> None:
        if path.suffix == ".md":
            raise StoreError("no room")
        write(path, content, durable=durable)

    write = erasing.write_file
    monkeypatch.setattr(erasing, "write_file", full)
    with pytest.raises(StoreError, match="no room"):
        store.erase(ns, choose)
    assert store.get(ns, "a") is not None
    monkeypatch.setattr(erasing, "write_file", write)
    assert isinstance(store.erase(ns, choose), EraseReceipt)
    assert store.get(ns, "a") is None


# git


@pytest.mark.parametrize("whole", [False, True])
def test_git_forgets_it(open_store, root, ns, record, whole) -> None:
    """With versioning, no version of what was erased is left in the repository, nor of what was rewritten; a
    neighbour's history stays.
    """
    if not shutil.which("git"):
        pytest.skip("git isn't installed")
    store = open_store(versioning=True)
    store.put(ns, "a", record("a", SECRET))
    store.put(ns, "s", record("s", f"- {SECRET}\n- I like tea", role="summary", thread_id="t"))
    store.put(("memories", "bob"), "b", record("b", "I like chess."))
    store.close()

    def choose(held: Held) -> Erasure:
        return Erasure(frozenset({"a"}), {"s": {**dict(held)["s"], "text": "- I like tea"}})

    def history() -> str:
        log = subprocess.run(["git", "-C", root, "log", "--all", "-p"], capture_output=True, text=True, check=True)
        return log.stdout

    assert SECRET in history()
    receipt = store.erase(ns[:2] if whole else ns, None if whole else choose)
    store.close()
    assert SECRET not in history()
    assert "I like chess." in history()
    assert receipt.removed["version in git"] >= 2
    assert any("git" in place for place in receipt.looked)
    assert not [path for path in (root / ".journal").iterdir() if path.is_file()]
