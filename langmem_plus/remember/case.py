"""One thing that waits and all that its answer touches: what is written once it is approved or rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph.store.base import PutOp

from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.records import TURN_ROLES, Decision, Fact, MemoryRecord, format_time
from langmem_plus.remember.archive_words import find_said, sharing
from langmem_plus.remember.enact import find_replies
from langmem_plus.remember.fact_records import retire, strengthen
from langmem_plus.remember.gist import without_statement
from langmem_plus.remember.neighbours import find_neighbours
from langmem_plus.remember.points import amend, read_points, write_points
from langmem_plus.remember.review import (
    APPROVED_AT,
    CARRIED_OUT,
    REJECTED,
    TURNED_DOWN,
    forgets,
    note,
    review_of,
    settled,
    stands_for,
    targets_of,
)
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.simhash import near_duplicate, simhash
from langmem_plus.remember.steps import Namespace, Steps, get_records, put
from langmem_plus.remember.tombstones import EMPTIED, as_deleted, list_returning, may_return
from langmem_plus.remember.traces import says_it
from langmem_plus.remember.whose import Speakers
from langmem_plus.remember.witnesses import find_witnesses, withheld
from langmem_plus.services import Services
from langmem_plus.shown import shown
from langmem_plus.speakers import Voice, same_speaker
from langmem_plus.text import fingerprint

KNOWN = "its owner approved it, and it was known already"


@dataclass
class Case:
    """One thing that waits, and all that its answer touches.

    Attributes:
        services: the settings.
        namespace: where it is.
        record: the pending record as it was read.
        twins: the ids of facts in force that say the same.
        turns: the ids of the turns that it comes from, and of the replies to them.
        witnesses: the ids of the turns through which what is forgotten would come back.
        told: the ids of the namespace's summaries and archives.
        speakers: who speaks in the namespace.
        said: what was said in it.
        heirs: the ids of what stands in the place of what it would retire, or stood there.
        changed: whether the answer changed something.
        done: what became of the fact then: added, updated, deleted, repeated or rejected.
    """

    services: Services
    namespace: Namespace
    record: MemoryRecord
    twins: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    witnesses: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    speakers: Speakers = field(default_factory=Speakers)
    said: Sequence[MemoryRecord] = ()
    heirs: list[str] = field(default_factory=list)
    changed: bool = False
    done: str = ""

    @property
    def keys(self) -> list[str]:
        """The ids of everything that the answer depends on."""
        own = [self.record.id, *targets_of(self.record)]
        return [*own, *self.heirs, *self.twins, *self.turns, *self.witnesses, *self.told]

    def approve(self, current: Mapping[str, MemoryRecord], *, beside: bool) -> tuple[MemoryRecord, list[MemoryRecord]]:
        """What is in force then, and all that is to be written."""
        record, self.changed = self._now(current), False
        if record.status != "pending" and not (record.status == "active" and review_of(record) is not None):
            return _answered(record), []
        if not record.text.strip():
            raise ConflictError(
                f"memory {record.id} says nothing, so it can't be approved: reject it, or write what holds."
            )
        kept = _objections(record, current, {record.id, *self.twins})
        if kept and not beside:
            raise ConflictError(_explain(record, kept, current))
        self.changed, now = True, self.services.clock()
        gone = self._retired(record, kept, current)
        if forgets(record):
            left, self.done = retire(settled(record), now, CARRIED_OUT), "deleted"
            retired = [retire(each, now, self._reason(record)) for each in gone]
            others = [*withheld(current, self.witnesses if gone else ()).values()]
            others += self._untold(current, gone)
            return left, [left, *retired, *others]
        left, own = self._in_force(record, gone, current)
        self.done = "updated" if gone else "added" if left.id == record.id else "repeated"
        retired = [retire(settled(each), now, self._reason(record), left.id) for each in gone]
        decision = Decision(event="UPDATE", fact=Fact(text=left.text, source_id="", ordinal=0, metadata=left.metadata))
        summaries = self._summaries(current, lambda points: amend(points, [decision], [])) if gone else []
        return left, [*own, *retired, *self._noted(current, None), *summaries]

    def reject(self, current: Mapping[str, MemoryRecord]) -> tuple[MemoryRecord, list[MemoryRecord]]:
        """The tombstone, and all that is to be written."""
        record, self.changed = self._now(current), False
        if record.status == "active":
            raise ConflictError(f"memory {record.id} is in force, so it can't be rejected: `forget` retires it.")
        if record.status != "pending":
            return _rejected(record), []
        self.changed, self.done = True, "rejected"
        left = retire(record, self.services.clock(), TURNED_DOWN)
        summaries = [] if forgets(record) else self._untold(current, [record])
        return left, [left, *self._noted(current, REJECTED), *summaries]

    def _now(self, current: Mapping[str, MemoryRecord]) -> MemoryRecord:
        record = current.get(self.record.id)
        if record is None:
            raise NotFoundError(f"memory {self.record.id} was deleted meanwhile: there is nothing to answer any more.")
        return record

    def _retired(
        self, record: MemoryRecord, kept: Mapping[str, str], current: Mapping[str, MemoryRecord]
    ) -> list[MemoryRecord]:
        """What an approval retires: what it said, or what stands there now."""
        own, found = {record.id, *self.twins}, dict[str, MemoryRecord]()
        for id in targets_of(record):
            if id in current and id not in kept:
                standing = current[id] if forgets(record) else stands_for(current[id], current)
                if standing.id == id or standing.id not in own:
                    found[standing.id] = standing
        return [each for each in found.values() if each.status in ("active", "pending")]

    def _reason(self, record: MemoryRecord) -> str:
        return str((review_of(record) or {}).get("reason") or "its owner approved it")

    def _in_force(
        self, record: MemoryRecord, gone: Sequence[MemoryRecord], current: Mapping[str, MemoryRecord]
    ) -> tuple[MemoryRecord, list[MemoryRecord]]:
        """The fact that holds: the new one, or one that says the same already; and what is to be written for it."""
        now, free = self.services.clock(), settled(record)
        update = {
            "status": "active",
            "metadata": {**free.metadata, APPROVED_AT: format_time(now)},
            "updated_at": now,
            "simhash": simhash(record.text),
            "replaces": [each.id for each in gone],
            "manually_saved": record.manually_saved or any(each.manually_saved for each in gone),
        }
        new = free.model_copy(update=update)
        twin = next((current[each] for each in self.twins if each in current), None)
        if twin is None or twin.status != "active" or twin.id in {each.id for each in gone}:
            return new, [new]
        left = strengthen(twin, new, now)
        return left, [left, retire(free, now, KNOWN, left.id)]

    def _noted(self, current: Mapping[str, MemoryRecord], state: str | None) -> list[MemoryRecord]:
        """The turns that it comes from: recalled again, or, once it is rejected, never."""
        turns = [current[each] for each in self.turns if each in current]
        return [note(turn, self.record.id, state) for turn in turns if turn.role in TURN_ROLES]

    def _summaries(
        self, current: Mapping[str, MemoryRecord], left: Callable[[list[str]], list[str]]
    ) -> list[MemoryRecord]:
        now, changed = self.services.clock(), list[MemoryRecord]()
        for summary in self._telling(current, "summary"):
            points = read_points(summary)
            kept = left(points)
            if kept == points:
                continue
            text = write_points(kept)
            gone = retire(summary, now, EMPTIED)
            left_of_it = summary.model_copy(update={"text": text, "updated_at": now}) if kept else gone
            changed.append(as_deleted(left_of_it, summary))
        return changed

    def _untold(self, current: Mapping[str, MemoryRecord], gone: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """The summaries and archives that tell of something, without it."""
        archives = self._telling(current, "archive")
        now, said = self.services.clock(), [Voice.of(each) for each in gone]
        about = gone if forgets(self.record) else ()
        left = [
            (each, without_statement(each, lambda line: self._tells(line, said), now, shares=self._shares(each, about)))
            for each in archives
        ]
        changed = [as_deleted(kept, each) for each, kept in left if kept is not each]
        return [
            *self._summaries(current, lambda points: [each for each in points if not self._tells(each, said)]),
            *changed,
        ]

    def _shares(self, archive: MemoryRecord, gone: Sequence[MemoryRecord]) -> Callable[[str], bool]:
        return sharing(archive, gone, self.said, self.witnesses)

    def _tells(self, line: str, said: Sequence[Voice]) -> bool:
        return any(self.speakers.tells(line, each, says_it) for each in said)

    def _telling(self, current: Mapping[str, MemoryRecord], role: str) -> list[MemoryRecord]:
        found = (current[each] for each in self.told if each in current)
        return [each for each in found if each.role == role and may_return(each)]


def find_heirs(namespace: Namespace, records: Mapping[str, MemoryRecord]) -> Steps[dict[str, MemoryRecord]]:
    """What came in the place of those of the records that were replaced, and in the place of that, by id."""
    found, seen, newest = dict[str, MemoryRecord](), set(records), list(records.values())
    while wanted := {each.replaced_by for each in newest if each.replaced_by and each.status == "superseded"} - seen:
        near = yield from get_records(namespace, sorted(wanted))
        seen |= wanted
        found |= near
        newest = list(near.values())
    return found


def open_case(services: Services, namespace: Namespace, key: str) -> Steps[Case]:
    """Read all that an answer touches."""
    record = (yield from get_records(namespace, [key])).get(key)
    if record is None:
        raise NotFoundError(f"there is no record {shown(key)}; `pending` lists what waits.")
    case = Case(services, namespace, record)
    if record.status not in ("pending", "active") or review_of(record) is None:
        return case
    targets = yield from get_records(namespace, targets_of(record))
    case.heirs = list((yield from find_heirs(namespace, targets)))
    case.told = [each.id for each in (yield from list_returning(namespace, "summary", "archive"))]
    case.said = (yield from find_said(namespace)) if case.told else []
    case.speakers = Speakers(case.said)
    if forgets(record):
        decisions = [Decision(event="DELETE", target=each) for each in targets]
        case.witnesses = yield from find_witnesses(namespace, decisions, [], targets.values())
        return case
    sources = yield from get_records(namespace, record.source_ids)
    turns = [each for each in sources.values() if each.role in TURN_ROLES]
    case.turns = [*(turn.id for turn in turns), *(yield from find_replies(namespace, turns))]
    fact = Fact(text=record.text, source_id="", ordinal=0, metadata=settled(record).metadata)
    near = (yield from find_neighbours(namespace, [fact], services)).get(fact.key, [])
    distance = services.config.simhash_distance
    case.twins = [
        each.id
        for each in near
        if each.id != key and same_speaker(each, record) and near_duplicate(record.text, each.text, distance)
    ]
    return case


def rewrite_case(
    case: Case, answer: Callable[[Mapping[str, MemoryRecord]], tuple[MemoryRecord, list[MemoryRecord]]]
) -> Steps[MemoryRecord]:
    """Write what an answer to a case says, made of the records as they are; gives the record that is left."""
    left = case.record

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal left
        left, written = answer(current)
        return [put(case.namespace, record) for record in {record.id: record for record in written}.values()]

    yield from rewrite(case.namespace, case.keys, change)
    return left


def _answered(record: MemoryRecord) -> MemoryRecord:
    """A record that doesn't wait any more, as an approval that comes again gives it.

    Raises:
        ConflictError: it never waited, was rejected, or isn't in force any more.
    """
    if record.status == "active":
        if APPROVED_AT in record.metadata:
            return record
        raise ConflictError(f"memory {record.id} is in force, and waits for no answer: `pending` lists what does.")
    if record.metadata.get("reason") in (CARRIED_OUT, KNOWN):
        return record
    if record.status == "superseded":
        raise ConflictError(f"memory {record.id} was replaced by {record.replaced_by}: there is nothing to approve.")
    raise ConflictError(f"memory {record.id} was rejected or forgotten: `undelete` it first, or `add` it anew.")


def _rejected(record: MemoryRecord) -> MemoryRecord:
    """A record that doesn't wait any more, as a rejection that comes again gives it.

    Raises:
        ConflictError: it wasn't rejected, and yet isn't in force.
    """
    if record.metadata.get("reason") == TURNED_DOWN:
        return record
    what = f"was replaced by {record.replaced_by}" if record.replaced_by else "is forgotten already"
    raise ConflictError(f"memory {record.id} {what}, and waits for no answer: `pending` lists what does.")


def _objections(record: MemoryRecord, current: Mapping[str, MemoryRecord], own: set[str]) -> dict[str, str]:
    """Why what a record would retire has to stay, by id; what is gone anyway is no reason against forgetting it."""
    found: dict[str, str] = {}
    targets, asks_to_forget = targets_of(record), forgets(record)
    for id, text in targets.items():
        target = current.get(id)
        why = None
        if target is None or target.status in ("superseded", "deleted"):
            turned_down = target is not None and target.metadata.get("reason") == TURNED_DOWN
            by_own = target is not None and target.replaced_by in own | targets.keys()
            if not (asks_to_forget or turned_down or by_own):
                why = _missing(record, target, current, own)
        elif target.pinned:
            why = "is pinned"
        elif fingerprint(target.text) != text:
            why = f"was edited, and says {target.text!r} now"
        if why is not None:
            found[id] = why
    return found


def _missing(
    record: MemoryRecord, target: MemoryRecord | None, current: Mapping[str, MemoryRecord], own: set[str]
) -> str | None:
    """Why what stands in the place of a memory that is gone has to stay; None where it may go in its stead."""
    if target is None or target.status == "deleted":
        return "was forgotten or erased"
    now = stands_for(target, current)
    if now.id in own:
        return None
    if now is target or now.status != "active":
        return f"was replaced by {target.replaced_by}"
    why = "is pinned" if now.pinned else "was said later" if now.said_at > record.said_at else None
    return f"was replaced by {now.id} ({shown(now.text)}), which {why}" if why else None


def _explain(record: MemoryRecord, kept: Mapping[str, str], current: Mapping[str, MemoryRecord]) -> str:
    reasons = "; ".join(
        f"{id} ({shown(current[id].text)}) {why}" if id in current else f"{id} {why}" for id, why in kept.items()
    )
    if forgets(record):
        return (
            f"{record.id} asks to forget a memory that has changed meanwhile: {reasons}. If it is meant, `forget` "
            "that memory by its id (unpin it first where it is pinned), and reject this."
        )
    return (
        f"{record.id} ({shown(record.text)}) would replace a memory that has changed meanwhile: {reasons}. Approve it "
        "with beside=True (--beside) to keep both, reject it, or mend that memory first and approve again."
    )
