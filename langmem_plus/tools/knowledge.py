"""The tools for what a workspace knows: search its documents and conversations, and list its documents."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.store.base import BaseStore
from pydantic import Field, create_model

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex, IndexedDocument
from langmem_plus.errors import ConfigError, MissingIdentityError
from langmem_plus.recall import arecall, recall
from langmem_plus.recall.filters import read_filter
from langmem_plus.records import MemoryHit, Scope, format_time, parse_epoch
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.tokens import aprepare, counter
from langmem_plus.tools.descriptions import (
    ARGUMENTS,
    INCOGNITO_READ,
    KNOWLEDGE_INSTRUCTIONS,
    LIST_DOCUMENTS_INSTRUCTIONS,
    NO_DOCUMENTS,
    NO_MORE,
    NOTHING_FOUND,
    describe_knowledge,
    describe_list_documents,
)
from langmem_plus.tools.entries import Entry, of_hits, written
from langmem_plus.tools.memory_tool import (
    Arguments,
    MemoryTool,
    Namespace,
    answering,
    check_store,
    choice,
    find_scope,
    seen_messages,
    tool_services,
)
from langmem_plus.tools.search import MOST

Source = Literal["both", "documents", "conversations"]
Documents: TypeAlias = DocumentIndex | Sequence[DocumentIndex]
Found: TypeAlias = dict[str, list[MemoryHit]]
# What was said; documents that stand in the store as memories do are documents.
_SAID = read_filter({"role": {"ne": "document"}})


class ListDocumentsArguments(Arguments):
    """Which page of the documents is wanted."""

    limit: int = Field(50, ge=1, le=MOST, description=ARGUMENTS["limit"])
    offset: int = Field(0, ge=0, description=ARGUMENTS["offset"])


def read_documents(documents: Any) -> tuple[DocumentIndex, ...]:
    """The indexes that a tool is given.

    Raises:
        ConfigError: there is none, or something else.
    """
    found = tuple(documents) if isinstance(documents, list | tuple) else (documents,)
    if not found or not all(isinstance(each, DocumentIndex) for each in found):
        raise ConfigError(f"documents is {shown(documents)}: pass DocumentIndex(folder), or several in a list.")
    return found


def document_entry(hit: MemoryHit) -> Entry:
    """A piece of a document as a model reads it: the part that says most, and where it stands."""
    told = hit.record.metadata
    entry = {
        "path": told.get("path"),
        "lines": told.get("lines"),
        "headings": told.get("headings"),
        "modified": format_time(hit.record.said_at),
        "content": told.get("excerpt") or hit.text,
        "score": round(hit.scores.get("total", 0.0), 4),
    }
    return {name: value for name, value in entry.items() if value is not None and value != []}


def within_budget(entries: Sequence[Entry], config: MemoryConfig) -> list[Entry]:
    """The first of the entries, as many as ``documents_max_tokens`` allows, but one at least."""
    measure, spent = counter(config), 0
    kept: list[Entry] = []
    for entry in entries:
        spent += measure.count(written([entry]))
        if kept and spent > config.documents_max_tokens:
            break
        kept.append(entry)
    return kept


def _answer(found: Found, config: MemoryConfig, note: str = "") -> str:
    told: dict[str, Any] = {}
    for source, hits in found.items():
        if source == "documents":
            entries = [document_entry(hit) for hit in hits]
            told[source] = within_budget(entries, config)
            if left := len(entries) - len(told[source]):
                told["documents_without_room"] = left
        else:
            told[source] = json.loads(of_hits(hits, config)[0])
    if not any(found.values()):
        return note or NOTHING_FOUND
    return json.dumps({**told, **({"note": note} if note else {})}, ensure_ascii=False)


def _best(hits: Sequence[MemoryHit], limit: int) -> list[MemoryHit]:
    return sorted(hits, key=lambda hit: -hit.scores.get("total", 0.0))[:limit]


def _served(indexes: Sequence[DocumentIndex], services: Services, config: RunnableConfig) -> list[DocumentIndex]:
    """The indexes that are knowledge of whoever asks; where all are everybody's, nobody has to be named.

    Raises:
        MissingIdentityError: some are somebody's, and nobody is named.
    """
    try:
        scope = find_scope(services, config)
    except MissingIdentityError:
        if all(index.is_everybodys for index in indexes):
            return list(indexes)
        raise
    return [index for index in indexes if index.serves(scope)]


def _callables(
    services: Services, indexes: Sequence[DocumentIndex], name: str
) -> tuple[Callable[..., str], Callable[..., Awaitable[str]]]:
    """What the search does, sync and async."""

    def wanted(source: str, config: RunnableConfig) -> tuple[Scope | None, list[DocumentIndex], str]:
        """Whose conversations to search, if any; the indexes to search, and what is to be said beside."""
        incognito = services.is_incognito(config)
        note = INCOGNITO_READ if incognito and source != "documents" else ""
        chosen = [] if source == "conversations" else _served(indexes, services, config)
        if source == "documents" or incognito:
            return None, chosen, note
        scope = find_scope(services, config)
        check_store(services, name)
        return scope, chosen, note

    def run(
        query: str,
        config: RunnableConfig,
        source: str = "both",
        limit: int = 5,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
    ) -> str:
        with answering(services, call_id):
            scope, chosen, note = wanted(source, config)
            found: Found = {}
            if source != "conversations":
                found["documents"] = _best([hit for index in chosen for hit in index.search(query, limit)], limit)
            if scope is not None:
                seen = seen_messages(runtime)
                found["conversations"] = recall(services, scope, query, k=limit, messages=seen, filter=_SAID)[0]
            return _answer(found, services.config, note)

    async def arun(
        query: str,
        config: RunnableConfig,
        source: str = "both",
        limit: int = 5,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
    ) -> str:
        with answering(services, call_id):
            scope, chosen, note = wanted(source, config)
            await aprepare(services.config)
            found: Found = {}
            if source != "conversations":
                hits = [hit for index in chosen for hit in await index.asearch(query, limit)]
                found["documents"] = _best(hits, limit)
            if scope is not None:
                seen = seen_messages(runtime)
                found["conversations"] = (await arecall(services, scope, query, k=limit, messages=seen, filter=_SAID))[
                    0
                ]
            return _answer(found, services.config, note)

    return run, arun


def create_search_knowledge_base_tool(
    namespace: Namespace = None,
    *,
    documents: Documents,
    sources: Sequence[Source] = get_args(Source),
    instructions: str = KNOWLEDGE_INSTRUCTIONS,
    store: BaseStore | None = None,
    name: str = "search_knowledge_base",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that searches a workspace: ``search_knowledge_base(query, source="both", limit=5)``.

    It answers with one JSON object with ``documents`` and ``conversations`` apart, as far as they were asked for: the
    former with path, lines, headings and the part that says most, within ``documents_max_tokens``; the latter as
    `create_search_memory_tool` gives them. An incognito session finds documents alone.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        documents: the workspace's, an index or several; those that aren't the user's or the space's aren't searched.
        sources: what a model may choose from; the first one is the default. With ``("documents",)`` alone no store is
            needed.
        instructions: when a model is to search.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace, the store or the documents aren't any, or there is no such source.
    """
    services, indexes = tool_services(namespace, store, config), read_documents(documents)
    allowed = get_args(Source)
    if not sources or isinstance(sources, str) or any(source not in allowed for source in sources):
        raise ConfigError(f"sources is {shown(sources)}: give some of {', '.join(allowed)} in a tuple.")
    fields: dict[str, Any] = {
        "query": (str, Field(description=ARGUMENTS["query"])),
        "source": choice(list(sources), sources[0], ARGUMENTS["source"]),
        "limit": (int, Field(5, ge=1, le=MOST, description=ARGUMENTS["limit"])),
    }
    run, arun = _callables(services, indexes, name)
    return MemoryTool(
        name=name,
        description=describe_knowledge(sources, instructions).strip(),
        args_schema=create_model(name, __base__=Arguments, **fields),
        func=run,
        coroutine=arun,
        handle_tool_error=True,
    )


def create_list_documents_tool(
    namespace: Namespace = None,
    *,
    documents: Documents,
    instructions: str = LIST_DOCUMENTS_INSTRUCTIONS,
    name: str = "list_documents",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that lists a workspace's documents by their paths: ``list_documents(limit=50, offset=0)``.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        documents: the workspace's, an index or several; those that aren't the user's or the space's aren't listed.
        instructions: when a model is to list.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace or the documents aren't any.
    """
    services, indexes = tool_services(namespace, None, config), read_documents(documents)

    def run(
        config: RunnableConfig,
        limit: int = 50,
        offset: int = 0,
        call_id: Annotated[str | None, InjectedToolArg] = None,
    ) -> str:
        with answering(services, call_id):
            return _listed(
                [known for index in _served(indexes, services, config) for known in index.list()], limit, offset
            )

    async def arun(
        config: RunnableConfig,
        limit: int = 50,
        offset: int = 0,
        call_id: Annotated[str | None, InjectedToolArg] = None,
    ) -> str:
        with answering(services, call_id):
            return _listed(
                [known for index in _served(indexes, services, config) for known in await index.alist()], limit, offset
            )

    return MemoryTool(
        name=name,
        description=describe_list_documents(instructions).strip(),
        args_schema=ListDocumentsArguments,
        func=run,
        coroutine=arun,
        handle_tool_error=True,
    )


def _listed(documents: Sequence[IndexedDocument], limit: int, offset: int) -> str:
    page: list[Mapping[str, Any]] = [
        {
            "path": known.path,
            **({"title": known.title} if known.title else {}),
            "bytes": known.bytes,
            "modified": format_time(parse_epoch(known.modified)),
        }
        for known in documents[offset : offset + limit]
    ]
    return json.dumps(page, ensure_ascii=False) if page else NO_MORE if offset else NO_DOCUMENTS
