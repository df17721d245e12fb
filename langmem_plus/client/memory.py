"""The client: the same two paths as in the memory graph, over the same store; each call has an async twin, ``a…``."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from langmem_plus.client.apart import aapart, apart
from langmem_plus.client.archived import ArchiveCalls
from langmem_plus.client.conversation import ConversationCalls
from langmem_plus.client.explained import ExplainCalls
from langmem_plus.client.imported import ImportCalls
from langmem_plus.client.listed import Hits, Records
from langmem_plus.client.owner import OwnerCalls
from langmem_plus.client.past import PastCalls
from langmem_plus.client.reviewed import ReviewCalls
from langmem_plus.client.said import Message, add_steps, read_query
from langmem_plus.client.stored import begins_with, chosen, everything, exact, gets, listing
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.graph import Afterwards, aflush, flush, make_services
from langmem_plus.providers import make_chat_model
from langmem_plus.recall import Filter, arecall, read_filter, recall
from langmem_plus.recall.planner import PlanSpec
from langmem_plus.records import MemoryRecord, Role, Scope, utc_now
from langmem_plus.remember.review import ReviewSpec
from langmem_plus.remember.steps import arun_steps, run_steps
from langmem_plus.services import Documents, Services

Timeout = float | Literal["settings"] | None


class MemoryClient(ArchiveCalls, ConversationCalls, ExplainCalls, ImportCalls, OwnerCalls, PastCalls, ReviewCalls):
    """One memory, opened: talk, add, search, list, load, pin, forget and erase; facts are drawn out in the background.

    Turns that an earlier process left behind are worked off when the client is opened, or, where the store can't tell
    which namespaces have some, when a namespace is first touched. A context manager, sync and async; closing it waits
    for the background within ``flush_seconds``.

    Args:
        store: a folder, which becomes a `MarkdownStore`, or any LangGraph store; None takes ``memory_path``.
        model: draws facts out, decides and summarises, as ``provider:model`` or as a chat model; None uses rules.
        chat_model: answers in `chat`; None takes the model, and where there is none, memory is quoted.
        config: the settings; None reads them from the environment.
        documents: the workspace's, a `DocumentIndex` or several, excerpts of which `chat` recalls where a message names
            them; `search` finds memories alone. Who opened them closes them.
        plan: which memory a message to `chat` or `explain` needs, in place of the cues: a function of its words, the
            messages and the settings that gives a `Plan`, a strategy's name, or None for the cues; or a chat model or
            its name.
        review: which decisions wait for `approve` and `reject`, in place of the setting: ``none``, ``conflicts``,
            ``all``, or a function of a `Decision` and the record that it would retire, or None; True lets it wait.
        clock: the current time, by which ages are counted; tests and measurements pass their own.

    Raises:
        ConfigError: the store isn't one, or a setting names something that can't be built.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | BaseStore | None = None,
        *,
        model: str | BaseChatModel | None = None,
        chat_model: str | BaseChatModel | None = None,
        config: MemoryConfig | None = None,
        documents: Documents | Sequence[Documents] | None = None,
        plan: PlanSpec = None,
        review: ReviewSpec = None,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self.config = MemoryConfig.of(config)
        self._own = not isinstance(store, BaseStore)
        self.store: BaseStore = store if isinstance(store, BaseStore) else _open_store(store, self.config)
        self._services = make_services(
            store=self.store,
            model=model,
            config=self.config,
            documents=documents,
            plan=plan,
            review=review,
            clock=clock,
        )
        self._chat_model = make_chat_model(chat_model, self.config)
        self._afterwards = Afterwards(self._services)
        self._touched: set[tuple[str, ...]] = set()
        self._caught_up = self.config.background and self._afterwards.catch_up(self.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def add(
        self,
        content: str | Message | Sequence[Message],
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        agent_id: str | None = None,
    ) -> Records:
        """Store what was said, word for word, in one write; facts are drawn out after it.

        A text is the user's, said now. Of messages, those of users and assistants are stored, with their own ids, names
        and times. A message of a thread is written once, told by its id, else by its time and its words, else by where
        it stands: messages go on where the thread ends, so a call that is repeated adds nothing, a thread that is added
        again, whole, only gains what is new, and the same words said later are kept.

        Args:
            content: a text, a message, or messages: LangChain's, or dicts with ``role``, ``content`` and, optionally,
                ``id``, ``name`` and ``created_at`` or ``timestamp``.
            user_id: whose memory.
            space: which part of it.
            thread_id: the conversation; None for words that belong to none.
            agent_id: who stores it, kept in the records.

        Returns:
            The turns that were stored now; those that were there already are left out.

        Raises:
            InvalidValueError: something isn't a message; nothing was stored.
        """
        scope = Scope(user_id, space, thread_id=thread_id, agent_id=agent_id)
        stored = run_steps(add_steps(content, scope, self._services), self._services, self.store)
        if self._is_new(scope) or stored:
            if self.config.background:
                self._afterwards.submit(scope, self.store)
            else:
                apart(partial(self._afterwards.run, scope, self.store))
        return Records(stored)

    async def aadd(
        self,
        content: str | Message | Sequence[Message],
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        agent_id: str | None = None,
    ) -> Records:
        """Store what was said, as `add`."""
        scope = Scope(user_id, space, thread_id=thread_id, agent_id=agent_id)
        stored = await arun_steps(add_steps(content, scope, self._services), self._services, self.store)
        if self._is_new(scope) or stored:
            if self.config.background:
                self._afterwards.submit(scope, self.store)
            else:
                await aapart(self._afterwards.arun(scope, self.store))
        return Records(stored)

    def search(
        self,
        query: str | Message,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        k: int | None = None,
        filter: Filter | None = None,
    ) -> Hits:
        """The memories that answer a query, best first, from the space and the user's ``global`` one.

        Args:
            query: a question, or words; a message may have a ``name``: "my" is what that person said.
            user_id: whose memory.
            space: which part of it.
            thread_id: only what was said in this conversation, and archives of others.
            k: how many at most; None takes ``top_k``.
            filter: what they must meet, e.g. ``{"role": "memory", "tags": {"in": ["tea"]}, "time": {"gte":
                "2026-01-01"}}``; `langmem_plus.recall.filters` has all fields and operators. However rare what it asks
                for is, it is found. Summaries are never searched.

        Raises:
            InvalidValueError: the query is no text, ``k`` no number of memories, or the filter can't be read; the
                message says what to write.
        """
        scope, wanted = Scope(user_id, space, thread_id=thread_id), read_filter(filter)
        self._touch(scope)
        return Hits(recall(_within(self._services, scope), scope, **read_query(query), k=k, filter=wanted)[0])

    async def asearch(
        self,
        query: str | Message,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        k: int | None = None,
        filter: Filter | None = None,
    ) -> Hits:
        """The memories that answer a query, as `search`."""
        scope, wanted = Scope(user_id, space, thread_id=thread_id), read_filter(filter)
        self._touch(scope)
        return Hits((await arecall(_within(self._services, scope), scope, **read_query(query), k=k, filter=wanted))[0])

    def list(
        self,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        role: Role | None = None,
        limit: int | None = None,
        filter: Filter | None = None,
    ) -> Records:
        """The active records of a space, the newest words first.

        Args:
            user_id: whose memory.
            space: which part of it.
            thread_id: only this conversation's.
            role: only this kind: memory (facts), user, assistant, summary, archive or document.
            limit: how many at most; None gives all.
            filter: what they must meet, as in `search`.

        Raises:
            InvalidValueError: there is no such role, or the filter can't be read.
        """
        scope, wanted = Scope(user_id, space), read_filter(filter)
        self._touch(scope)
        found = self.store.batch(listing(scope, thread_id, role))
        return Records(chosen(found, scope, self._services.clock(), limit, wanted, role))

    async def alist(
        self,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        role: Role | None = None,
        limit: int | None = None,
        filter: Filter | None = None,
    ) -> Records:
        """The active records of a space, as `list`."""
        scope, wanted = Scope(user_id, space), read_filter(filter)
        self._touch(scope)
        found = await self.store.abatch(listing(scope, thread_id, role))
        return Records(chosen(found, scope, self._services.clock(), limit, wanted, role))

    def get(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """One record of the space or of the user's ``global`` one.

        Args:
            id: the record's id, or a beginning of it that no other record has.
            user_id: whose memory.
            space: which part of it.

        Raises:
            NotFoundError: there is no such record, or several begin so.
        """
        scope = Scope(user_id, space)
        found = exact(self.store.batch(gets(scope, id)), scope)
        return found or begins_with(self.store.batch(everything(scope)), scope, id)

    async def aget(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """One record, as `get`."""
        scope = Scope(user_id, space)
        found = exact(await self.store.abatch(gets(scope, id)), scope)
        return found or begins_with(await self.store.abatch(everything(scope)), scope, id)

    def path_of(self, record: MemoryRecord) -> Path | None:
        """The file that holds a record; None where the store keeps no files."""
        find = getattr(self.store, "path_of", None)
        return find(Scope(record.user_id, record.space).namespace, record.id) if callable(find) else None

    async def apath_of(self, record: MemoryRecord) -> Path | None:
        """The file that holds a record, as `path_of`."""
        return await asyncio.to_thread(self.path_of, record)

    def flush(self, timeout: Timeout = "settings") -> bool:
        """Wait until all facts are drawn out, this client's and those of graphs over the same store.

        Args:
            timeout: seconds; None waits as long as it takes; left out, ``flush_seconds``.

        Returns:
            False when the time was not enough. What failed stands in ``background.failures``.
        """
        return flush(self.store, self.config.flush_seconds if timeout == "settings" else timeout)

    async def aflush(self, timeout: Timeout = "settings") -> bool:
        """Wait until all facts are drawn out, as `flush`."""
        return await aflush(self.store, self.config.flush_seconds if timeout == "settings" else timeout)

    def close(self) -> None:
        """Wait for the background within ``flush_seconds``, and close the store that the client opened."""
        close = getattr(self.store, "close", None) if self._own else None
        if callable(close):
            close()  # which waits, too
        else:
            self.flush()

    async def aclose(self) -> None:
        """Wait and close, as `close`."""
        close = getattr(self.store, "close", None) if self._own else None
        if callable(close):
            await asyncio.to_thread(close)
        else:
            await self.aflush()

    def _is_new(self, scope: Scope) -> bool:
        """Whether a namespace is touched for the first time, of a store that can't tell which have pending turns."""
        if self._caught_up:
            return False
        new = scope.namespace not in self._touched
        self._touched.add(scope.namespace)
        return new

    def _touch(self, scope: Scope) -> None:
        if self.config.background and self._is_new(scope):
            self._afterwards.submit(scope, self.store)


def _open_store(path: str | os.PathLike[str] | None, config: MemoryConfig) -> BaseStore:
    from langmem_plus.store import MarkdownStore

    if isinstance(path, str) and "://" in path:
        raise ConfigError(f"the store {path!r} is an address: pass a folder, or a LangGraph store that is open.")
    if path is not None and not isinstance(path, str | os.PathLike):
        raise ConfigError(f"the store is {path!r}: pass a folder, or a LangGraph store.")
    return MarkdownStore(path, config=config)


def _within(services: Services, scope: Scope) -> Services:
    """A search in one conversation keeps to it, whatever the settings say about agents."""
    if scope.thread_id is None:
        return services
    return replace(services, config=services.config.replace(recall_scope="thread"))
