"""Where vectors stand: in Chroma by default, in any vector store that is given, in memory where that isn't there."""

from __future__ import annotations

import builtins
import logging
import os
import subprocess
import sys
import threading

import pytest
from filelock import FileLock
from langchain_core.vectorstores import InMemoryVectorStore

from langmem_plus.providers.steps import step_down
from langmem_plus.records import Scope
from langmem_plus.testing import BagOfWordsEmbeddings

CHROMA = {"dense_index": "auto"}


@pytest.fixture(autouse=True)
def texts(write) -> None:
    """Two documents."""
    write("a.md", "alpha beta")
    write("b.md", "gamma delta")


class TestChroma:
    def test_the_default(self, open_index, embedder) -> None:
        """langchain_chroma's class, kept in the index's folder: a second process's work is none."""
        from langchain_chroma import Chroma

        first = open_index(settings=CHROMA)
        assert first.sync().embedded == 2
        assert isinstance(first.vectorstore, Chroma)
        assert [hit.text for hit in first.search("alpha")] == ["alpha beta"]
        assert first.search("alpha")[0].scores["cosine"] == pytest.approx(0.707, abs=0.01)
        first.close()
        embedder.texts.clear()
        second = open_index(settings=CHROMA)
        assert second.sync().embedded == 0
        assert embedder.texts == []
        assert [hit.text for hit in second.search("gamma")] == ["gamma delta"]
        second.close()

    def test_a_broken_folder(self, open_index, embedder) -> None:
        """It is filled again from vectors that were paid for."""
        from langchain_chroma import Chroma

        index = open_index(settings=CHROMA)
        index.sync()
        index.close()
        embedder.texts.clear()
        for path in index.path.glob("chroma-*/**/*"):
            if path.is_file():
                path.write_bytes(b"broken")
        again = open_index(settings=CHROMA)
        assert again.sync().embedded == 2
        assert embedder.texts == []
        assert [hit.text for hit in again.search("gamma")] == ["gamma delta"]
        again.close()
        assert not (index.path / "chroma.open").exists()
        assert isinstance(again.vectorstore, Chroma)

    def test_a_crash(self, open_index, embedder) -> None:
        """A folder that wasn't closed isn't trusted: it could take this process down."""
        first = open_index(settings=CHROMA)
        first.sync()
        first.close()
        (first.path / "chroma.open").touch()
        (database,) = first.path.glob("chroma-*/chroma.sqlite3")
        database.write_bytes(b"")
        embedder.texts.clear()
        second = open_index(settings=CHROMA)
        assert (second.sync().embedded, embedder.texts) == (2, [])

    def test_in_use_elsewhere(self, open_index, config, embedder) -> None:
        """Chroma isn't opened by two: who comes second searches a copy in memory, and pays for nothing."""
        first = open_index()
        first.sync()
        embedder.texts.clear()
        with FileLock(first.path / "chroma.lock"):
            second = open_index(settings=CHROMA)
            assert isinstance(second.vectorstore, InMemoryVectorStore)
            assert second.sync().embedded == 2
            assert [hit.text for hit in second.search("gamma")] == ["gamma delta"]
        assert embedder.texts == []

    def test_without_the_package(self, open_index, monkeypatch, caplog) -> None:
        """One warning names what to install, and vectors are searched in memory."""
        real = builtins.__import__

        def missing(name, *rest):
            if name.startswith("langchain_chroma"):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", missing)
        step_down.cache_clear()
        with caplog.at_level(logging.WARNING):
            assert isinstance(open_index(settings=CHROMA).vectorstore, InMemoryVectorStore)
            assert isinstance(open_index(settings=CHROMA).vectorstore, InMemoryVectorStore)
        assert caplog.text.count("langmem-plus[chroma]") == 1


class Forgetful(InMemoryVectorStore):
    """A vector store that can't tell what it holds."""

    def get_by_ids(self, ids):
        """It can't."""
        raise NotImplementedError


class TestGiven:
    def test_any_vector_store(self, open_index, write, folder) -> None:
        """It is filled, searched, and kept up; texts of others in it are neither found nor removed."""
        given = InMemoryVectorStore(BagOfWordsEmbeddings())
        given.add_texts([f"alpha {number}" for number in range(20)], ids=[f"theirs{number}" for number in range(20)])
        index = open_index(vectorstore=given)
        assert index.vectorstore is given
        assert index.sync().embedded == 2
        (hit,) = index.search("alpha")
        assert hit.text == "alpha beta"
        assert "cosine" not in hit.scores
        (folder / "a.md").unlink()
        index.sync()
        assert index.search("alpha") == []
        assert len(given.store) == 21

    @pytest.mark.parametrize(("kind", "embedded"), [(InMemoryVectorStore, 2), (Forgetful, 0)])
    def test_a_new_one_is_filled(self, open_index, kind, embedded) -> None:
        """One that lost everything is filled again, where it can tell that it did."""
        open_index(vectorstore=InMemoryVectorStore(BagOfWordsEmbeddings())).sync()
        assert open_index(vectorstore=kind(BagOfWordsEmbeddings())).sync().embedded == embedded

    def test_what_was_removed_meanwhile(self, open_index, folder) -> None:
        """What another index put into a vector store goes out of it when its document has gone."""
        given = InMemoryVectorStore(BagOfWordsEmbeddings())
        first = open_index(vectorstore=given)
        first.sync()
        first.close()
        (folder / "a.md").unlink()
        words_alone = open_index(embeddings="none")
        words_alone.sync()
        open_index(vectorstore=given).sync()
        assert [found["text"] for found in given.store.values()] == ["gamma delta"]


class TestFailures:
    def test_an_embedder_that_is_down(self, open_index, write, embedder, caplog) -> None:
        """Documents are found by their words; once it is back, the rest is embedded."""
        index = open_index(settings={"embed_pause_seconds": 0.01, "embed_failures": 2})
        embedder.fails_at = lambda text: True
        report = index.sync()
        assert (report.embedded, report.waiting) == (0, 2)
        assert "the embedder is down" in report.warnings[0]
        assert [hit.text for hit in index.search("gamma")] == ["gamma delta"]
        embedder.fails_at = lambda text: False
        threading.Event().wait(0.05)
        report = index.sync()
        assert (report.waiting, report.warnings) == (0, [])
        assert sorted(embedder.texts) == ["alpha beta", "gamma delta"]

    def test_one_text_that_is_refused(self, index, write, embedder, caplog) -> None:
        """It takes no other with it, and is found by its words."""
        embedder.fails_at = lambda text: "poison" in text
        write("c.md", "poison words")
        report = index.sync()
        assert (report.embedded, report.waiting, report.warnings) == (2, 0, [])
        assert "can't be embedded" in caplog.text
        embedder.fails_at = lambda text: False
        assert [hit.text for hit in index.search("poison")] == ["poison words"]

    def test_a_query_that_fails(self, index, embedder) -> None:
        """The search goes by words alone, and the recall is told."""
        index.sync()
        embedder.fails_at = lambda text: True
        hits, warnings = index.find(Scope("alice"), "gamma", 5)
        assert [hit.text for hit in hits] == ["gamma delta"]
        assert "by words alone" in warnings[0]

    def test_strict(self, open_index, embedder) -> None:
        """With ``strict`` on, it raises."""
        embedder.fails_at = lambda text: True
        with pytest.raises(ConnectionError):
            open_index(settings={"strict": True}).sync()


def test_the_background(open_index, write, embedder) -> None:
    """A search waits for no embedding: what is new is embedded behind it, and found by meaning then."""
    index = open_index()
    index.search("alpha")
    thread = index._engine._open_parts.thread
    assert thread is not None
    thread.join()
    assert sorted(embedder.texts) == ["alpha beta", "gamma delta"]
    index.close()
    eager = open_index(settings={"embed_in_background": False}, path=index.path.parent / "other")
    eager.search("alpha")
    assert len(embedder.texts) == 4


def test_a_search_waits_for_no_embedding(open_index, write, embedder) -> None:
    """While the embedder is at work, or hangs, what is new is found by its words."""
    index = open_index()
    index.sync()
    begun, ended = threading.Event(), threading.Event()

    def hangs(text: str) -> bool:
        if text == "epsilon zeta":
            begun.set()
            ended.wait(20)
        return False

    embedder.fails_at = hangs
    write("c.md", "epsilon zeta")
    assert [hit.text for hit in index.search("epsilon")] == ["epsilon zeta"]
    assert begun.wait(10)
    assert [hit.text for hit in index.search("gamma")] == ["gamma delta"]
    assert not ended.is_set()
    ended.set()


def test_a_search_reads_for_so_long(open_index, write) -> None:
    """What takes longer than ``document_seconds`` is read behind it, and the recall is told."""
    index = open_index(settings={"document_seconds": 0})
    hits, warnings = index.find(Scope("alice"), "alpha", 5)
    assert (hits, "document_seconds" in warnings[0]) == ([], True)
    thread = index._engine._open_parts.thread
    assert thread is not None
    thread.join()
    hits, warnings = index.find(Scope("alice"), "alpha", 5)
    assert (hits[0].text, warnings) == ("alpha beta", [])


FORK = """
import os, sys
from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.testing import BagOfWordsEmbeddings
folder, memory = sys.argv[1:]
config = MemoryConfig(memory_path=memory, sync_interval=0, rerank_bits="none", embeddings="none")
index = DocumentIndex(folder, config=config, embeddings=BagOfWordsEmbeddings())
index.sync()
child = os.fork()
if not child:
    found = [hit.text for hit in index.search("alpha")]
    index.close()
    os._exit(0 if found == ["alpha beta"] else 1)
assert os.waitpid(child, 0)[1] == 0
assert [hit.text for hit in index.search("alpha")] == ["alpha beta"]
print(type(index.vectorstore).__name__)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child(folder, config) -> None:
    """It searches a copy in memory, ends in peace, and leaves Chroma to its parent."""
    command = [sys.executable, "-c", FORK, str(folder), str(config.memory_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Chroma"


def test_long_texts_and_token_bits(open_index, write, encoder, letters, monkeypatch) -> None:
    """The reranker's token bits are made with the vectors, once, and cover long chunks to their end."""
    write("long.md", "Some words stand here. " * 100)
    index = open_index()
    index._engine._encoder = encoder
    index.sync()
    read = len(letters.read)
    assert read > 3
    hits, _ = index.find(Scope("alice"), "words", 5)
    assert all(hit.bits is not None and len(hit.bits.tokens) > 0 for hit in hits)
    assert len(letters.read) == read
    for broken in (b"\x01", b"\xff\xff", 7):  # somebody else wrote there: as good as none
        index._engine.catalog.keep_bits(encoder.model_id, dict.fromkeys(index._engine.catalog.keys(), broken))
        assert [hit.bits for hit in index.find(Scope("alice"), "words", 5)[0]] == [None] * len(hits)


WORKER = """
import sys
from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.testing import BagOfWordsEmbeddings
folder, memory, word = sys.argv[1:]
config = MemoryConfig(memory_path=memory, dense_index="exact", sync_interval=0, rerank_bits="none", embeddings="none")
with DocumentIndex(folder, config=config, embeddings=BagOfWordsEmbeddings()) as index:
    for number in range(4):
        open(f"{folder}/{word}{number}.md", "w").write(f"{word} {number}")
        index.sync()
        assert index.search(f"{word} {number}"), number
"""


def test_two_processes(open_index, folder, config) -> None:
    """Both write and sync one folder at a time: in the end everything is known once, and nothing is broken."""
    command = [sys.executable, "-c", WORKER, str(folder), str(config.memory_path)]
    running = [subprocess.Popen([*command, word], stderr=subprocess.PIPE, text=True) for word in ("epsilon", "zeta")]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    index = open_index()
    report = index.sync()
    assert (report.added, report.changed, report.removed, report.unchanged) == ([], [], [], 10)
    assert report.chunks == 10
    assert len(index._engine.catalog.keys()) == 10


def test_the_watcher(open_index, write) -> None:
    """Edits are taken over at once, without a search."""
    pytest.importorskip("watchfiles")
    index = open_index(watch=True, settings={"sync_interval": 3600})
    assert index._watcher is not None
    index._watcher.ready.wait(10)
    seen = threading.Event()
    real = index._engine.catalog.take

    def take(change):
        real(change)
        if change.path == "new.md":
            seen.set()

    index._engine.catalog.take = take
    write("new.md", "epsilon")
    assert seen.wait(10)
    index.close()
    assert not index._watcher._thread.is_alive()
