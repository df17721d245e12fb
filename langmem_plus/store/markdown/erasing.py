"""Carrying out an erasure in one namespace, so that a crash leaves nothing half-done: the intent is written first, and
whoever touches the namespace next finishes it.

The intent holds paths, and the new content of what stays; nothing of what goes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langmem_plus.erasure import EraseReceipt
from langmem_plus.errors import StoreError
from langmem_plus.store.markdown import pending
from langmem_plus.store.markdown.chroma import OpenElsewhereError, chroma_folder
from langmem_plus.store.markdown.files import Namespace, flush_folder, write_file
from langmem_plus.store.markdown.forgetting import forget_in_history
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import RESERVED, Layout, is_temporary, namespace_id
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.owners import is_gone, this_owner

logger = logging.getLogger(__name__)

_ENDING = ".erase.json"
_LATER = ".forget"
Step = tuple[str, str | None]
"""A file's place below the namespace's folder, and its new content; None: it goes."""


def begin(
    layout: Layout,
    namespaces: Sequence[Namespace],
    steps: Sequence[Step] | None,
    keys: Collection[str] = (),
    *,
    history: bool,
) -> Path:
    """Write the intent; without steps, everything in the namespaces goes; with them there is one namespace.

    Args:
        layout: where things lie.
        namespaces: where.
        steps: the files.
        keys: the keys of what goes.
        history: whether the files go out of git, too.

    Raises:
        StoreError: it can't be written, so nothing is erased.
    """
    journal = layout.journal / f"{uuid.uuid4().hex}{_ENDING}"
    more = {"keys": sorted(keys), "history": history, "owner": this_owner("")}
    lines = map(json.dumps, ([list(namespace) for namespace in namespaces], steps, more))
    write_file(journal, "".join(f"{line}\n" for line in lines).encode(), durable=True)
    return journal


def end(layout: Layout, journal: Path, receipt: EraseReceipt) -> None:
    """Remove an intent, which is done in all its namespaces, once git has forgotten the files: that may take a while,
    in which nobody is to wait for it.
    """
    later = journal.with_suffix(_LATER)
    with contextlib.suppress(FileNotFoundError):  # somebody else did it
        journal.rename(later)
        forget(layout, later, receipt)
    flush_folders([layout.journal])


def left_for_git(layout: Layout) -> list[Path]:
    """What git has still to forget."""
    return [file for file in _listed(layout.journal) if file.suffix == _LATER]


def forget(layout: Layout, intent: Path, receipt: EraseReceipt) -> None:
    """Erase the files of an intent from git where that is wanted, and remove the intent."""
    namespaces, steps, more = (json.loads(line) for line in intent.read_bytes().splitlines())
    folders = {tuple(labels): layout.folder(tuple(labels)) for labels in namespaces}
    paths = list(folders.values())
    if steps is not None:
        paths = [folder / path for folder in paths for path, _ in steps]
    if more["history"] and (paths or more["keys"]):
        done = forget_in_history(layout, paths, dict.fromkeys(folders, more["keys"]) if more["keys"] else {})
        for place in done.looked:
            receipt.look(place)
        for missed in done.unreached:
            receipt.miss(missed)
        receipt.count("version in git", done.versions)
        receipt.count("file in a linked work tree", done.files)
    intent.unlink(missing_ok=True)


def is_erasure(journal: Path) -> bool:
    """Whether a journal holds the intent of an erasure."""
    return journal.name.endswith(_ENDING)


def is_left(journal: Path) -> bool:
    """Whether who began an erasure is gone, as far as anybody can tell: a crash left it."""
    lines = _read_lines(journal)
    more = _loads(lines[2]) if lines and len(lines) > 2 else None
    return isinstance(more, dict) and is_gone(more.get("owner"))


def finish(layout: Layout, journal: Path, room: OpenNamespace, receipt: EraseReceipt) -> None:
    """Do what an intent says in one namespace, which the caller holds, unless the intent is gone by now: then somebody
    else did it, and what is there came later. What can't be removed is noted, and stops nothing else.

    Raises:
        StoreError: what stays can't be rewritten; nothing was removed.
    """
    try:
        steps: list[Step] | None = json.loads(journal.read_bytes().split(b"\n")[1])
    except FileNotFoundError:
        return
    if steps is None:
        _remove_all(layout, room, receipt)
    else:
        for path, content in steps:
            if content is not None:
                write_file(room.folder / path, content.encode(), durable=True)
        for path, content in steps:
            if content is None:
                remove_file(room.folder / path, receipt)
        flush_folders((room.folder / path).parent for path, _ in steps)
        _clean_databases(layout, room, receipt)
    _clear_journal(layout, room.namespace, receipt)
    room.look_again()


def drop(layout: Layout, room: OpenNamespace, receipt: EraseReceipt) -> None:
    """Remove the collection in Chroma of a namespace, which the caller doesn't hold any more: whoever fills it needs
    the namespace to come to an end.
    """
    try:
        gone: Sequence[str] = room.drop_collections()
    except OSError as error:
        gone = error.gone if isinstance(error, OpenElsewhereError) else ()
        receipt.miss(f"the collection of {room.namespace} in Chroma: {error}")
    receipt.count("collection", len(gone))
    for place in gone:
        if place != str(chroma_folder(layout, room.namespace)):
            receipt.miss(
                f"the Chroma server {place.split(' ')[0]}: the collection is gone, but its files may keep bytes of it; "
                "stop it, and run `chroma vacuum --path` with its folder"
            )


# files


def remove_file(file: Path, receipt: EraseReceipt) -> None:
    """Remove a file, or note why that can't be."""
    try:
        target = file.readlink() if file.is_symlink() else None
        file.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        receipt.miss(f"{file}: it can't be removed ({error.strerror or error}); make it writable and erase again")
        return
    if target is not None:
        receipt.miss(f"{target}: {file} was a link to it; the link is gone, so look there yourself")


def remove_tree(folder: Path, receipt: EraseReceipt) -> None:
    """Remove a folder with all that is in it; links in it go, and what they lead to is noted."""
    if folder.is_symlink():
        remove_file(folder, receipt)
        return

    def closed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            reason = f"it can't be read ({error.strerror or error}); make it readable and erase again"
            receipt.miss(f"{error.filename}: {reason}")

    for parent, folders, files in os.walk(folder, topdown=False, onerror=closed):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in (*files, *links):
            remove_file(Path(parent) / name, receipt)
        with contextlib.suppress(OSError):
            Path(parent).rmdir()
    flush_folders([folder.parent])


def flush_folders(folders: Iterable[Path]) -> None:
    """Let the disk know what was removed from some folders."""
    for folder in set(folders):
        with contextlib.suppress(OSError):
            flush_folder(folder)


def _remove_all(layout: Layout, room: OpenNamespace, receipt: EraseReceipt) -> None:
    for name in sorted(RESERVED):
        remove_tree(room.folder / name, receipt)
    with contextlib.suppress(OSError):
        for file in list(room.folder.iterdir()):
            if is_temporary(file.name):
                remove_file(file, receipt)
    discard(room, receipt)
    shutil.rmtree(layout.pending / namespace_id(room.namespace), ignore_errors=True)


# databases


class _InUseError(Exception):
    """Another process is in the middle of reading, so the log can't be emptied."""


def _clean_databases(layout: Layout, room: OpenNamespace, receipt: EraseReceipt) -> None:
    """Leave index and vectors without the bytes of what is gone; where that can't be, leave nothing of them."""
    try:
        for what, count in room.use(lambda index: _clean(layout, room, index)).items():
            receipt.count(what, count)
    except (StoreError, OSError, _InUseError) as error:
        logger.warning("the index of %s can't be cleaned (%s), so it is built anew", room.namespace, error)
        discard(room, receipt)
    else:
        if room.use(lambda index: index.in_memory):
            discard(room, receipt)


def _clean(layout: Layout, room: OpenNamespace, index: Index) -> dict[str, int]:
    db = index.db
    db.execute("PRAGMA secure_delete=ON")
    room.follow(index)
    with contextlib.suppress(StoreError):
        pending.align(layout, room.namespace, index.pending())
    with index.writing_vectors():
        orphans = "DELETE FROM paid.{} WHERE hash NOT IN (SELECT hash FROM main.chunks)"
        of = {"vector": "vectors", "token bits": "bits"}
        counts = {what: max(db.execute(orphans.format(table)).rowcount, 0) for what, table in of.items()}
    for table in ("words", "windows"):
        db.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
    for schema in ("main", "paid"):
        db.execute(f"VACUUM {schema}")
        if db.execute(f"PRAGMA {schema}.wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise _InUseError(f"another process is reading {schema}")
    return counts


def discard(room: OpenNamespace, receipt: EraseReceipt) -> None:
    """Remove a namespace's databases, or note why that can't be."""
    try:
        room.discard()
    except OSError as error:
        receipt.miss(f"{error.filename}: it can't be removed ({error.strerror}); make it writable and erase again")


# the journal


def _clear_journal(layout: Layout, namespace: Namespace, receipt: EraseReceipt) -> None:
    """Take the namespace out of all other journals: whoever wrote them is gone, since the namespace is held."""
    for file in _listed(layout.journal):
        lines = _read_lines(file)
        if lines is None or is_erasure(file) or file.suffix == _LATER:
            continue
        touched: list[Any] = _loads(lines[0]) or []
        if list(namespace) not in touched and not (file.suffix == ".broken" and not touched):
            continue
        others = [labels for labels in touched if labels != list(namespace)]
        steps = _loads(lines[1]) if len(lines) > 1 else None
        if others and isinstance(steps, list) and file.suffix == ".json":
            steps = [step for step in steps if step[0] != list(namespace)]
            content = f"{json.dumps(others)}\n{json.dumps(steps)}\n".encode()
            began = file.stat()
            write_file(file, content, durable=True)
            os.utime(file, ns=(began.st_atime_ns, began.st_mtime_ns))
        else:
            remove_file(file, receipt)


def _listed(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        yield from sorted(folder.iterdir())


def _read_lines(file: Path) -> list[bytes] | None:
    try:
        return file.read_bytes().split(b"\n")
    except OSError:
        return None


def _loads(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
