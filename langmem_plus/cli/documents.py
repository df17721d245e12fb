"""The command that brings a folder of documents up to date, lists it, and searches it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from langmem_plus.cli.options import (
    MOST,
    ConfigOption,
    JsonOption,
    PathOption,
    check_query,
    read_config,
    read_folder,
)
from langmem_plus.cli.output import console, errors, hit_json, one_line, print_json, warn
from langmem_plus.documents import DocumentIndex, IndexedDocument, SyncReport
from langmem_plus.documents.folder import is_memory_folder
from langmem_plus.errors import StoreError
from langmem_plus.records import MemoryHit, format_time, parse_epoch

_SHOWN = 5  # files that are named, of those left out; --json names all


def documents(
    folder: Annotated[
        Path, typer.Argument(parser=read_folder, metavar="FOLDER", help="Where the Markdown and text files are.")
    ],
    query: Annotated[str | None, typer.Argument(help="What to look for; left out, the documents are listed.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="How many hits.", min=1, max=MOST, show_default="top_k")] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the index of a folder of documents up to date; list them, or find what answers a question, and where."""
    if query is not None:
        check_query(query)
    _check_folder(folder)
    settings = read_config(config)
    if path is not None:
        settings = settings.replace(memory_path=path)
    with DocumentIndex(folder, watch=False, config=settings) as index:
        report = index.sync()
        for warning in report.warnings:
            warn(warning)
        hits, listed = (index.search(query, k), []) if query is not None else ([], index.list())
    if as_json:
        print_json([hit_json(hit) for hit in hits] if query is not None else _as_json(report, listed))
    elif hits:
        console.print(_hit_table(hits))
    elif query is not None:
        errors.print(f"Nothing relevant in the {report.chunks} pieces of {str(folder)!r}.")
    else:
        _print_list(report, listed)
    raise typer.Exit(0 if hits or listed else 1)


def _check_folder(folder: Path) -> None:
    found = folder.expanduser().resolve()
    if not found.is_dir():
        raise StoreError(f"{str(folder)!r} is no folder: name the one that holds the documents.")
    if any(map(is_memory_folder, (found, *found.parents))):
        raise typer.BadParameter(f"{str(folder)!r} is a memory's folder, or lies in one: what was said is no document.")


def _as_json(report: SyncReport, listed: Sequence[IndexedDocument]) -> dict[str, object]:
    told = {name: getattr(report, name) for name in ("added", "changed", "removed", "skipped", "chunks", "embedded")}
    rows = [
        {"path": each.path, "title": each.title, "modified": format_time(parse_epoch(each.modified))}
        | {"bytes": each.bytes, "chunks": each.chunks}
        for each in listed
    ]
    return {"documents": rows, **told}


def _print_list(report: SyncReport, listed: Sequence[IndexedDocument]) -> None:
    if listed:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("path", "title", "modified", "pieces"):
            table.add_column(name, justify="right" if name == "pieces" else "left", overflow="fold")
        for each in listed:
            day = f"{parse_epoch(each.modified):%Y-%m-%d}"
            table.add_row(one_line(each.path), one_line(each.title), day, str(each.chunks))
        console.print(table)
    counts = {
        "documents": len(listed),
        "new": len(report.added),
        "changed": len(report.changed),
        "removed": len(report.removed),
        "texts embedded": report.embedded,
        "waiting": report.waiting,
    }
    errors.print(", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "documents"))
    for place in list(report.skipped)[:_SHOWN]:
        errors.print(Text(f"left out: {one_line(place)}: {report.skipped[place]}", style="dim"))
    if (more := len(report.skipped) - _SHOWN) > 0:
        errors.print(Text(f"left out: {more} more; --json names them", style="dim"))


def _hit_table(hits: Sequence[MemoryHit]) -> Table:
    """Hits, best first: where each stands, and the part that says most."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("total", justify="right", no_wrap=True)
    table.add_column("text", ratio=1)
    for rank, hit in enumerate(hits, 1):
        told = hit.record.metadata
        where = Text(one_line(hit.record.source_ids[0]), style="cyan")
        if told.get("headings"):
            where.append(f"  {one_line(' > '.join(told['headings']))}", style="dim")
        said = one_line(str(told.get("excerpt") or hit.text))
        table.add_row(str(rank), f"{hit.scores.get('total', 0):.2f}", where.append(f"\n{said}", style="default"))
    return table
