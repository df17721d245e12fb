"""The documentation does what it says: every example runs."""

from __future__ import annotations

import doctest
import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import langmem_plus

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(langmem_plus.__path__, "langmem_plus.")
    if not module.name.startswith("langmem_plus.testing.contract")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    """The examples in a module's docstrings give what they show."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def python_examples() -> list[str]:
    """The Python fences of the README."""
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_readme_has_a_short_first_example() -> None:
    """The first example is ten lines at most, so that it is read."""
    lines = [line for line in python_examples()[0].splitlines() if line.strip()]
    assert len(lines) <= 10


@pytest.mark.parametrize("number", range(len(python_examples())))
def test_readme_examples(number: int, tmp_path: Path, run_example: Callable[[Path], None]) -> None:
    """Each Python example of the README runs as it stands, in a fresh interpreter and an empty folder, and prints what
    it says; ``…`` stands for anything.
    """
    script = tmp_path / "example.py"
    script.write_text(python_examples()[number], encoding="utf-8")
    run_example(script)


def test_readme_picture_is_the_graph() -> None:
    """The picture of the pipeline has the edges of the real graph, no more and no fewer."""
    picture = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)[0]
    chains = [line.strip().split(" --> ") for line in picture.splitlines() if "-->" in line]
    drawn = {edge for chain in chains for edge in itertools.pairwise(chain)}
    snapshot = (ROOT / "tests" / "snapshots" / "memory_graph_one_chain.mmd").read_text(encoding="utf-8")
    real = set(re.findall(r"^\t(\w+) --> (\w+);$", snapshot, re.MULTILINE))
    assert drawn == {edge for edge in real if "__start__" not in edge and "__end__" not in edge}


def test_readme_shows_every_command() -> None:
    """Every command of the command line stands in the README."""
    from typer.main import get_command

    from langmem_plus.cli.app import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    missing = [name for name in commands if f"langmem-plus {name}" not in README]
    assert not missing
