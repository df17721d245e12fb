"""Writing files so that a crash leaves each of them whole, and several of them all or none.

A file is written under a temporary name and renamed. Several files are first written into a journal as a whole; what
a crash leaves there is written again, which changes nothing where it was done already.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown.layout import Layout

logger = logging.getLogger(__name__)

Namespace = tuple[str, ...]


@dataclass(frozen=True)
class Action:
    """One step: a file gets this content, or, with None, goes."""

    namespace: Namespace
    path: str
    content: str | None


def write_file(path: Path, content: str, *, durable: bool) -> None:
    """Replace a file's content in one step; with ``durable`` the disk has it before this returns.

    Raises:
        StoreError: the disk is full or the folder can't be written; the file is as it was.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content.encode())
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            flush_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{str(path)!r} can't be written ({error.strerror or error}): make room, or make the folder writable; "
            "nothing of this call was stored."
        ) from error


def flush_folder(folder: Path) -> None:
    """Flush a folder's own entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def apply(layout: Layout, actions: Sequence[Action], *, durable: bool) -> None:
    """Carry out all steps; when one fails, those before it are undone.

    Raises:
        StoreError: a file can't be written; everything is as it was.
    """
    if not actions:
        return
    journal = layout.journal / f"{uuid.uuid4().hex}.json" if len(actions) > 1 else None
    if journal is not None:
        steps = [[list(action.namespace), action.path, action.content] for action in actions]
        write_file(journal, json.dumps(steps), durable=durable)
    done: list[tuple[Path, bytes | None]] = []
    try:
        for action in actions:
            path = layout.folder(action.namespace) / action.path
            done.append((path, path.read_bytes() if path.exists() else None))
            _carry_out(layout, action, durable)
    except (OSError, KeyboardInterrupt):
        for path, before in reversed(done):
            _restore(path, before)
        if journal is not None:
            journal.unlink(missing_ok=True)
        raise
    if journal is not None:
        journal.unlink(missing_ok=True)


def _restore(path: Path, before: bytes | None) -> None:
    if before is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != before:
        path.write_bytes(before)


def _carry_out(layout: Layout, action: Action, durable: bool) -> None:
    path = layout.folder(action.namespace) / action.path
    if action.content is None:
        path.unlink(missing_ok=True)
        return
    layout.make_folder(action.namespace)
    write_file(path, action.content, durable=durable)


def journals(layout: Layout) -> Iterator[tuple[Path, list[Action]]]:
    """The batches that a crash left unfinished; a journal that isn't whole was never begun, and is removed."""
    try:
        names = [entry.name for entry in os.scandir(layout.journal) if entry.name.endswith(".json")]
    except FileNotFoundError:
        return
    for name in names:
        path = layout.journal / name
        try:
            steps = json.loads(path.read_text(encoding="utf-8"))
            yield path, [Action(tuple(namespace), file, content) for namespace, file, content in steps]
        except FileNotFoundError:
            continue  # its writer has just finished
        except (ValueError, TypeError) as error:
            logger.warning("the journal %s is broken and was left out: %s", path, error)
            path.unlink(missing_ok=True)


def replay(layout: Layout, journal: Path, actions: Sequence[Action], *, durable: bool) -> None:
    """Finish a batch; the caller holds the locks of its namespaces, so its writer is gone."""
    if not journal.exists():
        return
    for action in actions:
        _carry_out(layout, action, durable)
    journal.unlink(missing_ok=True)
    logger.warning("finished a batch of %d files that a crash had interrupted", len(actions))
