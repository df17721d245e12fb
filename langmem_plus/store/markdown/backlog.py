"""What has to be embedded: the texts of writes, and those that have waited for their vector."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from langmem_plus.errors import StoreError
from langmem_plus.records import parse_time, utc_now
from langmem_plus.store.batches import Batch
from langmem_plus.store.embedding import Needs, Place, TextEmbedder
from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.describe import searched_texts
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.refused import text_hash

logger = logging.getLogger(__name__)

T = TypeVar("T")
Settled = Callable[[Callable[[], T]], T]


@dataclass(frozen=True)
class Backlog:
    """What waits to be done.

    Attributes:
        turns: turns whose facts haven't been drawn out, in all namespaces.
        turns_oldest: seconds for which the oldest of them has waited; None where none does.
        texts: texts without a vector, in the namespaces that are open.
        texts_oldest: seconds since the oldest item among these was written; None where none waits.
    """

    turns: int = 0
    turns_oldest: float | None = None
    texts: int = 0
    texts_oldest: float | None = None


@dataclass(frozen=True)
class EmbeddingState:
    """How the embedder does.

    Attributes:
        model: its name; None where words alone are searched.
        failures: calls that failed since the last one that worked.
        resting: seconds for which it isn't asked, because it failed again and again; 0 while it is.
        refused: texts that it gave no vector for; each is tried again after a pause that grows.
        waiting: texts without a vector of this model and size, those included.
        texts: all texts that are searched.
        oldest: seconds since the oldest item among those that wait was written; None where none waits.
        failed: calls that failed since the store was opened.
        p95: seconds within which 95 of 100 calls were answered, lately; None before the first.
        running: whether what waits is being embedded in the background, or waits there for its next try.
    """

    model: str | None
    failures: int = 0
    resting: float = 0.0
    refused: int = 0
    waiting: int = 0
    texts: int = 0
    oldest: float | None = None
    failed: int = 0
    p95: float | None = None
    running: bool = False

    @property
    def progress(self) -> float:
        """The share of the texts that have a vector of this model and size, in [0, 1]."""
        return (self.texts - self.waiting) / self.texts if self.texts else 1.0


def find_needs(
    batch: Batch,
    searched: Iterable[OpenNamespace],
    get: Callable[[Namespace], OpenNamespace],
    embedder: TextEmbedder,
    fields: Sequence[str] | None,
    limit: int,
    expect: Callable[[Namespace], object] | None = None,
) -> Needs:
    """What a batch wants embedded: the new texts of its writes, and, before a search, some that have waited.

    Args:
        batch: the ops.
        searched: the namespaces whose late vectors are looked for.
        get: finds a namespace.
        embedder: while it is left alone, or a text is, nothing that waits is looked for.
        fields: the paths that are searched.
        limit: texts that are embedded late in one go.
        expect: told where more than that wait, which then aren't embedded here; None where nobody else would.
    """
    texts: dict[str, Place] = {}
    for namespace, puts in batch.writes.items():
        wanted: dict[str, Place] = {}
        for key, put in puts.items():
            if put.value is not None:
                for text in searched_texts(dict(put.value), put.index, fields):
                    wanted.setdefault(text, (namespace, key))
        known = _known(get(namespace), embedder, list(wanted)) if wanted else set()
        texts.update({text: place for text, place in wanted.items() if text not in known})
    backlog: dict[str, Place] = {}
    if not embedder.breaker.resting():
        pausing = embedder.refused.pausing()
        for room in searched:
            if room.waits_for_nothing():
                continue
            if expect is not None and room.look(_rest, 0) - len(pausing) > limit - len(backlog):
                expect(room.namespace)
                continue
            found = waiting(room, limit - len(backlog), pausing)
            backlog.update({text: (room.namespace, key) for text, key in found.items()})
    late = [text for text in backlog if text not in texts]
    return Needs(list(texts), late, batch.queries, {**backlog, **texts})


def _known(room: OpenNamespace, embedder: TextEmbedder, texts: Sequence[str]) -> set[str]:
    """Which texts have a vector already, of the size that the embedder's have now."""
    if not room.exists:
        return set()
    model, size, by_hash = embedder.model, embedder.size, {text_hash(text): text for text in texts}
    return {by_hash[h] for h in room.use(lambda index: index.vectors.known(model, list(by_hash), size))}


def waiting(room: OpenNamespace, limit: int, apart_from: Collection[bytes] = ()) -> dict[str, str]:
    """Texts that wait for a vector, each with the key of an item that holds it; those with a `text_hash` among
    ``apart_from`` are left out.
    """

    def read(index: Index, catalog: Catalog) -> dict[str, str]:
        hashes = [text for text in catalog.waiting if text not in apart_from]
        return index.vectors.texts(hashes[:limit])

    return room.look(read, {}) if limit > 0 else {}


def wants(room: OpenNamespace, texts: Collection[str]) -> list[str]:
    """Those of some texts that wait in a namespace."""
    return room.look(lambda _, catalog: [text for text in texts if catalog.waits(text_hash(text))], [])


def _rest(index: Index, catalog: Catalog) -> int:
    return catalog.count_waiting()


def missing(room: OpenNamespace, embedder: TextEmbedder, after: int, limit: int) -> list[tuple[int, bytes, str, str]]:
    """Item, text hash, text and key of some texts without a vector, of the items after one, in their order."""
    model, size = embedder.model, embedder.size
    return room.look(lambda index, _: index.vectors.missing(model, size, after, limit), [])


def has_other_vectors(room: OpenNamespace, embedder: TextEmbedder) -> bool:
    """Whether a namespace has vectors of another model, or of another size."""
    model, size = embedder.model, embedder.size
    return room.look(lambda index, _: index.vectors.has_others(model, size), False)


def measure(rooms: Iterable[OpenNamespace], embedder: TextEmbedder) -> tuple[int, int, float | None]:
    """The number of texts, of those that have no vector, and the seconds since the oldest item of these was written."""
    model, size = embedder.model, embedder.size
    nothing: tuple[int, int, str | None] = (0, 0, None)
    found = [room.look(lambda index, _: index.vectors.figures(model, size), nothing) for room in rooms]
    times = [parse_time(written) for _, _, written in found if written]
    oldest = max(0.0, (utc_now() - min(times)).total_seconds()) if times else None
    return sum(one[0] for one in found), sum(one[1] for one in found), oldest


def embed_backlog(rooms: Iterable[OpenNamespace], embedder: TextEmbedder, settled: Settled[int], limit: int) -> int:
    """Embed all that waits, and count it: each text is tried once, whatever pause it is under, and what goes wrong with
    one or with its namespace stops no other. An embedder that is down ends it.
    """
    done = 0
    embedder.breaker.probe_now()
    for room in rooms:
        tried: set[bytes] = set()
        while not embedder.breaker.resting():
            try:
                found = settled(lambda room=room, tried=tried: _embed_some(room, embedder, limit, tried))  # type: ignore[misc]
            except StoreError as error:
                logger.warning("what waits for vectors in %s waits on: %s", room.namespace, error)
                break
            if found < 0:
                break
            done += found
    return done


def _embed_some(room: OpenNamespace, embedder: TextEmbedder, limit: int, tried: set[bytes]) -> int:
    """How many got their vector; -1 where nothing is left to try."""
    texts = waiting(room, limit, tried)
    if not texts:
        return -1
    tried.update(map(text_hash, texts))
    places = {text: (room.namespace, key) for text, key in texts.items()}
    vectors = embedder.fulfil(Needs(backlog=list(texts), places=places)).texts
    room.put_vectors(vectors)
    return len(vectors)
