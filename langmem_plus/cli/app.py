"""The commands."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from langmem_plus.cli import conversation, evaluation
from langmem_plus.cli.output import (
    console,
    errors,
    hit_json,
    hit_table,
    print_json,
    record_sheet,
    record_table,
    warnings,
)
from langmem_plus.client import MemoryClient
from langmem_plus.config import GROUPS, MemoryConfig, knob_group
from langmem_plus.errors import (
    ConfigError,
    EmbeddingError,
    ImportFileError,
    LangMemPlusError,
    ModelAnswerError,
    ModelCallError,
    NotFoundError,
    StoreError,
)
from langmem_plus.importers import read_messages
from langmem_plus.providers import inventory
from langmem_plus.records import TURN_ROLES, Role, Scope, utc_now

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Memory for LangGraph agents, in Markdown files that you can read and edit.",
    epilog="Exit codes: 0 done · 1 nothing found · 2 wrong usage · 3 setting, identity or package · 4 file or store · "
    "5 model or embedder.",
)

PathOption = Annotated[
    Path | None, typer.Option("--path", "-p", help="The memory folder.", show_default="memory_path of the settings")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file with settings.")]
UserOption = Annotated[str, typer.Option("--user", "-u", envvar="LANGMEM_PLUS_USER", help="Whose memory.")]
SpaceOption = Annotated[str, typer.Option("--space", "-s", help="Which part of it.")]
ThreadOption = Annotated[str | None, typer.Option("--thread", "-t", help="Which conversation.")]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON for programs instead of tables.")]


def _config(file: Path | None, **changes: object) -> MemoryConfig:
    config = MemoryConfig.from_toml(file) if file else MemoryConfig()
    return config.replace(**changes) if changes else config


def _client(path: Path | None, config: MemoryConfig) -> MemoryClient:
    return MemoryClient(path or config.memory_path, config=config)


def _reader(path: Path | None, config: MemoryConfig, scope: Scope, as_json: bool) -> MemoryClient:
    """Open the memory for a command that only reads: where a folder's name was mistyped, none is made."""
    folder = path or config.memory_path
    if folder.is_dir():
        return MemoryClient(folder, config=config)
    if as_json:
        print_json([])
    raise NotFoundError(
        f"there is no memory of {scope.user_id!r}: the folder {str(folder)!r} doesn't exist. Name another with --path, "
        "or add something first."
    )


@app.command()
def demo(path: PathOption = None, config: ConfigOption = None) -> None:
    """Watch an agent learn facts in one thread and use them in another, and see why."""
    settings = _config(config)
    conversation.demo(path or settings.memory_path, settings)


@app.command()
def chat(
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A chat model as provider:model; without one, memory is quoted.")
    ] = None,
    path: PathOption = None,
    config: ConfigOption = None,
) -> None:
    """Talk to an agent that remembers you. /why shows what was recalled, /memories all facts, /quit ends."""
    settings = _config(config, **({"model": model} if model else {}))
    own = f"chat-{int(utc_now().timestamp() * 1000):x}"  # turns are counted anew in each session, so each is a thread
    conversation.chat(path or settings.memory_path, settings, user, space, thread or own)


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember, in your own words; - reads standard input.")],
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remember a text: it is stored as a turn, and its facts are drawn out."""
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("it is empty: there is nothing to remember.", param_hint="TEXT")
    with _client(path, _config(config, background=False)) as client:
        records = client.add(text, user_id=user, space=space, thread_id=thread)
        waiting = [r for r in records if client.get(r.id, user_id=user, space=space).extracted is False]
        ids = {record.id for record in records}
        facts = [
            record for record in client.list(user_id=user, space=space, role="memory") if ids & set(record.source_ids)
        ]
    if as_json:
        print_json([record.to_value() for record in (*records, *facts)])
    else:
        console.print(record_table([*records, *facts]))
    if waiting:
        raise ModelCallError(
            "the text is stored word for word, but no facts could be drawn out of it; that is tried again at the next "
            "start. Check the model with `langmem-plus doctor`."
        )
    if not facts and not as_json:
        console.print("Kept word for word; no fact was drawn out of it.", style="dim")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    k: Annotated[int | None, typer.Option("-k", help="How many hits.", min=1, show_default="top_k")] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories, best first, with the score of each stage."""
    with _reader(path, _config(config), Scope(user, space), as_json) as client:
        hits = client.search(query, user_id=user, space=space, thread_id=thread, k=k)
    if as_json:
        print_json([hit_json(hit) for hit in hits])
    elif hits:
        console.print(hit_table(hits))
    else:
        errors.print(f"Nothing relevant in the space {space!r} of {user!r}.")
    raise typer.Exit(0 if hits else 1)


@app.command("list")
def list_records(
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    role: Annotated[str | None, typer.Option("--role", "-r", help="memory, user, assistant, summary, …")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many records.")] = 50,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories, newest first."""
    with _reader(path, _config(config), Scope(user, space), as_json) as client:
        wanted: Role | None = role  # type: ignore[assignment]  # the client checks it and names the roles
        records = client.list(user_id=user, space=space, thread_id=thread, role=wanted, limit=limit)
    if as_json:
        print_json([record.to_value() for record in records])
    elif records:
        console.print(record_table(records))
    else:
        errors.print(f"Nothing is stored in the space {space!r} of {user!r}.")
    raise typer.Exit(0 if records else 1)


@app.command()
def show(
    record_id: Annotated[str, typer.Argument(metavar="ID", help="The record's id, or the beginning of it.")],
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything about one memory, and the file it lives in."""
    with _reader(path, _config(config), Scope(user, space), as_json) as client:
        record = client.get(record_id, user_id=user, space=space)
        file = client.path_of(record)
    if as_json:
        print_json({"record": record.to_value(), "file": str(file) if file else None})
    else:
        console.print(record_sheet(record))
        if file:
            console.print(f"file: {file}", soft_wrap=True)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="OpenAI-style messages (JSON or JSONL), or LoCoMo's sessions.")],
    user: UserOption,
    space: Annotated[
        str | None,
        typer.Option("--space", "-s", help="Where to.", show_default="the sample's name in the file, else default"),
    ] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import conversations with their own times. Run it again after an interruption: nothing is stored twice."""
    conversations = list(read_messages(file))
    counts = {"conversations": len(conversations), "messages": 0, "stored": 0, "skipped": 0}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        _client(path, _config(config)) as client,
        Progress(*columns, console=errors, transient=True, disable=as_json) as progress,
    ):
        total = sum(len(conversation.messages) for conversation in conversations)
        task = progress.add_task("messages", total=total)
        for found in conversations:
            stored = client.add(
                found.messages,
                user_id=user,
                space=space or found.sample_id or "default",
                thread_id=found.thread_id,
            )
            counts["messages"] += len(found.messages)
            counts["stored"] += len(stored)
            counts["skipped"] += sum(m["role"] not in TURN_ROLES or not m["content"].strip() for m in found.messages)
            progress.advance(task, len(found.messages))
        progress.update(task, description="drawing out facts")
        drawn = client.flush(timeout=None)
    known = counts["messages"] - counts["stored"] - counts["skipped"]
    if as_json:
        print_json({**counts, "known": known, "facts_pending": not drawn})
        return
    left_out = {"were there already": known, "skipped (only what users and agents said is kept)": counts["skipped"]}
    console.print(
        f"conversations: {counts['conversations']}, messages: {counts['messages']}, stored: {counts['stored']}"
        + "".join(f", {number} {what}" for what, number in left_out.items() if number)
    )


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show what is in use, what is missing, and how to get it."""
    parts = inventory(_config(config))
    if as_json:
        print_json([asdict(part) for part in parts])
        return
    evaluation.print_parts(parts)


@app.command("config")
def show_config(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List every setting with its value and what it does."""
    settings = _config(config)
    values = settings.model_dump(mode="json")
    if as_json:
        print_json(values)
        return
    evaluation.print_settings(
        {group: [name for name in values if knob_group(name) == group] for group in GROUPS}, values
    )


app.add_typer(evaluation.app, name="eval")


def main() -> None:
    """Run the command line; an error becomes one line on standard error and an exit code."""
    logging.getLogger("langmem_plus").addHandler(warnings)
    try:
        app()
    except BrokenPipeError:
        # The reader has gone (`… | head`): nothing is left to say, also not while the interpreter closes its files.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except LangMemPlusError as error:
        errors.print(Text.assemble(("error", "bold red"), f" {type(error).__name__}: {error}"), soft_wrap=True)
        sys.exit(_exit_code(error))
    sys.exit(0)


def _exit_code(error: LangMemPlusError) -> int:
    if isinstance(error, NotFoundError):
        return 1
    if isinstance(error, ConfigError):
        return 3
    if isinstance(error, StoreError | ImportFileError):
        return 4
    if isinstance(error, ModelAnswerError | ModelCallError | EmbeddingError):
        return 5
    return 3
