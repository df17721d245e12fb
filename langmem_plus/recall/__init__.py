"""What happens to a message before the model answers.

::

    message ─► plan ─────► retrieve ─────► rerank ─────► mmr ─────► inject ─► model call
               which       candidates      relevance,    the few    fenced text
               memory?     of the store    recency,      that are   within its
                                           importance    shown      budgets

Each stage is a module: pure functions, and one node. `recall` runs the middle three for those who have no graph: the
client, the tools, the retriever. The functions that are named as their module (`plan.plan`, `rerank.rerank`, …) are
taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from langchain_core.messages import BaseMessage

from langmem_plus.config import ENDLESS
from langmem_plus.errors import InvalidValueError
from langmem_plus.providers.spending import model_uses
from langmem_plus.recall.answerable import SEARCHED
from langmem_plus.recall.batches import arun_batches, run_batches
from langmem_plus.recall.filters import Filter, RecordFilter, read_filter
from langmem_plus.recall.inject import apply_context, build_context, clip_tail, inject_node, strip_context
from langmem_plus.recall.mmr import akeep_scores, choosing, keep_scores, max_marginal_relevance, mmr_node
from langmem_plus.recall.plan import plan_node
from langmem_plus.recall.query import bounded, current_name
from langmem_plus.recall.rerank import arerank_with, rerank_node, rerank_with
from langmem_plus.recall.retrieve import aretrieve, read_item, retrieve_node
from langmem_plus.recall.retrieve import retrieve as _retrieve
from langmem_plus.records import MemoryHit, MemoryReport, Scope
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.telemetry import Observed, content_of

__all__ = [
    "Filter",
    "RecordFilter",
    "apply_context",
    "arecall",
    "aretrieve",
    "build_context",
    "check_k",
    "clip_tail",
    "inject_node",
    "max_marginal_relevance",
    "mmr_node",
    "plan_node",
    "read_filter",
    "read_item",
    "recall",
    "rerank_node",
    "retrieve_node",
    "strip_context",
]


NOTHING_ASKED = MemoryReport(reason="the query has no words")


def recall(
    services: Services,
    scope: Scope,
    query: str,
    *,
    k: int | None = None,
    messages: Sequence[BaseMessage] = (),
    filter: Filter | RecordFilter | None = None,
    asker: str = "",
) -> tuple[list[MemoryHit], MemoryReport]:
    """The memories that answer a query, best first, and why each was chosen or dropped: retrieve, rerank, mmr. Somebody
    searches and looks at what is found, so more is let through than into a prompt.

    Args:
        services: the settings, the store, the reranker and the clock.
        scope: whose memory; its space and ``global`` are searched.
        query: the words to search by; nothing answers a blank one, and of a long one the beginning and the end count.
        k: how many at most; None takes ``top_k``.
        messages: messages that the caller sees anyway; turns made of them are left out. Where the user's last one has a
            name, "my" means that person.
        filter: what they must meet, as `filters` says; it is exact, however rare what it asks for is.
        asker: the name of whom "my" means, in place of that one's.

    Raises:
        InvalidValueError: the query is no text, k no number, or the filter can't be read; nothing was searched.
    """
    chosen_by, k, asker = read_filter(filter), check_k(k), asker or current_name(messages)
    if not (query := _read_query(query)):
        return [], NOTHING_ASKED.model_copy(deep=True)
    with _observed("search", services, scope, query) as found:
        with _observed("retrieve", services, scope) as done:
            hits, report = _retrieve(
                services, scope, query, limit=_candidates(services, k), messages=messages, filter=chosen_by
            )
            done(report, hits)
        with _observed("rerank", services, scope) as done:
            ranked, reranked = rerank_with(services, query, hits, least=SEARCHED, asker=asker)
            done(reranked, ranked)
        with _observed("mmr", services, scope) as done:
            others = [choice.id for choice in (*report.choices, *reranked.choices)]
            choose = choosing(query, ranked, services, lambda: scope, others, k, documents_apart=False)
            chosen, selected = run_batches(services.find_store, choose)
            selected.warnings += keep_scores(services, chosen)
            done(selected, chosen)
        whole = report.merge(reranked).merge(selected)
        found(whole, chosen)
    return chosen, whole


async def arecall(
    services: Services,
    scope: Scope,
    query: str,
    *,
    k: int | None = None,
    messages: Sequence[BaseMessage] = (),
    filter: Filter | RecordFilter | None = None,
    asker: str = "",
) -> tuple[list[MemoryHit], MemoryReport]:
    """As `recall`."""
    chosen_by, k, asker = read_filter(filter), check_k(k), asker or current_name(messages)
    if not (query := _read_query(query)):
        return [], NOTHING_ASKED.model_copy(deep=True)
    with _observed("search", services, scope, query) as found:
        with _observed("retrieve", services, scope) as done:
            hits, report = await aretrieve(
                services, scope, query, limit=_candidates(services, k), messages=messages, filter=chosen_by
            )
            done(report, hits)
        with _observed("rerank", services, scope) as done:
            ranked, reranked = await arerank_with(services, query, hits, least=SEARCHED, asker=asker)
            done(reranked, ranked)
        with _observed("mmr", services, scope) as done:
            others = [choice.id for choice in (*report.choices, *reranked.choices)]
            choose = choosing(query, ranked, services, lambda: scope, others, k, documents_apart=False)
            chosen, selected = await arun_batches(services.find_store, choose)
            selected.warnings += await akeep_scores(services, chosen)
            done(selected, chosen)
        whole = report.merge(reranked).merge(selected)
        found(whole, chosen)
    return chosen, whole


@contextmanager
def _observed(
    name: str, services: Services, scope: Scope, query: str | None = None
) -> Iterator[Callable[[MemoryReport, Sequence[MemoryHit]], None]]:
    """A stage outside of a graph, as a trace has it; what is given is told what it did."""
    content = services.config.telemetry_content
    with Observed(name, content=content) as seen, model_uses() as uses:

        def done(report: MemoryReport, hits: Sequence[MemoryHit]) -> None:
            seen.done(report, None, uses)
            if content:
                seen.tell(content_of(name, {"memory_hits": hits, "query": query}, {"user.id": scope.user_id}))

        yield done


def _read_query(query: str) -> str:
    """What is searched by, of a bounded length; empty where there are no words."""
    if not isinstance(query, str):
        raise InvalidValueError(f"the query is {shown(query)}: give a question or words, as a text.")
    return bounded(query.strip())


def check_k(k: int | None) -> int | None:
    """How many memories are wanted, no more than anybody has; None is for the settings to say.

    Raises:
        InvalidValueError: it is no number of memories.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise InvalidValueError(f"k is {shown(k)}: give how many memories at most, 1 or more, or None for top_k.")
    return k if k is None else min(k, ENDLESS)


def _candidates(services: Services, k: int | None) -> int:
    return max(services.config.fetch_k, k or 0)
