"""Keep the archive of a conversation: one record a thread, found in other threads of the same user.

It is made when the thread is compressed or cleared, and when its end is told (`MemoryClient.archive`); what came since
is merged into it. Rules make it at once, so that nothing waits for a model; where there is one, it makes the archive
anew in the background. An archive that its owner forgot takes in nothing of what it had read.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import PutOp

from langmem_plus.errors import ConfigError, ConflictError
from langmem_plus.prompts import Archived, render_archive
from langmem_plus.records import TURN_ROLES, MemoryRecord, MemoryReport, Scope, archive_key, unique
from langmem_plus.remember.archive_material import Material, find_replaced, is_readable, look_up, unread_of
from langmem_plus.remember.beside import bare
from langmem_plus.remember.facts import in_order
from langmem_plus.remember.gist import (
    LASTING,
    UNREAD,
    Gist,
    gist_by_answer,
    gist_by_rules,
    lasting,
    marks_of,
    read_gist,
    tags_of,
)
from langmem_plus.remember.points import read_points
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Ask, Steps, arun_steps, get_records, put, run_steps
from langmem_plus.remember.summarize import conversation, is_due
from langmem_plus.remember.telling import KEPT_OUT, Telling, Told, apart, dated, joined, kept_out, not_lasting, taken_in
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

_TRIES = 3


@dataclass
class Archiving:
    """What became of a conversation's archive: the record in force, whether it was written now, and warnings."""

    record: MemoryRecord | None = None
    written: bool = False
    warnings: list[str] = field(default_factory=list)


def archive_steps(
    services: Services, scope: Scope, *, ask: bool = True, extra: Sequence[MemoryRecord] = ()
) -> Steps[Archiving]:
    """Merge what the archive of the scope's thread hasn't read.

    Args:
        services: the settings, and the model that makes it; where that fails, rules do.
        scope: whose memory, and which thread; without a thread, the archive of the space.
        ask: whether a model may be asked; rules take no time.
        extra: facts and turns that the archive must tell line by line, because they are to go for good.

    Raises:
        ConflictError: others kept rewriting what was to be archived; nothing was written.
    """
    done = Archiving()
    model = ask and services.model is not None
    for attempt in range(_TRIES):
        found = yield from look_up(services, scope, extra)
        pending = [*found.again, *found.turns] if model else list(found.turns)
        new = not_lasting(extra, found.known)
        if not pending and not new:
            done.record = found.old
            return done
        # Whoever writes faster than a model thinks isn't waited for.
        asked = bool(pending) or any(each.role == "memory" for each in new)
        making = _Making(services, scope, found, new, ask=model and asked and attempt == 0)
        making.replaced = yield from find_replaced(scope.namespace, extra)
        record = yield from making.make(done.warnings)
        if record is None:
            done.record = found.old
            return done
        if (yield from _write(services, scope, found, [*pending, *new, *making.used], record)):
            done.record, done.written = record, True
            return done
    raise ConflictError(
        f"the conversation {scope.thread_id!r} was to be archived, and others rewrote it {_TRIES} times meanwhile; it "
        "stays as it is, and the next try archives it."
    )


class _Making:
    """One archive that is being made."""

    def __init__(
        self, services: Services, scope: Scope, found: Material, going: Sequence[MemoryRecord], *, ask: bool
    ) -> None:
        self.services, self.config, self.scope, self.found = services, services.config, scope, found
        self.going = going  # what has to be told line by line
        self.facts = [record for record in going if record.role == "memory"]
        self.replaced: Sequence[MemoryRecord] = ()  # facts, of which it tells until when they held
        self.ask = ask
        self.used: list[MemoryRecord] = list(found.facts)  # what it tells beside what it has read

    def make(self, warnings: list[str]) -> Steps[MemoryRecord | None]:
        """The record as it is to be written; None where nothing of it stays."""
        previous = apart(dated(read_gist(self.found.old), self.replaced), self.kept)
        asked = False
        gist = previous
        if self.ask:
            try:
                answer, asked = (yield from self._asked(previous)), True
                # What rules have read meanwhile, the model has read itself now.
                before = apart(previous, Telling(Told(()), self.found.again).of(previous))
                gist = taken_in(answer, before) if answer else answer
            except ConfigError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the model raised, rules can do it, and a later run asks again
                logger.warning("memory: the model can't archive %r, so rules do: %s", self.scope.thread_id, error)
                warnings.append(f"rules archived the conversation: {type(error).__name__}: {error}")
            if not asked and not (self.found.turns or self.going):
                return None  # rules have read it already
        if not asked or not gist:
            gist, asked = self._by_rules(previous), False
        gist = dated(gist, self.replaced)
        kept = self._kept(gist)
        whole = joined(gist, kept)
        return make_archive(whole, kept, self, asked=asked) if whole else None

    @property
    def kept(self) -> Gist:
        """The lines that last already."""
        return dated(lasting(self.found.old), self.replaced)

    def _kept(self, gist: Gist) -> Gist:
        """The lines that last from now on: those that did, and those that tell what is to go."""
        telling = Telling(Told(joined(gist, self.kept).lines), self.going)
        lines, told = telling.missing(), telling.of(gist)
        last = Gist((*told.told, *lines), decisions=told.decisions, questions=told.questions)
        return joined(self.kept, dated(last, self.replaced))

    def _asked(self, previous: Gist) -> Steps[Gist]:
        """By the model, so many turns at a time as a summary reads."""
        limit, items = self.config.summary_source_max_turns, self.config.summary_max_items
        turns = in_order([*self.found.again, *self.found.turns])
        facts = [fact.text for fact in (*self.found.facts, *self.facts)][-limit:]
        gist = joined(previous, Gist(self.kept.told[-items:], (), (), self.kept.decisions[-items:]))
        for start in range(0, max(len(turns), 1), limit):
            lines = conversation(turns[start : start + limit], self.config)
            request = render_archive(gist.lines, facts, lines, max_items=items)
            answer = yield Ask(request, Archived)
            said = "\n".join([*gist.lines, *facts, *(turn.text for turn in turns), *(who for who, _ in lines)])
            gist = gist_by_answer(answer, gist, said, items, self.config.simhash_distance)
        return gist

    def _by_rules(self, previous: Gist) -> Gist:
        config, turns = self.config, self.found.turns
        points: list[str] = []
        if self.services.model is not None and self.found.summary is not None:  # a model's tells it better than rules
            self.used.append(self.found.summary)
            points = [bare(point) for point in read_points(self.found.summary)]
            told = set(self.found.summary.source_ids)
            turns = [turn for turn in turns if turn.id not in told]
        facts = [*self.found.facts, *self.facts]
        items, distance = config.summary_max_items, config.simhash_distance
        gist = gist_by_rules(previous, turns, items, distance, summary=points, facts=facts)
        if turns is self.found.turns:
            return gist
        # What was decided and asked is looked for in all of it.
        whole = gist_by_rules(previous, self.found.turns, items, distance)
        return Gist(gist.told or whole.told, whole.topics, whole.names, whole.decisions, whole.questions)


def make_archive(gist: Gist, kept: Gist, making: _Making, *, asked: bool) -> MemoryRecord:
    """The record of an archive that has read some more; ``kept`` are the lines that last; ``asked``, a model did."""
    found, scope, services = making.found, making.scope, making.services
    old, known, now = found.old, found.known, services.clock()
    metadata = {name: value for name, value in (old.metadata if old else {}).items() if name not in (UNREAD, LASTING)}
    if out := kept_out(known):
        metadata[KEPT_OUT] = sorted(out)
    said = sorted(turn.said_at for turn in (*found.turns, *making.going))
    first, last = _times(metadata, said)
    unread = [] if asked or services.model is None else [*unread_of(old), *(turn.id for turn in found.turns)]
    counted = metadata.get("message_count")
    metadata |= {
        **gist.metadata,
        "message_count": (counted if isinstance(counted, int) else 0) + len(found.turns),
        "first_said_at": first,
        "last_said_at": last,
    }
    metadata |= marks_of(kept, gist)
    if unread:
        metadata[UNREAD] = unread
    covered = [*(t.created_at for t in found.turns), *([known.covers_until] if known and known.covers_until else [])]
    update = {
        "text": gist.text,
        "updated_at": now,
        "observed_at": max([*said, *([old.observed_at] if old and old.observed_at else [])], default=now),
        "covers_until": max(covered, default=None),
        "source_ids": unique([*(known.source_ids if known else ()), *(r.id for r in (*found.turns, *making.going))]),
        "tags": tags_of(gist),
        "metadata": metadata,
    }
    if old is not None:
        return old.model_copy(update=update)
    return MemoryRecord(
        id=archive_key(scope),
        role="archive",
        user_id=scope.user_id,
        space=scope.space,
        thread_id=scope.thread_id,
        agent_id=scope.agent_id,
        created_at=now,
        summary_kind="archive",
        **update,
    )


def _times(metadata: dict[str, object], said: Sequence[dt.datetime]) -> tuple[str | None, str | None]:
    """When the first and the last of it were said, as text."""
    known = [str(metadata[name]) for name in ("first_said_at", "last_said_at") if metadata.get(name)]
    times = sorted([*known, *(time.isoformat() for time in said)])
    return (times[0], times[-1]) if times else (None, None)


def _write(
    services: Services, scope: Scope, found: Material, read: Sequence[MemoryRecord], record: MemoryRecord
) -> Steps[bool]:
    """Write the archive, unless what it was made of was edited, forgotten or erased meanwhile; gives whether it was."""
    key, namespace = record.id, scope.namespace
    written = False

    def is_unchanged(each: MemoryRecord, current: MemoryRecord | None) -> bool:
        if current is None or current.text != each.text:
            return False
        return is_readable(current, services.clock()) if each.role in TURN_ROLES else current.status == each.status

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal written
        written = current.get(key) == found.known and all(is_unchanged(each, current.get(each.id)) for each in read)
        return [put(namespace, record)] if written else []

    yield from rewrite(namespace, unique([key, *(each.id for each in read)]), change)
    return written


def archive(services: Services, scope: Scope, *, ask: bool = True) -> Archiving:
    """Archive the scope's thread, as `archive_steps` says."""
    return run_steps(archive_steps(services, scope, ask=ask), services, services.find_store())


async def aarchive(services: Services, scope: Scope, *, ask: bool = True) -> Archiving:
    """`archive`, awaiting."""
    return await arun_steps(archive_steps(services, scope, ask=ask), services, services.find_store())


# in the background


def refine_steps(services: Services, scope: Scope) -> Steps[MemoryReport]:
    """Have the model read what only rules have read of the thread's archive, once that is as much as a summary waits
    for; the first time at once.
    """
    key = archive_key(scope)
    if services.model is None or scope.thread_id is None:
        return MemoryReport()
    record = (yield from get_records(scope.namespace, [key])).get(key)
    unread = unread_of(record)
    if record is None or not unread:
        return MemoryReport(counts={"archives": 0})
    waiting = (yield from get_records(scope.namespace, unread)).values()
    counted = record.metadata.get("message_count")
    is_new = len(unread) >= (counted if isinstance(counted, int) else 0)
    if not is_new and not is_due([turn for turn in waiting if is_readable(turn, services.clock())], services.config):
        return MemoryReport(counts={"archives": 0})
    done = yield from archive_steps(services, scope)
    return MemoryReport(counts={"archives": int(done.written)}, warnings=done.warnings)


def archive_node(services: Services) -> Runnable[MemoryState, Update]:
    """Have a model make the archive that rules made when the thread was compressed."""

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config) or services.model is None:
            return {}
        steps = refine_steps(services, services.find_scope(config))
        return {"memory_report": run_steps(steps, services, services.find_store())}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(config) or services.model is None:
            return {}
        steps = refine_steps(services, services.find_scope(config))
        return {"memory_report": await arun_steps(steps, services, services.find_store())}

    return stage("archive", services, run, arun)
