"""Erasing from git: the words are in no object any more, and whatever else a person has there is as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.background import background
from langmem_plus.erasure import Erasure
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import forgetting, git
from langmem_plus.store.markdown.forgetting import forget_in_history
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.versioning import commit

Namespace = tuple[str, ...]
WORDS = b"xylophone"


def person(folder: Path, *arguments: str) -> str:
    """What a person types."""
    who = {f"GIT_{role}_{part}": "ann@x.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run(["git", *arguments], cwd=folder, env={**plain, **who}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def everything(root: Path) -> bytes:
    """The content of every object, reachable or not, and every other file that git keeps."""
    command = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    objects = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    return objects + b"".join(path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file())


@pytest.fixture
def keep(root: Path) -> Callable[[], str | None]:
    """Commits everything now."""
    return lambda: commit(Layout(root), [root / "entries"])


@pytest.fixture
def store(open_store: Any, ns: Namespace, record: Any, keep: Callable[[], str | None]) -> MarkdownStore:
    """A store with a secret in several versions of a record, and others, in several commits."""
    opened: MarkdownStore = open_store()
    opened.put(ns, "other", record("other"))
    keep()
    for n in range(3):
        opened.put(ns, "secret", record("secret", f"Ann hides a xylophone, {n}."))
        keep()
    opened.put(ns, "other", record("other", "Ann likes coffee."))
    keep()
    return opened


def remove(store: MarkdownStore, ns: Namespace, key: str = "secret") -> list[Path]:
    """Remove a record's file, as an erasure does."""
    path = store.path_of(ns, key)
    assert path is not None
    path.unlink()
    return [path]


def test_no_object_holds_the_words(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """Loose or packed; the history of the others is whole, and the earliest commit is untouched."""
    first = person(root, "rev-list", "--max-parents=0", "HEAD")
    person(root, "gc", "-q")
    assert WORDS in everything(root)
    done = forget_in_history(Layout(root), remove(store, ns))
    assert WORDS not in everything(root)
    assert (done.versions, done.commits, done.unreached) == (3, 4, [])
    assert done.looked == [f"git: {root / '.git'}"]
    assert person(root, "rev-list", "--max-parents=0", "HEAD") == first
    assert person(root, "rev-list", "--count", "HEAD") == "5"
    assert person(root, "status", "--porcelain") == ""
    assert person(root, "fsck", "--strict", "--full") == ""
    assert "coffee" in person(root, "show", "--format=", "HEAD")
    assert forget_in_history(Layout(root), []).versions == 0


def test_every_ref_reflog_and_stash_is_made_anew(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """Branches, tags, notes and stashed work stay, without it; so does what is only in a reflog."""
    path = store.path_of(ns, "secret")
    assert path is not None
    person(root, "branch", "old", "HEAD~1")
    person(root, "tag", "light", "HEAD~1")
    person(root, "tag", "-a", "heavy", "-m", "my tag", "HEAD~2")
    person(root, "notes", "add", "-m", "my note", "HEAD")
    for n in range(2):
        path.write_text(path.read_text() + f"a xylophone stashed {n}")
        (root / "notes.txt").write_text(f"notes {n}")
        person(root, "add", "notes.txt")
        person(root, "stash", "push", "-q", "-m", f"stashed {n}")
    (root / "lost.txt").write_text("lost")
    person(root, "add", "lost.txt")
    person(root, "commit", "-qm", "lost")
    person(root, "reset", "-q", "--hard", "HEAD~1")
    reflog = person(root, "reflog", "--format=%gs")
    done = forget_in_history(Layout(root), remove(store, ns))
    assert WORDS not in everything(root)
    assert done.unreached == []
    assert person(root, "for-each-ref", "--format=%(refname:short)").split() == [
        *("main", "old", "notes/commits", "stash", "heavy", "light"),
    ]
    assert person(root, "stash", "list", "--format=%gs").splitlines() == ["On main: stashed 1", "On main: stashed 0"]
    assert person(root, "show", "stash@{1}:notes.txt") == "notes 0"
    assert person(root, "reflog", "--format=%gs") == reflog
    assert person(root, "show", "HEAD@{1}:lost.txt") == "lost"
    assert person(root, "cat-file", "-p", "heavy").endswith("my tag")
    assert person(root, "fsck", "--strict", "--full") == ""
    person(root, "stash", "pop", "-q")
    assert (root / "notes.txt").read_text() == "notes 1"


def test_files_that_were_renamed_by_hand_go_by_their_key(
    store: MarkdownStore, ns: Namespace, root: Path, folder: Path, keep: Callable[[], str | None]
) -> None:
    """Wherever they were in the namespace; those that only name the key, and those of others, stay."""
    path = store.path_of(ns, "secret")
    assert path is not None
    (folder / "facts" / "music").mkdir()
    path.rename(folder / "facts" / "music" / "loud.md")
    keep()
    store.delete(ns, "secret")
    keep()
    other = (*ns[:-1], "work")
    store.put(other, "secret", {"text": "a secret of another space"})
    store.put(ns, "names it", {"text": "see secret", "source": "secret"})
    keep()
    (gone,) = (folder / "deleted").rglob("*.md")
    gone.unlink()
    done = forget_in_history(Layout(root), [], {ns: ["secret"]})
    assert WORDS not in everything(root)
    assert done.versions >= 4
    files = person(root, "ls-files")
    assert "work/items/secret.md" in files
    assert "names" in files
    assert person(root, "status", "--porcelain") == ""


def test_a_whole_folder_goes(store: MarkdownStore, ns: Namespace, root: Path, folder: Path) -> None:
    """A user's or a space's."""
    for path in folder.rglob("*.md"):
        path.unlink()
    forget_in_history(Layout(root), [folder])
    found = everything(root)
    assert WORDS not in found
    assert b"coffee" not in found
    assert person(root, "ls-files") == ".gitignore"


def test_what_was_staged_or_never_committed_goes(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """From the person's index and from loose objects; what else they staged stays staged."""
    path = store.path_of(ns, "secret")
    assert path is not None
    path.write_text(path.read_text() + "a xylophone in the attic")
    (root / "mine.txt").write_text("mine")
    person(root, "add", "-A")
    forget_in_history(Layout(root), remove(store, ns))
    assert WORDS not in everything(root)
    assert person(root, "status", "--porcelain") == "A  mine.txt"


def test_signed_commits_and_a_detached_head(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """A signature that would no longer fit is left out; the work tree stands where it stood."""
    raw = person(root, "cat-file", "commit", "HEAD")
    head, _, message = raw.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n{message}\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=root, input=signed, capture_output=True, text=True
    ).stdout.strip()
    person(root, "checkout", "-q", "--detach", made)
    forget_in_history(Layout(root), remove(store, ns))
    assert WORDS not in everything(root)
    assert "gpgsig" not in person(root, "cat-file", "commit", "HEAD")
    assert person(root, "status", "--porcelain") == ""


def test_remotes_kept_packs_and_merges_are_named(store: MarkdownStore, ns: Namespace, root: Path) -> None:
    """What is out of reach, with what to do."""
    person(root, "remote", "add", "origin", "https://ann:hidden@example.org/x.git")
    person(root, "repack", "-a", "-d", "-q")
    (pack,) = (root / ".git" / "objects" / "pack").glob("*.pack")
    pack.with_suffix(".keep").touch()
    paths = remove(store, ns)
    done = forget_in_history(Layout(root), paths)
    assert any("'origin'" in words for words in done.unreached)
    assert any(".keep" in words for words in done.unreached)
    assert "hidden" not in str(done)
    pack.with_suffix(".keep").unlink()
    again = forget_in_history(Layout(root), paths)
    assert WORDS not in everything(root)
    assert again.unreached == []
    (root / ".git" / "MERGE_HEAD").write_text(person(root, "rev-parse", "HEAD"))
    assert "merge" in forget_in_history(Layout(root), paths).unreached[0]


def test_a_repository_around_it_is_searched_too(
    tmp_path: Path, store: MarkdownStore, ns: Namespace, root: Path
) -> None:
    """Where memories were tracked once; the rest of that history stays."""
    git_folder = root / ".git"
    git_folder.rename(tmp_path / "aside")
    person(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("print()")
    person(tmp_path, "add", "code.py", "memory/entries")
    person(tmp_path, "commit", "-qm", "all")
    person(tmp_path, "rm", "-rq", "--cached", "memory")
    person(tmp_path, "commit", "-qm", "without")
    (tmp_path / "aside").rename(git_folder)
    done = forget_in_history(Layout(root), remove(store, ns))
    assert len(done.looked) == 2
    assert WORDS not in everything(root) + everything(tmp_path)
    assert person(tmp_path, "log", "--format=%s").splitlines() == ["without", "all"]
    assert person(tmp_path, "show", "HEAD~1:code.py") == "print()"


def test_where_there_is_no_history_nothing_happens(
    open_store: Any, root: Path, store: MarkdownStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And without git a history that is there is named."""
    assert forget_in_history(Layout(tmp_path / "nothing"), []).looked == []
    monkeypatch.setattr(forgetting, "find_git", lambda: None)
    monkeypatch.setattr(git, "find_git", lambda: None)
    assert "install it" in forget_in_history(Layout(root), []).unreached[0]


def test_an_erasure_of_the_store_leaves_a_clean_history(
    open_store: Any, ns: Namespace, root: Path, record: Any
) -> None:
    """What is erased is gone from git, and what was rewritten without it is committed anew."""
    opened = open_store(versioning=True)
    for key in ("secret", "summary"):
        opened.put(ns, key, record(key, f"{key}: Ann hides a xylophone."))
    assert background.flush(30, ("versions", str(root)))
    assert WORDS in everything(root)
    kept = record("summary", "summary: Ann hides something.")
    receipt = opened.erase(ns, lambda held: Erasure(frozenset({"secret"}), {"summary": kept}))
    opened.close()
    assert receipt.unreached == []
    assert WORDS not in everything(root)
    assert person(root, "status", "--porcelain") == ""
    assert "something" in person(root, "grep", "hides", "HEAD")


def test_the_store_goes_on_committing(open_store: Any, ns: Namespace, root: Path, record: Any) -> None:
    """Its own index is made anew; what was erased doesn't come back."""
    opened = open_store(versioning=True)
    opened.put(ns, "secret", record("secret", "Ann hides a xylophone."))
    opened.put(ns, "other", record("other"))
    assert background.flush(30, ("versions", str(root)))
    forget_in_history(Layout(root), remove(opened, ns))
    opened.put(ns, "other", record("other", "Ann likes coffee."))
    opened.close()
    assert WORDS not in everything(root)
    assert person(root, "status", "--porcelain") == ""
    assert person(root, "rev-list", "--count", "HEAD") == "2"
