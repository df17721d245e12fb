"""The work trees of a repository, the main one and those that are linked to it: what each keeps for itself in ``.git``,
and the files that are checked out in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from langmem_plus.store.markdown.git import UNDER_WAY, Repository, run
from langmem_plus.store.markdown.rewriting import Wanted

# What a work tree has of its own, where there are more of them.
_OWN_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten")


@dataclass(frozen=True)
class WorkTree:
    """One of a repository's work trees.

    Attributes:
        folder: what it has of its own in ``.git``; of the main one, all of it.
        top: where it is checked out; None for a bare repository.
        is_locked: whether somebody locked it.
        is_ours: whether it is the one in which the memory folder is.
    """

    repository: Repository
    folder: Path
    top: Path | None
    is_locked: bool
    is_ours: bool

    def run(self, *arguments: str, data: bytes | None = None, may_fail: bool = False) -> bytes:
        """Run a git command that knows this work tree's refs, HEAD and index, whether or not it is there now."""
        where = {"GIT_DIR": str(self.folder)}
        return run(self.repository.top, *arguments, data=data, environment=where, may_fail=may_fail)

    def refs(self) -> Iterator[tuple[str, str, bool]]:
        """Its refs, the shared ones for the one that is ours alone: name, object, whether it only leads to another."""
        told = self.run(
            "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", *(() if self.is_ours else _OWN_REFS)
        )
        for line in told.decode("utf-8", "surrogateescape").splitlines():
            name, object_, link = line.split("\0")
            yield name, object_, bool(link)

    def detached(self) -> str | None:
        """The commit that it stands on, where that is no branch."""
        if self.run("symbolic-ref", "--quiet", "HEAD", may_fail=True).strip():
            return None
        return self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", may_fail=True).decode().strip() or None

    def under_way(self) -> str | None:
        """What somebody is in the middle of there: a merge, a rebase or the like, by its file."""
        return next((str(self.folder / name) for name in UNDER_WAY if (self.folder / name).exists()), None)


def work_trees(repository: Repository) -> list[WorkTree]:
    """All work trees, the main one first, those that aren't there now among them."""
    ours = repository.folder.resolve()
    main = WorkTree(repository, repository.common, _main_top(repository), False, repository.common == ours)
    linked = []
    for folder in sorted(repository.common.glob("worktrees/*/")):
        try:
            told = Path(os.fsdecode((folder / "gitdir").read_bytes().rstrip(b"\n")))
        except OSError:
            continue  # what git itself takes for none
        top = (folder / told).parent
        linked.append(WorkTree(repository, folder, top, (folder / "locked").exists(), folder.resolve() == ours))
    return [main, *linked]


def _main_top(repository: Repository) -> Path | None:
    if repository.common == repository.folder.resolve():
        return repository.top
    where = {"GIT_DIR": str(repository.common)}

    def setting(*arguments: str) -> str:
        return os.fsdecode(run(repository.common, "config", *arguments, environment=where, may_fail=True)).strip()

    if setting("--bool", "core.bare") == "true":
        return None
    return repository.common / (setting("core.worktree") or "..")


def remove_checked_out(
    tree: WorkTree, wanted: Wanted, had: Callable[[bytes], bool], miss: Callable[[str], object], *, held: bool
) -> int:
    """Remove what is wanted from where a linked work tree is checked out, as far as nobody changed it there.

    Args:
        tree: which.
        wanted: what is to go.
        had: whether git had this content among what is to go.
        miss: takes what stays, with what to do about it.
        held: whether its index named something of that.

    Returns:
        How many files went.
    """
    if tree.top is None:
        return 0
    if not tree.top.is_dir():
        if held:
            miss(f"the linked work tree {str(tree.top)!r} isn't there now: remove the files in it, wherever it is")
        return 0
    count = 0
    for name in sorted(set(_checked_out(tree.top, wanted))):
        file = tree.top / name
        if tree.is_locked:
            miss(f"{file}: its linked work tree is locked; remove the file there")
            continue
        try:
            if file.is_symlink() or not had(file.read_bytes()):
                miss(f"{file}: somebody changed it in a linked work tree; remove it there")
                continue
            file.unlink()
        except OSError as error:
            miss(f"{file}: it can't be removed ({error.strerror or error}); remove it there")
            continue
        count += 1
        _remove_empty(file.parent, tree.top / wanted.entries)
    return count


def _checked_out(top: Path, wanted: Wanted) -> Iterator[str]:
    """The files that are there of what is wanted, by their names."""
    for name in wanted.names:
        place = top / name
        files: Iterable[Path] = (place,) if place.is_file() or place.is_symlink() else place.rglob("*")
        yield from (_name(top, file) for file in files if not file.is_dir() or file.is_symlink())
    for folder in wanted.keys:
        for file in (top / folder).rglob("*.md"):
            if file.is_file() and wanted.holds(name := _name(top, file), file.read_bytes()):
                yield name


def _name(top: Path, file: Path) -> str:
    return file.relative_to(top).as_posix()


def _remove_empty(folder: Path, last: Path) -> None:
    while folder != last and last in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
