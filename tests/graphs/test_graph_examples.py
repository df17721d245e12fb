"""Every example under graphs/ runs as it stands, prints what it says, and is served without a store of its own."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from langgraph.pregel import Pregel

GRAPHS = Path(__file__).parent.parent.parent / "graphs"
EXAMPLES = sorted(path.name for path in GRAPHS.glob("*.py"))
SERVED = json.loads((GRAPHS / "langgraph.json").read_text(encoding="utf-8"))
LIBRARIES = {"langchain", "langchain_core", "langgraph", "langmem_plus", "deepagents", "pydantic", "typing_extensions"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, run_example: Callable[[Path], None]) -> None:
    """In a fresh interpreter and an empty folder it prints what its comments say, and leaves no error behind."""
    assert "# → " in (GRAPHS / name).read_text(encoding="utf-8")
    run_example(GRAPHS / name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_says_what_it_shows(name: str) -> None:
    """A docstring first, then what a newcomer reads in one go: public names, nothing private, no other package."""
    text = (GRAPHS / name).read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= 80
    imported = {
        (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for module, alias in imported:
        top, _, rest = module.partition(".")
        assert top in LIBRARIES | sys.stdlib_module_names
        assert not any(part.startswith("_") for part in (*rest.split("."), alias))


def load(path: Path, name: str) -> ModuleType:
    """A module from a file, as a server loads it."""
    spec = importlib.util.spec_from_file_location(f"served_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SERVED["graphs"])
def test_a_served_graph_has_no_store_of_its_own(name: str) -> None:
    """What langgraph.json names exists, is a compiled graph, and takes store and checkpointer from the server."""
    path, _, variable = SERVED["graphs"][name].partition(":")
    graph = getattr(load(GRAPHS / path, name), variable)
    assert isinstance(graph, Pregel)
    assert graph.store is None
    assert graph.checkpointer is None


def test_every_example_is_served_and_described() -> None:
    """langgraph.json names each file once, and README.md has each in its table."""
    files = {value.removeprefix("./").partition(":")[0] for value in SERVED["graphs"].values()}
    assert files | {"store.py"} == set(EXAMPLES)
    readme = (GRAPHS / "README.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"`{name}`" not in readme] == []


async def test_the_served_store_lies_where_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's folder comes from the environment, else it is ./memory_db."""
    open_store = load(GRAPHS / "store.py", "store").open_store
    monkeypatch.chdir(tmp_path)
    for folder in ("memory_db", "elsewhere"):
        async with open_store() as store:
            await store.aput(("notes",), "a", {"text": "hello"})
        assert list((tmp_path / folder).rglob("*.md"))
        monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(tmp_path / "elsewhere"))
