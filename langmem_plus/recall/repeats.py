"""Saying a thing once: a fact beside its turn, and a reply that only repeats what was recalled for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from langmem_plus.fence import fold
from langmem_plus.recall.made import make_choice, with_scores
from langmem_plus.recall.overlap import coverage, spoken
from langmem_plus.recall.whole import corrects, drawn_from, says_more
from langmem_plus.records import TURN_ROLES, Choice, MemoryHit, MemoryRecord
from langmem_plus.speakers import key_of, name_of
from langmem_plus.text import tokens, words

# A turn is shown in place of the facts drawn from it when it answers better by so much (of the best hit's 1), and when
# none of them says what it says of the question: a fact that holds something else of a long turn doesn't stand for it.
TURN_MARGIN = 0.4
# A fact says it where it holds as much of the question's words, or where its best sentence is about as near to the
# question: the cosine may be lower by so much.
NEARLY = 0.1
# A turn of so many words at most that tells what none of its facts does is shown for them: the other half of what was
# said ("She goes to …") seldom shares a word with what is asked.
WHOLE_WORDS = 60
# By so much a fact comes to stand below the turn that it corrects.
BELOW = 1e-9
# A shorter text stands in many replies by chance.
_ECHO_WORDS = 3


def by_total(hit: MemoryHit) -> tuple[float, float, str]:
    """Sorts hits: the best total first, then the newer, then by id."""
    return -hit.scores["total"], -hit.record.said_at.timestamp(), hit.record.id


def left_out(hit: MemoryHit, reason: str) -> Choice:
    """Why a hit was dropped."""
    return make_choice(hit.record, reason, kept=False, scores=hit.scores)


Place: TypeAlias = tuple[tuple[str, ...], str]
"""A hit's namespace and its record's id."""


NOTHING: Mapping[Place, float] = MappingProxyType({})


def place_of(hit: MemoryHit) -> Place:
    """What tells a hit from all others."""
    return hit.namespace, hit.record.id


def without_repeats(
    hits: Sequence[MemoryHit],
    answers: Mapping[Place, float] | None = None,
    query: str = "",
    near: Mapping[Place, float] = NOTHING,
) -> tuple[list[MemoryHit], list[Choice]]:
    """A fact isn't shown beside the turn that it came from: the fact stays, at the better of both places, unless the
    turn answers better by more than `TURN_MARGIN`, or no fact says what the turn says of the question, or the turn is
    short and tells more than its facts; then the turn stands for its facts, but for those that somebody corrected since
    they were drawn from it. Takes and gives sorted hits.

    Args:
        hits: sorted by their totals.
        answers: how well each answers, by its place; None takes the totals.
        query: what was asked.
        near: how near the best sentence of each is to it, as cosines, where that is known.
    """
    wanted = set(tokens(query))
    if all(hit.record.role != "memory" for hit in hits):
        return list(hits), []
    turns = [hit for hit in hits if hit.record.role in TURN_ROLES]
    totals = {place_of(hit): hit.scores["total"] for hit in hits}
    answers = answers or dict(totals)
    dropped: dict[Place, Choice] = {}
    stands_for: dict[Place, Place] = {}
    told_by: dict[Place, MemoryHit] = {}
    families = _families(hits, turns)
    for turn in turns:
        here = place_of(turn)
        facts = {place: fact for place, fact in families.get(here, {}).items() if place not in dropped}
        if not facts:
            if (teller := _teller(wanted, turn, families.get(here, {}), told_by, near)) is not None:
                dropped[here] = left_out(turn, f"what it says of that is told by {teller.record.id}")
            continue
        whole = all(_is_told_by(fact.record, turn.record) for fact in facts.values()) and _is_whole(turn.record)
        saying = {} if whole else {place: fact for place, fact in facts.items() if _says_it(wanted, fact, turn, near)}
        best = next(iter(saying), None)
        if best is None or answers[here] - max(answers[place] for place in saying) > TURN_MARGIN:
            for place, fact in facts.items():
                if corrects(fact.record, turn.record):
                    continue
                dropped[place] = left_out(fact, f"the turn that it came from says more: {turn.record.id}")
                if whole:
                    totals[here] = max(totals[here], totals[place])
                    told_by[place] = turn
        else:
            totals[best] = max(totals[best], totals[here])
            dropped[here] = left_out(turn, f"a fact drawn from it is shown: {best[1]}")
            stands_for[best] = here
    for fact_place, turn_place in stands_for.items():
        # Another turn says more than the fact that stood for this one, and doesn't tell that fact itself.
        if fact_place in dropped and fact_place not in told_by and dropped.keys() >= families[turn_place].keys():
            dropped.pop(turn_place, None)
    return with_totals([hit for hit in hits if place_of(hit) not in dropped], totals), list(dropped.values())


def corrections(kept: Sequence[MemoryHit], others: Sequence[MemoryHit]) -> dict[Place, float]:
    """Those of the others that say what holds in the place of what a turn among the kept still says: the facts of it
    that were corrected by hand, and those that replaced one. Each with a total a little below the turn's: whoever is
    shown the turn is told that, too.
    """
    turns: dict[Place, list[MemoryHit]] = {}
    for turn in kept:
        for id in drawn_from(turn.record):
            turns.setdefault((turn.namespace, id), []).append(turn)
    found: dict[Place, float] = {}
    for fact in others if turns else ():
        told = [turn for id in fact.record.replaces for turn in turns.get((fact.namespace, id), ())]
        told += [turn for turn in turns.get(place_of(fact), ()) if corrects(fact.record, turn.record)]
        if told and fact.record.role == "memory":
            found[place_of(fact)] = max(turn.scores["total"] for turn in told) - BELOW
    return found


def with_corrections(
    kept: list[MemoryHit], refused: Sequence[tuple[MemoryHit, dict[str, float], str]]
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits, sorted, with what corrects a turn among them, however little it says of the question itself; and why
    the others were refused.
    """
    totals = corrections(kept, [hit for hit, _, _ in refused])
    beside = [
        with_scores(hit, {**scores, "total": totals[place_of(hit)]})
        for hit, scores, _ in refused
        if place_of(hit) in totals
    ]
    dropped = [
        make_choice(hit.record, reason, kept=False, scores=scores)
        for hit, scores, reason in refused
        if place_of(hit) not in totals
    ]
    return sorted([*kept, *beside], key=by_total) if beside else kept, dropped


def _families(hits: Sequence[MemoryHit], turns: Sequence[MemoryHit]) -> dict[Place, dict[Place, MemoryHit]]:
    """The facts that were drawn from each turn, by their places."""
    by_id = {(turn.namespace, name): turn for turn in turns for name in (*turn.record.source_ids, turn.record.id)}
    families: dict[Place, dict[Place, MemoryHit]] = {}
    for fact in hits:
        sources = [(fact.namespace, name) for name in fact.record.source_ids] if fact.record.role == "memory" else []
        for turn in (by_id[source] for source in sources if source in by_id):
            families.setdefault(place_of(turn), {})[place_of(fact)] = fact
    return families


def _says_it(wanted: set[str], fact: MemoryHit, turn: MemoryHit, near: Mapping[Place, float]) -> bool:
    """Whether a fact says what its turn says of the question."""
    if coverage(wanted, spoken(fact.record)) >= coverage(wanted, spoken(turn.record)):
        return True
    if says_more(turn.record) and not fact.record.pinned:
        return False  # the words that it lacks may be of what no fact tells
    fact_near, turn_near = near.get(place_of(fact)), near.get(place_of(turn))
    return fact_near is not None and turn_near is not None and fact_near >= turn_near - NEARLY


def _teller(
    wanted: set[str],
    turn: MemoryHit,
    facts: Mapping[Place, MemoryHit],
    told_by: Mapping[Place, MemoryHit],
    near: Mapping[Place, float],
) -> MemoryHit | None:
    """The turn that tells a fact of this one, too, where that fact says what this turn says of the question."""
    tellers = (
        told_by[place] for place, fact in facts.items() if place in told_by and _says_it(wanted, fact, turn, near)
    )
    return next(tellers, None)


def _is_whole(turn: MemoryRecord) -> bool:
    """Whether a turn that isn't long tells what none of its facts does."""
    return says_more(turn) and len(words(turn.text)) <= WHOLE_WORDS


def _is_told_by(fact: MemoryRecord, turn: MemoryRecord) -> bool:
    """Whether a turn tells a fact, and was the last to do so; what is pinned is shown itself."""
    is_last = bool(fact.source_ids) and fact.source_ids[-1] in (turn.id, *turn.source_ids)
    return is_last and fact.id in drawn_from(turn) and not fact.pinned


def with_totals(hits: Sequence[MemoryHit], totals: Mapping[Place, float]) -> list[MemoryHit]:
    """Sorted hits with new totals, by their places, sorted again where any differs."""
    if all(totals[place_of(hit)] == hit.scores["total"] for hit in hits):
        return list(hits)
    changed = [
        hit
        if (total := totals[place_of(hit)]) == hit.scores["total"]
        else with_scores(hit, {**hit.scores, "total": total})
        for hit in hits
    ]
    return sorted(changed, key=by_total)


def without_copies(hits: Sequence[MemoryHit]) -> tuple[list[MemoryHit], list[Choice]]:
    """What one speaker said in the same words more than once is shown once, at its best place. Takes and gives sorted
    hits.
    """
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    first: dict[tuple[str, str, str], MemoryHit] = {}
    for hit in hits:
        record = hit.record
        said = record.role, key_of(name_of(record)), _folded(record.text).strip()
        if said in first:
            dropped.append(left_out(hit, f"the same is shown: {first[said].record.id}"))
        else:
            first[said] = hit
            kept.append(hit)
    return kept, dropped


def without_echoes(hits: Sequence[MemoryHit]) -> tuple[list[MemoryHit], list[Choice]]:
    """A reply that repeats another hit word for word was itself answered from memory: it adds nothing beside that hit.

    Otherwise memories come back through the replies that they were quoted in, once more at every turn.
    """
    if all(hit.record.role != "assistant" for hit in hits):
        return list(hits), []
    sources = [hit for hit in hits if hit.record.role != "assistant"]
    texts = [_folded(hit.record.text) for hit in sources]
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for hit in hits:
        reply = _folded(hit.record.text) if hit.record.role == "assistant" else ""
        held = [place for place, text in enumerate(texts) if text in reply] if reply else []
        source = next((sources[place] for place in held if _is_said(sources[place])), None)
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
