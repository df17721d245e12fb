"""Keep a namespace within its bounds: the weakest records over ``max_entries`` go to the tombstones.

Weak is what scored lowest when it was last recalled, or what is oldest. Pinned and manually saved records, summaries
and turns that wait for extraction are never taken.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Sequence

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import PutOp, SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Batch, Steps, arun_steps, list_records, put, run_steps
from langmem_plus.remember.tombstones import EVICTED
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

_DAY = 86_400.0  # seconds


def strength(record: MemoryRecord, config: MemoryConfig, now: dt.datetime) -> float:
    """How much a record is worth keeping, in [0, 1]: its last total score, or, once that is stale, what its age and its
    importance make of it.
    """
    scores = record.last_scores
    computed = scores.computed_at if scores else None
    if scores and computed and (now - computed).total_seconds() <= config.score_stale_hours * 3600:
        return scores.total
    age = max((now - record.said_at).total_seconds(), 0.0) / _DAY
    recency = math.exp(-age / config.recency_tau_days)
    total = config.recency_weight * recency + config.importance_weight * record.importance
    weights = config.relevance_weight + config.recency_weight + config.importance_weight
    return total / weights if weights else 0.0


def choose(records: Sequence[MemoryRecord], config: MemoryConfig, now: dt.datetime) -> list[MemoryRecord]:
    """The records to evict, the weakest first: as many as there are over the bound, of those that may go."""
    counted = [record for record in records if record.role in config.evict_roles and record.status == "active"]
    free = [record for record in counted if _may_go(record, config)]
    if config.evict_by == "age":
        free.sort(key=lambda record: record.said_at)
    else:
        free.sort(key=lambda record: (strength(record, config, now), record.said_at))
    return free[: max(len(counted) - config.max_entries, 0)]


def _may_go(record: MemoryRecord, config: MemoryConfig) -> bool:
    counts = record.role in config.evict_roles and record.status == "active"
    return counts and not (record.pinned or record.manually_saved or record.extracted is False)


def evict_steps(services: Services, scope: Scope) -> Steps[MemoryReport]:
    """Look whether the namespace is over its bound, at the cost of one item, and only then at everything in it."""
    config, now, namespace = services.config, services.clock(), scope.namespace
    filters = [{"role": role, "status": "active"} for role in config.evict_roles]
    if len(filters) == 1:
        (beyond,) = yield Batch([SearchOp(namespace, filter=filters[0], limit=1, offset=config.max_entries)])
        if not beyond:
            return MemoryReport(counts={"evicted": 0})
    records: list[MemoryRecord] = []
    for filter in filters:
        records += yield from list_records(namespace, filter)
    reason = f"{EVICTED}more than {config.max_entries} records"
    weakest = [record.id for record in choose(records, config, now)]
    evicted: list[PutOp] = []
    pinned: list[str] = []

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        found = [current[each] for each in weakest if each in current]
        pinned[:] = [record.id for record in found if record.pinned]
        evicted[:] = [put(namespace, retire(record, now, reason)) for record in found if _may_go(record, config)]
        return evicted

    yield from rewrite(namespace, weakest, change)
    return MemoryReport(
        counts={"evicted": len(evicted), **({"pinned_chosen": len(pinned)} if pinned else {})},
        warnings=[_spared(id) for id in pinned],
    )


def _spared(id: str) -> str:
    """The warning that a pinned record was among those to evict: it was pinned meanwhile, or `choose` is wrong."""
    warning = f"the pinned memory {id} was chosen for eviction, and stays"
    logger.warning("memory: %s", warning)
    return warning


def evict(services: Services, scope: Scope) -> MemoryReport:
    """Retire the weakest records over the bound."""
    return run_steps(evict_steps(services, scope), services, services.find_store())


async def aevict(services: Services, scope: Scope) -> MemoryReport:
    """`evict`, awaiting."""
    return await arun_steps(evict_steps(services, scope), services, services.find_store())


def evict_node(services: Services) -> Runnable[MemoryState, Update]:
    """Keep the namespace within its bounds."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": evict(services, services.find_scope(config))}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": await aevict(services, services.find_scope(config))}

    return stage("evict", services, run, arun)
