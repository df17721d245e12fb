"""What git, or a person, left in ``.git`` beside its objects, refs and indexes: messages, patches, bundles, finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from langmem_plus.store.markdown.git import Repository
from langmem_plus.store.markdown.rewriting import DECORATION, Wanted

# Left from something that is done: the text that somebody edited, what `git fsck --lost-found` wrote out.
_DONE = frozenset({"COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG", "NOTES_EDITMSG"})
_FOUND = "lost-found"
_APART = frozenset({"objects", "modules", "hooks"})  # git's own, other repositories, nothing of ours
_BUNDLE = re.compile(rb"# v\d+ git bundle\n")
_INDEX = re.compile(r"(langmem-plus\.)?index(\.lock)?|sharedindex\..*")
_LARGEST = 16_000_000


def sweep(repository: Repository, wanted: Wanted, lines: Collection[bytes], miss: Callable[[str], object]) -> None:
    """Remove what is left of something that is done and holds what is erased; name what else does.

    Args:
        repository: where.
        wanted: what is erased.
        lines: its lines, as `rewriting.telling_lines` gives them.
        miss: takes what stays, with what to do about it.
    """
    named = re.compile(re.escape(wanted.entries.encode()) + rb"/[^\s\0\"']+")
    for file in _others(repository.common):
        try:
            with file.open("rb") as opened:
                is_bundle = bool(_BUNDLE.match(opened.read(32)))
            if is_bundle:
                if lines:
                    miss(f"{file}: a bundle, which may hold it; remove it, or make it anew with `git bundle create`")
                continue
            content = file.read_bytes() if file.stat().st_size <= _LARGEST else b""
        except OSError as error:
            miss(f"{file}: it can't be read ({error.strerror}); look into it yourself")
            continue
        speaks = any(line.strip(DECORATION) in lines for line in content.splitlines())
        if not speaks and not any(
            wanted.has(name.decode("utf-8", "surrogateescape")) for name in named.findall(content)
        ):
            continue
        if file.name in _DONE or _FOUND in file.parts:
            file.unlink(missing_ok=True)
        else:
            miss(f"{file}: it has words or names of what was erased; take them out there")


def _others(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name in _APART:
            continue
        if path.is_dir():
            yield from _others(path)
        elif path.is_file() and not ((folder / "HEAD").is_file() and _INDEX.fullmatch(path.name)):
            yield path
