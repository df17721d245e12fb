"""Where results go is looked at before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from langmem_plus.evals.outputs import check_outputs


def test_what_can_be_written_is_not_made_yet(tmp_path: Path) -> None:
    """A run that ends before there are results leaves no folders behind, unless it wants them; what was there stays."""
    pytest.importorskip("matplotlib")
    (tmp_path / "there").mkdir()
    check_outputs(tmp_path / "a" / "b" / "out.json", tmp_path / "there" / "c" / "figures", make=False)
    check_outputs(tmp_path / "there" / "out.json", tmp_path / "there", make=False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["there"]
    check_outputs(tmp_path / "a" / "out.json")
    assert (tmp_path / "a").is_dir()


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Under a file there is no folder."""
    (tmp_path / "file").touch()
    with pytest.raises(typer.BadParameter, match="can't be used"):
        check_outputs(tmp_path / "file" / "inner" / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
