"""Files that a person may have meant for memories and that nobody reads: where they lie, or by their names.

A memory is a file that `is_memory_file` below a namespace's folder for its kind; looks, rebuilds, erasures and archives
go by that alone. To read some more names would be to forget one of them somewhere, so these are told to the owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from langmem_plus.store.markdown.layout import (
    DELETED,
    LABEL_FILE,
    RESERVED,
    SUFFIX,
    Layout,
    encode_name,
    is_memory_file,
    is_temporary,
)

# Names that people, editors and converters give to notes.
_NOTES = frozenset({"", ".markdown", ".mdown", ".mkd", ".mdx", ".mdtxt", ".txt", ".text", ".rst", ".org"})
# What systems and editors leave beside any file.
_NOISE = ("._", ".#", "#", "~")


def find_overlooked(layout: Layout) -> Iterator[tuple[Path, str, str]]:
    """The files below ``entries`` that nobody reads, each with the reason and what to do."""
    for name, folders, files in os.walk(layout.entries):
        folders.sort()
        folder = Path(name)
        parts = folder.relative_to(layout.entries).parts
        if DELETED in parts:
            folders.clear()
            continue
        misplaced = _misplaced(layout, folder, parts)
        for file in sorted(files):
            path = folder / file
            if is_memory_file(file) and misplaced is not None and _is_file(path):
                yield path, *misplaced
            elif _is_note(file, in_room=not RESERVED.isdisjoint(parts)) and _is_file(path):
                yield path, "its name isn't that of a memory", f"Rename it to {_better(file)!r}, or move it away."


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a link to where nobody may look
        return False


def _misplaced(layout: Layout, folder: Path, parts: tuple[str, ...]) -> tuple[str, str] | None:
    """What is wrong with a folder for memories; None where nothing is."""
    depth = next((n for n, part in enumerate(parts) if part in RESERVED), None)
    if depth is None:
        return (
            "it lies outside of the folders for memories",
            "Move it into 'facts' in the folder of its user and space.",
        )
    if depth == 0:
        return "its folder belongs to no user", "Move it into the 'facts' folder of a user and a space."
    if hidden := next((part for part in parts if part.startswith(".")), None):
        return f"its folder {hidden!r} is hidden", "Rename the folder, without a dot in front, or move the file."
    for n in range(1, depth + 1):
        if layout.namespace_of(layout.entries.joinpath(*parts[:n])) is None:
            odd = parts[n - 1]
            return (
                f"its folder {odd!r} has a name that stands for nobody",
                f"Rename the folder to {encode_name(odd)!r}.",
            )
    return None


def _is_note(name: str, *, in_room: bool) -> bool:
    if is_memory_file(name) or is_temporary(name) or name == LABEL_FILE or name.startswith(_NOISE) or name[-1] == "~":
        return False
    if name.lower().endswith(SUFFIX):
        return True
    return in_room and not name.startswith(".") and PurePath(name).suffix.lower() in _NOTES


def _better(name: str) -> str:
    name = name.lstrip(".")
    suffix = PurePath(name).suffix
    stem = name.removesuffix(suffix) if suffix.lower() in (*_NOTES, SUFFIX) else name
    return (stem[: -len(SUFFIX)] if stem.lower().endswith(SUFFIX) else stem) + SUFFIX
