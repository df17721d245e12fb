"""What all tests share: settings of this machine don't reach them, and generated examples have no deadline."""

from __future__ import annotations

import gc
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Modules and tests that are loaded stay to the end: the garbage collector looks for cycles among what tests make
    alone, not through half a million objects each time, and writes to none of those that forked children share.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees the defaults, whatever stands in the environment of who runs it."""
    for name in os.environ:
        if name.upper().startswith("LANGMEM_PLUS_"):
            monkeypatch.delenv(name)


# Loads what examples import of others, none of ours, and runs each in a child of its own, as a program.
_WARM = """
import importlib, json, os, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
for line in sys.stdin:
    job = json.loads(line)
    if not (child := os.fork()):
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.chdir(job["folder"])
os.environ.clear()
os.environ.update(job["environment"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for handle, path in enumerate(job["outputs"], 1):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), handle)
sys.argv, sys.path[0], __file__ = [job["script"]], os.path.dirname(job["script"]), job["script"]
with open(__file__, encoding="utf-8") as file:
    program = compile(file.read(), __file__, "exec")
exec(program)
"""
# None of these starts a thread, as numpy's and onnxruntime's imports do: a forked child would be without it.
_LIBRARIES = (
    *("langgraph.graph", "langchain.agents", "langchain.chat_models", "langchain_core.retrievers"),
    *("json_repair", "pydantic_settings", "snowballstemmer", "sqlite3", "yaml"),
)
_PATIENCE = 100.0


class Interpreter:
    """Runs scripts, each in a process of its own, without loading the libraries for each anew."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-c", _WARM, *_LIBRARIES]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def run(self, script: Path, folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
        """The exit code of a script, and what it wrote to both of its outputs."""
        outputs = [folder.with_name(name) for name in ("stdout", "stderr")]
        job = {
            "script": str(script),
            "folder": str(folder),
            "environment": environment,
            "outputs": [*map(str, outputs)],
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _PATIENCE)[0]:
            os.killpg(self._process.pid, signal.SIGKILL)
            self.close()
            self._start()
            raise AssertionError(f"{script.name} hangs")
        code = int(self._process.stdout.readline())
        out, err = (path.read_text("utf-8") for path in outputs)
        return code, out, err

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter | None]:
    """Runs scripts; None where processes can't fork."""
    if not hasattr(os, "fork"):
        yield None
        return
    opened = Interpreter()
    yield opened
    opened.close()


@pytest.fixture
def run_example(tmp_path: Path, interpreter: Interpreter | None) -> Callable[[Path], None]:
    """Runs an example as a reader would, in a process of its own and an empty folder, and compares what it prints with
    what its ``# → …`` comments say; ``…`` stands for anything.
    """

    def run(script: Path) -> None:
        folder = tmp_path / "empty"
        folder.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LANGMEM_PLUS_")}
        if interpreter is not None:
            code, out, err = interpreter.run(script, folder, environment)
        else:
            command = [sys.executable, str(script)]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        assert code == 0, err
        for expected in re.findall(r"# → (.+)$", script.read_text(encoding="utf-8"), re.MULTILINE):
            parts = [re.escape(part.strip()) for part in expected.split("…")]
            assert re.search(".*".join(parts), out, re.DOTALL), out

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
