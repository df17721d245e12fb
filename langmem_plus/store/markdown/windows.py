"""The second view of a turn: its words together with its neighbours' in the thread."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.store.markdown.index import Index


def write_windows(index: Index, written: Sequence[int]) -> None:
    """Index written turns with their neighbours' words, and those anew that have other neighbours since the last call.
    An item whose neighbours add nothing to its own words, or that has none, is left out: its words say it all.
    """
    members: dict[int, list[int]] = {}
    for place in {*index.places(written).values(), *index.take_loosened()}:
        before, here, after = index.around(place)
        line = [*before, *here, *after]
        for at in range(max(0, len(before) - 1), min(len(line), len(before) + len(here) + 1)):
            members[line[at]] = line[max(0, at - 1) : at + 2]
    if members:
        words = index.tokens(sorted({row_id for near in members.values() for row_id in near}))
        windows = {row_id: " ".join(filter(None, map(words.get, near))) for row_id, near in members.items()}
        index.write_windows({row_id: "" if text == words.get(row_id) else text for row_id, text in windows.items()})
