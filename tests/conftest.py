"""What all tests share: settings of this machine don't reach them, and generated examples have no deadline."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from langmem_plus.providers.minilm import MAX_TOKENS, TokenVectors
from langmem_plus.providers.token_bits import TokenEncoder, TokenTable

settings.register_profile("langmem_plus", deadline=None, print_blob=True)  # two busy cores: time says nothing
settings.load_profile("langmem_plus")

IN_MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30


def pytest_configure() -> None:
    """Temporary files lie in memory, where the system has room there: what the tests of stores would else wait for is
    the disk (opening and closing a small database takes forty times as long). Setting TMPDIR keeps them elsewhere.
    """
    if "TMPDIR" in os.environ or not hasattr(os, "statvfs") or not os.access(IN_MEMORY, os.W_OK | os.X_OK):
        return
    found = os.statvfs(IN_MEMORY)
    if found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & getattr(os, "ST_NOEXEC", 0):
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees the defaults, whatever stands in the environment of who runs it."""
    for name in os.environ:
        if name.upper().startswith("LANGMEM_PLUS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def run_example(tmp_path: Path) -> Callable[[Path], None]:
    """Runs an example as a reader would, in a fresh interpreter and an empty folder, and compares what it prints with
    what its ``# → …`` comments say; ``…`` stands for anything.
    """

    def run(script: Path) -> None:
        folder = tmp_path / "empty"
        folder.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LANGMEM_PLUS_")}
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for expected in re.findall(r"# → (.+)$", script.read_text(encoding="utf-8"), re.MULTILINE):
            parts = [re.escape(part.strip()) for part in expected.split("…")]
            assert re.search(".*".join(parts), done.stdout, re.DOTALL), done.stdout

    return run


class Letters:
    """A local model whose tokens are a text's letters, each with its own vector; it sees as many as the real one."""

    model_id, dims = "letters", 16

    def __init__(self) -> None:
        self.read: list[str] = []
        self.vectors = np.random.default_rng(0).normal(size=(128, self.dims)).astype(np.float32)

    def read_tokens(self, texts: list[str]) -> list[TokenVectors]:
        """A vector a letter."""
        self.read += texts
        return [self._see(text[: MAX_TOKENS - 2]) for text in texts]

    def _see(self, text: str) -> TokenVectors:
        ids = np.array([min(ord(letter), 127) for letter in text], np.int64)
        places = np.arange(len(text))
        vector = self.vectors[ids].mean(axis=0) if text else np.zeros(self.dims, np.float32)
        return TokenVectors(vector, ids, self.vectors[ids], np.stack([places, places + 1], axis=1))

    def read_query(self, text: str) -> TokenVectors:
        """The same of one text."""
        return self.read_tokens([text])[0]

    def embed_query(self, text: str) -> list[float]:
        """Its vector."""
        vector: list[float] = self.read_query(text).vector.tolist()
        return vector


@pytest.fixture
def make_letters() -> Callable[[], Letters]:
    """Makes local models of letters."""
    return Letters


@pytest.fixture
def letters() -> Letters:
    """A local model of letters."""
    return Letters()


@pytest.fixture
def encoder(letters: Letters) -> TokenEncoder:
    """An encoder over it, for which vowels say nothing."""
    rarity = np.full(128, 5, np.float32)
    rarity[[ord(vowel) for vowel in "aeiou :."]] = 1
    zero = np.zeros(letters.dims, np.float32)
    model: Any = letters
    return TokenEncoder(model, TokenTable(rarity, zero, zero, zero))
