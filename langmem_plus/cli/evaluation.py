"""Measuring, and saying what is in use: ``eval``, ``doctor`` and ``config``."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from langmem_plus.cli.measured import print_halves, print_misses, print_recall, print_tasks
from langmem_plus.cli.options import ConfigOption, check_model, read_config
from langmem_plus.cli.output import console, errors, print_json
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.datasets import read_datasets
from langmem_plus.evals.misses import worst
from langmem_plus.evals.outputs import check_outputs
from langmem_plus.evals.own import FORM
from langmem_plus.evals.plots import plot
from langmem_plus.evals.recall import Place, evaluate, workload
from langmem_plus.evals.setups import make_setups
from langmem_plus.evals.statements import EXTRACT_FORM, RECONCILE_FORM
from langmem_plus.evals.tasks import read_tasks, run_tasks, tasks_json
from langmem_plus.evals.tasks import workload as tasks_workload
from langmem_plus.evals.write import Halves, evaluate_extraction, evaluate_file, evaluate_reconciliation
from langmem_plus.providers import Part

app = typer.Typer(no_args_is_help=True, help="Measure what is found again and what is remembered, on public data.")
ModelOption = Annotated[
    str | None, typer.Option("--model", "-m", help="A chat model as provider:model; without one, rules decide.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON, too; - prints it instead.")
]
JOBS = min(os.cpu_count() or 1, 4)
_LONGEST_CELL = 30  # characters of what is in use; whatever is longer has lines of its own
_STATES = {"ok": "green", "degraded": "yellow", "missing": "red"}


OWN_FORM = "\n\n".join(("A .jsonl file of your own has one JSON object a line:", *FORM, "Any other key is an error."))


@app.command(epilog=OWN_FORM)
def recall(
    datasets: Annotated[
        list[Path], typer.Argument(help="Files of LoCoMo, LongMemEval, BEAM, pairs of statements, or your own JSONL.")
    ],
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            help="Rows to show side by side: default, turn-vectors, words, fusion, vectors, bm25, model-reranker (asks "
            "the chat model that the settings name), flashrank, a preset's name, a TOML file; or all. Several with "
            "commas, or the option again.",
        ),
    ] = None,
    config: ConfigOption = None,
    store: Annotated[Path | None, typer.Option(help="Keep the built stores here, and use them again.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Keep the vectors of all texts here, for the next run.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask so many questions of each file, drawn evenly.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes that build stores at a time.")] = JOBS,
    probes: Annotated[bool, typer.Option(help="Also ask what has no answer.")] = True,
    misses: Annotated[
        int, typer.Option(min=0, help="Show so many of the first row's worst questions, and what was found instead.")
    ] = 0,
    plots: Annotated[Path | None, typer.Option("--plot", help="Write figures into this folder.")] = None,
    output: OutputOption = None,
) -> None:
    """Build memories of public or own data, ask for the evidence of each question; without a language model, but for
    model-reranker.
    """
    check_outputs(output, plots, make=False)
    setups = make_setups(compare or [], read_config(config))
    read = read_datasets(datasets, limit=limit)
    with tempfile.TemporaryDirectory(prefix="langmem-plus-eval-") as scratch:
        place = Place(store or Path(scratch) / "stores", cache or Path(scratch) / "vectors", keep=store is not None)
        results = []
        for dataset in read:
            with _progress(dataset.name, workload(dataset, setups, probes=probes)) as step:
                results.append(evaluate(dataset, setups, place, probes=probes, jobs=jobs, step=step))
            if str(output) != "-":
                print_recall(results[-1])
                if misses:
                    print_misses(results[-1]["rows"][0]["name"], worst(results[-1]["rows"][0], dataset, misses))
                write_json(output, results)  # after each file: the next one may take hours
            for path in plot(results[-1], plots, dataset.label) if plots else ():
                errors.print(f"figure: {path}")
    if str(output) == "-":
        write_json(output, results)


@app.command()
def tasks(config: ConfigOption = None, output: OutputOption = None) -> None:
    """About twenty small tasks that need memory: without it, with it, and with keyword search alone."""
    check_outputs(output, make=False)
    settings, started = read_config(config), time.perf_counter()
    steps = tasks_workload(read_tasks())
    with tempfile.TemporaryDirectory(prefix="langmem-plus-tasks-") as scratch, _progress("tasks", steps) as step:
        results = run_tasks(Path(scratch), settings, step=step)
    found = tasks_json(results, settings, time.perf_counter() - started)
    if str(output) != "-":
        print_tasks(found)
    write_json(output, [found])


@app.command(epilog=f"{EXTRACT_FORM}\n\n{RECONCILE_FORM}")
def write(
    datasets: Annotated[list[Path], typer.Argument(help="Files for extract, for reconcile, or both.")],
    model: ModelOption = None,
    config: ConfigOption = None,
    output: OutputOption = None,
) -> None:
    """Everything about the write path at once: extract and reconcile, by what each file holds."""
    _write_path(evaluate_file, datasets, model, config, output)


@app.command(epilog=EXTRACT_FORM)
def extract(
    datasets: Annotated[list[Path], typer.Argument(help="preference_*.json or mempalace_memory_extraction.json")],
    model: ModelOption = None,
    config: ConfigOption = None,
    output: OutputOption = None,
) -> None:
    """Precision and recall of extraction, by rules, which were tuned on the even half only, or by a model."""
    _write_path(evaluate_extraction, datasets, model, config, output)


@app.command(epilog=RECONCILE_FORM)
def reconcile(
    datasets: Annotated[list[Path], typer.Argument(help="reconcile_pairs_*.json")],
    model: ModelOption = None,
    config: ConfigOption = None,
    output: OutputOption = None,
) -> None:
    """Precision and recall of what retires outdated facts: rules, tuned on the even half only, or a model."""
    _write_path(evaluate_reconciliation, datasets, model, config, output)


def _write_path(
    evaluate_one: Callable[[Path, MemoryConfig, str | None], Halves],
    datasets: Sequence[Path],
    model: str | None,
    config: Path | None,
    output: Path | None,
) -> None:
    check_outputs(output, make=False)
    settings = check_model(read_config(config, **({"model": model} if model else {})))
    results = [evaluate_one(path, settings, None) for path in datasets]
    if str(output) != "-":
        for result in results:
            print_halves(result)
    write_json(output, [result.to_json() for result in results])


def write_json(output: Path | None, results: Sequence[Mapping[str, Any]]) -> None:
    """The results for programs: into a file, or on standard output."""
    if output is None:
        return
    if str(output) == "-":
        print_json(list(results))
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(list(results), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


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
        if len(part.in_use) <= _LONGEST_CELL:
            table.add_row(part.name, part.in_use, _state(part), part.detail, part.remedy or "")
    console.print(table)
    for part in parts:
        if len(part.in_use) > _LONGEST_CELL:  # a path, which a column would break
            console.print(Text.assemble(f"{part.name}  ", _state(part), f"  {part.in_use}"), soft_wrap=True)
            for line in filter(None, (part.detail, part.remedy)):
                console.print(f"  {line}", soft_wrap=True)


def _state(part: Part) -> Text:
    return Text(part.state, style=_STATES.get(part.state, ""))


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
