"""The retriever: memory as LangChain's documents, for chains, tools and everything else that takes a retriever.

Each call is one recall (`langmem_plus.recall.recall`) of somebody who looks at what is found. Whose memory it is, is
told by the fixed scope, else by the run: its context, ``configurable`` in its config, the platform's user.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from langgraph.store.base import BaseStore
from pydantic import Field, PrivateAttr, SkipValidation

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import InvalidValueError
from langmem_plus.fence import escape, fence, fold
from langmem_plus.graph import make_services
from langmem_plus.providers.rerank import RerankerSpec
from langmem_plus.recall import Filter, RecordFilter, arecall, check_k, read_filter, recall
from langmem_plus.records import MemoryHit, MemoryReport, Scope, format_time
from langmem_plus.services import Services, Template, emit_report, settle
from langmem_plus.shown import shown

__all__ = ["MemoryRetriever", "as_context", "document_of"]

# What a document's metadata take over from its record; each is there in every document, None where nothing is known.
_TAKEN = (
    *("role", "user_id", "space", "thread_id", "agent_id", "created_at", "observed_at", "expires_at", "importance"),
    *("pinned", "manually_saved", "tags", "source_ids", "metadata"),
)


_DAY = 10  # letters of YYYY-MM-DD


class MemoryRetriever(BaseRetriever):
    """The memories that answer a query, best first, as documents: the record's text, its id, and in ``metadata`` its
    role, time, tags, sources and one score a stage.

    An identity reaches it through a chain's config, too. In an incognito run, and where ``enabled`` is off, it finds
    nothing. Within a running graph it streams its report as the custom event ``{"memory": report}``.

    Args:
        store: where memories are kept; None uses the store of the graph that runs.
        scope: whose memory, when it is always the same; or a namespace template such as ``("memories", "{user_id}")``.
            None takes ``user_id``, ``space`` and ``thread_id`` from the run: ``retriever.invoke(query,
            {"configurable": {"user_id": "alice"}})``.
        k: how many at most; None takes ``top_k``. ``invoke(query, k=3)`` asks for another number once.
        filter: conditions that each of them meets, such as ``{"role": "memory", "tags": {"in": ["tea"]}}`` (see
            `langmem_plus.recall.filters`). ``invoke(query, filter=…)`` adds more for one call.
        config: the settings; None reads them from the environment.
        model: the chat model that ``reranker="model"`` means; None takes the settings'.
        reranker: scores candidates in place of the one that the settings name: a chat model, its name, a folder, or a
            function.
        name, tags, metadata: what traces show of it.

    Raises:
        ConfigError: the store isn't one, or a setting names something that can't be built. A call raises
            MissingStoreError without a store and MissingIdentityError without a user.
        InvalidValueError: ``k`` is no number of memories, or the filter can't be read.
    """

    store: SkipValidation[BaseStore | None] = None
    scope: SkipValidation[Scope | Template | None] = None
    k: SkipValidation[int | None] = None
    filter: SkipValidation[Filter | None] = None
    config: SkipValidation[MemoryConfig | None] = Field(None, repr=False)
    model: SkipValidation[str | BaseChatModel | None] = None
    reranker: SkipValidation[Any] = None
    # The services, and what they were made of: a field may be set to something else.
    _made: tuple[tuple[Any, ...], Services] | None = PrivateAttr(None)

    def __init__(
        self,
        store: BaseStore | None = None,
        scope: Scope | Template | None = None,
        k: int | None = None,
        *,
        filter: Filter | None = None,
        config: MemoryConfig | None = None,
        model: str | BaseChatModel | None = None,
        reranker: RerankerSpec = None,
        name: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            store=store,
            scope=scope,
            k=check_k(k),
            filter=filter,
            config=MemoryConfig.of(config),
            model=model,
            reranker=reranker,
            name=name,
            tags=tags,
            metadata=metadata,
        )
        self._services()  # what can't be built or read is told now
        read_filter(filter)

    def __getstate__(self) -> dict[Any, Any]:
        """What is pickled: the fields; the services are made anew. Whether a store can be pickled, it says itself."""
        return {**super().__getstate__(), "__pydantic_private__": {"_made": None}}

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> MemoryRetriever:
        """A retriever over the same store: connections aren't copied."""
        return self.model_copy()

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents that answer a query.

        Args:
            input: a question, or words.
            config: may name whose memory: ``{"configurable": {"user_id": "alice"}}``.
            kwargs: ``k`` and ``filter`` for this call.
        """
        settled = settle(config)
        with set_config_context(settled) as context:
            return context.run(super().invoke, input, settled, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents that answer a query, as `invoke`."""
        settled = settle(config)
        with set_config_context(settled) as context:
            return await asyncio.create_task(super().ainvoke(input, settled, **kwargs), context=context)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,
        k: int | None = None,
        filter: Filter | None = None,
    ) -> list[Document]:
        services, scope, wanted = self._prepare(query, filter)
        if scope is None:
            return []
        return _finish(*recall(services, scope, query, k=self._limit(k), filter=wanted))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun | None = None,
        k: int | None = None,
        filter: Filter | None = None,
    ) -> list[Document]:
        services, scope, wanted = self._prepare(query, filter)
        if scope is None:
            return []
        return _finish(*await arecall(services, scope, query, k=self._limit(k), filter=wanted))

    def _prepare(self, query: str, filter: Filter | None) -> tuple[Services, Scope | None, RecordFilter | None]:
        """The services, whose memory this run may see (None where it may see none), and what is wanted of it."""
        if not isinstance(query, str):
            raise InvalidValueError(
                f"the query is {shown(query)}: pass a text. In a chain over mappings, "
                'itemgetter("question") | retriever takes it out.'
            )
        config, services = ensure_config(), self._services()
        scope = services.find_scope(config)
        services.find_store()
        wanted = _both(read_filter(self.filter), read_filter(filter))
        return services, scope if services.config.enabled and not services.is_incognito(config) else None, wanted

    def _limit(self, k: int | None) -> int | None:
        return self.k if k is None else check_k(k)

    def _services(self) -> Services:
        sources = (self.store, self.scope, self.config, self.model, self.reranker)
        made = self._made
        if made is None or any(new is not old for new, old in zip(sources, made[0], strict=True)):
            store, scope, config, model, reranker = sources
            made = sources, make_services(store=store, scope=scope, config=config, model=model, reranker=reranker)
            self._made = made
        return made[1]


def document_of(hit: MemoryHit) -> Document:
    """A hit as a document; everything in its metadata is plain JSON."""
    value = hit.record.to_value()
    own = hit.record.metadata.get("name")
    return Document(
        id=hit.record.id,
        page_content=hit.text,
        metadata={
            **{name: value[name] for name in _TAKEN},
            "time": format_time(hit.record.said_at),
            "name": own if isinstance(own, str) else None,
            "namespace": list(hit.namespace),
            "scores": {name: float(score) for name, score in hit.scores.items()},
        },
    )


def as_context(documents: Sequence[Document]) -> str:
    """The documents as text for a prompt, one line each, fenced as data: what a memory demands isn't an instruction.

    >>> as_context([])
    ''
    >>> tea = Document("I like tea.", metadata={"role": "user", "time": "2026-05-01T00:00:00.000000Z"})
    >>> as_context([tea]).splitlines()[-2:]
    ['[user] I like tea. (2026-05-01)', '</memory_context>']

    Raises:
        InvalidValueError: something isn't a document.
    """
    for document in documents if isinstance(documents, Sequence) else [documents]:
        if not isinstance(document, Document):
            raise InvalidValueError(f"{shown(document)} isn't a document: give the list that a retriever gives.")
    return fence("\n".join(map(_line, documents))) if documents else ""


def _line(document: Document) -> str:
    """One line, whatever another program put into the metadata: what is no text, or a time that is no date, isn't told
    as one.
    """
    role, said, speaker = (_words(document.metadata.get(name)) for name in ("role", "time", "name"))
    text = fold(document.page_content)
    named = f"{speaker}: {text}" if speaker and not text.startswith(f"{speaker}:") else text
    return escape(f"[{role or 'document'}] {named}" + (f" ({said[:_DAY]})" if said else ""))


def _words(value: object) -> str:
    """A field of the metadata on one line; dates and numbers as their text, nothing of anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | dt.date):
        return ""
    return fold(str(value) if isinstance(value, str | int | float) else value.isoformat())


def _finish(hits: Sequence[MemoryHit], report: MemoryReport) -> list[Document]:
    emit_report(report)
    return [document_of(hit) for hit in hits]


def _both(one: RecordFilter | None, other: RecordFilter | None) -> RecordFilter | None:
    """The filter that asks for all that two ask for."""
    if one is None or other is None:
        return one or other
    return RecordFilter((*one.tests, *other.tests), {**one.pushed, **other.pushed})
