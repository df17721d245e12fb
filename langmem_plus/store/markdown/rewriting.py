"""Every commit, tree and tag of a repository without some memory files; what they don't touch stays as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from langmem_plus.errors import LangMemPlusError
from langmem_plus.records import format_time, utc_now
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.layout import RESERVED, is_memory_file
from langmem_plus.store.markdown.objects import LINK_MODE, TREE_MODE, Objects, headers, with_headers

DECORATION = b" \t+-#>|"
_TELLING = 12


@dataclass(frozen=True)
class Wanted:
    """What is to go.

    Attributes:
        entries: the folder of all memories, below the top of the work tree.
        names: files, and folders with all that is in them, likewise.
        keys: the keys of items below a namespace's folder, wherever in it their files were.
    """

    entries: str
    names: frozenset[str]
    keys: Mapping[str, Collection[str]]

    def has(self, name: str) -> bool:
        """Whether a file goes by its name."""
        place = PurePosixPath(name)
        return name in self.names or any(parent.as_posix() in self.names for parent in place.parents)

    def is_near(self, place: str) -> bool:
        """Whether something that is to go may be at a place, below it, or above it."""
        known = (*self.names, *self.keys)
        return any(f"{name}/".startswith(f"{place}/") or place.startswith(f"{name}/") for name in known)

    def holds(self, name: str, content: bytes) -> bool:
        """Whether a file goes by the key that its content has."""
        for folder, keys in self.keys.items():
            if not name.startswith(f"{folder}/"):
                continue
            place = PurePosixPath(name[len(folder) + 1 :])
            if place.parts[0] not in RESERVED:
                continue
            near = [key for key in keys if any(form in content for form in _forms(key))]
            try:
                if near and parse(content.decode(), place, ("memories",), format_time(utc_now())).key in near:
                    return True
            except (LangMemPlusError, UnicodeDecodeError, ValueError):
                return True  # a broken file that names the key
        return False


def _forms(key: str) -> tuple[bytes, bytes]:
    return key.encode("utf-8", "surrogatepass"), json.dumps(key)[1:-1].encode()


def telling_lines(content: bytes) -> Iterator[bytes]:
    """The lines of a memory file by which it is told: those of its text that are more than a word, bare of what a
    message or a patch has before them.
    """
    text = content.split(b"\n---\n", 1)[-1] if content.startswith(b"---\n") else content
    return (plain for line in text.splitlines() if len(plain := line.strip(DECORATION)) >= _TELLING)


class Rewriter:
    """Makes the objects of a history anew.

    Args:
        objects: the repository's.
        wanted: what is to go.

    Attributes:
        doomed: the contents that go, by their names.
        renamed: what stands in for the commits and tags.
        links: other repositories (submodules) among the memories, by their places.
        lines: the lines that tell of what goes.
    """

    def __init__(self, objects: Objects, wanted: Wanted) -> None:
        self._objects, self._wanted = objects, wanted
        self._trees: dict[tuple[str, str], str | None] = {}
        self._looked: set[tuple[str, str]] = set()
        self.doomed: set[str] = set()
        self.renamed: dict[str, str] = {}
        self.links: set[str] = set()
        self.lines: set[bytes] = set()

    @property
    def gone(self) -> set[str]:
        """The objects that nothing may need any more."""
        trees = {tree for (tree, _), new in self._trees.items() if new != tree}
        return self.doomed | trees | {old for old, new in self.renamed.items() if new != old}

    def run(self, commits: Sequence[str], staged: Iterable[tuple[str, str]] = ()) -> None:
        """Look for the files in all commits and among what is staged (names and contents), then make anew the commits
        that hold one; parents come before children.
        """
        for name, blob in staged:
            self._judge(name, blob)
        roots = {tree for commit in commits if (tree := self._tree_of(commit))}
        for tree in roots:
            self._look(tree, "")
        if self.doomed:
            for commit in commits:
                self.rename(commit)

    def _tree_of(self, commit: str) -> str | None:
        read = self._objects.read(commit)
        return next((value.decode() for name, value in headers(read[1])[0] if name == b"tree"), None) if read else None

    def _look(self, tree: str, path: str) -> None:
        if (tree, path) in self._looked:
            return
        self._looked.add((tree, path))
        read = self._objects.read(tree)
        for mode, raw, object_ in self._objects.entries(read[1]) if read else ():
            name = _below(path, raw)
            if mode == TREE_MODE:
                if self._leads(name):
                    self._look(object_, name)
            elif not name.startswith(f"{self._wanted.entries}/"):
                continue
            elif mode == LINK_MODE:
                self.links.add(name)
            else:
                self._judge(name, object_)

    def _judge(self, name: str, blob: str) -> None:
        if blob in self.doomed:
            return
        by_name = self._wanted.has(name)
        if not by_name and not (self._wanted.keys and is_memory_file(PurePosixPath(name).name)):
            return
        read = self._objects.read(blob)
        if read and read[1] and (by_name or self._wanted.holds(name, read[1])):
            self.doomed.add(blob)
            self.lines.update(telling_lines(read[1]))

    def had(self, content: bytes) -> bool:
        """Whether a file's content is, but for its line ends, what is to go as git had it."""
        forms = {content, content.replace(b"\r\n", b"\n")}
        return any(self._objects.name_of("blob", form) in self.doomed for form in forms)

    def _leads(self, name: str) -> bool:
        entries = self._wanted.entries
        return name == entries or name.startswith(f"{entries}/") or entries.startswith(f"{name}/")

    def tree(self, tree: str, path: str = "") -> str | None:
        """A tree without the files; None for one in which nothing else was."""
        if (tree, path) not in self._trees:
            self._trees[tree, path] = self._make_tree(tree, path)
        return self._trees[tree, path]

    def _make_tree(self, tree: str, path: str) -> str | None:
        read = self._objects.read(tree)
        if read is None:
            return tree
        kept, changed = [], False
        for mode, raw, object_ in self._objects.entries(read[1]):
            name, new = _below(path, raw), object_
            if mode == TREE_MODE and self._leads(name):
                changed |= (made := self.tree(object_, name)) != object_
                if made is None:
                    continue
                new = made
            elif mode not in (TREE_MODE, LINK_MODE) and self.drops(name, object_):
                changed = True
                continue
            kept.append((mode, raw, new))
        if not changed:
            return tree
        return self._objects.write("tree", self._objects.join(kept)) if kept or not path else None

    def drops(self, name: str, blob: str) -> bool:
        """Whether a file goes from where it is: by its name, or since it was once what is to go, under another name."""
        return name.startswith(f"{self._wanted.entries}/") and (blob in self.doomed or self._wanted.has(name))

    def rename(self, name: str) -> str | None:
        """What stands in for an object: itself, or the new one; None where nothing does."""
        if name in self.doomed:
            return None
        if name not in self.renamed:
            read = self._objects.read(name)
            if read is None:
                return name  # before the beginning of a shallow history
            kind, content = read
            if kind == "tree":
                return self.tree(name)
            self.renamed[name] = self._remake(name, kind, content) if kind in ("commit", "tag") else name
        return self.renamed[name]

    def _remake(self, name: str, kind: str, content: bytes) -> str:
        changes: dict[tuple[bytes, bytes], str] = {}
        for header in headers(content)[0]:
            if header[0] in (b"parent", b"object"):
                old = header[1].decode()
                new = self.renamed.get(old, old) if header[0] == b"parent" else self.rename(old)
            elif header[0] == b"tree":
                old = header[1].decode()
                new = self.tree(old)
            else:
                continue
            if new is not None and new != old:
                changes[header] = new
        return self._objects.write(kind, with_headers(content, changes)) if changes else name


def _below(path: str, name: bytes) -> str:
    return f"{path}/{os.fsdecode(name)}" if path else os.fsdecode(name)
