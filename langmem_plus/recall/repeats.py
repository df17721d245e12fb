"""Saying a thing once: a fact beside its turn, and a reply that only repeats what was recalled for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from langmem_plus.fence import fold
from langmem_plus.records import TURN_ROLES, Choice, MemoryHit
from langmem_plus.text import words

# A turn is shown in place of the facts drawn from it only when it answers better by so much (of the best hit's 1): a
# fact that holds something else of a long turn doesn't stand for it.
TURN_MARGIN = 0.4
# A shorter text stands in many replies by chance.
_ECHO_WORDS = 3


def by_total(hit: MemoryHit) -> tuple[float, float, str]:
    """Sorts hits: the best total first, then the newer, then by id."""
    return -hit.scores["total"], -hit.record.said_at.timestamp(), hit.record.id


def left_out(hit: MemoryHit, reason: str) -> Choice:
    """Why a hit was dropped."""
    return Choice(id=hit.record.id, text=hit.record.text, kept=False, reason=reason, scores=hit.scores)


def without_repeats(
    hits: Sequence[MemoryHit], answers: Mapping[str, float] | None = None
) -> tuple[list[MemoryHit], list[Choice]]:
    """A fact isn't shown beside the turn that it came from: the fact stays, at the better of both places, unless the
    turn answers better by more than `TURN_MARGIN`; then the turn stands for its facts. Takes and gives sorted hits.

    Args:
        hits: sorted by their totals.
        answers: how well each answers, by its record's id; None takes the totals.
    """
    turns = [hit for hit in hits if hit.record.role in TURN_ROLES]
    by_id = {name: turn for turn in turns for name in (*turn.record.source_ids, turn.record.id)}
    totals = {hit.record.id: hit.scores["total"] for hit in hits}
    answers = answers or dict(totals)
    dropped: dict[str, Choice] = {}
    families: dict[str, list[MemoryHit]] = {}
    for fact in hits:
        if fact.record.role == "memory":
            for turn_id in {by_id[name].record.id for name in fact.record.source_ids if name in by_id}:
                families.setdefault(turn_id, []).append(fact)
    for turn in turns:
        facts = [fact for fact in families.get(turn.record.id, ()) if fact.record.id not in dropped]
        if not facts:
            continue
        best = facts[0]
        if answers[turn.record.id] - max(answers[fact.record.id] for fact in facts) > TURN_MARGIN:
            for fact in facts:
                dropped[fact.record.id] = left_out(fact, f"the turn that it came from says more: {turn.record.id}")
        else:
            totals[best.record.id] = max(totals[best.record.id], totals[turn.record.id])
            dropped[turn.record.id] = left_out(turn, f"a fact drawn from it is shown: {best.record.id}")
    return with_totals([hit for hit in hits if hit.record.id not in dropped], totals), list(dropped.values())


def with_totals(hits: Sequence[MemoryHit], totals: Mapping[str, float]) -> list[MemoryHit]:
    """Sorted hits with new totals, by their records' ids, sorted again where any differs."""
    if all(totals[hit.record.id] == hit.scores["total"] for hit in hits):
        return list(hits)
    changed = [
        hit
        if (total := totals[hit.record.id]) == hit.scores["total"]
        else hit.model_copy(update={"scores": {**hit.scores, "total": total}})
        for hit in hits
    ]
    return sorted(changed, key=by_total)


def without_echoes(hits: Sequence[MemoryHit]) -> tuple[list[MemoryHit], list[Choice]]:
    """A reply that repeats another hit word for word was itself answered from memory: it adds nothing beside that hit.

    Otherwise memories come back through the replies that they were quoted in, once more at every turn.
    """
    if all(hit.record.role != "assistant" for hit in hits):
        return list(hits), []
    sources = [(hit, _folded(hit.record.text)) for hit in hits if hit.record.role != "assistant"]
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for hit in hits:
        reply = _folded(hit.record.text) if hit.record.role == "assistant" else ""
        source = next((other for other, text in sources if reply and text in reply and _is_said(other)), None)
        if source is None:
            kept.append(hit)
        else:
            dropped.append(left_out(hit, f"it only repeats what is shown: {source.record.id}"))
    return kept, dropped


@functools.lru_cache(maxsize=20_000)
def _folded(text: str) -> str:
    return fold(text).casefold()


def _is_said(hit: MemoryHit) -> bool:
    return len(words(hit.record.text)) >= _ECHO_WORDS
