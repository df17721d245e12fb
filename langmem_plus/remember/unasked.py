"""Turns for which no model has to be asked: those that say nothing, and those that were said before, word for word."""

from __future__ import annotations

from langgraph.store.base import SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import FactKind
from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, record_id
from langmem_plus.remember.facts import Drawn, is_supported, make_fact
from langmem_plus.remember.sentences import own_words
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.remember.statements import find_statements, forget_requests
from langmem_plus.remember.steps import Batch, Namespace, Steps, get_records, list_records, read_records
from langmem_plus.remember.support import is_relative
from langmem_plus.services import Services
from langmem_plus.small_talk import find_small_talk
from langmem_plus.speakers import same_speaker
from langmem_plus.text import words

_MOST = 10  # earlier turns that are looked at, the most alike
_DONE = {"role": "user", "extracted": True, "status": "active"}


def says_nothing(turn: MemoryRecord, config: MemoryConfig) -> bool:
    """Whether a turn has no words of the user's own, or is small talk alone, by the cues that recall goes by, too."""
    text = own_words(turn.text)
    return not words(text) or find_small_talk(text, cues=config.small_talk_cues) is not None


def draw_repeated(
    turn: MemoryRecord, services: Services, namespace: Namespace
) -> Steps[tuple[Drawn, list[MemoryRecord]] | None]:
    """The facts of a turn that was said before, as they are known, and their records; None where it has to be read.

    It has to be, if it has a relative time or a request to forget, or if a fact that it gave isn't known any more, or
    was edited: then it says something new.
    """
    text = own_words(turn.text)
    if is_relative(text) or forget_requests(turn.text):
        return None
    twins = yield from _twins(turn, text, services, namespace)
    if not twins:
        return None
    keys = [record_id("fact", twin.id, ordinal) for twin in twins for ordinal in range(services.config.max_facts)]
    known = list((yield from get_records(namespace, keys)).values())
    if not known and find_statements(turn.text, services.config.max_facts):
        return None  # another record says it, under another key
    now = services.clock()
    for record in known:
        expired = record.has_ended(now)
        if record.status != "active" or expired or not is_supported(turn, record.text, services.config):
            return None
    known = known[: services.config.max_facts]
    return Drawn([_again(turn, place, record) for place, record in enumerate(known)]), known


def _twins(turn: MemoryRecord, text: str, services: Services, namespace: Namespace) -> Steps[list[MemoryRecord]]:
    """The turns that were worked off and say the same, by the same speaker."""
    (page,) = yield Batch([SearchOp(namespace, filter=dict(_DONE), limit=_MOST, query=text)])
    found = read_records(page, namespace)
    if len(page) == _MOST and any(item.score is None for item in page):  # the store ranks nothing
        found = yield from list_records(namespace, _DONE)
    distance = services.config.simhash_distance
    return [
        other
        for other in found
        if same_speaker(other, turn)
        and not other.metadata.get(FORGOTTEN)
        and near_duplicate(own_words(other.text), text, distance)
    ]


def _again(turn: MemoryRecord, ordinal: int, record: MemoryRecord) -> Fact:
    kind: FactKind = record.metadata.get("kind") or "fact"
    again = make_fact(
        turn,
        ordinal,
        record.text,
        kind,
        asked=record.manually_saved,
        confidence=record.metadata_confidence,
        tags=list(record.tags),
    )
    return again.model_copy(update={"importance": record.importance})
