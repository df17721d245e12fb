"""What follows from times to live: reads prolong them, sweeps delete what has expired and bring files up to date."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime as dt
import json
import logging
import os
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from langmem_plus.errors import InvalidValueError, StoreError
from langmem_plus.store.markdown import expiring
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.expiring import Expiry
from langmem_plus.store.markdown.files import Action, Namespace, carried_out
from langmem_plus.store.markdown.frontmatter import render
from langmem_plus.store.markdown.index import Index, Row
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.planning import Write
from langmem_plus.store.ttl import check_minutes

if TYPE_CHECKING:
    from langmem_plus.store.markdown.engine import Engine

logger = logging.getLogger(__name__)

# Between two sweeps where nobody says, as in LangGraph's own stores.
_SWEEP_MINUTES = 5.0
_STOP_SECONDS = 5.0


class Reads:
    """The items that one batch gives out and whose time begins anew by that."""

    def __init__(self, expiry: Expiry) -> None:
        self._expiry = expiry
        self._keys: dict[Namespace, tuple[OpenNamespace, list[str]]] = {}

    def note(self, room: OpenNamespace, row: Row) -> None:
        """An item was given out."""
        if row.ttl is not None:
            self._keys.setdefault(room.namespace, (room, []))[1].append(row.key)

    def prolong(self) -> None:
        """Count the times anew. A read never fails for that."""
        for namespace, (room, keys) in self._keys.items():
            now = self._expiry.clock()
            try:
                left = room.use(lambda index, room=room, keys=keys, now=now: _prolong(room, index, keys, now))  # type: ignore[misc]
            except StoreError as error:
                logger.warning("reading couldn't prolong what expires in %s: %s", namespace, error)
            else:
                self._expiry.prolonged.add(namespace)
                if left:
                    self._expiry.unnoted.setdefault(namespace, {}).update({note[0]: note for note in left})


def _prolong(room: OpenNamespace, index: Index, keys: Sequence[str], now: dt.datetime) -> list[expiring.Note]:
    if index.in_memory and not index.count():  # it has just taken the place of one on disk
        room.follow(index)
    return expiring.prolong(index, keys, now)


def flush(engine: Engine, namespaces: Collection[Namespace]) -> None:
    """Write into the files of some namespaces how far reads have prolonged their items' time.

    Raises:
        StoreError: a file can't be written; the index still knows.
    """
    for namespace in namespaces:
        engine.settled(lambda namespace=namespace: _flush(engine, namespace))  # type: ignore[misc]
        engine.expiry.prolonged.discard(namespace)


@contextlib.contextmanager
def _held(engine: Engine, namespace: Namespace) -> Iterator[OpenNamespace]:
    """A namespace that nobody else writes, in step with its files."""
    with engine.rooms.locked([namespace]) as (room,):
        if room.is_interrupted():
            raise InterruptedBatchError(namespace)
        room.look_again()
        room.count()
        if notes := engine.expiry.unnoted.get(namespace):
            room.use(lambda index: expiring.catch_up(index, notes.values()))
        yield room


def _flush(engine: Engine, namespace: Namespace) -> None:
    with _held(engine, namespace) as room:
        rows = [(row, until) for key, until in room.use(expiring.later_than_files) if (row := room.get(key))]
        if not rows:
            return
        actions = [Action(namespace, row.path, render(_entry(row, until), namespace)) for row, until in rows]
        with carried_out(engine.layout, actions, durable=engine.config.durable) as stamps:
            engine.companions.wrote(actions, stamps)

            def note(index: Index) -> None:
                with index.writing():
                    for action, stamp in zip(actions, stamps, strict=True):
                        if stamp is not None:
                            index.files.restamp(action.path, stamp)
                    expiring.set_expiry(index, [(row.key, until) for row, until in rows], engine.expiry.now())

            room.use(note)
        engine.expiry.unnoted.pop(namespace, None)


def _entry(row: Row, until: str) -> Entry:
    index = None if row.indexing is None else json.loads(row.indexing)
    value, (created_at, updated_at) = row.load_value(), (row.created_at, row.updated_at)
    return Entry(row.key, value, created_at, updated_at, index, ttl=row.ttl, expires_at=until)


def sweep(engine: Engine) -> int:
    """Delete what has expired in all namespaces, as a delete does, and flush the others.

    Returns:
        How many items were deleted.

    Raises:
        StoreError: a file can't be written.
    """
    swept = 0
    for room in engine.below(()):
        if not expiring.is_immortal(engine.layout, room.namespace):
            swept += engine.settled(lambda room=room: _sweep(engine, room.namespace))  # type: ignore[misc]
            flush(engine, [room.namespace])
    return swept


def _sweep(engine: Engine, namespace: Namespace) -> int:
    now, room = engine.expiry.now(), engine.room(namespace)
    room.count()  # in step with the files
    if not room.use(lambda index: expiring.expired_keys(index, now)):
        return 0
    with _held(engine, namespace) as room:  # nobody can put one of them meanwhile
        keys = room.use(lambda index: expiring.expired_keys(index, now))
        steps = room.plan([Write(key, None) for key in keys])
        engine.carry_out([(room, steps)], {})
        return len(steps)


def finish(engine: Engine) -> None:
    """Before a store closes: end the sweeper, and flush what this store's reads have prolonged."""
    engine.sweeper.stop(_STOP_SECONDS)
    for namespace in list(engine.expiry.prolonged):
        try:
            flush(engine, [namespace])
        except StoreError as error:
            logger.warning("the files of %s don't say yet how far reading prolonged them: %s", namespace, error)


class Sweeper:
    """One daemon thread that sweeps now and then, until it is stopped or nobody has the store any more.

    A forked child that starts it has a thread of its own.

    Args:
        engine: whose items are swept; held weakly.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = weakref.ref(engine)
        self._minutes = (engine.expiry.config or {}).get("sweep_interval_minutes")
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start it where the settings name an interval."""
        if self._minutes is not None and not self._is_running():
            self.start(self._minutes)

    def _is_running(self) -> bool:
        return self._pid == os.getpid() and self._thread is not None and self._thread.is_alive()

    def start(self, minutes: float | None = None) -> concurrent.futures.Future[None]:
        """Sweep every so many minutes; what runs already goes on as it is.

        Args:
            minutes: between two sweeps; None for the settings' interval.

        Returns:
            A future that is done when the sweeping ends; cancelling it ends it.

        Raises:
            InvalidValueError: it isn't a number above 0.
        """
        wanted = check_minutes(minutes, "sweep_interval_minutes")
        if wanted == 0:
            raise InvalidValueError("sweep_interval_minutes=0: give more than 0, or None for the settings' interval.")
        if self._pid != os.getpid():
            self._lock, self._pid, self._thread = threading.Lock(), os.getpid(), None
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            if not self._is_running():
                self._stop = threading.Event()
                seconds = (wanted or self._minutes or _SWEEP_MINUTES) * 60
                weakref.finalize(self, self._stop.set)
                self._thread = threading.Thread(
                    target=_sweep_often,
                    args=(self._engine, self._stop, seconds, future),
                    name="ttl-sweeper",
                    daemon=True,
                )
                self._thread.start()
            stop = self._stop
        future.add_done_callback(lambda ended: stop.set() if ended.cancelled() else None)
        return future

    def stop(self, timeout: float | None = None) -> bool:
        """End it, and say whether it ended within ``timeout`` seconds; None waits as long as a sweep takes."""
        self._stop.set()
        if not self._is_running() or self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()


def _sweep_often(
    engine: weakref.ref[Engine], stop: threading.Event, seconds: float, future: concurrent.futures.Future[None]
) -> None:
    while not stop.wait(min(seconds, threading.TIMEOUT_MAX)):
        if not _sweep_once(engine):
            break
    with contextlib.suppress(concurrent.futures.InvalidStateError):
        future.set_result(None)


def _sweep_once(reference: weakref.ref[Engine]) -> bool:
    engine = reference()
    if engine is None:
        return False
    try:
        swept = sweep(engine)
    except Exception:  # one sweep that fails mustn't end the sweeping
        logger.exception("the sweep of what has expired failed; the next one tries again")
    else:
        if swept:
            logger.info("%d expired items were deleted", swept)
    return True
