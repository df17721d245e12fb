"""What the ``.gitignore`` files of a folder leave out, as git does it: each rules the folder it stands in.

A folder is asked for before what lies in it, and what is left out isn't opened: nothing in it can be brought back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

NAME = ".gitignore"
# At the end of a line, ``*/`` and ``**/`` are to pathspec the first folder of a path, and the folder named before them.
# Spelled otherwise they are what they are to git: any folder.
_ANY_FOLDER = re.compile(r"(^!?|/)(?:(\*\*)|\*)/\s*$")


@dataclass(frozen=True)
class Rules:
    """The rules of a folder, before those of the folders above it.

    Attributes:
        text: what its file says.
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


@lru_cache(maxsize=100_000)
def _verdict(text: str, path: str) -> bool | None:
    """What the last line that fits says; None where none does. Remembered, for folders are looked at often."""
    return next((bool(each.include) for each in _patterns(text) if _fits(each, path)), None)


@lru_cache(maxsize=256)
def _patterns(text: str) -> tuple[GitIgnoreSpecPattern, ...]:
    """The lines of a file, the last one first; those that mean nothing are left out."""
    return tuple(_compiled(line.removesuffix("\r") for line in reversed(text.removeprefix("\ufeff").split("\n"))))


def _compiled(lines: Iterable[str]) -> Iterator[GitIgnoreSpecPattern]:
    for line in lines:
        try:
            found = GitIgnoreSpecPattern(_ANY_FOLDER.sub(_any_folder, line))
        except ValueError:
            continue
        if found.include is not None:
            yield found


def _any_folder(found: re.Match[str]) -> str:
    return f"{found[1]}{'**/' if found[2] else ''}?*/"


def _fits(pattern: GitIgnoreSpecPattern, path: str) -> bool:
    """Whether a line is about this very path: to pathspec it is about all that lies below, too.

    In its match the only group is the slash after the folder that the line names.
    """
    found = pattern.match_file(path)
    if found is None:
        return False
    named = [found.match.start(group) for group, slash in found.match.groupdict().items() if slash]
    if named:
        return path.endswith("/") and named[0] == len(path) - 1
    # What ends in ``/**`` is about what lies in a folder, not about the folder.
    return not (path.endswith("/") and found.match.end() == len(path))
