"""What an index says beside the files in it."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.store.markdown import gitindex
from langmem_plus.store.markdown.git import GitError
from langmem_plus.store.markdown.gitindex import strip_index, stripped

_NAMES = st.lists(st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name), max_size=8)
_PARTS = st.lists(st.tuples(st.sampled_from([b"TREE", b"REUC", b"UNTR", b"sdir", b"EOIE"]), st.binary(max_size=40)))


def index(version: int, width: int, names: list[bytes], parts: list[tuple[bytes, bytes]], checked: bool) -> bytes:
    """An index as git's documentation describes it."""
    content = b"DIRC" + struct.pack(">II", version, len(names))
    for number, name in enumerate(names):
        extended = version > 2 and number % 2
        entry = bytes(40 + width) + struct.pack(">H", min(len(name), 0xFFF) | (0x4000 if extended else 0))
        entry += b"\0\0" if extended else b""
        if version == 4:
            entry += b"\x80\x01" + name + b"\0"
        else:
            entry += name
            entry += b"\0" * (8 - len(entry) % 8)
        content += entry
    for kind, data in parts:
        content += kind + struct.pack(">I", len(data)) + data
    made = hashlib.sha256(content) if width == 32 else hashlib.sha1(content, usedforsecurity=False)
    return content + (made.digest() if checked else bytes(width))


@given(st.sampled_from([2, 3, 4]), st.sampled_from([20, 32]), _NAMES, _PARTS, st.booleans())
def test_the_files_stay_and_all_that_is_optional_goes(
    version: int, width: int, names: list[bytes], parts: list[tuple[bytes, bytes]], checked: bool
) -> None:
    """In every version, for either hash, with or without a checksum; what git needs stays, too."""
    needed = [part for part in parts if part[0].islower()]
    before = index(version, width, names, parts, checked)
    after = stripped(before, width)
    if before == index(version, width, names, needed, checked):
        assert after == before
    else:
        assert after == index(version, width, names, needed, checked)
    assert stripped(after, width) == after


def test_what_isnt_known_or_is_held_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error that says so, and the lock is free afterwards."""
    place = tmp_path / "index"
    strip_index(place, 20)
    assert list(tmp_path.iterdir()) == []
    place.write_bytes(b"DIRC" + struct.pack(">II", 9, 0) + bytes(20))
    with pytest.raises(GitError, match="version 9"):
        strip_index(place, 20)
    monkeypatch.setattr(gitindex, "_PAUSE", 0.0)
    (tmp_path / "index.lock").touch()
    with pytest.raises(GitError, match="another git command"):
        strip_index(place, 20)
    (tmp_path / "index.lock").unlink()
    place.write_bytes(index(2, 20, [b"a"], [(b"TREE", b"x")], True))
    strip_index(place, 20)
    assert place.read_bytes() == index(2, 20, [b"a"], [], True)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
