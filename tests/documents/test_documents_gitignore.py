"""What .gitignore files leave out of a folder of documents: what git leaves out, and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import folder as folders
from langmem_plus.documents.folder import BY_GIT, scan
from langmem_plus.documents.gitignore import Rules
from langmem_plus.errors import StoreError

CONFIG = MemoryConfig(embeddings="none", memory_path=Path("/nowhere"))
FOLDERS = ("", "a/", "b/", "a/b/", "a/b/a/", "b/docs/", "docs/", "docs/a/")
NAMES = ("x.md", "y.md", "b.md")
LINES = st.sampled_from(
    (
        *("*.md", "!*.md", "docs/", "!docs/", "docs", "!docs", "/docs", "docs/**", "docs/**/", "!docs/**/", "**/b"),
        *("a/**/b", "a/*", "!a/b", "/*", "!/a", "*", "!*", "!*/", "*/", "**", "**/", "!**/", "x.md", "!x.md", "a/x.md"),
        *("[ab]", "[!a].md", "?", "?.md", "/a/", "b/x.md  ", "\\x.md", "# x.md", "!", "/", "\\", "", "[a-", "*/b"),
        *("!*/b/", "a/b/**", "!a/b/y.md", "**/docs/x.md", "a**", "x.md\r", "\ufeffx.md"),
    )
)


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    """A repository in which nothing is committed."""
    if shutil.which("git") is None:
        pytest.skip("git isn't installed")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["git", "init", "-q", place], check=True)
        yield Path(place)


def of_git(place: Path) -> set[str]:
    """The documents that git sees, except below what is hidden."""
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-o", "--exclude-standard", "-z"]
    said = subprocess.run(command, cwd=place, check=True, capture_output=True).stdout.decode()
    return {path for path in said.split("\0") if path.endswith(".md")}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.dictionaries(st.sampled_from(FOLDERS), st.lists(LINES, min_size=1, max_size=4), max_size=4))
def test_the_same_as_git(repository: Path, rules: dict[str, list[str]]) -> None:
    """For any lines in any folders: order, negations, folders, anchors, stars, what means nothing."""
    place = Path(tempfile.mkdtemp(dir=repository))
    for above in FOLDERS:
        (place / above).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (place / above / name).touch()
    for above, lines in rules.items():
        (place / above / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    assert set(scan(place, CONFIG).files) == of_git(place)
    shutil.rmtree(place)


@given(st.text(), st.text())
def test_any_text(text: str, path: str) -> None:
    """Whatever stands in the file, nothing is raised."""
    assert Rules(text).leave_out(path) in (True, False)


def test_an_index_keeps_up_with_the_rules(open_index, write) -> None:
    """What a new line leaves out is forgotten, and comes back with the line's end; the report says why."""
    write("a.md", "alpha beta")
    write("build/b.md", "gamma delta")
    write("build/c.md", "epsilon zeta")
    index = open_index()
    assert index.sync().added == ["a.md", "build/b.md", "build/c.md"]
    rules = write(".gitignore", "build/*\n!b.md\n")
    report = index.sync()
    assert (report.removed, report.skipped["build/c.md"]) == (["build/c.md"], BY_GIT)
    assert index.search("epsilon") == []
    rules.write_text("build\n")
    report = index.sync()
    assert (report.removed, report.skipped["build"]) == (["build/b.md"], BY_GIT)
    rules.unlink()
    assert index.sync().added == ["build/b.md", "build/c.md"]


def test_the_knob(open_index, write) -> None:
    """With ``document_gitignore`` off the files mean nothing."""
    write(".gitignore", "*.md")
    write("a.md", "alpha")
    assert open_index(settings={"document_gitignore": False}).sync().added == ["a.md"]


def test_what_is_no_file_says_nothing(index, write, folder) -> None:
    """A link isn't followed, as git doesn't either; nor is a folder of that name read."""
    (folder.parent / "rules").write_text("*.md")
    (folder / ".gitignore").symlink_to(folder.parent / "rules")
    write("a.md", "alpha")
    (folder / "sub" / ".gitignore").mkdir(parents=True)
    write("sub/b.md", "beta")
    assert index.sync().added == ["a.md", "sub/b.md"]


def test_rules_that_cannot_be_read(index, write, monkeypatch) -> None:
    """Nobody knows what they leave out, so nothing of their folder is taken over, and nothing is forgotten."""
    write("sub/a.md", "alpha")
    write("b.md", "beta")
    index.sync()
    write("sub/.gitignore", "secret.md")
    write("sub/secret.md", "secret")
    real = folders._open

    def denied(root: Path, path: str) -> int:
        if path.endswith(".gitignore"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(root, path)

    monkeypatch.setattr(folders, "_open", denied)
    report = index.sync()
    assert (report.added, report.removed) == ([], [])
    assert "can't be read" in report.skipped["sub"]
    write(".gitignore", "")
    with pytest.raises(StoreError, match="gitignore"):
        index.sync()
