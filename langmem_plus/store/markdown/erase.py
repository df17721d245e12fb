"""Erasing for good: files and tombstones, index, vectors, markers and journal, down to the bytes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from langmem_plus.erasure import Choose, EraseReceipt, Erasure, kind_of
from langmem_plus.errors import InvalidValueError, StoreError
from langmem_plus.store.markdown.contents import HeldFile, newest, other_files, read_contents
from langmem_plus.store.markdown.erasing import Step, begin, discard, drop, end, finish, remove_file, remove_tree
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.frontmatter import render
from langmem_plus.store.markdown.layout import LABEL_FILE, Closed, Layout, namespace_id, role_of
from langmem_plus.store.markdown.locks import ProcessLock
from langmem_plus.store.markdown.mending import guess_entry
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.planning import later_than
from langmem_plus.store.markdown.rooms import Rooms
from langmem_plus.store.markdown.sync import scan

# Somebody may write while a user is erased: what appears is erased too, so many times.
_PASSES = 3
# A copy that an editor left is told by an id or a text of at least so many characters; longer files aren't memories.
_TELLING = 12
_LARGEST_COPY = 16_000_000


def erase(layout: Layout, rooms: Rooms, namespace: Namespace, choose: Choose | None, *, history: bool) -> EraseReceipt:
    """Erase what is chosen of a namespace, or everything at and below it; with ``history`` from git, too.

    Raises:
        InvalidValueError: no namespace is named.
        InterruptedBatchError: a crash left something half-done here; finish it and call again.
        StoreError: the intent or what stays can't be written; nothing was removed.
    """
    if not namespace:
        raise InvalidValueError("an erasure needs a namespace: to erase a whole store, remove its folder.")
    rooms.finish_erasures()
    receipt = EraseReceipt()
    for folder in (layout.entries, layout.index, layout.vectors, layout.pending, layout.journal):
        receipt.look(str(folder))
    if choose is not None:
        journal = _erase_chosen(layout, rooms, namespace, choose, receipt, history)
        end(layout, journal, receipt)
    else:
        _erase_below(layout, rooms, namespace, receipt, history)
    return receipt


# some of a namespace


def _erase_chosen(
    layout: Layout, rooms: Rooms, namespace: Namespace, choose: Choose, receipt: EraseReceipt, history: bool
) -> Path:
    """Gives the intent, done but for what git knows."""
    with rooms.locked([namespace]) as (room,):
        if room.is_interrupted():
            raise InterruptedBatchError(namespace)
        held, erasure = _chosen(room, read_contents(room), choose)
        handles = _handles(held)
        steps = _steps(namespace, handles, erasure, receipt)
        steps += [(path, None) for path in _copies(room, held, handles, erasure, receipt)]
        receipt.paths = [str(room.folder / path) for path, content in steps if content is None]
        receipt.count("file", len(receipt.paths))
        keys = {file.entry.key for file, handle in handles if file.entry and {handle, file.entry.key} & erasure.keys}
        asked = {key for key in erasure.keys if "\0" not in key}  # git may have what isn't here any more
        journal = begin(layout, [namespace], steps, keys | asked | set(erasure.rewritten), history=history)
        try:
            finish(layout, journal, room, receipt)
        except OSError:
            journal.unlink(missing_ok=True)
            raise
    drop(layout, room, receipt)
    room.edited(namespace)  # what was rewritten has no version in git now
    return journal


def _chosen(room: OpenNamespace, held: list[HeldFile], choose: Choose) -> tuple[list[HeldFile], Erasure]:
    """What goes, of which files. What is wanted and isn't there may stand in a file that a person broke: that one then
    counts for what can be told of it.
    """
    erasure = _choose(held, choose)
    missing = {key for key in erasure.keys if "\0" not in key} - {file.entry.key for file in held if file.entry}
    mended = [_mended(room, file, missing) for file in held] if missing else held
    return (held, erasure) if mended == held else (mended, _choose(mended, choose))


def _choose(held: list[HeldFile], choose: Choose) -> Erasure:
    return choose([(handle, _named(file, handle)) for file, handle in _handles(held)])


def _mended(room: OpenNamespace, file: HeldFile, wanted: Collection[str]) -> HeldFile:
    entry = guess_entry(room, file.path) if file.entry is None else None
    return replace(file, entry=entry) if entry is not None and entry.key in wanted else file


def _handles(held: list[HeldFile]) -> list[tuple[HeldFile, str]]:
    """The files that can be read, the ones that count first, each with what it is called while it is chosen: its key,
    or, for an older copy, a name of its own.
    """
    counting = newest(held)
    first = [(file, key) for key, file in counting.items()]
    copies = [f for f in held if f.entry is not None and counting[f.entry.key] is not f]
    return first + [(file, f"{file.entry.key}\0{file.path}") for file in copies if file.entry]


def _named(file: HeldFile, handle: str) -> Mapping[str, Any]:
    assert file.entry is not None
    return {**file.entry.value, "id": handle} if file.entry.role else file.entry.value


def _steps(
    namespace: Namespace, handles: Iterable[tuple[HeldFile, str]], erasure: Erasure, receipt: EraseReceipt
) -> list[Step]:
    steps: list[Step] = []
    for file, handle in handles:
        entry, changed = file.entry, erasure.rewritten.get(handle)
        assert entry is not None
        is_copy = handle != entry.key
        if {handle, entry.key} & erasure.keys or (changed is not None and (is_copy or entry.removed_at)):
            steps.append((file.path, None))
            if not is_copy:
                receipt.count(kind_of(entry.value))
        elif changed is not None:
            written = replace(entry, value=dict(changed), updated_at=later_than(entry.updated_at))
            steps.append((file.path, render(written, namespace)))
            kind = kind_of(entry.value)
            receipt.rewritten[kind] = receipt.rewritten.get(kind, 0) + 1
    return steps


def _copies(
    room: OpenNamespace,
    held: Iterable[HeldFile],
    handles: Iterable[tuple[HeldFile, str]],
    erasure: Erasure,
    receipt: EraseReceipt,
) -> list[str]:
    """Files that can't be read as memories but hold what is erased: an editor's copies, broken ones."""
    gone = [file.entry for file, handle in handles if file.entry and {handle, file.entry.key} & erasure.keys]
    telling = {entry.key for entry in gone} | {str(entry.value.get("text", "")).strip() for entry in gone}
    marks = [text.encode("utf-8", "surrogatepass") for text in telling if len(text) >= _TELLING]
    unreadable = [file.path for file in held if file.entry is None]
    found = [path for path in (*unreadable, *other_files(room)) if _holds(room.folder / path, marks)]
    receipt.count("copy", len(found))
    for path in unreadable:
        if path not in found:
            receipt.miss(f"{room.folder / path}: it can't be read as a memory, so look into it yourself")
    return found


def _holds(file: Path, marks: Iterable[bytes]) -> bool:
    try:
        content = file.read_bytes() if file.stat().st_size <= _LARGEST_COPY else b""
    except OSError:
        return False
    return any(mark in content for mark in marks)


# everything at and below a namespace


def _erase_below(layout: Layout, rooms: Rooms, prefix: Namespace, receipt: EraseReceipt, history: bool) -> None:
    for number in range(_PASSES):
        found = {namespace for namespace, _ in layout.find_namespaces(prefix)}
        if number and not found:
            break
        _erase_all_of(layout, rooms, sorted({prefix, *found}), receipt, history)
    else:
        receipt.miss(f"{layout.folder(prefix)}: somebody keeps writing there; stop them and erase again")
    _clear_folder(layout, rooms, prefix, receipt)
    for file in _orphans(layout):
        receipt.count("database")
        remove_file(file, receipt)


def _erase_all_of(
    layout: Layout, rooms: Rooms, namespaces: list[Namespace], receipt: EraseReceipt, history: bool
) -> None:
    """Erase namespaces whole. What fails before anything went fails as a whole; later, it is made up for at their next
    use, and noted.
    """
    journal, done = begin(layout, namespaces, None, history=history), 0
    try:
        for namespace in namespaces:
            with rooms.locked([namespace]) as (room,):
                _note(room, receipt)
                finish(layout, journal, room, receipt)
            done += 1
            drop(layout, room, receipt)
    except (OSError, StoreError) as error:
        if not done:
            journal.unlink(missing_ok=True)
            raise StoreError(f"{namespaces[0]} can't be erased ({error}); nothing was removed.") from error
        receipt.miss(f"{namespaces[done]}: {error}; when that is mended, it goes at its next use")
    else:
        end(layout, journal, receipt)


def _note(room: OpenNamespace, receipt: EraseReceipt) -> None:
    """Count the files that are about to go."""
    closed: Closed = {}
    for path in sorted(scan(room.folder, tidy=False, closed=closed)):
        receipt.count(role_of(PurePosixPath(path)) or "item")
        receipt.count("file")
        receipt.paths.append(str(room.folder / path))


def _clear_folder(layout: Layout, rooms: Rooms, prefix: Namespace, receipt: EraseReceipt) -> None:
    """Remove what is left below the prefix and isn't a memory, and the folders above it that are empty now."""
    folder, closed = layout.folder(prefix), Closed()
    if not any(layout.find_namespaces(prefix, None, closed)) and folder not in closed:
        remove_tree(folder, receipt)
    for place, reason in closed.items():
        if place.exists():
            receipt.miss(f"{place}: it can't be read ({reason}); make it readable and erase again")
            if namespace := layout.namespace_of(place):
                with rooms.locked([namespace]) as (room,):
                    discard(room, receipt)
    for parent in (folder, *folder.parents):
        if parent == layout.entries or layout.entries not in parent.parents:
            break
        with contextlib.suppress(OSError):
            if [child.name for child in parent.iterdir()] == [LABEL_FILE]:
                (parent / LABEL_FILE).unlink()
            parent.rmdir()


def _orphans(layout: Layout) -> Iterator[Path]:
    """Databases and markers of namespaces whose files somebody removed by hand: nobody can tell whose they were."""
    closed: Closed = {}
    living = {namespace_id(namespace) for namespace, _ in layout.find_namespaces((), None, closed)}
    if closed:  # what lies there may be theirs
        return
    for folder in (layout.index, layout.vectors, layout.pending):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = path.name.split(".")[0]
            if len(name) != 32 or name in living:
                continue
            lock = ProcessLock(layout.locks / f"{name}.lock")
            if not lock.acquire(wait=False):
                continue  # somebody begins to use it
            try:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    yield path
            finally:
                lock.release()
