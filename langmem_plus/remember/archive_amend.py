"""Take out of a namespace's archives and summaries what is to be forgotten, and of its summaries what was replaced."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from langgraph.store.base import PutOp

from langmem_plus.records import Decision, MemoryRecord, Scope
from langmem_plus.remember.archive_words import find_said, sharing
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.gist import without_statement
from langmem_plus.remember.points import amend, read_points, write_points
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Steps, put
from langmem_plus.remember.tombstones import EMPTIED, as_deleted, list_returning, may_return
from langmem_plus.remember.whose import Speakers
from langmem_plus.remember.witnesses import says
from langmem_plus.services import Services
from langmem_plus.speakers import Voice


def requested(requests: Sequence[Voice], speakers: Speakers | None = None) -> Callable[[str], bool]:
    """Whether a line says what its speaker asked to forget."""
    known = speakers or Speakers()

    def tells(line: str) -> bool:
        heard_of = [(known.heard(line, request.name), request) for request in requests]
        return any(
            own is not None and (says(own, request.text) or not amend([line], (), [request]))
            for own, request in heard_of
        )

    return tells


def amend_archives(
    services: Services, scope: Scope, requests: Sequence[Voice], decisions: Sequence[Decision], asking: Sequence[str]
) -> Steps[None]:
    """Take out of every archive of the namespace what somebody asked to forget, and nothing else.

    Args:
        services: the clock.
        scope: whose memory.
        requests: what was asked to be forgotten, and by whom.
        decisions: what was decided; what it forgets leaves the archives of its conversations in whatever words.
        asking: the ids of the turns that ask.
    """
    archives = yield from list_returning(scope.namespace, "archive")
    said = (yield from find_said(scope.namespace)) if archives else []
    tells = requested(requests, Speakers(said))
    targets = {decision.target for decision in decisions if decision.event == "DELETE"}
    gone = [record for record in said if record.id in targets and record.status == "deleted"]

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        now, found = services.clock(), [each for each in current.values() if may_return(each)]
        left = [without_statement(each, tells, now, shares=sharing(each, gone, said, asking)) for each in found]
        return [
            put(scope.namespace, as_deleted(kept, each))
            for kept, each in zip(left, found, strict=True)
            if kept is not each
        ]

    if archives:
        yield from rewrite(scope.namespace, [record.id for record in archives], change)


def amend_summaries(
    services: Services, scope: Scope, decisions: Sequence[Decision], requests: Sequence[Voice]
) -> Steps[None]:
    """Take out of every summary of the namespace what was replaced, and what somebody asked to forget."""
    if not requests and not any(decision.event == "UPDATE" for decision in decisions):
        return
    summaries = yield from list_returning(scope.namespace, "summary")

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        found = [_amended(record, decisions, requests, services.clock()) for record in current.values()]
        return [put(scope.namespace, record) for record in found if record is not None]

    yield from rewrite(scope.namespace, [record.id for record in summaries], change)


def _amended(
    record: MemoryRecord, decisions: Sequence[Decision], requests: Sequence[Voice], now: dt.datetime
) -> MemoryRecord | None:
    """The summary without what is gone; None where it holds nothing of it."""
    points = read_points(record)
    left = amend(points, decisions, requests)
    if left == points or not may_return(record):
        return None
    if not left:
        return as_deleted(retire(record, now, EMPTIED), record)
    return as_deleted(record.model_copy(update={"text": write_points(left), "updated_at": now}), record)
