"""`MarkdownStore`: a LangGraph store whose truth is Markdown files that a person can read and edit."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from langgraph.store.base import (
    BaseStore,
    IndexConfig,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
)

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Choose, EraseReceipt
from langmem_plus.errors import ConfigError
from langmem_plus.providers import TextBits
from langmem_plus.records import Scores, utc_now
from langmem_plus.store.batches import ExactSearchOp, NarrowedSearchOp, read_batch
from langmem_plus.store.embedding import Vectors
from langmem_plus.store.markdown import archive, pending
from langmem_plus.store.markdown.archive import ArchiveReport
from langmem_plus.store.markdown.backlog import Backlog, EmbeddingState, embed_backlog
from langmem_plus.store.markdown.engine import Engine, Expected
from langmem_plus.store.markdown.erase import erase
from langmem_plus.store.markdown.expiring import Expiry
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.history import History
from langmem_plus.store.markdown.indexing import DEFAULT, Default, Indexing
from langmem_plus.store.markdown.layout import Closed, Layout
from langmem_plus.store.markdown.overlooked import find_overlooked
from langmem_plus.store.markdown.owners import this_owner
from langmem_plus.store.markdown.sweeping import finish, sweep
from langmem_plus.store.versions import Version

if TYPE_CHECKING:
    from langchain_chroma import Chroma


class MarkdownStore(BaseStore):
    """A store in a folder: each memory a Markdown file, found by words and vectors.

    Safe to use from any thread and any event loop, and from several processes on one folder. Opening it costs nothing;
    it is a context manager, sync and async. The writes of one `batch` happen all or none.

    Args:
        path: the folder; made when missing. None takes the settings' ``memory_path``.
        index: LangGraph's ``IndexConfig``; None for search by words alone; left out, the settings' embedder over the
            fields ``text`` and ``content``, or the whole value where it has neither.
        ttl: LangGraph's ``TTLConfig``. Minutes, fractions too. With or without it, a put may name a ``ttl``, and
            records with their own ``expires_at`` expire at that time. What has expired is given out no more, though
            ``omit_expired`` is left out; with False it is until it is swept. With ``sweep_interval_minutes`` the store
            sweeps by itself once it is used.
        ranking: ``hybrid`` ranks by words and vectors: what the embedder gives no vector for, or a wrong one, is
            stored, found by its words, and waits. ``dense`` is LangGraph's plain cosine order, where a query without an
            index is a listing, and an item without a vector would never be found: there a batch for which the embedder
            gives the wrong number or size of vectors writes nothing, and raises. An embedder that raises is no reason
            to lose a write in either.
        config: the settings.
        clock: the time by which things expire; tests pass their own.

    Raises:
        ConfigError: an argument is wrong.
        StoreError: the folder can't be made.
    """

    supports_ttl = True

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        index: IndexConfig | Default | None = DEFAULT,
        ttl: TTLConfig | None = None,
        ranking: Literal["hybrid", "dense"] = "hybrid",
        config: MemoryConfig | None = None,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        expiry = Expiry(ttl, clock)
        self.ttl_config = expiry.config
        if ranking not in ("hybrid", "dense"):
            raise ConfigError(f"ranking={ranking!r}: choose 'hybrid' or 'dense'.")
        self.config = MemoryConfig.of(config)
        self.path = Path(path if path is not None else self.config.memory_path)
        self._layout = Layout(self.path)
        self._layout.create()
        indexing = Indexing(index, self.config, strict=ranking == "dense")
        self._engine = Engine(self._layout, self.config, indexing, ranking, expiry)
        self._token = f"{secrets.token_hex(8)}/"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Wait within ``flush_seconds`` for what a graph or a middleware still writes in the background, and close the
        databases. The store opens them again when it is used again.
        """
        background.flush(self.config.flush_seconds, (id(self),))
        finish(self._engine)  # how far reads have prolonged a time to live is in the files then
        self._engine.stop()
        self._engine.companions.close()
        self._engine.rooms.close()

    # LangGraph's two methods; get, put, search and the others are made of them

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run ops: reads first, then all writes together; results in the order of the ops.

        Raises:
            InvalidNamespaceError, InvalidValueError, ValueError: an op is wrong; nothing was written.
            EmbeddingError: with ``ranking="dense"``, the embedder gave wrong vectors; nothing was written.
            StoreError: a file can't be written; nothing was written.
        """
        batch = read_batch(ops)
        needs = self._engine.settled(lambda: self._engine.needs(batch))
        return self._engine.run(batch, needs, self._engine.fulfil(batch, needs))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`: embeds in the running loop, reads and writes in a thread."""
        batch = read_batch(ops)
        needs = await asyncio.to_thread(self._engine.settled, lambda: self._engine.needs(batch))
        embedder = self._engine.embedder
        vectors = await embedder.afulfil(needs) if embedder else Vectors()
        return await asyncio.to_thread(self._engine.run, batch, needs, vectors)

    # time to live, as LangGraph's own stores have it

    def sweep_ttl(self) -> int:
        """Delete what has expired, as `delete` does, and write into the files how far reads have prolonged the rest.

        Returns:
            How many items were deleted.

        Raises:
            StoreError: a file can't be written.
        """
        return sweep(self._engine)

    async def asweep_ttl(self) -> int:
        """As `sweep_ttl`, in a thread."""
        return await asyncio.to_thread(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep in the background, every so many minutes; left out, the interval of ``ttl``, or 5.

        Returns:
            A future that is done when the sweeping ends; cancelling it ends it.

        Raises:
            InvalidValueError: the interval isn't a number above 0.
        """
        return self._engine.sweeper.start(sweep_interval_minutes)

    async def astart_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """As `start_ttl_sweeper`, which waits for nothing."""
        return self.start_ttl_sweeper(sweep_interval_minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeping in the background, and say whether it ended within so many seconds."""
        return self._engine.sweeper.stop(timeout)

    async def astop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """As `stop_ttl_sweeper`, in a thread."""
        return await asyncio.to_thread(self.stop_ttl_sweeper, timeout)

    # beyond LangGraph's interface

    def pending(self) -> list[Namespace]:
        """The namespaces in which turns wait for their facts to be drawn out."""
        return pending.namespaces(self._layout)

    def claim(self, namespace: Namespace, keys: Iterable[str], seconds: float, *, owner: str = "") -> set[str]:
        """Take waiting turns for ``seconds``, and go on holding those that are ours already; others' are left out.

        A lease ends when it runs out, is released, or its process does.

        Args:
            namespace: where the turns are.
            keys: the turns.
            seconds: from now; a claim on a turn that is ours makes its lease that long again, never shorter or longer.
            owner: tells apart who shares this store object; leases of one name are one owner's.
        """
        wanted, who = list(keys), this_owner(self._token + owner)
        with self._engine.rooms.locked([namespace]):
            taken = pending.claim(self._layout, namespace, wanted, seconds, who)
        if lost := pending.unmarked(self._layout, namespace, [key for key in wanted if key not in taken]):
            self._engine.settled(lambda: self._engine.room(namespace).remind(lost))
            with self._engine.rooms.locked([namespace]):
                taken |= pending.claim(self._layout, namespace, lost, seconds, who)
        return taken

    def release(self, namespace: Namespace, keys: Iterable[str], *, owner: str = "") -> None:
        """Give claimed turns back; those that somebody else has taken over by now are left alone."""
        with self._engine.rooms.locked([namespace]):
            pending.release(self._layout, namespace, keys, this_owner(self._token + owner))

    def exchange(self, namespace: Namespace, expected: Expected, ops: Iterable[PutOp]) -> bool:
        """Write all ops as `batch` does, if the items under some keys are still what is expected.

        The files are looked at while nobody else can write, so an edit made by hand a moment ago counts.

        Args:
            namespace: where the items are.
            expected: the value under each key; None where there is no item.
            ops: the writes, here or elsewhere.

        Returns:
            Whether all was written; nothing was, where an item differs.
        """
        batch = read_batch(ops)
        needs = self._engine.settled(lambda: self._engine.needs(batch))
        texts = self._engine.fulfil(batch, needs, (namespace, expected)).texts
        written = self._engine.settled(lambda: self._engine.write(batch, texts, (namespace, expected)))
        self._engine.wrote(needs, texts)
        return written

    async def aexchange(self, namespace: Namespace, expected: Expected, ops: Iterable[PutOp]) -> bool:
        """As `exchange`: embeds in the running loop, reads and writes in a thread."""
        batch = read_batch(ops)
        needs = await asyncio.to_thread(self._engine.settled, lambda: self._engine.needs(batch))
        embedder = self._engine.embedder
        texts = (await embedder.afulfil(needs)).texts if embedder else {}
        written = await asyncio.to_thread(
            self._engine.settled, lambda: self._engine.write(batch, texts, (namespace, expected))
        )
        self._engine.wrote(needs, texts)
        return written

    def exactly(self, op: SearchOp, *, narrowed: bool = False) -> SearchOp:
        """The same search as a recall asks it: of the very namespace that it names, so that what lies below takes no
        place in its answer and costs nothing, and with token bits. ``narrowed``: these choose the answer from some
        hundreds of candidates; where they can't, more of these than the limit says are given, to be chosen from.
        """
        return NarrowedSearchOp(*op) if narrowed else ExactSearchOp(*op)

    def set_scores(self, namespace: Namespace, scores: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the scores of a recall as the records' ``last_scores``: in the index, not in the files."""
        checked = {key: Scores.model_validate(value).model_dump_json() for key, value in scores.items()}
        self._engine.room(namespace).set_scores(checked)

    def set_bits(self, namespace: Namespace, bits: Mapping[str, TextBits]) -> None:
        """Keep token bits that a recall had to make, by text; what else has none gets them in the background."""
        self._engine.bits_backfill.keep(namespace, bits, rest=self.config.embed_in_background)

    def erase(self, namespace: Namespace, choose: Choose | None = None) -> EraseReceipt:
        """Erase for good, down to the bytes of the databases: no tombstone is left. A crash in the middle is made up
        for at the next use of the namespace. Which records go with which is for `MemoryClient.erase` to say.

        Args:
            namespace: where.
            choose: says what goes out of all that is there, tombstones too; None for everything at and below it.

        Raises:
            InvalidValueError: the namespace is empty.
            StoreError: the intent or what stays can't be written; nothing was removed.
        """
        rooms = self._engine.rooms
        history = self.config.versioning or (self._layout.root / ".git").exists()
        job = functools.partial(erase, self._layout, rooms, namespace, choose, history=history)
        receipt = self._engine.removed(namespace, job)
        self._engine.companions.edited(namespace)
        return receipt

    def export(self, namespace: Namespace, target: str | os.PathLike[str]) -> ArchiveReport:
        """Write all files at and below a user's namespace into one archive, as `MemoryClient.export_user` says."""
        rooms = self._engine.rooms
        return self._engine.settled(lambda: archive.export(self._layout, rooms, namespace, Path(target)))

    def restore(self, namespace: Namespace, source: str | os.PathLike[str]) -> ArchiveReport:
        """Read an archive of a user's namespace, as `MemoryClient.import_user` says."""
        rooms, durable = self._engine.rooms, self.config.durable
        return self._engine.settled(
            lambda: archive.restore(self._layout, rooms, namespace, Path(source), durable=durable)
        )

    def path_of(self, namespace: Namespace, key: str) -> Path | None:
        """The file that holds an item."""
        room = self._engine.room(namespace)
        row = self._engine.settled(lambda: room.get(key))
        return room.folder / row.path if row else None

    def history(self, namespace: Namespace, key: str) -> list[Version]:
        """A memory's past, the oldest state first: its own, of what it replaced, and of what replaced it.

        From git where the files are kept there, else from what the files and their tombstones tell by themselves.
        """
        room = self._engine.room(namespace)
        return self._engine.settled(lambda: History(self._layout, room).of(key))

    def unreadable(self) -> dict[Path, str]:
        """The files that are left out: they can't be read, or another has the same id; each with the reason. So are
        folders that can't be read.
        """
        closed: Closed = {}
        namespaces = sorted(self._layout.find_namespaces((), None, closed))
        rooms = [self._engine.room(namespace) for namespace, _ in namespaces]
        found = self._engine.settled(lambda: [(room, room.unreadable()) for room in rooms])
        return {**closed, **{room.folder / path: reason for room, files in found for path, reason in files.items()}}

    def overlooked(self) -> dict[Path, tuple[str, str]]:
        """The files that a person may have meant for memories and that nobody reads, each with why and what to do."""
        return {path: (why, what) for path, why, what in find_overlooked(self._layout)}

    def as_vectorstore(self, namespace: Namespace) -> Chroma:
        """A LangChain vector store over a namespace's vectors as they are now, to be read: ``as_retriever()``, MMR and
        filters by ``key`` and ``item``. It is made when it is asked for, however small the namespace, and is usable
        until the store is closed; what is added to it isn't kept.

        Raises:
            ConfigError: the store has no vectors.
            StoreError: Chroma isn't installed, or another process has the collection.
        """
        return self._engine.vectorstore(namespace)  # type: ignore[no-any-return]

    def embed_waiting(self) -> int:
        """Embed everything that still waits for a vector, and return how many texts got one."""
        embedder = self._engine.embedder
        rooms = (self._engine.room(namespace) for namespace, _ in sorted(self._layout.find_namespaces()))
        return embed_backlog(rooms, embedder, self._engine.settled, self.config.embed_batch) if embedder else 0

    async def aembed_waiting(self) -> int:
        """As `embed_waiting`, in a thread."""
        return await asyncio.to_thread(self.embed_waiting)

    def backlog(self) -> Backlog:
        """What waits to be done: what telemetry tells. Nothing is opened for it."""
        return self._engine.backlog()

    def embedding_state(self) -> EmbeddingState:
        """How the embedder does, and how much waits for it."""
        return self._engine.embedding_state()
