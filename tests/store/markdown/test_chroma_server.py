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
from langmem_plus.errors import ConfigError
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.chroma import chroma_folder, drop_collections
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

pytest.importorskip("langchain_chroma")

NAMESPACE = ("memories", "ann", "default")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on loopback."""
    program = shutil.which("chroma", path=str(Path(sys.executable).parent)) or shutil.which("chroma")
    if program is None:
        pytest.skip("there is no program chroma")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(150):
            try:
                urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=2).close()
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.skip("the server doesn't start here")
        yield url
    finally:
        process.terminate()
        process.wait(20)


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
