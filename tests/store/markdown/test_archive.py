"""A user's memory as one archive: out, in, and what is refused."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import ConfigError, ImportFileError, StoreError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore

CONFIG = MemoryConfig(embeddings="none", background=False, sync_interval=0)
USER = "ann@example.org"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


def opened(folder: Path) -> MemoryClient:
    """A client over a folder."""
    return MemoryClient(folder, config=CONFIG)


def everything(client: MemoryClient, user: str = USER) -> list[Any]:
    """All items of a user, with their times, in the order of the listing."""
    found = client.store.search(Scope(user).namespace[:2], limit=1000)
    return [(item.namespace, item.key, item.value, item.created_at, item.updated_at) for item in found]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with facts, turns, a tombstone, another program's item and a file made by hand, in two spaces."""
    with opened(tmp_path / "one") as client:
        client.add("My wife is called Anne. I live in Lyon.", user_id=USER, thread_id="t")
        client.add("I like chess.", user_id=USER, space="work")
        client.add("I like chess.", user_id="bob")
        client.forget(client.list(user_id=USER, space="work", role="memory")[0].id, user_id=USER, space="work")
        client.store.put(Scope(USER).namespace, "item", {"any": ["thing", 1]}, index=False)
        client.store.put(Scope(USER).namespace, "gone", {"a": 1})
        client.store.delete(Scope(USER).namespace, "gone")
        folder = client.path_of(client.list(user_id=USER, role="memory")[0]).parent
        (folder / "By hand: ?.md").write_text("I collect stamps", encoding="utf-8")
        client.store.search(Scope(USER).namespace)
    return tmp_path / "one"


@pytest.fixture
def archive(filled: Path, tmp_path: Path) -> Path:
    """The archive of the user in that folder."""
    with opened(filled) as client:
        client.export_user(tmp_path / "ann.zip", user_id=USER)
    return tmp_path / "ann.zip"


def test_there_and_back(filled, archive, tmp_path):
    """Out of one folder into an empty one: the same list, the same search, the tombstones too, and nobody else."""
    with opened(filled) as one, opened(tmp_path / "two") as two:
        report = two.import_user(archive, user_id=USER)
        assert report.written == report.files > 5
        assert everything(two) == everything(one)
        for query in ("what is my wife called?", "stamps", "chess"):
            ours = [(hit.record, hit.scores["relevance"]) for hit in one.search(query, user_id=USER)]
            theirs = [(hit.record, hit.scores["relevance"]) for hit in two.search(query, user_id=USER)]
            assert [(r.id, s) for r, s in ours] == [(r.id, s) for r, s in theirs]
        assert two.list(user_id="bob") == []
        assert two.store.get(Scope(USER).namespace, "gone") is None


def test_again_changes_nothing(archive, tmp_path):
    """A second import finds everything there, also where it goes to whoever the archive names."""
    with opened(tmp_path / "two") as client:
        client.import_user(archive)
        before = everything(client)
        report = client.import_user(archive)
        assert (report.written, report.kept, report.equal) == (0, 0, report.files)
        assert everything(client) == before


def test_the_newer_one_stays(filled, archive, tmp_path):
    """What changed or was deleted here later stays so; what the archive has newer replaces what is here."""
    with opened(filled) as client:
        fact, other = sorted(client.list(user_id=USER, role="memory"), key=lambda record: "Lyon" in record.text)[-2:]
        client.pin(fact.id, user_id=USER)
        client.forget(other.id, user_id=USER)
        report = client.import_user(archive, user_id=USER)
        assert report.kept >= 2
        assert client.get(fact.id, user_id=USER).pinned
        assert client.get(other.id, user_id=USER).status == "deleted"
        client.export_user(tmp_path / "later.zip", user_id=USER)
    with opened(tmp_path / "two") as client:
        client.import_user(archive)
        client.import_user(tmp_path / "later.zip")
        assert client.get(fact.id, user_id=USER).pinned
        assert client.get(other.id, user_id=USER).status == "deleted"
    assert not list((tmp_path / "two").glob("entries/**/default/facts/*" + other.id + "*"))


def test_what_is_left_out_is_told(filled, tmp_path):
    """A file that can't be read, and what was put for another, are named and left out."""
    with opened(filled) as client:
        folder = client.path_of(client.list(user_id=USER, role="memory")[0]).parent
        (folder / "broken.md").write_text("---\nid: [\n---\n", encoding="utf-8")
        client.store.put(Scope(USER).namespace, "bobs", MemoryRecord(id="bobs", text="I", user_id="bob").to_value())
        report = client.export_user(tmp_path / "ann.zip", user_id=USER)
        assert len(report.left_out) == 2
        assert [path for path in report.left_out if path.endswith("broken.md")]
        assert [reason for reason in report.left_out.values() if "belongs to 'bob'" in reason]
    with opened(tmp_path / "two") as client:
        client.import_user(tmp_path / "ann.zip")


def rewritten(archive: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None]) -> Path:
    """The archive after its members and its manifest were changed."""
    with zipfile.ZipFile(archive) as source:
        members = {name: source.read(name) for name in source.namelist() if name != "manifest.json"}
        manifest = json.loads(source.read("manifest.json"))
    change(members, manifest)
    with zipfile.ZipFile(archive, "w") as target:
        for name, content in members.items():
            target.writestr(name, content)
        target.writestr("manifest.json", json.dumps(manifest))
    return archive


def put(members: dict[str, bytes], manifest: dict[str, Any], name: str, content: bytes) -> None:
    """Add a file as an honest manifest would have it."""
    part = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    manifest["spaces"][0]["files"][name] = part
    members[f"default/{name}"] = content


BAD_NAMES = ["../x.md", "/etc/x.md", "facts/../../../x.md", "facts/./x.md", "facts//x.md", "x.md", "other/x.md"]
BAD_NAMES += ["facts/.x.md", "facts/x.txt", "facts\\..\\x.md", "C:/x.md", "facts/x\0.md", f"facts/{'x' * 300}.md"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(archive, tmp_path, name):
    """A name that leads anywhere but to a memory file is refused, and nothing is written."""
    rewritten(archive, lambda members, manifest: put(members, manifest, name, b"text"))
    refused(archive, tmp_path)


def refused(archive: Path, tmp_path: Path, match: str = ".") -> None:
    """The archive is refused, and nothing is written."""
    with opened(tmp_path / "two") as client:
        with pytest.raises(ImportFileError, match=match):
            client.import_user(archive, user_id=USER)
        assert everything(client) == []
    assert not list((tmp_path / "two" / "entries").iterdir())


def test_wrong_contents_are_refused(archive, tmp_path):
    """Another's memory, a changed byte, a missing or a surplus file, and a broken memory are refused."""
    bob = b"---\nid: x\nrole: memory\nuser_id: bob\n---\nI am Bob\n"
    changes: dict[str, Callable[[dict[str, bytes], dict[str, Any]], object]] = {
        "belongs to 'bob'": lambda members, manifest: put(members, manifest, "facts/bob.md", bob),
        "isn't what the manifest says": lambda members, manifest: members.update({next(iter(members)): b"changed"}),
        "aren't those of its manifest: 'surplus": lambda members, manifest: members.update({"surplus.md": b""}),
        "aren't those of its manifest": lambda members, manifest: members.pop(next(iter(members))),
        "is no memory": lambda members, manifest: put(members, manifest, "facts/x.md", b"---\nid: [\n---\n"),
        "isn't one of": lambda members, manifest: manifest["spaces"][0].update(labels=["memories", "bob", "default"]),
        "holds the memory of 'bob'": lambda members, manifest: manifest.update(user_id="bob"),
        "no manifest": lambda members, manifest: manifest.update(version=2),
    }
    whole = archive.read_bytes()
    for match, change in changes.items():
        archive.write_bytes(whole)
        rewritten(archive, change)  # type: ignore[arg-type]
        refused(archive, tmp_path, match)


def test_links_and_strangers_are_refused(archive, tmp_path):
    """A link, a file that is longer than it says, and a file that is no archive are refused."""
    whole = archive.read_bytes()
    with zipfile.ZipFile(archive, "a") as target:
        link = zipfile.ZipInfo("default/facts/link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(link, "/etc/passwd")
    refused(archive, tmp_path, "aren't those")
    archive.write_bytes(whole)

    def as_link(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
        put(members, manifest, "facts/link.md", b"/etc/passwd")

    rewritten(archive, as_link)
    with zipfile.ZipFile(archive) as source:
        contents = [(info, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(archive, "w") as target:
        for info, content in contents:
            if info.filename.endswith("link.md"):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            target.writestr(info, content)
    refused(archive, tmp_path, "no plain file")
    archive.write_bytes(b"no archive")
    refused(archive, tmp_path, "no archive of a memory")
    archive.write_bytes(whole[: len(whole) // 2])
    refused(archive, tmp_path, "no archive of a memory")


def test_another_store_has_no_files(tmp_path):
    """A store without files says so; a folder that can't be written, too."""
    from langgraph.store.memory import InMemoryStore

    with MemoryClient(InMemoryStore(), config=CONFIG) as client, pytest.raises(ConfigError, match="keeps no files"):
        client.export_user(tmp_path / "a.zip", user_id=USER)
    (tmp_path / "file").write_text("")
    with opened(tmp_path / "one") as client, pytest.raises(StoreError, match="can't be written"):
        client.export_user(tmp_path / "file" / "a.zip", user_id=USER)


async def test_async_twins(filled, tmp_path):
    """aexport_user and aimport_user do the same."""
    with opened(filled) as one, opened(tmp_path / "two") as two:
        await one.aexport_user(tmp_path / "a.zip", user_id=USER)
        await two.aimport_user(tmp_path / "a.zip", user_id=USER)
        assert everything(two) == everything(one)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    user=TEXT.filter(str.strip),
    texts=st.lists(TEXT, min_size=1, max_size=4),
    keys=st.lists(TEXT, max_size=3, unique=True),
    space=TEXT.filter(str.strip),
)
def test_any_memory_round_trips(tmp_path_factory, user, texts, keys, space):
    """Whatever users, spaces, keys and texts are called, an empty folder has the same list and search afterwards."""
    folder = tmp_path_factory.mktemp("trip")
    with MarkdownStore(folder / "one", index=None, config=CONFIG) as one:
        for place, text in enumerate(texts):
            scope = Scope(user, space if place % 2 else "default")
            record = MemoryRecord(id=f"r{place}", text=text, user_id=user, space=scope.space, thread_id=text)
            one.put(scope.namespace, record.id, record.to_value())
        for key in keys:
            one.put(Scope(user).namespace, key, {"value": texts[0]})
        with MemoryClient(one, config=CONFIG) as client:
            client.export_user(folder / "a.zip", user_id=user)
            with MarkdownStore(folder / "two", index=None, config=CONFIG) as store:
                two = MemoryClient(store, config=CONFIG)
                two.import_user(folder / "a.zip")
                assert everything(two, user) == everything(client, user)
                ours = [item.key for item in one.search(Scope(user).namespace[:2], query=texts[0], limit=50)]
                assert [i.key for i in store.search(Scope(user).namespace[:2], query=texts[0], limit=50)] == ours
