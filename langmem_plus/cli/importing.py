"""The command that takes in files of other systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from langmem_plus.cli.options import ConfigOption, JsonOption, PathOption, check_model, open_client, read_config
from langmem_plus.cli.output import console, errors, one_line, print_json, warn
from langmem_plus.client import MemoryClient
from langmem_plus.config import USER_VARIABLE
from langmem_plus.importers import Conversation, Export, ImportReport, read_file
from langmem_plus.records import TURN_ROLES

_SHOWN = 5  # entries that are named, of those left out or changed; --json names all
_WHAT = {
    "stored": "stored",
    "updated": "brought up to date",
    "known": "were there already",
    "repeated": "say what another says",
    "retired": "were forgotten or replaced here, and stay so",
}


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            help="Conversations: OpenAI-style messages (JSON, JSONL), LoCoMo, LongMemEval or BEAM. Or memories: the "
            "JSON of mem0's get_all ({\"results\": [...]} or a list), or OpenMemory's memories.json."
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            envvar=USER_VARIABLE,
            help="Whose memory. Of mem0's memories, theirs and those that name nobody are taken.",
        ),
    ] = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Memories: give each to the user whom the file names.")
    ] = False,
    from_user: Annotated[
        str | None,
        typer.Option("--from-user", help="Memories: what the file calls the user.", show_default="as --user"),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option("--space", "-s", help="Where to.", show_default="the sample's name in the file, else default"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Memories: only tell what would happen; nothing is written.")
    ] = False,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import conversations, or the memories of mem0, with their own times. Run it again after an interruption, or when
    the source has changed: nothing is stored twice.
    """
    if user is None and not all_users:
        raise typer.BadParameter("say whose memory it is, or --all-users where the file says it.", param_hint="--user")
    if all_users and from_user is not None:
        raise typer.BadParameter("--all-users takes everybody: leave out --from-user, or name --user.")
    found = read_file(file)
    if not isinstance(found, Export):
        if user is None or all_users or from_user is not None or dry_run:
            raise typer.BadParameter(
                f"{str(file)!r} holds conversations: give --user, and no --all-users, --from-user or --dry-run."
            )
        with open_client(path, check_model(read_config(config))) as client:
            _add(client, found, user, space, as_json)
        return
    with open_client(path, read_config(config)) as client, _progress("memories", len(found.entries), as_json) as bar:
        report = client.import_file(
            found,
            user_id=None if all_users else user,
            from_user=from_user,
            space=space,
            dry_run=dry_run,
            progress=lambda number: bar[0].advance(bar[1], number),
        )
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report)
    raise typer.Exit(0 if any(getattr(report, name) for name in _WHAT) else 1)


@contextmanager
def _progress(what: str, total: int, silent: bool) -> Iterator[tuple[Progress, TaskID]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=silent) as progress:
        yield progress, progress.add_task(what, total=total)


def _add(
    client: MemoryClient, conversations: Sequence[Conversation], user: str, space: str | None, as_json: bool
) -> None:
    counts = {"conversations": len(conversations), "messages": 0, "stored": 0, "skipped": 0}
    filled: Counter[str] = Counter()
    total = sum(len(conversation.messages) for conversation in conversations)
    with _progress("messages", total, as_json) as (progress, task):
        for found in conversations:
            room = space or found.sample_id or "default"
            stored = client.add(found.messages, user_id=user, space=room, thread_id=found.thread_id)
            filled[room] += len(stored)
            counts["messages"] += len(found.messages)
            counts["stored"] += len(stored)
            counts["skipped"] += sum(m["role"] not in TURN_ROLES or not m["content"].strip() for m in found.messages)
            progress.advance(task, len(found.messages))
        progress.update(task, description="drawing out facts")
        drawn = client.flush(timeout=None)
    known = counts["messages"] - counts["stored"] - counts["skipped"]
    nothing = not counts["stored"] and not known
    if as_json:
        print_json({**counts, "known": known, "facts_pending": not drawn, "spaces": filled})
        raise typer.Exit(1 if nothing else 0)
    left_out = {"were there already": known, "skipped (only what users and agents said is kept)": counts["skipped"]}
    console.print(
        f"conversations: {counts['conversations']}, messages: {counts['messages']}, stored: {counts['stored']}"
        + "".join(f", {number} {what}" for what, number in left_out.items() if number)
    )
    if filled.keys() - {"default"}:
        spaces = ", ".join(f"{one_line(name)} {number}" for name, number in filled.items())
        console.print(f"stored in the spaces: {spaces} (--space names one, `langmem-plus spaces` lists all)")
    raise typer.Exit(1 if nothing else 0)


def _print(report: ImportReport) -> None:
    """The counts, and what was left out or changed: why, how often, and the first of each."""
    counts = [f"{getattr(report, name)} {what}" for name, what in _WHAT.items() if getattr(report, name)]
    counts += [f"{len(report.skipped)} left out"] if report.skipped else []
    counts += [f"{number} {kind} ignored (no memories by themselves)" for kind, number in report.ignored.items()]
    title = "would be done" if report.dry_run else "memories"
    console.print(f"{title}: {report.read} read, {', '.join(counts) or 'nothing to do'}", soft_wrap=True)
    if len(report.users) > 1:
        shares = ", ".join(f"{one_line(user)} {number}" for user, number in report.users.items())
        console.print(f"users: {shares}", soft_wrap=True)
    for title, remarks in (("left out", report.skipped), ("changed", report.noted)):
        for remark in remarks[:_SHOWN]:
            console.print(f"{title}: {one_line(remark.place)}: {one_line(remark.reason)}", soft_wrap=True, style="dim")
        if len(remarks) > _SHOWN:
            reasons = Counter(remark.reason.split(":")[0] for remark in remarks[_SHOWN:]).most_common(_SHOWN)
            told = "; ".join(f"{number} × {one_line(reason)}" for reason, number in reasons)
            console.print(f"{title}: {len(remarks) - _SHOWN} more ({told}); --json names all", style="dim")
    for warning in report.warnings:
        warn(warning)
