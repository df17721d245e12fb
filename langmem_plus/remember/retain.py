"""Let go of what is old: expired turns, and, after ``retention_days``, unpinned facts and turns, for good.

What is old and in force is told by the archive of its conversation, or of the space where it has none, before it is
erased; where that can't be written, it stays. A run takes the oldest, so many at a time. Pinned and manually saved
records, summaries and archives in force, and turns that wait for extraction are never taken.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure, Held
from langmem_plus.errors import ConfigError
from langmem_plus.records import TURN_ROLES, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.archive import archive_steps
from langmem_plus.remember.removing import erase_chosen
from langmem_plus.remember.review import is_withheld
from langmem_plus.remember.steps import Steps, arun_steps, list_records, run_steps
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import audit

logger = logging.getLogger(__name__)

_BATCH = 500  # records that a run erases at most
_PAUSE = dt.timedelta(hours=1)  # before a namespace is looked through again, once nothing is left to do in it
_ROLES = ("memory", *TURN_ROLES, "summary", "archive")


def is_wanted(config: MemoryConfig) -> bool:
    """Whether anything ever gets too old."""
    return config.retention_days is not None or config.turn_ttl_days is not None


def has_expired(record: MemoryRecord, now: dt.datetime) -> bool:
    """Whether a turn's own time is over."""
    return bool(record.role in TURN_ROLES and not _is_kept(record) and record.expires_at and record.expires_at <= now)


def is_old(record: MemoryRecord, config: MemoryConfig, now: dt.datetime) -> bool:
    """Whether a record is older than ``retention_days``: a fact since it was last said or edited, a turn since it was
    stored. A tombstone goes once it can't be brought back any more, too.
    """
    if config.retention_days is None or _is_kept(record) or record.role not in _ROLES:
        return False
    if record.status == "active" and (record.role not in ("memory", *TURN_ROLES) or record.extracted is False):
        return False
    limit = now - dt.timedelta(days=config.retention_days)
    if record.status == "deleted" and record.updated_at > now - dt.timedelta(hours=config.tombstone_hours):
        return False
    is_fact = record.role == "memory" and record.status == "active"
    return (record.updated_at if is_fact else record.created_at) <= limit


def _is_kept(record: MemoryRecord) -> bool:
    return record.pinned or record.manually_saved


@dataclass
class _Batch:
    """What a run takes: expired turns, what is old and in force, old tombstones; and how much is left for the next."""

    expired: list[MemoryRecord] = field(default_factory=list)
    old: list[MemoryRecord] = field(default_factory=list)
    retired: list[MemoryRecord] = field(default_factory=list)
    left: int = 0


def choose(records: Sequence[MemoryRecord], config: MemoryConfig, now: dt.datetime) -> _Batch:
    """The oldest of what is to go, `_BATCH` at most; expired turns first."""
    expired = [record for record in records if has_expired(record, now)]
    gone = {record.id for record in expired}
    aged = [record for record in records if record.id not in gone and is_old(record, config, now)]
    ranked = [*sorted(expired, key=_age), *sorted(aged, key=_age)]
    taken, batch = ranked[:_BATCH], _Batch(left=max(len(ranked) - _BATCH, 0))
    for record in taken:
        is_told = record.status == "active" and not is_withheld(record)
        kind = batch.expired if record.id in gone else batch.old if is_told else batch.retired
        kind.append(record)
    return batch


def _age(record: MemoryRecord) -> tuple[dt.datetime, str]:
    return record.created_at, record.id


def retain_steps(services: Services, scope: Scope) -> Steps[MemoryReport]:
    """Summarise and erase the oldest of what is to go. A namespace is looked through at most once an hour, as long as
    nothing is left over.
    """
    config, now, namespace = services.config, services.clock(), scope.namespace
    last = services.looked_through.get(namespace)
    if not is_wanted(config) or (last is not None and now - last < _PAUSE):
        return MemoryReport()
    records: list[MemoryRecord] = []
    for role in _ROLES:
        records += yield from list_records(namespace, {"role": role})
    batch = choose(records, config, now)
    warnings: list[str] = []
    told = yield from _tell(services, scope, batch.old, warnings)
    going = {record.id: record for record in (*batch.expired, *batch.retired, *told)}
    removed = yield from _erase(services, scope, batch, going, warnings)
    if not batch.left:
        services.looked_through[namespace] = now
    kept = len(batch.old) - len(told)
    counts = {"retired": removed, "retain_left": batch.left + kept}
    return MemoryReport(counts={name: n for name, n in counts.items() if n or name == "retired"}, warnings=warnings)


def _tell(
    services: Services, scope: Scope, old: Sequence[MemoryRecord], warnings: list[str]
) -> Steps[list[MemoryRecord]]:
    """Have archives tell what is old, a conversation at a time; gives what is told."""
    groups: dict[str | None, list[MemoryRecord]] = {}
    for record in old:
        groups.setdefault(record.thread_id, []).append(record)
    told: list[MemoryRecord] = []
    for thread_id, group in groups.items():
        facts = [record for record in group if record.role == "memory" or thread_id is None]
        own = scope.model_copy(update={"thread_id": thread_id})
        try:
            done = yield from archive_steps(services, own, extra=facts)
        except ConfigError:
            raise
        except Exception as error:
            if services.config.strict:
                raise
            logger.warning("memory: what is old of %r stays, because it can't be archived: %s", thread_id, error)
            warnings.append(f"{len(group)} old records stay, because they can't be archived: {error}")
        else:
            warnings += done.warnings
            told += group
    return told


class _NothingGoesError(Exception):
    """Nothing is to be erased, so nothing is touched."""


def _erase(
    services: Services, scope: Scope, batch: _Batch, going: Mapping[str, MemoryRecord], warnings: list[str]
) -> Steps[int]:
    """Erase what is still to go; gives how many records went. A store may hide expired turns, which go as well."""
    config, now = services.config, services.clock()

    def choose_again(held: Held) -> Erasure:
        found = _still(held, going, config, now)
        hidden = _hidden(held, going, now) if config.turn_ttl_days is not None else []
        room = max(_BATCH - len(going), 0)
        batch.left += max(len(hidden) - room, 0)
        found |= {record.id for record in hidden[:room]}
        if not found:
            raise _NothingGoesError
        return Erasure(frozenset(found))

    removed = 0
    if going or config.turn_ttl_days is not None:
        try:
            receipt = yield from erase_chosen(scope.namespace, choose_again)
        except _NothingGoesError:
            logger.debug("memory: nothing of %s is to be erased", scope.namespace)
        else:
            removed = sum(receipt.removed.get(role, 0) for role in _ROLES)
            audit("retain", by="retention", user_id=scope.user_id, space=scope.space, records=removed)
    if removed < len(going):
        warnings.append(f"{len(going) - removed} old records stay: they changed meanwhile, or can't be erased")
    return removed


def _still(held: Held, going: Mapping[str, MemoryRecord], config: MemoryConfig, now: dt.datetime) -> set[str]:
    """What goes of everything that is there now: what was pinned, edited or said again meanwhile stays."""
    current = {record.id: record for key, value in held if key in going and (record := _read(value)) is not None}
    return {
        id
        for id, record in current.items()
        if record.text == going[id].text and (has_expired(record, now) or is_old(record, config, now))
    }


def _hidden(held: Held, going: Mapping[str, MemoryRecord], now: dt.datetime) -> list[MemoryRecord]:
    """The expired turns beside those that go, the oldest first."""
    others = (_read(value) for key, value in held if key not in going and value.get("role") in TURN_ROLES)
    return sorted((record for record in others if record is not None and has_expired(record, now)), key=_age)


def _read(value: Mapping[str, Any]) -> MemoryRecord | None:
    try:
        return MemoryRecord.model_validate(value)
    except ValidationError:
        return None


def retain(services: Services, scope: Scope) -> MemoryReport:
    """Summarise and erase what is old, as `retain_steps` says."""
    return run_steps(retain_steps(services, scope), services, services.find_store())


async def aretain(services: Services, scope: Scope) -> MemoryReport:
    """`retain`, awaiting."""
    return await arun_steps(retain_steps(services, scope), services, services.find_store())


def retain_node(services: Services) -> Runnable[MemoryState, Update]:
    """Let go of what is old, once in a while."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": retain(services, services.find_scope(config))}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config):
            return {}
        return {"memory_report": await aretain(services, services.find_scope(config))}

    return stage("retain", services, run, arun)
