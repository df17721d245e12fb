"""What a person or a program sees: tables in a terminal, JSON with ``--json``."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from langmem_plus.records import TURN_ROLES, Choice, MemoryHit, MemoryRecord, MemoryReport
from langmem_plus.store.versions import Version

STAGES = ("words", "dense", "cosine", "coverage", "relevance", "recency", "importance")
WHY = ("total", "relevance", "recency", "importance")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HALF = re.compile(r"[\ud800-\udfff]")
THREAD_WIDTH = 12  # of a thread's id in a list
CLIPPED = 72  # characters of a memory's text where it is told why it was chosen
_STYLES = {"memory": "green", "user": "cyan", "assistant": "magenta", "summary": "yellow"}

# What is printed is mostly other people's text: nothing in it is markup.
console = Console(markup=False, highlight=False, emoji=False)
errors = Console(markup=False, highlight=False, emoji=False, stderr=True)


def print_json(data: Any) -> None:
    """One JSON document on standard output, without colours or line wrapping."""
    # A terminal that can't show a character gets its escape, which is the same JSON.
    anything = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") in ("utf8", "utf16")
    text = json.dumps(data, ensure_ascii=not anything, indent=2)
    # Half of a surrogate pair can't be printed; its escape is the same JSON.
    print(_HALF.sub(lambda m: f"\\u{ord(m[0]):04x}", text))  # noqa: T201 - this is the program's output


class LineHandler(logging.Handler):
    """Warnings as one line each on standard error; what failed in detail is for a program's own log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record without its traceback."""
        errors.print(
            Text.assemble((record.levelname.lower(), "yellow"), " ", one_line(record.getMessage())), soft_wrap=True
        )


warnings = LineHandler()


def warn(text: str) -> None:
    """One line of warning on standard error."""
    errors.print(Text.assemble(("warning", "yellow"), " ", one_line(text)), soft_wrap=True)


def hit_json(hit: MemoryHit) -> dict[str, Any]:
    """A hit for programs: the record and one number a stage."""
    return {"record": hit.record.to_value(), "scores": {name: round(score, 6) for name, score in hit.scores.items()}}


def role_text(role: str) -> Text:
    """A role in its colour."""
    return Text(role, style=_STYLES.get(role, ""))


def hit_table(hits: Sequence[MemoryHit]) -> Table:
    """Hits, best first, with the score of each stage below the text."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("#", "id", "role", "said", "total"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("#", "total") else "left")
    table.add_column("text", ratio=1)
    for rank, hit in enumerate(hits, 1):
        record = hit.record
        stages = " · ".join(f"{name} {hit.scores[name]:.2f}" for name in STAGES if name in hit.scores)
        text = speaker_text(record).append(f"\n{stages}", style="dim")
        total = f"{hit.scores.get('total', 0):.2f}"
        table.add_row(str(rank), record.id[:8], role_text(record.role), f"{record.said_at:%Y-%m-%d}", total, text)
    return table


def record_table(records: Sequence[MemoryRecord]) -> Table:
    """Records as a list, one line each: long texts are cut to the width of the terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "role", "said", "importance"):
        table.add_column(name, no_wrap=True, justify="right" if name == "importance" else "left")
    table.add_column("text", ratio=1)
    table.add_column("thread", no_wrap=True, max_width=THREAD_WIDTH, overflow="ellipsis")
    for record in records:
        mark = " 📌" if record.pinned else ""
        cut = speaker_text(record)
        # Said of the text, not of the column: of columns that don't wrap all would give way, not this one alone.
        cut.no_wrap, cut.overflow = True, "ellipsis"
        table.add_row(
            record.id[:8],
            role_text(record.role),
            f"{record.said_at:%Y-%m-%d}",
            f"{record.importance:.1f}{mark}",
            cut,
            record.thread_id or "",
        )
    return table


def version_table(versions: Sequence[Version]) -> Table:
    """The states of a memory, the oldest first: since when, whose, what changed, the text, and who tells it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("since", "id", "status"):
        table.add_column(name, no_wrap=True)
    table.add_column("changed", max_width=28)
    table.add_column("text", ratio=1)
    table.add_column("told by", no_wrap=True)
    for version in versions:
        source = f"git {version.place[:8]}" if version.source == "git" else "file"
        since, changed = f"{version.at:%Y-%m-%d %H:%M:%S}", one_line(", ".join(version.changes))
        table.add_row(since, version.key[:8], version.status, changed, one_line(version.text), source)
    return table


def counted(number: int, kind: str) -> str:
    """So many of a kind.

    >>> counted(2, "memory"), counted(1, "file"), counted(3, "version in git"), counted(2, "user")
    ('2 memories', '1 file', '3 versions in git', '2 user messages')
    """
    noun, rest = (f"{kind} message", "") if kind in TURN_ROLES else kind.partition(" ")[::2]
    if number != 1:
        noun = f"{noun[:-1]}ies" if re.search(r"[^aeiou]y$", noun) else f"{noun}s"
    return " ".join(filter(None, (str(number), noun, rest)))


def speaker_text(record: MemoryRecord) -> Text:
    """The text on one line, after its speaker's name."""
    name = record.metadata.get("name")
    line = one_line(record.text)
    return Text.assemble((f"{name}: ", "bold"), line) if isinstance(name, str) and name else Text(line)


def one_line(text: str) -> str:
    """The text with its line ends folded, and without control characters, which a terminal would obey.

    >>> one_line("first\\n  second\\x1b[2J")
    'first second[2J'
    """
    return _HALF.sub("\ufffd", _CONTROL.sub("", " ".join(text.split())))


def record_sheet(record: MemoryRecord) -> Table:
    """Everything about one record; fields without a value are left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(ratio=1)
    for name, value in record.to_value().items():
        if value not in (None, [], {}, "", False) or name in ("importance", "status"):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            table.add_row(name, "\n".join(map(one_line, shown.splitlines())))
    return table


def report_lines(report: MemoryReport, *, everything: bool = False, brief: bool = False) -> list[Text]:
    """A recall's report in a few lines: the plan, what was recalled and why, and what was left out.

    Args:
        report: the report of a run.
        everything: whole texts, each record that was left out instead of their number by reason, and the time it took.
        brief: tell what was recalled and why, and nothing else.
    """
    if report.strategy is None and not report.choices:
        return [Text("Nothing was recalled yet: say something first.", style="dim")] if not brief else []
    lines = [Text.assemble(("plan       ", "dim"), f"{report.strategy} – {report.reason}")]
    left_out = [choice for choice in report.choices if not choice.kept]
    lines += [
        _choice_line("recalled   ", "green", choice, everything, WHY[:1] if brief else WHY)
        for choice in report.choices
        if choice.kept
    ]
    warned = [Text.assemble(("warning    ", "yellow"), one_line(warning)) for warning in report.warnings]
    if brief:
        return lines[1:] + warned
    if everything:
        lines += [_choice_line("left out   ", "dim", choice, everything) for choice in left_out]
    elif left_out:
        reasons = Counter(choice.reason.split(":")[0].split(" (")[0] for choice in left_out)
        counted = "; ".join(f"{number} × {reason}" for reason, number in reasons.most_common())
        lines.append(Text.assemble(("left out   ", "dim"), (f"{counted} (/why all tells each)", "dim")))
    lines += warned
    if everything and report.milliseconds:
        stages = " · ".join(f"{name} {ms:.1f}" for name, ms in report.milliseconds.items())
        lines.append(Text.assemble(("ms         ", "dim"), (stages, "dim")))
    return lines


def clip(text: str, limit: int = CLIPPED) -> str:
    """The text on one line, cut to a bounded length.

    >>> clip("a long story", 8)
    'a long …'
    """
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _choice_line(label: str, style: str, choice: Choice, everything: bool, stages: Sequence[str] = WHY) -> Text:
    text = one_line(choice.text) if everything else clip(choice.text)
    scores = [f"{name} {choice.scores[name]:.2f}" for name in stages if name in choice.scores]
    scores = [score for score in scores if score not in choice.reason]  # the reason may tell some of them
    why = f" – {choice.reason}" + (f" ({', '.join(scores)})" if scores else "")
    return Text.assemble((label, style), text, (why, "dim"))
