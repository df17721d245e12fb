"""Presets: each reproduces a published behaviour exactly."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.presets import PRESETS


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        (
            "agent-cli",
            {
                "top_k": 5,
                "fetch_k": 15,
                "relevance": "minmax",
                "score_threshold": None,
                "relevance_weight": 0.8,
                "recency_weight": 0.2,
                "importance_weight": 0,
                "recency_tau_days": 30,
                "mmr_lambda": 0.7,
                "max_entries": 500,
                "evict_roles": ("memory", "user", "assistant"),
                "evict_by": "age",
                "versioning": True,
            },
        ),
        (
            "agent-cli-sigmoid",
            {
                "top_k": 5,
                "fetch_k": 15,
                "relevance": "sigmoid",
                "score_threshold": 0.35,
                "relevance_weight": 0.8,
                "recency_weight": 0.2,
                "importance_weight": 0,
                "recency_tau_days": 30,
                "mmr_lambda": 0.7,
                "max_entries": 500,
                "evict_roles": ("memory", "user", "assistant"),
                "evict_by": "age",
                "versioning": False,
            },
        ),
        (
            "theoria",
            {
                "reranker": "none",
                "fusion": "rrf",
                "rrf_k": 60,
                "relevance_weight": 1,
                "recency_weight": 1,
                "importance_weight": 1,
                "recency_tau_days": 7,
                "top_k": 12,
                "max_entries": 200,
            },
        ),
        (
            "agent-service",
            {
                "reranker": "none",
                "recall_scope": "thread",
                "compress": True,
                "threshold_tokens": 10_000,
                "recent_messages_to_keep": 10,
                "compress_deletes_turns": True,
                "archive_conversations": True,
                "relevance_threshold": 0.7,
                "turn_ttl_days": 7,
                "retention_days": 7,
            },
        ),
    ],
)
def test_a_preset_is_exact(name: str, knobs: dict[str, Any]) -> None:
    """A preset sets what its system publishes, and leaves the rest at the defaults."""
    config = MemoryConfig.preset(name)
    assert PRESETS[name] == knobs
    assert config == MemoryConfig(**knobs)


def test_there_are_four() -> None:
    """The presets of the design."""
    assert list(PRESETS) == ["agent-cli", "agent-cli-sigmoid", "theoria", "agent-service"]


def test_an_argument_wins_over_a_preset() -> None:
    """A preset is a starting point."""
    assert MemoryConfig.preset("theoria", top_k=3).top_k == 3


def test_an_unknown_preset_is_an_error() -> None:
    """The message lists those that there are."""
    with pytest.raises(ConfigError, match=r"'mem0'.*agent-cli, agent-cli-sigmoid, theoria, agent-service"):
        MemoryConfig.preset("mem0")
