"""A real model server, started from what ``LIVE_SERVER`` and ``LIVE_MODEL`` name, or found at ``LIVE_URL``; see
README.md."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore

SERVER, MODEL, URL = (os.environ.get(name, "") for name in ("LIVE_SERVER", "LIVE_MODEL", "LIVE_URL"))
NAME = os.environ.get("LIVE_NAME", "local")
STARTING = 120.0  # seconds that a server has to load its model
PATIENCE = 240.0  # seconds for the work after a reply, on a machine that is busy
ANSWER = 200  # tokens, at most, of an answer: a small model repeats itself without end
HOW = "set LIVE_SERVER (a llama-server) and LIVE_MODEL (a GGUF file), or LIVE_URL; see tests/live/README.md"


class LiveServer:
    """A model server of OpenAI's protocol.

    Args:
        log: where a server that is started here writes to; None for one that runs already.
        options: further command-line options.
    """

    def __init__(self, log: Path | None = None, *options: str) -> None:
        self._log, self._options = log, options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    name = NAME

    @property
    def url(self) -> str:
        """Its address, as OpenAI's SDK takes it."""
        return URL if self._log is None else f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> LiveServer:
        """Start it, again on the same port, and wait until its model is loaded."""
        assert self._log is not None
        address = ["--host", "127.0.0.1", "--port", str(self._port)]
        settings = ["-c", "8192", "-np", "2", "-t", "1", "--jinja", *self._options]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([SERVER, "-m", MODEL, *address, *settings], stdout=log, stderr=log)
        until = time.monotonic() + STARTING
        while self.get("/health") is None:
            assert self._process.poll() is None, f"the server ended: {self._log.read_text(errors='replace')[-2000:]}"
            assert time.monotonic() < until, "the server doesn't get ready"
            time.sleep(0.1)
        return self

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def get(self, path: str) -> Any:
        """What it answers to a GET; None where there is no answer yet."""
        try:
            with urllib.request.urlopen(self.url.removesuffix("/v1") + path, timeout=10) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def busy(self) -> int:
        """How many requests it is working on."""
        return sum(bool(slot["is_processing"]) for slot in self.get("/slots") or [])

    def wait_until_busy(self) -> None:
        """Wait until it works on a request."""
        until = time.monotonic() + STARTING
        while not self.busy():
            assert time.monotonic() < until, "no request came"
            time.sleep(0.01)

    def chat(self, **settings: Any) -> BaseChatModel:
        """A chat model that asks it; each call of this makes another one."""
        from langchain_openai import ChatOpenAI
        from openai import DefaultAsyncHttpxClient

        # LangChain's models share one async client, which belongs to the loop, and so to the test, that used it first.
        settings.setdefault("http_async_client", DefaultAsyncHttpxClient())
        known = {"temperature": 0, "max_tokens": ANSWER, "timeout": PATIENCE, "max_retries": 0, "stream_usage": False}
        return ChatOpenAI(model=self.name, base_url=self.url, api_key="none", **{**known, **settings})


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The server that tests share and leave as it is."""
    if URL:
        yield LiveServer()
        return
    _need_a_server()
    shared = LiveServer(tmp_path_factory.mktemp("server") / "log")
    try:
        yield shared.start()
    finally:
        shared.kill()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., LiveServer]]:
    """Starts servers of a test's own, with further command-line options, which it may kill."""
    _need_a_server()
    started: list[LiveServer] = []

    def start(*options: str) -> LiveServer:
        started.append(LiveServer(tmp_path / f"server{len(started)}.log", *options))
        return started[-1].start()

    yield start
    for each in started:
        each.kill()


def _need_a_server() -> None:
    if not (SERVER and MODEL):
        pytest.skip(f"needs a model server that it may start and kill: {HOW}" if URL else HOW)
    for name, path in (("LIVE_SERVER", SERVER), ("LIVE_MODEL", MODEL)):
        assert Path(path).is_file(), f"{name}={path} is no file"


@pytest.fixture
def config() -> MemoryConfig:
    """Settings without an embedder, and with failures that are tried again at once."""
    return MemoryConfig(embeddings="none", retry_seconds=0.0, retries=1, answer_seconds=PATIENCE)


@pytest.fixture
def store(tmp_path: Path, config: MemoryConfig) -> Iterator[MarkdownStore]:
    """A fresh store in files."""
    with MarkdownStore(tmp_path / "memories", config=config) as opened:
        yield opened
        assert background.flush(PATIENCE)


@pytest.fixture
def records() -> Callable[..., list[MemoryRecord]]:
    """The records in a store as they are now, of one role where it is named."""

    def read(store: MarkdownStore, role: str | None = None) -> list[MemoryRecord]:
        found = [MemoryRecord.model_validate(item.value) for item in store.search(("memories",), limit=10_000)]
        return [record for record in found if role is None or record.role == role]

    return read
