"""Store the memories of another system as facts, so that the same import twice adds nothing."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph.store.base import PutOp, SearchOp

from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.importers.foreign import IMPORTED, REPEATS, Foreign, origin_of
from langmem_plus.importers.report import ImportReport, Remark
from langmem_plus.records import MemoryRecord, Scope, unique
from langmem_plus.remember.fact_records import retire, strengthen
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Batch, Namespace, Steps, get_records, put, read_records
from langmem_plus.services import Services
from langmem_plus.speakers import name_of

Progress = Callable[[int], None]
_AT_ONCE = 500  # memories that are decided and written in one batch
_LISTED = 20_000  # facts that are listed at a time, of which only the words are kept
_SKIPPED = "skipped"
_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)
_FACTS = {"role": "memory", "status": "active"}


@dataclass
class _Room:
    """A namespace that memories go to.

    Args:
        namespace: where it is.
        dry_run: whether nothing is written.
        texts: the ids of its active facts by their words; listed once they are needed.
        listed: whether they were.
        gone: words that a record said until this import brought it up to date.
        planned: in a dry run, the records that would have been written.
    """

    namespace: Namespace
    dry_run: bool
    texts: dict[str, str] = field(default_factory=dict)
    listed: bool = False
    gone: set[str] = field(default_factory=set)
    planned: dict[str, MemoryRecord] = field(default_factory=dict)


@dataclass
class _Outcome:
    """What one batch comes to: its records, what each memory became, and how the known texts change."""

    records: dict[str, MemoryRecord] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


def store_steps(
    services: Services,
    found: Iterable[Foreign],
    report: ImportReport,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Steps[ImportReport]:
    """Write what isn't there yet, and bring what an earlier import wrote to what the source says now.

    A record's id is made of the source's, so an import that is repeated, or taken up after an interruption, finds what
    it wrote. What the owner forgot since, or said anew, stays as it is; what is gone from the source stays here. Words
    that another active fact says are no second fact: that one gains the source, and a tombstone keeps the rest.

    Args:
        services: the settings and the clock.
        found: the memories, in the source's order.
        report: what reading them came to; it is added to.
        dry_run: count what would happen, and write nothing.
        progress: told how many memories are done, after each batch.

    Raises:
        ConflictError: others kept rewriting the same records.
    """
    report.dry_run = dry_run
    rooms: dict[tuple[str, str], list[Foreign]] = {}
    for each in _newest(found, report):
        rooms.setdefault((each.user_id, each.space), []).append(each)
    for (user_id, space), memories in rooms.items():
        room = _Room(Scope(user_id, space).namespace, dry_run)
        kinds: list[str] = []
        for start in range(0, len(memories), _AT_ONCE):
            chunk = memories[start : start + _AT_ONCE]
            kinds += yield from _store(services, room, chunk, report)
            if progress is not None:
                progress(len(chunk))
        yield from _again(services, room, memories, kinds, report)
        for kind, number in Counter(kinds).items():
            if kind != _SKIPPED:
                setattr(report, kind, getattr(report, kind) + number)
        report.users[user_id] = report.users.get(user_id, 0) + sum(kind != _SKIPPED for kind in kinds)
        bound = services.config.max_entries
        if len(room.texts) > bound:
            report.warnings.append(
                f"the space {space!r} of {user_id!r} holds {len(room.texts)} facts, and max_entries is {bound}: the "
                "weakest are evicted after the next conversation. Raise max_entries before it."
            )
    return report


def _newest(found: Iterable[Foreign], report: ImportReport) -> list[Foreign]:
    """The memories without those whose id stands again in the source, and says something else there: the newest is
    taken, the last where no time tells. Else each import would turn the record to and fro.
    """
    memories = list(found)
    last: dict[tuple[str, str, str], tuple[dt.datetime, int]] = {}
    for place, each in enumerate(memories):
        name, age = (each.user_id, each.space, each.key), (each.updated_at or each.created_at or _NEVER, place)
        last[name] = max(last.get(name, age), age)
    kept = []
    for each in memories:
        other = memories[last[each.user_id, each.space, each.key][1]]
        if other is each or _says_as_much(each, other):
            kept.append(each)
            continue
        reason = f"its id stands there again, and says something newer: {other.place}"
        report.skipped.append(Remark(place=each.place, id=each.id or None, reason=reason))
    return kept


def _says_as_much(one: Foreign, other: Foreign) -> bool:
    try:
        return one.fingerprint == other.fingerprint
    except InvalidValueError:  # it is told where it is to be stored
        return one.text == other.text


def _again(
    services: Services, room: _Room, memories: Sequence[Foreign], kinds: list[str], report: ImportReport
) -> Steps[None]:
    """Words that came to nothing, since a record said them that says something else by now, speak for themselves."""
    open_places = [
        place
        for place, each in enumerate(memories)
        if kinds[place] in ("known", "repeated") and _fold(each.text) in room.gone
    ]
    if open_places:
        new = yield from _store(services, room, [memories[place] for place in open_places], report)
        for place, kind in zip(open_places, new, strict=True):
            kinds[place] = kinds[place] if kind == "known" else kind


def _store(services: Services, room: _Room, chunk: Sequence[Foreign], report: ImportReport) -> Steps[list[str]]:
    """One batch; where the store refuses it because of one value, one by one, so that the others are stored. Gives
    what each memory became.
    """
    try:
        outcome = yield from _write(services, room, chunk)
    except ConfigError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        if len(chunk) == 1:
            reason = str(error) if isinstance(error, InvalidValueError) else f"{type(error).__name__}: {error}"
            report.skipped.append(Remark(place=chunk[0].place, id=chunk[0].id, reason=reason))
            return [_SKIPPED]
        kinds: list[str] = []
        for each in chunk:
            kinds += yield from _store(services, room, [each], report)
        return kinds
    for text in outcome.gone:
        room.texts.pop(text, None)
    room.texts.update(outcome.texts)
    room.gone |= outcome.gone
    if room.dry_run:
        room.planned.update(outcome.records)
    return outcome.kinds


def _write(services: Services, room: _Room, chunk: Sequence[Foreign]) -> Steps[_Outcome]:
    keys = [each.key for each in chunk]
    there = {**(yield from get_records(room.namespace, keys)), **room.planned}
    if all(_is_known(each, there.get(each.key)) for each in chunk):
        return _Outcome(kinds=["known"] * len(chunk), texts={_fold(each.text): each.key for each in chunk})
    twins = [str(origin_of(record)[REPEATS]) for record in there.values() if REPEATS in origin_of(record)]
    if not room.listed:
        yield from _list_texts(room)
    same = [room.texts[text] for text in (_fold(each.text) for each in chunk) if text in room.texts]
    outcome = _Outcome()

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal outcome
        outcome = _decide(services, chunk, {**current, **room.planned}, room.texts)
        return [] if room.dry_run else [put(room.namespace, record) for record in outcome.records.values()]

    yield from rewrite(room.namespace, [*keys, *twins, *same], change)
    return outcome


def _is_known(each: Foreign, record: MemoryRecord | None) -> bool:
    """Whether a record says what its source says, so that there is nothing to do."""
    return record is not None and record.status == "active" and origin_of(record).get("fingerprint") == each.fingerprint


def _list_texts(room: _Room) -> Steps[None]:
    """Learn what the active facts say."""
    offset, listed = 0, _LISTED
    while listed == _LISTED:
        (page,) = yield Batch([SearchOp(room.namespace, filter=_FACTS, limit=_LISTED, offset=offset)])
        facts = read_records(page, room.namespace)
        room.texts |= {
            _fold(fact.text): fact.id for fact in facts if not name_of(fact)
        }  # what a named speaker said stays
        listed = len(page)
        offset += listed
    room.listed = True


def _decide(
    services: Services, chunk: Sequence[Foreign], current: Mapping[str, MemoryRecord], texts: Mapping[str, str]
) -> _Outcome:
    """What becomes of each memory of a batch, as the records are now and after those before it in the batch."""
    out, now = _Outcome(), services.clock()

    def find(key: str) -> MemoryRecord | None:
        return out.records.get(key, current.get(key))

    for each in chunk:
        old, folded = find(each.key), _fold(each.text)
        equal = old is not None and origin_of(old).get("fingerprint") == each.fingerprint
        repeats = old is not None and REPEATS in origin_of(old)
        if old is not None and equal and not _left_alone(old, folded, find):
            out.kinds.append("known" if old.status == "active" or repeats else "retired")
            if old.status == "active":  # another import may have stored it since the facts were listed
                out.texts.setdefault(folded, old.id)
            continue
        if old is not None and old.status != "active" and not repeats:
            out.kinds.append("retired")
            continue
        kind, fresh = "stored", each.to_record(now)
        if old is not None and old.status == "active":
            kind, fresh = "updated", _renewed(old, fresh)
            out.gone.add(_fold(old.text))
            out.texts.pop(_fold(old.text), None)
        target = find(out.texts.get(folded) or texts.get(folded, ""))
        if target is not None and target.id != fresh.id and _says(target, folded, now):
            out.records[target.id] = strengthen(target, fresh, now)
            out.records[fresh.id] = _repeat(fresh, target, services)
            kind = "repeated"
        else:
            out.records[fresh.id] = fresh
            out.texts[folded] = fresh.id
        out.kinds.append(kind)
    return out


def _says(record: MemoryRecord, folded: str, now: dt.datetime) -> bool:
    """Whether a record is in force and says these words."""
    lives = record.expires_at is None or record.expires_at > now
    return lives and record.status == "active" and _fold(record.text) == folded


def _left_alone(old: MemoryRecord, folded: str, find: Callable[[str], MemoryRecord | None]) -> bool:
    """Whether the record that said the same words says something else since, so that nobody says them any more."""
    twin = find(str(origin_of(old).get(REPEATS)))
    speaks = twin is not None and (twin.status == "active" or REPEATS in origin_of(twin))
    return twin is not None and speaks and _fold(twin.text) != folded


def _renewed(old: MemoryRecord, fresh: MemoryRecord) -> MemoryRecord:
    """A record of an earlier import as the source says it now; what was decided here stays: pins, counts, wishes."""
    kept = {
        "created_at": old.created_at,
        "importance": old.importance,
        "pinned": old.pinned or fresh.pinned,
        "manually_saved": old.manually_saved,
        "source_ids": unique([*fresh.source_ids, *old.source_ids]),
        "repeat_count": old.repeat_count,
        "replaces": old.replaces,
        "last_scores": old.last_scores,
    }
    return fresh.model_copy(update=kept)


def _repeat(fresh: MemoryRecord, target: MemoryRecord, services: Services) -> MemoryRecord:
    """The tombstone of a memory that says what another record says: it keeps what came with it."""
    gone = retire(fresh, services.clock(), f"says the same as {target.id}")
    metadata = {**gone.metadata, IMPORTED: {**origin_of(gone), REPEATS: target.id}}
    return gone.model_copy(update={"metadata": metadata})


def _fold(text: str) -> str:
    """The words of a text, whatever the white space between them."""
    return " ".join(text.split())
