"""Git's index files as they are on disk: without what they say of files that are no longer in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from langmem_plus.store.markdown.git import GitError

_HEAD, _STAT, _FLAGS, _EXTENDED, _MORE = 12, 40, 2, 0x4000, 0x80
_TRIES, _PAUSE = 20, 0.1


def strip_index(index: Path, width: int) -> None:
    """Take out of an index what git keeps there for speed or for undoing, each of which may name files that are gone:
    the trees of the last commit, what was resolved, what is untracked. Git makes it anew.

    Args:
        index: the file; nothing happens where there is none.
        width: the bytes of an object's name.

    Raises:
        GitError: another git command holds the index, or it can't be read.
    """
    with _locked(index) as lock:
        try:
            before = index.read_bytes()
        except FileNotFoundError:
            return
        after = stripped(before, width)
        if after != before:
            lock.write_bytes(after)
            lock.chmod(index.stat().st_mode & 0o777)
            lock.replace(index)


@contextlib.contextmanager
def _locked(index: Path) -> Iterator[Path]:
    """Hold an index as git does; the lock's file is what will be the index, unless it is left as it is."""
    lock = index.with_name(index.name + ".lock")
    for _ in range(_TRIES):
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            time.sleep(_PAUSE)
    else:
        raise GitError(f"another git command holds {str(index)!r}")
    try:
        yield lock
    finally:
        lock.unlink(missing_ok=True)


def stripped(content: bytes, width: int) -> bytes:
    """An index's content without its optional parts.

    Raises:
        GitError: it isn't one that is known.
    """
    version, body = int.from_bytes(content[4:8], "big"), content[:-width]
    if content[:4] != b"DIRC" or version not in (2, 3, 4):
        raise GitError(f"an index of version {version} isn't known: update langmem-plus.")
    at = _after_entries(content, version, width)
    kept = [body[:at]]
    while at + 8 <= len(body):
        end = at + 8 + int.from_bytes(body[at + 4 : at + 8], "big")
        if body[at : at + 1].islower():  # what git can't do without
            kept.append(body[at:end])
        at = end
    if len(kept) > 1 and kept[-1][:4] == b"link":
        return content  # split in two: git joins them first
    joined = b"".join(kept)
    if joined == body:
        return content
    if not content[-width:].strip(b"\0"):  # somebody's settings leave the checksum out
        return joined + b"\0" * width
    return joined + hashlib.new("sha256" if width == 32 else "sha1", joined, usedforsecurity=False).digest()


def _after_entries(content: bytes, version: int, width: int) -> int:
    at = _HEAD
    for _ in range(int.from_bytes(content[8:_HEAD], "big")):
        flags = at + _STAT + width
        name = flags + (2 * _FLAGS if int.from_bytes(content[flags : flags + 2], "big") & _EXTENDED else _FLAGS)
        if version == 4:  # how much of the name before it is left out, then the rest
            while content[name] & _MORE:
                name += 1
            at = content.index(b"\0", name + 1) + 1
        else:  # padded to a multiple of eight
            at += (content.index(b"\0", name) - at + 8) // 8 * 8
    return at
