"""Records, times and ids; scopes stand in test_records_scope."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langmem_plus.records import (
    Choice,
    Decision,
    Fact,
    MemoryHit,
    MemoryRecord,
    MemoryReport,
    Scope,
    Scores,
    format_time,
    parse_time,
    record_id,
    summary_key,
    unique,
    utc_now,
)

texts = st.one_of(st.text(alphabet="0123456789:ab", max_size=6), st.text())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
moments = st.datetimes(timezones=st.just(dt.UTC))
numbers = st.floats(0, 1)


class TestTimes:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("2024-03-01T10:00:00+00:00", "2024-03-01T10:00:00+00:00"),
            ("2024-03-01T10:00:00Z", "2024-03-01T10:00:00+00:00"),
            ("2024-03-01T10:00:00", "2024-03-01T10:00:00+00:00"),
            ("2024-03-01 10:00", "2024-03-01T10:00:00+00:00"),
            ("  2024-03-01T10:00:00.5Z\n", "2024-03-01T10:00:00.500000+00:00"),
            ("2024-03-01T10:00:00+05:30", "2024-03-01T04:30:00+00:00"),
            ("2024-03-01", "2024-03-01T00:00:00+00:00"),
            (dt.date(2024, 3, 1), "2024-03-01T00:00:00+00:00"),
            (dt.datetime(2024, 3, 1, 10), "2024-03-01T10:00:00+00:00"),
            ("2999-01-01", "2999-01-01T00:00:00+00:00"),
            (1_709_287_200, "2024-03-01T10:00:00+00:00"),
        ],
        ids=repr,
    )
    def test_times_are_read_as_people_write_them(self, written: Any, read: str) -> None:
        """Aware, naive, ``Z``, a date alone, in the future: each becomes aware UTC."""
        moment = _record(observed_at=written).observed_at
        assert moment is not None
        assert moment.utcoffset() == dt.timedelta(0)
        assert moment.isoformat() == read

    @pytest.mark.parametrize("value", ["yesterday", "", None, 5, [1]], ids=repr)
    def test_what_is_no_time_is_handed_back(self, value: Any) -> None:
        """The reader leaves it to pydantic to name what isn't a time."""
        assert parse_time(value) is value

    @pytest.mark.parametrize("value", ["yesterday", "0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00"])
    def test_an_impossible_time_is_a_validation_error(self, value: str) -> None:
        """A hand-edited file with such a time is refused with its name, and breaks nothing else."""
        with pytest.raises(ValidationError, match="observed_at"):
            _record(observed_at=value)

    @given(moments)
    def test_a_time_comes_back(self, moment: dt.datetime) -> None:
        """What is written is read as the same moment, to the microsecond."""
        assert parse_time(format_time(moment)) == moment

    @given(moments, moments)
    def test_text_order_is_time_order(self, one: dt.datetime, other: dt.datetime) -> None:
        """Written times have one width and sort as the moments do, in every century."""
        first, second = format_time(one), format_time(other)
        assert len(first) == len(second) == 27
        assert (first < second) == (one < other)

    def test_now_is_aware(self) -> None:
        """The clock gives UTC."""
        assert utc_now().tzinfo is dt.UTC


class TestRecordId:
    @given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
    def test_the_same_parts_give_the_same_id_and_others_another(self, one: list[str], other: list[str]) -> None:
        """However the parts are cut, two lists of parts meet only when they are equal."""
        assert (record_id(*one) == record_id(*other)) == (one == other)

    def test_an_id_is_the_same_in_every_process(self) -> None:
        """The id of known parts is known, and another interpreter finds the same one."""
        parts = "'turn', 'memories', 'alice', 3, '用户'"
        code = f"from langmem_plus.records import record_id; print(record_id({parts}))"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == record_id("turn", "memories", "alice", 3, "用户")
        assert uuid.UUID(ran.stdout.strip()).version == 5

    def test_a_threads_summary_has_one_key(self) -> None:
        """Recall, which knows the scope's thread, and remember, which works threads off, find the same record."""
        scope = Scope("ann", thread_id="t1")
        assert summary_key(scope) == summary_key(Scope("ann"), "t1") != summary_key(scope, "t2")
        assert summary_key(scope) == record_id("summary", "memories", "ann", "default", "t1")

    def test_broken_text_has_an_id(self) -> None:
        """Half a surrogate pair, as broken emoji bring it, doesn't stop a turn from being recorded."""
        assert record_id("\ud83d") != record_id("\ud83e")


class TestMemoryRecord:
    @given(
        text=st.text(),
        metadata=st.dictionaries(st.text(), json_values, max_size=3),
        times=st.tuples(moments, moments, st.none() | moments),
        scores=st.none() | st.builds(Scores, relevance=numbers, total=numbers, computed_at=st.none() | moments),
        tags=st.lists(st.text(), max_size=3),
        importance=numbers,
    )
    def test_a_record_comes_back_from_its_value(self, times: Any, scores: Any, **fields: Any) -> None:
        """The value in the store, written as JSON and read again, is the same record."""
        created, updated, observed = times
        record = _record(created_at=created, updated_at=updated, observed_at=observed, last_scores=scores, **fields)
        assert MemoryRecord.model_validate(json.loads(json.dumps(record.to_value()))) == record

    def test_the_value_is_flat_plain_json(self) -> None:
        """Every documented field is there, by its name, as JSON."""
        value = _record(observed_at="2024-03-01", last_scores=Scores(total=0.5)).to_value()
        assert list(value) == [
            *("id", "role", "text", "user_id", "space", "thread_id", "agent_id", "created_at", "updated_at"),
            *("observed_at", "expires_at", "importance", "pinned", "manually_saved", "tags", "source_ids"),
            *("metadata_confidence", "simhash", "repeat_count", "replaces", "replaced_by", "status", "extracted"),
            *("covers_until", "summary_kind", "metadata", "last_scores"),
        ]
        assert value["observed_at"] == "2024-03-01T00:00:00.000000Z"
        assert list(value["last_scores"]) == ["relevance", "recency", "importance", "total", "computed_at"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("importance", 1.01),
            ("importance", -0.01),
            ("metadata_confidence", 2),
            ("simhash", "xyz"),
            ("simhash", "ABCDEF0123456789"),
            ("repeat_count", -1),
            ("role", "system"),
            ("status", "gone"),
            ("text", None),
            ("colour", "red"),
        ],
    )
    def test_a_record_that_contradicts_itself_is_refused(self, field: str, value: Any) -> None:
        """Numbers out of their bounds, unknown words and unknown fields are named in the error."""
        with pytest.raises(ValidationError, match=field):
            _record(**{field: value})

    def test_said_at_prefers_when_it_was_said(self) -> None:
        """The time of the message counts, and without it the time of writing."""
        assert _record(observed_at="2024-03-01").said_at == dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
        record = _record()
        assert record.said_at == record.created_at

    def test_records_share_no_defaults(self) -> None:
        """What is added to one record's lists is in no other's."""
        one, other = _record(), _record()
        one.tags.append("x")
        one.metadata["x"] = 1
        assert (other.tags, other.metadata) == ([], {})


class TestSmallRecords:
    def test_a_facts_key_is_its_sources_and_its_place(self) -> None:
        """The same fact of the same turn is written once, whatever it says this time."""
        assert Fact(text="a", source_id="t", ordinal=0).key == Fact(text="b", source_id="t", ordinal=0).key
        assert Fact(text="a", source_id="t", ordinal=0).key != Fact(text="a", source_id="t", ordinal=1).key
        assert Fact(text="a", source_id="t1", ordinal=0).key != Fact(text="a", source_id="t", ordinal=10).key

    def test_a_decision_has_four_events(self) -> None:
        """ADD, UPDATE, DELETE and NONE are all that can be decided."""
        assert Decision(event="ADD", fact=Fact(text="a", source_id="t", ordinal=0)).by == "rule"
        with pytest.raises(ValidationError, match="event"):
            Decision(event="DROP")  # type: ignore[arg-type]

    def test_a_hit_never_serialises_its_vector(self) -> None:
        """The vector is for ranking; it isn't written or printed."""
        hit = MemoryHit(record=_record(), vector=[0.5, 0.5])
        assert hit.text == "a text"
        assert "vector" not in hit.model_dump()
        assert "0.5" not in repr(hit)

    def test_reports_merge(self) -> None:
        """Later strategy and numbers win, lists are joined, a choice replaces an earlier one, a warning stands once."""
        before = MemoryReport(
            strategy="memory",
            reason="default",
            counts={"fetched": 5},
            milliseconds={"plan": 1.0},
            choices=[
                Choice(id="a", text="a", kept=True, reason="near"),
                Choice(id="b", text="b", kept=True, reason="near"),
            ],
            warnings=["no model"],
        )
        own = MemoryReport(
            counts={"fetched": 6, "kept": 1},
            milliseconds={"mmr": 2.0},
            choices=[Choice(id="b", text="b", kept=False, reason="a repeat")],
            decisions=[{"event": "ADD"}],
            warnings=["no model", "no embedder"],
        )
        merged = before.merge(own)
        assert (merged.strategy, merged.reason) == ("memory", "default")
        assert merged.counts == {"fetched": 6, "kept": 1}
        assert merged.milliseconds == {"plan": 1.0, "mmr": 2.0}
        assert [(choice.id, choice.kept) for choice in merged.choices] == [("a", True), ("b", False)]
        assert merged.decisions == [{"event": "ADD"}]
        assert merged.warnings == ["no model", "no embedder"]
        assert before.counts == {"fetched": 5}
        assert own.after(before.model_dump(mode="json")) == merged.model_dump(mode="json")

    def test_a_report_follows_what_stands_in_a_state(self) -> None:
        """Nothing, a part of a report, or one that says nothing; what is none is refused."""
        own = MemoryReport(counts={"kept": 1}, warnings=["no model"])
        assert own.after(None) == own.after({}) == own.model_dump(mode="json")
        assert own.after({"warnings": ["no store"]})["warnings"] == ["no store", "no model"]
        assert own.after(MemoryReport().model_dump(mode="json")) == own.model_dump(mode="json")
        with pytest.raises(ValidationError):
            own.after({"counts": "many"})

    def test_unique_keeps_the_first_order(self) -> None:
        """Each item once, where it stood first."""
        assert unique(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def _record(**fields: Any) -> MemoryRecord:
    return MemoryRecord(**{"id": "1", "text": "a text", "user_id": "alice", **fields})


def test_nothing_is_said_after_it_was_written() -> None:
    """A client's clock that is ahead doesn't make a statement newer than everything that follows."""
    written = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    for observed, said in ((written + dt.timedelta(hours=9), written), (written - dt.timedelta(days=1), None)):
        record = MemoryRecord(id="a", text="t", user_id="u", created_at=written, observed_at=observed)
        assert record.said_at == (said or observed)
