"""What a measurement shows in a terminal: every table fits 80 columns, with its protocol above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from langmem_plus.cli.output import console, one_line
from langmem_plus.evals.misses import Miss
from langmem_plus.evals.probes import NONSENSE, OWN, REMOVED, SESSIONS, UNRELATED
from langmem_plus.evals.write import Halves, Score

Row = Mapping[str, Any]
_TURNS = {"R@1": "recall@1", "R@5": "recall@5", "R@10": "recall@10", "NDCG@10": "ndcg@10", "MRR": "mrr"}
_SESSIONS = {"R@5": "session recall@5", "any@5": "session any@5", "all@5": "session all@5"}
_STAGES = ("retrieve", "rerank", "mmr", "inject", "recall", "again")
_PROBES = {NONSENSE: "nonsense", UNRELATED: "unrelated", REMOVED: "removed", SESSIONS: "sessions", OWN: "the set's"}
_MOST_COLUMNS = 6  # setups that stand beside each other in 80 columns
_COUNTED = ("samples", "messages", "questions", "entries")
_NONE = "–"


def print_recall(result: Mapping[str, Any]) -> None:
    """A measurement of recall: the data, the protocol, and the tables."""
    print_heading(result)
    rows: Sequence[Row] = result["rows"]
    _print("turns, % (± half of the 95 % interval)", rows, {title: _percent(name) for title, name in _TURNS.items()})
    sessions = {title: _percent(name) for title, name in _SESSIONS.items()}
    _print("sessions, %", rows, sessions)
    _print("tokens injected; questions that one of it and bm25 answers alone, and McNemar's p", rows, _COST)
    _print_kinds(rows)
    _print_abstention(rows)
    _print_newer(rows)
    _print("milliseconds, p50/p95", rows, {stage: _milliseconds(stage) for stage in _STAGES})
    took = result["seconds"]
    console.print(Text(f"took {took['all']:.0f} s, {took['building']:.0f} s of it to build the stores", style="dim"))
    where = "which questions failed, and what was found instead: --misses N, or --json FILE"
    console.print(Text(where, style="dim"))
    console.print()


def print_misses(setup: str, misses: Sequence[Miss]) -> None:
    """The worst questions of a row, each with its evidence and with what was found before or instead of it."""
    if not misses:
        console.print(f"{setup}: the evidence of every question comes first")
        console.print()
        return
    console.print(Text(f"{setup}: the worst questions", style="italic"))
    for miss in misses:
        told = ", ".join(part for part in (miss.sample, miss.kind, "older first" if miss.older_first else "") if part)
        console.print(Text.assemble((one_line(miss.question), "bold"), (f"  {one_line(told)}", "dim")))
        for title, messages in (("evidence", miss.evidence), ("found", miss.found)):
            for number, message in enumerate(messages):
                rank = _NONE if message.place is None else str(message.place)
                place = f"{'' if number else title:<8} {rank:>2}  {one_line(message.id)}  "
                line = Text.assemble((place, "dim"), one_line(message.text))
                console.print(line, no_wrap=True, overflow="ellipsis")
    console.print()


def print_heading(result: Mapping[str, Any]) -> None:
    """Which data, and how it was asked."""
    data = result["dataset"]
    counts = ", ".join(_counted(data[name], name) for name in _COUNTED if name in data)
    console.print(Text.assemble((data["file"], "bold"), f"  {data['form']}, {counts}"))
    console.print(Text(f"sha256 {data['sha256']}", style="dim"))
    for line in result["protocol"]:
        table = Table.grid(padding=(0, 1))
        table.add_row(Text("·", style="dim"), Text(line, style="dim"))
        console.print(table)
    console.print()


def _counted(number: int, names: str) -> str:
    one = names[:-3] + "y" if names.endswith("ies") else names[:-1]
    return f"{number:,} {one if number == 1 else names}"


def _print(title: str, rows: Sequence[Row], columns: Mapping[str, Callable[[Row], str]]) -> None:
    table = _table(title, ["setup", *columns])
    for row in rows:
        table.add_row(row["name"], *(cell(row) for cell in columns.values()))
    console.print(table)
    console.print()


def _table(title: str, columns: Sequence[str], texts: int = 1) -> Table:
    table = Table(
        title=Text(title, style="italic"), title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for number, name in enumerate(columns):
        is_text = number < texts
        table.add_column(name, justify="left" if is_text else "right", no_wrap=is_text, overflow="fold")
    return table


def _percent(name: str) -> Callable[[Row], str]:
    return lambda row: _interval(row["measures"].get(name))


def _interval(found: Mapping[str, float] | None) -> str:
    if not found or not found["count"]:
        return _NONE
    return f"{100 * found['mean']:.1f} ±{50 * (found['high'] - found['low']):.1f}"


def _milliseconds(stage: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        found = row["milliseconds"].get(stage)
        return f"{_short(found['p50'])}/{_short(found['p95'])}" if found else _NONE

    return cell


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _mean_tokens(row: Row) -> str:
    return f"{row['tokens']['mean']:.0f}" if row["tokens"]["max"] else _NONE


def _p95_tokens(row: Row) -> str:
    return f"{row['tokens']['p95']:.0f}" if row["tokens"]["max"] else _NONE


def _against(row: Row) -> str:
    found = row.get("against_bm25")
    return f"+{found['only_this']} −{found['only_bm25']}" if found else _NONE


def _chance(row: Row) -> str:
    found = row.get("against_bm25")
    return _NONE if not found else "< 0.001" if found["p"] < 0.001 else f"{found['p']:.3f}"


_COST: dict[str, Callable[[Row], str]] = {
    "tokens": _mean_tokens,
    "p95": _p95_tokens,
    "wins": _against,
    "p": _chance,
}


def _print_kinds(rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), _MOST_COLUMNS):
        part = rows[start : start + _MOST_COLUMNS]
        table = _table("recall@5 by type, %", ["type", "n", *(row["name"] for row in part)])
        for kind, own in part[0]["by_kind"].items():
            count = own.get("recall@5", {"count": 0})["count"]
            cells = [row["by_kind"][kind].get("recall@5") for row in part]
            if count:
                table.add_row(kind, str(count), *(f"{100 * cell['mean']:.1f}" if cell else _NONE for cell in cells))
        console.print(table)
        console.print()


def _print_abstention(rows: Sequence[Row]) -> None:
    columns = ["setup", "asked", "n", "AUROC", "not found", "not injected", "at 5 %"]
    table = _table("answered by nothing, %; at 5 %: where so many answerable ones are refused", columns, texts=2)
    for row in rows:
        found = row["abstention"]
        if not any(probe in found for probe in _PROBES):
            continue
        silent = "" if row["tokens"]["max"] == 0 else f"{100 * found['false_silence']:.1f}"
        count = str(found["answerable"])
        table.add_row(
            row["name"], Text("answerable", style="dim"), count, "", f"{100 * found['false_refusals']:.1f}", silent
        )
        for probe in _PROBES:
            if cells := found.get(probe):
                shares = [cells["nothing_found"], cells["nothing_injected"], cells["refused_at_5_percent"]]
                numbers = [f"{100 * share:.1f}" for share in shares]
                if not silent:
                    numbers[1] = _NONE
                table.add_row("", _PROBES[probe], str(cells["questions"]), f"{cells['auroc']:.3f}", *numbers)
    if table.row_count:
        console.print(table)
        console.print()


def _print_newer(rows: Sequence[Row]) -> None:
    kinds = list(dict.fromkeys(kind for row in rows for kind in row["newer_first"]))
    if kinds:
        cells = {f"{kind}": (lambda row, kind=kind: _interval(row["newer_first"].get(kind))) for kind in kinds}
        _print("newer version first, %", rows, cells)
    for row in rows:
        if through := row.get("through_remember"):
            _print_decided(row["name"], through)


def _print_decided(setup: str, through: Mapping[str, Any]) -> None:
    columns = {
        "replaced": "replaced",
        "first": "newer first",
        "older_shown": "older shown",
        "first_where_replaced": "first if replaced",
        "older_shown_where_replaced": "shown if replaced",
    }
    table = _table(f"{setup}: through remember, {through['name']}, %", ["kind", "n", *columns.values()])
    for kind, found in through["by_kind"].items():
        table.add_row(kind, str(found["first"]["count"]), *(_interval(found[name]) for name in columns))
    console.print(table)
    console.print()


def print_tasks(result: Mapping[str, Any]) -> None:
    """What memory changed, task by task."""
    print_heading(result)
    modes = {row["name"]: row for row in result["rows"]}
    columns = ["task", *(name.split()[0] for name in modes), "asked, and what memory tells"]
    table = _table("does what is injected hold the answer?", columns)
    for column in table.columns[:-1]:
        column.no_wrap = True
    table.columns[-1].justify, table.columns[-1].ratio = "left", 1
    for task in result["tasks"]:
        answers = [row["answers"][task["name"]] for row in modes.values()]
        marks = [Text("yes", "green") if each["solved"] else Text("no", "dim") for each in answers]
        told = next((each["told"] for each in answers if each["solved"]), "")
        text = Text.assemble(one_line(task["question"]), "\n", (one_line(told), "dim"))
        text.no_wrap, text.overflow = True, "ellipsis"
        table.add_row(task["name"], *marks, text)
    console.print(table)
    console.print()
    for name, row in modes.items():
        line = f"{name}: {row['solved']} of {len(result['tasks'])} solved"
        if row["solved"] and row["of_updates"]:
            line += f", the newer statement first in {row['newer_first']} of {row['of_updates']}"
        console.print(line)


def print_halves(result: Halves) -> None:
    """A measurement of the write path: both halves of the file."""
    print_heading(result.to_json())
    columns = ["half", "kind", "tried", "wanted", "met", "recall", "found", "right", "precise"]
    table = _table(f"by {result.by}", columns, texts=2)
    for half, scores in (("even, tuned", result.tuned), ("odd", result.reported)):
        for number, (kind, score) in enumerate(scores.items()):
            table.add_row("" if number else half, kind, *_score_cells(score))
    console.print(table)
    console.print()
    if result.against:
        _print_against(result)


def _print_against(result: Halves) -> None:
    columns = ["half", "against", "updates", "others", "right", "wrong", "precision", "recall"]
    table = _table("what is retired, %: updates beside random and look-alike pairs", columns, texts=2)
    for half, kinds in result.against.items():
        for number, (name, found) in enumerate(kinds.items()):
            counts = [str(found[each]) for each in ("updates", "others", "right", "wrong")]
            shares = [_interval(found[each]) for each in ("precision", "recall")]
            table.add_row("" if number else half, name, *counts, *shares)
    console.print(table)
    console.print()


def _score_cells(score: Score) -> list[str]:
    """A measure's cells; a share of nothing is no number."""
    recall = f"{score.recall:.2f}" if score.expected else _NONE
    precision = f"{score.precision:.2f}" if score.found else _NONE
    tried = str(score.tried) if score.tried else _NONE
    return [tried, str(score.expected), str(score.met), recall, str(score.found), str(score.right), precision]
