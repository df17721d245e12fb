"""Git versioning: every write ends up in a commit, beside whatever a person does in the same repository."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.background import background
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import git, versioning
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.versioning import Waiting, commit

Namespace = tuple[str, ...]
PERSON = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@x.org"}


def person(folder: Path, *arguments: str, check: bool = True) -> str:
    """What a person types."""
    who = {**PERSON, **{name.replace("AUTHOR", "COMMITTER"): value for name, value in PERSON.items()}}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run(["git", *arguments], cwd=folder, env={**plain, **who}, capture_output=True, text=True)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


def settle(store: MarkdownStore) -> None:
    """Wait until the history is written."""
    assert background.flush(30, ("versions", str(store._layout.root)))


def subjects(root: Path) -> list[str]:
    """The messages of the commits, newest first."""
    return person(root, "log", "--format=%s").splitlines()


@pytest.fixture
def kept(open_store: Any, ns: Namespace, record: Any, root: Path) -> MarkdownStore:
    """A store with one record, committed."""
    store: MarkdownStore = open_store(versioning=True)
    store.put(ns, "k", record("k"))
    settle(store)
    assert len(subjects(root)) == 1
    return store


def test_writes_are_committed_in_batches(kept: MarkdownStore, ns: Namespace, root: Path, record: Any) -> None:
    """Puts, updates and deletes; all that comes together is one commit, and nothing is left over."""
    for n in range(5):
        kept.put(ns, f"k{n}", record(f"k{n}"))
    kept.put(ns, "k", record("k", "Ann likes coffee."))
    kept.delete(ns, "k0")
    settle(kept)
    assert len(subjects(root)) <= 3
    assert person(root, "status", "--porcelain") == ""
    files = person(root, "ls-files").splitlines()
    assert ".gitignore" in files
    assert sorted(Path(name).suffix for name in files if name != ".gitignore") == [".md"] * 6
    assert "coffee" in person(root, "show", f"HEAD:{kept.path_of(ns, 'k').relative_to(root)}")  # type: ignore[union-attr]
    assert person(root, "log", "-1", "--format=%an %ae %cn") == "langmem-plus langmem-plus@localhost langmem-plus"
    assert "Ann" not in person(root, "log", "--format=%B")


def test_what_is_derived_is_ignored(kept: MarkdownStore, root: Path) -> None:
    """Neither the indexes nor locks nor half-written files; a person's own lines stay."""
    (root / "entries" / f".{'0' * 32}.tmp").touch()
    assert person(root, "status", "--porcelain", "--untracked-files=all") == ""
    (root / ".gitignore").write_text("/drafts/\n*.bak")
    kept.put(("a",), "k", {"n": 1})
    settle(kept)
    lines = (root / ".gitignore").read_text().splitlines()
    assert lines[:2] == ["/drafts/", "*.bak"]
    assert set(versioning.DERIVED) <= set(lines)


def test_edits_by_hand_are_committed_when_they_are_seen(kept: MarkdownStore, ns: Namespace, root: Path) -> None:
    """Changed, new and removed files; not those that a person ignores."""
    path = kept.path_of(ns, "k")
    assert path is not None
    path.write_text(path.read_text().replace("green", "black"))
    path.with_name("chess.md").write_text("Ann plays chess.\n")
    path.with_name("private.md").write_text("a secret")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("private.md\n")
    assert len(kept.search(ns)) == 3
    settle(kept)
    assert person(root, "show", "--name-status", "--format=", "--diff-filter=AM").count("\n") == 1
    path.unlink()
    assert kept.get(ns, "k") is None
    settle(kept)
    assert person(root, "show", "--name-status", "--format=").startswith("D")
    assert "private" not in person(root, "ls-files")


def test_a_persons_own_work_stays_theirs(kept: MarkdownStore, ns: Namespace, root: Path, record: Any) -> None:
    """What they staged stays staged, what they have beside the memories stays untracked, their branch goes on."""
    person(root, "checkout", "-q", "-b", "mine")
    (root / "notes.txt").write_text("mine")
    (root / "other.txt").write_text("untracked")
    person(root, "add", "notes.txt")
    kept.put(ns, "k", record("k", "Ann likes coffee."))
    settle(kept)
    assert person(root, "status", "--porcelain").splitlines() == ["A  notes.txt", "?? other.txt"]
    assert person(root, "show", "--name-only", "--format=%an").count("notes") == 0
    assert person(root, "rev-list", "--count", "main") == "1"
    person(root, "commit", "-qm", "my notes")
    assert subjects(root)[0] == "my notes"
    assert person(root, "status", "--porcelain") == "?? other.txt"
    kept.put(ns, "k", record("k", "Ann likes milk."))
    settle(kept)
    assert len(subjects(root)) == 4


def test_a_detached_head_and_a_merge_are_waited_for(
    kept: MarkdownStore, ns: Namespace, root: Path, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A commit there would be lost, or would be no part of what the person does; it is made up for afterwards."""
    person(root, "checkout", "-q", "--detach")
    kept.put(ns, "k2", record("k2"))
    settle(kept)
    assert "a detached HEAD" in caplog.text
    person(root, "checkout", "-q", "main")
    for branch in ("one", "two"):
        person(root, "checkout", "-q", "-b", branch, "main")
        (root / "notes.txt").write_text(branch)
        person(root, "add", "notes.txt")
        person(root, "commit", "-qm", branch)
    person(root, "merge", "one", check=False)
    before = person(root, "rev-parse", "HEAD")
    with pytest.raises(Waiting, match="MERGE_HEAD"):
        commit(Layout(root), [root / "entries"])
    assert person(root, "rev-parse", "HEAD") == before
    (root / "notes.txt").write_text("both")
    person(root, "commit", "-qam", "merged")
    kept.put(ns, "k3", record("k3"))
    settle(kept)
    assert "k2" in person(root, "ls-files")
    assert person(root, "status", "--porcelain") == ""
    assert len(kept.search(ns)) == 3


def test_an_index_that_another_command_holds_is_waited_for(
    kept: MarkdownStore, ns: Namespace, root: Path, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is made; the person's index follows when it is free."""
    monkeypatch.setattr(versioning, "_PAUSE", 0.01)
    lock = root / ".git" / "index.lock"
    lock.touch()
    kept.put(ns, "k", record("k", "Ann likes coffee."))
    settle(kept)
    assert len(subjects(root)) == 2
    lock.unlink()
    kept.put(ns, "k2", record("k2"))
    settle(kept)
    assert person(root, "status", "--porcelain") == ""


def test_what_a_crash_left_is_committed_at_the_next_start(
    open_store: Any, ns: Namespace, root: Path, record: Any
) -> None:
    """Also locks of ours that a dead process left."""
    store = open_store(versioning=True)
    store.put(ns, "k", record("k"))
    store.close()
    assert len(subjects(root)) == 1
    plain = open_store()
    plain.put(ns, "k", record("k", "Ann likes coffee."))
    plain.put(ns, "k2", record("k2"))
    (root / ".git" / "langmem-plus.index.lock").touch()
    (root / ".git" / "langmem-plus.index").write_bytes(b"broken")
    again = open_store(versioning=True)
    assert again.get(ns, "k") is not None
    again.close()
    assert person(root, "status", "--porcelain") == ""
    assert len(subjects(root)) == 2


def test_close_commits_what_is_left_once(open_store: Any, ns: Namespace, root: Path, record: Any) -> None:
    """A store that is used again afterwards goes on."""
    store = open_store(versioning=True)
    for key in "ab":
        store.put(ns, key, record(key))
        store.close()
        store.close()
    assert len(subjects(root)) == 2


def test_a_folder_in_somebodys_repository_gets_its_own(
    tmp_path: Path, open_store: Any, ns: Namespace, root: Path, record: Any
) -> None:
    """Memories don't end up in a project's history by themselves."""
    person(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("x")
    person(tmp_path, "add", "code.py")
    person(tmp_path, "commit", "-qm", "code")
    store = open_store(versioning=True)
    store.put(ns, "k", record("k"))
    settle(store)
    assert person(tmp_path, "rev-list", "--count", "HEAD") == "1"
    assert (root / ".git").is_dir()
    assert len(subjects(root)) == 1


def test_where_a_person_tracks_memories_already_that_is_their_repository(
    tmp_path: Path, open_store: Any, ns: Namespace, root: Path, record: Any
) -> None:
    """It is committed there, and nothing else is."""
    open_store().put(ns, "k", record("k"))
    person(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("x")
    person(tmp_path, "add", "memory/entries")
    person(tmp_path, "commit", "-qm", "memories, too")
    person(tmp_path, "add", "code.py")
    store = open_store(versioning=True)
    store.put(ns, "k", record("k", "Ann likes coffee."))
    settle(store)
    assert not (root / ".git").exists()
    assert person(tmp_path, "status", "--porcelain") == "A  code.py"
    assert person(tmp_path, "log", "-1", "--format=%an") == "langmem-plus"


def test_settings_and_hooks_of_a_person_count_for_nothing(
    kept: MarkdownStore, ns: Namespace, root: Path, record: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Signing, hooks, line ends, an editor, another repository in the environment: a commit is made as always."""
    for name, value in (("commit.gpgSign", "true"), ("core.autocrlf", "true"), ("user.useConfigOnly", "true")):
        person(root, "config", name, value)
    hook = root / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    kept.put(ns, "k", record("k", "Ann likes coffee."))
    settle(kept)
    assert len(subjects(root)) == 2


def test_without_git_one_warning_says_so(
    open_store: Any, ns: Namespace, record: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And writes go on."""
    monkeypatch.setattr(git, "find_git", lambda: None)
    monkeypatch.setattr(versioning, "find_git", lambda: None)
    monkeypatch.setattr(versioning, "_TOLD", set())
    caplog.set_level(logging.WARNING)
    store = open_store(versioning=True)
    for n in range(3):
        store.put(ns, "k", record("k", f"tea {n}"))
        settle(store)
    assert caplog.text.count("Install git") == 1
    assert store.get(ns, "k").value["text"] == "tea 2"


def test_a_repository_that_cannot_be_used_fails_no_write(
    open_store: Any, ns: Namespace, root: Path, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, and tried again later."""
    root.mkdir()
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("nonsense")
    store = open_store(versioning=True)
    for n in range(3):
        store.put(ns, "k", record("k", f"tea {n}"))
        settle(store)
    assert caplog.text.count("the history of") <= 2
    shutil.rmtree(root / ".git")
    store.put(ns, "k", record("k", "tea"))
    settle(store)
    assert len(subjects(root)) == 1


_WRITER = """
import sys
from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore

root, name = sys.argv[1:]
with MarkdownStore(root, index=None, config=MemoryConfig(versioning=True)) as store:
    for n in range(20):
        key = f"{name}{n}"
        store.put(("memories", "ann", "default"), key, MemoryRecord(id=key, text=key, user_id="ann").to_value())
"""


def test_several_processes_share_one_history(root: Path, ns: Namespace, open_store: Any) -> None:
    """All their writes end up in it, and nobody's index is broken."""
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(root), name], stderr=subprocess.PIPE) for name in "abc"
    ]
    for writer in writers:
        assert writer.communicate(timeout=100)[1] == b""
    store = open_store(versioning=True)
    assert len(store.search(ns, limit=100)) == 60
    store.close()
    assert len(person(root, "ls-files", "entries").splitlines()) == 60
    assert person(root, "status", "--porcelain") == ""
    assert person(root, "fsck", "--strict") == ""


def test_a_file_behind_a_link_keeps_the_others_in(
    kept: MarkdownStore, ns: Namespace, root: Path, folder: Path, tmp_path: Path, record: Any
) -> None:
    """What git refuses to follow is left out of the history, not out of the memory."""
    (tmp_path / "elsewhere").mkdir()
    shutil.move(folder, tmp_path / "elsewhere" / "default")
    folder.symlink_to(tmp_path / "elsewhere" / "default")
    kept.put(ns, "k", record("k", "Ann likes coffee."))
    kept.put(("other",), "n", {"n": 1})
    settle(kept)
    assert any("items/n" in name for name in person(root, "ls-files").splitlines())
