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
from langmem_plus.speakers import Voice, by_speaker

KNOWN = {"role": "memory", "status": "active"}
_GROWTH = 8  # how many times as many are looked up where other speakers took the places


def find_neighbours(
    namespace: Namespace, facts: Sequence[Fact], services: Services
) -> Steps[dict[str, list[MemoryRecord]]]:
    """The known records of the same speaker that are most like each fact, by the fact's key; likeness in words where
    the store ranks nothing. One is looked for even where ``neighbourhood`` is 0, so that the same fact isn't stored
    twice.
    """
    count, now = neighbour_count(services), services.clock()
    asked = [(fact, query) for fact in facts for query in (fact.text, probe(Voice.of(fact).own)) if query]
    found: dict[str, dict[str, MemoryRecord]] = {}
    limit = count
    while asked:
        pages = yield Batch([SearchOp(namespace, filter=dict(KNOWN), limit=limit, query=query) for _, query in asked])
        if any(len(page) == limit and any(item.score is None for item in page) for page in pages):
            everything = alive((yield from list_records(namespace, KNOWN)), now)
            return {fact.key: nearest(Voice.of(fact).own, by_speaker(everything, fact), count) for fact in facts}
        crowded: list[tuple[Fact, str]] = []
        for (fact, query), page in zip(asked, pages, strict=True):
            records = read_records(page, namespace)
            own = by_speaker(records, fact)
            if len(own) < min(count, len(records)) and len(page) == limit:
                crowded.append((fact, query))  # others who speak in this memory took the places
            else:
                near = alive(own[:count], now)
                found.setdefault(fact.key, {}).update({record.id: record for record in near})
        asked, limit = crowded, _GROWTH * limit
    return {key: list(records.values()) for key, records in found.items()}


def neighbour_count(services: Services) -> int:
    """How many known records are looked up for a fact: one at least, so that the same fact isn't stored twice."""
    return max(1, services.config.neighbourhood)


def alive(records: Sequence[MemoryRecord], now: dt.datetime) -> list[MemoryRecord]:
    """The records that haven't expired."""
    return [record for record in records if record.expires_at is None or record.expires_at > now]
