"""One namespace: its folder, its index, its lock. Everything that touches them goes through here."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import StoreError
from langmem_plus.records import format_time, parse_time, utc_now
from langmem_plus.store.markdown import pending
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.database import Database
from langmem_plus.store.markdown.describe import Description, describe, text_hash
from langmem_plus.store.markdown.files import Action, Namespace
from langmem_plus.store.markdown.frontmatter import Entry, render
from langmem_plus.store.markdown.index import Index, Row, Stamp
from langmem_plus.store.markdown.layout import DELETED, Layout, encode_name, file_path
from langmem_plus.store.markdown.sync import bring_in_step, write_windows
from langmem_plus.store.search import Floats, Leg, matches

logger = logging.getLogger(__name__)

# A look at the files may take this share of the time at most, however many there are.
_SYNC_SHARE = 0.05


@dataclass(frozen=True)
class Write:
    """One put (or, with ``value`` None, one delete) that a batch asks for."""

    key: str
    value: dict[str, Any] | None
    index: list[str] | bool | None = None


@dataclass(frozen=True)
class Step:
    """One planned write: the entry (a deleted one has its ``removed_at``), its file, and the file that goes."""

    key: str
    entry: Entry
    path: str
    old_path: str | None


class OpenNamespace:
    """An open namespace; thread-safe. Reading brings it in step with its files, at most once a ``sync_interval``.

    Args:
        layout: where things lie.
        namespace: the labels.
        config: the store's settings.
        fields: the paths that are searched, None for the default.
        model: the embedder's id, None without vectors.
    """

    def __init__(
        self,
        layout: Layout,
        namespace: Namespace,
        config: MemoryConfig,
        fields: Sequence[str] | None,
        model: str | None,
    ) -> None:
        self.namespace = namespace
        self.folder = layout.folder(namespace)
        self._layout, self._config, self._fields, self._model = layout, config, fields, model
        self._database = Database(layout, namespace, opened=self._start_over)
        self._use = self._database.use
        self._start_over()

    def _start_over(self) -> None:
        """A database was opened: nothing that is held in memory speaks of it."""
        self._catalog = Catalog(self._model)
        self._next_look = 0.0

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return self.folder.is_dir()

    def close(self) -> None:
        """Close the database; it opens again when needed."""
        self._database.close()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the namespace against other threads and processes."""
        with self._database.locked():
            yield

    # in step with the files

    def _in_step(self, index: Index) -> Index:
        if time.monotonic() >= self._next_look:
            with self._database.locked():
                started = time.monotonic()
                if bring_in_step(index, self.folder, self.namespace, self._fields):
                    pending.mark(self._layout, self.namespace, index.pending())
                took = time.monotonic() - started
            self._next_look = time.monotonic() + max(self._config.sync_interval, took / _SYNC_SHARE)
        return index

    def look_again(self) -> None:
        """Compare with the files at the next use, whatever the interval."""
        self._next_look = 0.0

    # writing; the caller holds `locked` and calls plan, then writes the files, then `commit`

    def plan(self, writes: Sequence[Write]) -> list[Step]:
        """Decide the files of some writes, each key at most once."""
        return self._use(lambda index: self._plan(self._in_step(index), writes))

    def _plan(self, index: Index, writes: Sequence[Write]) -> list[Step]:
        steps: list[Step] = []
        taken: set[str] = set()
        for write in writes:
            row = index.get(write.key)
            now = _later_than(row.updated_at if row else None)
            if write.value is None:
                if row is not None:
                    gone = Entry(row.key, row.load_value(), row.created_at, now, removed_at=now)
                    steps.append(Step(row.key, gone, f"{DELETED}/{row.path.removeprefix(DELETED + '/')}", row.path))
                continue
            entry = Entry(write.key, write.value, row.created_at if row else now, now, write.index)
            path = self._place(entry, row, index, taken)
            taken.add(path)
            steps.append(Step(write.key, entry, path, row.path if row and row.path != path else None))
        return steps

    def _place(self, entry: Entry, row: Row | None, index: Index, taken: set[str]) -> str:
        thread = entry.value.get("thread_id")
        said = entry.value.get("created_at") if entry.role else entry.created_at
        path = file_path(
            entry.role, entry.key, str(said), thread if isinstance(thread, str) else None, entry.is_tombstone
        )
        if row is not None and row.path.rpartition("/")[0] == path.rpartition("/")[0]:
            return row.path
        if path in taken or index.holder(path) not in (None, entry.key):
            path = path.removesuffix(".md") + f"__{encode_name(entry.key)}.md"
        return path

    def actions(self, steps: Sequence[Step]) -> list[Action]:
        """The files to write and remove."""
        found = []
        for step in steps:
            found.append(Action(self.namespace, step.path, render(step.entry)))
            if step.old_path is not None and step.old_path != step.path:
                found.append(Action(self.namespace, step.old_path, None))
        return found

    def commit(self, steps: Sequence[Step], vectors: Mapping[str, Floats]) -> None:
        """Index what was written. The files are the truth: should this fail, the next look at them mends it."""
        described = {s.key: describe(s.entry, self._fields) for s in steps if not s.entry.removed_at}
        try:
            self._use(lambda index: self._commit(index, steps, described, vectors))
        except StoreError as error:
            logger.warning("%s The memory is stored in its file; the index follows.", error)
            self.look_again()
            return
        waiting = [key for key, description in described.items() if description.pending]
        pending.mark(self._layout, self.namespace, waiting)
        done = (step.key for step in steps if step.key not in set(waiting))
        pending.unmark(self._layout, self.namespace, done)

    def _commit(
        self, index: Index, steps: Sequence[Step], described: Mapping[str, Description], vectors: Mapping[str, Floats]
    ) -> None:
        index.begin()
        try:
            written = []
            for step in steps:
                file = self.folder / step.path
                stamp = Stamp.of(file.stat())
                if step.key not in described:
                    index.remove(step.key)
                    index.skip(step.path, stamp, "deleted")
                else:
                    index.remove_path(step.path)
                    written.append(index.put(step.entry, described[step.key], step.path, stamp))
            write_windows(index, written)
            if self._model is not None:
                texts = {text for description in described.values() for text in description.texts}
                index.put_vectors(self._model, {text_hash(t): vectors[t].tobytes() for t in texts if t in vectors})
            index.commit()
        except BaseException:
            index.rollback()
            raise

    # reading

    def get(self, key: str) -> Row | None:
        """The item with a key."""
        return self._use(lambda index: self._in_step(index).get(key)) if self.exists else None

    def count(self) -> int:
        """The number of items."""
        return self._use(lambda index: self._in_step(index).count()) if self.exists else 0

    def newest(self, condition: Mapping[str, Any] | None) -> Iterator[Row]:
        """The items that meet a filter, newest update first, read page by page."""
        before: tuple[str, int] | None = None
        where, values = _narrow(condition)
        while self.exists:
            page = self._use(lambda index, at=before: self._in_step(index).newest(at, where, values))  # type: ignore[misc]
            yield from (row for row in page if matches(row.load_value(), condition))
            if not page:
                return
            before = (page[-1].updated_at, page[-1].id)

    def known_texts(self, texts: Sequence[str]) -> set[str]:
        """Which texts have a vector already."""
        if self._model is None or not self.exists:
            return set()
        by_hash = {text_hash(text): text for text in texts}
        model = self._model
        return {by_hash[h] for h in self._use(lambda index: index.known_vectors(model, list(by_hash)))}

    def waiting(self, limit: int) -> list[str]:
        """Texts that wait for a vector."""

        def read(index: Index) -> list[str]:
            self._catalog.refresh(self._in_step(index))
            return index.texts(self._catalog.waiting[:limit])

        return self._use(read) if self.exists and self._model is not None else []

    def put_vectors(self, vectors: Mapping[str, Floats]) -> None:
        """Keep vectors that arrived later."""
        if self._model is None or not vectors:
            return
        model, rows = self._model, {text_hash(text): vector.tobytes() for text, vector in vectors.items()}

        def write(index: Index) -> None:
            index.begin()
            index.put_vectors(model, rows)
            index.commit()

        with self.locked():
            self._use(write)

    def leg(self, terms: Sequence[str], query: Floats | None, condition: Mapping[str, Any] | None) -> Leg:
        """The raw scores of the items that can meet a filter."""

        def read(index: Index) -> Leg:
            catalog, pool = self._catalog, self._config.keyword_pool
            catalog.refresh(self._in_step(index))
            rows = catalog.select(condition)
            words = catalog.spread(rows, index.match("words", terms, pool))
            windows = catalog.spread(rows, index.match("windows", terms, pool))
            if query is None:
                cosine = window_cosine = np.full(len(rows), np.nan, np.float32)
            else:
                cosine, window_cosine = catalog.cosines(rows, query)
            found = np.isfinite(words) | np.isfinite(windows) | np.isfinite(cosine)
            # Newer first among equals: the fusion keeps the order of the rows.
            kept = np.flatnonzero(found)[::-1]
            return Leg(catalog.ids(rows[kept]), *(column[kept] for column in (words, windows, cosine, window_cosine)))

        return self._use(read) if self.exists else Leg.empty()

    def load(self, ids: Sequence[int]) -> dict[int, Row]:
        """Items by their ids."""
        return self._use(lambda index: index.load(ids))

    def nearest_vectors(self, ids: list[int], query: Floats) -> dict[int, Floats]:
        """Each item's vector nearest to the query."""
        with self._database.held():
            return self._catalog.nearest_vectors(ids, query)

    def coverage(self, ids: list[int], terms: Sequence[str]) -> dict[int, float]:
        """The share of the terms that each item holds, weighted by their rarity, in [0, 1]."""

        def read(index: Index) -> dict[int, float]:
            rarity = index.rarity(terms)
            total = sum(rarity.values())
            held = {row_id: set(tokens.split()) for row_id, tokens in index.tokens(ids).items()}
            return {
                row_id: sum(weight for term, weight in rarity.items() if term in words) / total if total else 0.0
                for row_id, words in held.items()
            }

        return self._use(read)

    def set_scores(self, scores: Mapping[str, str]) -> None:
        """Keep the scores of a recall."""

        def write(index: Index) -> None:
            index.begin()
            for key, text in scores.items():
                index.set_scores(key, text)
            index.commit()

        if self.exists:
            self._use(write)


def _later_than(time_before: str | None) -> str:
    now = format_time(utc_now())
    if time_before is None or now > time_before:
        return now
    parsed: dt.datetime = parse_time(time_before)
    return format_time(parsed + dt.timedelta(microseconds=1))


def _narrow(condition: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    """What the database can tell of a filter beforehand; every condition is checked again on the values."""
    clauses, values = ["1"], []
    for name in ("role", "status", "thread_id"):
        wanted = (condition or {}).get(name)
        operators = wanted if isinstance(wanted, Mapping) else {"$eq": wanted} if isinstance(wanted, str) else {}
        for operator, sql in (("$eq", "IS"), ("$ne", "IS NOT")):
            if isinstance(operators.get(operator), str):
                clauses.append(f"{name} {sql} ?")
                values.append(operators[operator])
    return " AND ".join(clauses), values
