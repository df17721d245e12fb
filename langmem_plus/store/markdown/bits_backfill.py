"""Texts that have no token bits get them in the background, in the namespaces that are recalled from.

Where the local model embeds, they come with the vectors and nothing is left to do. With another embedder, or for what
was stored before there were bits, the first recall reads what it ranks and asks for the rest here.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping

from langmem_plus.errors import ConfigError, StoreError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.store.embedding import TextEmbedder
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.worker import Worker

logger = logging.getLogger(__name__)

_BATCH = 64  # texts that are read in one go
_OTHERS_SECONDS = 5.0  # until another process's work in this folder is looked after again


class BitsBackfill:
    """Makes the missing bits of one store's namespaces, in a thread of its own.

    Args:
        layout: where things lie.
        embedder: finds the embedder, which knows the encoder.
        room: finds a namespace.
    """

    def __init__(
        self,
        layout: Layout,
        embedder: Callable[[], TextEmbedder | None],
        room: Callable[[Namespace], OpenNamespace],
    ) -> None:
        self._embedder, self._room = embedder, room
        self._worker = Worker(f"langmem-plus-bits-{layout.root.name}", self._step)
        self._claim = ProcessLock(layout.locks / "bits.lock")
        self._todo: dict[Namespace, tuple[int, int]] = {}  # how far each is worked off, and what this pass made

    def keep(self, namespace: Namespace, bits: Mapping[str, TextBits], *, rest: bool) -> None:
        """Keep bits that somebody had to make, by text; others are missing then, too, and the ``rest`` is made."""
        embedder = self._embedder()
        encoder = embedder.encoder if embedder is not None else None
        if encoder is not None and _keep(self._room(namespace), encoder, bits) and rest:
            self._todo.setdefault(namespace, (0, 0))
            self._worker.wake()

    @property
    def is_running(self) -> bool:
        """Whether bits are being made."""
        return self._worker.is_running

    def stop(self) -> None:
        """End the thread; the next recall asks again."""
        self._worker.stop()
        self._todo = {}

    def forked(self) -> None:
        """In a forked child: the parent's thread isn't here, and its claim is the parent's."""
        self._claim.leave_to_parent()
        self._todo = {}

    def _step(self) -> float | None:
        embedder = self._embedder()
        encoder = embedder.encoder if embedder is not None else None
        if encoder is None or not self._todo:
            return None
        try:
            if not self._claim.acquire(wait=False):
                return _OTHERS_SECONDS * random.uniform(0.5, 1.0)
        except OSError as error:  # without a claim the work is done twice at worst
            logger.debug("what waits for token bits can't be claimed: %s", error)
            return self._work(encoder)
        try:
            return self._work(encoder)
        finally:
            self._claim.release()

    def _work(self, encoder: TokenEncoder) -> float | None:
        namespace = next(iter(self._todo))
        try:
            more = self._read_some(namespace, encoder)
        except InterruptedBatchError:  # the next use finishes it
            more = False
        except (StoreError, ConfigError) as error:
            logger.warning("what waits for token bits in %s waits on: %s", namespace, error)
            more = False
        if not more:
            self._todo.pop(namespace, None)
        return 0.0 if self._todo else None

    def _read_some(self, namespace: Namespace, encoder: TokenEncoder) -> bool:
        """Read one batch; whether there may be more: an item may have more texts than one batch, so that passes follow
        until one makes nothing.
        """
        after, made = self._todo.get(namespace, (0, 0))
        with self._worker.touching():
            room = self._room(namespace)
            found = room.use(lambda index: index.bits.missing(encoder, after, _BATCH)) if room.exists else []
        texts = list(dict.fromkeys(text for _, text in found))
        read = dict(zip(texts, encoder.read(texts), strict=True))
        with self._worker.touching():
            made += _keep(room, encoder, read)
            self._todo[namespace] = (found[-1][0], made) if found else (0, 0)
        return bool(found) or made > 0


def _keep(room: OpenNamespace, encoder: TokenEncoder, bits: Mapping[str, TextBits]) -> int:
    """Keep the bits of texts that are still there; how many these are."""

    def write(index: Index) -> int:
        if index.in_memory:  # it may be behind its files, and what was erased must leave nothing
            return 0
        with index.writing_vectors():
            return index.bits.put(encoder, bits)

    return room.use(write, hint=True) if bits and room.exists else 0
