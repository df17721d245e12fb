"""What is loaded when the package is imported, seen from fresh interpreters."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import langmem_plus

HEAVY = (
    *("chromadb", "langchain_chroma", "onnxruntime", "tokenizers", "toktok_rs", "fastapi", "uvicorn", "flashrank"),
    *("langchain_openai", "openai", "langchain.agents", "langchain.chat_models", "langchain.embeddings", "torch"),
    *("pytest", "hypothesis", "typer", "watchfiles"),
)
QUIET = ("records", "errors", "config", "state", "services", "prompts", "tokens", "providers", "background")
NODES = ("recall", "remember", "documents", "graph", "importers", "store", "client", "tools", "retriever", "testing")
MODULES = (*QUIET, *NODES)


# Imports one module after the other; tells which heavy ones were there after each. Then each alone, with none of the
# package's own before it: what only works after others is found out.
_ONE_BY_ONE = """
import importlib, json, sys
names, heavy = json.loads(sys.argv[1])
told = {}
for name in names:
    importlib.import_module(f"langmem_plus.{name}")
    told[name] = [each for each in heavy if each in sys.modules]
for name in names:
    for own in [each for each in sys.modules if each.partition(".")[0] == "langmem_plus"]:
        del sys.modules[own]
    try:
        importlib.import_module(f"langmem_plus.{name}")
    except Exception as error:
        told[name].append(f"alone: {error!r}")
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """For each module the heavy ones that are there after it and those before it are imported, in a fresh interpreter.

    None may load any, so what is there came with the module or with one before it.
    """
    command = [sys.executable, "-c", _ONE_BY_ONE, json.dumps([MODULES, HEAVY])]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def loaded_by(*codes: str) -> list[list[str]]:
    """The heavy modules that a fresh interpreter holds after running each part of a program."""
    script = "import sys, json\n" + "".join(
        f"{code}\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n" for code in codes
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()[-len(codes) :]]


def test_importing_the_package_loads_nothing_heavy() -> None:
    """No index, model runtime, server or provider is loaded by the import alone."""
    assert loaded_by("import langmem_plus") == [[]]


def test_the_import_alone_does_not_even_load_langgraph() -> None:
    """The public names are looked up when they are used."""
    script = "import sys, langmem_plus; print('langgraph.graph' in sys.modules, 'numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_the_public_names_load_nothing_heavy() -> None:
    """Touching the public names loads nothing heavy either, but for the middleware, which is LangChain's agents'."""
    names = [name for name in langmem_plus.__all__ if name != "LongTermMemoryMiddleware"]
    named, all_of_them = loaded_by(f"from langmem_plus import {', '.join(names)}", "from langmem_plus import *")
    assert named == []
    assert set(all_of_them) <= {"langchain.agents", "langchain.chat_models"}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_loads_nothing_heavy(name: str, loaded: dict[str, list[str]]) -> None:
    """What needs a heavy library imports it when it is used; and the module can be the first that is imported."""
    assert loaded[name] == []


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
    assert "pytest" in loaded_by("import langmem_plus.testing.contract")[0]
