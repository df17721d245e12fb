"""Take out of a namespace's archives what is to be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langgraph.store.base import PutOp

from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.forgetting import says
from langmem_plus.remember.gist import without_statement
from langmem_plus.remember.points import amend, heard
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Steps, list_records, put
from langmem_plus.services import Services
from langmem_plus.speakers import Voice


def requested(requests: Sequence[Voice]) -> Callable[[str], bool]:
    """Whether a line says what somebody asked to forget."""

    def tells(line: str) -> bool:
        heard_of = [(heard(line, request.name), request.text) for request in requests]
        return not amend([line], (), requests) or any(own is not None and says(own, text) for own, text in heard_of)

    return tells


def amend_archives(services: Services, scope: Scope, tells: Callable[[str], bool]) -> Steps[None]:
    """Take out of every archive of the namespace what tells of something that is to be forgotten, and nothing else."""
    archives = yield from list_records(scope.namespace, {"role": "archive", "status": "active"})

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        now = services.clock()
        found = [(each, without_statement(each, tells, now)) for each in current.values() if each.status == "active"]
        return [put(scope.namespace, left) for each, left in found if left is not each]

    if archives:
        yield from rewrite(scope.namespace, [record.id for record in archives], change)
