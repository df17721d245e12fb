"""The README's table of stores is what their suites say; run this file as a script to write it anew."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from langmem_plus.testing.contract import ContractBase, points_table

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"
_TABLE = re.compile(r"(<!-- points -->\n)(.*?)(<!-- /points -->)", re.DOTALL)


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"points_of_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def suites() -> dict[str, type[ContractBase]]:
    """Every store that the contract runs over."""
    ours = _module("test_markdown_store")
    return {
        '`MarkdownStore(ranking="dense")`': ours.TestMarkdownStore,
        "`MarkdownStore()`": ours.TestByWordsAndVectors,
        "LangGraph's `InMemoryStore`": _module("test_inmemory_store").TestInMemoryStore,
        "LangGraph's `SqliteStore`": _module("test_sqlite_store").TestSqliteStore,
    }


def with_table(text: str) -> str:
    """The text with the table of today."""
    return _TABLE.sub(lambda match: match[1] + points_table(suites()) + match[3], text)


def test_the_readme_has_the_table_of_today() -> None:
    """Write it anew with: python tests/contract/test_points_table.py."""
    text = README.read_text(encoding="utf-8")
    assert _TABLE.search(text)
    assert with_table(text) == text


def test_the_table_counts_each_point_once() -> None:
    """Held, failed and left out are all points together; several tests of one point are one failure."""

    class Some(ContractBase):
        known_failures = {"test_04_a": "", "test_04_b[x]": "", "test_21_c": "", "test_43_d": ""}  # noqa: RUF012
        not_offered = {43: "", 44: "", 45: ""}  # noqa: RUF012

    row = points_table({"some": Some}).splitlines()[-1]
    assert row == "| some | 40 | 4, 21 | 43–45 |"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
