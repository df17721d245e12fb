"""What a person or a program sees."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from rich.console import Console

from langmem_plus.cli.output import (
    clip,
    hit_json,
    one_line,
    print_json,
    record_sheet,
    record_table,
    report_lines,
    warnings,
)
from langmem_plus.records import Choice, MemoryHit, MemoryRecord, MemoryReport

LONG = "word " * 100


def shown(*things: object, width: int = 80) -> str:
    """What a terminal of this width shows."""
    console = Console(file=io.StringIO(), width=width, markup=False)
    for thing in things:
        console.print(thing)
    return console.file.getvalue()  # type: ignore[attr-defined]


def record(**fields: object) -> MemoryRecord:
    """A record."""
    return MemoryRecord.model_validate({"id": "0123456789", "text": LONG, "user_id": "ann", **fields})


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_record_is_one_line_of_a_table(width: int) -> None:
    """Whatever its length; a wider terminal shows more of it, and the other columns stay whole."""
    lines = shown(record_table([record(), record(role="assistant", thread_id="t" * 99)]), width=width).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "01234567" in lines[1]
    assert "assistant" in lines[2]
    assert "…" in lines[1]


def test_a_sheet_shows_everything() -> None:
    """Nothing of one record is cut, and what has no value is left out."""
    sheet = shown(record_sheet(record(tags=["a"])))
    assert sheet.count("word") == 100
    assert "replaced_by" not in sheet
    assert '["a"]' in sheet


def test_a_report_is_short_unless_everything_is_wanted() -> None:
    """Texts are clipped with their scores; what was left out is counted by reason, or told one by one."""
    scores = {"total": 0.9, "relevance": 0.8, "words": 0.1}
    choices = [Choice(id="1", text=LONG, kept=True, reason="it answers", scores=scores)]
    choices += [Choice(id=str(n), text="other", kept=False, reason=f"below: {n}") for n in (2, 3)]
    report = MemoryReport(strategy="memory", reason="a question", choices=choices, milliseconds={"plan": 1.0})
    short = [line.plain for line in report_lines(report)]
    assert [line.split()[0] for line in short] == ["plan", "recalled", "left"]
    assert all(len(line) < 160 for line in short)
    assert "total 0.90, relevance 0.80)" in short[1]
    assert "2 × below" in short[2]
    whole = [line.plain for line in report_lines(report, everything=True)]
    assert [line.split()[0] for line in whole] == ["plan", "recalled", "left", "left", "ms"]
    assert whole[1].count("word") == 100
    assert len(report_lines(report, brief=True)) == 1
    assert "say something first" in report_lines(MemoryReport())[0].plain


def test_a_terminal_gets_nothing_to_obey() -> None:
    """Control characters are dropped, line ends folded, and a text is cut with a mark."""
    assert one_line("a\n b\x1b[2J\x07\ud83d") == "a b[2J\ufffd"
    assert clip("x" * 100, 10) == "x" * 9 + "…"
    assert clip("x" * 10, 10) == "x" * 10


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_is_the_same_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """What an output can't hold is escaped, never lost."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_json({"text": "用户 é \ud83d"})
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode(encoding)) == {"text": "用户 é \ud83d"}


def test_a_hit_for_programs_has_its_scores() -> None:
    """The whole record, and rounded numbers."""
    found = hit_json(MemoryHit(record=record(), scores={"total": 1 / 3}))
    assert found["scores"] == {"total": 0.333333}
    assert found["record"]["text"] == LONG


def test_a_number_that_the_reason_tells_is_not_told_again() -> None:
    """Each number stands there once."""
    reason = "relevance 1.00, recency 0.50"
    scores = {"total": 0.99, "relevance": 1.0, "recency": 0.5, "importance": 0.2}
    choice = Choice(id="a", text="I live in Lyon.", kept=True, reason=reason, scores=scores)
    (_, line) = report_lines(MemoryReport(strategy="quick", reason="a question", choices=[choice]))
    assert line.plain.endswith(f"{reason} (total 0.99, importance 0.20)")


def test_a_warning_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long: a path that is broken can't be copied."""
    said = Console(file=io.StringIO(), width=80, markup=False)
    monkeypatch.setattr("langmem_plus.cli.output.errors", said)
    path = "/memory/" + "x/" * 60
    warnings.emit(logging.LogRecord("a", logging.WARNING, "", 0, "the memory file %r was left out", (path,), None))
    assert said.file.getvalue() == f"warning the memory file {path!r} was left out\n"  # type: ignore[attr-defined]
