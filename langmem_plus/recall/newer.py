"""Of two hits that say the like of what is asked, the newer one comes first: "I work at a bakery", "… at the port".

Which of them still holds can't be told from their words. But who asks wants what was said last, and the other stays
behind it. Only hits that are shown together are compared, by the sentence of each that is nearest to the question.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langmem_plus.providers import TextBits
from langmem_plus.providers.token_bits import similarities
from langmem_plus.recall.repeats import Place, place_of, with_totals
from langmem_plus.records import NEWER_THAN, TURN_ROLES, MemoryHit
from langmem_plus.speakers import key_of, name_of

# Of the best hits so many are compared.
COMPARED = 10
# Two sentences are alike from this cosine on, and each must be as near to the question. Tuned on pairs of statements of
# which the newer one holds (56 % of these came first without it, 79 % with it) and on LoCoMo, where it costs nothing
# among the first five and 0.7 points at the first place.
ALIKE, NEAR = 0.5, 0.45
_NONE = np.empty((0, 0), np.uint8)
# By so much a newer hit comes to stand above an older one.
_STEP = 1e-9


@dataclass(frozen=True)
class _Said:
    """What a hit says of the question: who (an assistant or not, by which name), when, where, and the signs of its
    nearest sentence.
    """

    hit: MemoryHit
    who: tuple[bool, str]
    day: dt.date
    thread: object
    signs: npt.NDArray[np.float32]


def newer_first(
    hits: Sequence[MemoryHit], asked: npt.NDArray[np.float32], bits: Mapping[Place, TextBits | None]
) -> list[MemoryHit]:
    """The hits, sorted as they come, with each newer one raised above the older ones that it may replace.

    Args:
        hits: sorted by their totals.
        asked: the question's unit vector, shape (dims,).
        bits: of the hits that came without their own, by their places.
    """
    shown = list(hits[:COMPARED])
    said = _read(shown, asked, [hit.bits or bits.get(place_of(hit)) for hit in shown])
    return _raised(hits, [(new.hit, old.hit) for old in said for new in said if _may_replace(new, old)])


def linked_first(
    hits: Sequence[MemoryHit], candidates: Sequence[MemoryHit] = (), answering: Sequence[MemoryHit] | None = None
) -> list[MemoryHit]:
    """The hits, sorted as they come, with each fact that a model called the newer one raised above the hits that say
    the older: that fact, and the turn that it was drawn from.

    Args:
        hits: sorted by their totals.
        candidates: what they were chosen from; the turn that a fact among these was drawn from is raised as it would
            be, since it may be shown in its place.
        answering: those of the candidates that say something of the question. What is told by a fact that isn't among
            them, of another one that isn't either, has nothing to do with it. None for all of them.
    """
    facts = {hit.record.id for hit in (candidates if answering is None else answering) if hit.record.role == "memory"}
    pairs: list[tuple[MemoryHit, MemoryHit]] = []
    for fact in candidates or hits:
        older = fact.record.metadata.get(NEWER_THAN)
        if isinstance(older, list):
            newer, names = {fact.record.id, *(fact.record.source_ids if candidates else ())}, set(map(str, older))
            if candidates and fact.record.id not in facts and facts.isdisjoint(names):
                continue
            above = [hit for hit in hits if hit.record.id in newer]
            below = [hit for hit in hits if hit.record.id not in newer and not _names(hit).isdisjoint(names)]
            # What was said again since is no longer the older one.
            pairs += [(hit, each) for hit in above for each in below if each.record.said_at <= hit.record.said_at]
    return _raised(hits, pairs)


def _raised(hits: Sequence[MemoryHit], pairs: Sequence[tuple[MemoryHit, MemoryHit]]) -> list[MemoryHit]:
    """The hits with the first of each pair above the second, also along chains; what a circle asks for is left undone
    somewhere.
    """
    if not pairs:
        return list(hits)
    totals = {place_of(hit): hit.scores["total"] for hit in hits}
    for _ in range(len({place_of(hit) for pair in pairs for hit in pair})):  # no chain is longer
        below = [(newer, older) for newer, older in pairs if totals[place_of(newer)] <= totals[place_of(older)]]
        if not below:
            break
        for newer, older in below:
            totals[place_of(newer)] = totals[place_of(older)] + _STEP
    return with_totals(hits, totals)


def _names(hit: MemoryHit) -> set[str]:
    return {hit.record.id, *(hit.record.source_ids if hit.record.role in TURN_ROLES else ())}


def _read(hits: Sequence[MemoryHit], asked: npt.NDArray[np.float32], bits: Sequence[TextBits | None]) -> list[_Said]:
    """What those of the hits say that are near to the question by one of their sentences."""
    sentences = [rows.sentences if rows is not None else _NONE for rows in bits]
    cosines = similarities(asked[None], [row for rows in sentences for row in rows[:, None]])[:, 0].tolist()
    said: list[_Said] = []
    start = 0
    for hit, rows in zip(hits, sentences, strict=True):
        own, start = cosines[start : start + len(rows)], start + len(rows)
        near = max(own, default=-1.0)
        if near >= NEAR:
            said.append(_said(hit, rows[own.index(near)]))
    return said


def _said(hit: MemoryHit, sentence: npt.NDArray[np.uint8]) -> _Said:
    record = hit.record
    who = record.role == "assistant", key_of(name_of(record))
    thread = (hit.namespace, record.thread_id) if record.thread_id else place_of(hit)
    return _Said(hit, who, record.said_at.date(), thread, np.unpackbits(sentence).astype(np.float32) * 2 - 1)


def _may_replace(newer: _Said, older: _Said) -> bool:
    if newer.day <= older.day or newer.thread == older.thread or newer.who != older.who:
        return False
    # The angle between two vectors is to a half turn as the share of their signs that differ.
    differ = (1 - float(newer.signs @ older.signs) / len(newer.signs)) / 2
    return math.cos(math.pi * differ) >= ALIKE
