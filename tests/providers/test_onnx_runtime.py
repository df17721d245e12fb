"""Onnxruntime comes in without its telemetry, which phones home, leaves files and keeps children from ending."""

from __future__ import annotations

import ast
import json
import logging
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

import langmem_plus
from langmem_plus.providers.onnx_runtime import NO_TELEMETRY, load

# Embeds once, then forks a child that ends as a program does; tells of the child and of the files below the home.
_EMBED_AND_FORK = """
import json, os, signal, sys, time
from langmem_plus.providers import make_embeddings
from langmem_plus.config import MemoryConfig
make_embeddings("local", MemoryConfig()).embed_query("tea")
if not (child := os.fork()):
    sys.exit(0)
ended, deadline = 0, time.monotonic() + 20
while not ended and time.monotonic() < deadline:
    ended, status = os.waitpid(child, os.WNOHANG)
    time.sleep(0.02)
if not ended:
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
files = [name for _, _, names in os.walk(os.environ["HOME"]) for name in names]
print(json.dumps([os.waitstatus_to_exitcode(status), files]), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_an_embedding_leaves_no_file_and_lets_children_end(tmp_path: Path) -> None:
    """After an embedding, nothing lies in the user's home, and a forked child that calls sys.exit ends."""
    environment = {name: value for name, value in os.environ.items() if name != NO_TELEMETRY}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "ignore", "-c", _EMBED_AND_FORK]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [0, []]


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("0", "0"), ("1", "1")])
def test_what_the_environment_says_stays(monkeypatch: pytest.MonkeyPatch, given: str | None, kept: str) -> None:
    """Telemetry is switched off unless the environment says something of it."""
    monkeypatch.setenv(NO_TELEMETRY, "unset")  # so that it is as before, afterwards
    monkeypatch.delenv(NO_TELEMETRY) if given is None else monkeypatch.setenv(NO_TELEMETRY, given)
    load("json")
    assert os.environ[NO_TELEMETRY] == kept


def test_one_that_came_too_early_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the program imported onnxruntime before us, a line in the log says what it should set, once."""
    monkeypatch.setitem(sys.modules, "onnxruntime", types.ModuleType("onnxruntime"))
    monkeypatch.setenv(NO_TELEMETRY, "unset")
    monkeypatch.delenv(NO_TELEMETRY)
    with caplog.at_level(logging.INFO, "langmem_plus.providers.onnx_runtime"):
        load("json")
        load("json")
    assert [f"{NO_TELEMETRY}=1" in each for each in caplog.messages] == [True]


RISKY = ("onnxruntime", "flashrank", "chromadb", "langchain.embeddings", "langchain.chat_models")


def _is_risky(module: str) -> bool:
    return any(f"{module}.".startswith(f"{each}.") for each in RISKY)


def _imported(node: ast.AST) -> list[str]:
    """The modules that a node imports, by a statement or by name."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
        return [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
    return []


def test_every_import_that_may_bring_it_in_switches_it_off_first() -> None:
    """No module imports onnxruntime, or what loads it, before telemetry is off; what a benchmark compares runs as its
    own users run it.
    """
    early, package = [], Path(langmem_plus.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(package / "evals" / "bench") or not any(each in text for each in RISKY):
            continue
        nodes = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.stmt | ast.Call)]
        off = [each.lineno for each in nodes if ast.unparse(each) == "no_telemetry()"]
        found = [each.lineno for each in nodes if any(_is_risky(name) for name in _imported(each))]
        early += [f"{path.name}:{line}" for line in found if line < min(off, default=sys.maxsize)]
    assert early == []
