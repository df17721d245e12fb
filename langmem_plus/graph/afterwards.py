"""After the reply: the remember graph, run in the background for one thread at a time.

Nothing of the finished run reaches it: no callbacks, no context, no runtime. Whose memory it is and where it is kept
are handed over when it is submitted. It takes every pending turn of the namespace, those that an earlier process left
behind too, so work that is merged, repeated or cut off loses nothing.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from langmem_plus.background import background
from langmem_plus.graph.halves import Graph, build_remember_graph
from langmem_plus.graph.unread import Person, unread
from langmem_plus.identity import alone
from langmem_plus.labels import decode_label
from langmem_plus.records import MemoryReport, Scope, utc_now
from langmem_plus.services import Services
from langmem_plus.speakers import key_of, name_of
from langmem_plus.telemetry import Observed, here, watch, watch_store

logger = logging.getLogger(__name__)

watch("langmem_plus.background.pending", lambda: background.backlog[0])
watch("langmem_plus.background.age", lambda: background.backlog[1])
watch("langmem_plus.background.failed", lambda: background.failed)

# What a run gives beside its report: who said what its warnings are about.
_TOLD_BY = ["memory_report", "memory_turns", "memory_warned"]


class Afterwards:
    """The remember graph as background work.

    In the background a stage that fails raises whatever ``strict`` says, so that the work is tried again and its
    failure is kept in ``background.failures``; the turn it belongs to is long answered.
    """

    def __init__(self, services: Services) -> None:
        strict = services.config.strict or services.config.background
        self._services = replace(services, config=services.config.replace(strict=strict))
        self._graph = build_remember_graph(self._services, recorded=True)
        self._done: dict[Hashable, dt.datetime] = {}  # when a namespace was last worked off after work was given up

    def submit(self, scope: Scope, store: BaseStore, *, delay: float = 0.0, awaited: bool = True) -> None:
        """Draw facts out soon; returns at once. Calls for one thread that still wait are done together.

        Args:
            scope: whose memory, and which thread.
            store: where it is kept.
            delay: seconds to wait first; a later call without any, or somebody who waits, ends it.
            awaited: whether `flush` and the process's exit wait for it.
        """
        key = (id(store), self, scope.namespace, scope.thread_id)
        work = partial(self._work, scope, store, here())
        lane = (id(store), scope.namespace)
        watch_store(store)
        background.submit(key, work, self._services.config, lane=lane, delay=delay, awaited=awaited)

    def expect(self, scope: Scope, store: BaseStore) -> None:
        """Note that a turn was stored whose run may never come to its end: then its facts are drawn out all the same,
        after ``abandoned_seconds``.
        """
        self.submit(scope, store, delay=self._services.config.abandoned_seconds)

    def _work(self, scope: Scope, store: BaseStore, cause: Any) -> None:
        with Observed("remember", link=cause, content=self._services.config.telemetry_content):
            left = self.run(scope, store)
        if background.failed:
            self._done[id(store), scope.namespace] = utc_now()
        if left:
            # Whoever works on the rest may be gone without a word; nobody has to wait for that.
            self.submit(scope, store, delay=self._services.config.lease_seconds, awaited=False)

    def failure(self, scope: Scope, store: BaseStore) -> str | None:
        """Why facts of a namespace's turns weren't drawn out; None where they were, or nobody has given up."""
        done = self._done.get((id(store), scope.namespace))
        for failed in reversed(background.failures):
            if failed.key[0] == id(store) and failed.key[2:3] == (scope.namespace,):
                return failed.error if done is None or done < failed.at else None
        return None

    def warnings(self, scope: Scope, store: BaseStore, name: str | None) -> list[str]:
        """What runs over a store warned of, whichever graph's they were, that whoever speaks now hasn't been told yet:
        the turn that it belongs to is answered, so the next one's report tells it.

        Args:
            scope: whose memory, and which thread.
            store: where it is kept.
            name: the name that they speak under.
        """
        # Of several people with one scope and no names, nothing but the thread tells who is who.
        of_thread = isinstance(self._services.scope, Scope) and not (name or "").strip()
        return unread(store).take(scope, name, of_thread=of_thread)

    def keep(self, scope: Scope, store: BaseStore, name: str | None, warnings: list[str]) -> None:
        """Keep what `warnings` gave for the next turn: it couldn't be told."""
        unread(store).put(Person.of(scope, name), scope.thread_id, warnings)

    def _tell(self, scope: Scope, store: BaseStore, output: Mapping[str, Any]) -> Mapping[str, int]:
        report = MemoryReport.model_validate(output.get("memory_report") or {})
        warned: Mapping[str, list[str]] = output.get("memory_warned") or {}
        for turn in output.get("memory_turns") or ():
            if turn.id in warned:
                asker = Person(scope.namespace, turn.user_id, key_of(name_of(turn)))
                unread(store).put(asker, turn.thread_id, warned[turn.id])
        theirs = {warning for warnings in warned.values() for warning in warnings}
        if others := [warning for warning in report.warnings if warning not in theirs]:
            unread(store).put(Person.anyone(scope), scope.thread_id, others)
        return report.counts

    def catch_up(self, store: BaseStore) -> bool:
        """Submit every namespace in which an earlier process left turns behind; returns at once.

        Returns:
            Whether the store could tell which these are; one that can't is asked no more than that.
        """
        pending = getattr(store, "pending", None)
        if not callable(pending):
            return False
        watch_store(store)
        try:
            scopes = [scope for scope in map(scope_of, pending()) if scope is not None]
        except Exception as error:  # noqa: BLE001 - what is left waits; the first turn in a namespace finds it too
            logger.warning("memory: the store can't tell which turns wait: %s: %s", type(error).__name__, error)
            return False
        for scope in scopes:
            self.submit(scope, store)
        return True

    def run(self, scope: Scope, store: BaseStore) -> bool:
        """Draw facts out now, in this thread, until no turn waits; a store without sync methods gets an event loop. It
        is the scope's memory that is worked on, whatever graph this is called in, and whoever that one's context names.

        Returns:
            Whether turns are left that somebody else is working on.

        Raises:
            Exception: whatever failed; what is left to do is still pending in the store.
        """
        return alone().run(self._run, scope, store)

    def _run(self, scope: Scope, store: BaseStore) -> bool:
        graph, config = self._bind(scope, store)
        try:
            while True:
                counts = self._tell(scope, store, graph.invoke({}, config, output_keys=_TOLD_BY))
                if not _goes_on(counts):
                    break
        except NotImplementedError:
            return asyncio.run(self.arun(scope, store))
        return counts.get("turns_elsewhere", 0) > 0

    async def arun(self, scope: Scope, store: BaseStore) -> bool:
        """Draw facts out now, as `run`."""
        return await asyncio.create_task(self._arun(scope, store), context=alone())

    async def _arun(self, scope: Scope, store: BaseStore) -> bool:
        graph, config = self._bind(scope, store)
        while True:
            counts = self._tell(scope, store, await graph.ainvoke({}, config, output_keys=_TOLD_BY))
            if not _goes_on(counts):
                break
        return counts.get("turns_elsewhere", 0) > 0

    def _bind(self, scope: Scope, store: BaseStore) -> tuple[Graph, RunnableConfig]:
        fields = scope.model_dump(exclude={"template"}).items()
        identity = {name: value for name, value in fields if not name.startswith("checkpoint")}
        # What is pending was recorded outside of incognito sessions, whatever the default is.
        return self._graph.copy({"store": store}), {"configurable": {**identity, "incognito": False}}


def _goes_on(counts: Mapping[str, int]) -> bool:
    """Whether a run that got somewhere left turns for the next one: a run takes ``turn_batch`` turns at most."""
    return counts.get("turns_left", 0) > 0 and counts.get("turns_read", 0) > 0


def scope_of(namespace: Sequence[str]) -> Scope | None:
    """Whose namespace it is; None where it isn't one that is made of a user and a space."""
    if len(namespace) != 3:
        return None
    scope = Scope(decode_label(namespace[1]), decode_label(namespace[2]))
    return scope if scope.namespace == tuple(namespace) else None


def flush(store: BaseStore, timeout: float | None) -> bool:
    """Wait until no facts are being drawn out for a store any more; False when ``timeout`` seconds were not enough."""
    return background.flush(timeout, (id(store),))


async def aflush(store: BaseStore, timeout: float | None) -> bool:
    """Wait as `flush`, without holding up the event loop."""
    return await background.aflush(timeout, (id(store),))
