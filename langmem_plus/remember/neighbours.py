"""The known records that are most like new facts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from langgraph.store.base import SearchOp

from langmem_plus.records import Fact, MemoryRecord
from langmem_plus.remember.ledger import nearest
from langmem_plus.remember.rules import probe
from langmem_plus.remember.steps import Batch, Namespace, Steps, list_records, read_records
from langmem_plus.services import Services

KNOWN = {"role": "memory", "status": "active"}


def find_neighbours(
    namespace: Namespace, facts: Sequence[Fact], services: Services
) -> Steps[dict[str, list[MemoryRecord]]]:
    """The known records that are most like each fact, by the fact's key; likeness in words where the store ranks
    nothing. One is looked for even where ``neighbourhood`` is 0, so that the same fact isn't stored twice.
    """
    count, now = neighbour_count(services), services.clock()
    queries = [(fact.key, query) for fact in facts for query in (fact.text, probe(fact.text)) if query]
    if not queries:
        return {}
    pages = yield Batch([SearchOp(namespace, filter=dict(KNOWN), limit=count, query=query) for _, query in queries])
    if any(len(page) == count and any(item.score is None for item in page) for page in pages):
        everything = yield from list_records(namespace, KNOWN)
        return {fact.key: alive(nearest(fact.text, everything, count), now) for fact in facts}
    found: dict[str, dict[str, MemoryRecord]] = {}
    for (key, _), page in zip(queries, pages, strict=True):
        found.setdefault(key, {}).update({record.id: record for record in alive(read_records(page, namespace), now)})
    return {key: list(records.values()) for key, records in found.items()}


def neighbour_count(services: Services) -> int:
    """How many known records are looked up for a fact: one at least, so that the same fact isn't stored twice."""
    return max(1, services.config.neighbourhood)


def alive(records: Sequence[MemoryRecord], now: dt.datetime) -> list[MemoryRecord]:
    """The records that haven't expired."""
    return [record for record in records if record.expires_at is None or record.expires_at > now]
