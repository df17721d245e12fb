"""The ``git`` command line, run so that nothing of the surroundings changes what it does, and nothing is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from langmem_plus.errors import StoreError
from langmem_plus.store.markdown.layout import Layout

MISSING = "versioning is on, but git isn't installed: files are kept without their history. Install git."
# The settings of a person or a system count for nothing, and no hook, key or pager gets a chance.
_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.quotePath=false"),
    *("commit.gpgSign=false", "tag.gpgSign=false", "gc.auto=0", "safe.directory=*"),
    *("user.name=langmem-plus", "user.email=langmem-plus@localhost", "advice.detachedHead=false"),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
_SECONDS = 120.0  # a command that takes longer is given up
# Between two commits of a person there may stand a merge; nothing of ours comes in between.
UNDER_WAY = (
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("rebase-merge", "rebase-apply", "BISECT_LOG", "sequencer"),
)


class GitError(StoreError):
    """A git command failed; the message has its words."""


def find_git() -> str | None:
    """The git program, if there is one."""
    return shutil.which("git")


@dataclass(frozen=True)
class Repository:
    """A repository in which memory files lie.

    Attributes:
        top: the folder of its work tree.
        folder: its ``.git`` folder; of a linked work tree, that work tree's own.
        common: what linked work trees share; else the same.
        prefix: the memory folder's place below ``top``, "" or with a slash at its end.
    """

    top: Path
    folder: Path
    common: Path
    prefix: str

    def run(
        self,
        *arguments: str,
        data: bytes | None = None,
        index: Path | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = _SECONDS,
        may_fail: bool = False,
    ) -> bytes:
        """Run a command at the top of the work tree, and return its output.

        Args:
            arguments: the command.
            data: its standard input.
            index: the index that it uses; None is the person's.
            environment: variables besides.
            seconds: how long it may take.
            may_fail: then a failure gives what it printed so far.

        Raises:
            GitError: it failed, took too long, or there is no git.
        """
        other = {**(environment or {}), **({"GIT_INDEX_FILE": str(index)} if index is not None else {})}
        return run(self.top, *arguments, data=data, environment=other, seconds=seconds, may_fail=may_fail)

    def words(self, *arguments: str, index: Path | None = None, may_fail: bool = False) -> str:
        """As `run`, with the output as text without its line end."""
        return self.run(*arguments, index=index, may_fail=may_fail).decode("utf-8", "surrogateescape").strip()

    def head(self) -> str | None:
        """The commit that the work tree stands on; None before the first."""
        return self.words("rev-parse", "--verify", "--quiet", "HEAD^{commit}", may_fail=True) or None

    def under_way(self) -> str | None:
        """What a person is in the middle of: a merge, a rebase or the like, by the name of its file."""
        return next((name for name in UNDER_WAY if (self.folder / name).exists()), None)

    def is_detached(self) -> bool:
        """Whether the work tree stands on a commit, and not on a branch."""
        return not self.words("symbolic-ref", "--quiet", "HEAD", may_fail=True)


def run(
    folder: Path,
    *arguments: str,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
    may_fail: bool = False,
) -> bytes:
    """Run a git command in a folder, as `Repository.run`."""
    command, surroundings = _command(arguments, environment)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=surroundings,
            capture_output=True,
            timeout=seconds,
            check=False,
            input=data or b"",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {arguments[0]} in {str(folder)!r} failed: {error}") from error
    if done.returncode and not may_fail:
        words = " ".join(done.stderr.decode("utf-8", "replace").split()) or f"exit code {done.returncode}"
        raise GitError(f"git {arguments[0]} in {str(folder)!r} failed: {words}")
    return done.stdout


def open_git(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Begin a git command that answers line by line.

    Raises:
        GitError: there is no git, or it can't be run.
    """
    command, surroundings = _command(arguments, None)
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GitError(f"git {arguments[0]} in {str(folder)!r} failed: {error}") from error


def _command(arguments: Sequence[str], environment: Mapping[str, str] | None) -> tuple[list[str], dict[str, str]]:
    program = find_git()
    if program is None:
        raise GitError(MISSING)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return [program, *settings, *arguments], {**clean, **_ENVIRONMENT, **(environment or {})}


def find_repository(layout: Layout) -> Repository | None:
    """The repository that keeps the memories' history: the memory folder's own, or one around it in which a person
    tracks memories already. A repository around it that doesn't is none of ours.
    """
    found = next(repositories(layout), None)
    if found is None or (layout.root / ".git").exists():
        return found
    return found if found.run("ls-files", "-z", "--", f"{found.prefix}entries") else None


def repositories(layout: Layout) -> Iterator[Repository]:
    """Every repository in whose work tree the memory folder lies, the nearest first."""
    root = start = layout.root.resolve()
    while find_git() is not None and start.is_dir():
        told = run(start, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", may_fail=True)
        lines = os.fsdecode(told).splitlines()
        if len(lines) != 3 or not root.is_relative_to(top := Path(lines[0]).resolve()):
            return
        place = root.relative_to(top).as_posix()
        yield Repository(top, Path(lines[1]), (start / lines[2]).resolve(), "" if place == "." else f"{place}/")
        if top == top.parent:
            return
        start = top.parent


def make_repository(layout: Layout) -> Repository:
    """The repository of the memories; made in the memory folder where there is none.

    Raises:
        GitError: it can't be made.
    """
    found = find_repository(layout)
    if found is None:
        run(layout.root, "init", "--quiet", "--initial-branch=main", "--template=")
        found = find_repository(layout)
    if found is None:
        raise GitError(f"{str(layout.root)!r} can't be made a git repository: see what `git status` says there.")
    return found


def split(listing: bytes) -> Iterator[str]:
    """The names in an output that ends each with a zero byte."""
    return (os.fsdecode(name) for name in listing.split(b"\0") if name)


def join(names: Iterable[str]) -> bytes:
    """Names as an input that ends each with a zero byte."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)
