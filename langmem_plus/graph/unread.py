"""What work in the background warned of, until the next turn of whoever it concerns tells it.

It is kept by store, so that any graph or client of the process over that store tells it, and no longer than the store
lives. People are told apart by user and by the name that their messages carry; by their thread, too, where a graph's
scope is one user's and nobody has a name. A forked process begins with nothing: its parent tells what it knows.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import NamedTuple

from langgraph.store.base import BaseStore

from langmem_plus.records import Scope
from langmem_plus.speakers import key_of

# People whose warnings wait; more are people who don't come back. Of each, the newest.
_PEOPLE = 10_000
_EACH = 20


class Person(NamedTuple):
    """Who is told: a user, by the name that they speak under, empty where they have none; None is whoever speaks as
    that user.
    """

    namespace: tuple[str, ...]
    user_id: str
    name: str | None

    @classmethod
    def of(cls, scope: Scope, name: str | None) -> Person:
        """Who speaks in a scope, under a name or none."""
        return cls(scope.namespace, scope.user_id, key_of(name))

    @classmethod
    def anyone(cls, scope: Scope) -> Person:
        """Whoever speaks in a scope."""
        return cls(scope.namespace, scope.user_id, None)


class Unread:
    """The warnings of one store that nobody has seen, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Person, list[tuple[str, str | None]]] = {}  # texts, and the threads they are about

    def put(self, person: Person, thread_id: str | None, warnings: list[str]) -> None:
        """Keep warnings about what somebody said in a thread."""
        with self._lock:
            waiting = self._waiting.pop(person, [])  # whoever was warned last is forgotten last
            new = [(warning, thread_id) for warning in warnings]
            kept = [*(each for each in waiting if each not in new), *dict.fromkeys(new)]
            if kept:
                self._waiting[person] = kept[-_EACH:]
            for oldest in [*self._waiting][: max(len(self._waiting) - _PEOPLE, 0)]:
                del self._waiting[oldest]

    def take(self, scope: Scope, name: str | None, *, of_thread: bool) -> list[str]:
        """What whoever speaks now hasn't been told yet; it is told once.

        Args:
            scope: whose memory, and which thread.
            name: the name that they speak under.
            of_thread: whether only what was said in this thread is theirs.
        """
        with self._lock:
            found: list[str] = []
            for person in (Person.of(scope, name), Person.anyone(scope)):
                waiting = self._waiting.pop(person, [])
                left = [each for each in waiting if of_thread and each[1] != scope.thread_id]
                found += [each[0] for each in waiting if each not in left]
                if left:
                    self._waiting[person] = left
        return list(dict.fromkeys(found))


_unread: dict[int, tuple[weakref.ref[BaseStore], Unread]] = {}


def unread(store: BaseStore) -> Unread:
    """The warnings of a store that nobody has seen."""
    key = id(store)  # stores may be equal, or have no hash
    found = _unread.get(key)
    if found is None or found[0]() is not store:
        # As the process ends, a module's names are gone before the stores are.
        def drop(
            gone: weakref.ref[BaseStore], known: dict[int, tuple[weakref.ref[BaseStore], Unread]] = _unread
        ) -> None:
            kept = known.get(key)
            if kept is not None and kept[0] is gone:
                del known[key]

        found = _unread[key] = (weakref.ref(store, drop), Unread())
    return found[1]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unread.clear)  # with their locks, which another thread may have held
