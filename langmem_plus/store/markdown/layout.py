"""Where things lie in the folder: labels and keys as file names, roles as folders, namespaces as paths.

A name on disk is reversible, never two labels share one on any file system (case is escaped, Unicode is kept only where
no normal form and no case changes it), and none equals a role folder.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import unicodedata
import uuid
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from langmem_plus.errors import StoreError

ROLE_FOLDERS = {
    "memory": "facts",
    "user": "turns/user",
    "assistant": "turns/assistant",
    "summary": "summaries",
    "archive": "archives",
    "document": "documents",
}
FOLDER_ROLES = {folder: role for role, folder in ROLE_FOLDERS.items()}
ITEMS = "items"
DELETED = "deleted"
LIVE_FOLDERS = (*ROLE_FOLDERS.values(), ITEMS)
RESERVED = frozenset({folder.split("/")[0] for folder in LIVE_FOLDERS} | {DELETED})
SUFFIX = ".md"
LABEL_FILE = ".label"
MAX_NAME_BYTES = 120
# Systems take paths of at most 4096 bytes, and a file's own name and role need some of them.
_MAX_PATH_BYTES = 3700

Seen = dict[str, tuple[int, int]]
"""The folders that were looked at, each with its inode and the time of its last change in nanoseconds."""

Closed = dict[Path, str]
"""What can't be read and may hold memories, each with the reason."""
# Errors that stay until somebody mends something; others may pass.
_LASTING = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG)

_LITERAL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-@%+=,")
_HASHED = "~~"
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")
# Windows refuses these names, with any ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(?![^.])")


@functools.lru_cache(maxsize=4096)
@functools.lru_cache(maxsize=10_000)
def encode_name(text: str) -> str:
    """A file name for any text, reversible by `decode_name` unless it is longer than 120 bytes, then a hash.

    >>> encode_name("a/B..")
    'a~2f~42~2e~2e'
    """
    name = "".join(char if char in _LITERAL or _stable(char) else _escape(char) for char in text)
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    if forms != {name}:
        name = "".join(char if char in _LITERAL else _escape(char) for char in text)
    if name in RESERVED or _DEVICES.match(name):
        name = _escape(name[0]) + name[1:]
    if not name or len(name.encode()) > MAX_NAME_BYTES:
        return _HASHED + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return name


def decode_name(name: str) -> str | None:
    """The text that `encode_name` was given, or None where the name is a hash or was never made by it.

    >>> decode_name("a~2f~42~2e~2e")
    'a/B..'
    """
    if name.startswith(_HASHED):
        return None
    data = re.sub(rb"~([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), os.fsencode(name))
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return text if encode_name(text) == name else None


def _stable(char: str) -> bool:
    return char > "\x7f" and char.isalnum() and char.lower() == char.upper() == char.casefold() == char


def _escape(char: str) -> str:
    return "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def role_of(path: PurePosixPath) -> str | None:
    """The role whose folder, or a folder below it, holds a file; None for items and for what lies elsewhere."""
    parts = path.parts[1:-1] if is_deleted(path) else path.parts[:-1]
    return next((FOLDER_ROLES[name] for n in (1, 2) if (name := "/".join(parts[:n])) in FOLDER_ROLES), None)


def is_deleted(path: PurePosixPath) -> bool:
    """Whether a file lies under ``deleted/``."""
    return path.parts[0] == DELETED


def namespace_id(namespace: tuple[str, ...]) -> str:
    """A short name for a namespace's databases and lock: 32 hex digits."""
    return hashlib.sha256("\0".join(namespace).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Layout:
    """The paths below one root folder."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).expanduser().absolute()
        self.entries = self.root / "entries"
        self.index = self.root / ".index"
        self.vectors = self.root / ".vectors"
        self.pending = self.root / ".pending"
        self.journal = self.root / ".journal"
        self.locks = self.root / ".locks"
        self.folder = functools.lru_cache(maxsize=1024)(self._folder)

    def create(self) -> None:
        """Make the folders. Those beside the memories are only tried: without them one can read.

        Raises:
            StoreError: the root is a file, or can't be written.
        """
        try:
            self.entries.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the memory folder {str(self.entries)!r} can't be made ({error.strerror}): "
                "choose another path, or make it writable."
            ) from error
        for folder in (self.index, self.vectors, self.pending, self.journal, self.locks):
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)

    def _folder(self, namespace: tuple[str, ...]) -> Path:
        """The folder of a namespace's files.

        Raises:
            StoreError: no file system has a path so long.
        """
        folder = self.entries.joinpath(*map(encode_name, namespace))
        if len(os.fsencode(folder)) > _MAX_PATH_BYTES:
            raise StoreError(
                f"the namespace ({namespace[0]!r}, …) with its {len(namespace)} labels is too long for a path: "
                "use fewer or shorter labels."
            )
        return folder

    def namespace_of(self, path: Path) -> tuple[str, ...] | None:
        """The namespace, or the prefix of some, that a path below ``entries`` belongs to, whether or not it is there;
        None for what belongs to none.
        """
        if not path.is_relative_to(self.entries):
            return None
        labels: list[str] = []
        folder = self.entries
        for part in path.relative_to(self.entries).parts:
            if part in RESERVED:
                break
            folder = folder / part
            label = None if part.startswith(".") else _read_label(folder)
            if label is None:
                return None
            labels.append(label)
        return tuple(labels)

    def label_files(self, namespace: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
        """The labels that are too long for a name, each with the file beside the folder's content that keeps it."""
        folder = self.entries
        for label in namespace:
            folder = folder / encode_name(label)
            if folder.name.startswith(_HASHED):
                yield folder / LABEL_FILE, label

    def find_namespaces(
        self, prefix: tuple[str, ...] = (), seen: Seen | None = None, closed: Closed | None = None
    ) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The namespaces at and below a prefix whose folders hold files, in no order.

        Args:
            prefix: the labels that they begin with.
            seen: is given each folder that was looked at.
            closed: is given what can't be read; without it, that is passed over.

        Yields:
            The namespace, and whether a file lies outside of ``deleted/``, so that it certainly holds an item.
        """
        start = self.folder(prefix)
        yield from _walk(start, prefix, frozenset(), {} if seen is None else seen, {} if closed is None else closed)


def _walk(
    folder: Path, namespace: tuple[str, ...], above: frozenset[tuple[int, int]], seen: Seen, closed: Closed
) -> Iterator[tuple[tuple[str, ...], bool]]:
    try:
        stat = note(folder, seen)
        listing = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        closed[folder] = reason_of(error)
        return
    here = (stat.st_dev, stat.st_ino)
    if here in above:
        return  # a link that leads back up
    rooms: set[str] = set()
    with listing as children:
        for child in children:
            if child.name.startswith(".") or not _is_folder(child, closed):
                continue
            if child.name in RESERVED:
                rooms.add(child.name)
                continue
            label = _read_label(Path(child.path))
            if label is not None:
                yield from _walk(Path(child.path), (*namespace, label), above | {here}, seen, closed)
            elif child.name.startswith(_HASHED) and _has_file(Path(child.path), {}):
                closed[Path(child.path)] = f"its {LABEL_FILE!r}, which tells whose it is, can't be read"
    live = any(_has_file(folder / room, seen) for room in rooms - {DELETED})
    if namespace and (live or (DELETED in rooms and _has_file(folder / DELETED, seen))):
        yield namespace, live


def _is_folder(entry: os.DirEntry[str], closed: Closed) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:  # a link that leads in a circle, or to where nobody may look
        closed[Path(entry.path)] = reason_of(error)
        return False


def reason_of(error: OSError) -> str:
    """Why something can't be read, in the system's words."""
    return error.strerror or str(error)


def note(folder: Path, seen: Seen) -> os.stat_result:
    """A folder's state, noted before it is listed.

    Raises:
        OSError: it isn't there, or can't be read.
    """
    stat = folder.stat()
    seen[str(folder)] = stat.st_ino, stat.st_mtime_ns
    return stat


def _has_file(folder: Path, seen: Seen) -> bool:
    return find_file(folder, seen) is not None


def find_file(folder: Path, seen: Seen | None = None) -> str | None:
    """A file in a folder or below it; the folder itself, where what stands there can't be read now."""
    try:
        return next((entry.path for entry in walk_files(folder, seen) if is_memory_file(entry.name)), None)
    except OSError:
        return str(folder)


def _read_label(folder: Path) -> str | None:
    """The label that a folder stands for; None for a folder that a person made with a name of another kind."""
    if not folder.name.startswith(_HASHED):
        label = decode_name(folder.name)
    else:
        try:
            label = (folder / LABEL_FILE).read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError):
            return None
        label = label if encode_name(label) == folder.name else None
    return None if label is None or "." in label or "\0" in label else label


def walk_files(folder: Path, seen: Seen | None = None, closed: Closed | None = None) -> Iterator[os.DirEntry[str]]:
    """The files in a folder and the folders below it, hidden folders left out; links are followed to files alone. What
    a link leads to may be unreadable.

    Args:
        folder: where to begin.
        seen: is given each folder that was looked at.
        closed: is given the folders that can't be read until somebody mends that; without it, they raise.

    Raises:
        OSError: a folder is there and can't be read.
    """
    try:
        if seen is not None:
            note(folder, seen)
        listing = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if closed is None or error.errno not in _LASTING:
            raise
        closed[folder] = reason_of(error)
        return
    with listing as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                if _may_be_file(entry):
                    yield entry
            elif not entry.name.startswith("."):
                yield from walk_files(Path(entry.path), seen, closed)


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads in a circle, or to where nobody may look
        return True


def is_memory_file(name: str) -> bool:
    """Whether a file of this name is looked at."""
    return name.endswith(SUFFIX) and not name.startswith(".")


def temporary_name() -> str:
    """A fresh name for a file that is being written."""
    return f".{uuid.uuid4().hex}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a file was being written when its writer died, or still is."""
    return _TEMPORARY.fullmatch(name) is not None


def file_path(role: str | None, key: str, created_at: str, thread_id: str | None, deleted: bool) -> str:
    """Where a new file goes, relative to its namespace's folder.

    A summary is named after its thread, an item after its key, every other record after its time and id.
    """
    if role is None:
        path = f"{ITEMS}/{encode_name(key)}"
    elif role == "summary" and thread_id:
        path = f"{ROLE_FOLDERS[role]}/{encode_name(thread_id)}"
    else:
        stamp = re.sub(r"[-:]", "", created_at).replace(".", "-")
        path = f"{ROLE_FOLDERS[role]}/{stamp}__{encode_name(key)}"
    return (f"{DELETED}/" if deleted else "") + path + SUFFIX
