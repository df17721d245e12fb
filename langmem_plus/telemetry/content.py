"""What a span says with ``telemetry_content`` on: whose memory it is, what was asked, and what was found or stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langmem_plus.messages import last_human, message_words


def content_of(name: str, state: Mapping[str, Any], identity: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a stage's span that name somebody or hold texts.

    Args:
        name: the stage's.
        state: what it read and wrote.
        identity: whose memory, and which thread.
    """
    told = dict(identity)
    records = _records(name, state)
    if records:
        told["gen_ai.memory.records"] = json.dumps(records, ensure_ascii=False)
    if name in ("retrieve", "search") and (query := _query(state)):
        told["gen_ai.memory.query.text"] = query
    return told


def _query(state: Mapping[str, Any]) -> str:
    if state.get("query"):
        return str(state["query"])
    plan, messages = state.get("memory_plan"), state.get("messages") or []
    if plan is not None and plan.query:
        return str(plan.query)
    place = last_human(messages)
    return "" if place is None else message_words(messages[place])


def _records(name: str, state: Mapping[str, Any]) -> list[dict[str, Any]]:
    if name in ("retrieve", "rerank", "mmr", "inject", "search"):
        hits = state.get("memory_hits") or []
        return [{"id": hit.record.id, "content": hit.record.text, **_score(hit.scores)} for hit in hits]
    if name in ("extract", "enrich", "reconcile"):
        return [{"content": fact.text} for fact in state.get("memory_facts") or []]
    return []


def _score(scores: Mapping[str, float]) -> dict[str, float]:
    return {"score": scores["total"]} if "total" in scores else {}
