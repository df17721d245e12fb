"""Read what a store answers: items of any program become records, and what can't be recalled is left out."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.base import Item, SearchItem
from pydantic import ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.overlap import coverage, spoken
from langmem_plus.recall.query import message_text
from langmem_plus.records import ROLES, TURN_ROLES, Choice, MemoryHit, MemoryRecord, MemoryReport, Scope
from langmem_plus.text import tokens

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


@dataclass
class Found:
    """What came back, as it is read."""

    hits: dict[tuple[tuple[str, ...], str], MemoryHit] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)

    def count(self, name: str) -> None:
        """One more of a kind."""
        self.counts[name] = self.counts.get(name, 0) + 1


def read_item(item: Item, scope: Scope) -> MemoryRecord | None:
    """A record from an item of any program, or None where there is no text to recall.

    Our own values are read whole. Of others the text is taken from ``text`` or ``content`` (also nested, as langmem
    writes it), and those fields that fit a record; what doesn't fit is left out.
    """
    text = find_text(item.value)
    if text is None:
        return None
    basis = {
        "user_id": scope.user_id,
        "space": scope.space,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    own = {name: value for name, value in item.value.items() if name in MemoryRecord.model_fields and value is not None}
    for _ in range(2):
        try:
            return MemoryRecord(**{**basis, **own, "id": item.key, "text": text})
        except ValidationError as error:
            wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
            if "status" in wrong or not wrong & own.keys():
                return None  # what state it is in can't be known: better silent than wrong
            own = {name: value for name, value in own.items() if name not in wrong}
    return None


def find_text(value: Mapping[str, Any]) -> str | None:
    """The text of a stored value: ``text``, ``content``, or langmem's ``{"kind", "content": {"content": …}}``."""
    for found in (value.get("text"), value.get("content")):
        if isinstance(found, str) and found.strip():
            return found
    content = value.get("content")
    if not isinstance(content, Mapping) or not content:
        return None
    inner = content.get("content")
    if isinstance(inner, str):
        return inner if inner.strip() else None
    kind = value.get("kind")
    body = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    return f"{kind}: {body}" if isinstance(kind, str) and kind else body


def read_items(wanted: Wanted, items: Sequence[SearchItem], found: Found) -> None:
    """Read one answer into ``found``: what can be recalled as a hit, the rest counted by its kind."""
    window = _window(wanted.messages)
    for item in items:
        record = read_item(item, wanted.scope)
        place = (item.namespace, item.key)
        if record is None:
            found.count("unreadable")
        elif record.status != "active" or record.role == "summary":
            found.count("inactive")
        elif record.expires_at is not None and record.expires_at <= wanted.now:
            found.count("expired")
        elif record.role not in wanted.roles or not _in_scope(record, wanted):
            found.count("out_of_scope")
        elif _is_seen(record, wanted, window):
            found.count("in_window")
            found.choices.append(
                Choice(id=record.id, text=record.text, kept=False, reason="it still stands in the conversation")
            )
        else:
            hit = MemoryHit(
                record=record, namespace=item.namespace, scores=_scores(item), vector=getattr(item, "vector", None)
            )
            known = found.hits.get(place)
            if known is None or hit.scores.get("store", -1.0) > known.scores.get("store", -1.0):
                found.hits[place] = hit


def _scores(item: SearchItem) -> dict[str, float]:
    legs = {str(name): float(value) for name, value in (getattr(item, "scores", None) or {}).items()}
    return legs if item.score is None else {**legs, "store": float(item.score)}


def _in_scope(record: MemoryRecord, wanted: Wanted) -> bool:
    strict = wanted.config.recall_scope == "thread"
    own = wanted.scope.thread_id is not None and record.thread_id == wanted.scope.thread_id
    return own or record.role == "archive" or not strict


def _window(messages: Sequence[BaseMessage]) -> tuple[set[str], set[tuple[str, str]]]:
    ids = {message.id for message in messages if message.id}
    return ids, {(_SPEAKERS.get(message.type, ""), message_text(message)) for message in messages}


def _is_seen(record: MemoryRecord, wanted: Wanted, window: tuple[set[str], set[tuple[str, str]]]) -> bool:
    """Whether the model sees these words anyway, or the caller asked to leave them out."""
    origins = {record.id}
    if record.role in TURN_ROLES:
        origins.update(record.source_ids, {str(record.metadata.get("message_id"))})
    if not wanted.exclude_ids.isdisjoint(origins):
        return True
    if record.role not in TURN_ROLES or record.thread_id != wanted.scope.thread_id:
        return False
    ids, texts = window
    return (record.role, record.text.strip()) in texts or not ids.isdisjoint(origins)


def choose(wanted: Wanted, found: Found) -> tuple[list[MemoryHit], MemoryReport]:
    """The candidates of all searches, each once, at most ``limit`` a namespace; a store that ranked nothing is ranked
    by the words that query and memory share."""
    hits = list(found.hits.values())
    unranked = [hit for hit in hits if "store" not in hit.scores and "coverage" not in hit.scores]
    query = set(tokens(wanted.query))
    for hit in unranked if query else ():
        hit.scores["coverage"] = coverage(query, spoken(hit.record))
    if len(unranked) > wanted.limit:
        best = sorted(unranked, key=lambda hit: -hit.scores.get("coverage", 0.0))[: wanted.limit]
        kept = {id(hit) for hit in best}
        hits = [hit for hit in hits if "store" in hit.scores or id(hit) in kept]
    report = MemoryReport(counts={"candidates": len(hits), **found.counts}, choices=found.choices)
    return hits, report
