"""Where a measurement's results go: whether they can, is found out before it starts."""

from __future__ import annotations

import contextlib
import os
from importlib.util import find_spec
from pathlib import Path

import typer

from langmem_plus.errors import MissingExtraError


def check_outputs(file: Path | None, figures: Path | None = None, *, make: bool = True) -> None:
    """Whether results can be written; the folders are made.

    Args:
        file: of the results as JSON; ``-`` is standard output.
        figures: the folder of the figures.
        make: leave the folders there; otherwise a run that ends without results leaves nothing behind.

    Raises:
        typer.BadParameter: one of the paths can't be written.
        MissingExtraError: matplotlib isn't installed, and figures are wanted.
    """
    if figures is not None:
        if find_spec("matplotlib") is None:
            raise MissingExtraError("--plot", "plot")
        _check_folder(figures, "--plot", make)
    if file is None or str(file) == "-":
        return
    if file.is_dir():
        raise _unusable(file, "it is a folder; name a file in it", "--json")
    _check_folder(file.parent, "--json", make)
    if file.exists() and not os.access(file, os.W_OK):
        raise _unusable(file, "it may not be written", "--json")


def _check_folder(folder: Path, option: str, make: bool) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise _unusable(folder, "it is a file; name a folder", option) from error
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error), option) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, "nothing may be written into it", option)
    if make:
        return
    # It could be made, which is all that was to be found out. Whoever wrote something there meanwhile keeps it.
    with contextlib.suppress(OSError):
        for each in missing:
            each.rmdir()


def _unusable(path: Path, why: str, option: str) -> typer.BadParameter:
    return typer.BadParameter(f"{str(path)!r} can't be used: {why}.", param_hint=option)
