"""Let go of what is old: expired turns, and, after ``retention_days``, unpinned facts and turns, for good.

What is old and in force, or was replaced, goes only when the archive of its conversation, or of the space where it has
none, tells it, as that stands when it goes; what no archive tells stays. A run takes the oldest, so many at a time, in
the space and in the user's global one. Pinned and manually saved records, summaries and archives in force, and what
waits, for extraction or for its owner, are never taken.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure, Held
from langmem_plus.errors import ConfigError
from langmem_plus.records import (
    FORGOTTEN,
    GLOBAL_SPACE,
    REVIEW,
    TURN_ROLES,
    MemoryRecord,
    MemoryReport,
    Scope,
    archive_key,
)
from langmem_plus.remember.approve import finish_steps
from langmem_plus.remember.archive import archive_steps
from langmem_plus.remember.removing import erase_chosen
from langmem_plus.remember.review import is_withheld, targets_of
from langmem_plus.remember.steps import Namespace, Steps, arun_steps, list_records, run_steps
from langmem_plus.remember.telling import Telling, Told, is_out, kept_out
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
    """Whether a turn's own time is over; while it waits for extraction, it isn't."""
    return record.role in TURN_ROLES and record.has_ended(now) and not _is_unread(record)


@dataclass(frozen=True)
class Pending:
    """What waits for its owner, by id, and what it would retire: what is named there, or came in the place of that."""

    ids: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()

    @classmethod
    def of(cls, records: Iterable[MemoryRecord], replaced_by: Mapping[str, Any]) -> Pending:
        """Those of the records that wait; ``replaced_by`` tells of each id what replaced it."""
        waiting = [record for record in records if record.status == "pending"]
        targets, newest = set[str](), {target for record in waiting for target in targets_of(record)}
        while newest := newest - targets:
            targets |= newest
            newest = {str(replaced_by[each]) for each in newest if replaced_by.get(each)}
        return cls(frozenset(record.id for record in waiting), frozenset(targets))


def is_old(record: MemoryRecord, config: MemoryConfig, now: dt.datetime, pending: Pending) -> bool:
    """Whether a record is older than ``retention_days``, and nothing waits for it: a fact since it was last said or
    edited, a turn since it was stored, a tombstone since it became one, which also goes no earlier than it can't be
    brought back any more.
    """
    if config.retention_days is None or _is_kept(record) or record.role not in _ROLES or _waits(record, pending):
        return False
    if record.status == "active" and record.role not in ("memory", *TURN_ROLES):
        return False
    limit = now - dt.timedelta(days=config.retention_days)
    if record.status == "deleted" and record.updated_at > now - dt.timedelta(hours=config.tombstone_hours):
        return False
    is_turn = record.role in TURN_ROLES and record.status == "active"
    return (record.created_at if is_turn else record.updated_at) <= limit


def _waits(record: MemoryRecord, pending: Pending) -> bool:
    """Whether a record waits for extraction, or for its owner's word; what a turn notes of a word that was given, or
    that nobody is asked for any more, is no reason to keep it.
    """
    if record.role not in TURN_ROLES:
        return record.status == "pending" or record.id in pending.targets
    noted = record.metadata.get(REVIEW)
    is_noted = not pending.ids.isdisjoint(noted) if isinstance(noted, dict) else bool(noted)
    return _is_unread(record) or (record.status == "active" and is_noted)


def _is_unread(record: MemoryRecord) -> bool:
    return record.status == "active" and record.extracted is False


def _is_kept(record: MemoryRecord) -> bool:
    return record.pinned or record.manually_saved


@dataclass
class _Batch:
    """What a run takes: expired turns, what an archive has to tell first, what it needn't; how much is left for the
    next, and how much stays because its owner forgot the archive that had read it.
    """

    expired: list[MemoryRecord] = field(default_factory=list)
    old: list[MemoryRecord] = field(default_factory=list)
    retired: list[MemoryRecord] = field(default_factory=list)
    left: int = 0
    untold: int = 0


def choose(records: Sequence[MemoryRecord], config: MemoryConfig, now: dt.datetime) -> _Batch:
    """The oldest of what is to go, `_BATCH` at most; expired turns first."""
    expired = [record for record in records if has_expired(record, now)]
    known = {record.id: record for record in records}
    pending = Pending.of(records, {record.id: record.replaced_by for record in records})
    archives = [record for record in records if record.role == "archive"]
    forgotten = [archive for archive in archives if archive.status == "deleted"]
    out = {id for archive in archives for id in kept_out(archive)}
    spared = {record.id for record in expired}
    # As long as there is anything that a forgotten archive had read, it keeps that out of later ones.
    spared |= {archive.id for archive in forgotten if not known.keys().isdisjoint(kept_out(archive))}
    aged = [record for record in records if record.id not in spared and is_old(record, config, now, pending)]
    silent = [record for record in aged if is_out(record, out) and _is_to_be_told(record, known)]
    gone, unheard = {record.id for record in expired}, {record.id for record in silent}
    ranked = [*sorted(expired, key=_age), *sorted((r for r in aged if r.id not in unheard), key=_age)]
    taken, batch = ranked[:_BATCH], _Batch(left=max(len(ranked) - _BATCH, 0), untold=len(silent))
    for record in taken:
        is_told = _is_to_be_told(record, known)
        kind = batch.expired if record.id in gone else batch.old if is_told else batch.retired
        kind.append(record)
    return batch


def _is_to_be_told(record: MemoryRecord, known: Mapping[str, MemoryRecord]) -> bool:
    """Whether an archive has to tell it first: it is in force, or something else that its owner didn't forget is in
    its place. What they asked to forget isn't told.
    """
    if record.role in TURN_ROLES:
        return record.status == "active" and not is_withheld(record)
    if record.role != "memory" or record.status not in ("active", "superseded"):
        return False
    seen = {record.id}
    last: MemoryRecord | None = record
    while last is not None and last.status == "superseded" and last.replaced_by not in seen:
        seen.add(last.replaced_by or "")
        last = known.get(last.replaced_by or "")
    sources = [known[source] for source in record.source_ids if source in known]
    is_hidden = record.status == "superseded" and any(source.metadata.get(FORGOTTEN) for source in sources)
    return not is_hidden and (last is None or last.status != "deleted")


def _age(record: MemoryRecord) -> tuple[dt.datetime, str]:
    return record.created_at, record.id


def retain_steps(services: Services, scope: Scope) -> Steps[MemoryReport]:
    """Archive and erase the oldest of what is to go, in the space and in the user's global one. Each is looked through
    at most once an hour, as long as nothing is left over.
    """
    report = MemoryReport()
    for namespace in scope.namespaces:
        space = scope.space if namespace == scope.namespace else GLOBAL_SPACE
        found = yield from _retain(services, scope.model_copy(update={"space": space}))
        for name, number in report.counts.items():
            found.counts[name] = found.counts.get(name, 0) + number
        report = report.merge(found)
    return report


def _retain(services: Services, scope: Scope) -> Steps[MemoryReport]:
    config, now, namespace = services.config, services.clock(), scope.namespace
    last = services.looked_through.get(namespace)
    # A clock that was ahead and was set back is no reason to wait until then.
    if not is_wanted(config) or (last is not None and dt.timedelta(0) <= now - last < _PAUSE):
        return MemoryReport()
    records = yield from _look_through(namespace)
    if (yield from finish_steps(services, namespace, records)):  # what was approved by hand replaces something
        records = yield from _look_through(namespace)
    batch = choose(records, config, now)
    warnings: list[str] = []
    told = yield from _tell(services, scope, batch.old, warnings)
    removed = yield from _erase(services, scope, batch, told, warnings)
    if batch.untold:
        warnings.append(f"{batch.untold} old records stay, because no archive tells them")
    if not batch.left:
        services.looked_through[namespace] = now
    counts = {"retired": removed, "retain_left": batch.left + len(batch.old) - len(told) + batch.untold}
    return MemoryReport(counts={name: n for name, n in counts.items() if n or name == "retired"}, warnings=warnings)


def _look_through(namespace: Namespace) -> Steps[list[MemoryRecord]]:
    found: list[MemoryRecord] = []
    for role in _ROLES:
        found += yield from list_records(namespace, {"role": role})
    return found


def _tell(
    services: Services, scope: Scope, old: Sequence[MemoryRecord], warnings: list[str]
) -> Steps[list[MemoryRecord]]:
    """Have archives tell what is old, a conversation at a time; gives what may go, if they do."""
    told: list[MemoryRecord] = []
    for thread_id, group in _by_thread(old).items():
        own = scope.model_copy(update={"thread_id": thread_id})
        try:
            done = yield from archive_steps(services, own, extra=group)
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


def _by_thread(records: Sequence[MemoryRecord]) -> dict[str | None, list[MemoryRecord]]:
    groups: dict[str | None, list[MemoryRecord]] = {}
    for record in records:
        groups.setdefault(record.thread_id, []).append(record)
    return groups


class _NothingGoesError(Exception):
    """Nothing is to be erased, so nothing is touched."""


def _erase(
    services: Services, scope: Scope, batch: _Batch, told: Sequence[MemoryRecord], warnings: list[str]
) -> Steps[int]:
    """Erase what is still to go, and is told where it has to be; gives how many records went. A store may hide expired
    turns, which go as well.
    """
    config, now = services.config, services.clock()
    going = {record.id: record for record in (*batch.expired, *batch.retired, *told)}
    untold: set[str] = set()

    def choose_again(held: Held) -> Erasure:
        found = _still(held, going, config, now)
        untold.clear()
        untold.update(_find_untold(held, [record for record in told if record.id in found], scope))
        found -= untold
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
    batch.untold += len(untold)
    if removed + len(untold) < len(going):
        stay = len(going) - removed - len(untold)
        warnings.append(f"{stay} old records stay: they changed meanwhile, or can't be erased")
    return removed


def _find_untold(held: Held, told: Sequence[MemoryRecord], scope: Scope) -> set[str]:
    """The ids of what the archives that stand now don't tell."""
    archives = {key: _read(value) for key, value in held if value.get("role") == "archive"}
    untold: set[str] = set()
    for thread_id, group in _by_thread(told).items():
        archive = archives.get(archive_key(scope.model_copy(update={"thread_id": thread_id})))
        untold.update(record.id for record in Telling(Told.by(archive), group).untold())
    return untold


def _still(held: Held, going: Mapping[str, MemoryRecord], config: MemoryConfig, now: dt.datetime) -> set[str]:
    """What goes of everything that is there now: what was pinned, edited or said again meanwhile stays, and so does
    what something that waits would retire by now.
    """
    current = {record.id: record for key, value in held if key in going and (record := _read(value)) is not None}
    waiting = (_read(value) for _, value in held if value.get("status") == "pending")
    known = (record for record in waiting if record is not None)
    pending = Pending.of(known, {key: value.get("replaced_by") for key, value in held})
    return {
        id
        for id, record in current.items()
        if record.text == going[id].text and (has_expired(record, now) or is_old(record, config, now, pending))
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
