"""Read what a store answers: items of any program become records, and what can't be recalled is left out."""

from __future__ import annotations

import datetime as dt
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.base import Item, SearchItem
from pydantic import ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.messages import message_text
from langmem_plus.recall.filters import RecordFilter
from langmem_plus.recall.made import make_choice, make_hit
from langmem_plus.recall.overlap import coverage, spoken
from langmem_plus.recall.own import own_record
from langmem_plus.recall.times import Period, period_match
from langmem_plus.records import (
    FORGOTTEN,
    REVIEW,
    ROLES,
    TURN_ROLES,
    Choice,
    MemoryHit,
    MemoryRecord,
    MemoryReport,
    Scope,
)
from langmem_plus.small_talk import is_question, normalise
from langmem_plus.speakers import key_of, name_of
from langmem_plus.text import find_text, tokens

Place = tuple[tuple[str, ...], str]
Window = tuple[set[str], set[tuple[str, str, str]]]  # the ids of messages, and their roles, speakers and words

# A turn says more about a query than a fact drawn from it where the fact holds less than this share of the turn's
# words of the query, or its cosine is lower by more: a turn of several sentences always says somewhat more. Source:
# of the statements that replaced others by a model's word, 99 % came first; 90 % where the fact had to hold all of
# the turn's words and be as near.
_SAME_WORDS, _SAME_COSINE = 0.5, 0.15
_FIELDS = frozenset(MemoryRecord.model_fields)
_SPEAKERS = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True)
class Wanted:
    """What one recall asks the store for.

    Args:
        scope: whose memory.
        query: what is searched; empty lists the newest.
        limit: candidates a namespace.
        config: the settings.
        now: what has expired by then is left out.
        roles: the roles that are recalled; a summary never is.
        exclude_ids: records, or messages that records were made of, to leave out.
        messages: the messages that the model sees anyway; turns made of them are left out.
        list_archives: fetch the newest archived conversations whatever they say.
        search: False fetches the thread's summary alone.
        filter: what else a record must meet.
        days: the days that are asked for and nothing else; what was said then is listed beside what is searched.
        everything: whether what no search finds is asked for, all that is known or a name; it is listed so, too.
    """

    scope: Scope
    query: str
    limit: int
    config: MemoryConfig
    now: dt.datetime
    roles: frozenset[str] = frozenset(ROLES)
    exclude_ids: frozenset[str] = frozenset()
    messages: Sequence[BaseMessage] = ()
    list_archives: bool = False
    search: bool = True
    filter: RecordFilter | None = None
    days: Sequence[Period] = ()
    everything: bool = False

    @functools.cached_property
    def namespaces(self) -> tuple[tuple[str, ...], ...]:
        """Where is searched."""
        return self.scope.namespaces


@dataclass
class Found:
    """What came back, as it is read, by its place in the store: hits, facts that were replaced or whose time is over,
    those in force that a filter leaves out, and why other items are none.
    """

    hits: dict[Place, MemoryHit] = field(default_factory=dict)
    ended: list[MemoryHit] = field(default_factory=list)
    unasked: list[MemoryHit] = field(default_factory=list)
    left_out: dict[Place, str] = field(default_factory=dict)
    choices: dict[Place, Choice] = field(default_factory=dict)


def read_item(item: Item, scope: Scope) -> MemoryRecord | None:
    """A record from an item of any program, or None where there is no text to recall.

    Our own values are read whole. Of others the text is taken from ``text`` or ``content`` (also nested, as langmem
    writes it), and those fields that fit a record; what doesn't fit is left out.
    """
    record = own_record(item.key, item.value)
    if record is not None:
        return record
    text = find_text(item.value)
    if text is None:
        return None
    basis = {
        "user_id": scope.user_id,
        "space": scope.space,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    own = {name: value for name, value in item.value.items() if name in _FIELDS and value is not None}
    for _ in range(2):
        try:
            return MemoryRecord(**{**basis, **own, "id": item.key, "text": text})
        except ValidationError as error:
            wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
            if "status" in wrong or not wrong & own.keys():
                return None  # what state it is in can't be known: better silent than wrong
            own = {name: value for name, value in own.items() if name not in wrong}
    return None


def read_items(wanted: Wanted, items: Sequence[SearchItem], found: Found) -> int:
    """Read one answer into ``found``; returns how many of its items can be recalled.

    A store's search covers everything below a namespace, too: with a template of one's own that may be somebody else's
    memory, so only what stands in the scope's own namespaces is read.
    """
    window, usable, own = _window(wanted.messages), 0, set(wanted.namespaces)
    for item in items:
        place = (tuple(item.namespace), item.key)
        if place[0] not in own or place in found.left_out:
            continue
        record = read_item(item, wanted.scope)
        reason = _objection(record, wanted, window)
        if record is None or reason:
            found.left_out[place] = reason or "unreadable"
            ended = record is not None and (record.status == "superseded" or reason == "expired")
            if record is not None and record.role == "memory" and ended:
                found.ended.append(_hit(record, item, _scores(item)))
            if record is not None and record.role == "memory" and reason == "filtered":
                found.unasked.append(MemoryHit(record=record, namespace=item.namespace))
            if record is not None and reason == "in_window":
                said = "it still stands in the conversation"
                found.choices[place] = make_choice(record, said, kept=False)
            continue
        if wanted.filter is not None and usable >= wanted.limit and item.score is not None:
            break  # the best of what the filter leaves are read
        usable += 1
        scores, known = _scores(item), found.hits.get(place)
        if known is None or scores.get("store", -1.0) > known.scores.get("store", -1.0):
            found.hits[place] = _hit(record, item, scores)
    return usable


def _hit(record: MemoryRecord, item: SearchItem, scores: dict[str, float]) -> MemoryHit:
    vector, bits = getattr(item, "vector", None), getattr(item, "bits", None)
    return make_hit(record, tuple(item.namespace), scores, vector, bits)


def can_be_recalled(record: MemoryRecord, wanted: Wanted) -> bool:
    """Whether a record that no search found is one of what is wanted."""
    return _objection(record, wanted, _window(wanted.messages)) is None


def _objection(record: MemoryRecord | None, wanted: Wanted, window: Window) -> str | None:
    """Why a record isn't recalled, in one word for the report's counts; None for one that is."""
    if record is None:
        return "unreadable"
    if record.status != "active" or record.role == "summary":
        return "inactive"
    if record.role in TURN_ROLES and record.metadata.get(FORGOTTEN):
        return "forgotten"
    if record.role in TURN_ROLES and record.metadata.get(REVIEW):
        return "in_review"  # what it tells waits for its owner's approval, or was rejected
    if record.has_ended(wanted.now):
        return "expired"
    if record.role not in wanted.roles or not _in_scope(record, wanted):
        return "out_of_scope"
    if record.role == "user" and is_question(record.text) and normalise(record.text) == normalise(wanted.query):
        return "same_question"  # asked before: it is nearest to itself, and answers nothing
    if _is_seen(record, wanted, window):
        return "in_window"
    return "filtered" if wanted.filter is not None and not wanted.filter.matches(record) else None


def _scores(item: SearchItem) -> dict[str, float]:
    legs = {str(name): float(value) for name, value in (getattr(item, "scores", None) or {}).items()}
    if item.score is not None:
        legs["store"] = float(item.score)
    return legs


def _in_scope(record: MemoryRecord, wanted: Wanted) -> bool:
    strict = wanted.config.recall_scope == "thread"
    own = wanted.scope.thread_id is not None and record.thread_id == wanted.scope.thread_id
    if record.role == "archive":
        return not own  # a conversation's own archive tells what its summary tells
    return own or not strict


def _window(messages: Sequence[BaseMessage]) -> Window:
    ids = {message.id for message in messages if message.id}
    return ids, {
        (_SPEAKERS.get(message.type, ""), key_of(message.name), message_text(message).strip()) for message in messages
    }


def _is_seen(record: MemoryRecord, wanted: Wanted, window: Window) -> bool:
    """Whether the model sees these words anyway, or the caller asked to leave them out."""
    is_turn = record.role in TURN_ROLES
    same_thread = is_turn and record.thread_id == wanted.scope.thread_id
    if not (same_thread or wanted.exclude_ids):
        return False
    origins = {record.id}
    if is_turn:
        origins.update(record.source_ids, {str(record.metadata.get("message_id"))})
    if not wanted.exclude_ids.isdisjoint(origins):
        return True
    if not same_thread:
        return False
    ids, texts = window
    said = record.role, key_of(name_of(record)), record.text.strip()
    return said in texts or not ids.isdisjoint(origins)


def choose(wanted: Wanted, found: Found) -> tuple[list[MemoryHit], MemoryReport]:
    """The candidates of all searches, each once, at most ``limit`` a namespace; a store that ranked nothing is ranked
    by the words that query and memory share."""
    current = without_contested(list(found.hits.values()))
    hits, outdated = without_outdated(wanted.query, current, found.ended, found.unasked)
    unranked = [hit for hit in hits if "store" not in hit.scores and "coverage" not in hit.scores]
    query = set(tokens(wanted.query))
    for hit in unranked if query else ():
        hit.scores["coverage"] = coverage(query, spoken(hit.record))
    if len(unranked) > wanted.limit:
        days = list(wanted.days)
        told = {id(hit): period_match(days, hit.record.said_at.date()) for hit in unranked}
        best = sorted(unranked, key=lambda hit: (-told[id(hit)], -hit.scores.get("coverage", 0.0)))[: wanted.limit]
        kept = {id(hit) for hit in best}
        hits = [hit for hit in hits if "store" in hit.scores or id(hit) in kept]
    counts = {"candidates": len(hits), **Counter(found.left_out.values())}
    return hits, MemoryReport(counts=counts, choices=[*found.choices.values(), *outdated])


def without_contested(hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """The hits without what a person replaced by approving a fact in its file: until the approval is brought to its
    end, both are active. Nor is a request to forget, approved so, a memory.
    """
    notes = [(hit, hit.record.metadata.get(REVIEW)) for hit in hits if hit.record.role == "memory"]
    reviewed = [(hit.record.id, note) for hit, note in notes if isinstance(note, dict)]
    gone = {target for _, note in reviewed for target in _listed(note.get("targets"))}
    gone |= {id for id, note in reviewed if note.get("event") == "DELETE"}
    return [hit for hit in hits if hit.record.id not in gone]


def _listed(targets: Any) -> Iterable[str]:
    return targets if isinstance(targets, dict) else ()


def without_outdated(
    query: str, hits: Sequence[MemoryHit], ended: Sequence[MemoryHit], others: Sequence[MemoryHit] = ()
) -> tuple[list[MemoryHit], list[Choice]]:
    """A turn is left out where a fact drawn from it was replaced since, or its time is over, and said of the query what
    the turn says; and so is a reply that repeated a fact before it was replaced ("You live in Lyon.").

    Turns are verbatim and stay as they were said; without this, what was corrected comes back through them. A turn that
    says more about the query than the ended fact does stays. ``others`` are facts that hold and weren't asked for.
    """
    wanted = set(tokens(query))
    sources: dict[str, list[MemoryHit]] = {}
    for fact in ended:
        for source in fact.record.source_ids:
            sources.setdefault(source, []).append(fact)
    successors = _successors([*hits, *others], ended)
    kept: list[MemoryHit] = []
    outdated: list[Choice] = []
    for hit in hits:
        told = sources.get(hit.record.id, ()) if hit.record.role in TURN_ROLES else ()
        old = next((fact for fact in told if _says_as_much(wanted, fact, hit)), None)
        if old is None:
            old = next((fact for fact, new in successors if _restates(wanted, hit, fact.record, new)), None)
        if old is not None:
            outdated.append(make_choice(hit.record, _outdated(old.record), kept=False))
        else:
            kept.append(hit)
    return kept, outdated


def _outdated(fact: MemoryRecord) -> str:
    if fact.status == "active":
        return f"what it says no longer holds: {fact.id}"
    return f"what it says was replaced: {fact.replaced_by or fact.id}"


def _successors(hits: Sequence[MemoryHit], ended: Sequence[MemoryHit]) -> list[tuple[MemoryHit, MemoryRecord]]:
    """Each replaced fact with the one that holds in its place today, where the search found that one, too."""
    found = {hit.record.id: hit.record for hit in (*ended, *hits)}
    over = {fact.record.id for fact in ended}
    pairs = []
    for fact in ended:
        record, seen = fact.record, {fact.record.id}
        while record.status != "active" and record.replaced_by in found and record.replaced_by not in seen:
            record = found[record.replaced_by]
            seen.add(record.id)
        if record.status == "active" and record.id not in over:
            pairs.append((fact, record))
    return pairs


def _restates(wanted: set[str], hit: MemoryHit, old: MemoryRecord, new: MemoryRecord) -> bool:
    """Whether a hit is a reply that was given before ``new`` was said, and says of the query what ``old`` says.

    It shares no more of the query's words than the old fact does; it holds the words that the old fact alone has
    ("Lyon") and none that the new one alone has ("Grenoble"), so a reply about the change stays; and of the words that
    both facts share ("live") it holds at least one, so a reply about the city stays.
    """
    reply = hit.record
    if reply.role != "assistant" or reply.said_at > new.said_at:
        return False
    said, before, since = set(tokens(reply.text)), set(tokens(old.text)), set(tokens(new.text))
    if not before - since <= said or not before - since or said & (since - before):
        return False
    common = before & since
    if common and not common & said:
        return False
    return coverage(wanted, spoken(old)) >= coverage(wanted, reply.text) > 0


def _says_as_much(wanted: set[str], fact: MemoryHit, turn: MemoryHit) -> bool:
    """Whether a fact says most of what its turn says about the query, by the words it shares and, where both are known,
    by cosine."""
    if coverage(wanted, spoken(fact.record)) < _SAME_WORDS * coverage(wanted, spoken(turn.record)):
        return False
    near, turns = fact.scores.get("cosine"), turn.scores.get("cosine")
    return near is None or turns is None or near >= turns - _SAME_COSINE
