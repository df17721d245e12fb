"""Records as a tool shows them: items of the store as plain JSON, in langmem's shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryHit, MemoryRecord, format_time
from langmem_plus.tokens import counter

Entry = dict[str, Any]


def whole(record: MemoryRecord, namespace: Sequence[str], score: float | None = None) -> Entry:
    """A record with everything that is known of it, as ``SearchItem.dict()`` gives it, its times as texts."""
    return _entry(record, namespace, record.to_value(), score)


def brief(record: MemoryRecord, namespace: Sequence[str], config: MemoryConfig, score: float | None = None) -> Entry:
    """A record as a model reads it: what it says, whose words it is, when it was said, and whether it is pinned.

    One that is longer than all memories of a prompt may be is cut, and says so: a pasted book mustn't fill the context.
    """
    content, tokens = record.metadata.get("content") or record.text, counter(config)
    limit = config.memories_max_tokens or config.max_prompt_tokens
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    clipped = tokens.clip(text, limit)
    said = {
        "content": content if clipped == text else clipped,
        "clipped": clipped != text,
        "role": record.role,
        "speaker": record.metadata.get("name"),
        "said_at": format_time(record.said_at),
        "tags": list(record.tags),
        "pinned": record.pinned,
    }
    return _entry(record, namespace, {name: value for name, value in said.items() if value}, score)


def _entry(record: MemoryRecord, namespace: Sequence[str], value: dict[str, Any], score: float | None) -> Entry:
    return {
        "namespace": list(namespace),
        "key": record.id,
        "value": value,
        "created_at": format_time(record.created_at),
        "updated_at": format_time(record.updated_at),
        "score": None if score is None else round(score, 4),
    }


def of_hits(hits: Sequence[MemoryHit], config: MemoryConfig) -> tuple[str, list[Entry]]:
    """The text for a model, and the entries for a program."""
    scored = [(hit.record, hit.namespace, hit.scores.get("total")) for hit in hits]
    told = [brief(record, namespace, config, score) for record, namespace, score in scored]
    return written(told), [whole(*each) for each in scored]


def written(entries: Sequence[Entry]) -> str:
    """The entries as one line of JSON, in their own scripts."""
    return json.dumps(entries, ensure_ascii=False)
