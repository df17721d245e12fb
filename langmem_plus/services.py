"""What a node needs beside its state: settings, store, models, the clock, and whose memory it is.

`Services` is closed over by the nodes; `stage` turns a node's two functions (sync and async) into one runnable that
measures itself, adds to the report, and never fails the turn.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from langgraph.errors import GraphBubbleUp
from langgraph.store.base import BaseStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, LangMemPlusError, MissingStoreError
from langmem_plus.identity import (
    INCOGNITO,
    current_runtime,
    find_identity,
    held,
    marked,
    refuse_foreign,
    refuse_two,
    settle,
    signed_in,
)
from langmem_plus.providers import Reranker, TokenEncoder
from langmem_plus.providers.spending import ModelUse, model_uses
from langmem_plus.records import MemoryHit, MemoryReport, Scope, utc_now
from langmem_plus.shown import shown
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import Observed, content_of
from langmem_plus.tokens import aprepare

__all__ = [
    "Documents",
    "Reranker",
    "Services",
    "Step",
    "Template",
    "Update",
    "current_runtime",
    "emit_report",
    "find_identity",
    "held",
    "marked",
    "settle",
    "stage",
]

logger = logging.getLogger(__name__)

Update = dict[str, Any]
_NO = frozenset({"", "0", "false", "no", "off", "none"})
Template = tuple[str, ...]


class Documents(Protocol):
    """Documents that a recall may ask for; `documents.DocumentIndex` is one."""

    def find(self, scope: Scope, query: str, limit: int) -> tuple[list[MemoryHit], list[str]]:
        """The candidates for a query, as hits of the role ``document`` without a namespace, and warnings; none where
        they aren't the scope's.
        """
        ...

    async def afind(self, scope: Scope, query: str, limit: int) -> tuple[list[MemoryHit], list[str]]:
        """As `find`."""
        ...


@dataclass(frozen=True)
class Services:
    """Everything that the nodes share.

    Args:
        config: the settings.
        store: the store to use; None takes the one that the parent graph or the platform provides.
        model: the chat model that extracts, decides and summarises; None uses rules.
        reranker: scores candidates; None uses the built-in one.
        token_encoder: gives the built-in reranker token bits; None goes without.
        scope: a fixed `Scope`, or a namespace template such as ``("memories", "{user_id}")``, or None.
        clock: the current time; tests pass their own.
        documents: the workspace's, asked where a message asks for them.
        plan: which memory a message needs, of its words, the messages and the settings; None goes by the cues.
        review: which decisions wait for the owner's approval: a function of a `Decision` and the record that it would
            retire, or None; None lets all pass.
        refusals: how often a model gave no facts for a turn, by the turn's id; kept as long as the process runs.
        looked_through: when a namespace was last looked through for what is too old; kept as long.
    """

    config: MemoryConfig = field(default_factory=MemoryConfig)
    store: BaseStore | None = None
    model: BaseChatModel | None = None
    reranker: Reranker | None = None
    token_encoder: TokenEncoder | None = None
    scope: Scope | Template | None = None
    clock: Callable[[], dt.datetime] = utc_now
    documents: tuple[Documents, ...] = ()
    plan: Callable[..., Any] | None = None
    review: Callable[..., Any] | None = None
    refusals: dict[str, int] = field(default_factory=dict, compare=False)
    looked_through: dict[tuple[str, ...], dt.datetime] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.store is not None and not isinstance(self.store, BaseStore):
            path = self.store if isinstance(self.store, str | os.PathLike) else "./memory_db"
            raise ConfigError(
                f"store is {shown(self.store)}: pass a LangGraph store, such as MarkdownStore({str(path)!r})."
            )

    def find_store(self) -> BaseStore:
        """The store of this run.

        Raises:
            MissingStoreError: none was given, and the running graph has none.
        """
        runtime = current_runtime()
        store = self.store if self.store is not None else (runtime.store if runtime else None)
        if store is None:
            raise MissingStoreError(
                "memory has no store: pass store=MarkdownStore(...), compile the graph or the agent around it with one "
                "(create_agent(..., store=...)), or name it in langgraph.json."
            )
        return store

    def is_incognito(self, config: RunnableConfig) -> bool:
        """Whether this run leaves no trace and recalls nothing: ``incognito`` in the context or in ``configurable``
        (also as the text that a server passes on), else the setting. A text that isn't a clear no counts as a yes. A
        turn that was incognito when it began stays so, whatever the run says (`held`).
        """
        if (settled := (config.get("configurable") or {}).get(INCOGNITO)) is not None:
            return bool(settled)
        asked = find_identity(config.get("configurable") or {}, current_runtime()).get("incognito")
        if asked is None:
            return self.config.incognito_default
        return asked.strip().casefold() not in _NO if isinstance(asked, str) else bool(asked)

    def find_scope(self, config: RunnableConfig) -> Scope:
        """Whose memory this run touches; who is asked first wins: the fixed scope, the runtime's context,
        ``configurable``, the platform's user. Who is signed in on a server names nobody else, unless ``trust_callers``
        is set.

        Raises:
            MissingIdentityError: nobody is named.
            ForeignIdentityError: another one is named than who is signed in, or, within another graph, than its context
                names.
        """
        configurable = config.get("configurable") or {}
        thread_id = configurable.get("thread_id")
        if isinstance(self.scope, Scope):
            known = self.scope.thread_id is not None or thread_id is None
            return self.scope if known else self.scope.model_copy(update={"thread_id": str(thread_id)})
        runtime = current_runtime()
        refuse_two(configurable, runtime)
        values = find_identity(configurable, runtime)
        if not self.config.trust_callers:
            refuse_foreign(values["user_id"], signed_in(runtime))
        values.pop("self", None)  # the one name that no field can have
        values["template"] = self.scope  # never the caller's: a run must not choose where memory lies
        if any("{langgraph_user_id}" in label for label in self.scope or ()):  # langmem's name for the same
            values["langgraph_user_id"] = values.get("langgraph_user_id") or values["user_id"]
        return Scope(**{name: value for name, value in values.items() if value is not None})

    def identify(self, config: RunnableConfig) -> dict[str, str]:
        """Whose memory this run touches and in which thread, as a trace's attributes; nothing where nobody is named."""
        try:
            scope = self.find_scope(config)
        except LangMemPlusError as error:
            logger.debug("nobody to name in a trace: %s", error)
            return {}
        thread = {"gen_ai.conversation.id": scope.thread_id} if scope.thread_id is not None else {}
        return {"user.id": scope.user_id, **thread}


def emit_report(report: MemoryReport | Mapping[str, Any]) -> None:
    """Send the report, or what it is as plain JSON, into the running graph's custom stream as ``{"memory": …}``;
    outside of a graph, nothing.
    """
    runtime = current_runtime()
    if runtime is not None and runtime.stream_writer is not None:
        plain = report.model_dump(mode="json") if isinstance(report, MemoryReport) else dict(report)
        runtime.stream_writer({"memory": plain})


def stage(
    name: str,
    services: Services,
    run: Callable[[MemoryState, RunnableConfig], Update],
    arun: Callable[[MemoryState, RunnableConfig], Awaitable[Update]],
    fallback: Update | None = None,
) -> Step:
    """A graph node from a stage's two functions.

    The stage's own ``memory_report`` (a `MemoryReport`) is merged into the run's, with its milliseconds and what the
    models cost that it asked: ``<name>_calls``, ``<name>_input_tokens``, ``<name>_output_tokens``. When the stage
    fails, the failure is logged and reported, and ``fallback`` is returned, so that the turn goes on without memory;
    with ``strict`` on it raises. Wrong settings and interrupts always pass.
    """

    def finish(state: MemoryState, update: Update, started: float, uses: list[ModelUse], seen: Observed) -> Update:
        own = update.pop("memory_report", None) or MemoryReport()
        own.milliseconds[name] = round((time.perf_counter() - started) * 1000, 3)
        own.counts = {**_cost(name, uses), **own.counts}
        whole = own.after(state.get("memory_report"))
        seen.done(own, whole["strategy"], uses)
        return {**update, "memory_report": whole}

    def fail(error: Exception, seen: Observed) -> Update:
        if isinstance(error, GraphBubbleUp):
            raise error  # a person is asked: that is no failure
        seen.failed(error)
        if services.config.strict or isinstance(error, ConfigError):
            raise error
        logger.error("memory: the stage %r failed and was left out: %s", name, error, exc_info=error)
        report = MemoryReport(
            warnings=[f"{name} failed: {type(error).__name__}: {error}"], counts={f"{name}_failed": 1}
        )
        return {**(fallback or {}), "memory_report": report}

    def tell(seen: Observed, state: MemoryState, update: Update, config: RunnableConfig) -> None:
        if services.config.telemetry_content and seen.is_recorded and not services.is_incognito(config):
            seen.tell(content_of(name, {**state, **update}, services.identify(config)))

    def sync_node(state: MemoryState, config: RunnableConfig) -> Update:
        started, config = time.perf_counter(), held(state, config)
        with Observed(name, content=services.config.telemetry_content) as seen, model_uses() as uses:
            try:
                update = dict(run(state, config))
            except Exception as error:  # noqa: BLE001 - whatever fails in memory must not fail the turn; fail() logs or raises
                update = fail(error, seen)
            tell(seen, state, update, config)
            return finish(state, update, started, uses, seen)

    async def async_node(state: MemoryState, config: RunnableConfig) -> Update:
        started, config = time.perf_counter(), held(state, config)
        with Observed(name, content=services.config.telemetry_content) as seen, model_uses() as uses:
            try:
                await aprepare(services.config)
                update = dict(await arun(state, config))
            except Exception as error:  # noqa: BLE001 - as above
                update = fail(error, seen)
            tell(seen, state, update, config)
            return finish(state, update, started, uses, seen)

    return Step(name, sync_node, async_node)


def _cost(name: str, uses: list[ModelUse]) -> dict[str, int]:
    """What a stage's calls of models cost, as counts for the report; nothing where it made none."""
    if not uses:
        return {}
    read, written = sum(use.input_tokens for use in uses), sum(use.output_tokens for use in uses)
    return {f"{name}_calls": len(uses), f"{name}_input_tokens": read, f"{name}_output_tokens": written}


class Step(Runnable[MemoryState, Update]):
    """Two functions, ``run`` and ``arun``, as a runnable. A graph gives each of its nodes a run of its own, in traces,
    too: the second one that a `RunnableLambda` adds below it would cost as much as a stage's work. Where something else
    calls it, which is traced, it is a run of its own.
    """

    name: str

    def __init__(
        self,
        name: str,
        run: Callable[[MemoryState, RunnableConfig], Update],
        arun: Callable[[MemoryState, RunnableConfig], Awaitable[Update]],
    ) -> None:
        self.name = name
        self.run, self.arun = run, arun

    def invoke(self, input: MemoryState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the stage on a state; what it calls has the config, too."""
        settled = ensure_config(config)
        if self._has_a_run(settled):
            with set_config_context(settled) as context:
                return context.run(self.run, input, settled)
        run: Any = self.run
        found: Update = self._call_with_config(run, input, settled)
        return found

    async def ainvoke(self, input: MemoryState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """As `invoke`."""
        settled = ensure_config(config)
        if self._has_a_run(settled):
            with set_config_context(settled) as context:
                return await asyncio.create_task(_awaited(self.arun(input, settled)), context=context)
        arun: Any = self.arun
        found: Update = await self._acall_with_config(arun, input, settled)
        return found

    def _has_a_run(self, config: RunnableConfig) -> bool:
        """Whether the caller is a graph whose node this is, or nobody follows what is called."""
        if (config.get("metadata") or {}).get("langgraph_node") == self.name:
            return True
        callbacks = config.get("callbacks")
        return not (callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks)


async def _awaited(update: Awaitable[Update]) -> Update:
    return await update
