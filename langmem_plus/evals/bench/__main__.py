"""``python -m langmem_plus.evals.bench``: print the tables, and write JSON where it is asked for."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from langmem_plus.evals.bench import cost as costing
from langmem_plus.evals.bench import dense
from langmem_plus.evals.bench import recall as recalling
from langmem_plus.evals.bench import store as bench
from langmem_plus.evals.bench.timing import Figure, Times
from langmem_plus.evals.outputs import check_outputs

app = typer.Typer(no_args_is_help=True, add_completion=False, help="How fast it is, measured on a made-up corpus.")
_MOST = 100_000_000  # memories
_MARKS = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}


@app.callback()
def main() -> None:
    """How fast it is, measured on a made-up corpus."""


@app.command()
def store(
    sizes: Annotated[str, typer.Option(help="Numbers of memories, over 20 users, with commas.")] = "1000,10000,100000",
    single: Annotated[int, typer.Option(min=0, help="Memories in one namespace; 0 leaves it out.")] = 100_000,
    puts: Annotated[int, typer.Option(min=0, help="Puts that are timed; 0 leaves it out.")] = 1000,
    million: Annotated[int, typer.Option(min=0, help="Memories over 2,000 namespaces; 0 leaves it out.")] = 0,
    users: Annotated[int, typer.Option(min=1, help="Namespaces of the large store.")] = 2000,
    large: Annotated[Path | None, typer.Option(help="Keep the large store here, and measure it again.")] = None,
    write: Annotated[Path | None, typer.Option("--json", help="Write the figures here, too.")] = None,
) -> None:
    """Searches beside other stores', puts, start, and a large store; the query's embedding is never counted."""
    check_outputs(write)
    wanted = read_sizes(sizes, none=True)
    screen, progress = Console(), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(f"[dim]{text}[/]")

    with tempfile.TemporaryDirectory(prefix="langmem-plus-bench-") as name:
        folder = Path(name)
        searches = bench.compare_searches(wanted, folder, say) if wanted else {}
        figures = [*bench.targets_of_searches(searches)] if searches else []
        if single:
            figures += bench.time_one_namespace(single, folder, say)
        if puts:
            figures += bench.time_puts(puts, folder, say)
        if million:
            figures += bench.time_many_namespaces(million, users, large or folder / "large", say)
    if searches:
        screen.print(_searches(searches, wanted))
    if figures:
        screen.print(_figures(figures))
    if write:
        rows = {name: {size: times.__dict__ for size, times in row.items()} for name, row in searches.items()}
        found = {"searches": rows, "figures": [figure.to_json() for figure in figures]}
        write.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def read_sizes(text: str, *, none: bool = False) -> list[int]:
    """The numbers in a list with commas, each once, in their order.

    Args:
        text: the list.
        none: whether it may be empty.

    Raises:
        typer.BadParameter: something in it is no whole number above 0, or nothing is in it.

    >>> read_sizes("1000, 10000,1000")
    [1000, 10000]
    """
    sizes: dict[int, None] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        size = int(part) if part.isdecimal() else 0
        if not 0 < size <= _MOST:
            raise typer.BadParameter(f"{part!r} is no whole number from 1 to {_MOST:,}.", param_hint="--sizes")
        sizes[size] = None
    if not sizes and not none:
        raise typer.BadParameter("it is empty: give numbers of memories, such as 1000,10000.", param_hint="--sizes")
    return [*sizes]


def _searches(found: dict[str, dict[int, Times]], sizes: list[int]) -> Table:
    table = Table(title=f"search, k = {bench.K}, {bench.USERS} users, p50 (p95) in ms")
    table.add_column("store")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    for name, row in found.items():
        cells = (f"{row[size].p50:.2f} ({row[size].p95:.2f})" if size in row else "failed" for size in sizes)
        table.add_row(name, *cells)
    return table


def _figures(figures: list[Figure]) -> Table:
    with_target, with_note = any(each.target is not None for each in figures), any(each.note for each in figures)
    table = Table("figure", title="MarkdownStore")
    for title in ("measured", *(("target", "reached") if with_target else ())):
        table.add_column(title, justify="right")
    if with_note:
        table.add_column("note")
    for each in figures:
        target = "" if each.target is None else f"≤ {each.target:g} {each.unit}"
        judged = (target, _MARKS[each.reached]) if with_target else ()
        table.add_row(each.name, f"{each.value:g} {each.unit}", *judged, *((each.note,) if with_note else ()))
    return table


@app.command()
def chroma(
    sizes: Annotated[str, typer.Option(help="Numbers of memories in one namespace, with commas.")] = (
        "25000,50000,100000"
    ),
    vectors: Annotated[str, typer.Option(help="clustered: random, about 200 middles; hashed: from the words.")] = (
        "clustered"
    ),
    write: Annotated[Path | None, typer.Option("--json", help="Write the figures here, too.")] = None,
) -> None:
    """Exact search beside Chroma's approximate one, in one namespace; the query's embedding is never counted."""
    if vectors not in dense.KINDS:
        raise typer.BadParameter(f"{vectors!r}: one of {', '.join(dense.KINDS)}.", param_hint="--vectors")
    check_outputs(write)
    wanted = read_sizes(sizes)
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="langmem-plus-bench-") as name:
        found = [
            *dense.compare_dense(wanted, Path(name), lambda text: progress.print(f"[dim]{text}[/]"), vectors),
        ]
    Console().print(_dense(found, vectors))
    if write:
        write.write_text(json.dumps({"vectors": vectors, "rows": dense.rows(found)}, indent=2) + "\n", encoding="utf-8")


def _dense(found: list[dense.Dense], vectors: str) -> Table:
    table = Table("memories", "search", title=f"one namespace, k = {dense.K}, {vectors} vectors; p50 (p95) in ms")
    for title in ("filled in", "opened in", "by vectors", "by words and vectors", "memory", f"recall@{dense.K}"):
        table.add_column(title, justify="right")
    for each in found:
        times = (f"{time.p50:.1f} ({time.p95:.1f})" for time in (each.vectors, each.both))
        memory = f"{each.megabytes:.0f} MB"
        table.add_row(
            f"{each.size:,}", each.mode, f"{each.fill:g} s", f"{each.opened:g} s", *times, memory, f"{each.recall:.3f}"
        )
    return table


@app.command()
def recall(
    sizes: Annotated[
        str, typer.Option(help="Numbers of memories in one namespace, with commas.")
    ] = "1000,10000,100000",
    asked: Annotated[int, typer.Option("--questions", min=1, help="Questions that are asked of each store.")] = 200,
    embedded: Annotated[
        int, typer.Option(help="The largest store that the local model embeds; a larger one has drawn vectors.")
    ] = 10_000,
    root: Annotated[Path | None, typer.Option(help="Keep the stores here, and measure them again.")] = None,
    write: Annotated[Path | None, typer.Option("--json", help="Write the figures here, too.")] = None,
) -> None:
    """A recall's milliseconds by stage, cold and warm, with all defaults, and the model's inference alone beside it."""
    check_outputs(write)
    wanted = read_sizes(sizes)
    screen, progress = Console(), Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="langmem-plus-bench-") as name:
        folder = root or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        found = []
        for each in recalling.compare_sizes(
            wanted, asked, embedded, folder, lambda text: progress.print(f"[dim]{text}[/]")
        ):
            found.append(each)
            screen.print(_recalls(each))
    figures = [*recalling.targets(found)]
    screen.print(_figures(figures))
    if write:
        rows = {"sizes": [each.to_json() for each in found], "figures": [figure.to_json() for figure in figures]}
        write.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _recalls(found: recalling.Recalls) -> Table:
    vectors = "the model's vectors" if found.vectors == "model" else "drawn vectors"
    answered = f"{100 * found.found:.0f} % of new questions answered"
    table = Table("", title=f"recall, {found.size:,} memories, {vectors}; p50 (p95) in ms; {answered}")
    for name, rows in found.asked.items():
        table.add_column(f"{name} ({rows['recall'].count})", justify="right")
    for row, meaning in recalling.ROWS.items():
        cells = (f"{rows[row].p50:.2f} ({rows[row].p95:.2f})" for rows in found.asked.values())
        table.add_row(meaning, *cells, end_section=row in ("between", "ours"))
    return table


@app.command()
def cost(
    write: Annotated[Path | None, typer.Option("--json", help="Write the figures here, too.")] = None,
) -> None:
    """What remembering costs: model calls and prompt tokens of twenty turns, asked apart and asked in one call."""
    check_outputs(write)
    found = costing.compare()
    screen = Console()
    screen.print(_stages(found))
    screen.print(_costs(found))
    if write:
        write.write_text(json.dumps([each.to_json() for each in found], indent=2) + "\n", encoding="utf-8")


def _costs(found: list[costing.Cost]) -> Table:
    table = Table("", title=f"remembering, {found[0].turns} turns; a turn on average")
    for title in ("calls", "tokens", "with schemas", "chars / 4", "right", "wrong"):
        table.add_column(title, justify="right")
    table.add_column(f"≤ {costing.CALLS:g}, {costing.TOKENS:,}")
    for each in found:
        total, turns = each.total, each.turns
        figures = (total.prompt, total.prompt + total.schema, total.characters / 4)
        cells = (f"{figure / turns:,.0f}" for figure in figures)
        right = f"{each.known} of {each.expected}"
        table.add_row(each.way, f"{total.calls / turns:.2f}", *cells, right, str(each.wrong), _MARKS[each.reached])
    return table


def _stages(found: list[costing.Cost]) -> Table:
    table = Table("", "stage", title="by stage, in tokens")
    for title in ("calls", "prompt a call", "schema a call", "prompt in all"):
        table.add_column(title, justify="right")
    for each in found:
        for name, stage in each.stages.items():
            cells = (f"{figure / stage.calls:,.0f}" for figure in (stage.prompt, stage.schema))
            table.add_row(each.way, name, str(stage.calls), *cells, f"{stage.prompt:,}")
    return table


@app.command(hidden=True)
def task(name: str, arguments: list[str]) -> None:
    """What is measured in a process of its own."""
    if name == "start":
        found = bench.start(Path(arguments[0]), arguments[1])
    elif name == "dense":
        found = dense.measure(Path(arguments[0]), int(arguments[1]), arguments[2], arguments[3])
    elif name == "fill":
        found = recalling.fill(Path(arguments[0]), int(arguments[1]), arguments[2])
    elif name == "recall":
        size, kind, wanted = int(arguments[1]), arguments[2], int(arguments[3])
        found = recalling.measure(Path(arguments[0]), size, kind, wanted).to_json()
    elif name == "visit":
        found = bench.visit(Path(arguments[0]), arguments[1])
    else:
        found = bench.grow(Path(arguments[0]), int(arguments[1]), int(arguments[2]))
    typer.echo(json.dumps(found))


if __name__ == "__main__":
    app()
