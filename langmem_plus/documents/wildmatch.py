"""Git's patterns as regular expressions over bytes, for git compares bytes: ``?`` is one, and no letter beyond ASCII.

Source: ``wildmatch.c`` of git. Where a star is followed by another one it is enough to look at the first place where
what stands between them fits; so a pattern of many stars takes no longer than one of few.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

_STAR, _FOLDERS, _SOME_FOLDERS, _REST = b"*", b"**/", b"**\\/", b"**"  # what is no single byte
_SPECIAL = re.compile(rb"[*?\[\\]")
_SLASH = ord("/")
_GRAPH = frozenset(range(0x21, 0x7F))
_CLASSES = {
    b"alnum": frozenset((string.ascii_letters + string.digits).encode()),
    b"alpha": frozenset(string.ascii_letters.encode()),
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset((*range(0x20), 0x7F)),
    b"digit": frozenset(string.digits.encode()),
    b"graph": _GRAPH,
    b"lower": frozenset(string.ascii_lowercase.encode()),
    b"print": _GRAPH | {0x20},
    b"punct": frozenset(string.punctuation.encode()),
    b"space": frozenset(b" \t\n\r"),
    b"upper": frozenset(string.ascii_uppercase.encode()),
    b"xdigit": frozenset(string.hexdigits.encode()),
}


class MalformedError(ValueError):
    """A pattern fits nothing: a bracket or an escape without an end, or a class that nobody knows."""


def literal_length(pattern: bytes) -> int:
    """How many bytes stand before the first one that means something."""
    found = _SPECIAL.search(pattern)
    return found.start() if found else len(pattern)


def expression(pattern: bytes) -> bytes:
    """The regular expression that fits (with DOTALL) the whole of the paths that a pattern fits.

    What stands before the first special byte is compared for itself: ``**`` behind it counts as the beginning.

    Raises:
        MalformedError: the pattern fits nothing.

    >>> expression(b"docs/*.md")
    b'docs/[^/]*\\\\.md'
    """
    start = literal_length(pattern)
    piece, block, later = b"", b"", b""  # up to the next star, from there to the next ``**``, and behind that
    for token in reversed(list(_tokens(pattern[start:]))):
        if token == _STAR:
            block = (b"(?>[^/]*?%b)" if block or later else b"[^/]*%b") % piece + block
            piece = b""
        elif token == _REST:
            later = b".*"
        elif token in (_FOLDERS, _SOME_FOLDERS):
            above = b"(?:[^/]*/)*?" if token == _FOLDERS else b"(?:[^/]*/)+?"
            later = (b"(?>%b)" if later else b"%b") % (above + piece + block) + later
            piece = block = b""
        else:
            piece = token + piece
    return re.escape(pattern[:start]) + piece + block + later


def _tokens(glob: bytes) -> Iterator[bytes]:
    """Stars, and the expressions of single bytes.

    Raises:
        MalformedError: the pattern fits nothing.
    """
    place = 0
    while place < len(glob):
        here = place
        sign = glob[place : place + 1]
        place += 1
        if sign == b"*":
            while glob.startswith(b"*", place):
                place += 1
            token = _stars(glob, here, place)
            place += len(token.lstrip(b"*"))
            yield token
        elif sign == b"?":
            yield b"[^/]"
        elif sign == b"[":
            fitting, place = _bracket(glob, place)
            yield _one_of(fitting)
        else:
            if sign == b"\\":
                sign = _at(glob, place)
                place += 1
            yield re.escape(sign)


def _stars(glob: bytes, start: int, end: int) -> bytes:
    """What several stars mean: two or more that are a whole part of the path stand for any folders."""
    if end - start > 1 and (start == 0 or glob[start - 1] == _SLASH):
        if end == len(glob):
            return _REST
        for token in (_FOLDERS, _SOME_FOLDERS):
            if glob.startswith(token[2:], end):
                return token
    return _STAR


def _bracket(glob: bytes, place: int) -> tuple[frozenset[int], int]:
    """The bytes that a bracket fits, and the place behind it; it never fits the slash.

    Raises:
        MalformedError: it doesn't end.
    """
    is_negative = glob[place : place + 1] in (b"!", b"^")
    place += is_negative
    fitting: set[int] = set()
    first = place
    before = 0  # what a range may begin with
    while (sign := _at(glob, place)) != b"]" or place == first:
        place += 1
        if sign == b"\\":
            before = _at(glob, place)[0]
            place += 1
        elif sign == b"-" and before and glob[place : place + 1] not in (b"", b"]"):
            place += glob[place : place + 1] == b"\\"
            fitting.update(range(before, _at(glob, place)[0] + 1))
            before, place = 0, place + 1
            continue
        elif sign == b"[" and glob[place : place + 1] == b":" and (found := _class(glob, place + 1)) is not None:
            fitting |= found[0]
            before, place = 0, found[1]
            continue
        else:
            before = sign[0]
        fitting.add(before)
    return frozenset(range(256)) - fitting - {_SLASH} if is_negative else frozenset(fitting - {_SLASH}), place + 1


def _one_of(fitting: frozenset[int]) -> bytes:
    firsts = (each for each in sorted(fitting) if each - 1 not in fitting)
    lasts = (each for each in sorted(fitting) if each + 1 not in fitting)
    runs = b"".join(b"\\x%02x-\\x%02x" % run for run in zip(firsts, lasts, strict=True))
    return b"[%b]" % runs if runs else b"(?!)"


def _class(glob: bytes, start: int) -> tuple[frozenset[int], int] | None:
    """The bytes of a class such as ``[:alpha:]``, and the place behind it; None where no class is named.

    Raises:
        MalformedError: nobody knows it, or it doesn't end.
    """
    end = glob.find(b"]", start)
    if end < 0:
        raise MalformedError
    if end == start or glob[end - 1] != ord(":"):
        return None
    if glob[start : end - 1] not in _CLASSES:
        raise MalformedError
    return _CLASSES[glob[start : end - 1]], end + 1


def _at(glob: bytes, place: int) -> bytes:
    """The byte at a place.

    Raises:
        MalformedError: there is none.
    """
    if place >= len(glob):
        raise MalformedError
    return glob[place : place + 1]
