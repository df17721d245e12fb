"""One namespace: its folder, its index, its lock. Everything that touches them goes through here."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import StoreError
from langmem_plus.store.embedding import TextEmbedder
from langmem_plus.store.markdown import expiring, pending, planning
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.connection import is_busy
from langmem_plus.store.markdown.database import Database
from langmem_plus.store.markdown.describe import Description, describe
from langmem_plus.store.markdown.expiring import Expiry
from langmem_plus.store.markdown.files import Namespace, Stamp, journals
from langmem_plus.store.markdown.index import DUPLICATE, REMOVED, UNREADABLE, Index, Row, narrowed
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.legs import Nearest
from langmem_plus.store.markdown.planning import Step, Write
from langmem_plus.store.markdown.sync import bring_in_step
from langmem_plus.store.markdown.visit import Visit
from langmem_plus.store.markdown.windows import write_windows
from langmem_plus.store.refused import text_hash
from langmem_plus.store.search import Floats, matches

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A look at the files may take this share of the time at most, however many there are.
_SYNC_SHARE = 0.05


class InterruptedBatchError(Exception):
    """A crash left a batch of this namespace half-done: finish it first, then look again."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__(namespace)
        self.namespace = namespace


class OpenNamespace:
    """An open namespace; thread-safe. Reading brings it in step with its files, at most once a ``sync_interval``.

    Args:
        layout: where things lie.
        namespace: the labels.
        config: the store's settings.
        fields: the paths that are searched, None for the default.
        embedder: whose vectors are searched, None without vectors.
        expiry: the store's time to live.
        opened: called when its database was opened.
    """

    def __init__(
        self,
        layout: Layout,
        namespace: Namespace,
        config: MemoryConfig,
        fields: Sequence[str] | None,
        embedder: TextEmbedder | None,
        expiry: Expiry,
        opened: Callable[[OpenNamespace], None],
    ) -> None:
        self.namespace = namespace
        self.folder = layout.folder(namespace)
        self._folder = str(self.folder)
        self._layout, self._config, self._fields, self._embedder = layout, config, fields, embedder
        self._tell, self._expiry = opened, expiry
        self._database = Database(layout, namespace, opened=self._start_over)
        self.use = self._use = self._database.use
        self.discard, self.make_room = self._database.discard, self._database.make_room
        self.close, self.close_if_idle = self._database.close, self._database.close_if_idle
        self.hold, self.let_go = self._database.hold, self._database.let_go
        self.leave_to_parent, self.locked = self._database.leave_to_parent, self._database.locked
        self._start_catalog()
        self._asked, self._seen, self._next_look, self._heard = 1, 0, 0.0, 0
        self.edited: Callable[[Namespace], object] = lambda namespace: None  # told when the files had changed

        # An approximate index, where there is one: given a query, and whether a filter will follow.
        self.nearest: Callable[[Floats, bool], Nearest | None] = lambda query, filtered: None
        self.drop_collections: Callable[[], list[str]] = list  # what an erasure removes of it

    @property
    def vectors_held(self) -> tuple[object, int]:
        """The epoch of what is held in memory, and how many vectors that are."""
        return self._catalog.epoch, self._catalog.vector_count

    def _start_catalog(self) -> None:
        self._catalog = Catalog(self._embedder.model if self._embedder else None)

    def _start_over(self) -> None:
        """A database was opened: nothing that is held in memory speaks of it."""
        self._start_catalog()
        self.look_again()
        self._tell(self)

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return os.path.isdir(self._folder)  # noqa: PTH112 - at every use, so the cheapest call

    # in step with the files

    def _in_step(self, index: Index) -> Index:
        asked = self._asked
        # Only a look that was asked for has to be had; others don't wait for another process that is at work here.
        first = asked != self._seen
        if self._is_in_step():
            return index
        took = 0.0
        with contextlib.nullcontext(True) if index.in_memory else self._database.trying(wait=first) as mine:
            if mine:
                self._heard, began = self._database.told(), time.monotonic()
                # Reading what changed isn't the price of looking: the next look doesn't pay it again.
                took = time.monotonic() - began if self._look(index, first) is False else 0.0
        self._seen = asked
        interval = self._config.sync_interval  # 0: at every use, whatever it costs
        self._next_look = time.monotonic() + (max(interval, took / _SYNC_SHARE) if interval else 0.0)
        return index

    def _is_in_step(self) -> bool:
        """Whether it isn't time to look at the files yet."""
        return self._asked == self._seen and time.monotonic() < self._next_look and self._database.told() == self._heard

    def _look(self, index: Index, first: bool) -> bool | None:
        """Follow the files, as far as they can be; whether anything changed, as `follow` says it."""
        if not index.in_memory and self.is_interrupted():
            raise InterruptedBatchError(self.namespace)
        try:
            changed = self.follow(index)
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and not is_busy(error):
                raise  # the index can't follow, but another one can be made, in memory
            if first and not index.count():
                raise StoreError(
                    f"the files of {self.namespace} below {str(self.folder)!r} can't be read into the index ({error}): "
                    "make them readable, and room for the index."
                ) from error
            logger.warning("the index of %s can't follow its files now: %s", self.namespace, error)
            return False
        if changed:
            self.edited(self.namespace)
        if (first or changed) and not index.in_memory:
            self._remind(index.pending(self._expiry.now()), all_of_them=True)
        return changed

    def follow(self, index: Index) -> bool | None:
        """Bring an index in step with the files, and say whether anything changed, None where some were read that say
        the same; the caller holds `locked`.
        """
        return bring_in_step(index, self.folder, self.namespace, self._fields)

    def is_interrupted(self) -> bool:
        """Whether a batch of this namespace stands in the journal. The caller holds the namespace, so its writer is
        gone.
        """
        return any(self.namespace in touched for _, touched in journals(self._layout))

    def look_again(self) -> None:
        """Compare with the files at the next use, whatever the interval."""
        self._asked += 1

    def holds(self, expected: Mapping[str, Mapping[str, Any] | None]) -> bool:
        """Whether each key has the value that is expected, None for no item, by the files as they are now. The caller
        holds `locked`.
        """
        self.look_again()
        rows = {key: self.get(key) for key in expected}
        return all((row.load_value() if row else None) == expected[key] for key, row in rows.items())

    # writing; the caller holds `locked` and calls plan, then writes the files, then `commit`

    def plan(self, writes: Sequence[Write]) -> list[Step]:
        """Decide the files of some writes, each key at most once."""

        def decide(index: Index) -> list[Step]:
            if index.in_memory:  # others write, too, and only the files tell
                self.look_again()
            if planning.moved(self._in_step(index), self.folder, writes):
                self.look_again()
                self._in_step(index)
            return planning.plan(index, self.folder, writes, self._expiry.clock())

        return self._use(decide)

    def commit(self, steps: Sequence[Step], stamps: Mapping[str, Stamp], vectors: Mapping[str, Floats]) -> None:
        """Index what was written. The files are the truth: should this fail, the next look at them mends it."""
        described = {s.key: describe(s.entry, self._fields) for s in steps if not s.entry.removed_at}
        try:
            self._use(lambda index: self._commit(index, steps, stamps, described, vectors))
        except StoreError as error:
            logger.warning("%s The memory is stored in its file; the index follows.", error)
            self.look_again()
            return
        waiting = [key for key, description in described.items() if description.pending]
        self._remind(waiting)
        done = {step.key for step in steps if step.entry.role == "user"}.difference(waiting)
        pending.unmark(self._layout, self.namespace, done)

    def _commit(
        self,
        index: Index,
        steps: Sequence[Step],
        stamps: Mapping[str, Stamp],
        described: Mapping[str, Description],
        vectors: Mapping[str, Floats],
    ) -> None:
        if index.in_memory:
            self._database.tell()
            self._heard = self._database.told()
        with index.writing():
            written = []
            for step in steps:
                if step.key in described:
                    written.append(index.put(step.entry, described[step.key], step.path, stamps[step.path]))
                else:
                    index.remove(step.key)
                    index.skip(step.path, stamps[step.path], REMOVED)
            write_windows(index, written)
            if not index.in_memory:  # one transaction on disk instead of two
                self._keep(index, described, vectors)
        if index.in_memory:  # the items don't need the disk; what can't be kept of their vectors is made again
            with index.suppressing_outside(), index.writing_vectors():
                self._keep(index, described, vectors)

    def _keep(self, index: Index, described: Mapping[str, Description], vectors: Mapping[str, Floats]) -> None:
        if self._embedder is not None:
            texts = {text for description in described.values() for text in description.texts}
            found = {text_hash(text): vectors[text].tobytes() for text in texts if text in vectors}
            index.vectors.put(self._embedder.model, found)
            self._keep_bits(index, texts)

    def _keep_bits(self, index: Index, texts: Iterable[str]) -> None:
        """Where the local model embeds, it knows the bits of what it has just read."""
        if self._embedder is not None and (encoder := self._embedder.encoder) is not None:
            index.bits.put(encoder, {text: bits for text in texts if (bits := encoder.known(text)) is not None})

    def _remind(self, keys: Iterable[str], *, all_of_them: bool = False) -> None:
        try:
            (pending.align if all_of_them else pending.mark)(self._layout, self.namespace, keys)
        except OSError as error:
            logger.warning("turns of %s wait unmarked, and are marked at the next start: %s", self.namespace, error)

    def remind(self, keys: Collection[str]) -> None:
        """Mark those of some turns that wait, should their markers be lost."""
        if self.exists:
            now = self._expiry.now()
            self._remind(set(self._use(lambda index: self._in_step(index).pending(now))).intersection(keys))

    # reading

    def get(self, key: str) -> Row | None:
        """The item with a key, unless it has expired."""
        return self.get_all([key]).get(key)

    def get_all(self, keys: Sequence[str]) -> dict[str, Row]:
        """The items with some keys, as far as they are there and haven't expired."""
        rows = self._use(lambda index: self._in_step(index).get_all(keys)) if self.exists else {}
        now = self._expiry.shown()
        return {key: row for key, row in rows.items() if row.lives(now)}

    def count(self) -> int:
        """The number of items that haven't expired."""
        now = self._expiry.shown()
        return self._use(lambda index: expiring.count(self._in_step(index), now)) if self.exists else 0

    def unreadable(self) -> dict[str, str]:
        """The files that are left out, by their path below the folder, each with the reason."""
        found = self._use(lambda index: self._in_step(index).skipped()) if self.exists else {}
        return {path: words for path, (reason, words) in found.items() if reason in (UNREADABLE, DUPLICATE)}

    def newest(self, condition: Mapping[str, Any] | None) -> Iterator[tuple[Row, dict[str, Any]]]:
        """The items that meet a filter, newest update first, with their values, read page by page."""
        before, now = None, self._expiry.shown()
        where, values = narrowed(condition)
        while self.exists:
            page = self._use(lambda index, at=before: self._in_step(index).newest(at, where, values))  # type: ignore[misc]
            for row in filter(lambda row: row.lives(now), page):
                value = row.load_value()
                if matches(value, condition):
                    yield row, value
            if not page:
                return
            before = (page[-1].updated_at, page[-1].id)

    def _refresh(self, index: Index) -> None:
        self._catalog.refresh(index, self._embedder.size if self._embedder else None)

    def look(self, job: Callable[[Index, Catalog], T], otherwise: T) -> T:
        """What a job reads of the index and of what is held in memory, in step with the files; ``otherwise`` where
        there is nothing, or no vectors.
        """

        def read(index: Index) -> T:
            self._refresh(self._in_step(index))
            return job(index, self._catalog)

        return self._use(read) if self._embedder is not None and self.exists else otherwise

    def put_vectors(self, vectors: Mapping[str, Floats]) -> None:
        """Keep vectors that arrived later."""
        if self._embedder is None or not vectors:
            return
        model, rows = self._embedder.model, {text_hash(text): vector.tobytes() for text, vector in vectors.items()}

        def write(index: Index) -> None:
            with index.writing_vectors():
                index.vectors.put_late(model, rows)
                self._keep_bits(index, vectors)

        self._use(write, hint=True)

    def visit(self, job: Callable[[Visit], T], otherwise: T) -> T:
        """What a job finds in step with the files, in one state of the index; ``otherwise`` where nothing is."""
        pool, shown = self._config.keyword_pool, self._expiry.shown()
        encoder = self._embedder.encoder if self._embedder is not None else None

        def read(index: Index) -> T:
            self._in_step(index)
            with index.reading():
                self._refresh(index)
                return job(Visit(self.namespace, index, self._catalog, pool, shown, encoder))

        return self._use(read) if self.exists else otherwise

    def waits_for_nothing(self) -> bool:
        """Whether surely no text here waits for a vector. Cheap, and False where that is more than a glance tells."""

        def glance(index: Index) -> bool:
            if not self._is_in_step():
                return False
            self._refresh(index)  # the last recall's scores were written meanwhile: hardly anything is to be read
            return not self._catalog.count_waiting()

        return self._database.glance(glance)

    def set_scores(self, scores: Mapping[str, str]) -> None:
        """Keep the scores of a recall, unless somebody else is at work here: they are only a hint."""

        def write(index: Index) -> None:
            with index.writing():
                index.set_scores(scores)

        with contextlib.suppress(StoreError), self._database.trying() as mine:
            if mine and self.exists:
                self._use(write, hint=True)
