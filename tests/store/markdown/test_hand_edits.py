"""Whatever a person leaves in a folder: it is read sensibly, or named; and nothing else suffers from it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore

Namespace = tuple[str, ...]
CONFIG = MemoryConfig(sync_interval=0, embeddings="none", background=False)
NS = Scope("ann").namespace

LINES = st.sampled_from(
    [
        *("---", "id: k", "id: [", "id: 7", "role: memory", "role: king", "user_id: bob", "created_at: 2024-02-30"),
        *("created_at: 2024-05-01", "created_at: soon", "tags: tea, green", "tags: {a: 1}", "importance: high"),
        *("importance: 0.5", "pinned: maybe", "status: deleted", "status: asleep", "metadata: text", "\tx: 1", "", "x"),
        *("stored: {}", "stored: 7", 'stored: {"key": 5}', 'stored: {"created_at": []}', "value: 5", "value: {a: 1}"),
        *("expires_at: 2020-01-01", "expires_at: never", "&a x: *a", "!!python/object:os.system x", "? y", "größe: ü"),
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
STARTS = st.sampled_from(["", "\ufeff", "---\n", "\ufeff---\r\n"])


@st.composite
def scribbles(draw: Any) -> bytes:
    """Files as people and their editors make them."""
    lines = draw(st.lists(LINES, max_size=8))
    text = draw(STARTS) + draw(ENDS).join(lines) + draw(st.sampled_from(["", "\n---\n", "\n---\nAnn likes tea.\n"]))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "utf-8-sig"])), "replace")


NAMES = st.sampled_from(["note.md", "a b.md", "20260501T100000-000000Z__k.md", "~~x.md", "größe.md", "k (copy).md"])
FOLDERS = st.sampled_from(["facts", "turns/user", "summaries", "items", "deleted/facts", "deleted", "facts/own", "."])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(FOLDERS, NAMES, scribbles() | st.binary(max_size=60)), min_size=1, max_size=4))
def test_anything_is_an_item_or_is_named(files: list[tuple[str, str, bytes]]) -> None:
    """Each file is read, named, a tombstone, or loses against another of the same id; the others stay as they are, no
    file is touched, and an index that is made anew says the same.
    """
    with tempfile.TemporaryDirectory() as place, MarkdownStore(place, index=None, config=CONFIG) as store:
        good = MemoryRecord(id="good", text="Ann likes green tea.", user_id="ann").to_value()
        store.put(NS, "good", good)
        folder = store._engine.room(NS).folder
        for where, name, content in files:
            (folder / where).mkdir(parents=True, exist_ok=True)
            (folder / where / name).write_bytes(content)
        assert store.get(NS, "good").value == good  # type: ignore[union-attr]
        assert "good" in [item.key for item in store.search(NS, query="green tea", limit=100)]
        paths = {store.path_of(NS, item.key) for item in store.search(NS, limit=100)}
        named = set(store.unreadable())
        assert not paths & named
        for where, name, content in files:
            path = folder / where / name
            written = {(w, n): c for w, n, c in files}[where, name]
            assert path.read_bytes() == written
            if not content.strip() and where != "." and written == content:
                assert path in named
        with MarkdownStore(place, index=None, config=CONFIG) as again:
            keys = sorted(item.key for item in again.search(NS, limit=100))
        assert keys == sorted(item.key for item in store.search(NS, limit=100))


@settings(max_examples=40, deadline=None)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\r", exclude_categories=["Cc"]), min_size=1).filter(
        lambda text: text.strip() and not text.startswith(("---", "\ufeff"))
    ),
    ENDS,
    st.booleans(),
)
def test_a_plain_text_is_a_fact(text: str, end: str, marked: bool) -> None:
    """With the folder's user, space and role, word for word, whatever line ends and mark an editor gives it."""
    with tempfile.TemporaryDirectory() as place, MemoryClient(place, config=CONFIG) as client:
        folder = Path(place, "entries", "memories", "ann", "default", "facts")
        folder.mkdir(parents=True)
        written = ("\ufeff" if marked else "") + text + end
        (folder / "note.md").write_bytes(written.encode())
        (record,) = client.list(user_id="ann")
        assert (record.text, record.user_id, record.space, record.role) == (text, "ann", "default", "memory")
        assert client.get(record.id[:8], user_id="ann") == record


def test_a_file_belongs_where_it_is_moved(open_store: Any, ns: Namespace, root: Path, record: Any) -> None:
    """To another space or another user, whatever its front matter says; from then on it is that one's memory."""
    store = open_store()
    store.put(ns, "k", record("k"))
    path = store.path_of(ns, "k")
    target = root / "entries" / "memories" / "bob" / "work" / "facts" / path.name
    target.parent.mkdir(parents=True)
    path.rename(target)
    there = Scope("bob", "work").namespace
    assert store.get(ns, "k") is None
    item = store.get(there, "k")
    assert (item.value["user_id"], item.value["space"]) == ("bob", "work")
    with MemoryClient(store, config=CONFIG) as client:
        (found,) = client.search("green tea", user_id="bob", space="work")
        assert client.path_of(found.record) == target
        assert client.search("green tea", user_id="ann") == []
    store.put(there, "k", {**item.value, "text": "Bob likes tea."})
    assert "user_id: bob" in target.read_text()


@pytest.mark.parametrize("user", ["bob", "ann"])
def test_what_a_program_puts_elsewhere_stays_as_it_is(open_store: Any, ns: Namespace, record: Any, user: str) -> None:
    """A record that names another user or space than its namespace is somebody's intention, not a moved file."""
    store = open_store()
    value = {**record("k"), "user_id": user, "space": "work"}
    store.put(ns, "k", value)
    path = store.path_of(ns, "k")
    path.touch()
    assert store.get(ns, "k").value == value
    assert open_store().get(ns, "k").value == value
    store.delete(ns, "k")
    (gone,) = (path.parent.parent / "deleted").rglob("*.md")
    gone.rename(path)
    assert store.get(ns, "k").value == value


def test_a_file_that_is_emptied_is_named_until_it_is_filled(open_store: Any, ns: Namespace, record: Any) -> None:
    """Some editors empty a file before they write it: nobody's memory becomes an empty text by that."""
    store = open_store()
    store.put(ns, "k", record("k"))
    path = store.path_of(ns, "k")
    text = path.read_text()
    path.write_text("")
    assert store.get(ns, "k") is None
    assert "is empty" in store.unreadable()[path]
    path.write_text(text.replace("green", "black"))
    assert store.get(ns, "k").value["text"] == "Ann likes black tea."
    assert store.unreadable() == {}
