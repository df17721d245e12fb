"""How memories look in a notebook: HTML out of records, hits, reports and receipts as plain JSON.

What is stored was said by anybody, so nothing of it is trusted: every text is escaped, isolated from the direction and
the formulas around it, and clipped. The HTML has no scripts, no style sheets and no outside resources; its colours are
those of the page and shades of grey and blue that show on light and on dark ones; without styles it is plain tables.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Value = Mapping[str, Any]

TEXT_LIMIT = 200  # characters of a text in a table
LONG_LIMIT = 2000  # characters of a text that is shown alone
ROWS = 50  # rows of a table
ID_LENGTH = 8  # characters of an id; `MemoryClient.get` takes a beginning

_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border-bottom:{_LINE}"
_BLUE = "rgba(90,140,220,.4)"
_FUNNEL = ("candidates", "relevant", "chosen", "injected")
_FINAL = ("relevance", "recency", "importance", "total")
_LEGS = ("words", "dense", "store")
_UNSEEN = frozenset({"Cc", "Cs"})
_FORMULA = re.compile(r"[$\\]")


# texts


def escaped(text: object, limit: int = TEXT_LIMIT) -> str:
    """A text as HTML that shows it and does nothing else; cut to a limit of characters.

    >>> escaped('<b>"Hi"</b>')
    '<bdi>&lt;b&gt;&quot;Hi&quot;&lt;/b&gt;</bdi>'
    """
    safe = html.escape(_clipped(text, limit))
    # Notebooks typeset what stands between dollars or behind backslashes; a formula doesn't reach beyond an element.
    return f"<bdi>{_FORMULA.sub(_apart, safe)}</bdi>"


def _apart(sign: re.Match[str]) -> str:
    return f"<span>{sign[0]}</span>"


def attribute(text: object) -> str:
    """A text for a quoted attribute."""
    return html.escape(_clipped(text, TEXT_LIMIT))


def _clipped(text: object, limit: int) -> str:
    """No longer than the limit, without control characters and halves of surrogate pairs, which no page can hold."""
    words = str(text)
    words = words if len(words) <= limit else f"{words[:limit].rstrip()} …"
    return "".join(map(_printable, words))


def _printable(char: str) -> str:
    if char in "\n\t":
        return " "
    return "\ufffd" if unicodedata.category(char) in _UNSEEN else char


# pieces


def table(head: Sequence[str], rows: Sequence[Sequence[str]], more: int = 0) -> str:
    """A table of cells that are HTML already, under headings that are texts.

    Args:
        head: the headings; none at all for a table without.
        rows: the cells.
        more: how many rows were left out.
    """
    names = "".join(f'<th style="{_CELL}">{escaped(name)}</th>' for name in head)
    lines = ["".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows]
    if more:
        lines.append(f'<td style="{_CELL}" colspan="{max(len(head), 1)}"><em>… and {more} more</em></td>')
    body = "".join(f'<tr style="background:transparent">{line}</tr>' for line in lines)
    top = f"<thead><tr>{names}</tr></thead>" if names else ""
    return f'<table style="border-collapse:collapse;color:inherit">{top}<tbody>{body}</tbody></table>'


def bar(value: object, text: str | None = None) -> str:
    """A number in [0, 1] as a bar with its value in it; what is no number is a dash.

    Args:
        value: the number; beyond the bounds the bar is empty or full.
        text: what stands in it in place of the number; plain text.
    """
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    share = f"{100 * min(max(float(value), 0.0), 1.0):.0f}%"
    label = f"{value:.2f}" if text is None else escaped(text)
    filled = f"background:linear-gradient(to right,{_BLUE} {share},transparent {share})"
    return f'<div style="min-width:4.5em;padding:0 .3em;border-radius:2px;white-space:nowrap;{filled}">{label}</div>'


def _box(*parts: str) -> str:
    # The classes tell both of MathJax's generations to leave the texts alone.
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(part for part in parts if part)}</div>'


def _line(*parts: str) -> str:
    return f'<div style="margin:.3em 0">{" ".join(parts)}</div>'


def _name(text: str) -> str:
    return f"<strong>{escaped(text)}</strong>"


def _folded(title: str, inner: str) -> str:
    return f"<details><summary>{escaped(title)}</summary>{inner}</details>"


def _listed(texts: Iterable[object]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>"


def _id(id: object) -> str:
    return f'<code title="{attribute(id)}">{escaped(_clipped(id, LONG_LIMIT)[:ID_LENGTH])}</code>'


def _day(value: Value) -> str:
    """The day on which it was said, as a record tells it."""
    times = sorted(str(value[name]) for name in ("observed_at", "created_at") if value.get(name))
    return f'<span style="white-space:nowrap">{escaped(times[0][:10])}</span>' if times else "–"


def _marks(value: Value) -> str:
    """What is special about a record."""
    marks = [name.replace("_", " ") for name in ("pinned", "manually_saved") if value.get(name)]
    if value.get("status") not in (None, "active"):
        marks.append(str(value["status"]))
    return f" <em>({escaped(', '.join(marks))})</em>" if marks else ""


def _numbers(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{escaped(name)}&nbsp;{escaped(number)}" for name, number in counts.items())


# records and hits


def records_html(values: Sequence[Value]) -> str:
    """A table of records.

    Args:
        values: as `MemoryRecord.to_value` gives them.
    """
    rows = [
        [
            escaped(value.get("text", "")) + _marks(value),
            escaped(value.get("role", "")),
            _day(value),
            ", ".join(map(escaped, value.get("tags") or ())) or "–",
            _id(value.get("id", "")),
        ]
        for value in values[:ROWS]
    ]
    if not rows:
        return _box(_line("<em>no memories</em>"))
    return _box(table(("text", "role", "said", "tags", "id"), rows, len(values) - len(rows)))


def record_html(value: Value) -> str:
    """One record: its text, and everything that is known of it."""
    rows = [
        [escaped(name), escaped(known, LONG_LIMIT)]
        for name, known in value.items()
        if name != "text" and known not in (None, "", [], {}, False, 0)
    ]
    return _box(_line(_name("memory"), escaped(value.get("text", ""), LONG_LIMIT)), table((), rows))


def hits_html(values: Sequence[Value]) -> str:
    """A table of what a search found, best first, with the scores.

    Args:
        values: hits as plain JSON, each with its ``record`` and ``scores``.
    """
    if not values:
        return _box(_line("<em>nothing was found</em>"))
    shown = values[:ROWS]
    names = _known(_FINAL, shown) or _known(_LEGS, shown)
    rows = []
    for place, value in enumerate(shown, 1):
        record, scores = value["record"], value.get("scores") or {}
        bars = [bar(scores.get(name)) for name in names]
        words, id = escaped(record.get("text", "")) + _marks(record), _id(record.get("id", ""))
        rows.append([str(place), words, escaped(record.get("role", "")), _day(record), *bars, id])
    return _box(table(("", "text", "role", "said", *names, "id"), rows, len(values) - len(rows)))


def _known(names: Sequence[str], values: Sequence[Value]) -> list[str]:
    return [name for name in names if any(name in (value.get("scores") or {}) for value in values)]


# reports


def choices_html(values: Sequence[Value]) -> str:
    """A table of what was chosen and what was dropped, the chosen first, each with its reason.

    Args:
        values: choices as plain JSON.
    """
    total = {id(value): (value.get("scores") or {}).get("total", -1.0) for value in values}
    ordered = sorted(values, key=lambda value: (not value.get("kept"), -total[id(value)]))
    rows = [
        [
            "✓" if value.get("kept") else "–",
            escaped(value.get("text", "")),
            bar((value.get("scores") or {}).get("total")),
            escaped(value.get("reason", "")),
            _id(value.get("id", "")),
        ]
        for value in ordered[:ROWS]
    ]
    return _box(table(("", "text", "total", "why", "id"), rows, len(values) - len(rows)))


def report_html(value: Value) -> str:
    """What a run did: the plan, the counts, the tokens, every choice with its reason, warnings and times."""
    counts = dict(value.get("counts") or {})
    funnel = [(name, counts.pop(name)) for name in _FUNNEL if name in counts]
    most = max((number for _, number in funnel), default=0) or 1
    tokens = dict(value.get("tokens") or {})
    choices, decisions = value.get("choices") or [], value.get("decisions") or []
    reason = escaped(value.get("reason") or "", LONG_LIMIT)
    return _box(
        _line(_name(value["strategy"]), f"({reason})" if value.get("reason") else "") if value.get("strategy") else "",
        table((), [[escaped(name), bar(number / most, str(number))] for name, number in funnel]) if funnel else "",
        _line("also counted:", _numbers(counts)) if any(counts.values()) else "",
        _line("tokens:", _numbers(tokens)) if tokens else "",
        choices_html(choices) if choices else "",
        _decisions(decisions) if decisions else "",
        _line(_name("warnings"), _listed(value["warnings"])) if value.get("warnings") else "",
        *(_line(f"{escaped(name)}:", escaped(note)) for name, note in (value.get("notes") or {}).items()),
        _times(value.get("milliseconds") or {}),
    )


def _times(milliseconds: Mapping[str, Any]) -> str:
    spent = [f"{escaped(name)} {float(number):.1f} ms" for name, number in milliseconds.items()]
    return _line("<small>", " · ".join(spent), "</small>") if spent else ""


def _decisions(values: Sequence[Value]) -> str:
    names = list(dict.fromkeys(name for value in values for name in value))
    rows = [[escaped("–" if value.get(name) is None else value[name]) for name in names] for value in values[:ROWS]]
    return table(names, rows, len(values) - len(rows))


def explanation_html(context: str, hits: Sequence[Value], report: Value) -> str:
    """One recall taken apart: what was chosen, the text that a model call would get, and the report."""
    told = f'<pre style="white-space:pre-wrap;color:inherit">{_verbatim(context)}</pre>'
    return _box(hits_html(hits), _folded("what a model call would get", told) if context else "", report_html(report))


def _verbatim(text: str) -> str:
    return "\n".join(escaped(line, LONG_LIMIT) for line in text.splitlines())


# receipts


def receipt_html(value: Value) -> str:
    """What an erasure did: what was asked, what went, where it looked, and what it couldn't reach."""
    unreached = value.get("unreached") or []
    return _box(
        _line(_name("erased"), _numbers(value.get("asked") or {})),
        _line("removed:", _numbers(value.get("removed") or {}) or "nothing"),
        _line("rewritten:", _numbers(value["rewritten"])) if value.get("rewritten") else "",
        _line(_name("not reached"), _listed(unreached)) if unreached else _line("nothing was out of reach"),
        _folded(f"places searched: {len(value['looked'])}", _listed(value["looked"])) if value.get("looked") else "",
        _folded(f"files removed: {len(value['paths'])}", _listed(value["paths"])) if value.get("paths") else "",
    )
