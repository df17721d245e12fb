"""A front matter that isn't where it should be, pure: below blank lines, or without its first line ``---``.

A person's own text has no front matter, whatever stands in it: only a file that begins with fields of ours is meant.
"""

from __future__ import annotations

import re

from langmem_plus.store.markdown.entry import RECORD_FIELDS

_NOTHING = re.compile(r"[\s\ufeff\u200b]*")
_FENCE = re.compile(r"---[ \t]*")
# What a fence becomes by a slip of the hand, or by an editor that turns hyphens into dashes: "--", "----", "—", "x---".
_FENCE_OF_A_KIND = re.compile(r"(?=.*[-\u2010-\u2015\u2212])(?=.{1,8}\Z)\W*\w?\W*")
_FIELD = re.compile(r"([^\s:]+)[ \t]*:(?:[ \t]|\Z)")
_GOES_ON = re.compile(r"[ \t]|-(?:[ \t]|\Z)|#|\Z")  # what YAML has below a field: its value's next lines, a remark
_OWN = frozenset((*RECORD_FIELDS, "value", "stored"))
_STORES_OWN = "stored: {"
_SEVERAL = 2


def above_front(text: str) -> int:
    """How many characters stand above a front matter with nothing to see in them: blank lines, a byte order mark; 0
    where what follows isn't plainly a front matter.
    """
    if not (start := _end_of(_NOTHING, text)):
        return 0
    fence, _, below = text[start:].partition("\n")
    return start if _FENCE.fullmatch(fence) and _are_fields(below.split("\n"), 1) else 0


def lost_front(text: str) -> int | None:
    """Where the fields of a front matter begin that a file begins with, below no line ``---`` or below what became of
    one; None where it doesn't.

    >>> lost_front("--\\nid: a\\nrole: memory\\n---\\nGreen tea.\\n")
    3
    >>> lost_front("Note: tea\\nrole: cook\\n---\\nGreen tea.\\n") is None
    True
    """
    start = _end_of(_NOTHING, text)
    line = text[start:].partition("\n")[0]
    while line and _FENCE_OF_A_KIND.fullmatch(line.rstrip()):
        start = _end_of(_NOTHING, text, start + len(line))
        line = text[start:].partition("\n")[0]
    return start if _are_fields(text[start:].split("\n"), _SEVERAL) else None


def _end_of(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _are_fields(lines: list[str], least: int) -> bool:
    """Whether lines begin with a field of ours and are fields up to a line ``---``, so many of them ours; or up to the
    line that the store alone writes.
    """
    own: set[str] = set()
    for line in lines:
        if _FENCE.fullmatch(line):
            return len(own) >= least
        field = _FIELD.match(line)
        if field is not None and field[1] in _OWN:
            if own and line.startswith(_STORES_OWN):
                return True
            own.add(field[1])
        elif (line.strip() and not own) or (field is None and not _GOES_ON.match(line)):
            return False
    return False
