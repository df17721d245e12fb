"""Say what a new fact is about where its metadata is sparse: tags and entities, found without asking a model.

A model that draws facts out gives their tags in the same answer; they stay as they are, and no call is made for them.
Where there are none, three detectors look: key phrases (`key_phrases`), names (`named`), and the known facts that are
most like it, whose tags it takes over where its own words say them, so that one topic has one name. What those
neighbours agree on beyond its words is only proposed (``metadata["proposed_tags"]``), with the facts it comes from.
``metadata_confidence`` is the mean of the detectors that found something, and of the model's own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, get_args

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.store.base import SearchItem, SearchOp

from langmem_plus.prompts import FactKind
from langmem_plus.records import PROPOSED, Fact, MemoryRecord, MemoryReport, Scope
from langmem_plus.remember.decide import is_request
from langmem_plus.remember.found import ENTITIES, FOUND
from langmem_plus.remember.key_phrases import find_phrases, topic_key
from langmem_plus.remember.ledger import nearest
from langmem_plus.remember.named import Found, find_names
from langmem_plus.remember.neighbours import KNOWN, alive
from langmem_plus.remember.steps import Batch, Namespace, Steps, arun_steps, list_records, read_record, run_steps
from langmem_plus.remember.support import entities, find_tags, importance
from langmem_plus.services import Services, Update, stage
from langmem_plus.state import MemoryState
from langmem_plus.text import tokens

_MOST_TAGS = 6
_MOST_PROPOSED = 3
# How like a neighbour has to be (cosine) for its tags to be proposed: beside another that has the same one, or alone.
NEAR, NEAREST = 0.4, 0.6
_UNRANKED = 0.5  # how much the tags of a neighbour count that the store found without a number
_KINDS = frozenset(get_args(FactKind))


@dataclass
class Enrichment:
    """The facts with what was found about them, in their order, and what happened."""

    facts: list[Fact] = field(default_factory=list)
    report: MemoryReport = field(default_factory=MemoryReport)


@dataclass(frozen=True)
class Neighbour:
    """A known fact, and how like it is, in [0, 1]; None where nobody measured it."""

    id: str
    text: str
    tags: tuple[str, ...]
    likeness: float | None = None
    names: frozenset[str] = frozenset()


@dataclass
class _Known:
    """A tag as neighbours write it, and who they are."""

    tag: str
    holders: list[Neighbour] = field(default_factory=list)

    @property
    def confidence(self) -> float:
        return max(_UNRANKED if holder.likeness is None else holder.likeness for holder in self.holders)


def is_sparse(fact: Fact) -> bool:
    """Whether nobody said what a fact is about: it has no tags but its kind and its capitalised words."""
    kind = fact.metadata.get("kind", "fact")
    return not is_request(fact) and fact.tags in ([], entities(fact.text), find_tags(kind, fact.text))


def enrich_fact(fact: Fact, neighbours: Sequence[Neighbour] = ()) -> Fact:
    """The fact with tags, entities and a confidence, where it has no tags of its own; else with entities alone.

    Args:
        fact: a new fact.
        neighbours: the known facts that are most like it, the most alike first.
    """
    if is_request(fact):
        return fact
    names = find_names(fact.text)
    metadata = dict(fact.metadata)
    if names and ENTITIES not in metadata:
        metadata[ENTITIES] = [name.text for name in names]
    if not is_sparse(fact):
        return fact.model_copy(update={"metadata": metadata})
    phrases = find_phrases(fact.text)
    known = _known_tags(neighbours)
    shared = _shared(fact.text, [*phrases, *names], known)
    speaker = topic_key(str(fact.metadata.get("name") or ""))
    found = [*shared, *(each.text for each in (*phrases, *names))]
    named: dict[tuple[str, ...], str] = {}
    for tag in found:
        named.setdefault(topic_key(tag), tag)
    tags = [tag for key, tag in named.items() if key != speaker]
    kind = [tag for tag in fact.tags if tag in _KINDS]
    detectors = [[each.confidence for each in phrases], [each.confidence for each in names]]
    detectors.append([known[topic_key(tag)].confidence for tag in shared])
    sure = [fmean(each) for each in detectors if each]
    sure += [fact.metadata_confidence] if fact.metadata_confidence else []
    confidence = round(fmean(sure), 3) if sure else 0.0
    if tags:
        metadata[FOUND] = tags[:_MOST_TAGS]
    if proposed := _proposed(fact.text, known):
        metadata[PROPOSED] = proposed
    return fact.model_copy(
        update={
            "tags": [*tags[: _MOST_TAGS - len(kind)], *kind],
            "metadata": metadata,
            "metadata_confidence": confidence,
            "importance": _importance(fact, confidence),
        }
    )


def _importance(fact: Fact, confidence: float) -> float:
    """What it was, with what confident metadata adds, where it wasn't confident before."""
    before, after = (
        importance("fact", asked=False, confidence=each) for each in (fact.metadata_confidence, confidence)
    )
    return round(min(max(fact.importance + after - before, 0.0), 1.0), 3)


def _known_tags(neighbours: Iterable[Neighbour]) -> dict[tuple[str, ...], _Known]:
    """The neighbours' tags, each once, as the most alike of them writes it; kinds aren't topics."""
    known: dict[tuple[str, ...], _Known] = {}
    for neighbour in neighbours:
        for tag in neighbour.tags:
            if tag.strip() and tag not in _KINDS:
                known.setdefault(topic_key(tag), _Known(tag)).holders.append(neighbour)
    return known


def _shared(text: str, found: Sequence[Found], known: Mapping[tuple[str, ...], _Known]) -> list[str]:
    """The neighbours' tags that the fact's own words say, those of most neighbours first."""
    keys, own = {topic_key(each.text) for each in found}, set(tokens(text))
    said = [each for key, each in known.items() if key in keys or own.issuperset(key)]
    return [each.tag for each in sorted(said, key=lambda each: -len(each.holders))]


def _proposed(text: str, known: Mapping[tuple[str, ...], _Known]) -> dict[str, list[str]]:
    """What the fact's near neighbours are about, and its own words don't say: by tag, the ids of these neighbours.

    Names are never proposed: nobody is named who wasn't.
    """
    own, proposed = set(tokens(text)), {}
    for key, each in known.items():
        near = [holder for holder in each.holders if (holder.likeness or 0.0) >= NEAR]
        agreed = len(near) > 1 or any((holder.likeness or 0.0) >= NEAREST for holder in near)
        named = any(each.tag in holder.names for holder in each.holders)
        if agreed and not named and not own.issuperset(key):
            proposed[each.tag] = [holder.id for holder in near]
    ranked = sorted(proposed.items(), key=lambda pair: -len(pair[1]))
    return dict(ranked[:_MOST_PROPOSED])


# the stage


def enrich_steps(services: Services, scope: Scope, facts: Sequence[Fact]) -> Steps[Enrichment]:
    """Enrich the facts that are sparse, each also by those before it."""
    result = Enrichment(list(facts))
    if not services.config.enrich or not facts:
        return result
    sparse = [fact for fact in facts if is_sparse(fact)]
    found = yield from _find_near(scope.namespace, sparse, services)
    earlier: list[Neighbour] = []
    result.facts = []
    for fact in facts:
        enriched = enrich_fact(fact, [*found.get(fact.key, ()), *earlier])
        result.facts.append(enriched)
        if enriched.tags:
            earlier.append(Neighbour(enriched.key, enriched.text, tuple(enriched.tags)))
    changed = sum(new is not old and new.tags != old.tags for new, old in zip(result.facts, facts, strict=True))
    result.report.counts = {"facts_enriched": changed}
    return result


def _find_near(namespace: Namespace, facts: Sequence[Fact], services: Services) -> Steps[dict[str, list[Neighbour]]]:
    """The known facts that are most like each, by its key; none are looked for where ``neighbourhood`` is 0."""
    count, now = services.config.neighbourhood, services.clock()
    if not count or not facts:
        return {}
    ops = [SearchOp(namespace, filter=dict(KNOWN), limit=count, query=fact.text) for fact in facts]
    pages: list[list[SearchItem]] = yield Batch(ops)
    if any(len(page) == count and any(item.score is None for item in page) for page in pages):  # it ranks nothing
        everything = alive((yield from list_records(namespace, KNOWN)), now)
        return {fact.key: [_neighbour(each) for each in nearest(fact.text, everything, count)] for fact in facts}
    return {fact.key: _read(page, namespace, now) for fact, page in zip(facts, pages, strict=True)}


def _read(page: Sequence[SearchItem], namespace: Namespace, now: dt.datetime) -> list[Neighbour]:
    found = []
    for item in page:
        record = read_record(item) if tuple(item.namespace) == namespace else None
        if record is not None and alive([record], now):
            found.append(_neighbour(record, _likeness(item)))
    return found


def _likeness(item: SearchItem) -> float | None:
    """The cosine where the store says it; a store with one number gives that."""
    scores: Any = getattr(item, "scores", None)
    value = scores.get("cosine") if isinstance(scores, Mapping) else item.score
    return min(max(float(value), 0.0), 1.0) if isinstance(value, int | float) else None


def _neighbour(record: MemoryRecord, likeness: float | None = None) -> Neighbour:
    told = record.metadata.get(ENTITIES)
    names = told if isinstance(told, list) else [name.text for name in find_names(record.text)]
    named = frozenset(name for name in names if isinstance(name, str))
    return Neighbour(record.id, record.text, tuple(record.tags), likeness, named)


def enrich(services: Services, scope: Scope, facts: Sequence[Fact]) -> Enrichment:
    """The facts with tags, entities and a confidence where they are sparse; nothing is stored.

    Args:
        services: the settings and the store.
        scope: whose memory.
        facts: what was drawn out of turns.
    """
    return run_steps(enrich_steps(services, scope, facts), services, services.find_store())


async def aenrich(services: Services, scope: Scope, facts: Sequence[Fact]) -> Enrichment:
    """`enrich`, awaiting."""
    return await arun_steps(enrich_steps(services, scope, facts), services, services.find_store())


def enrich_node(services: Services) -> Runnable[MemoryState, Update]:
    """Enrich the facts that were drawn out; writes ``memory_facts``. When it fails, they go on as they are."""

    def update(result: Enrichment) -> Update:
        return {"memory_facts": result.facts, "memory_report": result.report}

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        facts = state.get("memory_facts") or []
        return update(enrich(services, services.find_scope(config), facts) if facts else Enrichment())

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        facts = state.get("memory_facts") or []
        return update(await aenrich(services, services.find_scope(config), facts) if facts else Enrichment())

    return stage("enrich", services, run, arun)
