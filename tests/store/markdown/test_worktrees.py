"""Erasing where a repository has linked work trees: what is checked out there, and what each keeps for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.erasure import Erasure
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.forgetting import Forgotten, forget_in_history
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.versioning import commit

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git isn't installed")
Namespace = tuple[str, ...]
WORDS, NAME = b"xylophone", b"secret"


def person(folder: Path, *arguments: str) -> str:
    """What a person types."""
    who = {f"GIT_{role}_{part}": "ann@x.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run(["git", *arguments], cwd=folder, env={**plain, **who}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def holding(word: bytes, root: Path, *folders: Path) -> list[str]:
    """Where a word is: in files below some folders, or in the objects of the repository."""
    found = [
        str(path)
        for folder in {root, *folders}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".index", ".vectors", ".locks"} & set(path.parts) and word in path.read_bytes()
    ]
    command = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    objects = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    return [*found, *(["an object"] if word in objects else [])]


@pytest.fixture
def secret(open_store: Any, ns: Namespace, root: Path, record: Any) -> Path:
    """The file of a secret, which is committed in two versions, beside another record."""
    store: MarkdownStore = open_store()
    store.put(ns, "other", record("other"))
    for n in range(2):
        store.put(ns, "secret", record("secret", f"Ann hides a xylophone, {n}."))
        commit(Layout(root), [root / "entries"])
    path = store.path_of(ns, "secret")
    assert path is not None
    return path


@pytest.fixture
def forget(root: Path, secret: Path) -> Callable[..., Forgotten]:
    """Erases the secret as the store does."""

    def erased() -> Forgotten:
        secret.unlink(missing_ok=True)
        return forget_in_history(Layout(root), [secret])

    return erased


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("how", [("-b", "side"), ("--detach",)])
def test_what_is_checked_out_elsewhere_goes(
    root: Path, tmp_path: Path, secret: Path, forget: Callable[[], Forgotten], inside: bool, how: tuple[str, ...]
) -> None:
    """On a branch or on a commit, also inside the memory folder: the files, and their names in every index."""
    linked = root / "linked" if inside else tmp_path / "linked"
    person(root, "worktree", "add", "-q", *how, str(linked))
    copy = linked / secret.relative_to(root)
    assert copy.exists()
    person(linked, "status")
    person(linked, "update-ref", "refs/worktree/mine", "HEAD~1")
    done = forget()
    assert (done.unreached, done.files) == ([], 1)
    assert done.looked == [f"git: {root / '.git'}", f"git work tree: {linked}"]
    assert holding(WORDS, root, linked) == []
    assert holding(NAME, root, linked) == []
    assert person(linked, "status", "--porcelain") == ""
    assert person(root, "fsck", "--strict", "--full") == ""
    assert [path.name for path in linked.rglob("*.md")] == [path.name for path in (root / "entries").rglob("*.md")]


def test_what_somebody_changed_there_or_locked_is_named(
    root: Path, tmp_path: Path, secret: Path, forget: Callable[[], Forgotten]
) -> None:
    """And stays; one whose folder isn't there now is named as well. Their indexes have nothing of it all the same."""
    trees = {name: tmp_path / name for name in ("changed", "locked", "away")}
    for name, folder in trees.items():
        person(root, "worktree", "add", "-q", "-b", name, str(folder))
    copies = {name: folder / secret.relative_to(root) for name, folder in trees.items()}
    copies["changed"].write_text(copies["changed"].read_text() + "more")
    person(root, "worktree", "lock", str(trees["locked"]))
    trees["away"].rename(tmp_path / "elsewhere")
    done = forget()
    assert len(done.unreached) == 3
    for told in (
        f"{copies['changed']}: somebody changed",
        f"{copies['locked']}: its linked",
        f"{str(trees['away'])!r} isn't",
    ):
        assert any(told in words for words in done.unreached)
    assert copies["changed"].exists()
    assert copies["locked"].exists()
    assert holding(WORDS, root) == []
    assert holding(NAME, root) == []


def test_line_ends_are_no_change(root: Path, tmp_path: Path, secret: Path, forget: Callable[[], Forgotten]) -> None:
    """A work tree may be checked out with those of Windows."""
    linked = tmp_path / "linked"
    person(root, "worktree", "add", "-q", "-b", "side", str(linked))
    copy = linked / secret.relative_to(root)
    copy.write_bytes(copy.read_bytes().replace(b"\n", b"\r\n"))
    assert forget().unreached == []
    assert not copy.exists()


def test_the_memory_folder_may_be_a_linked_work_tree(
    open_store: Any, tmp_path: Path, ns: Namespace, record: Any
) -> None:
    """Then the main one is cleaned as the others are."""
    main, root = tmp_path / "main", tmp_path / "memory"
    main.mkdir()
    person(main, "init", "-q", "-b", "main")
    person(main, "commit", "-q", "--allow-empty", "-m", "first")
    person(main, "worktree", "add", "-q", "-b", "memories", str(root))
    store = MarkdownStore(root)
    store.put(ns, "secret", record("secret", "Ann hides a xylophone."))
    commit(Layout(root), [root / "entries"])
    person(main, "merge", "-q", "--ff-only", "memories")
    path = store.path_of(ns, "secret")
    store.close()
    assert path is not None
    path.unlink()
    done = forget_in_history(Layout(root), [path])
    assert (done.unreached, done.files) == ([], 1)
    assert holding(WORDS, main, root) == []
    assert person(main, "status", "--porcelain") == ""


def test_a_rebase_in_a_linked_work_tree_is_waited_for(
    root: Path, tmp_path: Path, forget: Callable[[], Forgotten]
) -> None:
    """It holds patches and commits that it will go on with."""
    person(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    (root / ".git" / "worktrees" / "linked" / "rebase-merge").mkdir()
    assert "rebase-merge" in forget().unreached[0]


@pytest.mark.parametrize(
    "setting", ["index.version=4", "core.splitIndex=true", "core.untrackedCache=true", "index.skipHash=true"]
)
def test_no_form_of_the_index_keeps_the_name(
    root: Path, secret: Path, forget: Callable[[], Forgotten], setting: str
) -> None:
    """Split, compressed, with trees and untracked files, without a checksum; what is staged besides stays."""
    person(root, "config", *setting.split("="))
    (root / "mine.txt").write_text("mine")
    person(root, "add", "mine.txt")
    person(root, "update-index", "--force-write-index")
    (secret.parent / "secret.bak").write_text("untracked")
    person(root, "status")
    assert any(root.joinpath(".git").glob("sharedindex.*")) == ("split" in setting)
    (secret.parent / "secret.bak").unlink()
    done = forget()
    assert done.unreached == []
    assert holding(NAME, root) == []
    assert person(root, "status", "--porcelain") == "A  mine.txt"


def test_messages_and_finds_go_and_bundles_and_patches_are_named(
    root: Path, secret: Path, forget: Callable[[], Forgotten]
) -> None:
    """What git left of something that is done goes; what a person keeps in there is theirs to look into."""
    inside = root / ".git"
    (inside / "COMMIT_EDITMSG").write_text("my message\n# Changes:\n+Ann hides a xylophone, 1.\n")
    (inside / "lost-found" / "other").mkdir(parents=True)
    (inside / "lost-found" / "other" / "abc").write_bytes(secret.read_bytes())
    (inside / "mine.patch").write_text(f"+++ b/{secret.relative_to(root).as_posix()}\n+something\n")
    (inside / "unrelated.txt").write_text("an unrelated text\n")
    person(root, "bundle", "create", str(inside / "all.bundle"), "--all")
    done = forget()
    assert len(done.unreached) == 2
    assert any("mine.patch" in words for words in done.unreached)
    assert any("all.bundle" in words for words in done.unreached)
    assert not (inside / "COMMIT_EDITMSG").exists()
    assert holding(WORDS, root) == []
    assert (inside / "unrelated.txt").exists()


def test_a_shallow_history_stays_whole_and_is_named(
    root: Path, tmp_path: Path, secret: Path, forget: Callable[[], Forgotten]
) -> None:
    """It begins with what stands in for its first commit; what came before is elsewhere."""
    person(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "clone")
    shutil.rmtree(root / ".git")
    (tmp_path / "clone" / ".git").rename(root / ".git")
    done = forget()
    assert any("shallow" in words for words in done.unreached)
    assert any("'origin'" in words for words in done.unreached)
    assert holding(WORDS, root) == []
    assert person(root, "fsck", "--full") == ""
    assert person(root, "rev-list", "--count", "HEAD") == "1"


def test_borrowed_objects_and_repositories_among_the_memories_are_named(
    root: Path, tmp_path: Path, secret: Path, forget: Callable[[], Forgotten]
) -> None:
    """Each with where to erase."""
    lender = tmp_path / "lender"
    shutil.copytree(root / ".git" / "objects", lender)
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{lender}\n")
    person(secret.parent, "init", "-q")
    done = forget()
    assert any(str(lender) in words and "borrows" in words for words in done.unreached)
    assert any(words.startswith(f"{secret.parent}: a git repository") for words in done.unreached)


def test_an_erasure_of_nothing_leaves_the_history(open_store: Any, ns: Namespace, root: Path, record: Any) -> None:
    """Where nothing is chosen, nothing goes; by its id, what only the history has goes."""
    store = open_store(versioning=True)
    store.put(ns, "secret", record("secret", "Ann hides a xylophone."))
    store.put(ns, "other", record("other", "Ann likes coffee."))
    store.close()
    before = person(root, "rev-parse", "HEAD")
    assert store.erase(ns, lambda held: Erasure()).removed == {}
    assert person(root, "rev-parse", "HEAD") == before
    path = store.path_of(ns, "secret")
    path.unlink()
    receipt = store.erase(ns, lambda held: Erasure(frozenset({"secret"})))
    assert receipt.removed["version in git"] == 1
    store.close()
    assert holding(WORDS, root) == []
    assert "coffee" in person(root, "grep", "coffee", "HEAD")
