"""What waits for a vector gets it in the background: batch by batch, while everything else goes on.

The thread starts when something waits that no reply should wait for, and ends when nothing does. It holds no lock while
the embedder works. Of several processes on one folder, one works at a time: two would do no harm, but pay twice.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import EmbeddingError, StoreError
from langmem_plus.store.embedding import Needs, TextEmbedder
from langmem_plus.store.markdown.backlog import has_other_vectors, missing
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.worker import Worker

logger = logging.getLogger(__name__)

# While another process embeds what waits in this folder, it is looked after again after so many seconds, at most.
_OTHERS_SECONDS = 30.0


class Backfill:
    """Embeds what waits in the namespaces of one store, in a thread of its own.

    After another model, or another size of its vectors, all namespaces of the folder are gone through, not only those
    in use.

    Args:
        layout: where things lie.
        config: the store's settings.
        embedder: finds the embedder.
        room: finds a namespace.
        finish: finishes what a crash left half-done in some namespaces.
    """

    def __init__(
        self,
        layout: Layout,
        config: MemoryConfig,
        embedder: Callable[[], TextEmbedder | None],
        room: Callable[[Namespace], OpenNamespace],
        finish: Callable[[Collection[Namespace]], object],
    ) -> None:
        self._layout, self._config = layout, config
        self._embedder, self._room, self._finish = embedder, room, finish
        self._worker = Worker(f"langmem-plus-embedding-{layout.root.name}", self._step)
        self._claim = ProcessLock(layout.locks / "embedding.lock")
        self._failures = self._denied = 0
        self._swept = ""
        self.embedded = 0
        self._forget()

    def _forget(self) -> None:
        self._todo: dict[Namespace, int] = {}  # how far each is worked off
        self._again: set[Namespace] = set()  # told of meanwhile
        self._refused: set[Namespace] = set()  # come back to when a text may be tried again

    @property
    def is_running(self) -> bool:
        """Whether something is being embedded, or waits for its next try."""
        return self._worker.is_running

    def expect(self, namespace: Namespace) -> None:
        """Told that texts wait somewhere. Whatever failed lately isn't tried at once."""
        embedder = self._embedder() if self._config.embed_in_background else None
        if embedder is None:
            return
        self._again.add(namespace)
        self._todo.setdefault(namespace, 0)
        self._worker.wake(self._pause(embedder))

    def stop(self) -> None:
        """End the thread; what waits goes on waiting, in the index."""
        self._worker.stop()
        self._forget()

    def forked(self) -> None:
        """In a forked child: the parent's thread isn't here, and its claim is the parent's."""
        self._claim.leave_to_parent()
        self._forget()

    def _pause(self, embedder: TextEmbedder) -> float:
        """Seconds until the next try, never the same for two processes."""
        resting = embedder.breaker.resting()
        if embedder.breaker.failures or self._failures:
            resting = max(resting, self._config.embed_pause_seconds * 2 ** min(max(self._failures - 1, 0), 6))
        return resting * random.uniform(1.0, 1.1)

    def _step(self) -> float | None:
        embedder = self._embedder()
        if embedder is None or not self._todo:
            return None
        if embedder.breaker.resting():
            return self._pause(embedder)
        try:
            if not self._claim.acquire(wait=False):
                self._denied += 1
                return min(2.0 ** (self._denied - 1), _OTHERS_SECONDS) * random.uniform(0.5, 1.0)
        except OSError as error:  # without a claim the work is done twice at worst
            logger.debug("what waits for vectors can't be claimed: %s", error)
            return self._work(embedder)
        try:
            self._denied = 0
            return self._work(embedder)
        finally:
            self._claim.release()

    def _work(self, embedder: TextEmbedder) -> float | None:
        namespace = next(iter(self._todo))
        try:
            if not self._embed_some(namespace, embedder):
                self._done(namespace)
            self._failures = 0
        except InterruptedBatchError as interrupted:
            with self._worker.touching():
                self._finish([interrupted.namespace])
        except (StoreError, EmbeddingError) as error:
            self._failures += 1
            logger.warning("what waits for vectors in %s waits on: %s", namespace, error)
            self._todo[namespace] = self._todo.pop(namespace, 0)  # the others first
        if self._todo:
            return self._pause(embedder)
        pause = embedder.refused.next_try() if self._refused else None
        self._todo, self._refused = dict.fromkeys(self._refused if pause is not None else (), 0), set()
        return None if pause is None else pause * random.uniform(1.0, 1.1)

    def _done(self, namespace: Namespace) -> None:
        """One pass is over; another follows where something came meanwhile."""
        if namespace in self._again:
            self._again.discard(namespace)
            self._todo[namespace] = 0
        else:
            self._todo.pop(namespace, None)

    def _embed_some(self, namespace: Namespace, embedder: TextEmbedder) -> bool:
        """Embed one batch; whether there may be more."""
        after, pausing = self._todo.get(namespace, 0), embedder.refused.pausing()
        with self._worker.touching():
            room = self._room(namespace)
            if not after:
                self._again.discard(namespace)
                self._sweep(room, embedder)
            found = missing(room, embedder, after, self._config.embed_batch)
        texts = {text: (namespace, key) for _, known, text, key in found if known not in pausing}
        if len(texts) < len({known for _, known, _, _ in found}):
            self._refused.add(namespace)
        vectors = embedder.fulfil(Needs(backlog=list(texts), places=texts)).texts if texts else {}
        with self._worker.touching():
            room.put_vectors(vectors)
            self.embedded += len(vectors)
            if len(vectors) < len(texts) and embedder.breaker.failures:
                return True  # it is down: the same ones again, later
            if len(vectors) < len(texts):
                self._refused.add(namespace)
            if found:
                # The last item may have more texts; one that fills a whole batch has had its turn.
                last = found[-1][0]
                self._todo[namespace] = last - 1 if last - 1 > max(after, found[0][0] - 1) else last
        return bool(found)

    def _sweep(self, room: OpenNamespace, embedder: TextEmbedder) -> None:
        """After another model, go through all namespaces, once."""
        signature = f"{embedder.model}/{embedder.size}"
        if self._swept != signature and has_other_vectors(room, embedder):
            self._swept = signature
            for namespace, _ in sorted(self._layout.find_namespaces()):
                self._todo.setdefault(namespace, 0)
