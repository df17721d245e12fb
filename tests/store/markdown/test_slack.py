"""What Chroma writes of memory that it hasn't filled."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.store.markdown.chroma import Collection, chroma_folder
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.slack import clear_slack

pytest.importorskip("chromadb")

JUNK = b"xylophone " * 4
NAMESPACE = ("memories", "ann")


def chunks(start: int, count: int) -> list[Any]:
    """Some vectors, which are the same each time."""
    draw = np.random.default_rng(start)
    made = draw.standard_normal((count, 64)).astype("<f4")
    return [(start + n, 0, "text", "key", vector.tobytes()) for n, vector in enumerate(made)]


def test_a_new_index_is_written_without_what_memory_held(tmp_path: Path) -> None:
    """Its room is full of zeros, also where something was in it; it grows as if nothing had happened."""
    layout = Layout(tmp_path)
    collection = Collection(layout, NAMESPACE, None, "abc-64", 1)
    folder = chroma_folder(layout, NAMESPACE)
    collection.put(chunks(0, 10))
    (data,) = folder.glob("*/data_level0.bin")
    assert data.stat().st_size > 0
    assert data.read_bytes().strip(b"\0") == b""
    data.write_bytes(JUNK * (data.stat().st_size // len(JUNK)))
    collection.put(chunks(10, 10))
    assert b"xylophone" not in data.read_bytes()
    for start in range(20, 2020, 200):
        collection.put(chunks(start, 200))
    query = np.frombuffer(chunks(1820, 200)[7][4], np.float32)
    assert collection.nearest(query, 1).tolist() == [1827]
    collection.close()
    again = Collection(layout, NAMESPACE, None, "abc-64", 1)
    assert again.nearest(query, 1).tolist() == [1827]
    assert again.nearest(np.frombuffer(chunks(0, 10)[3][4], np.float32), 1).tolist() == [3]
    again.close()


@given(taken=st.integers(0, 5), room=st.integers(0, 5), size=st.integers(1, 50), version=st.integers(1, 2))
def test_what_is_taken_stays(
    tmp_path_factory: pytest.TempPathFactory, taken: int, room: int, size: int, version: int
) -> None:
    """Only what is beyond goes, and only of a kind of index that is known."""
    folder = tmp_path_factory.mktemp("index")
    inside = folder / "segment"
    inside.mkdir()
    before = {"data_level0.bin": b"\1" * room * size, "length.bin": b"\2" * room * 4}
    for name, content in before.items():
        (inside / name).write_bytes(content)
    (inside / "header.bin").write_bytes(struct.pack("<iQQQQ", version, 0, room, taken, size))
    known = version == 1 and taken <= room
    assert clear_slack(folder) == ((room - taken) * (size + 4) if known else 0)
    for name, content in before.items():
        keep = taken * (size if name.startswith("data") else 4) if known else len(content)
        assert (inside / name).read_bytes() == content[:keep] + bytes(len(content) - keep)


def test_where_there_is_nothing_nothing_happens(tmp_path: Path) -> None:
    """No folder, no files, a header that is cut off."""
    assert clear_slack(tmp_path / "none") == 0
    (tmp_path / "segment").mkdir()
    (tmp_path / "segment" / "header.bin").write_bytes(b"short")
    assert clear_slack(tmp_path) == 0
    (tmp_path / "segment" / "header.bin").write_bytes(struct.pack("<iQQQQ", 1, 0, 9, 0, 9))
    assert clear_slack(tmp_path) == 0
