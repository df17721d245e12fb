"""Published systems, as settings that reproduce how they behave."""

from __future__ import annotations

from typing import Any

_AGENT_CLI: dict[str, Any] = {
    "top_k": 5,
    "fetch_k": 15,
    "relevance": "minmax",
    "score_threshold": None,
    "relevance_weight": 0.8,
    "recency_weight": 0.2,
    "importance_weight": 0.0,
    "recency_tau_days": 30.0,
    "mmr_lambda": 0.7,
    "max_entries": 500,
    "evict_roles": ("memory", "user", "assistant"),
    "evict_by": "age",
    "versioning": True,
}

PRESETS: dict[str, dict[str, Any]] = {
    "agent-cli": _AGENT_CLI,
    "agent-cli-sigmoid": {**_AGENT_CLI, "relevance": "sigmoid", "score_threshold": 0.35, "versioning": False},
    "theoria": {
        "reranker": "none",
        "fusion": "rrf",
        "rrf_k": 60,
        "relevance_weight": 1.0,
        "recency_weight": 1.0,
        "importance_weight": 1.0,
        "recency_tau_days": 7.0,
        "top_k": 12,
        "max_entries": 200,
    },
    "agent-service": {
        "reranker": "none",
        "recall_scope": "thread",
        "compress": True,
        "threshold_tokens": 10_000,
        "recent_messages_to_keep": 10,
        "compress_deletes_turns": True,
        "archive_conversations": True,
        "relevance_threshold": 0.7,
        "turn_ttl_days": 7.0,
        "retention_days": 7.0,
    },
}
