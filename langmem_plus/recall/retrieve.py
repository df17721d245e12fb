"""Fetch the candidates: from the space and from ``global``, from any LangGraph store, in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import BaseStore, GetOp, Item, Op, Result, SearchItem, SearchOp

from langmem_plus.recall.items import Found, Wanted, choose, read_item, read_items
from langmem_plus.recall.plan import plan_messages
from langmem_plus.recall.query import bounded, current_text
from langmem_plus.recall.tail import clip_tail
from langmem_plus.records import ROLES, MemoryHit, MemoryReport, Scope, summary_key
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

__all__ = ["aretrieve", "read_item", "retrieve", "retrieve_node"]

_FACTS_AND_TURNS = frozenset({"memory", "user", "assistant"})


def first_ops(wanted: Wanted) -> list[SearchOp]:
    """The searches: one a namespace; strict sessions ask for their thread and, apart, for archived conversations."""
    filters: list[dict[str, Any] | None] = [None]
    if wanted.config.recall_scope == "thread":
        thread_id = wanted.scope.thread_id
        filters = [{"thread_id": thread_id}] if thread_id else []
        if "archive" in wanted.roles:
            filters.append({"role": "archive"})
    elif "document" in wanted.roles and wanted.roles != frozenset(ROLES):
        filters.append({"role": "document"})  # asked for by name: memories must not crowd them out, nor they memories
    query = wanted.query or None
    ops = [
        SearchOp(namespace, filter=condition, limit=wanted.limit, query=query)
        for namespace in wanted.scope.namespaces
        for condition in filters
    ]
    if wanted.list_archives:
        archives = {"role": "archive"}
        ops += [SearchOp(name, filter=archives, limit=wanted.limit) for name in wanted.scope.namespaces]
    return ops


def second_ops(
    wanted: Wanted, ops: Sequence[SearchOp], results: Sequence[Sequence[SearchItem]], usable: Sequence[int]
) -> list[SearchOp]:
    """The searches to run once more, because a full answer left too little to choose from.

    A store that can't rank gives an arbitrary page: more of it is read, and ranked here. A page that was mostly
    retired records is asked for again with those in force alone.
    """
    again: list[SearchOp] = []
    for op, items, count in zip(ops, results, usable, strict=True):
        if len(items) < op.limit:
            continue
        wider = max(op.limit, wanted.config.keyword_pool)
        if op.query and all(item.score is None for item in items) and wider > op.limit:
            again.append(op._replace(limit=wider))
        elif 2 * count < len(items):
            force: dict[str, Any] = {"status": "active"}
            if "document" not in wanted.roles:
                force["role"] = {"$ne": "document"}
            again.append(op._replace(filter={**force, **(op.filter or {})}))
    return again


def _ops(wanted: Wanted, summary: bool) -> tuple[list[Op], list[SearchOp]]:
    searches = first_ops(wanted) if wanted.search else []
    with_summary = summary and wanted.scope.thread_id is not None
    gets = [GetOp(wanted.scope.namespace, summary_key(wanted.scope))] if with_summary else []
    return [*gets, *searches], searches


def _split(results: Sequence[Result], searches: Sequence[SearchOp]) -> tuple[Item | None, list[list[SearchItem]]]:
    found: Any = list(results)
    return (found[0] if len(found) > len(searches) else None), found[len(found) - len(searches) :]


def fetch(
    store: BaseStore, wanted: Wanted, *, summary: bool = False
) -> tuple[list[MemoryHit], Item | None, MemoryReport]:
    """Ask the store, twice if the first answer left too little; with the thread's summary where it is wanted."""
    ops, searches = _ops(wanted, summary)
    item, results = _split(store.batch(ops), searches)
    found = Found()
    usable = [read_items(wanted, items, found) for items in results]
    if again := second_ops(wanted, searches, results, usable):
        for items in _split(store.batch(again), again)[1]:
            read_items(wanted, items, found)
    hits, report = choose(wanted, found)
    return hits, item, report


async def afetch(
    store: BaseStore, wanted: Wanted, *, summary: bool = False
) -> tuple[list[MemoryHit], Item | None, MemoryReport]:
    """As `fetch`."""
    ops, searches = _ops(wanted, summary)
    item, results = _split(await store.abatch(ops), searches)
    found = Found()
    usable = [read_items(wanted, items, found) for items in results]
    if again := second_ops(wanted, searches, results, usable):
        for items in _split(await store.abatch(again), again)[1]:
            read_items(wanted, items, found)
    hits, report = choose(wanted, found)
    return hits, item, report


def retrieve(
    services: Services,
    scope: Scope,
    query: str,
    *,
    limit: int,
    exclude_ids: frozenset[str] = frozenset(),
    messages: Sequence[BaseMessage] = (),
) -> tuple[list[MemoryHit], MemoryReport]:
    """The candidates for a query in a scope, unsorted: active, unexpired records of every role but summaries.

    Args:
        services: the settings, the store and the clock.
        scope: whose memory; its space and ``global`` are searched.
        query: the words to search by.
        limit: candidates a namespace.
        exclude_ids: records, or messages that records were made of, to leave out.
        messages: messages that the model sees anyway; turns made of them are left out.
    """
    wanted = Wanted(scope, query, limit, services.config, services.clock(), exclude_ids=exclude_ids, messages=messages)
    hits, _, report = fetch(services.find_store(), wanted)
    return hits, report


async def aretrieve(
    services: Services,
    scope: Scope,
    query: str,
    *,
    limit: int,
    exclude_ids: frozenset[str] = frozenset(),
    messages: Sequence[BaseMessage] = (),
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `retrieve`."""
    wanted = Wanted(scope, query, limit, services.config, services.clock(), exclude_ids=exclude_ids, messages=messages)
    hits, _, report = await afetch(services.find_store(), wanted)
    return hits, report


def want(state: MemoryState, services: Services, config: RunnableConfig) -> Wanted | None:
    """What the plan asks the store for; None where it asks for nothing.

    Archived conversations take part in every search, but in strict sessions (``recall_scope = "thread"``) only where
    the message asks for an earlier conversation. Documents take part where the message names them.
    """
    messages, settings = state.get("messages") or [], services.config
    plan = state.get("memory_plan") or plan_messages(messages, settings, incognito=services.is_incognito(config))
    if plan.strategy == "none":
        return None
    roles = set(_FACTS_AND_TURNS)
    if plan.strategy == "archive" or settings.recall_scope == "space":
        roles.add("archive")
    if plan.strategy == "documents":
        roles.add("document")
    return Wanted(
        scope=services.find_scope(config),
        query=plan.query or bounded(current_text(messages)),
        limit=settings.fetch_k,
        config=settings,
        now=services.clock(),
        roles=frozenset(roles),
        messages=clip_tail(messages, settings),
        list_archives=plan.strategy == "archive" and not plan.query,
        search=plan.strategy != "tail",
    )


def _update(wanted: Wanted | None, answer: tuple[list[MemoryHit], Item | None, MemoryReport] | None) -> Update:
    if wanted is None or answer is None:
        return {"memory_hits": [], "memory_summary": None}
    hits, item, report = answer
    record = read_item(item, wanted.scope) if item is not None else None
    is_summary = record is not None and record.role == "summary" and record.status == "active"
    return {"memory_hits": hits, "memory_summary": record if is_summary else None, "memory_report": report}


def retrieve_node(services: Services) -> Runnable[MemoryState, Update]:
    """The node: reads ``memory_plan`` and ``messages``, writes ``memory_hits`` and ``memory_summary``."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        wanted = want(state, services, config)
        return _update(wanted, fetch(services.find_store(), wanted, summary=True) if wanted else None)

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        wanted = want(state, services, config)
        return _update(wanted, await afetch(services.find_store(), wanted, summary=True) if wanted else None)

    return stage("retrieve", services, run, arun, fallback={"memory_hits": [], "memory_summary": None})
