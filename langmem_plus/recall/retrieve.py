"""Fetch the candidates: from the space and from ``global``, from any LangGraph store, in one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import BaseStore, GetOp, Item, Op, SearchItem, SearchOp

from langmem_plus.recall.asked_all import asks_all
from langmem_plus.recall.asked_days import asked_days, said_then
from langmem_plus.recall.asked_name import asks_name
from langmem_plus.recall.batches import Batches, arun_batches, run_batches
from langmem_plus.recall.filters import RecordFilter
from langmem_plus.recall.former import today
from langmem_plus.recall.items import Found, Wanted, choose, read_item, read_items
from langmem_plus.recall.plan import plan_messages
from langmem_plus.recall.query import bounded, current_text
from langmem_plus.recall.tail import clip_tail
from langmem_plus.recall.whole import checked, facts_in, siblings
from langmem_plus.recall.workspace import Found as FoundDocuments
from langmem_plus.recall.workspace import afind_documents, find_documents
from langmem_plus.records import ROLES, MemoryHit, MemoryReport, Scope, summary_key
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

__all__ = ["aretrieve", "read_item", "retrieve", "retrieve_node"]

Answer: TypeAlias = tuple[list[MemoryHit], Item | None, MemoryReport]

# A page of a search that must be read further is so many times as long as the one before.
_GROWTH = 4
# So many times as long at most where a filter left too little of it.
_FILTERED_GROWTH = 8
# So many times as many candidates are taken from a store that can't compare their token bits itself.
_FOREIGN = 2
_EVERYTHING = 2**31 - 1  # a limit that no namespace reaches and that every database takes
# What an exact store is asked for where a filter can't be told it: with a condition, it ranks without a bound.
_UNBOUNDED: dict[str, Any] = {"role": {"$ne": "summary"}}
_FACTS_AND_TURNS = frozenset({"memory", "user", "assistant"})
_ASKED_FOR = {"archive": ("archive",), "documents": ("document",)}  # what else a strategy recalls


@runtime_checkable
class SearchesExactly(Protocol):
    """A store that can search a namespace without those below it."""

    def exactly(self, op: SearchOp, *, narrowed: bool = False) -> SearchOp:
        """The same search, of the items of that very namespace alone; ``narrowed``: chosen from more by their token
        bits, or more of them where that can't be."""
        ...


def first_ops(wanted: Wanted) -> list[SearchOp]:
    """The searches: one a namespace, and another for what is asked for apart: archives, documents. Strict sessions ask
    for their thread alone.
    """
    filters: list[dict[str, Any] | None] = [None]
    if wanted.config.recall_scope == "thread":
        thread_id = wanted.scope.thread_id
        filters = [{"thread_id": thread_id}] if thread_id else []
        if "archive" in wanted.roles:
            filters.append({"role": "archive"})
    elif wanted.roles != frozenset(ROLES):
        # asked for by name or by a trigger: memories must not crowd them out, nor they memories
        filters += [{"role": role} for role in ("archive", "document") if role in wanted.roles]
    query = wanted.query or None
    ops = [
        SearchOp(namespace, filter=condition, limit=wanted.limit, query=query)
        for namespace in wanted.namespaces
        for condition in filters
    ]
    if wanted.list_archives:
        archives = {"role": "archive"}
        ops += [SearchOp(name, filter=archives, limit=wanted.limit) for name in wanted.namespaces]
    return ops


def listing_ops(wanted: Wanted, *, exact: bool) -> list[SearchOp]:
    """Listings of what was said on the days that are asked for, or of all that is known, facts first. ``exact``: the
    store compares times, which not all do; of others the newest are read.
    """
    if wanted.everything:
        kinds: list[dict[str, Any]] = [{"role": "memory", "pinned": True}, {"role": "memory"}, {"role": "user"}]
        told = [{"status": "active", **kind} for kind in kinds]
        return [SearchOp(name, filter=each, limit=wanted.limit) for name in wanted.namespaces for each in told]
    if not wanted.days:
        return []
    then = {"status": "active", "observed_at": said_then(wanted.days)} if exact else None
    limit = wanted.limit if exact else max(wanted.limit, wanted.config.keyword_pool)
    return [SearchOp(namespace, filter=then, limit=limit) for namespace in wanted.namespaces]


@dataclass(frozen=True)
class _Page:
    """What a search gave: how many items, how many of them from its own namespace, how many that can be recalled."""

    op: SearchOp
    items: int
    own: int
    usable: int
    is_ranked: bool


def _next_op(wanted: Wanted, page: _Page, usable: int, *, exact: bool = False) -> SearchOp | None:
    """The search to run next, because a full answer left too little to choose from.

    A store that can't rank gives an arbitrary page: more of it is read, and ranked here. Where namespaces below this
    one took their places in the answer, it is read on, until there are enough of its own, or as much was read as a
    keyword search ranks. A page that was mostly retired records is asked for again with those in force alone.

    Args:
        wanted: what is recalled.
        page: the last answer.
        usable: the items that can be recalled, over all pages of this search.
        exact: whether the store searches a namespace exactly.
    """
    op, bound = page.op, max(wanted.limit, wanted.config.keyword_pool)
    if page.items < op.limit and not (wanted.filter and exact and _is_cut(op, page, wanted.config.keyword_pool)):
        return None
    if wanted.filter is not None:
        enough = wanted.limit if page.is_ranked else bound
        return None if page.usable >= enough else _narrowed(op, wanted.filter, page.usable / enough, exact=exact)
    if op.query and not page.is_ranked:
        return op._replace(limit=bound) if bound > op.limit else None
    if page.own < page.items or op.offset:
        start = op.offset + page.items
        further = op._replace(offset=start, limit=min(_GROWTH * op.limit, bound - start))
        return further if usable < wanted.limit and start < bound else None
    if 2 * page.usable < page.items and not _asks_for_force(op):
        force: dict[str, Any] = {"status": "active"}
        if "document" not in wanted.roles:
            force["role"] = {"$ne": "document"}
        return op._replace(filter={**force, **(op.filter or {})})
    return None


def _narrowed(op: SearchOp, filter: RecordFilter, share: float, *, exact: bool) -> SearchOp | None:
    """The search to run where a filter left too little: with what the store can tell of it, then for more and more.

    Each is read from its beginning, so the last one is the namespace in one state, whatever is written meanwhile.

    Args:
        op: the last search.
        filter: the conditions.
        share: of what was wanted, how much was found.
        exact: whether the store searches a namespace exactly.
    """
    told = {**(_UNBOUNDED if exact else {}), **filter.pushed, **(op.filter or {})}
    growth = min(max(2, math.ceil(1.5 / share)), _FILTERED_GROWTH) if share else _FILTERED_GROWTH
    limit = min(growth * op.limit, _EVERYTHING)
    if told != (op.filter or {}):
        return op._replace(filter=told, limit=op.limit if filter.pushed else limit)
    return op._replace(limit=limit) if op.limit < _EVERYTHING else None


def _is_cut(op: SearchOp, page: _Page, pool: int) -> bool:
    """Whether a store that ranks so many keyword matches may hold more: with a condition, it ranks all."""
    return bool(op.query) and not op.filter and page.items >= pool


def _asks_for_force(op: SearchOp) -> bool:
    return "status" in (op.filter or {})


def _read_page(wanted: Wanted, op: SearchOp, items: Sequence[SearchItem], found: Found) -> _Page:
    own = sum(tuple(item.namespace) == op.namespace_prefix for item in items)
    usable = read_items(wanted, items, found)
    return _Page(op, len(items), own, usable, any(item.score is not None for item in items))


def _fetching(store: BaseStore, wanted: Wanted, summary: bool) -> Batches[Answer]:
    """What to ask the store for, batch by batch, and what its answers come to."""
    with_summary = summary and wanted.scope.thread_id is not None
    ops: list[Op] = [GetOp(wanted.scope.namespace, summary_key(wanted.scope))] if with_summary else []
    searches = first_ops(wanted) if wanted.search else []
    exact = isinstance(store, SearchesExactly)
    reranks = wanted.config.relevance == "calibrated" and wanted.config.reranker.lower() != "none"
    if isinstance(store, SearchesExactly):
        searches = [store.exactly(op, narrowed=reranks) for op in searches]
    elif reranks:
        searches = [op._replace(limit=_FOREIGN * op.limit) for op in searches]
    listings = listing_ops(wanted, exact=exact) if wanted.search else []
    searches += [store.exactly(op) if isinstance(store, SearchesExactly) else op for op in listings]
    results: Sequence[Any] = yield [*ops, *searches]
    item, results = (results[0] if with_summary else None), results[len(ops) :]
    found, usable = Found(), [0] * len(searches)
    asked = list(enumerate(searches))
    while asked:
        again: list[tuple[int, SearchOp]] = []
        for (number, op), items in zip(asked, results, strict=True):
            page = _read_page(wanted, op, items, found)
            usable[number] += page.usable
            if following := _next_op(wanted, page, usable[number], exact=exact):
                again.append((number, following))
        asked = again
        if asked:
            results = yield [op for _, op in asked]
    hits, report = choose(wanted, found)
    unread = siblings(hits)
    results = (yield [*unread]) if unread else []
    hits, left = checked(wanted.query, hits, facts_in(unread, results, wanted.scope), wanted.now, found.ended)
    if reranks and found.ended:
        hits = yield from today(wanted, found, hits)
    report.choices += left
    report.counts["candidates"] = len(hits)
    return hits, item, report


def fetch(store: BaseStore, wanted: Wanted, *, summary: bool = False) -> Answer:
    """Ask the store, and again where the first answer left too little; with the thread's summary where it is wanted."""
    return run_batches(lambda: store, _fetching(store, wanted, summary))


async def afetch(store: BaseStore, wanted: Wanted, *, summary: bool = False) -> Answer:
    """As `fetch`."""
    return await arun_batches(lambda: store, _fetching(store, wanted, summary))


def _asked(
    services: Services,
    scope: Scope,
    query: str,
    limit: int,
    exclude_ids: frozenset[str],
    messages: Sequence[BaseMessage],
    filter: RecordFilter | None,
) -> Wanted:
    settings, now = services.config, services.clock()
    days = asked_days(query, now.date())
    return Wanted(
        scope,
        query,
        limit,
        settings,
        now,
        exclude_ids=exclude_ids,
        messages=messages,
        filter=filter,
        days=days,
        everything=asks_all(query) or asks_name(query),
    )


def retrieve(
    services: Services,
    scope: Scope,
    query: str,
    *,
    limit: int,
    exclude_ids: frozenset[str] = frozenset(),
    messages: Sequence[BaseMessage] = (),
    filter: RecordFilter | None = None,
) -> tuple[list[MemoryHit], MemoryReport]:
    """The candidates for a query in a scope, unsorted: active, unexpired records of every role but summaries.

    Args:
        services: the settings, the store and the clock.
        scope: whose memory; its space and ``global`` are searched.
        query: the words to search by.
        limit: candidates a namespace.
        exclude_ids: records, or messages that records were made of, to leave out.
        messages: messages that the model sees anyway; turns made of them are left out.
        filter: what else they must meet; as many are fetched as there are, or as the limit says.
    """
    wanted = _asked(services, scope, query, limit, exclude_ids, messages, filter)
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
    filter: RecordFilter | None = None,
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `retrieve`."""
    wanted = _asked(services, scope, query, limit, exclude_ids, messages, filter)
    hits, _, report = await afetch(services.find_store(), wanted)
    return hits, report


def want(state: MemoryState, services: Services, config: RunnableConfig) -> Wanted | None:
    """What the plan asks the store for; None where it asks for nothing. Small talk, too, tells that a store or a user
    is missing; memory that is off, and an incognito session, need neither.

    Archived conversations, of other threads than this one, take part where the message asks for an earlier
    conversation. Documents take part where the message names them.
    """
    messages, settings = state.get("messages") or [], services.config
    plan = state.get("memory_plan") or plan_messages(messages, settings, incognito=services.is_incognito(config))
    if plan.strategy == "none":
        if settings.enabled and not services.is_incognito(config):
            services.find_scope(config)
            services.find_store()
        return None
    roles = set(_FACTS_AND_TURNS)
    roles.update(_ASKED_FOR.get(plan.strategy, ()))
    asked, now = bounded(current_text(messages)), services.clock()
    return Wanted(
        scope=services.find_scope(config),
        query=plan.query or asked,
        limit=settings.fetch_k,
        config=settings,
        now=now,
        roles=frozenset(roles),
        messages=clip_tail(messages, settings),
        list_archives=plan.strategy == "archive" and not plan.query,
        search=plan.strategy != "tail",
        days=asked_days(asked, now.date()),
        everything=asks_all(asked) or asks_name(asked),
    )


def _update(wanted: Wanted, answer: Answer, documents: FoundDocuments) -> Update:
    hits, item, report = answer
    record = read_item(item, wanted.scope) if item is not None else None
    is_summary = record is not None and record.role == "summary" and record.status == "active"
    return {
        "memory_hits": [*hits, *documents[0]],
        "memory_summary": record if is_summary else None,
        "memory_report": report.merge(documents[1]),
    }


def retrieve_node(services: Services) -> Runnable[MemoryState, Update]:
    """The node: reads ``memory_plan`` and ``messages``, writes ``memory_hits`` and ``memory_summary``."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        wanted = want(state, services, config)
        if wanted is None:
            return dict(nothing)
        answer = fetch(services.find_store(), wanted, summary=True)
        return _update(wanted, answer, find_documents(services, wanted))

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        wanted = want(state, services, config)
        if wanted is None:
            return dict(nothing)
        answer = await afetch(services.find_store(), wanted, summary=True)
        return _update(wanted, answer, await afind_documents(services, wanted))

    nothing: Update = {"memory_hits": [], "memory_summary": None}
    return stage("retrieve", services, run, arun, fallback=nothing)
