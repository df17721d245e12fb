"""Measuring, and saying what is in use: ``eval``, ``doctor`` and ``config``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from langmem_plus.cli.output import console, errors, print_json
from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.recall import RecallResult, evaluate_recall, import_conversations, read_questions
from langmem_plus.evals.write import Halves, Score, evaluate_extraction, evaluate_file, evaluate_reconciliation
from langmem_plus.importers import read_messages
from langmem_plus.providers import Part

app = typer.Typer(no_args_is_help=True, help="Measure what is found again and what is remembered, on public data.")
_STATES = {"ok": "green", "degraded": "yellow", "missing": "red"}


@app.command()
def recall(
    dataset: Annotated[Path, typer.Argument(help="A LoCoMo file with sessions and questions.")],
    store: Annotated[
        Path | None, typer.Option("--store", help="Keep the imported memories here, and use them again.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file with settings.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Import conversations and look for the evidence of each question: no language model involved."""
    settings = MemoryConfig.from_toml(config) if config else MemoryConfig()
    questions = read_questions(dataset)
    with tempfile.TemporaryDirectory() as scratch, MemoryClient(store or scratch, config=settings) as client:
        total = sum(len(conversation.messages) for conversation in read_messages(dataset))
        with _progress("importing", total) as step:
            import_conversations(client, dataset, step)
            client.flush(timeout=None)
        with _progress("asking", len(questions)) as step:
            result = evaluate_recall(client, questions, step)
    if as_json:
        print_json(result.to_json())
    else:
        _print_recall(dataset.name, result)


@app.command()
def write(
    datasets: Annotated[list[Path], typer.Argument(help="Files for extract and for reconcile.")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Everything about the write path at once: extract and reconcile, by what each file holds."""
    _report([evaluate_file(path) for path in datasets], as_json)


@app.command()
def extract(
    datasets: Annotated[list[Path], typer.Argument(help="preference_*.json or mempalace_memory_extraction.json")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Precision and recall of the rule-based extractor; rules were tuned on the even half only."""
    _report([evaluate_extraction(path) for path in datasets], as_json)


@app.command()
def reconcile(
    datasets: Annotated[list[Path], typer.Argument(help="reconcile_pairs_*.json")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Precision and recall of the rules that retire outdated facts; tuned on the even half only."""
    _report([evaluate_reconciliation(path) for path in datasets], as_json)


def _report(results: Sequence[Halves], as_json: bool) -> None:
    if as_json:
        print_json([result.to_json() for result in results])
        return
    for result in results:
        console.print(Text(result.file, style="bold"))
        console.print(Text(result.protocol, style="dim"))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("half", "kind", "tried", "expected", "met", "recall", "found", "right", "precision"):
            table.add_column(name, justify="left" if name in ("half", "kind") else "right")
        for half, scores in (("even, tuned on", result.tuned), ("odd, reported", result.reported)):
            for kind, score in scores.items():
                table.add_row(half, kind, *_cells(score))
        console.print(table)


def _cells(score: Score) -> list[str]:
    """A measure's cells; a share of nothing is no number."""
    recall = f"{score.recall:.2f}" if score.expected else "–"
    precision = f"{score.precision:.2f}" if score.found else "–"
    tried = str(score.tried) if score.tried else "–"
    return [tried, str(score.expected), str(score.met), recall, str(score.found), str(score.right), precision]


def _print_recall(name: str, result: RecallResult) -> None:
    table = Table(title=name, title_justify="left", box=None, show_header=False, pad_edge=False)
    for measure, value in result.to_json().items():
        table.add_row(measure, f"{value:.3f}" if isinstance(value, float) else str(value))
    console.print(table)


@contextmanager
def _progress(what: str, total: int) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda n: progress.advance(task, n)


def print_parts(parts: Sequence[Part]) -> None:
    """What is in use, and how to get the rest."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("part", "in use", "state", "detail", "to get the rest"):
        table.add_column(name, overflow="fold")
    for part in parts:
        state = Text(part.state, style=_STATES.get(part.state, ""))
        table.add_row(part.name, part.in_use, state, part.detail, part.remedy or "")
    console.print(table)


def print_settings(groups: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> None:
    """Every setting with its value and its sentence."""
    for group, names in groups.items():
        table = Table(title=Text(f"[{group}]"), title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(style="cyan", max_width=30, overflow="fold")
        table.add_column(ratio=1)
        for name in names:
            table.add_row(name, str(values[name]), MemoryConfig.model_fields[name].description or "")
        console.print(table)
        console.print()
