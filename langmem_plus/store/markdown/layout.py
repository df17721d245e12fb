"""Where things lie in the folder: labels and keys as file names, roles as folders, namespaces as paths.

A name on disk is reversible, never two labels share one on any file system (case is escaped, Unicode is kept only where
no normal form and no case changes it), and none equals a role folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

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

_LITERAL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-@%+=,")
_HASHED = "~~"
# Windows refuses these names, with any ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(?![^.])")


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
    """The text that `encode_name` was given, or None where the name is a hash.

    >>> decode_name("a~2f~42~2e~2e")
    'a/B..'
    """
    if name.startswith(_HASHED):
        return None
    data = re.sub(rb"~([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), name.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "surrogatepass")


def _stable(char: str) -> bool:
    return char > "\x7f" and char.isalnum() and char.lower() == char.upper() == char.casefold() == char


def _escape(char: str) -> str:
    return "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


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

    def create(self) -> None:
        """Make the folders; a folder that can't be made is named in the error.

        Raises:
            StoreError: the root is a file, or can't be written.
        """
        for folder in (self.entries, self.index, self.vectors, self.pending, self.journal, self.locks):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the memory folder {str(folder)!r} can't be made ({error.strerror}): "
                    "choose another path, or make it writable."
                ) from error

    def folder(self, namespace: tuple[str, ...]) -> Path:
        """The folder of a namespace's files."""
        return self.entries.joinpath(*map(encode_name, namespace))

    def make_folder(self, namespace: tuple[str, ...]) -> Path:
        """Make a namespace's folder; a label too long for a name is kept in a file beside."""
        folder = self.entries
        for label in namespace:
            folder = folder / encode_name(label)
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
            if folder.name.startswith(_HASHED) and not (folder / LABEL_FILE).exists():
                (folder / LABEL_FILE).write_bytes(label.encode("utf-8", "surrogatepass"))
        return folder

    def find_namespaces(self, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The namespaces at and below a prefix whose folders hold files, in no order.

        Yields:
            The namespace, and whether a file lies outside of ``deleted/``, so that it certainly holds an item.
        """
        start = self.folder(prefix)
        if start.is_dir():
            yield from _walk(start, prefix)


def _walk(folder: Path, namespace: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
    rooms: set[str] = set()
    with os.scandir(folder) as children:
        for child in children:
            if child.name.startswith(".") or not child.is_dir():
                continue
            if child.name in RESERVED:
                rooms.add(child.name)
                continue
            label = _read_label(Path(child.path))
            if label is not None:
                yield from _walk(Path(child.path), (*namespace, label))
    live = any(_has_file(folder / room) for room in rooms - {DELETED})
    if namespace and (live or (DELETED in rooms and _has_file(folder / DELETED))):
        yield namespace, live


def _has_file(folder: Path) -> bool:
    return next(scan_files(folder), None) is not None


def _read_label(folder: Path) -> str | None:
    if folder.name.startswith(_HASHED):
        label = folder / LABEL_FILE
        return label.read_bytes().decode("utf-8", "surrogatepass") if label.exists() else None
    try:
        text = decode_name(folder.name)
    except UnicodeDecodeError:
        return None
    # A folder that a person made with a name that we'd have written otherwise isn't a namespace.
    return text if text is not None and encode_name(text) == folder.name else None


def scan_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The Markdown files in a folder and the folders below it; hidden ones are left out."""
    try:
        listing = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with listing as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from scan_files(Path(entry.path))
            elif entry.name.endswith(SUFFIX):
                yield entry


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
