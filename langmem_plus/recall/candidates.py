"""What a reranker compares, as plain arrays, one entry a hit."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langmem_plus.recall.readings import Reading, read
from langmem_plus.records import TURN_ROLES, MemoryHit
from langmem_plus.speakers import name_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# The roles of what people say; a reply with a name is a person's, too.
_STATED = ("user", "memory")


@dataclass(frozen=True)
class Candidates:
    """What is known of the candidates, one entry each.

    Attributes:
        texts: what their texts hold, without the speaker's name.
        names: the speaker's name, "" where nobody is named.
        replies: whether an assistant without a name says it.
        stated: whether a person says it, in a turn or as a fact.
        before, after: the place of the turn before and after it, or the number of candidates where that is none.
        sessions: the number of its session, from 0.
        newest: its place where the newest stand first, those of one time by their ids.
        days: when it was said.
        cosines: its vector's cosine to the question's; NaN where there is none.
    """

    texts: Sequence[Reading]
    names: Sequence[str]
    replies: Flags
    stated: Flags
    before: Ints
    after: Ints
    sessions: Ints
    newest: Ints
    days: Sequence[dt.date]
    cosines: Floats

    def __len__(self) -> int:
        return len(self.texts)

    @functools.cached_property
    def after_another(self) -> Flags:
        """Whether another speaker said the turn before."""
        return self._of_another(self.before)

    @functools.cached_property
    def before_another(self) -> Flags:
        """Whether another speaker said the turn after."""
        return self._of_another(self.after)

    @functools.cached_property
    def answers(self) -> Flags:
        """Whether it was said after another speaker's question."""
        asking = np.array([*(text.asks for text in self.texts), False], bool)
        found: Flags = self.after_another & asking[self.before]
        return found

    def _of_another(self, places: Ints) -> Flags:
        who = [*zip(self.names, self.replies.tolist(), strict=True)]
        end = len(who)
        others = [place < end and who[place] != own for own, place in zip(who, places.tolist(), strict=True)]
        return np.array(others, bool)


def make_candidates(hits: Sequence[MemoryHit]) -> Candidates:
    """The arrays that features are made of."""
    records = [hit.record for hit in hits]
    names, said_at = [name_of(record) for record in records], [record.said_at for record in records]
    before, after = neighbours(hits)
    return Candidates(
        texts=[read(record.text) for record in records],
        names=names,
        replies=np.array([r.role == "assistant" and not name for r, name in zip(records, names, strict=True)], bool),
        stated=np.array([r.role in _STATED or bool(name) for r, name in zip(records, names, strict=True)], bool),
        before=before,
        after=after,
        sessions=sessions(hits),
        newest=newest(hits, said_at),
        days=[time.date() for time in said_at],
        cosines=np.array([hit.scores.get("cosine", np.nan) for hit in hits], np.float64),
    )


def newest(hits: Sequence[MemoryHit], said_at: Sequence[dt.datetime]) -> Ints:
    """The place of each hit where the newest stand first, those of one time by namespace and id."""
    records = [(-time.timestamp(), hit.namespace, hit.record.id) for hit, time in zip(hits, said_at, strict=True)]
    places = np.empty(len(hits), np.int64)
    places[sorted(range(len(hits)), key=records.__getitem__)] = np.arange(len(hits))
    return places


def sessions(hits: Sequence[MemoryHit]) -> Ints:
    """The number of each hit's thread, from 0; what belongs to no thread stands alone."""
    numbers: dict[object, int] = {}
    keys: list[object] = [
        (hit.namespace, hit.record.thread_id) if hit.record.thread_id else place for place, hit in enumerate(hits)
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def neighbours(hits: Sequence[MemoryHit]) -> tuple[Ints, Ints]:
    """For each hit the places of the turns before and after it in its thread, the number of hits where that one isn't
    among them.

    Turns are numbered with each message of the user's, and positions within a turn; where the length of a turn isn't
    known, the next turn's first message counts as the neighbour of the last one that is here.
    """
    end = len(hits)
    before, after = np.full(end, end, np.int64), np.full(end, end, np.int64)
    threads: dict[object, list[tuple[tuple[int, int], int]]] = {}
    for here, hit in enumerate(hits):
        number, position = (hit.record.metadata.get(name) for name in ("turn", "position"))
        if hit.record.role in TURN_ROLES and hit.record.thread_id and isinstance(number, int):
            at = number, position if isinstance(position, int) else 0
            threads.setdefault((hit.namespace, hit.record.thread_id), []).append((at, here))
    for line in threads.values():
        line.sort()
        for ((turn, position), here), ((next_turn, next_position), there) in itertools.pairwise(line):
            follows = next_turn == turn and next_position == position + 1
            if follows or (next_turn == turn + 1 and next_position == 0):
                after[here], before[there] = there, here
    return before, after
