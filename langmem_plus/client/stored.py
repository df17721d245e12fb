"""Records out of a store's answers: listed newest first, found by an id or the beginning of one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import GetOp, Item, Op, SearchOp

from langmem_plus.errors import InvalidValueError, NotFoundError
from langmem_plus.labels import read_id
from langmem_plus.recall import RecordFilter, read_item
from langmem_plus.records import ROLES, MemoryRecord, Scope
from langmem_plus.shown import shown

EVERYTHING = 2**31 - 1  # a limit that no namespace reaches and that every database takes


def listing(scope: Scope, thread_id: str | None, role: str | None) -> list[Op]:
    """The searches that list a space: what one of them finds, the others don't.

    Raises:
        InvalidValueError: there is no such role.
        ConfigError: the thread's id is no text, number or UUID.
    """
    thread_id = None if thread_id is None else read_id("thread_id", thread_id)
    if role is not None and role not in ROLES:
        raise InvalidValueError(f"there is no role {shown(role)}; choose from {', '.join(ROLES)}.")
    asked: list[dict[str, Any]] = [{} if role is None else {"role": role}]
    if role == "memory":  # values of other programs have neither role nor status, and are facts
        asked = [{"role": role, "status": "active"}, {"status": {"$ne": "active"}}]
    thread = {} if thread_id is None else {"thread_id": thread_id}
    return [SearchOp(scope.namespace, filter={**thread, **each} or None, limit=EVERYTHING) for each in asked]


def chosen(
    results: Sequence[Any],
    scope: Scope,
    now: dt.datetime,
    limit: int | None,
    filter: RecordFilter | None = None,
    role: str | None = None,
) -> list[MemoryRecord]:
    """The active, unexpired records of a listing that meet a filter and have a role, the newest words first.

    Raises:
        InvalidValueError: the limit is no number of records.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidValueError(f"limit={shown(limit)}: give a number of records, 0 or more, or None for all.")
    records = [record for record in _read(results, scope) if record.status == "active"]
    records = [record for record in records if role in (None, record.role)]
    records = records if filter is None else [record for record in records if filter.matches(record)]
    alive = [record for record in records if not record.has_ended(now)]
    return sorted(alive, key=_place, reverse=True)[:limit]


def _place(record: MemoryRecord) -> tuple[Any, ...]:
    places = (record.metadata.get(name) for name in ("turn", "position"))
    return (record.said_at, record.created_at, *(place if isinstance(place, int) else 0 for place in places))


def _read(results: Sequence[Any], scope: Scope) -> list[MemoryRecord]:
    """The records in the answers of a batch: of gets and of searches, without those of namespaces further down."""
    items: list[Item] = [item for found in results for item in (found if isinstance(found, list) else [found]) if item]
    records = [read_item(item, scope) for item in items if item.namespace in scope.namespaces]
    return [record for record in records if record is not None]


def check_id(id: str) -> str:
    """The id of a record, or the beginning of one.

    Raises:
        InvalidValueError: it is no text.
    """
    if isinstance(id, str):
        return id
    own = f"; {shown(type(id).__name__)} has it in its .id" if isinstance(getattr(id, "id", None), str) else ""
    raise InvalidValueError(f"the id {shown(id)} is no text: give a record's id, or the beginning of it{own}.")


def gets(scope: Scope, id: str) -> list[Op]:
    """The gets that look for an id in the space and in ``global``.

    Raises:
        InvalidValueError: the id is no text.
    """
    return [GetOp(namespace, check_id(id)) for namespace in scope.namespaces]


def everything(scope: Scope) -> list[Op]:
    """The searches that list the space and ``global``."""
    return [SearchOp(namespace, limit=EVERYTHING) for namespace in scope.namespaces]


def exact(results: Sequence[Any], scope: Scope) -> MemoryRecord | None:
    """The record that the gets found, in the space first."""
    return next(iter(_read(results, scope)), None)


def begins_with(results: Sequence[Any], scope: Scope, id: str) -> MemoryRecord:
    """The one record whose id begins so.

    Raises:
        NotFoundError: there is none, or there are several.
    """
    found = [record for record in _read(results, scope) if id and record.id.startswith(id)]
    if len(found) == 1:
        return found[0]
    where = f"in the space {scope.space!r} of {scope.user_id!r}"
    if not found:
        raise NotFoundError(f"there is no record {shown(id)} {where}; `list` shows what there is.")
    raise NotFoundError(f"{len(found)} records begin with {shown(id)} {where}; give more of the id.")
