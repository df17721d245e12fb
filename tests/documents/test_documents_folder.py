"""What is a document and what isn't; nothing outside of the folder is ever read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.documents.folder import BINARY, HIDDEN, LINK, MEMORY, NO_FILE, RECORD, NotReadableError, decode, read
from langmem_plus.errors import ConfigError

TEXT = "Größe: 3 €\nzwei\n"


class TestSkipped:
    def test_each_with_its_reason(self, index, write, folder) -> None:
        """Hidden, links, other endings, binary, huge, no files: none is a document, and the report says why."""
        write("kept.md", "yes")
        write(".git/notes.md", "no")
        write(".hidden.md", "no")
        write("code.py", "no")
        write("binary.md", b"\x00\x01\x02")
        write("huge.md", "x" * (index.config.document_max_bytes + 1))
        os.mkfifo(folder / "pipe.md")
        (folder / "link.md").symlink_to(folder / "kept.md")
        (folder / "linked").symlink_to(folder)
        report = index.sync()
        assert [known.path for known in index.list()] == ["kept.md"]
        reasons = {path: reason.split(":")[0] for path, reason in report.skipped.items()}
        assert reasons.pop("huge.md").startswith("it has 5000001 bytes")
        assert reasons == {
            ".git": HIDDEN,
            ".hidden.md": HIDDEN,
            "code.py": "it ends in .py",
            "binary.md": BINARY,
            "pipe.md": NO_FILE,
            "link.md": LINK,
            "linked": LINK,
        }
        assert index.sync().skipped == report.skipped  # from the catalog: it isn't read again

    def test_a_memory_in_the_workspace(self, write, folder, config, embedder) -> None:
        """What was said is never mixed in: neither a memory's folder nor a record that was copied out of one."""
        settings = config.replace(memory_path=folder / "memory_db")
        for place in ("memory_db", "another"):
            with MemoryClient(folder / place, config=settings) as client:
                (record,) = client.add("The secret word is xylophone", user_id="alice")
                path = client.path_of(record)
        assert path is not None
        write("copied.md", path.read_bytes())
        write("notes.md", "---\nrole: engineer\nuser_id: 3\n---\nNotes on xylophones")
        with DocumentIndex(folder, config=settings, embeddings=embedder) as index:
            report = index.sync()
            assert report.added == ["notes.md"]
            assert report.skipped == {"memory_db": MEMORY, "another": MEMORY, "copied.md": RECORD}
        for inside in (folder / "another", folder / "another" / "entries"):
            with pytest.raises(ConfigError, match="memory's folder"):
                DocumentIndex(inside, config=settings)

    @pytest.mark.parametrize("pattern", ["drafts", "dra*", "team/drafts", "team/*/a.md", "[ab].md"])
    def test_what_is_to_be_ignored(self, open_index, write, pattern) -> None:
        """By names and by paths, with what shells know; dependencies of programs by default."""
        write("team/drafts/a.md", "no")
        write("kept.md", "yes")
        write("node_modules/package/README.md", "no")
        assert "node_modules" in open_index().sync().skipped
        report = open_index(settings={"document_ignore": (pattern, "node_modules")}).sync()
        assert report.removed == ["team/drafts/a.md"]

    def test_endings(self, open_index, write) -> None:
        """With or without a dot, in any case; an empty one stands for names that have none."""
        for name in ("README", "a.LOG", "b.txt", "c.md"):
            write(name, f"text of {name}")
        report = open_index(settings={"document_suffixes": ("log", ".TXT", "")}).sync()
        assert report.added == ["README", "a.LOG", "b.txt"]

    def test_names(self, index, write, folder) -> None:
        """Any name that is Unicode; others are left out."""
        names = ["用户/说明.md", "a b/c'd\".md", "x%y_z*.md", "é.md", "UPPER.MD"]
        for name in names:
            write(name, f"text of {name}")
        os.close(os.open(os.fsencode(folder) + b"/\xff.md", os.O_CREAT))
        report = index.sync()
        assert [known.path for known in index.list()] == sorted(names)
        assert report.skipped == {"?.md": "its name is no Unicode"}

    def test_a_folder_that_is_none(self, folder, config, write) -> None:
        """A missing folder, or a file, is an error that names it."""
        for place in (folder / "missing", write("file.md", "text")):
            with pytest.raises(ConfigError, match=place.name):
                DocumentIndex(place, config=config)


class TestRead:
    @pytest.mark.parametrize("path", ["../secret.md", "sub/../../secret.md", "linked/secret.md", "link.md"])
    def test_nothing_outside(self, folder, write, path) -> None:
        """Neither by dots nor by links, also where a folder becomes a link after it was looked at."""
        secret = folder.parent / "secret.md"
        secret.write_text("secret")
        write("sub/a.md", "text")
        (folder / "linked").symlink_to(folder.parent)
        (folder / "link.md").symlink_to(secret)
        with pytest.raises((NotReadableError, FileNotFoundError)):
            read(folder, path, 1000)

    def test_a_file_that_grows_while_it_is_read(self, folder, write, monkeypatch) -> None:
        """It is looked at again: what was read may be half of it."""
        place = write("log.txt", "one")
        real, calls = os.fstat, []

        def grow(descriptor: int) -> os.stat_result:
            calls.append(descriptor)
            if len(calls) == 2:
                with place.open("a") as file:
                    file.write(" two")
            return real(descriptor)

        monkeypatch.setattr(os, "fstat", grow)
        assert read(folder, "log.txt", 1000).stamp is None


class TestDecode:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
    def test_encodings(self, encoding: str) -> None:
        """By the mark, else UTF-8, else Windows-1252."""
        assert decode(TEXT.encode(encoding)) == TEXT

    @pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
    def test_line_ends(self, end: str) -> None:
        """One kind of line end, so that lines are counted the same everywhere."""
        assert decode(f"one{end}two{end}".encode()) == "one\ntwo\n"

    @given(st.binary(max_size=300))
    def test_any_bytes(self, data: bytes) -> None:
        """Whatever a file holds, it is a text without NUL, or none."""
        text = decode(data)
        assert text is None or ("\0" not in text and "\r" not in text)
        if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
            assert text is None


def test_unreadable_folders_keep_what_is_known(index, write, folder, monkeypatch) -> None:
    """A folder that can't be read for a while isn't empty; one that is gone is."""
    write("sub/a.md", "alpha")
    write("b.md", "beta")
    index.sync()
    real = os.scandir

    def closed(path: Path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)
    report = index.sync()
    assert report.removed == []
    assert "can't be read" in report.skipped["sub"]
    assert {known.path for known in index.list()} == {"sub/a.md", "b.md"}
    monkeypatch.undo()
    (folder / "sub" / "a.md").unlink()
    assert index.sync().removed == ["sub/a.md"]


def test_the_settings(config: MemoryConfig, folder) -> None:
    """An overlap that leaves no room, and what is no vector store, are refused."""
    with pytest.raises(ConfigError, match="chunk_overlap"):
        DocumentIndex(folder, config=config.replace(chunk_tokens=50, chunk_overlap=50))
    with pytest.raises(ConfigError, match="vectorstore"):
        DocumentIndex(folder, config=config, vectorstore="chroma")  # type: ignore[arg-type]
