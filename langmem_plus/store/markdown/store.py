"""`MarkdownStore`: a LangGraph store whose truth is Markdown files that a person can read and edit."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.providers import embeddings_id, make_embeddings
from langmem_plus.records import parse_time
from langmem_plus.store.batches import Batch, list_namespaces, read_batch
from langmem_plus.store.embedding import Needs, TextEmbedder, Vectors
from langmem_plus.store.markdown import pending
from langmem_plus.store.markdown.describe import describe
from langmem_plus.store.markdown.files import Namespace, apply
from langmem_plus.store.markdown.frontmatter import Entry
from langmem_plus.store.markdown.index import Row
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.namespace import OpenNamespace, Write
from langmem_plus.store.markdown.rooms import Rooms
from langmem_plus.store.search import Floats, Fused, RankedItem, fuse, matches
from langmem_plus.text import tokens


class _Default:
    """Stands for 'the embedder that the settings name'."""

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT = _Default()
_PAGE = 64


class MarkdownStore(BaseStore):
    """A store in a folder: each memory a Markdown file, found by words and vectors.

    Safe to use from any thread and any event loop, and from several processes on one folder. Opening it costs nothing;
    it is a context manager, sync and async. The writes of one `batch` happen all or none.

    Args:
        path: the folder; made when missing. None takes the settings' ``memory_path``.
        index: LangGraph's ``IndexConfig``; None for search by words alone; left out, the settings' embedder over the
            fields ``text`` and ``content``, or the whole value where it has neither.
        ttl: time to live isn't supported yet; anything but None is refused.
        ranking: ``hybrid`` ranks by words and vectors; ``dense`` is LangGraph's plain cosine order, where a query
            without an index is a listing.
        config: the settings.

    Raises:
        ConfigError: an argument is wrong.
        StoreError: the folder can't be made.
    """

    supports_ttl = False

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        index: IndexConfig | _Default | None = DEFAULT,
        ttl: TTLConfig | None = None,
        ranking: Literal["hybrid", "dense"] = "hybrid",
        config: MemoryConfig | None = None,
    ) -> None:
        if ttl is not None:
            raise ConfigError(f"ttl={ttl!r}: time to live isn't supported yet; leave it out.")
        if ranking not in ("hybrid", "dense"):
            raise ConfigError(f"ranking={ranking!r}: choose 'hybrid' or 'dense'.")
        self.config = config or MemoryConfig()
        self.path = Path(path if path is not None else self.config.memory_path)
        self._index, self._ranking = index, ranking
        self._fields = None if isinstance(index, _Default) or index is None else list(index.get("fields") or ["$"])
        self._layout = Layout(self.path)
        self._layout.create()
        self._rooms = Rooms(self._layout, self.config.open_namespaces, self._open)
        self._making = threading.Lock()
        self._made: tuple[TextEmbedder | None] | None = None

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
        """Close the databases. The store opens them again when it is used again."""
        self._rooms.close()

    # LangGraph's two methods; get, put, search and the others are made of them

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run ops: reads first, then all writes together; results in the order of the ops.

        Raises:
            InvalidNamespaceError, InvalidValueError, ValueError: an op is wrong; nothing was written.
            EmbeddingError: the embedder gave the wrong vectors; nothing was written.
            StoreError: a file can't be written; nothing was written.
        """
        batch = read_batch(ops)
        needs = self._needs(batch)
        embedder = self._embedder()
        return self._run(batch, needs, embedder.fulfil(needs) if embedder else Vectors())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`: embeds in the running loop, reads and writes in a thread."""
        batch = read_batch(ops)
        needs = await asyncio.to_thread(self._needs, batch)
        embedder = self._embedder()
        vectors = await embedder.afulfil(needs) if embedder else Vectors()
        return await asyncio.to_thread(self._run, batch, needs, vectors)

    # beyond LangGraph's interface

    def pending(self) -> list[Namespace]:
        """The namespaces in which turns wait for their facts to be drawn out."""
        return pending.namespaces(self._layout)

    def claim(self, namespace: Namespace, keys: Iterable[str], seconds: float) -> set[str]:
        """Take waiting turns for ``seconds``; those that another worker holds are left out."""
        with self._rooms.locked([namespace]):
            return pending.claim(self._layout, namespace, keys, seconds)

    def release(self, namespace: Namespace, keys: Iterable[str]) -> None:
        """Give claimed turns back."""
        with self._rooms.locked([namespace]):
            pending.release(self._layout, namespace, keys)

    def set_scores(self, namespace: Namespace, scores: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the scores of a recall as the records' ``last_scores``: in the index, not in the files."""
        self._rooms.get(namespace).set_scores({key: json.dumps(dict(value)) for key, value in scores.items()})

    def path_of(self, namespace: Namespace, key: str) -> Path | None:
        """The file that holds an item."""
        room = self._rooms.get(namespace)
        row = room.get(key)
        return room.folder / row.path if row else None

    def embed_waiting(self) -> int:
        """Embed everything that still waits for a vector, and return how many texts got one."""
        embedder, done = self._embedder(), 0
        for namespace, _ in list(self._layout.find_namespaces()) if embedder else ():
            room = self._rooms.get(namespace)
            while embedder and (texts := room.waiting(self.config.embed_batch)):
                vectors = embedder.fulfil(Needs(texts=texts)).texts
                room.put_vectors(vectors)
                done += len(vectors)
                if len(vectors) < len(texts):
                    return done
        return done

    # the work

    def _open(self, namespace: Namespace) -> OpenNamespace:
        embedder = self._embedder()
        return OpenNamespace(self._layout, namespace, self.config, self._fields, embedder.model if embedder else None)

    def _embedder(self) -> TextEmbedder | None:
        with self._making:
            if self._made is None:
                index: Any = self._index
                if index is None:
                    self._made = (None,)
                else:
                    named = isinstance(index, _Default)
                    dims = None if named else index.get("dims")
                    made = make_embeddings(self.config.embeddings if named else index["embed"], self.config)
                    self._made = (TextEmbedder(made, f"{embeddings_id(made)}/{dims or ''}", dims) if made else None,)
            return self._made[0]

    def _needs(self, batch: Batch) -> Needs:
        """What has to be embedded: the new texts of the writes, and, before a search, some that have waited."""
        self._rooms.finish_interrupted()
        if self._embedder() is None:
            return Needs()
        texts: list[str] = []
        for namespace, puts in batch.writes.items():
            wanted: list[str] = []
            for key, put in puts.items():
                if put.value is not None:
                    entry = Entry(key, put.value, "", "", put.index)  # type: ignore[arg-type]  # checked by read_batch
                    wanted.extend(describe(entry, self._fields).texts)
            known = self._rooms.get(namespace).known_texts(wanted)
            texts.extend(text for text in wanted if text not in known)
        backlog: list[str] = []
        for op in batch.ops:
            if isinstance(op, SearchOp) and op.query in batch.queries:
                for room in self._below(op.namespace_prefix):
                    backlog.extend(room.waiting(self.config.embed_batch - len(backlog)))
        fresh = dict.fromkeys(texts)
        return Needs(list(fresh), [t for t in dict.fromkeys(backlog) if t not in fresh], batch.queries)

    def _run(self, batch: Batch, needs: Needs, vectors: Vectors) -> list[Result]:
        if needs.backlog:
            late = {text: vectors.texts[text] for text in needs.backlog if text in vectors.texts}
            for prefix in {op.namespace_prefix for op in batch.ops if isinstance(op, SearchOp)}:
                for room in self._below(prefix):
                    room.put_vectors({t: late[t] for t in room.waiting(self.config.embed_batch) if t in late})
        results: list[Result] = []
        for op in batch.ops:
            if isinstance(op, GetOp):
                row = self._rooms.get(op.namespace).get(str(op.key))
                results.append(Item(**_fields(row, op.namespace)) if row else None)
            elif isinstance(op, SearchOp):
                results.append(self._search(op, vectors.queries.get(op.query or "")))
            elif isinstance(op, ListNamespacesOp):
                results.append(list_namespaces(self._live_namespaces(), op))
            else:
                results.append(None)
        if batch.writes:
            self._write(batch, vectors.texts)
        return results

    def _write(self, batch: Batch, vectors: Mapping[str, Floats]) -> None:
        with self._rooms.locked(list(batch.writes)) as rooms:
            planned = []
            for room in rooms:
                puts = batch.writes[room.namespace].items()
                writes = [Write(key, op.value, op.index) for key, op in puts]  # type: ignore[arg-type]
                planned.append((room, room.plan(writes)))
            actions = [action for room, steps in planned for action in room.actions(steps)]
            apply(self._layout, actions, durable=self.config.durable)
            for room, steps in planned:
                room.commit(steps, vectors)

    def _below(self, prefix: Namespace) -> Iterator[OpenNamespace]:
        for namespace, _ in sorted(self._layout.find_namespaces(prefix)):
            yield self._rooms.get(namespace)

    def _live_namespaces(self) -> Iterator[Namespace]:
        for namespace, live in self._layout.find_namespaces():
            if live or self._rooms.get(namespace).count():
                yield namespace

    def _search(self, op: SearchOp, query: Floats | None) -> list[SearchItem]:
        rooms = list(self._below(op.namespace_prefix))
        asked = bool(op.query and op.query.strip())
        if not asked or (self._ranking == "dense" and self._embedder() is None):
            return self._listing(rooms, op)
        terms = tokens(op.query or "")
        legs = [room.leg(terms, query, op.filter) for room in rooms]
        config = self.config
        # While the embedder is down, the words alone answer.
        ranking = self._ranking if query is not None else "hybrid"
        fused = fuse(
            legs,
            ranking=ranking,
            fusion=config.fusion,
            dense_weight=config.dense_weight,
            window_weight=config.window_weight,
            rrf_k=config.rrf_k,
        )
        owners = [(room, int(row_id)) for room, leg in zip(rooms, legs, strict=True) for row_id in leg.ids]
        chosen = list(itertools.islice(_best(fused, owners, op), op.offset, op.offset + op.limit))
        return _ranked_items(chosen, fused, terms, query)

    def _listing(self, rooms: list[OpenNamespace], op: SearchOp) -> list[SearchItem]:
        newest = heapq.merge(
            *(_tagged(room, op) for room in rooms),
            key=lambda pair: (pair[0].updated_at, pair[0].id),
            reverse=True,
        )
        page = itertools.islice(newest, op.offset, op.offset + op.limit)
        return [RankedItem(**_fields(row, room.namespace)) for row, room in page]


def _tagged(room: OpenNamespace, op: SearchOp) -> Iterator[tuple[Row, OpenNamespace]]:
    return ((row, room) for row in room.newest(op.filter))


def _fields(row: Row, namespace: Namespace) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "key": row.key,
        "value": row.load_value(),
        "created_at": parse_time(row.created_at),
        "updated_at": parse_time(row.updated_at),
    }


def _best(
    fused: Fused, owners: list[tuple[OpenNamespace, int]], op: SearchOp
) -> Iterator[tuple[int, OpenNamespace, Row]]:
    """The rows that meet the filter, best first, read as far as they are asked for."""
    for start in range(0, len(fused.order), _PAGE):
        page = [(int(row), *owners[int(row)]) for row in fused.order[start : start + _PAGE]]
        loaded: dict[tuple[int, int], Row] = {}
        for room in {id(room): room for _, room, _ in page}.values():
            ids = [row_id for _, owner, row_id in page if owner is room]
            loaded.update({(id(room), row_id): row for row_id, row in room.load(ids).items()})
        for position, room, row_id in page:
            row = loaded.get((id(room), row_id))
            if row is not None and matches(row.load_value(), op.filter):
                yield position, room, row


def _ranked_items(
    chosen: list[tuple[int, OpenNamespace, Row]], fused: Fused, terms: list[str], query: Floats | None
) -> list[SearchItem]:
    vectors: dict[tuple[int, int], Floats] = {}
    coverage: dict[tuple[int, int], float] = {}
    for room in {id(room): room for _, room, _ in chosen}.values():
        ids = [row.id for _, owner, row in chosen if owner is room]
        if query is not None:
            vectors.update({(id(room), i): vector for i, vector in room.nearest_vectors(ids, query).items()})
        coverage.update({(id(room), i): share for i, share in room.coverage(ids, terms).items()})
    items: list[SearchItem] = []
    for position, room, row in chosen:
        scores = {"words": float(fused.words[position]), "dense": float(fused.dense[position])}
        if (cosine := float(fused.cosine[position])) == cosine:
            scores["cosine"] = cosine
        scores["coverage"] = coverage.get((id(room), row.id), 0.0)
        fields = _fields(row, room.namespace)
        score, vector = float(fused.score[position]), vectors.get((id(room), row.id))
        items.append(RankedItem(**fields, score=score, vector=vector, scores=scores))
    return items
