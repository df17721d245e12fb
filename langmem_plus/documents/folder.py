"""Which files of a folder are documents, what they hold, and why the others are left out.

Nothing outside of the folder is ever read: links are not followed, and what a name leads to is looked at again when it
is opened. A memory's own folder, and files that are a memory's records, are no documents: what was said in
conversations is never mixed in.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import gitignore
from langmem_plus.documents.chunks import normalise
from langmem_plus.documents.gitignore import Rules
from langmem_plus.records import ROLES

ENTRIES = "entries"
# What a memory's folder holds beside its entries, of which some can be deleted.
_OF_A_MEMORY = (".index", ".vectors", ".pending", ".journal", ".locks")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters that no text holds, and the share of them from which on it is none.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_FEW_CONTROLS = 0.005
_FRONT = re.compile(r"---[ \t]*\n((?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_ROLE = re.compile(rf"^role: ['\"]?(?:{'|'.join(ROLES)})['\"]?[ \t]*$", re.MULTILINE)
_USER = re.compile(r"^user_id: ", re.MULTILINE)

_MOST_RULES = 1_000_000  # bytes of a .gitignore that are read
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

HIDDEN = "it is hidden"
IGNORED = "it is left out by document_ignore"
BY_GIT = "it is left out by a .gitignore"
LINK = "it is a link, and links are not followed"
MEMORY = "it is a memory's folder"
RECORD = "it is a memory's record"
BINARY = "it holds no text"
NO_FILE = "it is no ordinary file"
NO_NAME = "its name is no Unicode"
GONE = "it is gone"


@dataclass(frozen=True)
class Stamp:
    """What tells without reading whether a file is the same as before."""

    size: int
    changed: int
    number: int

    @staticmethod
    def of(found: os.stat_result) -> Stamp:
        """The stamp of a file that was looked at."""
        return Stamp(found.st_size, max(found.st_mtime_ns, found.st_ctime_ns), found.st_ino)


@dataclass
class Scan:
    """What a folder holds now.

    Attributes:
        files: the documents by their paths below the folder, with ``/``.
        skipped: why other files and folders are left out, by their paths.
        closed: folders that can't be read now: nobody knows what is in them.
    """

    files: dict[str, Stamp] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Text:
    """A document as it was read.

    Attributes:
        text: its text with one kind of line end.
        stamp: of the file that was read; None where it changed meanwhile, so that it is looked at again.
        modified: when it was written, in seconds since 1970.
    """

    text: str
    stamp: Stamp | None
    modified: float


class NotReadableError(Exception):
    """A file is no document; the message says why."""


def is_memory_folder(folder: Path) -> bool:
    """Whether a memory lives in a folder."""
    return (folder / ENTRIES).is_dir() and any((folder / name).is_dir() for name in _OF_A_MEMORY)


def scan(root: Path, config: MemoryConfig) -> Scan:
    """Look at everything below a folder, without reading any file.

    Raises:
        OSError: the folder itself can't be read.
    """
    found = Scan()
    memory = _resolved(config.memory_path)
    suffixes = frozenset(map(_as_suffix, config.document_suffixes))
    todo: list[tuple[Path, str, Rules | None]] = [(root, "", None)]
    while todo:
        folder, prefix, rules = todo.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            if config.document_gitignore and any(entry.name == gitignore.NAME for entry in entries):
                rules = _rules(root, prefix, rules)
        except OSError as error:
            if not prefix:
                raise
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                found.closed.append(prefix)
                found.skipped[prefix.rstrip("/")] = _unreadable(error)
            continue
        for entry in entries:
            path = prefix + entry.name
            reason = _objection(entry, path, memory, config.document_ignore)
            if reason is None and entry.is_dir(follow_symlinks=False):
                if rules is None or not rules.leave_out(f"{path}/"):
                    todo.append((folder / entry.name, f"{path}/", rules))
                    continue
                reason = BY_GIT
            if reason is None:
                reason = _look(entry, path, suffixes, config.document_max_bytes, found)
                if reason is None and rules is not None and rules.leave_out(path):
                    del found.files[path]
                    reason = BY_GIT
            if reason is not None and reason != GONE:
                found.skipped[_printable(path)] = reason
    return found


def _rules(root: Path, prefix: str, above: Rules | None) -> Rules | None:
    """What leaves out files of a folder that has a ``.gitignore``; a link is none, as to git.

    Raises:
        OSError: it can't be read: nobody knows what it leaves out.
    """
    try:
        descriptor = _open(root, prefix + gitignore.NAME)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT):
            return above
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return above
    with os.fdopen(descriptor, "rb") as file:
        return Rules(file.read(_MOST_RULES).decode("utf-8", "surrogateescape"), prefix, above)


def _objection(entry: os.DirEntry[str], path: str, memory: Path, ignored: Sequence[str]) -> str | None:
    """Why nothing of a file or a folder is looked at."""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        return NO_NAME
    if entry.name.startswith("."):
        return HIDDEN
    if any(fnmatchcase(entry.name, pattern) or fnmatchcase(path, pattern) for pattern in ignored):
        return IGNORED
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False) and (Path(entry.path) == memory or is_memory_folder(Path(entry.path))):
        return MEMORY
    return None


def _as_suffix(text: str) -> str:
    """``md`` and ``.MD`` are ``.md``; nothing stands for names without an ending."""
    bare = text.strip().lstrip(".").lower()
    return f".{bare}" if bare else ""


def _look(entry: os.DirEntry[str], path: str, suffixes: Collection[str], limit: int, found: Scan) -> str | None:
    """Note a file that may be a document; else why it is none."""
    suffix = Path(entry.name).suffix.lower()
    if suffix not in suffixes:
        return f"it ends in {suffix or 'nothing'}: see document_suffixes"
    try:
        known = entry.stat(follow_symlinks=False)
    except OSError as error:
        return GONE if isinstance(error, FileNotFoundError) else _unreadable(error)
    if not stat.S_ISREG(known.st_mode):
        return NO_FILE
    if known.st_size > limit:
        return f"it has {known.st_size} bytes, more than document_max_bytes ({limit})"
    found.files[path] = Stamp.of(known)
    return None


def read(root: Path, path: str, limit: int) -> Text:
    """Read a document.

    Args:
        root: the folder, without links in its own path.
        path: below it.
        limit: bytes that it may have.

    Raises:
        NotReadableError: it is none, leads out of the folder, or can't be read.
        FileNotFoundError: it is gone.
    """
    try:
        descriptor = _open(root, path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(str(error)) from error
    except OSError as error:
        raise NotReadableError(LINK if error.errno == errno.ELOOP else _unreadable(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise NotReadableError(NO_FILE)
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise NotReadableError(_unreadable(error)) from error
        after = os.fstat(descriptor)
    if len(data) > limit:
        raise NotReadableError(f"it has more than {limit} bytes (document_max_bytes)")
    text = decode(data)
    if text is None:
        raise NotReadableError(BINARY)
    if _is_record(text):
        raise NotReadableError(RECORD)
    stamp = Stamp.of(before)
    return Text(text, stamp if stamp == Stamp.of(after) else None, before.st_mtime)


def _open(root: Path, path: str) -> int:
    """Open a file below a folder step by step, so that no link on the way leads elsewhere.

    Raises:
        OSError: it can't be opened; ELOOP (on some systems ENOTDIR) where a link is on the way.
    """
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        raise OSError(errno.ELOOP, "it leads out of the folder")
    if os.open not in os.supports_dir_fd:  # Windows
        place = root.joinpath(*parts)
        if _resolved(place) != place:
            raise OSError(errno.ELOOP, LINK)
        return os.open(place, _READ)
    above = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
            above = inner
        return os.open(parts[-1], _READ, dir_fd=above)
    finally:
        os.close(above)


def _unreadable(error: OSError) -> str:
    return f"it can't be read: {error.strerror or error}"


def _is_record(text: str) -> bool:
    front = _FRONT.match(text)
    return bool(front and _ROLE.search(front[1]) and _USER.search(front[1]))


def decode(data: bytes) -> str | None:
    """The text of a file: by its mark, as UTF-8, else as Windows-1252; None where it is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _as_text(data.decode(encoding, "replace"))
    try:
        return _as_text(data.decode())
    except UnicodeDecodeError:
        return None if b"\0" in data else _as_text(data.decode("cp1252", "replace"))


def _as_text(text: str) -> str | None:
    controls = len(_CONTROL.findall(text))
    if "\0" in text or controls > _FEW_CONTROLS * len(text):
        return None
    return normalise(text)


def below(paths: Collection[str], prefixes: Collection[str]) -> Iterator[str]:
    """Those of the paths that lie below one of some folders."""
    return (path for path in paths if any(path.startswith(prefix) for prefix in prefixes))


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path.expanduser()))


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode()
