"""The commands."""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, cast

import typer

from langmem_plus.cli import conversation, documents, evaluation, importing, owner, review, spaces
from langmem_plus.cli.options import (
    MOST,
    ConfigOption,
    JsonOption,
    PathOption,
    RolesOption,
    SinceOption,
    SpaceOption,
    TagsOption,
    ThreadOption,
    UntilOption,
    UserOption,
    check_model,
    check_query,
    file_parts,
    open_client,
    open_reader,
    read_conditions,
    read_config,
)
from langmem_plus.cli.output import (
    console,
    errors,
    hit_json,
    hit_table,
    print_json,
    record_sheet,
    record_table,
    version_table,
    warn,
)
from langmem_plus.config import GROUPS, knob_group
from langmem_plus.errors import InvalidValueError
from langmem_plus.providers import inventory
from langmem_plus.records import ROLES, Role, Scope, utc_now

_ALL = "all"  # every role

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Memory for LangGraph agents, in Markdown files that you can read and edit.",
    epilog="Exit codes: 0 done · 1 nothing found · 2 wrong usage · 3 setting, identity or package · 4 file or store · "
    "5 model or embedder · 70 a mistake in this program.",
)


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"langmem-plus {version('langmem-plus')}")
        raise typer.Exit


@app.callback()
def common(
    wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Memory for LangGraph agents, in Markdown files that you can read and edit."""


@app.command()
def demo(path: PathOption = None, config: ConfigOption = None) -> None:
    """Watch an agent learn facts in one thread and use them in another, and see why."""
    settings = read_config(config)
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
    """Talk to an agent that remembers you. /why shows what was recalled and why, /memories all facts, /quit ends."""
    settings = check_model(read_config(config, **({"model": model} if model else {})))
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
    settings = check_model(read_config(config, background=False))
    with open_client(path, settings) as client:
        waited = {record.id for record in client.pending(user_id=user, space=space)}
        records = client.add(text, user_id=user, space=space, thread_id=thread)
        turns = [client.get(record.id, user_id=user, space=space) for record in records]
        unread = [turn for turn in turns if turn.extracted is False]
        ids = {record.id for record in records}
        facts = [
            record for record in client.list(user_id=user, space=space, role="memory") if ids & set(record.source_ids)
        ]
        waiting = [record for record in client.pending(user_id=user, space=space) if record.id not in waited]
        told = [review.tell(client, record) for record in waiting]
    if as_json:
        print_json([record.to_value() for record in (*records, *facts, *waiting)])
    else:
        console.print(record_table([*records, *facts]))
    if unread:
        warn(
            "the text is stored word for word, but no facts could be drawn out of it yet; that is tried again at the "
            "next start, so don't add it again. Check the model with `langmem-plus doctor`."
        )
    elif waiting and not as_json:
        review.print_waiting(told)
    elif not facts and not as_json:
        console.print("Kept word for word; no fact was drawn out of it.", style="dim")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    role: RolesOption = None,
    tag: TagsOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    k: Annotated[int | None, typer.Option("-k", help="How many hits.", min=1, max=MOST, show_default="top_k")] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories, best first, with the score of each stage."""
    check_query(query)
    wanted = read_conditions(role, tag, since, until)
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        hits = client.search(query, user_id=user, space=space, thread_id=thread, k=k, filter=wanted)
        hint = "" if hits or as_json else spaces.elsewhere(client, user, space)
    if as_json:
        print_json([hit_json(hit) for hit in hits])
    elif hits:
        console.print(hit_table(hits))
    else:
        kind = " of this kind" if wanted else ""
        errors.print(f"Nothing relevant{kind} in the space {space!r} of {user!r}.{hint}")
    raise typer.Exit(0 if hits else 1)


@app.command("list")
def list_records(
    user: UserOption,
    space: SpaceOption = "default",
    thread: ThreadOption = None,
    role: Annotated[
        str, typer.Option("--role", "-r", help="memory (facts), user, assistant, summary, archive, document, or all.")
    ] = "memory",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="How many records.")] = 50,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List facts, newest first; --role all lists what was said, too. Tables cut long texts, --json doesn't."""
    if role not in (*ROLES, _ALL):
        raise InvalidValueError(f"there is no role {role!r}; choose from {', '.join(ROLES)}, {_ALL}.")
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        wanted: Role | None = None if role == _ALL else cast("Role", role)
        records = client.list(user_id=user, space=space, thread_id=thread, role=wanted, limit=limit)
        others = not records and wanted and client.list(user_id=user, space=space, thread_id=thread, limit=1)
        hint = "" if records or others or as_json else spaces.elsewhere(client, user, space)
    if as_json:
        print_json([record.to_value() for record in records])
    elif records:
        console.print(record_table(records))
    elif others:
        errors.print(f"No record of the role {role!r} in the space {space!r} of {user!r}; --role all lists the others.")
    else:
        errors.print(f"Nothing is stored in the space {space!r} of {user!r}.{hint}")
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
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        record = client.get(record_id, user_id=user, space=space)
        file = client.path_of(record)
    if as_json:
        print_json({"record": record.to_value(), "file": str(file) if file else None})
    else:
        console.print(record_sheet(record))
        if file:
            console.print(f"file: {file}", soft_wrap=True)


@app.command()
def history(
    record_id: Annotated[str, typer.Argument(metavar="ID", help="The record's id, or the beginning of it.")],
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one memory was before, what it replaced and what replaced it. With versioning on, every version."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        versions = client.history(record_id, user_id=user, space=space)
    if as_json:
        print_json([version.to_value() for version in versions])
    else:
        console.print(version_table(versions))


@app.command()
def doctor(path: PathOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show what is in use, what is missing, how to get it, and which memory files can't be read."""
    settings = read_config(config)
    parts = [*inventory(settings), *file_parts(path or settings.memory_path, settings)]
    if as_json:
        print_json([asdict(part) for part in parts])
        return
    evaluation.print_parts(parts)


@app.command("config")
def show_config(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List every setting with its value and what it does."""
    settings = read_config(config)
    values = settings.model_dump(mode="json")
    if as_json:
        print_json(values)
        return
    evaluation.print_settings(
        {group: [name for name in values if knob_group(name) == group] for group in GROUPS}, values
    )


app.command("import")(importing.import_file)
app.command()(documents.documents)
app.command()(spaces.spaces)
for command in (
    owner.pin,
    owner.unpin,
    owner.forget,
    owner.undelete,
    owner.archive,
    owner.clear,
    owner.restore_conversation,
    owner.erase,
    owner.export,
    owner.restore,
    review.review,
):
    app.command()(command)
app.add_typer(evaluation.app, name="eval")
