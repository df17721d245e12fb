"""Erasing memories from git: from every branch, tag, note and stash, from the reflogs, and from the disk.

History is made anew, from the first commit that holds one of the files on; other commits, and everything else that a
person has in their repository, stay as they are. What can't be reached from here is named.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.git import GitError, Repository, find_git, join, repositories, split
from langmem_plus.store.markdown.gitindex import strip_index
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.leftovers import sweep
from langmem_plus.store.markdown.objects import Objects, all_objects, borrowed, kept_packs
from langmem_plus.store.markdown.rewriting import Rewriter, Wanted
from langmem_plus.store.markdown.versioning import Waiting, alone, change_index, own_index
from langmem_plus.store.markdown.worktrees import WorkTree, remove_checked_out, work_trees

_MARK = "langmem-plus: erased"
_TRIES, _PAUSE = 5, 0.2
_LOCK_SECONDS = 60.0
_CLEAN_SECONDS = 3600.0  # packing a large history anew takes its time
_POINTERS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_LOGGED = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ")


@dataclass
class Forgotten:
    """What an erasure did in git.

    Attributes:
        looked: the repositories that were searched.
        versions: how many versions of files went.
        commits: how many commits were made anew.
        files: how many files went that were checked out in linked work trees.
        unreached: what could not be reached, each with what to do about it.
    """

    looked: list[str] = field(default_factory=list)
    versions: int = 0
    commits: int = 0
    files: int = 0
    unreached: list[str] = field(default_factory=list)


def forget_in_history(
    layout: Layout, paths: Iterable[Path], keys: Mapping[Namespace, Collection[str]] | None = None
) -> Forgotten:
    """Erase files from every git repository around the memory folder. The files on disk are the caller's business.

    Args:
        layout: where things lie.
        paths: files, and folders with all that was ever in them, below ``entries``.
        keys: the keys of items, by namespace, so that files which a person renamed or moved within it go, too.

    Returns:
        What was done, and what couldn't be reached: nothing is raised for that.
    """
    done, places = Forgotten(), list(paths)
    if find_git() is None:
        if (layout.root / ".git").exists():
            done.unreached.append(
                f"the git history in {str(layout.root)!r}: git isn't installed; install it, erase again"
            )
        return done
    for repository in repositories(layout):
        done.looked.append(f"git: {repository.folder}")
        entries = f"{repository.prefix}entries"
        root = layout.root
        done.unreached += _nested(layout, places)
        names = frozenset(repository.prefix + path.relative_to(root).as_posix() for path in places)
        folders = {
            repository.prefix + layout.folder(namespace).relative_to(root).as_posix(): frozenset(some)
            for namespace, some in (keys or {}).items()
        }
        try:
            with alone(layout, _LOCK_SECONDS):
                _forget(repository, Wanted(entries, names, folders), done)
        except (Waiting, OSError) as error:
            done.unreached.append(f"the git history in {str(repository.folder)!r}: {error}; erase again afterwards")
    return done


def _forget(repository: Repository, wanted: Wanted, done: Forgotten) -> None:
    trees = work_trees(repository)
    if under_way := next((found for tree in trees if (found := tree.under_way())), None):
        raise Waiting(f"{under_way} tells that a merge or a rebase is under way: finish it, or give it up")
    for tree in trees:
        own_index(tree.folder).unlink(missing_ok=True)
    for attempt in range(_TRIES):
        with Objects(repository) as objects:
            rewriter = Rewriter(objects, wanted)
            rewriter.run(_commits(repository, trees), [entry for tree in trees for entry in _staged(tree, wanted)])
            try:
                _rewrite_shallow(repository, rewriter, also_old=True)
                for tree in trees:
                    _move_refs(tree, rewriter)
                break
            except GitError:  # somebody committed meanwhile
                if attempt + 1 == _TRIES:
                    raise
                time.sleep(_PAUSE)
    _rewrite_shallow(repository, rewriter, also_old=False)
    _rewrite_logs(repository, trees, rewriter.renamed)
    held = {tree for tree in trees if _empty_index(tree, wanted, rewriter, objects.width)}
    for tree in trees:
        if not tree.is_ours and tree.top is not None:
            done.looked.append(f"git work tree: {tree.top}")
            done.files += remove_checked_out(tree, wanted, rewriter.had, done.unreached.append, held=tree in held)
    _end(repository, wanted, rewriter, done, changed=bool(rewriter.doomed or held))


def _end(repository: Repository, wanted: Wanted, rewriter: Rewriter, done: Forgotten, *, changed: bool) -> None:
    """Clean up, and name what is out of reach."""
    if rewriter.doomed:  # copies that git keeps of conflicts don't say of which file they are
        for file in (repository.common / "rr-cache").rglob("*image*"):
            file.unlink(missing_ok=True)
    sweep(repository, wanted, rewriter.lines, done.unreached.append)
    done.versions += len(rewriter.doomed)
    done.commits += sum(new != old for old, new in rewriter.renamed.items())
    if changed or not repository.prefix:
        _clean(repository, done)
    if left := rewriter.gone & all_objects(repository):
        done.unreached.append(f"{len(left)} objects in {str(repository.common)!r}, {_why(repository)}")
    done.unreached += [
        f"{repository.top / name}: a repository of its own (a submodule), whose history is apart; erase there, too"
        for name in sorted(rewriter.links)
        if wanted.is_near(name)
    ]
    if not rewriter.doomed:
        return
    if (repository.common / "shallow").exists():
        done.unreached.append(
            f"the history in {str(repository.common)!r} is shallow: what came before is where it was cloned from; ask "
            "its owner to clean it up"
        )
    done.unreached += [
        f"the git remote {name!r}: it may hold what was pushed; push with --force, and ask its owner to clean it up"
        for name in repository.words("remote").splitlines()
    ]


def _commits(repository: Repository, trees: Iterable[WorkTree]) -> list[str]:
    more = {object_ for tree in trees if not tree.is_ours for _, object_, _ in tree.refs()}
    command = ("rev-list", "--all", "--reflog", "--ignore-missing", "--topo-order", "--reverse", "--stdin")
    return repository.run(*command, data="".join(f"{each}\n" for each in more).encode()).decode().split()


def _move_refs(tree: WorkTree, rewriter: Rewriter) -> None:
    """Let every ref name what stands in for its commit: all of them, or none where one has changed."""
    lines = []
    for ref, old, is_link in tree.refs():
        new = old if is_link else rewriter.rename(old)
        if new is None:
            lines.append(f"delete {ref} {old}\n")
        elif new != old:
            lines.append(f"update {ref} {new} {old}\n")
    if head := tree.detached():
        new = rewriter.rename(head)
        if new and new != head:
            lines.append(f"option no-deref\nupdate HEAD {new} {head}\n")
    if lines:
        tree.run("update-ref", "-m", _MARK, "--stdin", data="".join(lines).encode())


def _rewrite_shallow(repository: Repository, rewriter: Rewriter, *, also_old: bool) -> None:
    """Let a shallow history begin with what stands in for the commits with which it began."""
    file = repository.common / "shallow"
    try:
        before = file.read_text().split()
    except FileNotFoundError:
        return
    after = {rewriter.renamed.get(name, name) for name in before} | set(before if also_old else ())
    if after != set(before):
        _replace(file, "".join(f"{name}\n" for name in sorted(after)).encode())


def _rewrite_logs(repository: Repository, trees: Iterable[WorkTree], renamed: Mapping[str, str]) -> None:
    """Let the reflogs, the stash's among them, and what points to earlier commits name those that stand in for them."""

    def anew(name: bytes) -> bytes:
        return renamed.get(name.decode(), name.decode()).encode()

    for log in _logs(repository):
        before = log.read_bytes()
        lines = [line for line in before.splitlines(keepends=True) if not line.rstrip().endswith(_MARK.encode())]
        after = b"".join(_LOGGED.sub(lambda m: b"%s %s " % (anew(m[1]), anew(m[2])), line, count=1) for line in lines)
        if after != before:
            _replace(log, after)
    for pointer in (tree.folder / name for tree in trees for name in _POINTERS):
        if pointer.is_file():
            _replace(pointer, re.sub(rb"\b[0-9a-f]{40,64}\b", lambda m: anew(m[0]), pointer.read_bytes()))


def _logs(repository: Repository) -> Iterator[Path]:
    for folder in {repository.common, repository.folder, *repository.common.glob("worktrees/*")}:
        yield from (path for path in (folder / "logs").rglob("*") if path.is_file() and path.suffix != ".lock")


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(file.name + ".langmem-plus")
    temporary.write_bytes(content)
    temporary.replace(file)


def _staged(tree: WorkTree, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """What a work tree's index has of the memories: names and contents."""
    if (tree.folder / "index").exists():
        for line in split(tree.run("ls-files", "--stage", "-z", "--", wanted.entries)):
            head, _, name = line.partition("\t")
            yield name, head.split(" ")[1]


def _empty_index(tree: WorkTree, wanted: Wanted, rewriter: Rewriter, width: int) -> bool:
    """Take the files out of the index that a person has in a work tree; whether one was in there."""
    index = tree.folder / "index"
    if not index.exists():
        return False
    names = {name for name, blob in _staged(tree, wanted) if rewriter.drops(name, blob)}
    change_index(tree.run, join(sorted(names)), "--no-split-index", "--clear-resolve-undo", "--force-remove", "--stdin")
    strip_index(index, width)
    for part in tree.folder.glob("sharedindex.*"):
        part.unlink(missing_ok=True)
    return bool(names)


def _clean(repository: Repository, done: Forgotten) -> None:
    """Remove every object that nothing needs, also from the packs."""
    never = ("gc.reflogExpire=never", "gc.reflogExpireUnreachable=never", "gc.worktreePruneExpire=never")
    settings = [part for name in (*never, "gc.bigPackThreshold=0") for part in ("-c", name)]
    try:
        repository.run(*settings, "gc", "--quiet", "--prune=now", "--force", seconds=_CLEAN_SECONDS)
    except GitError as error:
        done.unreached.append(f"unused objects in {str(repository.common)!r}: {error}; run `git gc --prune=now` there")


def _why(repository: Repository) -> str:
    why = []
    if packs := kept_packs(repository):
        why.append(
            f"for somebody marked packs to be kept: remove {', '.join(os.fspath(pack) for pack in packs)}, erase again"
        )
    if others := borrowed(repository):
        why.append(f"which it borrows from {', '.join(others)}: erase there, too")
    return " and ".join(why) or "which something still uses: see `git fsck --unreachable` there; erase again"


def _nested(layout: Layout, places: Iterable[Path]) -> list[str]:
    """Repositories that somebody made among the memories."""
    folders = {parent for place in places for parent in (place, *place.parents) if layout.root in parent.parents}
    return [
        f"{folder}: a git repository of its own, whose history is apart; erase there, too"
        for folder in sorted(folders)
        if (folder / ".git").exists()
    ]
