"""A store in a folder of its own, opened as often as a test likes, that looks at its files at every use."""

from __future__ import annotations

import os
import shutil
import subprocess
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import pending
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.index import Index
from langmem_plus.store.markdown.layout import RESERVED, is_memory_file, is_temporary, walk_files
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NAMESPACE = ("memories", "ann", "default")


class OpenStore(Protocol):
    """Opens the store in the test's folder."""

    def __call__(self, embedder: BagOfWordsEmbeddings | None = None, **settings: Any) -> MarkdownStore:
        """With or without vectors; ``ranking`` goes to the store, all else to its settings."""
        ...


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's folder."""
    return tmp_path / "memory"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB; skipped where this user can't mount one."""
    disk, mount = tmp_path / "disk", shutil.which("mount")
    disk.mkdir()
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
def open_store(root: Path) -> Iterator[OpenStore]:
    """Opens stores that are closed when the test ends."""
    stores: list[MarkdownStore] = []

    def opened(embedder: BagOfWordsEmbeddings | None = None, **settings: Any) -> MarkdownStore:
        ranking = settings.pop("ranking", "hybrid")
        index: Any = {"dims": embedder.dims, "embed": embedder, "fields": ["text"]} if embedder else None
        config = MemoryConfig(**{"sync_interval": 0, **settings})
        stores.append(MarkdownStore(root, index=index, ranking=ranking, config=config))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MarkdownStore:
    """A store that searches by words alone."""
    return open_store()


@pytest.fixture
def folder(root: Path) -> Path:
    """The folder of the namespace that most tests use."""
    return root.joinpath("entries", *NAMESPACE)


@pytest.fixture
def ns() -> tuple[str, ...]:
    """The namespace that most tests use."""
    return NAMESPACE


@pytest.fixture
def record() -> Any:
    """Makes a record's value: a fact of Ann's, changed as it is told."""

    def made(key: str, text: str = "Ann likes green tea.", **fields: Any) -> dict[str, Any]:
        return MemoryRecord(id=key, text=text, user_id="ann", **fields).to_value()

    return made


class Sound(Protocol):
    """Finds nothing wrong with a store, and says what it holds."""

    def __call__(self, root: Path, store: MarkdownStore, *, deep: bool = True) -> dict[tuple[str, ...], dict[str, Any]]:
        """The values by namespace and key; ``deep`` looks into the databases, too."""
        ...


def _contents(store: MarkdownStore, namespace: tuple[str, ...]) -> dict[str, Any]:
    """The values of the files of a namespace, read without the store's index."""
    folder, values = store._layout.folder(namespace), {}
    for file in walk_files(folder):
        path = PurePosixPath(Path(file.path).relative_to(folder))
        if path.parts[0] not in RESERVED or not is_memory_file(file.name):
            continue
        entry = parse(Path(file.path).read_text("utf-8"), path, namespace, "")
        if entry.removed_at is None:
            assert entry.key not in values, f"two files of {entry.key}"
            values[entry.key] = entry.value
    return values


@pytest.fixture
def sound() -> Sound:
    """Get, listing and search by words and vectors say what the files say; every text has the word ``words``. Nothing
    half-written, unreadable or unfinished is left, the markers are the turns', the databases are whole.
    """

    def look(root: Path, store: MarkdownStore, *, deep: bool = True) -> dict[tuple[str, ...], dict[str, Any]]:
        found = {}
        namespaces = {namespace for namespace, _ in store._layout.find_namespaces()}
        for namespace in sorted(namespaces):
            listed = {item.key: item.value for item in store.search(namespace, limit=9999)}
            assert listed == _contents(store, namespace)
            ranked = store.search(namespace, query="words", limit=9999)
            assert {item.key: item.value for item in ranked} == listed
            assert all(getattr(item, "vector", None) is not None for item in ranked)
            assert {key: getattr(store.get(namespace, key), "value", None) for key in listed} == listed
            turns = {key for key, value in listed.items() if value.get("extracted") is False}
            assert len(pending._listed(pending._folder(store._layout, namespace))) == len(turns)
            assert not pending.unmarked(store._layout, namespace, turns)
            found[namespace] = listed
            if deep:
                store._engine.room(namespace).use(_check_database)
        assert set(store.list_namespaces(limit=999)) == {namespace for namespace in found if found[namespace]}
        assert store.unreadable() == {}
        left = [
            path for part in ("entries", ".pending") for path in (root / part).rglob("*") if is_temporary(path.name)
        ]
        assert left == []
        assert [path for path in (root / ".journal").iterdir() if not is_temporary(path.name)] == []
        return found

    return look


def _check_database(index: Index) -> None:
    for schema in ("main", "paid"):
        assert index.db.execute(f"PRAGMA {schema}.integrity_check").fetchall() == [("ok",)]
    for table in ("words", "windows"):
        index.db.execute(f"INSERT INTO {table}({table}, rank) VALUES('integrity-check', 1)")
    (texts,) = index.db.execute("SELECT count(*) FROM items").fetchone()
    assert index.db.execute("SELECT count(*) FROM words").fetchone() == (texts,)


@pytest.fixture
def in_child() -> Callable[[Callable[[], object]], int]:
    """Runs something in a forked child and gives its exit status, below 0 for the signal that ended it."""

    def run(work: Callable[[], object]) -> int:
        child = os.fork()
        if child == 0:
            try:
                work()
            except BaseException:  # noqa: BLE001 - whatever it is, the child must end
                os.write(2, f"in the child: {traceback.format_exc()}\n".encode())
                os._exit(1)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run
