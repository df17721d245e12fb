"""The published contract: complete, documented, and usable from a project of one's own."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langmem_plus.testing import contract
from langmem_plus.testing.contract import StoreContract

TESTS = {name: each for name, each in inspect.getmembers(StoreContract) if name.startswith("test_")}
POINTS = [*range(1, 46)]

PROJECT = """
import pytest
from langgraph.store.memory import InMemoryStore
from langmem_plus.testing.contract import StoreContract, Values

class TestOneGroup(Values):
    def make_store(self, index=None):
        return InMemoryStore(index=index)

class TestKnown(Values):
    known_failures = {
        "test_04_created_at_survives_an_update": "known",
        "test_12_what_is_not_json_is_refused[set]": "known",
    }
    def make_store(self, index=None):
        return InMemoryStore(index=index)

class TestWronglyKnown(Values):
    known_failures = {"test_01_a_missing_key_is_none": "it passes"}
    def make_store(self, index=None):
        return InMemoryStore(index=index)

class TestForgotten(StoreContract):
    pass
"""


@pytest.mark.parametrize("point", POINTS)
def test_every_point_has_a_test(point: int) -> None:
    """Each point of the contract is the beginning of a test's name."""
    assert [name for name in TESTS if name.startswith(f"test_{point:02}_")]


def test_no_test_is_without_a_point_and_a_sentence() -> None:
    """Each test's name begins with its point, and its docstring says the behaviour."""
    for name, test in TESTS.items():
        match = re.match(r"test_(\d\d)_", name)
        assert match, name
        assert int(match[1]) in POINTS
        assert (test.__doc__ or "").strip().endswith("."), name


def test_the_table_of_points_is_right() -> None:
    """The docstring's table says in which group each point stands."""
    groups: dict[int, str] = {}
    for line in (contract.__doc__ or "").splitlines():
        match = re.match(r" ?(\d+)(?:–(\d+))? .*`(\w+)`$", line)
        if match:
            groups |= dict.fromkeys(range(int(match[1]), int(match[2] or match[1]) + 1), match[3])
    assert sorted(groups) == POINTS
    for name in TESTS:
        assert hasattr(getattr(contract, groups[int(name[5:7])]), name), name


def test_a_project_of_ones_own_runs_it(tmp_path: Path) -> None:
    """A subclass is collected; known failures are expected strictly, by parameter; a missing factory is told."""
    (tmp_path / "test_mine.py").write_text(PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    chosen = "test_01 or test_04_created or (test_12_what_is_not and (set or bytes))"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rA",
        "-k",
        chosen,
        "--tb=line",
        "test_mine.py",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL) test_mine\.py::(\S+)", ran.stdout, re.M)
    outcomes = {name: kind for kind, name in found}
    assert outcomes["TestOneGroup::test_01_a_missing_key_is_none[sync]"] == "PASSED"
    assert outcomes["TestOneGroup::test_01_a_missing_key_is_none[async]"] == "PASSED"
    assert outcomes["TestOneGroup::test_04_created_at_survives_an_update[sync]"] == "FAILED"
    assert outcomes["TestKnown::test_04_created_at_survives_an_update[async]"] == "XFAIL"
    assert outcomes["TestKnown::test_12_what_is_not_json_is_refused[async-set]"] == "XFAIL"
    assert outcomes["TestKnown::test_12_what_is_not_json_is_refused[sync-bytes]"] == "FAILED"
    assert outcomes["TestWronglyKnown::test_01_a_missing_key_is_none[sync]"] == "FAILED"
    assert outcomes["TestForgotten::test_01_a_missing_key_is_none[sync]"] == "ERROR"
    assert "XPASS(strict)" in ran.stdout
    assert "say how a store is made" in ran.stdout
