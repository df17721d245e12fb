"""What is kept of an index's files between two looks is what its tables say."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import UNREADABLE, Index

TIME = "2026-05-01T10:00:00.000000Z"
NAMES = st.sampled_from(["a", "b", "c\ud800"])
STEPS = st.tuples(st.sampled_from(["put", "skip", "remove", "vanish", "touch"]), NAMES, NAMES, st.integers(1, 9))


class TakenBackError(Exception):
    """Ends a write before its end."""


def _do(index: Index, kind: str, key: str, path: str, size: int) -> None:
    stamp = Stamp(1, size, 3, 4)
    if kind == "put":
        entry = Entry(key, {"text": "green tea"}, TIME, TIME)
        index.put(entry, describe(entry, None), path, stamp)
    elif kind == "skip":
        index.skip(path, stamp, UNREADABLE)
    elif kind == "remove":
        index.remove(key)
    elif kind == "vanish":
        index.remove_path(path)
    else:
        index.files.restamp(path, stamp)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(STEPS, max_size=4), st.booleans(), st.booleans()), max_size=6))
def test_it_says_what_the_tables_say(writes: list[tuple[list[tuple[str, str, str, int]], bool, bool]]) -> None:
    """After any writes, by this connection or by another one, to their end or taken back."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "index.db"), Path(folder, "vectors.db")
        with contextlib.closing(Index(*files)) as mine, contextlib.closing(Index(*files)) as other:
            for steps, is_mine, ends in writes:
                mine.files.all()
                index = mine if is_mine else other
                with contextlib.suppress(TakenBackError), index.writing():
                    for step in steps:
                        _do(index, *step)
                    if not ends:
                        raise TakenBackError
                with contextlib.closing(Index(*files)) as fresh:
                    assert dict(mine.files.all()) == dict(fresh.files.all())
