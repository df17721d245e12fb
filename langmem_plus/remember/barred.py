"""Facts that were forgotten before they were stored: what was said before its owner asked to forget it doesn't come
back out of a turn that is read later.

A request to forget retires what is known, and marks the turns that say it. A turn may still have waited for its facts
then, or come to the store afterwards (an import), and a model may word it in its own way: so each new fact is compared
with what was forgotten since it was said.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence

from langgraph.store.base import Item, SearchOp

from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, parse_time
from langmem_plus.remember.fact_records import ASKED_AT, to_record
from langmem_plus.remember.forgetting import find_forgotten, says, tells
from langmem_plus.remember.review import review_of
from langmem_plus.remember.simhash import near_duplicate, negations
from langmem_plus.remember.steps import Batch, Namespace, Steps, read_records
from langmem_plus.remember.tombstones import is_set_aside
from langmem_plus.remember.traces import says_it
from langmem_plus.speakers import Voice
from langmem_plus.text import tokens

# The newest tombstones come first in a store that sorts them so; mostly none of them is as new as what was just said.
_PAGE = 100
_GONE = {"role": "memory", "status": "deleted"}


def is_forgotten(record: MemoryRecord | None) -> bool:
    """Whether a fact was deleted because its owner wanted to forget it."""
    if record is None or record.role != "memory" or record.status != "deleted":
        return False
    return not is_set_aside(record) and review_of(record) is None


def find_barred(
    namespaces: Sequence[Namespace], facts: Sequence[Fact], turns: Mapping[str, MemoryRecord], limit: int
) -> Steps[set[str]]:
    """The keys of the facts that their owner asked to forget after they were said.

    Args:
        namespaces: where it may have been forgotten.
        facts: new facts, no requests.
        turns: their turns, by id.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    first = min((turns[fact.source_id].said_at for fact in facts), default=None)
    if first is None:
        return set()
    gone: list[MemoryRecord] = []
    for namespace in namespaces:
        gone += yield from _forgotten_since(namespace, first)
    return {
        fact.key
        for fact in facts
        if any(
            _is_before(turns[fact.source_id], record) and says_again(fact, turns[fact.source_id], record, limit)
            for record in gone
        )
    }


def _forgotten_since(namespace: Namespace, first: dt.datetime) -> Steps[list[MemoryRecord]]:
    """What was forgotten in a namespace since some time, and maybe more."""
    found: list[MemoryRecord] = []
    offset = 0
    while True:
        (page,) = yield Batch([SearchOp(namespace, filter=dict(_GONE), limit=_PAGE, offset=offset)])
        records = read_records(page, namespace)
        found += filter(is_forgotten, records)
        # By the store's clock and by ours, which may stand anywhere.
        if len(page) < _PAGE or (_is_sorted(page, first) and records and records[-1].updated_at < first):
            return found
        offset += _PAGE


def _is_sorted(page: Sequence[Item], first: dt.datetime) -> bool:
    """Whether the store gives the newest first, and what comes behind this page is older than that."""
    times = [item.updated_at for item in page]
    return times[-1] < first and all(one >= other for one, other in itertools.pairwise(times))


def _is_before(turn: MemoryRecord, gone: MemoryRecord) -> bool:
    """Whether something was said before it was forgotten. At the same moment, a turn that the request met was."""
    asked = gone.metadata.get(ASKED_AT)
    if asked is None:
        is_met = turn.said_at == gone.updated_at and bool(turn.metadata.get(FORGOTTEN))
        return is_met or turn.said_at < gone.updated_at
    try:
        return bool(turn.said_at < parse_time(asked))
    except ValueError:  # edited by hand
        return turn.said_at < gone.updated_at


def says_again(fact: Fact, turn: MemoryRecord, gone: MemoryRecord, limit: int) -> bool:
    """Whether a fact says what was forgotten, in whatever words; what denies it doesn't.

    Args:
        fact: the new fact.
        turn: where it was said.
        gone: what was forgotten.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    told, said = Voice.of(fact), Voice.of(gone)
    if negations(told.own) != negations(said.own):
        return False
    record = to_record(fact, turn, turn.created_at)
    # One word alone stands in too many texts that don't speak of it.
    by_words = says if len(set(tokens(said.own))) > 1 else says_it
    if tells(record, said, by_words) or find_forgotten(said.own, [record], said.name)[0]:
        return True
    return told.name == said.name and near_duplicate(told.own, said.own, limit)
