"""What enrichment found of itself, apart from what a person, a caller or a model said: in a record's metadata."""

from __future__ import annotations

from collections.abc import Collection

from langmem_plus.records import PROPOSED, MemoryRecord

ENTITIES = "entities"  # the names in a fact
FOUND = "found_tags"  # the tags that nobody gave


def given_alone(repeat: MemoryRecord, known: MemoryRecord) -> MemoryRecord:
    """A repeat without what was found in it, where the known record has tags or was enriched before: whoever took a tag
    away doesn't want it back.
    """
    if FOUND not in repeat.metadata or not (known.tags or FOUND in known.metadata):
        return repeat
    metadata = {name: value for name, value in repeat.metadata.items() if name not in (ENTITIES, FOUND, PROPOSED)}
    return repeat.model_copy(update={"tags": [], "metadata": metadata})


def without_proposals(record: MemoryRecord, gone: Collection[str]) -> MemoryRecord:
    """The record without the tags that were proposed by facts of which none is left; itself where it has none of them.

    What has no neighbour left that says it would tell what was erased.
    """
    proposed = record.metadata.get(PROPOSED)
    if not isinstance(proposed, dict):
        return record
    held = {tag: [id for id in ids if id not in gone] for tag, ids in proposed.items() if isinstance(ids, list)}
    left = {tag: ids for tag, ids in held.items() if ids}
    if left == proposed:
        return record
    return record.model_copy(update={"metadata": {**record.metadata, PROPOSED: left}})
