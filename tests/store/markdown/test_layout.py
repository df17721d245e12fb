"""Where things lie in the folder."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langmem_plus.errors import StoreError
from langmem_plus.records import Scope
from langmem_plus.store.markdown.layout import (
    LABEL_FILE,
    MAX_NAME_BYTES,
    RESERVED,
    Layout,
    decode_name,
    encode_name,
    file_path,
    is_deleted,
    namespace_id,
    role_of,
    walk_files,
)
from langmem_plus.store.markdown.walks import Walks

TEXTS = st.text(st.characters(codec=None), max_size=40)
ODD = [
    "..",
    "a/b",
    "a_b",
    "A",
    "a",
    "Ä",
    "ä",
    "A\u0308",
    "facts",
    "Facts",
    "deleted",
    "con",
    "con.md",
    "com1",
    "用户",
    "~",
    "~~",
    "ſ",
    "s",
]


@given(TEXTS)
@example("가")
@example("が")
@example("\ud800")
@example("\0")
@example("ﬀ")
@example("ǅ")
@example("com¹")
def test_a_name_is_reversible(text: str) -> None:
    """Any text that isn't too long comes back from its name."""
    name = encode_name(text)
    if name.startswith("~~"):
        assert len(name) == 66
        assert not text or len(text.encode("utf-8", "surrogatepass")) * 3 > MAX_NAME_BYTES
    else:
        assert decode_name(name) == text
        assert len(name.encode()) <= MAX_NAME_BYTES


@given(TEXTS, TEXTS)
def test_no_two_texts_share_a_name_on_any_file_system(one: str, other: str) -> None:
    """Not where case is ignored, nor where Unicode is normalised in any way."""

    def seen_by_a_file_system(name: str) -> set[str]:
        return {
            unicodedata.normalize(form, fold(unicodedata.normalize(form, name)))
            for form in ("NFC", "NFD", "NFKC", "NFKD")
            for fold in (str.casefold, str.lower, str.upper)
        }

    if one != other:
        assert not seen_by_a_file_system(encode_name(one)) & seen_by_a_file_system(encode_name(other))


@pytest.mark.parametrize("one", ODD)
@pytest.mark.parametrize("other", ODD)
def test_ids_that_look_alike_have_folders_of_their_own(one: str, other: str) -> None:
    """A path, a case, a normal form or a reserved name makes no two of them meet."""
    assert (encode_name(one).casefold() == encode_name(other).casefold()) == (one == other)


@given(TEXTS)
@example("..")
@example("a/../../b")
@example("C:\\x")
@example("nul")
@example("aux.md")
@example("facts")
def test_a_name_is_one_harmless_part_of_a_path(text: str) -> None:
    """No separator, no dot in front or at the end, no name of a role's folder or of a device."""
    name = encode_name(text)
    assert name
    assert not set(name) & set('/\\:*?"<>|. \0')
    assert name not in RESERVED
    assert name.casefold() not in {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}


def test_long_texts_have_hashed_names() -> None:
    """Beyond 120 bytes a name is a hash, and another text has another one."""
    assert encode_name("a" * 120) == "a" * 120
    assert encode_name("a" * 121).startswith("~~")
    assert encode_name("a" * 121) != encode_name("a" * 122)
    assert encode_name("") != encode_name("a" * 121)
    assert decode_name(encode_name("a" * 121)) is None


@pytest.mark.parametrize("name", ["~ff", "~2F", "A", "a b", "~61", "~~abc", "a~", "Ä", "note.v2"])
def test_what_no_text_would_be_called_has_no_text(name: str) -> None:
    """A person's own name for a file or folder isn't taken for an encoded one."""
    assert decode_name(name) is None


@given(st.lists(st.text(st.characters(codec=None, exclude_characters=".\0"), min_size=1), min_size=1, max_size=4))
def test_a_namespace_is_found_by_its_folder(tmp_path_factory: pytest.TempPathFactory, labels: list[str]) -> None:
    """Any labels come back from the folders alone, also those that are kept in a file beside."""
    layout = Layout(tmp_path_factory.mktemp("root"))
    namespace = tuple(labels)
    for file, label in layout.label_files(namespace):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(label.encode("utf-8", "surrogatepass"))
    (layout.folder(namespace) / "items").mkdir(parents=True)
    (layout.folder(namespace) / "items" / "k.md").touch()
    assert list(layout.find_namespaces()) == [(namespace, True)]
    assert [Walks(layout).is_namespace(namespace[:end]) for end in range(1, len(namespace) + 1)][::-1] == [
        True,
        *[False] * (len(namespace) - 1),
    ]
    assert layout.root in layout.folder(namespace).parents


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_any_user_and_space_have_a_folder_of_their_own(user: str, space: str) -> None:
    """From an identity to a folder and back, through the labels that LangGraph allows."""
    layout, namespace = Layout("/root"), Scope(user, space).namespace
    parts = layout.folder(namespace).relative_to(layout.entries).parts
    assert len(parts) == 3
    assert [decode_name(part) or "" for part in parts if not part.startswith("~~")] == [
        label for label in namespace if not encode_name(label).startswith("~~")
    ]


def _touch(layout: Layout, *paths: str) -> None:
    for path in paths:
        file = layout.entries / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def test_namespaces_are_folders_with_files(tmp_path: Path) -> None:
    """Empty ones, hidden ones and those that no label is called aren't any; one with tombstones alone may be one."""
    layout = Layout(tmp_path)
    _touch(layout, "a/items/k.md", "a/b/facts/sub/k.md", "a/c/deleted/items/k.md", "a/items/.hidden.md")
    _touch(layout, "d/items/note.txt", "A/items/k.md", "a~2eb/items/k.md", ".git/items/k.md", "e/facts/.tmp/k.md")
    (layout.entries / "empty" / "facts").mkdir(parents=True)
    assert sorted(layout.find_namespaces()) == [(("a",), True), (("a", "b"), True), (("a", "c"), False)]
    assert sorted(layout.find_namespaces(("a", "b"))) == [(("a", "b"), True)]
    assert list(layout.find_namespaces(("nobody",))) == []


def test_a_label_file_that_says_something_else_is_not_believed(tmp_path: Path) -> None:
    """A folder with a hashed name belongs to the label with that hash, or to none."""
    layout, label = Layout(tmp_path), "x" * 200
    _touch(layout, f"{encode_name(label)}/items/k.md")
    file = layout.entries / encode_name(label) / LABEL_FILE
    assert list(layout.find_namespaces()) == []
    for content in (b"somebody else", b"\xff", label.encode()[:50]):
        file.write_bytes(content)
        assert list(layout.find_namespaces()) == []
    file.write_bytes(label.encode())
    assert list(layout.find_namespaces()) == [((label,), True)]


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    """A space may lie elsewhere; a link back up ends the walk."""
    layout = Layout(tmp_path / "root")
    _touch(layout, "a/items/k.md")
    (tmp_path / "elsewhere" / "facts").mkdir(parents=True)
    (tmp_path / "elsewhere" / "facts" / "k.md").touch()
    (layout.entries / "a" / "far").symlink_to(tmp_path / "elsewhere")
    (layout.entries / "a" / "loop").symlink_to(layout.entries / "a")
    (layout.entries / "a" / "up").symlink_to(layout.entries)
    assert sorted(layout.find_namespaces()) == [(("a",), True), (("a", "far"), True)]


def test_only_plain_files_are_walked(tmp_path: Path) -> None:
    """A pipe, a folder that ends like a file and a broken link aren't opened."""
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "broken.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "real.md").touch()
    (tmp_path / "linked.md").symlink_to(tmp_path / "real.md")
    (tmp_path / "folder.md" / "inner.md").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "inner.md").touch()
    assert sorted(entry.name for entry in walk_files(tmp_path)) == ["inner.md", "linked.md", "real.md"]
    assert list(walk_files(tmp_path / "nowhere")) == []


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a passing fault of the file system would look like the loss of all memories."""

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        list(walk_files(tmp_path))


@pytest.mark.parametrize(
    ("path", "role", "deleted"),
    [
        ("facts/a.md", "memory", False),
        ("facts/family/a.md", "memory", False),
        ("turns/user/a.md", "user", False),
        ("turns/assistant/2026/a.md", "assistant", False),
        ("turns/a.md", None, False),
        ("items/a.md", None, False),
        ("items/facts/a.md", None, False),
        ("deleted/facts/a.md", "memory", True),
        ("deleted/turns/user/a.md", "user", True),
        ("deleted/items/a.md", None, True),
        ("deleted/a.md", None, True),
    ],
)
def test_a_folder_tells_the_role(path: str, role: str | None, deleted: bool) -> None:
    """Folders that a person makes below it tell the same."""
    assert role_of(PurePosixPath(path)) == role
    assert is_deleted(PurePosixPath(path)) is deleted


def test_files_are_named_after_what_identifies_them() -> None:
    """A summary after its thread, an item after its key, any other record after its time and id."""
    time = "2026-05-01T10:00:00.000001Z"
    assert file_path(None, "a/b", time, None, False) == "items/a~2fb.md"
    assert file_path("memory", "id-1", time, "t", False) == "facts/20260501T100000-000001Z__id-1.md"
    assert file_path("summary", "id-1", time, "t 1", False) == "summaries/t~201.md"
    assert file_path("summary", "id-1", time, None, True) == "deleted/summaries/20260501T100000-000001Z__id-1.md"


def test_a_root_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """With what to do about it."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file.*choose another path"):
        Layout(tmp_path / "file" / "root").create()


@given(st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_databases_are_apart(one: list[str], other: list[str]) -> None:
    """Two namespaces never share an index; labels have no NUL."""
    first, second = (tuple(label.replace("\0", "") for label in labels) for labels in (one, other))
    assert (namespace_id(first) == namespace_id(second)) == ("\0".join(first) == "\0".join(second))
