"""What measuring and the doctor show in a terminal."""

from __future__ import annotations

import pytest

from langmem_plus.cli.evaluation import print_parts, print_settings
from langmem_plus.config import GROUPS, MemoryConfig, knob_group
from langmem_plus.providers import Part


def test_every_part_is_shown_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """Long paths fold instead of being cut: what can't be read whole can't be mended."""
    path = "/memory/" + "x" * 120 + ".md"
    print_parts([Part("memory files", path, "degraded", "left out: no YAML", "Mend it."), Part("tokens", "exact")])
    out = capsys.readouterr().out
    assert "degraded" in out
    assert "x" * 120 in "".join(char for char in out if char == "x")
    assert "exact" in out


def test_every_setting_is_shown_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """With its value; the groups come in their order."""
    values = MemoryConfig(top_k=7).model_dump(mode="json")
    print_settings({group: [name for name in values if knob_group(name) == group] for group in GROUPS}, values)
    out = capsys.readouterr().out
    places = [out.index(f"[{group}]") for group in GROUPS]
    assert places == sorted(places)
    (line,) = (line for line in out.splitlines() if line.startswith("top_k "))
    assert line.split()[1] == "7"
    assert all(name in out for name in values)
