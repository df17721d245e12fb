"""Token bits beside the vectors: kept with what is written, handed out with what is found, gone with what is erased."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import PutOp, SearchOp

from langmem_plus import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.errors import StoreError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.recall.items import read_item
from langmem_plus.recall.overlap import spoken
from langmem_plus.records import Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import bits, bits_backfill, connection, indexing
from langmem_plus.store.refused import text_hash
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

Opens = Callable[..., MarkdownStore]


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch, encoder: TokenEncoder) -> TokenEncoder:
    """The encoder stands for the local model's, wherever a store looks for it."""

    def make(config: MemoryConfig) -> TokenEncoder | None:
        return None if config.rerank_bits == "none" else encoder

    monkeypatch.setattr(indexing, "make_token_encoder", make)
    return encoder


@pytest.fixture
def open_local(open_store: Any, local: TokenEncoder, monkeypatch: pytest.MonkeyPatch, root: Path) -> Opens:
    """Opens a store whose embedder is the local model."""
    model: Any = local.embeddings
    monkeypatch.setattr(indexing, "make_embeddings", lambda spec, config: model)

    def opened(**settings: Any) -> MarkdownStore:
        return MarkdownStore(root, config=MemoryConfig(sync_interval=0, **settings))

    return opened


def bits_of(store: MarkdownStore, ns: tuple[str, ...], query: str) -> dict[str, TextBits | None]:
    """What a recall's search hands out."""
    (found,) = store.batch([store.exactly(SearchOp(ns, query=query))])
    return {item.key: item.bits for item in found}  # type: ignore[union-attr]


def kept(root: Path) -> int:
    """The rows of all tables."""
    count = 0
    for file in (root / ".vectors").glob("*.db"):
        db = sqlite3.connect(file)
        count += db.execute("SELECT count(*) FROM bits").fetchone()[0]
        db.close()
    return count


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


def test_one_pass_a_text(open_local: Opens, local: TokenEncoder, letters: Any, ns: tuple[str, ...]) -> None:
    """What is put is read once, for its vector and its bits; a search reads its question alone."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon. rex."})
        assert letters.read == ["lyon. rex."]
        found = bits_of(store, ns, "rex")["a"]
        assert letters.read == ["lyon. rex.", "rex"]
    expected = local.read(["lyon. rex."])[0]
    assert found is not None
    assert np.array_equal(found.tokens, expected.tokens)
    assert np.array_equal(found.sentences, expected.sentences)


def test_bits_outlive_the_process_and_the_index(
    open_local: Opens, letters: Any, ns: tuple[str, ...], root: Path
) -> None:
    """They stand beside the vectors, so that nothing is read again."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon"})
        store.put(ns, "b", {"text": "lynx"})
    for file in (root / ".index").iterdir():
        file.unlink()
    letters.read.clear()
    with open_local() as store:
        assert None not in bits_of(store, ns, "ly").values()
        assert {item.bits for item in store.search(ns, query="ly")} == {None}  # nobody else pays for them
    assert letters.read == ["ly"]


def test_an_item_with_several_texts_has_the_bits_of_all(open_local: Opens, ns: tuple[str, ...]) -> None:
    """Those of its text and of its content; where one has none, it has none."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyn", "content": "rex"})
        found = bits_of(store, ns, "rex")["a"]
        assert found is not None
        assert (len(found.tokens), len(found.sentences)) == (5, 2)


def test_without_bits_none_are_kept(open_local: Opens, letters: Any, ns: tuple[str, ...], root: Path) -> None:
    """A setting goes without."""
    letters.embed_documents = lambda texts: [letters.embed_query(text) for text in texts]
    with open_local(rerank_bits="none") as store:
        store.put(ns, "a", {"text": "lyon"})
        assert bits_of(store, ns, "lyon") == {"a": None}
    assert kept(root) == 0


def test_another_embedder_gets_them_late(
    open_store: Any, local: TokenEncoder, letters: Any, ns: tuple[str, ...], root: Path
) -> None:
    """Nothing is read for a store that nobody recalls from; the first recall's are kept, and the rest is made in the
    background.
    """
    store = open_store(BagOfWordsEmbeddings())
    store.batch([PutOp(ns, f"k{n}", {"text": f"tea {n}"}) for n in range(100)])
    assert set(bits_of(store, ns, "tea").values()) == {None}
    assert letters.read == []
    store.set_bits(ns, dict(zip(["tea 1", "tea 2"], local.read(["tea 1", "tea 2"]), strict=True)))
    until(lambda: kept(root) == 100)
    assert None not in bits_of(store, ns, "tea").values()
    until(lambda: not store._engine.bits_backfill.is_running)
    assert len(letters.read) == 100


def test_bits_of_what_is_gone_are_not_kept(
    open_store: Any, local: TokenEncoder, ns: tuple[str, ...], root: Path
) -> None:
    """A recall may come back with them after an erasure."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(ns, "a", {"text": "lyon"})
    read = dict(zip(["lyon", "rex"], local.read(["lyon", "rex"]), strict=True))
    store.erase(ns)
    store.set_bits(ns, read)
    assert kept(root) == 0
    store.put(ns, "a", {"text": "rex"})
    store.set_bits(ns, read)
    assert kept(root) == 1


def test_an_erasure_takes_the_bits(open_local: Opens, ns: tuple[str, ...], root: Path) -> None:
    """Those of the erased texts, and no others."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon"})
        store.put(ns, "b", {"text": "rex"})
        bits_of(store, ns, "rex")
        store.erase(ns, lambda held: Erasure(keys=frozenset({"a"})))
        assert kept(root) == 1
        assert len(store._engine.room(ns).use(lambda index: [*index.bits._recent])) <= 1
        assert bits_of(store, ns, "rex")["b"] is not None


def test_a_recall_keeps_what_it_read(root: Path) -> None:
    """With the real model: the second recall, in another process's stead, reads its question alone."""
    from langmem_plus.providers.token_bits import local_token_encoder

    real = local_token_encoder()
    if real is None:
        pytest.skip("the packaged model isn't installed")
    embedder = BagOfWordsEmbeddings()
    index: Any = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]}
    config = MemoryConfig(embed_in_background=False)
    with MarkdownStore(root, index=index, config=config) as store, MemoryClient(store, config=config) as client:
        client.add("My cousin lives in Lyon.", user_id="ann")
        assert client.search("Where does my cousin live?", user_id="ann")
        before = kept(root)
        assert before >= 1
    with MarkdownStore(root, index=index, config=config) as store:
        assert any(bits is not None for bits in bits_of(store, ("memories", "ann", "default"), "cousin").values())


def test_bits_that_were_read_lately_are_remembered(
    open_local: Opens, local: TokenEncoder, ns: tuple[str, ...], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of so many items; an item that is written anew has those of its new text."""
    with open_local() as store:
        for key in ("a", "b"):
            store.put(ns, key, {"text": f"lyon {key}"})
        assert None not in bits_of(store, ns, "lyon").values()
        (file,) = (root / ".vectors").glob("*.db")
        db = sqlite3.connect(file)
        with db:
            db.execute("DELETE FROM bits")
        db.close()
        assert None not in bits_of(store, ns, "lyon").values()
        store.put(ns, "a", {"text": "lyon"})
        found = bits_of(store, ns, "lyon")
        assert found["a"] is not None
        assert np.array_equal(found["a"].tokens, local.read(["lyon"])[0].tokens)
        monkeypatch.setattr(bits, "_KEPT_ITEMS", 0)
        bits_of(store, ns, "lyon")
        assert bits_of(store, ns, "lyon")["b"] is None


@pytest.mark.parametrize("broken", ["substr(bits, 1, length(bits) - 5)", "x''", "x'01'", "'text'", "7", "x'ffff'"])
def test_a_broken_row_is_as_good_as_none(open_local: Opens, ns: tuple[str, ...], root: Path, broken: str) -> None:
    """It is made again at the next recall that needs it."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon"})
        (file,) = (root / ".vectors").glob("*.db")
        db = sqlite3.connect(file)
        with db:
            db.execute(f"UPDATE bits SET bits={broken}")
        db.close()
        assert bits_of(store, ns, "lyon") == {"a": None}
        store.set_bits(ns, {"lyon": TextBits(np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.uint8))})
        assert bits_of(store, ns, "lyon")["a"] is not None


def test_an_item_with_many_texts_gets_all_its_bits(
    open_store: Any, local: TokenEncoder, ns: tuple[str, ...], root: Path
) -> None:
    """In batches, however many there are."""
    store = open_store(BagOfWordsEmbeddings())
    store.put(ns, "many", {"said": [f"tea {n}" for n in range(150)]}, index=["said[*]"])
    store.set_bits(ns, dict(zip(["tea 1"], local.read(["tea 1"]), strict=True)))
    until(lambda: kept(root) == 150)


def test_what_was_embedded_too_late_leaves_nothing(open_store: Any, ns: tuple[str, ...], root: Path) -> None:
    """A vector that arrives after its text was erased isn't kept."""
    store = open_store(BagOfWordsEmbeddings(), embed_in_background=False)
    store.put(ns, "a", {"text": "lyon"})
    room = store._engine.rooms.get(ns)
    store.erase(ns, lambda held: Erasure(keys=frozenset({"a"})))
    store.put(ns, "b", {"text": "rex"})
    room.put_vectors({"lyon": np.ones(256, np.float32)})
    (file,) = (root / ".vectors").glob("*.db")
    db = sqlite3.connect(file)
    assert db.execute("SELECT count(*) FROM vectors").fetchone() == (1,)
    db.close()


@pytest.mark.parametrize(
    "other",
    [
        "DROP TABLE bits; CREATE TABLE bits(hash, bits)",
        "DROP TABLE bits; CREATE INDEX bits ON vectors(hash)",
        "DROP TABLE bits; CREATE VIEW bits AS SELECT * FROM vectors",
        "DROP TABLE bits",
    ],
)
def test_what_is_no_table_of_bits_makes_room_for_one(
    open_local: Opens, ns: tuple[str, ...], root: Path, other: str
) -> None:
    """Bits are derived; the vectors beside them stay."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon"})
    (file,) = (root / ".vectors").glob("*.db")
    db = sqlite3.connect(file)
    db.executescript(other)
    db.close()
    with open_local() as store:
        assert bits_of(store, ns, "lyon") == {"a": None}
        store.put(ns, "b", {"text": "rex"})
        assert bits_of(store, ns, "rex")["b"] is not None
    assert kept(root) == 1


def test_a_recall_waits_for_no_other_writer(
    open_store: Any, local: TokenEncoder, ns: tuple[str, ...], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it read is kept in the background then, once nobody else writes."""
    monkeypatch.setattr(connection, "_HINT_SECONDS", 0.0)
    monkeypatch.setattr(bits_backfill, "_OTHERS_SECONDS", 0.05)
    store = open_store(BagOfWordsEmbeddings())
    store.batch([PutOp(ns, f"k{n}", {"text": f"tea {n}"}) for n in range(3)])
    (file,) = (root / ".vectors").glob("*.db")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.set_bits(ns, dict(zip(["tea 1"], local.read(["tea 1"]), strict=True)))
    assert [item.key for item in store.search(ns, query="tea 1", limit=1)] == ["k1"]
    assert kept(root) == 0
    other.execute("ROLLBACK")
    other.close()
    until(lambda: kept(root) == 3)


def test_bits_of_what_is_indexed_are_made_where_something_else_was_read(
    open_store: Any, local: TokenEncoder, letters: Any, ns: tuple[str, ...], root: Path
) -> None:
    """A recall reads a text with its speaker's name, and the store's own fields leave that out. Once all is there,
    nobody looks again until something is written.
    """
    store = open_store(BagOfWordsEmbeddings())
    for n in range(3):
        store.put(ns, f"k{n}", {"text": f"tea {n}", "metadata": {"name": "Ann"}})
    said = dict(zip(["Ann: tea 1"], local.read(["Ann: tea 1"]), strict=True))
    backfill = store._engine.bits_backfill
    store.set_bits(ns, said)
    until(lambda: kept(root) == 3 and not backfill.is_running)
    assert sorted(letters.read) == ["Ann: tea 1", "tea 0", "tea 1", "tea 2"]
    store.set_bits(ns, said)
    assert not backfill.is_running
    store.put(ns, "k3", {"text": "tea 3"})
    store.set_bits(ns, said)
    until(lambda: kept(root) == 4)


def test_a_namespace_that_cannot_be_read_holds_up_no_other(
    open_store: Any, local: TokenEncoder, letters: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model fails on what stands in one of them."""
    store, bad, good = open_store(BagOfWordsEmbeddings()), ("memories", "a"), ("memories", "b")
    store.batch([PutOp(bad, "k", {"text": "rex"}), PutOp(good, "k", {"text": "lyon"})])
    other, read = local.read(["tea"]), local.read

    def fails(texts: list[str]) -> list[TextBits]:
        if "rex" in texts:
            raise RuntimeError("the model fails")
        return read(texts)

    monkeypatch.setattr(local, "read", fails)
    for space in (bad, good):
        store.set_bits(space, {"tea": other[0]})
    until(lambda: kept(root) == 1 and not store._engine.bits_backfill.is_running)
    assert store._engine.bits_backfill._todo == {}


_SIGNS = "lyn LYN.\n:äß茶🙂\ud800\0"


def test_kept_bits_are_those_that_a_recall_would_make(
    open_local: Opens, local: TokenEncoder, ns: tuple[str, ...]
) -> None:
    """Whatever the text, its speaker and its length, and whatever else was read with it."""
    texts = [*_SIGNS, _SIGNS, _SIGNS * 40, "y" * 9_000, " " * 9_000 + "lyn", "lyn. " * 200]
    values = [{"text": text, "metadata": {"name": name}} for text in texts for name in (None, " Ann ")]
    fresh, read = TokenEncoder(local.embeddings, local.table), 0
    with open_local() as store:
        store.batch([PutOp(ns, f"k{n}", value) for n, value in enumerate(values)])
        (found,) = store.batch([store.exactly(SearchOp(ns, query="lyn", limit=len(values)))])
        for item in found:
            record = read_item(item, Scope("ann"))
            if record is None:
                continue  # nothing is said in it
            expected, read = fresh.read([spoken(record)])[0], read + 1
            assert item.bits.to_bytes() == expected.to_bytes(), item.value
    assert read > len(texts)


def test_an_erasure_leaves_no_bytes_of_bits_and_vectors(open_local: Opens, ns: tuple[str, ...], root: Path) -> None:
    """In no file, no log and no free page, also where another store has the namespace open."""
    gone, stays = "my secret boat is called Zanzibarquux", "rex lives in lyon. " * 9
    with open_local() as store, open_local() as other:
        store.put(ns, "a", {"text": gone})
        store.put(ns, "b", {"text": stays})
        assert None not in bits_of(other, ns, "boat").values()
        (vector,) = (item.vector for item in store.search(ns, query="boat") if item.key == "a")
        (found,) = (each for key, each in bits_of(store, ns, "boat").items() if key == "a")
        marks = [found.to_bytes(), vector.tobytes(), text_hash(gone)]
        assert all(any(mark in held for held in contents(root)) for mark in marks)
        receipt = store.erase(ns, lambda held: Erasure(keys=frozenset({"a"})))
        other.set_bits(ns, {gone: found})
        assert [mark for mark in marks for held in contents(root) if mark in held] == []
        assert list(bits_of(other, ns, "rex")) == ["b"]
    assert receipt.removed["token bits"] == 1
    assert [mark for mark in marks for held in contents(root) if mark in held] == []


def contents(root: Path) -> list[bytes]:
    """Of all files."""
    return [file.read_bytes() for file in root.rglob("*") if file.is_file()]


def test_a_read_only_file_system_hands_out_what_is_kept(
    open_local: Opens, letters: Any, ns: tuple[str, ...], root: Path, disk: Path
) -> None:
    """Vectors and bits that stand in the log alone, too; nothing is read again, and nothing can be written."""
    with open_local() as store:
        store.put(ns, "a", {"text": "lyon"})
        assert bits_of(store, ns, "ly")["a"] is not None
        shutil.copytree(root, disk / "memory")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    letters.read.clear()
    with MarkdownStore(disk / "memory", config=MemoryConfig(sync_interval=0)) as store:
        assert bits_of(store, ns, "lyn")["a"] is not None
        assert [getattr(item, "vector", None) is not None for item in store.search(ns, query="lyn")] == [True]
        with pytest.raises(StoreError, match="make its folder writable"):
            store.put(ns, "b", {"text": "rex"})
    assert letters.read == ["lyn", "rex"]
