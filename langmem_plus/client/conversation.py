"""Conversations for programs without a graph: talk in a thread, and load one; each call has an async twin, ``a…``."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from langmem_plus.client.apart import aapart, apart, astream_apart, stream_apart
from langmem_plus.client.continued import Asked, keep_steps, read_steps
from langmem_plus.client.explained import run_config
from langmem_plus.client.said import Said, read_message
from langmem_plus.client.told import Thread, check_limit, summary_message, thread_steps, to_messages
from langmem_plus.errors import LangMemPlusError, ModelCallError, StoreError
from langmem_plus.graph import Afterwards
from langmem_plus.graph.halves import Graph
from langmem_plus.graph.memory import Continued, build_memory_graph
from langmem_plus.labels import read_id
from langmem_plus.providers import QuotingChatModel
from langmem_plus.records import MemoryReport, Scope
from langmem_plus.remember.steps import arun_steps, run_steps
from langmem_plus.services import Services

logger = logging.getLogger(__name__)

_AGENT = "agent"  # the node of the memory graph in which the model answers


@dataclass(frozen=True)
class Reply:
    """An answer, and what it was given to answer from.

    Attributes:
        message: the answer as LangChain's message; nothing of what was recalled is in it.
        context: the fenced text that the model got beside the conversation; empty where nothing was recalled.
        report: what was recalled and why, tokens a section, milliseconds a stage.
    """

    message: AIMessage
    context: str = ""
    report: MemoryReport = field(default_factory=MemoryReport)

    @property
    def text(self) -> str:
        """The answer's text."""
        return str(self.message.text)

    def __str__(self) -> str:
        return self.text


class ConversationCalls:
    """The part of `MemoryClient` that talks, and that gives conversations back."""

    store: BaseStore
    _services: Services
    _chat_model: BaseChatModel | None = None
    _afterwards: Afterwards
    _chat: Graph | None = None

    def load(
        self, thread_id: str, *, user_id: str, space: str = "default", limit: int | None = None
    ) -> list[BaseMessage]:
        """A conversation as LangChain's messages, in their order: its summary, then what was said, word for word.

        The summary is a `SystemMessage`, fenced as data, with ``thread_summary`` in its ``additional_kwargs``; it is
        left out where there is none yet. Messages have their ids and names, and ``created_at`` in their
        ``additional_kwargs``, so that `add` stores none of them again. What was deleted, forgotten or has expired stays
        out, and so does the content of media and tool calls, which isn't kept.

        Args:
            thread_id: the conversation.
            user_id: whose memory.
            space: which part of it.
            limit: so many of the newest messages, beside the summary; None gives all.

        Returns:
            The messages; none where nothing is known of such a conversation.
        """
        scope, limit = _scope_of_thread(user_id, space, thread_id), check_limit(limit)
        return self._loaded(run_steps(thread_steps(scope), self._services, self.store), limit)

    async def aload(
        self, thread_id: str, *, user_id: str, space: str = "default", limit: int | None = None
    ) -> list[BaseMessage]:
        """A conversation as LangChain's messages, as `load`."""
        scope, limit = _scope_of_thread(user_id, space, thread_id), check_limit(limit)
        return self._loaded(await arun_steps(thread_steps(scope), self._services, self.store), limit)

    @overload
    def chat(
        self,
        message: Said,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        stream: Literal[False] = False,
    ) -> Reply: ...

    @overload
    def chat(
        self,
        message: Said,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        stream: Literal[True],
    ) -> Iterator[AIMessageChunk]: ...

    @overload
    def chat(
        self, message: Said, *, user_id: str, space: str = "default", thread_id: str | None = None, stream: bool
    ) -> Reply | Iterator[AIMessageChunk]: ...

    def chat(
        self, message: Said, *, user_id: str, space: str = "default", thread_id: str | None = None, stream: bool = False
    ) -> Reply | Iterator[AIMessageChunk]:
        """Answer a message from memory, and remember both: the memory graph, with the client's model as its agent.

        The thread's earlier messages come from the store, as many as the settings' budgets allow. The user's words are
        stored before the model is asked, so they stay whatever happens to the answer; it is stored at its end. Without
        any model the `QuotingChatModel` answers, which quotes memory, says so, and isn't stored.

        Args:
            message: a text, a message, or a list of content parts. A message with an id that the thread holds already
                is answered again, and stored once.
            user_id: whose memory.
            space: which part of it.
            thread_id: the conversation; None for a message that belongs to none and has no history.
            stream: give the answer piece by piece. Nothing is asked before the first piece is, and who leaves early
                gets no answer stored.

        Returns:
            The reply; or, streaming, an iterator of its pieces.

        Raises:
            MissingIdentityError: nobody is named.
            InvalidValueError: the message isn't one of the user's, or says nothing.
            ModelCallError: the model gave no answer; its own error is the cause.
            StoreError: the thread can't be read.
            ConfigError: the model's package or key is missing; the message says what to do.
        """
        asked = Asked(Scope(user_id, space, thread_id=thread_id), read_message(message))
        if stream:
            return self._stream(asked)
        with self._kept(asked), self._telling(asked) as told:
            given = run_steps(read_steps(asked, self._services), self._services, self.store)
            return _reply(apart(lambda: self._graph().invoke(given, run_config(asked.scope))), told)

    @overload
    async def achat(
        self,
        message: Said,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        stream: Literal[False] = False,
    ) -> Reply: ...

    @overload
    async def achat(
        self,
        message: Said,
        *,
        user_id: str,
        space: str = "default",
        thread_id: str | None = None,
        stream: Literal[True],
    ) -> AsyncIterator[AIMessageChunk]: ...

    @overload
    async def achat(
        self, message: Said, *, user_id: str, space: str = "default", thread_id: str | None = None, stream: bool
    ) -> Reply | AsyncIterator[AIMessageChunk]: ...

    async def achat(
        self, message: Said, *, user_id: str, space: str = "default", thread_id: str | None = None, stream: bool = False
    ) -> Reply | AsyncIterator[AIMessageChunk]:
        """Answer a message from memory, as `chat`; ``async for piece in await client.achat(…, stream=True)``."""
        asked = Asked(Scope(user_id, space, thread_id=thread_id), read_message(message))
        if stream:
            return self._astream(asked)
        async with self._akept(asked):
            with self._telling(asked) as told:
                given = await arun_steps(read_steps(asked, self._services), self._services, self.store)
                return _reply(await aapart(self._graph().ainvoke(given, run_config(asked.scope))), told)

    def _stream(self, asked: Asked) -> Iterator[AIMessageChunk]:
        config = run_config(asked.scope)
        with self._kept(asked):
            given = run_steps(read_steps(asked, self._services), self._services, self.store)
            for found in stream_apart(lambda: _started(self._graph(), given, config)):
                if (piece := _piece(found)) is not None:
                    yield piece

    async def _astream(self, asked: Asked) -> AsyncIterator[AIMessageChunk]:
        config = run_config(asked.scope)
        async with self._akept(asked):
            given = await arun_steps(read_steps(asked, self._services), self._services, self.store)
            async with aclosing(astream_apart(lambda: _astarted(self._graph(), given, config))) as stream:
                async for found in stream:
                    if (piece := _piece(found)) is not None:
                        yield piece

    @contextmanager
    def _kept(self, asked: Asked) -> Iterator[None]:
        """What the user said is stored even where the graph didn't come to it: the thread couldn't be read, recall
        failed, or the call was cut off.

        Raises:
            ModelCallError: no answer came.
            StoreError: the thread can't be read.
        """
        try:
            yield
        except BaseException as error:
            was_read, steps = asked.given is not None, keep_steps(asked, self._services)
            try:
                kept: bool | None = apart(lambda: run_steps(steps, self._services, self.store))
            except Exception as failure:  # noqa: BLE001 - what went wrong first is what the caller must see
                _tell_not_kept(failure)
                kept = None
            self._finish(asked.scope, kept, error, was_read=was_read)
            raise

    @asynccontextmanager
    async def _akept(self, asked: Asked) -> AsyncIterator[None]:
        """As `_kept`."""
        try:
            yield
        except BaseException as error:
            was_read, steps = asked.given is not None, keep_steps(asked, self._services)
            try:
                kept: bool | None = await aapart(arun_steps(steps, self._services, self.store))
            except Exception as failure:  # noqa: BLE001 - as above
                _tell_not_kept(failure)
                kept = None
            self._finish(asked.scope, kept, error, was_read=was_read)
            raise

    @contextmanager
    def _telling(self, asked: Asked) -> Iterator[list[str]]:
        """What work in the background warned of, for the reply's report; where none comes, the next one tells it. A
        reply that is streamed has no report.
        """
        name = asked.said.name
        told = self._afterwards.warnings(asked.scope, self.store, name)
        try:
            yield told
        except BaseException:
            self._afterwards.keep(asked.scope, self.store, name, told)
            raise

    def _finish(self, scope: Scope, kept: bool | None, error: BaseException, *, was_read: bool) -> None:
        """Have facts drawn out of what was stored only now; what somebody else raised is no answer of the model.

        Args:
            scope: whose memory.
            kept: whether the user's words were stored now; None where they couldn't be.
            error: what went wrong.
            was_read: whether the thread was, so that the model was asked.
        """
        if kept and self._services.config.background:
            self._afterwards.submit(scope, self.store)
        if not isinstance(error, Exception) or isinstance(error, LangMemPlusError):
            return
        said = "is in memory, unless the session is incognito" if kept is not None else "couldn't be stored"
        told = f"({type(error).__name__}: {error}). What the user said {said}."
        if not was_read:
            raise StoreError(f"the conversation can't be read {told} See whether the store can be reached.") from error
        raise ModelCallError(
            f"no answer came {told} Check the model's name, key and address with `langmem-plus doctor`."
        ) from error

    def _loaded(self, thread: Thread, limit: int | None) -> list[BaseMessage]:
        now = self._services.clock()
        turns = thread.alive(now)
        newest = turns if limit is None else turns[len(turns) - min(limit, len(turns)) :]
        return [*summary_message(thread.summary, now), *to_messages(newest)]

    def _graph(self) -> Graph:
        if self._chat is None:
            model = self._chat_model or self._services.model or QuotingChatModel()
            self._chat = build_memory_graph(model, self._services, False, input_schema=Continued, tells=False)
        return self._chat


def _scope_of_thread(user_id: str, space: str, thread_id: str) -> Scope:
    scope = Scope(user_id, space)  # who it is comes first
    return scope.model_copy(update={"thread_id": read_id("thread_id", thread_id)})


def _started(graph: Graph, given: Continued, config: RunnableConfig) -> Any:
    return graph.stream(given, config, stream_mode="messages")


def _astarted(graph: Graph, given: Continued, config: RunnableConfig) -> Any:
    return graph.astream(given, config, stream_mode="messages")


def _piece(found: Any) -> AIMessageChunk | None:
    """A piece of the answer out of the graph's stream; None for what other nodes say."""
    message, metadata = found
    if metadata.get("langgraph_node") != _AGENT or not isinstance(message, AIMessage):
        return None
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(**message.model_dump(exclude={"type"}), chunk_position="last")


def _reply(output: Mapping[str, Any], told: list[str]) -> Reply:
    report = MemoryReport.model_validate(output.get("memory_report") or {}).merge(MemoryReport(warnings=told))
    return Reply(output["messages"][-1], output.get("memory_context") or "", report)


def _tell_not_kept(error: Exception) -> None:
    logger.error("memory: what the user said couldn't be stored: %s: %s", type(error).__name__, error, exc_info=error)
