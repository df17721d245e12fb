"""Approximate search for large namespaces: which of them have a Chroma collection, filled in the background.

The exact search is always there. A collection that is missing, locked by another process, behind, slow or broken means
that it answers, with one warning where something is wrong, and that the collection is filled, or filled again. What was
written since a collection was filled is compared exactly beside it, so nothing new is ever missed.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, StoreError
from langmem_plus.store.embedding import TextEmbedder
from langmem_plus.store.markdown.chroma import (
    Chunk,
    Collection,
    await_others,
    chroma_lock,
    collection_name,
    drop_collections,
    vectorstore,
)
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.held import Held, State, hold, lacking
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.legs import Nearest
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.worker import StoppedError, Worker
from langmem_plus.store.search import Floats

logger = logging.getLogger(__name__)

# Items that are asked for; more where a filter will leave out some of them.
_CANDIDATES, _FILTERED = 300, 1500
# So many vectors may be missing before the collection is filled up.
_BEHIND = 500
# Items written in one go, between which the store can be closed, and searches have as much time as the last one took.
_BATCH, _LONGEST_PAUSE = 200, 0.5
# A query that takes longer is slow.
_SLOW_SECONDS = 1.0
# How long an erasure waits for another process that has a collection open.
_AWAIT_SECONDS = 2.0

MISSING = "Chroma isn't installed. Run: pip install 'langmem-plus[chroma]'"


class Approximate:
    """The Chroma collections of one store; thread-safe.

    Args:
        layout: where things lie.
        config: the store's settings.
        embedder: finds the embedder.
        room: finds a namespace.
    """

    def __init__(
        self,
        layout: Layout,
        config: MemoryConfig,
        embedder: Callable[[], TextEmbedder | None],
        room: Callable[[Namespace], OpenNamespace],
    ) -> None:
        self._layout, self._config, self._embedder, self._room = layout, config, embedder, room
        self._url = config.chroma_url
        self._worker = Worker(f"langmem-plus-chroma-{layout.root.name}", self._step)
        self._told: set[tuple[Namespace, str]] = set()
        self._missing = False
        self._start_over()

    def _start_over(self) -> None:
        self._states: OrderedDict[Namespace, State] = OrderedDict()
        self._todo: dict[Namespace, None] = {}
        self._lock, self._syncing = threading.RLock(), threading.RLock()

    def join(self, room: OpenNamespace) -> OpenNamespace:
        """Go along with a namespace that comes into use."""
        room.drop_collections = functools.partial(_drop, weakref.ref(self), self._layout, room.namespace, self._url)
        if self._config.dense_index != "exact":
            room.nearest = functools.partial(_ask, weakref.ref(self), weakref.ref(room))
        return room

    def is_ready(self, namespace: Namespace) -> bool:
        """Whether a search of a namespace would be answered by its collection now."""
        state, (epoch, _) = self._states.get(namespace), self._room(namespace).vectors_held
        return state is not None and state.ready is not None and state.ready[1] is epoch

    def nearest(self, room: OpenNamespace, query: Floats, filtered: bool) -> Nearest | None:
        """About the nearest items; None where the exact search is to answer."""
        epoch, count = room.vectors_held
        least = self._config.ann_threshold if self._config.dense_index == "auto" else 0
        if count <= least or self._missing:
            return None
        state = self._states.get(room.namespace)
        ready = state.ready if state is not None else None
        if state is None or ready is None or ready[1] is not epoch:
            self._want(room.namespace)
            return None
        collection, _, since = ready
        if count - since > _BEHIND:
            self._want(room.namespace)
        began = time.monotonic()
        if began < state.rest_until:
            return None
        try:
            if collection.is_lost:
                raise FileNotFoundError("its folder was removed")
            found = collection.nearest(query, _FILTERED if filtered else _CANDIDATES)
        except Exception as error:  # noqa: BLE001 - whatever Chroma raises, the exact search answers
            self._give_up(state, error)
            return None
        state.failures = 0
        if time.monotonic() - began > _SLOW_SECONDS:
            self._warn(room.namespace, "its collection in Chroma is slow")
            state.rest()
        return Nearest(found, epoch, since)

    def vectorstore(self, namespace: Namespace, embeddings: Any) -> Any:
        """See `MarkdownStore.as_vectorstore`."""
        if self._embedder() is None:
            raise ConfigError("a vector store needs vectors: this store searches by words alone.")
        try:
            if not self._sync(namespace, force=True):
                raise StoreError(
                    f"the collection of {namespace} is in use by another process: close it there, or name a Chroma "
                    "server in chroma_url, which many can use."
                )
        except ImportError as error:
            raise StoreError(MISSING) from error
        collection = self._states[namespace].collection
        assert collection is not None
        return vectorstore(collection, embeddings)

    def drop(self, namespace: Namespace) -> list[str]:
        """Remove a namespace's collections for good, as `drop_collections`, and let go of them. Whoever fills one just
        now gives up at its next step, which may need the namespace: the caller mustn't hold that.

        Raises:
            OpenElsewhereError: another process has one open; its files are removed all the same.
            OSError: the folder can't be removed, or the server can't be reached.
        """
        gone = drop_collections(self._layout, namespace, self._url)
        with self._syncing:
            with self._lock:
                state = self._states.get(namespace)
                self._todo.pop(namespace, None)
            if state is not None:
                self._let_go(state)
            if gone and not self._url:
                await_others(self._layout, namespace, gone, _AWAIT_SECONDS)
        return gone

    def close(self) -> None:
        """End the thread and let go of all collections; the next use opens them again."""
        self._worker.stop()
        with self._lock:
            states = list(self._states.values())
            self._states.clear()
            self._todo.clear()
        with self._syncing:  # what is just being opened is let go of, too
            for state in states:
                self._let_go(state)

    def forked(self) -> None:
        """In a forked child: the parent keeps its collections, and its locks."""
        for state in self._states.values():
            if state.collection is not None:
                state.collection.leave_to_parent()
            state.lock.leave_to_parent()
        self._start_over()

    # in the background

    def _want(self, namespace: Namespace) -> None:
        state = self._states.get(namespace)
        pause = max(0.0, state.rest_until - time.monotonic()) if state else 0.0
        if not pause:
            self._todo[namespace] = None
            self._worker.wake()

    def _step(self) -> float | None:
        with self._lock:
            namespace = next(iter(self._todo), None)
            if namespace is None:
                return None
            del self._todo[namespace]
        try:
            self._sync(namespace)
        except StoppedError:
            raise
        except InterruptedBatchError:
            return 0.0  # a crash left it; the next search finishes that, and asks again
        except ImportError:
            self._missing = True
            self._warn((), MISSING)
            return None
        except Exception as error:  # noqa: BLE001 - as above
            if (state := self._states.get(namespace)) is not None:
                self._give_up(state, error)
        return 0.0

    def _sync(self, namespace: Namespace, *, force: bool = False) -> bool:
        """Bring a collection in step with the index; False where another process has it."""
        with self._syncing:
            held = self._room(namespace).look(hold, None)
            if held is None and not force:
                return True
            held = held or Held.nothing()
            state = self._state(namespace)
            with contextlib.ExitStack() as stack:
                mine = state.collection is not None and not self._url
                if not mine and not (mine := state.lock.acquire(wait=False)) and not self._url:
                    self._warn(namespace, "another process has its collection in Chroma")
                    state.rest()
                    return False
                if self._url and mine:
                    stack.callback(state.lock.release)  # a server is for many: the lock is for writing alone
                if not self._open(namespace, state, held):
                    return False
                if not self._fill(state, held, may_write=mine, force=force):
                    return False
            if state.collection is not None:
                state.ready = state.collection, held.epoch, held.since
            return True

    def _open(self, namespace: Namespace, state: State, held: Held) -> bool:
        """Open the collection that fits what is held. The caller has its lock."""
        embedder = self._embedder()
        if embedder is None:
            return False
        name = collection_name(self._layout, namespace, embedder.model, held.size or 0)
        if state.collection is not None:
            if (state.collection.name, state.identity) == (name, held.identity) and not state.collection.is_lost:
                return True
            state.ready = None
            state.collection.close()
            state.collection = None
        try:
            if state.suspect and not self._url:
                drop_collections(self._layout, namespace, None)
            state.collection = Collection(self._layout, namespace, self._url, name, held.identity)
        except BaseException:
            if not self._url:
                state.lock.release()
            raise
        state.identity, state.suspect = held.identity, False
        return True

    def _fill(self, state: State, held: Held, *, may_write: bool, force: bool) -> bool:
        """Put in what is missing, take out what is gone."""
        collection, room, size = state.collection, self._room(state.namespace), 4 * (held.size or 0)
        embedder = self._embedder()
        assert collection is not None and embedder is not None
        if force and may_write:
            collection.keep_texts()
        model, missing = embedder.model, lacking(collection, held)
        if not may_write:
            return len(missing) == 0
        touching = contextlib.nullcontext if force else self._worker.touching
        nothing: list[Chunk] = []
        for start in range(0, len(missing), _BATCH):
            items = [int(item) for item in missing[start : start + _BATCH]]
            with touching():
                if collection.is_lost:
                    raise FileNotFoundError("its folder was removed")
                found = room.look(lambda index, _, items=items: index.vectors.chunks(model, items), nothing)  # type: ignore[misc]
                began = time.monotonic()
                if chunks := [chunk for chunk in found if len(chunk[4]) == size]:
                    collection.put(chunks)
            if not force:
                time.sleep(min(time.monotonic() - began, _LONGEST_PAUSE))
        with touching():
            collection.remove([int(item) for item in np.setdiff1d(collection.items, held.items)])
        return True

    def _state(self, namespace: Namespace) -> State:
        with self._lock:
            if namespace not in self._states:
                self._states[namespace] = State(namespace, ProcessLock(chroma_lock(self._layout, namespace)))
            self._states.move_to_end(namespace)
            over = len(self._states) - self._config.open_namespaces
            old = [self._states.popitem(last=False)[1] for _ in range(max(0, over))]
        for state in old:
            self._let_go(state)
        return self._states[namespace]

    def _let_go(self, state: State) -> None:
        state.ready = None
        collection, state.collection = state.collection, None
        if collection is not None:
            collection.close()
            if not self._url:
                state.lock.release()

    def _give_up(self, state: State, error: Exception) -> None:
        """Something is wrong: the exact search answers, and the collection is filled again."""
        self._warn(state.namespace, f"its collection in Chroma can't be used and is filled again ({error})")
        state.rest()
        state.suspect = True
        self._let_go(state)
        if state.failures == 1:
            self._want(state.namespace)

    def _warn(self, namespace: Namespace, what: str) -> None:
        kind = what.partition("(")[0]
        if (namespace, kind) not in self._told:
            self._told.add((namespace, kind))
            logger.warning("vectors of %s are searched exactly: %s", namespace or "all namespaces", what)


def _drop(approximate: weakref.ref[Approximate], layout: Layout, namespace: Namespace, url: str | None) -> list[str]:
    here = approximate()
    return here.drop(namespace) if here is not None else drop_collections(layout, namespace, url)


def _ask(
    approximate: weakref.ref[Approximate],
    room: weakref.ref[OpenNamespace],
    query: Floats,
    filtered: bool,
) -> Nearest | None:
    here, asked = approximate(), room()
    return here.nearest(asked, query, filtered) if here is not None and asked is not None else None
