"""A user's memory as one archive: a zip of their Markdown files, tombstones too, with a manifest; no index.

Everything is checked before the first file is written: names, sizes, hashes, whose each memory is. What is there
already is left alone where it is the same or newer, and replaced where the archive's is newer, deleted items included.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from langmem_plus.errors import ImportFileError, StoreError
from langmem_plus.labels import decode_label
from langmem_plus.records import Time, utc_now
from langmem_plus.store.markdown.contents import HeldFile, newest, read_contents
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.files import Action, Namespace, carried_out
from langmem_plus.store.markdown.frontmatter import parse, render
from langmem_plus.store.markdown.layout import RESERVED, SUFFIX, Closed, Layout, encode_name, temporary_name
from langmem_plus.store.markdown.namespace import InterruptedBatchError, OpenNamespace
from langmem_plus.store.markdown.rooms import Rooms
from langmem_plus.store.markdown.sync import modified_at

_MANIFEST = "manifest.json"
# What an archive may hold: far beyond any person's memory, and too little to fill a disk by a trick.
_MOST_FILES, _FILE_BYTES, _ALL_BYTES, _MANIFEST_BYTES = 2_000_000, 32_000_000, 16_000_000_000, 500_000_000
_PART_BYTES = 255  # a name on any file system
_AT_ONCE = 200  # files that are written all or none


class Part(BaseModel):
    """One file of an archive."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(ge=0, le=_FILE_BYTES)


class Space(BaseModel):
    """One namespace of an archive, with its files by their paths below its folder."""

    labels: list[str]
    files: dict[str, Part]


class Manifest(BaseModel):
    """What an archive holds."""

    format: Literal["langmem-plus user"] = "langmem-plus user"
    version: Literal[1] = 1
    user_id: str
    exported_at: Time
    spaces: list[Space]


class ArchiveReport(BaseModel):
    """What an export or an import did.

    Attributes:
        user_id: whose memory.
        path: the archive.
        files: the files in it.
        written: of an import, what was new or newer than what was there.
        equal: of an import, what was there already.
        kept: of an import, what is newer here, so it stays.
        left_out: of an export, the files that can't be read or belong to somebody else, each with the reason.
    """

    user_id: str
    path: str
    files: int = 0
    written: int = 0
    equal: int = 0
    kept: int = 0
    left_out: dict[str, str] = Field(default_factory=dict)


# out


def export(layout: Layout, rooms: Rooms, prefix: Namespace, target: Path) -> ArchiveReport:
    """Write all files at and below a user's namespace into an archive, which is there as a whole or not at all.

    Raises:
        StoreError: the archive can't be written.
    """
    user_id = decode_label(prefix[-1])
    report = ArchiveReport(user_id=user_id, path=str(target))
    temporary = target.with_name(temporary_name())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            closed: Closed = {}
            found = sorted(layout.find_namespaces(prefix, None, closed))
            report.left_out.update({str(place): reason for place, reason in closed.items()})
            spaces = [_export_space(archive, rooms, namespace, prefix, report) for namespace, _ in found]
            manifest = Manifest(user_id=user_id, exported_at=utc_now(), spaces=spaces)
            archive.writestr(_MANIFEST, json.dumps(manifest.model_dump(mode="json"), indent=1))
        temporary.replace(target)
    except OSError as error:
        raise StoreError(f"the archive {str(target)!r} can't be written ({error}): choose another path.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return report


def _export_space(
    archive: zipfile.ZipFile, rooms: Rooms, namespace: Namespace, prefix: Namespace, report: ArchiveReport
) -> Space:
    space = Space(labels=list(namespace), files={})
    with rooms.locked([namespace]) as (room,):
        if room.is_interrupted():
            raise InterruptedBatchError(namespace)
        for held in read_contents(room):
            objection = held.reason or "it can't be read" if held.entry is None else _objection(held.entry, namespace)
            if objection or held.entry is None:
                report.left_out[str(room.folder / held.path)] = objection
                continue
            content = _portable(room, held, held.entry)
            path = _portable_name(held.path)
            space.files[path] = Part(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
            archive.writestr(_member(namespace, prefix, path), content)
            report.files += 1
    return space


def _portable(room: OpenNamespace, held: HeldFile, entry: Entry) -> bytes:
    """The file as it is, unless it leaves something to its own time or to the index, which don't come along."""
    content = (room.folder / held.path).read_bytes()
    alone = parse(content.decode("utf-8"), PurePosixPath(held.path), room.namespace, modified_at(0))
    honest = not _objection(_claimed(content.decode("utf-8"), held.path, room.namespace), room.namespace)
    return content if honest and alone == entry and _is_safe(held.path) else render(entry).encode()


def _portable_name(path: str) -> str:
    """The path, with the names that a person chose written so that every system takes them."""
    if _is_safe(path):
        return path
    *folders, stem = path.removesuffix(SUFFIX).split("/")
    return "/".join((folders[0], *map(encode_name, folders[1:]), encode_name(stem) + SUFFIX))


def _claimed(text: str, path: str, namespace: Namespace) -> Entry:
    """What a file says of itself, wherever it lies: in a namespace of the usual shape the folder says whose it is."""
    return parse(text, PurePosixPath(path), ("", *namespace[1:]), modified_at(0))


def _objection(entry: Entry, namespace: Namespace) -> str:
    """Why a memory doesn't belong into a namespace; nothing where it does."""
    if entry.role is None:
        return ""
    user = decode_label(namespace[1])
    if entry.value["user_id"] != user:
        return f"it belongs to {entry.value['user_id']!r}, not to {user!r}"
    if len(namespace) > 2 and entry.value["space"] != decode_label(namespace[2]):
        return f"it belongs to the space {entry.value['space']!r}, not to {decode_label(namespace[2])!r}"
    return ""


def _member(namespace: Namespace, prefix: Namespace, path: str) -> str:
    return "/".join((*map(encode_name, namespace[len(prefix) :]), path))


# in


def user_of(source: Path) -> str:
    """Whose memory an archive holds, by its manifest.

    Raises:
        ImportFileError: it is no such archive.
    """
    with _opened(source) as archive:
        return _read_manifest(archive, source).user_id


def restore(layout: Layout, rooms: Rooms, prefix: Namespace, source: Path, *, durable: bool) -> ArchiveReport:
    """Check an archive of the user of a namespace, all of it, and then write its files.

    Raises:
        ImportFileError: something in it is wrong, and nothing was written.
        StoreError: a file can't be written; what was written before is whole, and the import can be called again.
    """
    with _opened(source) as archive:
        manifest = _read_manifest(archive, source)
        report = ArchiveReport(user_id=manifest.user_id, path=str(source))
        owner = decode_label(prefix[-1])
        if manifest.user_id != owner:
            raise ImportFileError(
                f"{str(source)!r} holds the memory of {manifest.user_id!r}, not of {owner!r}; nothing was imported."
            )
        _check_members(archive, manifest, prefix, source)
        for space in manifest.spaces:
            layout.folder(tuple(space.labels))  # one that is too long is told before anything is written
        for space in manifest.spaces:
            for _ in _entries(archive, space, prefix, source):
                report.files += 1
        for space in manifest.spaces:
            namespace = tuple(space.labels)
            with rooms.locked([namespace]) as (room,):
                if room.is_interrupted():
                    raise InterruptedBatchError(namespace)
                _restore_space(layout, room, _entries(archive, space, prefix, source), report, durable)
    return report


def _opened(source: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(source)
    except FileNotFoundError as error:
        raise ImportFileError(f"the archive {str(source)!r} doesn't exist: there is no such file.") from error
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise ImportFileError(
            f"{str(source)!r} is no archive of a memory ({error}): name a file that `export` wrote."
        ) from error


def _read_manifest(archive: zipfile.ZipFile, source: Path) -> Manifest:
    try:
        content = _read(archive, _MANIFEST, _MANIFEST_BYTES)
        return Manifest.model_validate_json(content)
    except (KeyError, ValidationError, ImportFileError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise ImportFileError(f"{str(source)!r} has no manifest that can be read ({reason}).") from error


def _read(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """A member's content, which may be longer than the archive says."""
    try:
        with archive.open(name) as member:
            content = member.read(limit + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise ImportFileError(f"{name!r} in the archive can't be read ({error}).") from error
    except Exception as error:  # a decompressor's own errors share no class
        raise ImportFileError(f"{name!r} in the archive is broken ({error}).") from error
    if len(content) > limit:
        raise ImportFileError(f"{name!r} in the archive is longer than {limit} bytes.")
    return content


def _check_members(archive: zipfile.ZipFile, manifest: Manifest, prefix: Namespace, source: Path) -> None:
    def refuse(what: str) -> ImportFileError:
        return ImportFileError(f"{str(source)!r}: {what}; nothing was imported.")

    expected = {_MANIFEST}
    for space in manifest.spaces:
        labels = tuple(space.labels)
        if labels[: len(prefix)] != prefix:
            raise refuse(f"the namespace {labels} isn't one of {decode_label(prefix[-1])!r}")
        if any(not label or "." in label or "\0" in label for label in labels):
            raise refuse(f"{labels} is no namespace")
        for path in space.files:
            if not _is_safe(path):
                raise refuse(f"{path!r} isn't the path of a memory file")
            expected.add(_member(labels, prefix, path))
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > _MOST_FILES or sum(member.file_size for member in members) > _ALL_BYTES:
        raise refuse("it is larger than any memory")
    if len(set(names)) < len(names) or set(names) != expected:
        odd = sorted(set(names) ^ expected) or ["a name that occurs twice"]
        raise refuse(f"its files aren't those of its manifest: {odd[0]!r}")
    for member in members:
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or member.flag_bits & 1:
            raise refuse(f"{member.filename!r} is no plain file")


def _is_safe(path: str) -> bool:
    """Whether a path leads to a memory file below a namespace's folder, on any system."""
    parts = path.split("/")
    plain = all(
        part
        and not part.startswith(".")
        and len(part.encode("utf-8", "surrogatepass")) <= _PART_BYTES
        and not set(part) & set('\\:*?"<>|')
        and part.isprintable()
        for part in parts
    )
    return plain and len(parts) > 1 and parts[0] in RESERVED and path.endswith(SUFFIX)


def _entries(
    archive: zipfile.ZipFile, space: Space, prefix: Namespace, source: Path
) -> Iterator[tuple[str, str, Entry]]:
    """The paths, contents and entries of a space's files, each of them checked."""
    namespace = tuple(space.labels)
    for path, part in space.files.items():
        content = _read(archive, _member(namespace, prefix, path), part.bytes)
        if len(content) != part.bytes or hashlib.sha256(content).hexdigest() != part.sha256:
            raise ImportFileError(f"{str(source)!r}: {path!r} isn't what the manifest says; nothing was imported.")
        try:
            text = content.decode("utf-8")
            entry = parse(text, PurePosixPath(path), namespace, modified_at(0))
        except (UnreadableFileError, ValueError) as error:
            raise ImportFileError(f"{str(source)!r}: {path!r} is no memory: {error} Nothing was imported.") from error
        if objection := _objection(_claimed(text, path, namespace), namespace):
            raise ImportFileError(f"{str(source)!r}: {path!r}: {objection}; nothing was imported.")
        yield path, text, entry


def _restore_space(
    layout: Layout,
    room: OpenNamespace,
    entries: Iterator[tuple[str, str, Entry]],
    report: ArchiveReport,
    durable: bool,
) -> None:
    held = read_contents(room)
    here, taken = newest(held), {file.path for file in held}
    actions: list[Action] = []
    for path, text, entry in entries:
        mine = here.get(entry.key)
        if mine is not None and mine.entry is not None:
            if mine.entry == entry:
                report.equal += 1
                continue
            if entry.updated_at <= mine.entry.updated_at:
                report.kept += 1
                continue
            if mine.path != path:
                actions.append(Action(room.namespace, mine.path, None))
        place = path if mine is not None and mine.path == path else _free(path, entry.key, taken)
        taken.add(place)
        here[entry.key] = HeldFile(place, entry)
        actions.append(Action(room.namespace, place, text))
        report.written += 1
        if len(actions) >= _AT_ONCE:
            _carry_out(layout, room, actions, durable)
            actions = []
    _carry_out(layout, room, actions, durable)


def _free(path: str, key: str, taken: set[str]) -> str:
    """The path, or one like it where another memory has it."""
    stem, mark, number = path.removesuffix(SUFFIX), hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest(), 0
    place = path
    while place in taken:
        place, number = f"{stem}__{mark[:8]}{number or ''}{SUFFIX}", number + 1
    return place


def _carry_out(layout: Layout, room: OpenNamespace, actions: list[Action], durable: bool) -> None:
    with carried_out(layout, actions, durable=durable):
        room.look_again()
    room.edited(room.namespace)
