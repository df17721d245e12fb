"""Texts that have no token bits get them in the background, in the namespaces that are recalled from.

Where the local model embeds, they come with the vectors and nothing is left to do. With another embedder, or for what
was stored before there were bits, the first recall reads what it ranks and asks for the rest here. Bits are a hint:
nobody waits for another writer to keep them.
"""

from __future__ import annotations

import logging
import random
import sqlite3
from collections.abc import Callable, Mapping

from langmem_plus.errors import ConfigError, StoreError
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.providers.recent import Recent
from langmem_plus.store.embedding import TextEmbedder
from langmem_plus.store.markdown.connection import is_busy
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.worker import StoppedError, Worker

logger = logging.getLogger(__name__)

_BATCH = 64  # texts that are read in one go
_OTHERS_SECONDS = 5.0  # until another process's work in this folder is looked after again
_WHOLE_NAMESPACES = 10_000  # that are remembered as having all their bits

_State = tuple[str, int, int]
"""The model, the index, and the last item written there."""


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
        self._whole: Recent[Namespace, _State] = Recent(_WHOLE_NAMESPACES)

    def keep(self, namespace: Namespace, bits: Mapping[str, TextBits], *, rest: bool) -> None:
        """Keep bits that somebody had to make, by text. Others are missing then, too, and the ``rest`` is made: also
        where none of these could be kept, since what was read isn't word for word what is indexed, or somebody else is
        writing just now.
        """
        embedder, room = self._embedder(), self._room(namespace)
        encoder = embedder.encoder if embedder is not None else None
        if encoder is None or not bits or not room.exists:
            return
        _keep(room, encoder, bits)
        state = room.use(lambda index: _state(index, encoder)) if rest else None
        if state is not None and self._whole.get(namespace) != state:
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
            pause = self._read_some(namespace, encoder)
        except InterruptedBatchError:  # the next use finishes it
            pause = None
        except (StoreError, ConfigError) as error:
            logger.warning("what waits for token bits in %s waits on: %s", namespace, error)
            pause = None
        except StoppedError:
            raise
        except Exception:  # whatever ails the model there: the others are read, and the next recall asks again
            logger.exception("what waits for token bits in %s can't be read", namespace)
            pause = None
        if pause is None:
            self._todo.pop(namespace, None)
        return (pause or 0.0) if self._todo else None

    def _read_some(self, namespace: Namespace, encoder: TokenEncoder) -> float | None:
        """Read one batch; the seconds until the next one, None where there is none: an item may have more texts than
        one batch, so that passes follow until one makes nothing.
        """
        after, made = self._todo.get(namespace, (0, 0))

        def look(index: Index) -> tuple[_State | None, list[tuple[int, str]]]:
            return _state(index, encoder), index.bits.missing(encoder, after, _BATCH)

        with self._worker.touching():
            room = self._room(namespace)
            state, found = room.use(look) if room.exists else (None, [])
        if state is None:
            return None
        texts = list(dict.fromkeys(text for _, text in found))
        read = dict(zip(texts, encoder.read(texts), strict=True))
        with self._worker.touching():
            kept = _keep(room, encoder, read)
            if kept is None:  # the same ones again, which are remembered meanwhile
                return _OTHERS_SECONDS * random.uniform(0.1, 0.2)
            self._todo[namespace] = (found[-1][0], made + kept) if found else (0, 0)
        if not found and not made:
            self._whole.put(namespace, state)
            return None
        return 0.0


def _state(index: Index, encoder: TokenEncoder) -> _State | None:
    """Where an index stands; None where nothing is kept for it: one in memory may be behind its files, and what was
    erased must leave nothing.
    """
    return None if index.in_memory else (encoder.model_id, index.identity, index.position()[0])


def _keep(room: OpenNamespace, encoder: TokenEncoder, bits: Mapping[str, TextBits]) -> int | None:
    """Keep the bits of texts that are still there; how many these are, None where somebody else is writing."""

    def write(index: Index) -> int | None:
        if _state(index, encoder) is None:
            return 0
        try:
            with index.writing_vectors(patient=False):
                return index.bits.put(encoder, bits)
        except sqlite3.Error as error:
            if not is_busy(error):
                raise
            return None

    return room.use(write, hint=True) if bits and room.exists else 0
