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


# Whole patterns, with what nobody means: brackets without an end, classes, ranges, escapes, bytes of letters.
PARTS = (
    *("a", "é", "*", "**", "***", "?", "??", "a**", "**b", "*.md", "[ab]", "[!a]", "[^b]", "[a-z]", "[z-a]", "[]a]"),
    *("[", "[]", "[a", "[[:alpha:]]", "[[:digit:]]*", "[a[:upper:]]", "[[:nope:]]", "[[:alpha]", "[:alpha:]", "[\\]]"),
    *(
        "[a-\\z]",
        "[a-]",
        "[--0]",
        "[a-c-e]",
        "[é]",
        "[!é]",
        "[!/]",
        "[a/b]",
        "\\a",
        "\\*",
        "\\",
        "a\\",
        "**\\",
        "{a,b}",
    ),
    *("a b", "\\#c", "#c", "\\!a", " a", ".", "a*b", "*a*"),
)
ENDS = (
    "",
    "",
    "",
    "/",
    "//",
    " ",
    "  ",
    "\\ ",
    "\\  ",
    "\\\\ ",
    "\t",
    " \t",
    "\t ",
    "\r",
    "\x0b",
    "\xa0",
    "\0a",
    "/**",
    "/**/",
)
GLOBS = st.builds(
    lambda start, parts, between, end: start + between.join(parts) + end,
    st.sampled_from(("", "", "/", "!")),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.sampled_from(("/", "/", "")),
    st.sampled_from(ENDS),
)
PATHS = (
    *(
        "a",
        "b",
        "B",
        "4",
        "é",
        "日",
        "]",
        "-",
        "\\",
        "#c",
        "!a",
        " a",
        "a ",
        "a\t",
        "a\x0b",
        "a\xa0",
        "ab",
        "a b",
        "*",
        "z.md",
    ),
    *("c/a", "c/b", "c/é", "c/d/a", "c/d/b", "c/d/ab", "[a/b]", "q/:", "q/^", "q/a.md", "q/q/a", "q/q/4x"),
)


@pytest.fixture(scope="module")
def apart(repository: Path) -> Path:
    """A repository of a few folders that hold names with what means something in patterns."""
    place = Path(tempfile.mkdtemp(dir=repository))
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    for path in (place / str(number) / path for number in range(5) for path in PATHS):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return place


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(st.lists(GLOBS, min_size=1, max_size=2), min_size=5, max_size=5))
def test_a_pattern_fits_what_it_fits_in_git(apart: Path, files: list[list[str]]) -> None:
    """Byte by byte, whatever stands in a line: classes, ranges, escapes, stars, spaces, brackets without an end."""
    ours = set()
    for number, lines in enumerate(files):
        text = "\n".join(lines)
        (apart / str(number) / ".gitignore").write_text(text, encoding="utf-8", newline="")
        rules = Rules(text, f"{number}/")
        ours |= {path for path in (f"{number}/{path}" for path in PATHS) if not is_left_out(rules, path)}
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-o", "--exclude-standard", "-z"]
    said = subprocess.run(command, cwd=apart, check=True, capture_output=True).stdout.decode().split("\0")
    assert ours == {path for path in said if path and not path.endswith(".gitignore")}


def is_left_out(rules: Rules, path: str) -> bool:
    """Whether a file is, or a folder that it is in."""
    above = [path[:place] for place in range(2, len(path)) if path[place - 1] == "/"]
    return any(map(rules.leave_out, above[1:])) or rules.leave_out(path)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        *(("[[:alpha:]].txt", "a.txt"), ("secret[0-9[:alpha:]]", "secretb"), ("[\\]]", "]"), ("[!/]", "a")),
        *(
            ("a**/a", "a/b/a"),
            ("key[0-9]", "key7"),
            ("foo\\ ", "foo "),
            ("*\\/b", "a/b"),
            ("??", "é"),
            ("[!a][!a]", "é"),
        ),
    ],
)
def test_left_out(line: str, path: str) -> None:
    """What git's own rules leave out, also where no git is installed."""
    assert Rules(line).leave_out(path)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("foo\t", "foo"),
        ("?", "é"),
        ("[^b]", "é"),
        ("[z-a]*.log", "b.log"),
        ("[[:nope:]]", "n"),
        ("a[", "a["),
        ("a\\", "a"),
    ],
)
def test_kept(line: str, path: str) -> None:
    """What fits nothing, such as a range from z to a, a class that nobody knows, an escape of nothing, ends nothing."""
    assert not Rules(line).leave_out(path)
    assert Rules(f"{line}\n*").leave_out(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("line", "path"),
    [
        *(("*a" * 40 + "b", "a" * 250), ("**/a/" * 40 + "b", "a/" * 300 + "c"), ("**\\/a" * 30 + "b", "a/" * 300)),
        *(("**/*a*a/" * 30 + "b", "aaa/" * 300), ("*[ab]?" * 60 + "c", "a" * 250), ("[!a]*" * 60 + "c", "b" * 250)),
    ],
)
def test_many_stars(line: str, path: str) -> None:
    """A line that fits in very many ways but for its end holds nobody up."""
    assert not Rules(line).leave_out(path)


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
