"""What the store does with a batch: embed what is new, read, then write all together."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Result,
    SearchItem,
    SearchOp,
)

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import StoreError
from langmem_plus.store.batches import Batch, ExactSearchOp, NarrowedSearchOp, list_namespaces
from langmem_plus.store.embedding import Needs, TextEmbedder, Vectors
from langmem_plus.store.markdown import pending
from langmem_plus.store.markdown.approximate import Approximate
from langmem_plus.store.markdown.backfill import Backfill
from langmem_plus.store.markdown.backlog import Backlog, EmbeddingState, find_needs, measure, wants
from langmem_plus.store.markdown.bits_backfill import BitsBackfill
from langmem_plus.store.markdown.companions import Companions
from langmem_plus.store.markdown.expiring import Expiry, is_immortal
from langmem_plus.store.markdown.files import Namespace, Stamp, carried_out, is_full, move_file
from langmem_plus.store.markdown.index import Row
from langmem_plus.store.markdown.indexing import Indexing
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.narrowing import question_tokens, widened
from langmem_plus.store.markdown.planning import Step, Write, actions
from langmem_plus.store.markdown.rooms import Rooms
from langmem_plus.store.markdown.searching import fields_of, forget, listing, ranking
from langmem_plus.store.markdown.sweeping import Reads, Sweeper
from langmem_plus.store.markdown.walks import Walks
from langmem_plus.store.search import Floats

logger = logging.getLogger(__name__)

T = TypeVar("T")
Expected: TypeAlias = Mapping[str, Mapping[str, Any] | None]


class Engine:
    """Reads and writes batches over the namespaces of one folder.

    Args:
        layout: where things lie.
        config: the store's settings.
        indexing: what is embedded, and by whom.
        ranking: how a search ranks.
        expiry: the store's time to live.
    """

    def __init__(
        self,
        layout: Layout,
        config: MemoryConfig,
        indexing: Indexing,
        ranking: Literal["hybrid", "dense"],
        expiry: Expiry,
    ) -> None:
        self._layout, self._config, self._indexing, self._ranking = layout, config, indexing, ranking
        self._begun = False
        self.layout, self.config, self.expiry = layout, config, expiry
        self.sweeper, self._walks = Sweeper(self), Walks(layout)
        self.rooms = Rooms(layout, config.open_namespaces, self._open, self._forked)
        self.backfill = Backfill(layout, config, lambda: self.embedder, self.room, self.rooms.finish_interrupted)
        self.bits_backfill = BitsBackfill(layout, lambda: self.embedder, self.room)
        self.approximate = Approximate(layout, config, lambda: self.embedder, self.room)
        self.companions = Companions(layout, config, self.rooms)

    @property
    def embedder(self) -> TextEmbedder | None:
        """The embedder; None without vectors."""
        return self._indexing.embedder

    def room(self, namespace: Namespace) -> OpenNamespace:
        """One namespace."""
        return self.rooms.get(namespace)

    def _open(self, namespace: Namespace, opened: Callable[[OpenNamespace], None]) -> OpenNamespace:
        fields, embedder = self._indexing.fields, self.embedder
        join = self.companions.joining(opened)
        self.sweeper.begin()
        room = OpenNamespace(self._layout, namespace, self._config, fields, embedder, self.expiry, join)
        return self.approximate.join(room)

    def vectorstore(self, namespace: Namespace) -> Any:
        """A LangChain vector store over the namespace's collection."""
        return self.settled(lambda: self.approximate.vectorstore(namespace, self._indexing.timed))

    def _forked(self) -> None:
        self._indexing.forked()
        self.backfill.forked()
        self.bits_backfill.forked()
        self.approximate.forked()
        self._walks.forked()

    def settled(self, job: Callable[[], T]) -> T:
        """Run a job; where it meets a batch that a crash left half-done, finish that batch and run the job again."""
        if not self._begun:
            self._begun = True
            self.rooms.finish_erasures()
        while True:
            try:
                return job()
            except InterruptedBatchError as interrupted:
                self.rooms.finish_interrupted([interrupted.namespace])

    def needs(self, batch: Batch) -> Needs:
        """What has to be embedded: the new texts of the writes, and, before a search, some that have waited."""
        embedder = self.embedder
        if embedder is None:
            return Needs()
        searched, fields, config = self._searched(batch), self._indexing.fields, self._config
        if not config.embed_in_background:
            return find_needs(batch, searched, self.room, embedder, fields, config.embed_batch)
        return find_needs(batch, searched, self.room, embedder, fields, config.embed_late, self.backfill.expect)

    def fulfil(self, batch: Batch, needs: Needs, condition: tuple[Namespace, Expected] | None = None) -> Vectors:
        """The vectors that a batch needs. An interrupt while they are made loses no write: it is stored without them,
        where its condition is met, before the interrupt reaches the caller.
        """
        embedder = self.embedder
        try:
            return embedder.fulfil(needs) if embedder else Vectors()
        except KeyboardInterrupt:
            if batch.writes:
                self.settled(lambda: self.write(batch, {}, condition))
                self.wrote(needs, {})
            raise

    def wrote(self, needs: Needs, vectors: Mapping[str, Floats]) -> None:
        """What was written without its vector gets one later."""
        for namespace in {needs.places[text][0] for text in needs.texts if text not in vectors}:
            self.backfill.expect(namespace)

    def embedding_state(self) -> EmbeddingState:
        """How the embedder does, and how much waits for it."""
        embedder = self.embedder
        if embedder is None:
            return EmbeddingState(None)
        texts, waiting, oldest = self.settled(lambda: measure(self.below(()), embedder))
        breaker, timed, running = embedder.breaker, self._indexing.timed, self.backfill.is_running
        failed, p95 = (timed.failed, timed.p95()) if timed else (0, None)
        state = (embedder.model, breaker.failures, breaker.resting(), len(embedder.refused), waiting, texts)
        return EmbeddingState(*state, oldest, failed, p95, running)

    def backlog(self) -> Backlog:
        """What waits to be done, without opening anything."""
        embedder, turns = self.embedder, pending.measure(self._layout)
        if embedder is None:
            return Backlog(*turns)
        _, waiting, oldest = self.settled(lambda: measure(self.rooms.opened(), embedder))
        return Backlog(*turns, waiting, oldest)

    def stop(self) -> None:
        """End what goes on in the background."""
        self.backfill.stop()
        self.bits_backfill.stop()
        self.approximate.close()

    def run(self, batch: Batch, needs: Needs, vectors: Vectors) -> list[Result]:
        """Read, then write; results in the order of the ops."""
        results = self.settled(lambda: self._read(batch, needs, vectors))
        if batch.writes:
            self.settled(lambda: self.write(batch, vectors.texts))
            self.wrote(needs, vectors.texts)
        return results

    def _read(self, batch: Batch, needs: Needs, vectors: Vectors) -> list[Result]:
        self._check_folder()
        late = {text: vectors.texts[text] for text in needs.backlog if text in vectors.texts}
        for room in self._searched(batch) if late else ():
            with contextlib.suppress(StoreError):  # what can't be kept now waits on
                room.put_vectors({text: late[text] for text in wants(room, late)})
        results: list[Result] = []
        reads, found = Reads(self.expiry), self._get_all(batch)
        for op in batch.ops:
            if isinstance(op, GetOp):
                row = found[op.namespace].get(str(op.key))
                if row is not None and op.refresh_ttl:
                    reads.note(self.room(op.namespace), row)
                results.append(Item(**fields_of(row, row.load_value(), op.namespace)) if row else None)
            elif isinstance(op, SearchOp):
                results.append(self._search(op, vectors.queries.get(op.query or ""), reads))
            elif isinstance(op, ListNamespacesOp):
                results.append(list_namespaces(self._live_namespaces(), op))
            else:
                results.append(None)
        reads.prolong()
        return results

    def _get_all(self, batch: Batch) -> dict[Namespace, dict[str, Row]]:
        """The items that a batch asks for by their keys: a namespace is asked once for all of its own."""
        keys: dict[Namespace, dict[str, None]] = {}
        for op in batch.ops:
            if isinstance(op, GetOp):
                keys.setdefault(op.namespace, {})[str(op.key)] = None
        return {namespace: self.room(namespace).get_all(list(some)) for namespace, some in keys.items()}

    def _check_folder(self) -> None:
        """A folder that is gone is empty; one whose place a file took would look so.

        Raises:
            StoreError: a file stands in its place.
        """
        if self._layout.entries.is_dir():
            return
        for folder in (self._layout.root, self._layout.entries):
            if folder.is_file():
                raise StoreError(
                    f"the memory folder {str(folder)!r} is a file now, so nothing can be read: put the folder back."
                )

    def write(
        self, batch: Batch, vectors: Mapping[str, Floats], condition: tuple[Namespace, Expected] | None = None
    ) -> bool:
        """Write all, or nothing where the condition isn't met; whether it was written."""
        if not self._layout.entries.is_dir():
            logger.warning(
                "the memory folder %r was moved or removed while it was in use: what is written now begins a new one",
                str(self._layout.root),
            )
            self._layout.create()
        touched = {*batch.writes, *([condition[0]] if condition else [])}
        with self.rooms.locked(touched) as rooms:
            if interrupted := next((room.namespace for room in rooms if room.is_interrupted()), None):
                raise InterruptedBatchError(interrupted)
            if condition and not self.room(condition[0]).holds(condition[1]):
                return False
            planned = []
            for room in rooms:
                if room.namespace not in batch.writes:
                    continue
                puts = batch.writes[room.namespace].items()
                writes = [Write(key, op.value, op.index, op.ttl) for key, op in puts]  # type: ignore[arg-type]
                planned.append((room, room.plan(writes)))
            self.carry_out(planned, vectors)
        return True

    def carry_out(self, planned: Sequence[tuple[OpenNamespace, Sequence[Step]]], vectors: Mapping[str, Floats]) -> None:
        """Write the files of what was planned, and index them. The caller holds the namespaces.

        Where only tombstones are written, somebody wants room: on a full disk they get that of the derived indexes, and
        where that isn't enough, the one file of a single delete only moves.
        """
        try:
            self._carry_out(planned, vectors)
        except StoreError as error:
            if not is_full(error) or not all(step.entry.is_tombstone for _, steps in planned for step in steps):
                raise
            for room, _ in planned:
                room.make_room()
            self._carry_out_without_room(planned)

    def _carry_out_without_room(self, planned: Sequence[tuple[OpenNamespace, Sequence[Step]]]) -> None:
        try:
            self._carry_out(planned, {})
        except StoreError as error:
            (room, step), *others = [(room, step) for room, some in planned for step in some]
            if not is_full(error) or others or step.old_path is None:
                raise
            source, target = room.folder / step.old_path, room.folder / step.path
            done = actions(room.namespace, [step])
            stamp = move_file(source, target, (done[0].content or "").encode(), durable=self._config.durable)
            self.companions.wrote(done, [stamp, None])
            room.commit([step], {step.path: stamp}, {})

    def removed(self, namespace: Namespace, job: Callable[[], T]) -> T:
        """Run a job that removes something at and below a namespace. A full disk is a reason for it: what it has to
        write first gets the room of the derived indexes there.
        """
        try:
            return self.settled(job)
        except StoreError as error:
            if not is_full(error):
                raise
            for room in self.below(namespace):
                with room.locked():
                    room.make_room()
            return self.settled(job)

    def _carry_out(
        self, planned: Sequence[tuple[OpenNamespace, Sequence[Step]]], vectors: Mapping[str, Floats]
    ) -> None:
        todo = [action for room, steps in planned for action in actions(room.namespace, steps)]
        with carried_out(self._layout, todo, durable=self._config.durable) as stamps:
            written: dict[Namespace, dict[str, Stamp]] = {}
            for action, stamp in zip(todo, stamps, strict=True):
                if stamp is not None:
                    written.setdefault(action.namespace, {})[action.path] = stamp
            self.companions.wrote(todo, stamps)
            for room, steps in planned:
                room.commit(steps, written.get(room.namespace, {}), vectors)

    def _searched(self, batch: Batch) -> list[OpenNamespace]:
        """The namespaces whose late vectors a search looks for: not those of a search over more than stay open, which
        would have to open all of them twice.
        """
        rooms = (self.below(prefix, exact=exact) for prefix, exact in batch.searched)
        return [room for some in rooms if len(some) <= self._config.open_namespaces for room in some]

    def below(self, prefix: Namespace, *, exact: bool = False) -> list[OpenNamespace]:
        """The namespaces below a prefix, in their order; ``exact``: the very one, if there is one."""
        if exact:
            return [self.room(prefix)] if prefix and self._walks.is_namespace(prefix) else []
        return [self.room(namespace) for namespace in self._walks.below(prefix)]

    def _live_namespaces(self) -> Iterator[Namespace]:
        for namespace, live in self._layout.find_namespaces():
            if (live and is_immortal(self._layout, namespace)) or self.room(namespace).count():
                yield namespace

    def _search(self, op: SearchOp, query: Floats | None, reads: Reads) -> list[SearchItem]:
        rooms = self.below(op.namespace_prefix, exact=isinstance(op, ExactSearchOp))
        if not rooms:  # as a user's global space mostly is
            return []
        note = reads.note if op.refresh_ttl else forget
        is_question = bool(op.query and op.query.strip())
        if not is_question or (self._ranking == "dense" and self.embedder is None):
            return listing(rooms, op, note)
        asked = None
        if isinstance(op, NarrowedSearchOp):
            asked = question_tokens(self.embedder.encoder if self.embedder else None, op.query or "")
            op = op if asked is not None else op._replace(limit=widened(op.limit))
        return ranking(rooms, op, query, self._ranking, self._config, note, asked)
