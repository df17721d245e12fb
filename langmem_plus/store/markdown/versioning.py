"""Git versioning: what was written is committed a little later, in batches, after the reply.

A commit is built beside the person's own work: with an index of its own, on the branch that is checked out, of nothing
but memory files. What a person has staged stays staged; while they merge, rebase or look at an old commit, it waits.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.store.markdown.files import Action, Namespace
from langmem_plus.store.markdown.git import (
    MISSING,
    GitError,
    Repository,
    find_git,
    join,
    make_repository,
    split,
)
from langmem_plus.store.markdown.layout import LABEL_FILE, Layout, is_memory_file
from langmem_plus.store.markdown.locks import ProcessLock

logger = logging.getLogger(__name__)

# What is written within so many seconds of a first write becomes one commit.
_QUIET_SECONDS = 1.0
# After a failure: twice as long each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 300.0
# Another git command holds the index only for a moment.
_TRIES, _PAUSE = 20, 0.1
# So many files are named to git one by one, more are looked for in their folder.
_LISTED = 200
DERIVED = (".index/", ".vectors/", ".pending/", ".journal/", ".locks/", ".*.tmp")
_IGNORE = "# Made from the memories, or only of use while they are written.\n"
_TOLD: set[tuple[str, str]] = set()


class Waiting(Exception):
    """Nothing can be committed now, but later; the message says why."""


class Versions:
    """The history of one store's files. Nothing here is on the way of a write, and nothing here makes one fail.

    Args:
        layout: where things lie.
        config: how long a close waits.
    """

    def __init__(self, layout: Layout, config: MemoryConfig) -> None:
        self._layout, self._config = layout, config
        self._key = ("versions", str(layout.root))
        self._noted: deque[Path] = deque()
        self._todo: set[Path] = {layout.entries}  # what an earlier process may have left
        self._failures, self._begun = 0, False

    def begin(self) -> None:
        """Commit what an earlier process left, once; to be called at the store's first use."""
        if not self._begun:
            self._begun = True
            self._submit(_QUIET_SECONDS)

    def wrote(self, actions: Iterable[Action]) -> None:
        """Note files that were written or removed."""
        for action in actions:
            self._noted.append(self._layout.folder(action.namespace) / action.path)
            self._noted.extend(file for file, _ in self._layout.label_files(action.namespace))
        self._submit(_QUIET_SECONDS)

    def edited(self, namespace: Namespace) -> None:
        """Note that somebody else changed files of a namespace."""
        self._noted.append(self._layout.folder(namespace))
        self._submit(_QUIET_SECONDS)

    def close(self) -> None:
        """Commit what is noted, within ``flush_seconds``; what isn't done by then is found at the next start."""
        if self._begun:
            if self._noted or self._todo:
                self._submit(0.0)
            background.flush(self._config.flush_seconds, self._key)
            self._begun = False

    def _submit(self, delay: float, *, awaited: bool = True) -> None:
        with contextlib.suppress(RuntimeError):  # at the process's end no thread can start; the next start catches up
            background.submit(self._key, self._work, self._config, delay=delay, awaited=awaited)

    def _work(self) -> None:
        while self._noted:
            self._todo.add(self._noted.popleft())
        todo = set(self._todo)
        if not todo:
            return
        try:
            commit(self._layout, todo)
        except (Waiting, OSError) as error:
            if find_git() is None:
                self._tell(MISSING)
                return
            self._failures += 1
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1))
            self._tell(f"the history of {str(self._layout.root)!r} waits: {error}")
            if self._begun:
                self._submit(pause, awaited=False)
        else:
            self._todo -= todo
            self._failures = 0

    def _tell(self, words: str) -> None:
        told = (str(self._layout.root), words)
        if told not in _TOLD:
            _TOLD.add(told)
            logger.warning("%s", words)


@contextlib.contextmanager
def alone(layout: Layout, seconds: float = 2.0) -> Iterator[None]:
    """Hold the history against other threads' and processes' commits, waiting so long for them.

    Raises:
        Waiting: another process has it for too long.
        OSError: the lock file can't be used.
    """
    lock = ProcessLock(layout.locks / "history.lock")
    for _ in range(math.ceil(seconds / _PAUSE)):
        if lock.acquire(wait=False):
            break
        time.sleep(_PAUSE)
    else:
        raise Waiting("another process is committing")
    try:
        yield
    finally:
        lock.release()


def commit(layout: Layout, paths: Collection[Path]) -> str | None:
    """Commit what changed of some memory files, or in some folders of them, on the branch that is checked out.

    Returns:
        The commit; None where nothing had changed.

    Raises:
        Waiting: a person or another program is in the middle of something.
        GitError: git can't be used here.
    """
    with alone(layout):
        repository = make_repository(layout)
        if under_way := repository.under_way():
            raise Waiting(f"{under_way} tells that a merge or a rebase is under way")
        if repository.is_detached():
            raise Waiting("a detached HEAD is no place for commits: check out a branch")
        paths = {*paths, *_ignore_derived(layout)}
        index = own_index(repository.folder)
        for attempt in range(2):
            try:
                return _commit(repository, index, layout, paths)
            except GitError:
                if attempt or not index.exists():
                    raise
                index.unlink()  # it may name what a person's own clean-up removed
    return None


def own_index(folder: Path) -> Path:
    """The index that commits are built with, apart from the person's, in a work tree's own folder in ``.git``; without
    a lock that a dead process left.
    """
    index = folder / "langmem-plus.index"
    index.with_name(index.name + ".lock").unlink(missing_ok=True)
    return index


def _commit(repository: Repository, index: Path, layout: Layout, paths: Collection[Path]) -> str | None:
    head = repository.head()
    base = ["HEAD"] if head else ["--empty"]
    repository.run("read-tree", *(["-m"] if head and index.exists() else []), *base, index=index)
    names = _changed(repository, index, layout, paths)
    _take_up(repository, index, names)
    tree = repository.words("write-tree", index=index)
    made = None
    if head is None or tree != repository.words("rev-parse", "HEAD^{tree}"):
        if head is None and not names:
            return None
        # The words of a memory stay out of the message: it couldn't be erased without the rest.
        message = f"{len(names)} memory files changed\n"
        parents = ["-p", head] if head else []
        made = repository.run("commit-tree", tree, *parents, "-F", "-", data=message.encode()).decode().strip()
        nothing = "0" * len(made)
        repository.run("update-ref", "-m", "langmem-plus: versioning", "HEAD", made, head or nothing)
    whole = layout.entries in paths or len(names) > _LISTED
    _follow(repository, [f"{repository.prefix}entries", f"{repository.prefix}.gitignore"] if whole else names)
    return made


def _take_up(repository: Repository, index: Path, names: Sequence[str]) -> None:
    """Take files into an index as they are on disk; those that git refuses (behind a link, unreadable) are left out."""
    command = ("update-index", "--add", "--remove", "-z", "--stdin")
    try:
        if names:
            repository.run(*command, data=join(names), index=index)
    except GitError as error:
        logger.warning("some memory files can't be taken into their history: %s", error)
        for name in names:
            repository.run(*command, data=join([name]), index=index, may_fail=True)


def _changed(repository: Repository, index: Path, layout: Layout, paths: Collection[Path]) -> list[str]:
    """The names of what may have changed: of folders, what differs from the index; nothing that a person ignores."""
    folders = [path for path in paths if path.suffix != ".md" and path.name not in (LABEL_FILE, ".gitignore")]
    names = {_name(repository, layout, path) for path in paths if path not in folders}
    if folders:
        where = [_name(repository, layout, folder) for folder in folders]
        arguments = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
        found = repository.run(*arguments, "--", *where, index=index)
        names |= {name for name in split(found) if is_memory_file(Path(name).name) or Path(name).name == LABEL_FILE}
    if not names:
        return []
    ignored = repository.run("check-ignore", "-z", "--stdin", data=join(names), index=index, may_fail=True)
    return sorted(names.difference(split(ignored)))


def _name(repository: Repository, layout: Layout, path: Path) -> str:
    return repository.prefix + path.relative_to(layout.root).as_posix()


def _follow(repository: Repository, names: Collection[str]) -> None:
    """Bring the person's index in step with the commit, for memory files alone: else it would look as if they had
    staged the opposite.
    """
    if not names or repository.head() is None:
        return
    differing = repository.run("diff-index", "--cached", "--raw", "--no-renames", "-z", "HEAD", "--", *names)
    parts = differing.split(b"\0")
    lines = []
    for told, name in zip(parts[::2], parts[1::2], strict=False):
        mode, _, blob, _, _ = told.lstrip(b":").split(b" ")
        lines.append(b"%s %s\t%s\0" % (b"0" if not mode.strip(b"0") else mode, blob, name))
    if lines:
        change_index(repository.run, b"".join(lines), "--index-info")


def change_index(run: Callable[..., bytes], data: bytes, *arguments: str) -> None:
    """Change the index of whatever ``run`` runs in, as soon as no other git command holds it.

    Raises:
        Waiting: one holds it for too long.
        GitError: git refuses.
    """
    for attempt in range(_TRIES):
        try:
            run("update-index", "-z", *arguments, data=data)
            return
        except GitError as error:
            if "index.lock" not in str(error):
                raise
            if attempt + 1 == _TRIES:
                raise Waiting("another git command holds the index") from error
            time.sleep(_PAUSE)


def _ignore_derived(layout: Layout) -> list[Path]:
    """See that git leaves out what is derived; the file, if it is ours to commit. In a person's own file lines are
    added, which they commit.
    """
    file = layout.root / ".gitignore"
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    missing = [line for line in DERIVED if line not in before.splitlines() and f"/{line}" not in before.splitlines()]
    if missing:
        start = before if not before or before.endswith("\n") else before + "\n"
        added = _IGNORE + "".join(f"{line}\n" for line in missing)
        file.write_text(start + added, encoding="utf-8", errors="surrogateescape", newline="\n")
    return [file] if before.startswith(_IGNORE) or not before else []
