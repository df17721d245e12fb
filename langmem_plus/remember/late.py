"""A yes or no that comes late: another writer worked the turn off meanwhile, and left what was asked about pending.

The answer then goes to that pending record, as `approve` or `reject` would give it, if it is what the person saw: it
says the same, was drawn from the same turn, and an approval retires nothing that they weren't shown.
"""

from __future__ import annotations

from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.answer import APPROVED, Answer
from langmem_plus.remember.approve import approve_steps, reject_steps
from langmem_plus.remember.enact import LATE, Decided, Done, Writing
from langmem_plus.remember.review import WAITS, Waiting, forgets, targets_of
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.remember.steps import Steps, get_records, list_records
from langmem_plus.services import Services

_BY = "resume"


def answer_late_steps(services: Services, scope: Scope, decided: Decided, answer: Answer, done: Done) -> Steps[None]:
    """Bring an answer to what it came too late for; what it reaches counts as done."""
    missed = False
    for writing in decided.writings:
        for each in writing.waiting:
            verdict = answer.of(each.key)
            if each.key not in done.late or verdict == WAITS:
                continue
            record = yield from _find(services, writing, each, approved=verdict == APPROVED)
            if record is None:
                missed = True
                continue
            give = approve_steps if verdict == APPROVED else reject_steps
            try:
                yield from give(services, scope, record.id, by=_BY)
            except (ConflictError, NotFoundError) as error:
                done.report.warnings.append(str(error))
            else:
                _count(done, each, verdict)
    if not missed:
        done.report.notes.pop(LATE, None)


def _count(done: Done, each: Waiting, verdict: str) -> None:
    if verdict == APPROVED:
        done.decisions += each.decisions
    else:
        done.left += [(decision, verdict) for decision in each.decisions]


def _find(services: Services, writing: Writing, each: Waiting, *, approved: bool) -> Steps[MemoryRecord | None]:
    """The pending record of what a person was asked about; None where there is none."""
    known = (yield from get_records(writing.namespace, [each.key])).get(each.key)
    if each.fact is None:
        return known if known is not None and known.status == "pending" and forgets(known) else None
    others = yield from list_records(writing.namespace, {"role": "memory", "status": "pending"})
    distance, shown = services.config.simhash_distance, set(each.targets)
    for record in [*([known] if known is not None and known.status == "pending" else []), *others]:
        is_same = each.fact.source_id in record.source_ids and near_duplicate(record.text, each.fact.text, distance)
        if is_same and not forgets(record) and (not approved or targets_of(record).keys() <= shown):
            return record
    return None
