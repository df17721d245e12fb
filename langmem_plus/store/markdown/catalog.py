"""What a namespace's searches read at every query, held in memory: outlines and vectors, kept up by appending.

The catalog never decides anything: it can be thrown away and is rebuilt from the index.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from langmem_plus.store.markdown.index import Index, Outline
from langmem_plus.store.markdown.keywords import Keywords
from langmem_plus.store.search import Floats, Ids, places_in, products, taken

_FILTERED = ("role", "status", "thread_id")
# Dead versions that are carried along before everything is read anew.
_DEAD = 1000
# The share of the time that goes into looking whether others brought what waits for a vector, if more than so many do.
_LOOK_SHARE, _LOOK_ALWAYS = 0.1, 500


class _Column:
    """A growing array: appending is amortised, reading is a view."""

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        self._data = np.zeros((0,) if width is None else (0, width), dtype)
        self._length = 0

    def extend(self, values: Any) -> None:
        block = np.asarray(values, self._data.dtype).reshape(-1, *self._data.shape[1:])
        needed = self._length + len(block)
        if needed > len(self._data):
            grown = np.zeros((max(needed, 2 * len(self._data)), *self._data.shape[1:]), self._data.dtype)
            grown[: self._length] = self._data[: self._length]
            self._data = grown
        self._data[self._length : needed] = block
        self._length = needed

    @property
    def view(self) -> Any:
        return self._data[: self._length]


class Catalog:
    """The items of one namespace as arrays, row i being the i-th version written.

    Args:
        model: the embedder's id; None keeps no vectors.
    """

    def __init__(self, model: str | None) -> None:
        self.model = model
        self._size: int | None = None
        self._clear()

    def _clear(self) -> None:
        self._position = (0, 0)
        self._ids = _Column(np.int64)
        self._alive = _Column(np.bool_)
        self._codes = {name: _Column(np.int32) for name in _FILTERED}
        self._names: dict[str, dict[str | None, int]] = {name: {None: 0} for name in _FILTERED}
        self._before, self._after = _Column(np.int64), _Column(np.int64)
        self._threads: dict[str, list[tuple[str, int, int]]] = {}
        self._thread_of: dict[int, str] = {}
        self._vectors: _Column | None = None
        self._vector_rows, self._has_vector = _Column(np.int64), _Column(np.bool_)
        self._by_row: tuple[Ids, Ids] | None = None
        self.epoch = object()  # changes whenever the rows and the vectors are counted anew
        self._waiting: dict[bytes, list[int]] = {}
        self._seen_vectors: int | None = None
        self._next_look = self._look_began = 0.0
        self._dead = 0
        self.words = Keywords("words")
        self.windows = Keywords("windows", self.words)
        self._lined_up = self._several_each = False  # whether any turn has a neighbour, any item several vectors
        self._seen: object = None
        self.has_mortals = False  # whether anything may expire

    @property
    def waiting(self) -> list[bytes]:
        """The hashes of the texts that have no vector yet."""
        alive = self._alive.view
        for text in [text for text, rows in self._waiting.items() if not alive[rows].any()]:
            del self._waiting[text]
        return list(self._waiting)

    def waits(self, text: bytes) -> bool:
        """Whether the text with this hash has no vector yet."""
        alive = self._alive.view
        return any(alive[row] for row in self._waiting.get(text, ()))

    def count_waiting(self) -> int:
        """As many as `waiting` gives, or some more: those of items that are gone may be among them."""
        return len(self._waiting)

    def refresh(self, index: Index, size: int | None = None) -> None:
        """Read what changed in the index since the last time.

        Args:
            index: the index.
            size: how long the embedder's vectors are now, None while it isn't known. Kept ones of another size can't be
                compared with its own any more: their texts wait for a vector like new ones.
        """
        if size is not None and size != self._size:
            if self._size is not None:
                self._clear()
            self._size = size
        with index.reading():  # one state, or what is written meanwhile would be read twice
            state = index.state()
            if state != self._seen and (position := index.position()) != self._position:
                dropped = index.dropped(self._position[1])
                if dropped is None or self._dead > max(_DEAD, len(self._ids.view) // 2):
                    self._clear()  # as good as new, without the dead versions
                    dropped = []
                seen = self._position[0]
                chunks = index.vectors.of_items(seen, self.model) if self.model is not None else []
                outlines = index.outlines(seen)
                gone, lined_up = self._follow(dropped, outlines, chunks)
                size, new = len(self._ids.view), [outline[0] for outline in outlines]
                self.words.follow(index, self, size, new, gone)
                self.windows.follow(index, self, size, [*new, *self.ids(lined_up).tolist()], gone)
                self._position, self.has_mortals = position, index.has_mortals()
            self._seen = state
            arrived = index.vectors.take_arrived()
            if self._waiting and self.model is not None:
                self._take(index, self.model, self._waiting if self._others_wrote(index) else arrived)

    def _others_wrote(self, index: Index) -> bool:
        """Whether other connections may have brought vectors. To look for all that wait takes long where much does: no
        larger share of the time than ``_LOOK_SHARE`` goes into it.
        """
        version, now = index.vectors.version(), time.monotonic()
        if version == self._seen_vectors or (now < self._next_look and len(self._waiting) > _LOOK_ALWAYS):
            return False
        self._seen_vectors, self._look_began = version, now
        return True

    def _take(self, index: Index, model: str, texts: Iterable[bytes]) -> None:
        """Take the vectors of those of some waiting texts that have one by now."""
        hashes = [text for text in texts if text in self._waiting]
        for text, vector in index.vectors.get(model, hashes).items() if hashes else ():
            if self._fits(vector):
                rows = self._waiting.pop(text)
                self._add_vectors(rows, [vector] * len(rows))
        if self._look_began:
            now = time.monotonic()
            self._next_look, self._look_began = now + (now - self._look_began) / _LOOK_SHARE, 0.0

    def _follow(
        self, dropped: list[int], outlines: list[Outline], chunks: list[tuple[int, bytes, bytes | None]]
    ) -> tuple[Ids, Ids]:
        """Take over what changed; gives the rows that are gone, and those whose neighbours may be others now."""
        rows = self.rows_of(dropped)
        rows = rows[rows >= 0]
        self._alive.view[rows] = False
        self._dead += len(rows)
        touched = {thread for row in rows if (thread := self._thread_of.pop(int(row), None)) is not None}
        lined_up = self._line_up(touched | self._append_outlines(outlines))
        self._append_vectors(chunks)
        return rows, lined_up

    def _append_outlines(self, outlines: list[Outline]) -> set[str]:
        """Append items, and tell in which threads they stand."""
        start = len(self._ids.view)
        columns = ([o[1] for o in outlines], [o[2] for o in outlines], [o[3] for o in outlines])
        for name, values in zip(_FILTERED, columns, strict=True):
            names = self._names[name]
            self._codes[name].extend([names.setdefault(value, len(names)) for value in values])
        self._ids.extend([outline[0] for outline in outlines])
        self._alive.extend(np.ones(len(outlines), np.bool_))
        self._has_vector.extend(np.zeros(len(outlines), np.bool_))
        for column in (self._before, self._after):
            column.extend(np.full(len(outlines), -1, np.int64))
        touched: set[str] = set()
        for row, (_, _, _, thread, place, born) in enumerate(outlines, start):
            if thread is not None and place is not None:
                self._threads.setdefault(thread, []).append((place, born, row))
                self._thread_of[row] = thread
                touched.add(thread)
        return touched

    def _line_up(self, threads: set[str]) -> Ids:
        """Tell the living turns of some threads their neighbours; gives these turns' rows."""
        alive, lined_up = self._alive.view, [np.empty(0, np.int64)]
        for thread in threads:
            turns = sorted(turn for turn in self._threads[thread] if alive[turn[2]])
            self._threads[thread] = turns
            rows = np.asarray([turn[2] for turn in turns], np.int64)
            self._lined_up |= len(rows) > 1
            self._before.view[rows] = np.concatenate(([-1], rows[:-1]))[: len(rows)]
            self._after.view[rows] = np.concatenate((rows[1:], [-1]))[: len(rows)]
            lined_up.append(rows)
        return np.concatenate(lined_up)

    def _append_vectors(self, chunks: list[tuple[int, bytes, bytes | None]]) -> None:
        rows, vectors = [], []
        for row, (_, text, vector) in zip(self.rows_of([chunk[0] for chunk in chunks]), chunks, strict=True):
            if vector is None or not self._fits(vector):
                self._waiting.setdefault(text, []).append(int(row))
            else:
                rows.append(int(row))
                vectors.append(vector)
        self._add_vectors(rows, vectors)

    def _fits(self, vector: bytes) -> bool:
        """Whether a vector has the size of the others; before any is known, the first one's."""
        self._size = self._size or len(vector) // 4
        return len(vector) == 4 * self._size

    def _add_vectors(self, rows: list[int], vectors: list[bytes]) -> None:
        if not vectors:
            return
        if self._vectors is None:
            self._vectors = _Column(np.float32, self._size)
        self._by_row = None
        has = self._has_vector.view
        self._several_each = self._several_each or len({*rows}) < len(rows) or bool(has[rows].any())
        has[rows] = True
        self._vectors.extend(np.frombuffer(b"".join(vectors), "<f4"))
        self._vector_rows.extend(rows)

    def rows_of(self, ids: Any) -> Ids:
        """The rows of some ids, -1 for an id that isn't there."""
        return places_in(self._ids.view, np.asarray(ids, np.int64))

    def select(self, condition: Mapping[str, Any] | None, apart_from: Sequence[int] = ()) -> Ids:
        """The rows of the living items that can meet a filter: role, status and thread are told apart here, everything
        else is for the caller to check on the values. Items with an id among ``apart_from`` are left out.
        """
        allowed = self._alive.view.copy()
        if len(apart_from):
            out = self.rows_of(apart_from)
            allowed[out[out >= 0]] = False
        for name, column in self._codes.items() if condition else ():
            wanted = condition.get(name) if condition else None
            equal, different = (wanted, None) if isinstance(wanted, str) else (None, None)
            if isinstance(wanted, Mapping):
                equal, different = wanted.get("$eq"), wanted.get("$ne")
            codes = self._names[name]
            if isinstance(equal, str):
                allowed &= column.view == codes.get(equal, -1)
            if isinstance(different, str):
                allowed &= column.view != codes.get(different, -1)
        return np.flatnonzero(allowed).astype(np.int64)

    def ids(self, rows: Ids) -> Ids:
        """The index's ids of some rows."""
        return self._ids.view[rows]  # type: ignore[no-any-return]

    @property
    def vector_count(self) -> int:
        """The vectors held, those of dead versions too, in the order in which they came."""
        return len(self._vector_rows.view)

    @property
    def size(self) -> int | None:
        """The length of the vectors."""
        return self._size

    def with_vectors(self) -> tuple[Ids, Ids]:
        """The ids of the living items that have vectors, in order, and how many each has."""
        rows, counts = np.unique(self._vector_rows.view, return_counts=True)
        alive = self._alive.view[rows]
        return self._ids.view[rows[alive]], counts[alive]

    def candidates(self, ids: Ids, since: int) -> Ids:
        """The rows of some ids, of the vectors that came after the first ``since``, and of their neighbours."""
        rows = np.concatenate((self.rows_of(ids), self._vector_rows.view[since:]))
        return self._with_neighbours(rows[rows >= 0])

    def _with_neighbours(self, rows: Ids) -> Ids:
        both = np.concatenate((rows, self._before.view[rows], self._after.view[rows]))
        return np.unique(both[both >= 0])

    def cosines(self, rows: Ids, query: Floats, among: Ids | None = None) -> tuple[Floats, Floats]:
        """Cosine of each item with the query (its best vector), alone and with its neighbours; NaN without a vector.
        With ``among``, all other rows count as if they had none.

        With neighbours: the item counts twice as much as each of them (Source: LoCoMo runs; no second embedding).
        """
        best = np.full(len(self._ids.view), np.nan, np.float32)
        if self._vectors is None or self._vectors.view.shape[1] != len(query):
            return best[rows], best[rows]
        if among is None:
            owners, similarity = self._vector_rows.view, products(self._vectors.view, query)
        else:
            slots = self._slots(self._with_neighbours(among))
            owners, similarity = self._vector_rows.view[slots], products(self._vectors.view[slots], query)
        if self._several_each:
            best[owners] = -np.inf
            np.maximum.at(best, owners, similarity)
        else:
            best[owners] = similarity
        if not self._lined_up and among is None:
            best = taken(best, rows)
            return best, best
        total, weight = best[rows], np.ones(len(rows), np.float32)
        padded = np.append(best, np.float32(np.nan))  # -1, no neighbour, is the last
        for column in (self._before, self._after):
            cosine = padded[taken(column.view, rows)]
            present = np.isfinite(cosine)
            total += np.where(present, cosine / 2, np.float32(0))
            weight += np.where(present, np.float32(0.5), np.float32(0))
        if among is None:
            return taken(best, rows), total / weight
        chosen = np.zeros(len(self._ids.view), np.bool_)
        chosen[among] = True
        others = ~chosen[rows]
        alone, window = best[rows], total / weight
        alone[others] = window[others] = np.nan
        return alone, window

    def _sorted(self) -> tuple[Ids, Ids]:
        """The vectors' places in the order of their rows, and these rows."""
        if self._by_row is None:
            by_row = np.argsort(self._vector_rows.view, kind="stable")
            self._by_row = by_row, self._vector_rows.view[by_row]
        return self._by_row

    def _slots(self, rows: Ids) -> Ids:
        """The places of the vectors of some rows."""
        by_row, owners = self._sorted()
        low, high = np.searchsorted(owners, rows), np.searchsorted(owners, rows, "right")
        counts = high - low
        starts = np.repeat(low - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(rows) else low
        return by_row[starts + np.arange(counts.sum())]

    def nearest_vectors(self, ids: Sequence[int], query: Floats) -> dict[int, Floats]:
        """Each item's vector that is nearest to the query."""
        if self._vectors is None or not ids or self._vectors.view.shape[1] != len(query):
            return {}
        by_row, sorted_rows = self._sorted()
        rows = self.rows_of(ids)
        if not self._several_each:
            places = places_in(sorted_rows, rows)
            vectors = self._vectors.view[by_row[places]]
            return {row_id: v for row_id, place, v in zip(ids, places.tolist(), vectors, strict=True) if place >= 0}
        found: dict[int, Floats] = {}
        for row_id, row, low, high in zip(
            ids, rows, np.searchsorted(sorted_rows, rows), np.searchsorted(sorted_rows, rows, "right"), strict=True
        ):
            if row >= 0 and high > low:
                candidates = self._vectors.view[by_row[low:high]]
                found[row_id] = candidates[int(np.argmax(candidates @ query))]
        return found
