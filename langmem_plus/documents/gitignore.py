"""What the ``.gitignore`` files of a folder leave out, as git does it: each rules the folder it stands in.

A folder is asked for before what lies in it, and what is left out isn't opened: nothing in it can be brought back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from langmem_plus.documents.wildmatch import MalformedError, expression, literal_length

NAME = ".gitignore"


@dataclass(frozen=True)
class Rules:
    """The rules of a folder, before those of the folders above it.

    Attributes:
        text: what its file says; bytes that are no UTF-8 are escaped as surrogates.
        folder: its path with ``/`` at the end; empty at the top.
        above: what rules where it says nothing.
    """

    text: str
    folder: str = ""
    above: Rules | None = None

    def leave_out(self, path: str) -> bool:
        """Whether a file is left out, or a folder, whose path ends in ``/``."""
        rules: Rules | None = self
        while rules is not None:
            said = _verdict(rules.text, path.removeprefix(rules.folder))
            if said is not None:
                return said
            rules = rules.above
        return False


class _Line(NamedTuple):
    """What a line is about.

    Attributes:
        leaves_out: False brings back.
        folders: whether it is about folders alone.
        name: whether it is about the last part of a path, wherever that lies.
        fits: whether it fits such a name or path.
    """

    leaves_out: bool
    folders: bool
    name: bool
    fits: Callable[[bytes], object]


@lru_cache(maxsize=100_000)
def _verdict(text: str, path: str) -> bool | None:
    """What the last line that fits says; None where none does. Remembered, for folders are looked at often."""
    is_folder = path.endswith("/")
    whole = _encoded(path[:-1] if is_folder else path)
    name = whole.rpartition(b"/")[2]
    for line in _lines(text):
        if (is_folder or not line.folders) and line.fits(name if line.name else whole):
            return line.leaves_out
    return None


@lru_cache(maxsize=256)
def _lines(text: str) -> tuple[_Line, ...]:
    """The lines of a file, the last one first; those that mean nothing are left out."""
    return tuple(_read(_encoded(text.removeprefix("\ufeff")).split(b"\n")))[::-1]


def _read(lines: list[bytes]) -> Iterator[_Line]:
    for line in lines:
        if line.startswith(b"#"):
            continue
        pattern = _trimmed(line.removesuffix(b"\r").partition(b"\0")[0])
        brings_back = pattern.startswith(b"!")
        pattern = pattern[brings_back:]
        folders = pattern.endswith(b"/")
        pattern = pattern[: len(pattern) - folders]
        name = b"/" not in pattern
        pattern = pattern.removeprefix(b"/")
        try:
            fits = _fitting(pattern)
        except MalformedError:
            continue
        if pattern:
            yield _Line(not brings_back, folders, name, fits)


def _fitting(pattern: bytes) -> Callable[[bytes], object]:
    if literal_length(pattern) == len(pattern):
        return pattern.__eq__
    return re.compile(expression(pattern), re.DOTALL).fullmatch


def _trimmed(line: bytes) -> bytes:
    """A line without the spaces at its end, but for one that is escaped; other white space counts."""
    bare = line.rstrip(b" ")
    is_escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2
    return line[: len(bare) + is_escaped]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
