"""The tool that searches: the same ranking as everywhere, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.store.base import BaseStore
from pydantic import Field

from langmem_plus.config import MemoryConfig
from langmem_plus.recall import arecall, read_filter, recall
from langmem_plus.records import MemoryHit, MemoryReport, Scope
from langmem_plus.services import Services
from langmem_plus.tokens import aprepare
from langmem_plus.tools.descriptions import (
    ARGUMENTS,
    INCOGNITO_READ,
    NO_MORE,
    NOTHING_RELEVANT,
    SEARCH_INSTRUCTIONS,
    describe_search,
)
from langmem_plus.tools.entries import Entry, of_hits
from langmem_plus.tools.memory_tool import (
    Arguments,
    AsJson,
    MemoryTool,
    Namespace,
    answering,
    check_store,
    find_scope,
    seen_messages,
    tool_services,
)

MOST = 200  # results a page
_GROWTH = 4
_BOTH = "content_and_artifact"

Found: TypeAlias = tuple[list[MemoryHit], MemoryReport]
Answer: TypeAlias = str | tuple[str, list[Entry]]
Search: TypeAlias = Callable[..., Answer]
AsyncSearch: TypeAlias = Callable[..., Awaitable[Answer]]


class SearchArguments(Arguments):
    """What is searched, and which page of the results is wanted."""

    query: str = Field(description=ARGUMENTS["query"])
    limit: int = Field(10, ge=1, le=MOST, description=ARGUMENTS["limit"])
    offset: int = Field(0, ge=0, description=ARGUMENTS["offset"])
    filter: Annotated[dict[str, Any] | None, AsJson] = Field(None, description=ARGUMENTS["filter"])


def pages(limit: int, offset: int, fetch_k: int) -> Generator[int, Found, list[MemoryHit]]:
    """Which recalls give one page: yields how many hits to ask for, is sent what was found, and gives the page.

    Pages neither overlap nor leave gaps: as long as ``fetch_k`` candidates are ranked, each recall gives the beginning
    of the same order. Further hits come from wider recalls, in the order of those, after what the narrower ones gave.

    Args:
        limit: hits of a page.
        offset: hits before it.
        fetch_k: the candidates that a recall ranks.
    """
    end = offset + limit
    if end <= fetch_k:
        hits, _ = yield end
        return hits[offset:end]
    found: dict[tuple[tuple[str, ...], str], MemoryHit] = {}
    width, before = fetch_k, -1
    while True:
        hits, report = yield width
        for hit in hits:
            found.setdefault((hit.namespace, hit.record.id), hit)
        candidates = report.counts.get("candidates", 0)
        if len(found) >= end or candidates <= before or candidates < width:
            return list(found.values())[offset:end]
        width, before = width * _GROWTH, candidates


def _answer(hits: Sequence[MemoryHit], offset: int, response_format: str, config: MemoryConfig) -> Answer:
    text, entries = of_hits(hits, config)
    if not hits:
        text = NO_MORE if offset else NOTHING_RELEVANT
    return (text, entries) if response_format == _BOTH else text


def _wanted(
    services: Services, name: str, config: RunnableConfig, filter: Any, runtime: Any
) -> tuple[Scope, dict[str, Any]]:
    scope, _ = find_scope(services, config), check_store(services, name)
    return scope, {"filter": read_filter(filter), "messages": seen_messages(runtime)}


def _callables(services: Services, name: str, response_format: str) -> tuple[Search, AsyncSearch]:
    """What the tool does, sync and async."""
    incognito: Answer = (INCOGNITO_READ, []) if response_format == _BOTH else INCOGNITO_READ

    def run(
        query: str,
        config: RunnableConfig,
        limit: int = 10,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
    ) -> Answer:
        if services.is_incognito(config):
            return incognito
        with answering(services, call_id):
            scope, told = _wanted(services, name, config, filter, runtime)
            count = next(steps := pages(limit, offset, services.config.fetch_k))
            try:
                while True:
                    count = steps.send(recall(services, scope, query, k=count, **told))
            except StopIteration as stop:
                return _answer(stop.value, offset, response_format, services.config)

    async def arun(
        query: str,
        config: RunnableConfig,
        limit: int = 10,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
    ) -> Answer:
        if services.is_incognito(config):
            return incognito
        with answering(services, call_id):
            scope, told = _wanted(services, name, config, filter, runtime)
            await aprepare(services.config)
            count = next(steps := pages(limit, offset, services.config.fetch_k))
            try:
                while True:
                    count = steps.send(await arecall(services, scope, query, k=count, **told))
            except StopIteration as stop:
                return _answer(stop.value, offset, response_format, services.config)

    return run, arun


def create_search_memory_tool(
    namespace: Namespace = None,
    *,
    instructions: str = SEARCH_INSTRUCTIONS,
    store: BaseStore | None = None,
    response_format: Literal["content", "content_and_artifact"] = "content",
    name: str = "search_memory",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that searches long-term memory: ``search_memory(query, limit=10, offset=0, filter=None)``.

    Args:
        namespace: whose memory. None takes user and space from the run (``runtime.context``, ``configurable``, the
            platform's user); a template such as ``("memories", "{user_id}")`` or langmem's ``"{langgraph_user_id}"`` is
            filled from the same places.
        instructions: when a model is to search.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        response_format: ``content`` gives JSON text, a list of items with ``key``, ``value``, ``score``, or words
            where nothing is relevant; ``content_and_artifact`` gives the items as plain dicts, too, with all fields of
            the records.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Words of the conversation that the model sees anyway aren't found again.

    Raises:
        ConfigError: the namespace or the store isn't one.
    """
    services = tool_services(namespace, store, config)
    run, arun = _callables(services, name, response_format)
    return MemoryTool(
        name=name,
        description=describe_search(instructions).strip(),
        args_schema=SearchArguments,
        func=run,
        coroutine=arun,
        response_format=response_format,
        handle_tool_error=True,
    )
