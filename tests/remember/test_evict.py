from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, Scores
from langmem_plus.remember.evict import aevict, choose, evict, evict_node, strength

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def record(name: str, days: float = 0, **fields: Any) -> MemoryRecord:
    """A record that is so many days old."""
    said = NOW - dt.timedelta(days=days)
    return MemoryRecord(**{"id": name, "text": name, "user_id": "u", "observed_at": said, **fields})


def test_a_fresh_score_is_used_and_a_stale_one_computed_anew() -> None:
    """Without a query there is no relevance: recency and importance remain, over all three weights."""
    config = MemoryConfig(score_stale_hours=24)
    fresh = Scores(total=0.7, computed_at=NOW - dt.timedelta(hours=23))
    stale = Scores(total=0.7, computed_at=NOW - dt.timedelta(hours=25))
    assert strength(record("a", last_scores=fresh), config, NOW) == 0.7
    new = strength(record("a", last_scores=stale, importance=1.0), config, NOW)
    weights = config.recency_weight, config.importance_weight
    assert new == sum(weights) / (config.relevance_weight + sum(weights))
    assert strength(record("a", days=30), config, NOW) < strength(record("a"), config, NOW)
    assert strength(record("a", days=-400), config, NOW) == strength(record("a"), config, NOW)
    assert strength(record("a"), MemoryConfig(relevance_weight=0, recency_weight=0, importance_weight=0), NOW) == 0


def test_the_weakest_or_the_oldest_go_first() -> None:
    """As evict_by says, and only as many as are too many."""
    records = [record("old but dear", 90, importance=1.0), record("new", 1), record("plain", 60)]
    names = [found.id for found in choose(records, MemoryConfig(max_entries=2), NOW)]
    assert names == ["plain"]
    by_age = MemoryConfig(max_entries=1, evict_by="age")
    assert [found.id for found in choose(records, by_age, NOW)] == ["old but dear", "plain"]
    assert choose(records, MemoryConfig(max_entries=3), NOW) == []


@given(
    st.lists(
        st.builds(
            record,
            st.uuids().map(str),
            st.floats(-10, 1000),
            role=st.sampled_from(["memory", "user", "assistant", "summary", "archive", "document"]),
            pinned=st.booleans(),
            manually_saved=st.booleans(),
            extracted=st.sampled_from([None, True, False]),
            importance=st.floats(0, 1),
        ),
        max_size=30,
    ),
    st.integers(1, 10),
    st.sampled_from(["score", "age"]),
    st.sampled_from([("memory",), ("memory", "user", "assistant")]),
)
def test_what_is_kept_on_purpose_is_never_evicted(
    records: list[MemoryRecord], bound: int, by: Any, roles: tuple[Any, ...]
) -> None:
    """Pinned, manually saved, summaries, other roles, and turns that wait for extraction."""
    config = MemoryConfig(max_entries=bound, evict_by=by, evict_roles=roles)
    chosen = choose(records, config, NOW)
    counted = [each for each in records if each.role in roles]
    assert len(chosen) <= max(len(counted) - bound, 0)
    for each in chosen:
        assert each.role in roles
        assert not each.pinned
        assert not each.manually_saved
        assert each.extracted is not False


def test_evicted_records_become_tombstones_with_a_reason(person: Any) -> None:
    """Nothing is destroyed, and the rest stays."""
    ann = person(max_entries=2)
    for text in ("I like tea.", "I like jazz.", "I live in Lyon.", "Remember that I own a boat."):
        ann.say(text)
    assert evict(ann.services, ann.scope).counts == {"evicted": 2}
    assert ann.texts() == ["I like jazz.", "I own a boat."]
    assert all("more than 2 records" in found.metadata["reason"] for found in ann.records(status="deleted"))
    assert evict(ann.services, ann.scope).counts == {"evicted": 0}


def test_turns_count_where_the_settings_say_so(person: Any) -> None:
    """Facts and turns together, the oldest first; a waiting turn stays."""
    ann = person(max_entries=3, evict_roles=("memory", "user", "assistant"), evict_by="age")
    ann.say("I like tea.")
    ann.tell("I like jazz.")
    evict(ann.services, ann.scope)
    left = [*ann.texts(), *ann.texts("user"), *ann.texts("assistant")]
    assert len(left) == 3
    assert "I like jazz." in ann.texts("user")


async def test_eviction_is_the_same_in_async_and_does_nothing_incognito(person: Any) -> None:
    """Two drivers, one core."""
    ann = person(max_entries=1)
    for text in ("I like tea.", "I like jazz.", "I live in Lyon."):
        ann.say(text)
    config: dict[str, Any] = {"configurable": {"user_id": ann.scope.user_id, "thread_id": "t1", "incognito": True}}
    node = evict_node(ann.services)
    node.invoke({}, config)
    await node.ainvoke({}, config)
    assert len(ann.texts()) == 3
    assert (await aevict(ann.services, ann.scope)).counts == {"evicted": 2}
    del config["configurable"]["incognito"]
    assert (await node.ainvoke({}, config))["memory_report"]["counts"] == {"evicted": 0}
    assert node.invoke({}, config)["memory_report"]["counts"] == {"evicted": 0}
