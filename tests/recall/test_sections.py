"""The sections of the context: one line a record, an order of their own, a budget that holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.prompts import DOCUMENTS_HEADING, MEMORIES_HEADING, SUMMARY_HEADING
from langmem_plus.recall.sections import LINE_TOKENS, Section, fit_records, fit_summary, record_line, share, topic_of
from langmem_plus.recall.tail import CUT_MARK
from langmem_plus.records import MemoryHit, MemoryRecord
from langmem_plus.tokens import counter

MEASURE = counter()
MakeHit = Callable[..., MemoryHit]
MakeRecord = Callable[..., MemoryRecord]


def memories(hits: list[MemoryHit], tokens: int = 1200, size: int = 64_000) -> Section:
    """The section of memories."""
    return fit_records("memories", MEMORIES_HEADING, hits, MEASURE, token_limit=tokens, byte_limit=size)


def test_a_record_is_one_line(record: MakeRecord) -> None:
    """Role, words with the speaker, the day it was said, short source ids; no score and no clock."""
    made = record(
        "I moved\nto Lyon",
        role="user",
        observed_at=dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC),
        metadata={"name": "Anne"},
        source_ids=["3f2a9c1e-0000-4000-8000-000000000001", "D1:3", "third"],
    )
    section = memories([MemoryHit(record=made)])
    assert section.text == f"{MEMORIES_HEADING}\n[user] Anne: I moved to Lyon (2023-05-08; 3f2a9c1e; D1:3)"


def test_a_record_without_sources_names_itself(record: MakeRecord) -> None:
    """So that it can be found and corrected."""
    assert record_line(record("tea", id="k1"), "tea") == "[memory] tea (2026-03-01; k1)"


def test_lines_are_grouped_by_topic_then_time(hit: MakeHit) -> None:
    """By the first tag that others have, too; without one first. The order of the hits doesn't show."""
    day = dt.timedelta(days=1)
    hits = [
        hit("w2", tags=["work"], observed_at=dt.datetime(2024, 1, 2, tzinfo=dt.UTC)),
        hit("h1", tags=["Home", "garden"], id="h1"),
        hit("h2", tags=["home"], id="h2"),
        hit("alone", tags=["tea"], id="z"),
        hit("none"),
        hit("w1", tags=["work"], observed_at=dt.datetime(2024, 1, 2, tzinfo=dt.UTC) - day),
    ]
    lines = [line.split(" (")[0] for line in memories(hits).text.splitlines()]
    assert lines[:3] == ["# Memories", "[memory] none", "[memory] alone"]
    assert lines[3:6] == ["## Home", "[memory] h1", "[memory] h2"]
    assert lines[6:] == ["## work", "[memory] w1", "[memory] w2"]
    assert memories(hits[::-1]).text == memories(hits).text


def test_topics_are_escaped_and_short(record: MakeRecord) -> None:
    """A tag may come from anybody."""
    assert topic_of(record("x", tags=["a\n</memory_context>"])) == "a (lt)/memory_context>"
    assert len(topic_of(record("x", tags=["a" * 5000]))) < 100
    assert topic_of(record("x", role="document", tags=["t"], metadata={"path": "docs/a.md"})) == "docs/a.md"
    assert topic_of(record("x")) == ""


def test_long_records_are_shortened_before_others_are_dropped(hit: MakeHit) -> None:
    """At a sentence; the short ones stay whole, all are there."""
    long = "Here is one more sentence about tea. " * 200
    section = memories([hit(long, id="long"), *(hit(f"short fact {n}") for n in range(5))], tokens=300)
    assert MEASURE.count(section.text) <= 300
    assert [line.hit.record.id for line in section.lines if line.shortened] == ["long"]
    assert f"tea.{CUT_MARK} (" in section.text
    assert (len(section.lines), section.cut) == (6, [])


def test_a_long_record_gives_way_to_its_summary(hit: MakeHit) -> None:
    """Where it has one of its own."""
    section = memories([hit("word " * 3000, metadata={"summary": "They spoke of\npottery."})], tokens=200)
    assert "[memory] They spoke of pottery. (" in section.text
    assert section.lines[0].shortened


def test_the_lowest_ranked_are_left_out_last(hit: MakeHit) -> None:
    """And the report says where there was no room."""
    hits = [hit(f"fact number {n} " + "and so on " * 20, id=str(n)) for n in range(50)]
    section = memories(hits, tokens=400)
    kept = [line.hit.record.id for line in section.lines]
    assert kept == [str(n) for n in range(len(kept))]
    assert 3 < len(kept) < 50
    assert [choice.id for choice in section.cut] == [str(n) for n in range(len(kept), 50)]
    assert section.cut[0].reason == "no room was left in the memories"


def test_excerpts_of_documents_are_bounded_in_bytes(hit: MakeHit) -> None:
    """``document_excerpt_bytes``, to the end of a sentence, in any script."""
    hits = [hit("这是一个句子。" * 500, role="document", metadata={"path": "a.md"}, id="d")]
    section = fit_records(
        "documents", DOCUMENTS_HEADING, hits, MEASURE, token_limit=5000, byte_limit=64_000, excerpt_bytes=120
    )
    line = section.lines[0].text
    excerpt = line.removeprefix("[document] ").split(" (")[0]
    assert len(excerpt.encode()) <= 120
    assert excerpt.endswith("。" + CUT_MARK)
    assert section.text.splitlines()[1] == "## a.md"


def test_a_summary_keeps_its_lines(record: MakeRecord) -> None:
    """Escaped, without empty ones."""
    section = fit_summary(
        record("- one\n\n-  two </memory_context>"), SUMMARY_HEADING, MEASURE, token_limit=400, byte_limit=9000
    )
    assert section.text == f"{SUMMARY_HEADING}\n- one\n-  two (lt)/memory_context>"
    assert fit_summary(None, SUMMARY_HEADING, MEASURE, token_limit=400, byte_limit=9000).text == ""
    assert not fit_summary(None, SUMMARY_HEADING, MEASURE, token_limit=0, byte_limit=0).body_cut


@pytest.mark.parametrize(
    ("sizes", "budget", "expected"),
    [
        ([10, 20, 30], 60, [10, 20, 30]),
        ([100, 300, 60], 300, [100, 140, 60]),
        ([500], 100, [100]),
        ([500], LINE_TOKENS - 1, []),
        ([500, 10], LINE_TOKENS, [LINE_TOKENS]),
        ([10, 500, 10], 12, [10]),
        ([], 10, []),
        ([5], -1, []),
    ],
)
def test_a_budget_is_shared_fairly(sizes: list[int], budget: int, expected: list[int]) -> None:
    """Short ones leave their rest to the long ones; who would get too little gets nothing."""
    assert share(sizes, budget) == expected


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(-10, 2000))
def test_shares_fit_the_budget(sizes: list[int], budget: int) -> None:
    """For any sizes: never more than asked for, never more than there is, the best first."""
    shares = share(sizes, budget)
    assert sum(shares) <= max(budget, 0)
    assert all(given <= asked for given, asked in zip(shares, sizes, strict=False))
    assert all(given >= min(asked, LINE_TOKENS) for given, asked in zip(shares, sizes, strict=False))


texts = st.one_of(st.text(min_size=1), st.sampled_from(["word " * 100, "字" * 300, "</memory_context>\n" * 9]))


@given(
    st.lists(texts, max_size=8), st.integers(0, 400), st.integers(0, 3000), st.lists(st.text(max_size=5), max_size=2)
)
def test_no_section_exceeds_its_budget(bodies: list[str], tokens: int, size: int, tags: list[str]) -> None:
    """Neither in tokens nor in bytes, whatever the texts."""
    hits = [MemoryHit(record=MemoryRecord(id=str(n), text=t, user_id="a", tags=tags)) for n, t in enumerate(bodies)]
    for section in (
        memories(hits, tokens, size),
        fit_summary(hits[0].record if hits else None, SUMMARY_HEADING, MEASURE, token_limit=tokens, byte_limit=size),
    ):
        assert not section.text or MEASURE.count(section.text) <= tokens
        assert len(section.text.encode("utf-8", errors="replace")) <= size
