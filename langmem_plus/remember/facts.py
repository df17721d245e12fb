"""The facts of one turn: by rules in the user's own words, or by a model as far as the turn supports them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelAnswerError
from langmem_plus.prompts import ExtractedFact, ExtractedFacts, FactKind, render_extraction
from langmem_plus.providers.too_long import is_too_long
from langmem_plus.records import Fact, MemoryRecord
from langmem_plus.remember.decide import FORGET
from langmem_plus.remember.sentences import own_words, sentences
from langmem_plus.remember.statements import find_statements, forget_requests
from langmem_plus.remember.steps import Ask, Steps
from langmem_plus.remember.support import entities, find_tags, importance, support
from langmem_plus.services import Services
from langmem_plus.speakers import Voice, name_of, shown_name
from langmem_plus.text import words
from langmem_plus.tokens import counter

_SHORTEST = 64  # tokens of a turn below which a model that finds the request too long isn't asked again


@dataclass
class Drawn:
    """The facts of a turn, what is to be reported, and whether rules stood in for a model that couldn't."""

    facts: list[Fact] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fell_back: bool = False


def in_order(turns: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """The turns as they were said: by time, then by their place in the thread."""
    return sorted(turns, key=lambda turn: (turn.said_at, *_place(turn)))


def _place(turn: MemoryRecord) -> tuple[int, int]:
    places = (turn.metadata.get("turn"), turn.metadata.get("position"))
    first, second = (place if isinstance(place, int) else 0 for place in places)
    return first, second


def facts_by_rules(turn: MemoryRecord, config: MemoryConfig) -> list[Fact]:
    """The first-person statements of a turn, as the user wrote them."""
    found = [
        make_fact(turn, place, statement.text, statement.kind, asked=statement.asked)
        for place, statement in enumerate(find_statements(turn.text, config.max_facts))
    ]
    return with_requests(turn, found)


def facts_by_answer(turn: MemoryRecord, answer: ExtractedFacts, config: MemoryConfig) -> tuple[list[Fact], list[str]]:
    """The facts of a model's answer that the turn supports, and those that were dropped.

    A fact is dropped when too few of its words, or one of its numbers or names, can't be found in the turn.
    """
    found: list[Fact] = []
    dropped: list[str] = []
    for item in answer.facts:
        text = " ".join(item.text.split())
        if not text or text in [fact.text for fact in found]:
            continue
        if not is_supported(turn, text, config):
            dropped.append(text)
        elif len(found) < config.max_facts:
            found.append(fact_of(turn, len(found), text, item, config))
    return with_requests(turn, found), dropped


def is_supported(turn: MemoryRecord, text: str, config: MemoryConfig) -> bool:
    """Whether the turn says enough of what is said to be a fact of it."""
    name = name_of(turn)
    told = Voice(text, name).own if name else text
    return support(told, turn.text, turn.said_at, shown_name(name)) >= config.fact_support


def fact_of(turn: MemoryRecord, ordinal: int, text: str, item: ExtractedFact, config: MemoryConfig) -> Fact:
    """A model's fact; a wish to keep it counts only where the turn has one."""
    asked = [each.text for each in find_statements(turn.text, config.max_facts) if each.asked]
    keep = bool(asked) and (item.keep or any(support(text, part) >= config.fact_support for part in asked))
    tags = item.tags or entities(text)
    return make_fact(turn, ordinal, text, item.kind, asked=keep, confidence=item.confidence, tags=tags)


def requests_of(turn: MemoryRecord, start: int) -> list[Fact]:
    """The turn's requests to forget, numbered from ``start``."""
    return [
        make_fact(turn, place, text, "fact", tags=[]).model_copy(update={"metadata": {FORGET: text, **named(turn)}})
        for place, text in enumerate(forget_requests(turn.text), start)
    ]


def with_requests(turn: MemoryRecord, facts: list[Fact]) -> list[Fact]:
    """The turn's facts and its requests to forget, in the order of its sentences: a request means what was said before
    it. Their numbers are in the order in which they were found.
    """
    requests = requests_of(turn, len(facts))
    if not requests:
        return facts
    parts = sentences(turn.text)
    asked = [place for place, part in enumerate(parts) for _ in forget_requests(part)]
    last = len(parts)
    found = [(asked[place] if place < len(asked) else last, 0, each) for place, each in enumerate(requests)]
    found += [(place_of(fact, parts), 1, fact) for fact in facts]
    return [each for _, _, each in sorted(found, key=lambda item: item[:2])]


def insert_requests(parts: Sequence[str], facts: list[Fact], requests: Sequence[tuple[int, Fact]]) -> list[Fact]:
    """The facts of a turn's sentences with some more requests to forget, each with the place of the sentence that asks:
    before what is said behind that.
    """
    found = list(facts)
    for asked, request in requests:
        later = (at for at, fact in enumerate(found) if FORGET not in fact.metadata and place_of(fact, parts) > asked)
        found.insert(next(later, len(found)), request)
    return found


def place_of(fact: Fact, parts: Sequence[str]) -> int:
    """Which of a turn's sentences says a fact."""
    return _place_of(Voice.of(fact).own, parts)


def _place_of(text: str, parts: Sequence[str]) -> int:
    """The last of the sentences that hold most of a statement."""
    rates = [0.0 if forget_requests(part) else 1.0 if text in part else support(text, part) for part in parts]
    return max(range(len(parts)), key=lambda place: (rates[place], place), default=0)


def make_fact(
    turn: MemoryRecord,
    ordinal: int,
    text: str,
    kind: FactKind,
    *,
    asked: bool = False,
    confidence: float = 0.0,
    tags: list[str] | None = None,
) -> Fact:
    """A fact of a turn, in its time and place."""
    return Fact(
        text=text,
        source_id=turn.id,
        ordinal=ordinal,
        importance=importance(kind, asked=asked, confidence=confidence),
        tags=find_tags(kind, text) if tags is None else tags,
        metadata_confidence=confidence,
        observed_at=turn.said_at,
        thread_id=turn.thread_id,
        manually_saved=asked,
        metadata={"kind": kind, **named(turn)},
    )


def named(turn: MemoryRecord) -> dict[str, str]:
    """A fact's metadata, as far as it tells whose the turn is."""
    return {"name": name} if (name := name_of(turn)) else {}


def draw_facts(turn: MemoryRecord, services: Services) -> Steps[Drawn]:
    """The facts of one turn. An unreadable answer gives way to the rules; so does a model that finds even the beginning
    of the turn too long.
    """
    config = services.config
    text = own_words(turn.text)
    if not words(text) or not config.max_facts:
        return Drawn()
    if services.model is None:
        return Drawn(facts_by_rules(turn, config))
    warnings: list[str] = []
    for said in _shorter(text, config):
        messages = render_extraction(said, max_facts=config.max_facts, name=name_of(turn), said_at=turn.said_at)
        try:
            answer = yield Ask(messages, ExtractedFacts)
        except ModelAnswerError as error:
            return Drawn(facts_by_rules(turn, config), [f"extraction fell back to rules: {error}"], fell_back=True)
        except Exception as error:
            if not is_too_long(error):
                raise
            warnings = [f"extraction fell back to rules, because the model finds the turn too long: {error}"]
            continue
        facts, dropped = facts_by_answer(turn, answer, config)
        shortened = ["the model read the beginning of a turn alone, because it finds all of it too long"]
        return Drawn(facts, [*(shortened if warnings else ()), *map(dropped_warning, dropped)])
    return Drawn(facts_by_rules(turn, config), warnings, fell_back=True)


def _shorter(text: str, config: MemoryConfig) -> Iterator[str]:
    """What a model is given of a turn: all that the settings allow, then half of it, and half of that."""
    tokens = counter(config)
    limit = min(tokens.count(text), config.user_max_tokens)
    yield tokens.clip(text, config.user_max_tokens)
    for part in (limit // 2, limit // 4):
        if part >= _SHORTEST:
            yield tokens.clip(text, part)


def dropped_warning(text: str) -> str:
    """What is reported of a fact that its turn doesn't support."""
    return f"a fact without support in its turn was dropped: {text!r}"
