"""Which values are records."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.records import MemoryRecord, Scores
from langmem_plus.store.markdown.entry import Entry, is_record

RECORD = MemoryRecord(id="k", text="tea", user_id="ann")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "other"},
        {"extra": 1},
        {"importance": 0},
        {"importance": 7.0},
        {"role": "friend"},
        {"created_at": "2026-05-01"},
        {"created_at": "2026-05-01T10:00:00+00:00"},
        {"tags": None},
        {"tags": {"a": 1}},
        {"metadata": []},
        {"simhash": "xyz"},
        {"pinned": 1},
        {"last_scores": {"total": 1}},
    ],
    ids=repr,
)
def test_what_is_only_like_a_record_is_a_foreign_value(changes: dict[str, Any]) -> None:
    """Such a value would not come back as it was, so it is kept as it is."""
    assert not is_record("k", {**RECORD.to_value(), **changes})


def test_the_dump_of_a_record_is_one() -> None:
    """With or without scores; under its own key alone."""
    assert is_record("k", RECORD.to_value())
    assert is_record("k", RECORD.model_copy(update={"last_scores": Scores(total=0.5)}).to_value())
    assert not is_record("other", RECORD.to_value())
    assert not is_record("k", {"text": "tea"})
    assert not is_record("k", {name: value for name, value in RECORD.to_value().items() if name != "tags"})


@pytest.mark.parametrize(
    ("status", "tombstone"), [("active", False), ("pending", False), ("superseded", True), ("deleted", True)]
)
def test_a_retired_record_is_a_tombstone(status: str, tombstone: bool) -> None:
    """By its status; a foreign value only by being removed."""
    value = {**RECORD.to_value(), "status": status}
    assert Entry("k", value, "", "").is_tombstone is tombstone
    assert not Entry("other", value, "", "").is_tombstone
    assert Entry("other", value, "", "", removed_at="2026").is_tombstone
