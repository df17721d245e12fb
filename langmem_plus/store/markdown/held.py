"""What is known of a namespace's collection, and what it ought to hold."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np

from langmem_plus.store.markdown.catalog import Catalog
from langmem_plus.store.markdown.chroma import Collection
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.search import Ids

# What is slow, locked or broken is left alone so long, and then longer and longer.
_REST_SECONDS, _LONGEST_REST = 30.0, 3600.0
_NOTHING: Ids = np.empty(0, np.int64)


@dataclass
class State:
    """What is known of one namespace's collection.

    Attributes:
        ready: what answers searches: the collection once it is filled, the catalog that it was filled from, and how
            many of that one's vectors it knows.
    """

    namespace: Namespace
    lock: ProcessLock
    collection: Collection | None = None
    identity: int = 0
    ready: tuple[Collection, object, int] | None = None
    rest_until: float = 0.0
    failures: int = 0
    suspect: bool = False

    def rest(self) -> None:
        """Leave it alone for a while, but for the first time."""
        pause = min(_REST_SECONDS * 2 ** (self.failures - 1), _LONGEST_REST) if self.failures else 0.0
        pause *= random.uniform(1.0, 1.1)
        self.failures += 1
        self.rest_until = time.monotonic() + pause


@dataclass(frozen=True)
class Held:
    """A namespace's vectors as the index has them now."""

    identity: int
    epoch: object
    since: int
    size: int | None
    items: Ids
    counts: Ids

    @staticmethod
    def nothing() -> Held:
        """Where nothing is held."""
        return Held(0, None, 0, 0, _NOTHING, _NOTHING)


def hold(index: Index, catalog: Catalog) -> Held | None:
    """What is held now; None where nothing is, or not for long."""
    if index.in_memory or not catalog.vector_count:
        return None
    items, counts = catalog.with_vectors()
    return Held(index.identity, catalog.epoch, catalog.vector_count, catalog.size, items, counts)


def lacking(collection: Collection, held: Held) -> Ids:
    """The items of which the collection doesn't hold every text that has a vector."""
    known = {item: len(chunks) for item, chunks in collection.chunks.items()}
    have = np.fromiter((known.get(item, 0) for item in held.items.tolist()), np.int64, len(held.items))
    return held.items[have != held.counts]  # type: ignore[no-any-return]
