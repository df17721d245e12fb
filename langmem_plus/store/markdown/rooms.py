"""Which namespaces are open: at most so many, each brought back when needed, none carried over a fork."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from langmem_plus.store.markdown.files import Namespace, journals, replay
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.namespace import OpenNamespace


class Rooms:
    """The open namespaces of one store.

    Args:
        layout: where things lie.
        limit: how many databases stay open.
        make: opens a namespace.
    """

    def __init__(self, layout: Layout, limit: int, make: Callable[[Namespace], OpenNamespace]) -> None:
        self._layout, self._limit, self._make = layout, limit, make
        self._left_behind: list[OrderedDict[Namespace, OpenNamespace]] = []
        self._start_over()
        _ALL.add(self)

    def _start_over(self) -> None:
        self._open: OrderedDict[Namespace, OpenNamespace] = OrderedDict()
        self._lock = threading.RLock()

    def leave_to_parent(self) -> None:
        """In a forked child: hold nothing of the parent's. Its connections aren't closed, since closing them here
        would act on files that the parent is using; they are only kept from being collected.
        """
        self._left_behind.append(self._open)
        self._start_over()

    def get(self, namespace: Namespace) -> OpenNamespace:
        """The namespace, opened if it isn't open; whichever was used longest ago is closed beyond the limit."""
        with self._lock:
            room = self._open.get(namespace)
            if room is None:
                room = self._open[namespace] = self._make(namespace)
            self._open.move_to_end(namespace)
            idle = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - self._limit)]
        for other in idle:
            other.close()
        return room

    @contextlib.contextmanager
    def locked(self, namespaces: Sequence[Namespace]) -> Iterator[list[OpenNamespace]]:
        """Hold several namespaces against other threads and processes, always in the same order."""
        with contextlib.ExitStack() as stack:
            rooms = [self.get(namespace) for namespace in sorted(namespaces)]
            for room in rooms:
                stack.enter_context(room.locked())
            yield rooms

    def finish_interrupted(self) -> None:
        """Finish the batches that a crash left in the journal. While a batch runs, its writer holds its namespaces, so
        whoever gets hold of them knows that the writer is done or gone.
        """
        for journal, actions in journals(self._layout):
            with self.locked(sorted({action.namespace for action in actions})) as rooms:
                replay(self._layout, journal, actions, durable=False)
                for room in rooms:
                    room.look_again()

    def close(self) -> None:
        """Close all databases."""
        with self._lock:
            rooms = list(self._open.values())
            self._open.clear()
        for room in rooms:
            room.close()


_ALL: weakref.WeakSet[Rooms] = weakref.WeakSet()


def _after_fork() -> None:
    for rooms in list(_ALL):
        rooms.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
