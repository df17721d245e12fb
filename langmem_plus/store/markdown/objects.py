"""Git's objects as they are: read in one process however many, taken apart, written anew."""

from __future__ import annotations

import hashlib
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from langmem_plus.store.markdown.git import GitError, Repository, open_git

TREE_MODE = b"40000"
LINK_MODE = b"160000"  # another repository's commit
_SIGNATURES = (b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN SIGNED MESSAGE-----")
_SIGNED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")


class Objects:
    """The objects of a repository, by their hexadecimal names; a context manager.

    Args:
        repository: whose.

    Attributes:
        width: the bytes of a name.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = repository.common / "objects"
        told = repository.words("rev-parse", "--show-object-format")
        self._hash: Callable[[bytes], hashlib._Hash] = hashlib.sha256 if told == "sha256" else hashlib.sha1
        self.width = 32 if told == "sha256" else 20

    def __enter__(self) -> Self:
        self._reader = open_git(self._repository.top, "cat-file", "--batch")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._reader.stdin, self._reader.stdout):
            if pipe is not None:
                pipe.close()
        self._reader.wait()

    def read(self, name: str) -> tuple[str, bytes] | None:
        """An object's type and content; None where the repository hasn't got it.

        Raises:
            GitError: git ended.
        """
        requests, answers = self._reader.stdin, self._reader.stdout
        if requests is None or answers is None:
            raise GitError("git cat-file has no pipes: restart this program.")
        try:
            requests.write(name.encode() + b"\n")
            requests.flush()
            head = answers.readline().split()
        except OSError as error:
            raise GitError(f"git cat-file in {str(self._repository.top)!r} ended: {error}") from error
        if len(head) != 3:
            if head[-1:] == [b"missing"]:
                return None
            raise GitError(f"git cat-file in {str(self._repository.top)!r} can't read the object {name}.")
        content = answers.read(int(head[2]))
        answers.read(1)
        return head[1].decode(), content

    def name_of(self, kind: str, content: bytes) -> str:
        """The name that an object with this content has."""
        return self._hash(_whole(kind, content)).hexdigest()

    def write(self, kind: str, content: bytes) -> str:
        """Write an object, and return its name.

        Raises:
            OSError: the repository can't be written.
        """
        whole = _whole(kind, content)
        name = self._hash(whole).hexdigest()
        path = self._folder / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            temporary = path.with_name(f"tmp_obj_{uuid.uuid4().hex}")
            temporary.write_bytes(zlib.compress(whole))
            temporary.chmod(0o444)
            temporary.replace(path)
        return name

    def entries(self, tree: bytes) -> Iterator[tuple[bytes, bytes, str]]:
        """The entries of a tree: mode, name, object."""
        at = 0
        while at < len(tree):
            space, zero = tree.index(b" ", at), tree.index(b"\0", at)
            end = zero + 1 + self.width
            yield tree[at:space], tree[space + 1 : zero], tree[zero + 1 : end].hex()
            at = end

    def join(self, entries: Iterable[tuple[bytes, bytes, str]]) -> bytes:
        """A tree of entries, which are in their order."""
        return b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(object_)) for mode, name, object_ in entries)


def _whole(kind: str, content: bytes) -> bytes:
    return b"%s %d\0%s" % (kind.encode(), len(content), content)


def headers(content: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers of a commit or tag, each with its further lines, and the message with the empty line before it."""
    head, gap, message = content.partition(b"\n\n")
    found: list[tuple[bytes, bytes]] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and found:
            found[-1] = (found[-1][0], found[-1][1] + b"\n" + line)
        else:
            name, _, value = line.partition(b" ")
            found.append((name, value))
    return found, gap + message


def with_headers(content: bytes, changes: Mapping[tuple[bytes, bytes], str]) -> bytes:
    """A commit or tag that names other objects; what vouched for the old ones, a signature, is left out."""
    found, message = headers(content)
    lines = [
        name + b" " + (changes[name, value].encode() if (name, value) in changes else value)
        for name, value in found
        if name not in _SIGNED
    ]
    if found[:1] and found[0][0] == b"object":  # a tag is signed in its message
        starts = [at for mark in _SIGNATURES if (at := message.find(mark)) >= 0]
        message = message[: min(starts)] if starts else message
    return b"\n".join(lines) + message


def all_objects(repository: Repository) -> set[str]:
    """The names of every object that the repository has, reachable or not."""
    listing = repository.run("cat-file", "--batch-check=%(objectname)", "--batch-all-objects", "--unordered")
    return set(listing.decode().split())


def kept_packs(repository: Repository) -> list[Path]:
    """The packs that no clean-up may touch, since somebody marked them so."""
    return sorted((repository.common / "objects" / "pack").glob("*.keep"))


def borrowed(repository: Repository) -> list[str]:
    """The places of other repositories whose objects this one uses."""
    try:
        lines = (repository.common / "objects" / "info" / "alternates").read_bytes().splitlines()
    except FileNotFoundError:
        return []
    return [os.fsdecode(line) for line in lines if line]
