"""Have archives tell again of a fact that was forgotten and is brought back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langmem_plus.records import MemoryRecord, Scope, archive_key, unique
from langmem_plus.remember.gist import Gist, parts_left, read_gist, tags_of
from langmem_plus.remember.steps import Namespace, Steps, get_records
from langmem_plus.remember.summarize import is_read
from langmem_plus.remember.telling import Told
from langmem_plus.remember.tombstones import EMPTIED
from langmem_plus.services import Services
from langmem_plus.speakers import Voice


def find_archives(scope: Scope, namespace: Namespace, fact: MemoryRecord, turns: Sequence[str]) -> Steps[list[str]]:
    """The ids of the archives of the conversations in which a fact was said; turns are those that say it."""
    if namespace != scope.namespace:
        return []  # what holds everywhere is of no conversation
    said = (yield from get_records(namespace, list(turns))).values()
    threads = unique(thread for thread in (fact.thread_id, *(turn.thread_id for turn in said)) if thread is not None)
    return [archive_key(scope, thread) for thread in threads]


def retold(
    services: Services,
    current: Mapping[str, MemoryRecord],
    archives: Sequence[str],
    fact: MemoryRecord,
    turns: Sequence[MemoryRecord],
) -> list[MemoryRecord]:
    """The archives that have read a turn that says a fact and don't tell it, with a line that does: those in force, and
    those of which nothing was left, which come back with it.
    """
    found: list[MemoryRecord] = []
    line = " ".join(Voice.of(fact).shown.split())
    for archive in (current[id] for id in archives if id in current):
        has_read = any(turn.thread_id == archive.thread_id and is_read(turn, archive) for turn in turns)
        is_emptied = archive.status == "deleted" and archive.metadata.get("reason") == EMPTIED
        is_silent = archive.status == "active" and not Told.by(archive).tells(line)
        if not has_read or not (is_emptied or is_silent):
            continue
        gist = Gist() if is_emptied else read_gist(archive)
        gist = replace(gist, told=(*gist.told, line))
        metadata = {name: value for name, value in parts_left(archive, gist).items() if name != "reason"}
        changed = {"text": gist.text, "tags": tags_of(gist), "metadata": metadata}
        found.append(archive.model_copy(update={**changed, "status": "active", "updated_at": services.clock()}))
    return found
