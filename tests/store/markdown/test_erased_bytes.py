"""After an erasure the bytes are nowhere below the root: in no file, database, collection, object or work tree."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.background import background
from langmem_plus.errors import NotFoundError
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git isn't installed")
USER, SPACE, THREAD, BOAT = "zuleika", "quarantine", "thread-vq7", "Zanzibarquux"


def git(root: Path, *arguments: str) -> bytes:
    """A command of a person in the repository."""
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    return subprocess.run(["git", *arguments], cwd=root, env=plain, capture_output=True, check=True).stdout


def places(root: Path, word: str) -> list[str]:
    """Where a word is, in whatever case and in UTF-16 too: names and contents of files, and git's objects."""
    marks = {form.encode(coding) for form in (word, word.lower()) for coding in ("utf-8", "utf-16-le")}

    def has(content: bytes) -> bool:
        return any(mark in content for mark in marks)

    files = sorted(path for path in root.rglob("*"))
    found = [str(path) for path in files if has(os.fsencode(path.relative_to(root)))]
    found += [str(path) for path in files if path.is_file() and has(path.read_bytes())]
    objects = git(root, "cat-file", "--batch", "--batch-all-objects", "--unordered")
    return [*found, *(["an object of git"] if has(objects) else [])]


@pytest.fixture
def client(root: Path) -> Iterator[MemoryClient]:
    """What a user said in two spaces, with vectors, Chroma where it is installed, git, and a linked work tree."""
    embedder = BagOfWordsEmbeddings()
    has_chroma = importlib.util.find_spec("langchain_chroma") is not None
    config = MemoryConfig(versioning=True, sync_interval=0, dense_index="chroma" if has_chroma else "exact")
    index: Any = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]}
    store = MarkdownStore(root, index=index, config=config)
    with MemoryClient(store, config=config) as opened:
        opened.add("I like chess.", user_id="bob")
        opened.add("I live in Lisbon.", user_id=USER, thread_id="other")
        for space in ("default", SPACE):
            opened.add(f"My boat is called {BOAT}.", user_id=USER, space=space, thread_id=THREAD)
        opened.flush()
        for space in ("default", SPACE) if has_chroma else ():
            store.as_vectorstore(("memories", USER, space))
        assert background.flush(30, ("versions", str(root)))
        git(root, "worktree", "add", "-q", "-b", "side", "linked")
        git(root, "gc", "-q")
        yield opened
    store.close()


@pytest.mark.parametrize("what", ["record", "thread", "space", "user"])
def test_nothing_is_left(client: MemoryClient, root: Path, what: str) -> None:
    """Of the text and of the path, the user's name or the space's where all of it goes; the others stay."""
    assert places(root, BOAT)
    spaces = ("default", SPACE)
    if what == "record":
        for space in spaces:
            for record in client.list(user_id=USER, space=space):
                if BOAT in record.text:
                    with contextlib.suppress(NotFoundError):  # it went with the one before it
                        client.erase(user_id=USER, space=space, id=record.id)
    elif what == "thread":
        for space in spaces:
            assert client.erase(user_id=USER, space=space, thread_id=THREAD).removed
    elif what == "space":
        assert client.erase(user_id=USER, space=SPACE).removed
        assert places(root, SPACE) == []
        assert client.erase(user_id=USER, space="default").removed
    else:
        assert client.erase(user_id=USER).removed
    client.flush()
    assert background.flush(30, ("versions", str(root)))
    assert places(root, BOAT) == []
    if what in ("thread", "space", "user"):
        assert places(root, THREAD) == []
    if what == "user":
        assert places(root, USER) == []
    if what in ("record", "thread"):
        assert client.search("Where do I live?", user_id=USER)[0].text.startswith("I live in Lisbon")
    assert b"chess" in git(root, "grep", "chess", "HEAD")
    assert [hit.text for hit in client.search("chess", user_id="bob")][:1] == ["I like chess."]
    assert git(root / "linked", "status", "--porcelain") == b""
    assert git(root, "fsck", "--full") == b""
