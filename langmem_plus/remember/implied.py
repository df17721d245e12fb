"""Requests to forget in a form that may be talk: "forget the garage code", "forget Tom's birthday", "forget where Nora
lives".

Such a sentence is a request only where exactly one thing that is known of the asker is meant by it. Else it is an
ordinary message, and nobody is warned: "forget the meeting" is mostly said of a meeting. What is meant goes as if it
had been said whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, Scope
from langmem_plus.remember.decide import BY_NAME, FORGET, is_request
from langmem_plus.remember.facts import in_order, insert_requests, make_fact, named, place_of
from langmem_plus.remember.implied_forms import Asked, find_requests, read_request, read_told
from langmem_plus.remember.neighbours import alive
from langmem_plus.remember.review import forgets
from langmem_plus.remember.sentences import sentences
from langmem_plus.remember.statements import forget_requests
from langmem_plus.remember.steps import Steps, list_records
from langmem_plus.services import Services
from langmem_plus.speakers import Voice, same_speaker
from langmem_plus.text import words


def with_implied(
    turn: MemoryRecord, facts: list[Fact], earlier: Sequence[Fact], scope: Scope, services: Services
) -> Steps[list[Fact]]:
    """The turn's facts and, among them, the requests that are meant by what may be talk.

    Args:
        turn: the turn.
        facts: its facts and its requests that are surely meant, in the order of its sentences.
        earlier: the facts of the turns before it that aren't stored yet.
        scope: whose memory.
        services: the clock.
    """
    asked = find_requests(turn.text)
    if not asked:
        return facts
    memories: list[MemoryRecord] = []
    turns: list[MemoryRecord] = []
    for namespace in scope.namespaces:
        memories += yield from list_records(namespace, {"role": "memory"})
        turns += yield from list_records(namespace, {"role": "user", "status": "active"})
    order = in_order([turn, *(each for each in turns if each.id != turn.id)])
    in_force = alive([each for each in memories if each.status in ("active", "pending")], services.clock())
    stored = [each for each in in_force if each.said_at <= turn.said_at and not forgets(each)]
    replaced = [Voice.of(each).own for each in memories if each.status == "superseded"]
    parts = sentences(turn.text)
    found: list[tuple[int, Fact]] = []
    for place, each in asked:
        own = [fact for fact in facts if place_of(fact, parts) < place]
        said: list[MemoryRecord | Fact] = [*stored, *(fact for fact in (*earlier, *own) if not is_request(fact))]
        for text in _Known(each, turn, parts[:place]).find(said, replaced, order[: order.index(turn)]):
            metadata = {FORGET: text, BY_NAME: True, **named(turn)}
            fact = make_fact(turn, len(facts) + len(found), each.object, "fact", tags=[])
            found.append((place, fact.model_copy(update={"metadata": metadata})))
    return insert_requests(parts, facts, found)


@dataclass(frozen=True)
class _Known:
    """What is known when something is asked for.

    Args:
        asked: what is named.
        turn: where it is named.
        parts: the sentences of the turn before that.
    """

    asked: Asked
    turn: MemoryRecord
    parts: Sequence[str]

    def find(
        self, facts: Sequence[MemoryRecord | Fact], replaced: Sequence[str], turns: Sequence[MemoryRecord]
    ) -> list[str]:
        """What is meant, as it was said; nothing where it isn't one thing.

        Args:
            facts: what holds.
            replaced: what holds no more.
            turns: what was said before.
        """
        told: list[tuple[MemoryRecord | Fact, str]] = [(each, Voice.of(each).own) for each in facts]
        stated = [text for _, text in told] + list(replaced)
        for each in turns:
            if not each.metadata.get(FORGOTTEN):
                # What a fact says, or said, counts as the fact.
                told += [(each, part) for part in self._untold(Voice.of(each).own, stated)]
        texts: dict[tuple[str, ...], str] = {}
        values: set[tuple[str, ...]] = set()
        for record, text in told:
            known = read_told(self.asked, text)
            if known.is_rival or (known.is_meant and not same_speaker(record, self.turn)):
                return []
            if known.is_meant:
                texts[tuple(words(text))] = text
                values.add(known.value)
        beside = [read_told(self.asked, part) for part in self._untold("\n\n".join(self.parts), stated)]
        if any(known.is_rival or (known.is_meant and known.value not in values) for known in beside):
            return []
        return list(texts.values()) if len(values) == 1 else []

    def _untold(self, text: str, stated: Iterable[str]) -> list[str]:
        """The sentences of a text that are no request, and in which no statement stands."""
        said = [part for part in sentences(text) if not (forget_requests(part) or read_request(part))]
        bare = [each.rstrip(" .!") for each in stated]
        return [part for part in said if not any(each in part for each in bare)]
