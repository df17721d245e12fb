"""What is loaded when the package is imported, seen from fresh interpreters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import langmem_plus

HEAVY = (
    *("chromadb", "langchain_chroma", "onnxruntime", "tokenizers", "toktok_rs", "fastapi", "uvicorn", "flashrank"),
    *("langchain_openai", "openai", "langchain.agents", "langchain.chat_models", "langchain.embeddings", "torch"),
    *("pytest", "hypothesis", "typer", "watchfiles"),
)
PACKAGE = Path(langmem_plus.__file__).parent
QUIET = ("records", "errors", "config", "state", "services", "prompts", "tokens", "providers", "background")
NODES = ("recall", "remember", "graph", "importers", "store", "client", "tools", "retriever", "testing")


def loaded_by(code: str) -> list[str]:
    """The heavy modules that a fresh interpreter holds after running the code."""
    script = f"{code}\nimport sys, json\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    """No index, model runtime, server or provider is loaded by the import alone."""
    assert loaded_by("import langmem_plus") == []


def test_the_import_alone_does_not_even_load_langgraph() -> None:
    """The public names are looked up when they are used."""
    script = "import sys, langmem_plus; print('langgraph.graph' in sys.modules, 'numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_the_public_names_load_nothing_heavy() -> None:
    """Touching the public names loads nothing heavy either, but for the middleware, which is LangChain's agents'."""
    names = [name for name in langmem_plus.__all__ if name != "LongTermMemoryMiddleware"]
    assert loaded_by(f"from langmem_plus import {', '.join(names)}") == []
    assert set(loaded_by("from langmem_plus import *")) <= {"langchain.agents", "langchain.chat_models"}


@pytest.mark.parametrize("name", [name for name in QUIET + NODES if list(PACKAGE.glob(f"{name}*"))])
def test_a_module_loads_nothing_heavy(name: str) -> None:
    """What needs a heavy library imports it when it is used."""
    assert loaded_by(f"import langmem_plus.{name}") == []


@pytest.mark.parametrize("name", getattr(langmem_plus, "__all__", ()))
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    """Each name is there, is the same object each time, and has a docstring."""
    assert getattr(langmem_plus, name) is getattr(langmem_plus, name)
    assert (getattr(langmem_plus, name).__doc__ or "").strip()
    assert name in dir(langmem_plus)


def test_another_name_is_an_attribute_error() -> None:
    """Looking names up lazily doesn't invent any."""
    with pytest.raises(AttributeError, match="nonsense"):
        _ = langmem_plus.nonsense  # type: ignore[attr-defined]


def test_only_the_contract_needs_pytest() -> None:
    """The fakes can be used by any program; the contract is for tests."""
    assert loaded_by("import langmem_plus.testing") == []
    assert "pytest" in loaded_by("import langmem_plus.testing.contract")
