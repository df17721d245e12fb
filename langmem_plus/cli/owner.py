"""The commands by which an owner decides: pin, unpin, forget, undelete, archive, clear, erase, export, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langmem_plus.cli.options import (
    ConfigOption,
    JsonOption,
    PathOption,
    SpaceOption,
    ThreadOption,
    UserOption,
    check_model,
    open_client,
    open_reader,
    read_config,
)
from langmem_plus.cli.output import console, counted, errors, one_line, print_json, record_sheet, record_table, warn
from langmem_plus.erasure import EraseReceipt
from langmem_plus.errors import ImportFileError, NotFoundError
from langmem_plus.records import MemoryRecord, Scope

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The record's id, or the beginning of it.")]
ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="The conversation.")]
_FORGOTTEN = {"deleted": "forgotten already", "superseded": "replaced before, and stays so"}


def pin(
    record_id: IdArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a memory: no model replaces it, and it is never evicted."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        was = client.get(record_id, user_id=user, space=space)
        record = client.pin(record_id, user_id=user, space=space)
    _show(record, "pinned already" if was.pinned else "pinned", as_json)


def unpin(
    record_id: IdArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a pinned memory be replaced and evicted again."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        was = client.get(record_id, user_id=user, space=space)
        record = client.unpin(record_id, user_id=user, space=space)
    _show(record, "unpinned" if was.pinned else "not pinned anyway", as_json)


def forget(
    record_id: IdArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a memory softly: it isn't recalled any more, and its file lies under deleted/. erase is for good."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        was = client.get(record_id, user_id=user, space=space)
        record = client.forget(record_id, user_id=user, space=space)
    _show(record, _FORGOTTEN.get(record.status, "") if record == was else "forgotten", as_json)


def erase(
    user: UserOption,
    record_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One record, by its id or the beginning of it.")
    ] = None,
    thread: ThreadOption = None,
    space: Annotated[
        str | None,
        typer.Option("--space", "-s", help="Which part of it; by itself, all of that part is erased."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of the user, in all spaces.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase for good: a memory (ID), a conversation (--thread), a space (--space), or all of a user (--all)."""
    if everything == any((record_id is not None, thread is not None, space is not None)):
        raise typer.BadParameter("name what is to be erased: an ID, --thread, --space, or --all by itself.")
    if record_id is not None and thread is not None:
        raise typer.BadParameter("give an ID or --thread, not both.")
    with open_reader(path, read_config(config), Scope(user, space or "default"), as_json) as client:
        if record_id is not None:
            what = f"the memory {record_id} of {user!r}, with the words that it came from"
        elif thread is not None:
            what = f"the conversation {thread!r} of {user!r}, with what is known from it alone"
        else:
            what = f"all that is known of {user!r}" + (f" in the space {space!r}" if space else "")
        if not yes:
            typer.confirm(f"Erase {one_line(what)}? This can't be undone.", abort=True, err=True)
        receipt = client.erase(user_id=user, space=space, thread_id=thread, id=record_id)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
    else:
        _print_receipt(receipt)
    raise typer.Exit(0 if receipt.removed else 1)


def export(
    file: Annotated[Path, typer.Argument(help="The archive to write, a .zip.")],
    user: UserOption,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all of a user's memory, of all spaces, into one archive of Markdown files."""
    scope = Scope(user)
    with open_reader(path, read_config(config), scope, as_json) as client:
        # One of whom all is forgotten has a namespace, too: what can be brought back is exported.
        if not client.store.list_namespaces(prefix=scope.namespace[:2], limit=1):
            raise NotFoundError(f"there is no memory of {user!r}: nothing was exported.")
        report = client.export_user(file, user_id=user)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        console.print(f"{report.files} files of {user!r} in {str(file)!r}")
    for left, reason in report.left_out.items():
        warn(f"{left} was left out: {reason}")


def restore(
    file: Annotated[Path, typer.Argument(help="An archive that `export` wrote.")],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Who it has to belong to.", show_default="whoever it names")
    ] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in an archive of a user's memory, once all of it is checked; what is here and newer stays."""
    settings = read_config(config)
    if not file.is_file():  # before a memory is made for it
        what = "is a folder, no archive" if file.is_dir() else "doesn't exist: there is no such file"
        raise ImportFileError(f"the archive {str(file)!r} {what}.")
    with open_client(path, settings) as client:
        report = client.import_user(file, user_id=user)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    console.print(
        f"{report.files} files of {report.user_id!r}: {report.written} written, {report.equal} were there already, "
        f"{report.kept} are newer here"
    )


def archive(
    thread: ThreadArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Archive a conversation: what it was about, what was decided, what is open; other threads find it."""
    with open_reader(path, check_model(read_config(config)), Scope(user, space), as_json) as client:
        record = client.archive(thread, user_id=user, space=space)
    if record is None:
        errors.print(f"Nothing in the conversation {one_line(thread)!r} of {user!r} is worth an archive.")
        raise typer.Exit(1)
    if as_json:
        print_json(record.to_value())
    else:
        console.print(record_sheet(record))


def clear(
    thread: ThreadArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete softly what was said in a conversation; what is known from it stays, and so does its archive."""
    with open_reader(path, check_model(read_config(config)), Scope(user, space), as_json) as client:
        number = client.clear_conversation(thread, user_id=user, space=space)
    _tell_number("cleared", number, thread, as_json)


def restore_conversation(
    thread: ThreadArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring back what `clear` deleted of a conversation, within tombstone_hours."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        number = client.restore_conversation(thread, user_id=user, space=space)
    _tell_number("restored", number, thread, as_json)


def _tell_number(done: str, number: int, thread: str, as_json: bool) -> None:
    """Say how many records were changed; none is exit code 1."""
    if as_json:
        print_json({done: number})
    else:
        what = "1 record" if number == 1 else f"{number or 'no'} records"
        console.print(f"{what} of the conversation {one_line(thread)!r} {done}")
    raise typer.Exit(0 if number else 1)


def undelete(
    record_id: IdArgument,
    user: UserOption,
    space: SpaceOption = "default",
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring back a memory that was forgotten or evicted, within tombstone_hours."""
    with open_reader(path, read_config(config), Scope(user, space), as_json) as client:
        was = client.get(record_id, user_id=user, space=space)
        record = client.undelete(record_id, user_id=user, space=space)
    done = "brought back" if record.status == "active" else "brought back; it waits for approval"
    if record.id != was.id:
        done = "not brought back: another memory says the same"
    _show(record, "not deleted, nothing to bring back" if was.status == "active" else done, as_json)


def _show(record: MemoryRecord, done: str, as_json: bool) -> None:
    """Tell what was done with a memory, and show it as it is now."""
    if as_json:
        print_json(record.to_value())
    else:
        console.print(done)
        console.print(record_table([record]))


def _print_receipt(receipt: EraseReceipt) -> None:
    counts = ", ".join(counted(number, kind) for kind, number in receipt.removed.items())
    console.print(f"removed: {counts or 'nothing'}")
    if receipt.rewritten:
        told = ", ".join(counted(number, kind) for kind, number in receipt.rewritten.items())
        console.print(f"rewritten without it: {told}")
    for title, places in (("file removed", receipt.paths), ("looked in", receipt.looked)):
        for place in places:
            console.print(f"{title}: {one_line(place)}", soft_wrap=True, style="dim")
    for missed in receipt.unreached:
        errors.print(f"not reached: {one_line(missed)}", soft_wrap=True)
