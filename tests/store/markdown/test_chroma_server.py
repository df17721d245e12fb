"""A Chroma server instead of an embedded one: several processes may use it at a time."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.errors import ConfigError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import approximate
from langmem_plus.store.markdown.chroma import Collection, chroma_folder, drop_collections
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

pytest.importorskip("langchain_chroma")

NAMESPACE = ("memories", "ann", "default")


class Server:
    """A server on loopback, which can be stopped and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("chroma", path=str(Path(sys.executable).parent)) or shutil.which("chroma")
        if program is None:
            pytest.skip("there is no program chroma")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
        self._folder, self.url = folder, f"http://127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, cwd=self._folder, **quiet)
        for _ in range(150):
            try:
                urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=2).close()
                return
            except OSError:
                time.sleep(0.2)
        pytest.skip("the server doesn't start here")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs."""
    made = Server(tmp_path_factory.mktemp("server"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def server(served: Server) -> str:
    """Its address."""
    return served.url


def opened(root: Path, url: str, **settings: Any) -> MarkdownStore:
    """A store whose collections are on the server."""
    index: Any = {"dims": 256, "embed": BagOfWordsEmbeddings(), "fields": ["text"]}
    config = MemoryConfig(dense_index="chroma", chroma_url=url, **settings)
    return MarkdownStore(root, index=index, config=config)


def until_ready(store: MarkdownStore) -> None:
    """Search until the server answers."""
    for _ in range(2000):
        store.search(NAMESPACE, query="tea")
        if store._engine.approximate.is_ready(NAMESPACE):
            return
        time.sleep(0.01)
    raise AssertionError("it never was ready")


def test_two_stores_use_one_collection(server: str, tmp_path: Path) -> None:
    """Both are answered by it, nothing lies in the folder, and it can be dropped."""
    with opened(tmp_path, server) as one, opened(tmp_path, server) as other:
        one.batch([PutOp(NAMESPACE, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
        for store in (one, other):
            until_ready(store)
            assert store.search(NAMESPACE, query="tea number17", limit=1)[0].key == "k17"
        assert not chroma_folder(one._layout, NAMESPACE).exists()
        assert one.as_vectorstore(NAMESPACE).similarity_search("tea number5", k=1)[0].metadata["key"] == "k5"
        (gone,) = drop_collections(one._layout, NAMESPACE, server)
        assert gone.startswith(server)
        assert other.search(NAMESPACE, query="tea number17", limit=1)[0].key == "k17"
        until_ready(other)


def test_a_server_that_is_away_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The exact search answers; what can't be dropped there is told."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with opened(tmp_path, url) as store:
            store.put(NAMESPACE, "k", {"text": "green tea"})
            for _ in range(3):
                assert store.search(NAMESPACE, query="tea")[0].key == "k"
            for _ in range(2000):
                if "filled again" in caplog.text:
                    break
                time.sleep(0.01)
            assert store.search(NAMESPACE, query="tea")[0].key == "k"
            assert sum("filled again" in told.message for told in caplog.records) == 1
            with pytest.raises(OSError, match="can't be reached"):
                drop_collections(store._layout, NAMESPACE, url)


def test_an_address_that_is_none_is_told(tmp_path: Path) -> None:
    """With what one looks like."""
    with opened(tmp_path, "http://") as store:
        store.put(NAMESPACE, "k", {"text": "green tea"})
        with pytest.raises(ConfigError, match="http://host:port"):
            store.as_vectorstore(NAMESPACE)


def test_a_server_that_stops_and_comes_back(served: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While it is away the exact search answers, with one warning; then it is filled up and answers again."""
    with opened(tmp_path, served.url, sync_interval=0) as store:
        store.batch([PutOp(NAMESPACE, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
        until_ready(store)
        served.stop()
        try:
            for n in range(3):
                assert store.search(NAMESPACE, query="tea number17", limit=1)[0].key == "k17"
                store.put(NAMESPACE, f"new{n}", {"text": f"coffee number{n}"})
            assert not store._engine.approximate.is_ready(NAMESPACE)
            receipt = store.erase(NAMESPACE, lambda held: Erasure(frozenset({"k3"})))
            assert any("start it" in words for words in receipt.unreached)
        finally:
            served.start()
        assert sum("filled again" in told.message for told in caplog.records) == 1
        store._engine.approximate._states[NAMESPACE].rest_until = 0.0  # as if the pause were over
        until_ready(store)
        collection = store._engine.approximate._states[NAMESPACE].collection
        assert collection is not None
        assert len(collection.chunks) == collection._collection.count() == 32
        assert store.search(NAMESPACE, query="coffee number2", limit=1)[0].key == "new2"


def test_a_server_that_stops_while_it_is_filled(
    served: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost: what is missing is put in afterwards."""
    monkeypatch.setattr(approximate, "_BATCH", 5)
    put, count = Collection.put, []

    def counted(self: Collection, chunks: Any) -> None:
        count.append(len(chunks))
        if len(count) == 3:
            served.stop()
        put(self, chunks)

    monkeypatch.setattr(Collection, "put", counted)
    with opened(tmp_path, served.url) as store:
        store.batch([PutOp(NAMESPACE, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
        for _ in range(2000):
            assert store.search(NAMESPACE, query="tea number17", limit=1)[0].key == "k17"
            state = store._engine.approximate._states.get(NAMESPACE)
            if state is not None and state.failures:
                break
            time.sleep(0.01)
        served.start()
        store._engine.approximate._states[NAMESPACE].rest_until = 0.0
        until_ready(store)
        collection = store._engine.approximate._states[NAMESPACE].collection
        assert collection is not None
        assert collection._collection.count() == 30


def test_an_erasure_names_the_servers_own_files(server: str, tmp_path: Path) -> None:
    """The collection goes; what a server's database keeps of it is for who runs it."""
    with opened(tmp_path, server) as store:
        store.batch([PutOp(NAMESPACE, f"k{n}", {"text": f"tea number{n}"}) for n in range(30)])
        until_ready(store)
        receipt = store.erase(NAMESPACE, lambda held: Erasure(frozenset({"k3"})))
        assert receipt.removed["collection"] == 1
        assert [words.split(" ")[3] for words in receipt.unreached] == [f"{server}:"]
        assert "vacuum" in receipt.unreached[0]
        assert "k3" not in [item.key for item in store.search(NAMESPACE, query="tea number3", limit=50)]
