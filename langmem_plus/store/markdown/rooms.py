"""Which namespaces are open: at most so many, each brought back when needed, none carried over a fork."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from langmem_plus.erasure import EraseReceipt
from langmem_plus.store.markdown import erasing
from langmem_plus.store.markdown.erasing import is_erasure
from langmem_plus.store.markdown.files import Namespace, journals, replay
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.namespace import OpenNamespace

logger = logging.getLogger(__name__)

# A fork waits so long for the namespaces that other threads are using.
_FORK_SECONDS = 5.0


class Rooms:
    """The namespaces of one store. There is one object for each namespace as long as anybody uses it, and its database
    is open while it is among those used last.

    Args:
        layout: where things lie.
        limit: how many databases stay open.
        make: makes the object of a namespace; the second argument is to be called when its database opens.
        forked: called in a forked child.
    """

    def __init__(
        self,
        layout: Layout,
        limit: int,
        make: Callable[[Namespace, Callable[[OpenNamespace], None]], OpenNamespace],
        forked: Callable[[], None],
    ) -> None:
        self._layout, self._limit, self._make, self._forked = layout, limit, make, forked
        self._left_behind: list[OpenNamespace] = []
        self._held: list[OpenNamespace] = []
        self._start_over()
        _ALL.add(self)

    def _start_over(self) -> None:
        self._known: weakref.WeakValueDictionary[Namespace, OpenNamespace] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[Namespace, OpenNamespace] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, namespace: Namespace) -> OpenNamespace:
        """The object of a namespace."""
        with self._lock:
            room = self._known.get(namespace)
            if room is None:
                room = self._known[namespace] = self._make(namespace, self._used)
            self._used(room)
            return room

    def opened(self) -> list[OpenNamespace]:
        """The namespaces whose databases are open now."""
        with self._lock:
            return list(self._recent.values())

    def _used(self, room: OpenNamespace) -> None:
        """Note that a namespace is in use. Beyond the limit, the one that was used longest ago is closed, unless
        another thread is busy with it.
        """
        with self._lock:
            self._recent[room.namespace] = room
            self._recent.move_to_end(room.namespace)
            for _ in range(len(self._recent) - self._limit):
                namespace, other = self._recent.popitem(last=False)
                if not other.close_if_idle():
                    self._recent[namespace] = other

    @contextlib.contextmanager
    def locked(self, namespaces: Collection[Namespace]) -> Iterator[list[OpenNamespace]]:
        """Hold several namespaces against other threads and processes, always in the same order."""
        with contextlib.ExitStack() as stack:
            rooms = [self.get(namespace) for namespace in sorted(namespaces)]
            for room in rooms:
                stack.enter_context(room.locked())
            yield rooms

    def finish_interrupted(self, namespaces: Collection[Namespace]) -> None:
        """Finish the batches that a crash left in the journal and that touch one of these namespaces. While a batch
        runs, its writer holds its namespaces, so whoever gets hold of them knows that the writer is done or gone.
        """
        found = sorted(journals(self._layout), key=lambda each: is_erasure(each[0]))  # a batch must not outlive them
        for journal, touched in found:
            if not touched or set(touched).isdisjoint(namespaces):
                continue
            if is_erasure(journal):
                self._finish_erasure(journal, touched)
                continue
            with self.locked(touched) as rooms:
                replay(self._layout, journal, durable=True)
                for room in rooms:
                    room.look_again()

    def _finish_erasure(self, journal: Path, touched: Collection[Namespace]) -> None:
        receipt, left = EraseReceipt(), erasing.is_left(journal)
        for namespace in touched:  # one after another: a user may have more of them than files can be open
            with self.locked([namespace]) as (room,):
                erasing.finish(self._layout, journal, room, receipt)
            erasing.drop(self._layout, room, receipt)
        erasing.end(self._layout, journal, receipt)
        if left:
            logger.warning("finished an erasure in %s that a crash had interrupted", touched)
        else:  # whoever comes by helps: nobody is to see half of it
            logger.debug("helped with an erasure in %s that is under way", touched)
        for missed in receipt.unreached:
            logger.error("the erasure in %s is incomplete: %s", touched, missed)

    def finish_erasures(self) -> None:
        """Finish the erasures that a crash left, of whatever namespace: one that is empty now is touched by nobody."""
        left = {namespace for file, touched in journals(self._layout) if is_erasure(file) for namespace in touched}
        try:
            self.finish_interrupted(left)
            for intent in erasing.left_for_git(self._layout):
                erasing.forget(self._layout, intent, EraseReceipt())
        except FileNotFoundError:
            return  # somebody else did it just now
        except OSError as error:
            logger.error("an erasure that a crash interrupted can't be finished: %s", error)

    def look_again(self, prefixes: Collection[Namespace]) -> None:
        """The namespaces at and below some prefixes that anybody uses compare with their files at their next use."""
        with self._lock:
            known = list(self._known.items())
        for namespace, room in known:
            if any(namespace[: len(prefix)] == prefix for prefix in prefixes):
                room.look_again()

    def close(self) -> None:
        """Close all databases."""
        with self._lock:
            rooms = list(self._known.values())
            self._recent.clear()
        for room in rooms:
            room.close()

    # around a fork: SQLite's own locks don't survive one, so nothing is open meanwhile

    def hold(self, until: float) -> None:
        """Before it: keep the other threads out and close all databases. One that is in use for too long stays."""
        for room in list(self._known.values()):
            self._hold(room, until)
        self._lock.acquire()
        for room in list(self._known.values()):  # those that were opened meanwhile
            if room not in self._held:
                self._hold(room, 0.0)

    def _hold(self, room: OpenNamespace, until: float) -> None:
        if room.hold(max(0.0, until - time.monotonic())):
            self._held.append(room)

    def let_go(self) -> None:
        """After it, in the parent."""
        held, self._held = self._held, []
        for room in held:
            room.let_go()
        self._lock.release()

    def leave_to_parent(self) -> None:
        """After it, in the child: begin without any of the parent's objects. A database that couldn't be closed is kept
        from being collected, since closing it here would act on files that the parent is using.
        """
        rooms = list(self._known.values())
        for room in rooms:
            room.leave_to_parent()
        self._left_behind += [room for room in rooms if room not in self._held]
        self._held = []
        self._start_over()
        self._forked()


_ALL: weakref.WeakSet[Rooms] = weakref.WeakSet()
_fork_lock = threading.Lock()
_forking: list[Rooms] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking.extend(_ALL)
    until = time.monotonic() + _FORK_SECONDS
    for rooms in _forking:
        rooms.hold(until)


def _after_fork_in_parent() -> None:
    for rooms in _forking:
        rooms.let_go()
    _forking.clear()
    _fork_lock.release()


def _after_fork_in_child() -> None:
    for rooms in _forking:
        rooms.leave_to_parent()
    _forking.clear()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
