"""Moving in through the client: from stores and files, sync and async alike, and what the facts are then good for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import ConfigError, ImportFileError, InvalidValueError, MissingIdentityError, NotFoundError
from langmem_plus.importers import ImportReport
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore

EXPORT = {
    "results": [
        {"id": "1", "memory": "Alex is allergic to peanuts", "user_id": "alex", "created_at": "2024-07-26T10:00:00Z"},
        {"id": "2", "memory": "Alex lives in Lyon", "user_id": "alex", "categories": ["home"]},
        {"id": "3", "memory": "Bo plays chess", "user_id": "bo"},
        {"id": "4", "memory": ""},
    ],
    "relations": [{"source": "alex", "relationship": "lives_in", "target": "lyon"}],
}
CHAT = [{"role": "user", "content": "I live in Lyon", "id": "m1"}, {"role": "system", "content": "Be kind"}]


@pytest.fixture(params=["files", "memory"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryClient]:
    """A memory in files, and one in LangGraph's own store."""
    config = MemoryConfig(embeddings="none", background=False)
    with MemoryClient(tmp_path / "db" if request.param == "files" else InMemoryStore(), config=config) as opened:
        yield opened


@pytest.fixture
def source() -> InMemoryStore:
    """What langmem wrote for two users."""
    store = InMemoryStore()
    store.put(("memories", "alex"), "k1", {"content": "Alex is allergic to peanuts"})
    store.put(("memories", "alex"), "k2", {"kind": "Memory", "content": {"content": "Alex lives in Lyon"}})
    store.put(("memories", "bo"), "k1", {"kind": "Game", "content": {"name": "chess", "often": True}})
    return store


def write(folder: Path, data: Any, name: str = "export.json") -> Path:
    """A file of JSON."""
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def texts(client: MemoryClient, user_id: str, **more: Any) -> set[str]:
    """What is known of somebody."""
    return {record.text for record in client.list(user_id=user_id, role="memory", **more)}


def test_a_store_moves_in_and_is_recalled(client: MemoryClient, source: InMemoryStore) -> None:
    """Each user's memories become theirs; the same again adds nothing."""
    report = client.import_store(source)
    assert (report.read, report.stored, report.users) == (3, 3, {"alex": 2, "bo": 1})
    assert texts(client, "alex") == {"Alex is allergic to peanuts", "Alex lives in Lyon"}
    (hit, *_) = client.search("what is Alex allergic to?", user_id="alex")
    assert (hit.text, hit.record.source_ids) == ("Alex is allergic to peanuts", ["k1"])
    assert client.search("peanuts", user_id="bo") == []
    again = client.import_store(source)
    assert (again.known, again.stored) == (3, 0)


def test_facts_of_elsewhere_are_facts_like_others(client: MemoryClient, source: InMemoryStore) -> None:
    """They can be pinned and forgotten, a newer statement retires them, and a further import changes none of it."""
    client.import_store(source, user_id="alex")
    ids = {record.text: record.id for record in client.list(user_id="alex")}
    assert client.pin(ids["Alex is allergic to peanuts"], user_id="alex").pinned
    client.forget(ids["Alex lives in Lyon"], user_id="alex")
    report = client.import_store(source, user_id="alex")
    assert (report.known, report.retired, report.stored) == (1, 1, 0)
    assert texts(client, "alex") == {"Alex is allergic to peanuts"}
    other = InMemoryStore()
    other.put(("memories", "ann"), "k", {"content": "I live in Lyon"})
    client.import_store(other)
    client.add("I moved. I live in Grenoble now.", user_id="ann")
    assert "I live in Lyon" not in texts(client, "ann")
    assert client.import_store(other).retired == 1


def test_the_clients_own_store_can_be_the_source(client: MemoryClient) -> None:
    """langmem's tools and this package share one store: what the tools wrote moves over, and stays where it was."""
    client.store.put(("memories", "alex"), "k", {"content": "likes tea"})
    client.add("I have a cat", user_id="alex")
    assert client.import_store(client.store, user_id="alex").stored == 1
    assert client.import_store(client.store, user_id="alex").known == 1
    assert "likes tea" in texts(client, "alex")
    assert client.store.get(("memories", "alex"), "k") is not None


def test_what_stands_in_its_place_already_isnt_doubled(client: MemoryClient) -> None:
    """An item of langmem's in this package's own namespace is recalled from there, and can't be pinned."""
    client.store.put(Scope("alex").namespace, "k", {"content": "likes green tea"})
    report = client.import_store(client.store, namespace=("memories", "{user_id}", "{space}"))
    assert [each.reason for each in report.skipped] == ["it stands where it would go, and is recalled from there"]
    assert client.get("k", user_id="alex").text == "likes green tea"
    assert [hit.text for hit in client.search("green tea", user_id="alex")] == ["likes green tea"]
    with pytest.raises(NotFoundError, match="import_store"):
        client.pin("k", user_id="alex")
    with pytest.raises(NotFoundError, match="isn't a record of this package"):
        client.forget("k", user_id="alex")
    assert client.erase(user_id="alex", id="k").removed
    assert client.search("green tea", user_id="alex") == []


def test_a_file_of_mem0_moves_in(client: MemoryClient, tmp_path: Path) -> None:
    """One user's, or everybody's; with what was left out and passed over."""
    file = write(tmp_path, EXPORT)
    assert client.import_file(file, user_id="alex", dry_run=True).stored == 2
    assert texts(client, "alex") == set()
    report = client.import_file(file, user_id="alex", space="work")
    assert (report.stored, len(report.skipped), report.ignored) == (2, 2, {"relations": 1})
    assert texts(client, "alex", space="work") == {"Alex is allergic to peanuts", "Alex lives in Lyon"}
    everybody = client.import_file(str(file), user_id=None)
    assert everybody.users == {"alex": 2, "bo": 1}
    assert client.import_file(file, user_id="bob", from_user="bo").users == {"bob": 1}


def test_a_file_of_conversations_is_added(client: MemoryClient, tmp_path: Path) -> None:
    """As messages, counted in the same way; twice is once."""
    file = write(tmp_path, CHAT)
    seen: list[int] = []
    report = client.import_file(file, user_id="alex", progress=seen.append)
    assert (report.conversations, report.read, report.stored, report.known) == (1, 2, 1, 0)
    assert report.skipped[0].reason == "what a system says isn't kept"
    assert seen == [2]
    assert "I live in Lyon" in texts(client, "alex")
    assert client.import_file(file, user_id="alex").known == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"user_id": None}, MissingIdentityError, "pass user_id="),
        ({"user_id": "a", "dry_run": True}, InvalidValueError, "dry_run is for files of memories"),
        ({"user_id": "a", "from_user": "b"}, InvalidValueError, "from_user is for files of memories"),
    ],
)
def test_conversations_need_a_user_and_nothing_else(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Nothing is stored, and the error says what to do."""
    file = write(tmp_path, CHAT)
    with MemoryClient(InMemoryStore(), config=MemoryConfig(embeddings="none")) as client:
        with pytest.raises(error, match=message):
            client.import_file(file, **given)
        assert client.store.search(()) == []


def test_errors_say_what_to_do(client: MemoryClient, tmp_path: Path) -> None:
    """A file for a store, a store without a user, a file of others, a file that isn't there."""
    wrong: Any = "export.json"
    with pytest.raises(ConfigError, match="import_file"):
        client.import_store(wrong)
    with pytest.raises(MissingIdentityError, match="user_id"):
        client.import_store(InMemoryStore(), namespace=("memories",))
    with pytest.raises(MissingIdentityError, match="space is ' '"):
        client.import_store(InMemoryStore(), space=" ")
    with pytest.raises(ImportFileError, match="from_user"):
        client.import_file(write(tmp_path, EXPORT), user_id="zoe")
    with pytest.raises(ImportFileError, match="can't be read"):
        client.import_file(tmp_path / "missing.json", user_id="alex")
    with pytest.raises(MissingIdentityError, match="name them"):
        client.import_file(write(tmp_path, EXPORT), user_id=" ")


async def test_the_async_calls_do_the_same(tmp_path: Path, source: InMemoryStore) -> None:
    """Each gives what its twin gives, and the same records."""
    file, chat, config = write(tmp_path, EXPORT), write(tmp_path, CHAT, "chat.json"), MemoryConfig(embeddings="none")
    reports: list[list[ImportReport]] = [[], []]
    values: list[dict[str, Any]] = []
    for number, store in enumerate((InMemoryStore(), InMemoryStore())):
        async with MemoryClient(store, config=config.replace(background=False)) as client:
            everybody: dict[str, Any] = {"user_id": None}
            runs = [everybody, everybody, {**everybody, "dry_run": True, "space": "work"}]
            for options in runs:
                if number:
                    reports[1] += [await client.aimport_store(source, **options)]
                    reports[1] += [await client.aimport_file(file, **options)]
                else:
                    reports[0] += [client.import_store(source, **options), client.import_file(file, **options)]
            talk = await client.aimport_file(chat, user_id="cy") if number else client.import_file(chat, user_id="cy")
            reports[number].append(talk)
        found = store.search((), limit=1000)
        values.append({item.key: item.value["text"] for item in found})
    assert reports[0] == reports[1]
    assert values[0] == values[1]


async def test_an_async_store_is_a_source(tmp_path: Path) -> None:
    """One that can't be read synchronously from its own loop."""
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "langmem.db")) as store:
        await store.setup()
        await store.aput(("memories", "alex"), "k", {"content": "likes tea"})
        async with MemoryClient(tmp_path / "db", config=MemoryConfig(embeddings="none")) as client:
            assert (await client.aimport_store(store)).stored == 1
            assert [record.text for record in await client.alist(user_id="alex")] == ["likes tea"]


def test_between_stores_of_files_nothing_changes_hands_twice(tmp_path: Path) -> None:
    """A `MarkdownStore` under langmem's tools is a source like others, and its files stay as they are."""
    with MarkdownStore(tmp_path / "old", index=None) as old:
        old.put(("memories", "alex"), "k", {"content": "likes tea 🍵 \x00 \ud83d"})
        before = {path: path.read_bytes() for path in (tmp_path / "old").rglob("*.md")}
        with MemoryClient(tmp_path / "new", config=MemoryConfig(embeddings="none")) as client:
            assert client.import_store(old).stored == 1
            (record,) = client.list(user_id="alex")
            path = client.path_of(record)
        assert {path: path.read_bytes() for path in (tmp_path / "old").rglob("*.md")} == before
    assert record.text == "likes tea 🍵 \x00 \ud83d"
    assert path is not None
    assert isinstance(record, MemoryRecord)


def test_one_value_that_a_store_refuses_costs_only_itself() -> None:
    """PostgreSQL takes no NUL, for one: the others of the batch are stored, and the report names the one."""

    class Picky(InMemoryStore):
        def batch(self, ops: Any) -> list[Any]:
            listed = list(ops)
            if any("\x00" in str((getattr(op, "value", None) or {}).get("text")) for op in listed):
                raise ValueError("NUL isn't allowed")
            return super().batch(listed)

    source: BaseStore = InMemoryStore()
    for key, text in (("a", "likes tea"), ("b", "a\x00b"), ("c", "has a cat")):
        source.put(("memories", "alex"), key, {"content": text})
    with MemoryClient(Picky(), config=MemoryConfig(embeddings="none")) as client:
        report = client.import_store(source)
        assert (report.read, report.stored) == (3, 2)
        assert [(each.id, each.reason) for each in report.skipped] == [("b", "ValueError: NUL isn't allowed")]
        assert texts(client, "alex") == {"likes tea", "has a cat"}


@pytest.mark.parametrize("file", [None, 5, b"export.json", "ex\0port.json", "\ud800.json", ["export.json"]], ids=repr)
async def test_what_is_no_file(tmp_path: Path, file: Any) -> None:
    """The error names it, and what to pass."""
    with MemoryClient(InMemoryStore(), config=MemoryConfig(embeddings="none")) as client:
        with pytest.raises(ImportFileError, match=r"pass its path|is no path"):
            client.import_file(file, user_id="alex")
        with pytest.raises(ImportFileError, match=r"pass its path|is no path"):
            await client.aimport_file(file, user_id="alex")


@pytest.mark.parametrize("first", ["memory", "talk"])
@pytest.mark.parametrize("name", ["mixed.jsonl", "mixed.json"])
def test_memories_and_messages_in_one_file_are_refused(tmp_path: Path, first: str, name: str) -> None:
    """Neither is passed over in silence; the error says where the other begins."""
    lines = [{"id": "1", "memory": "likes tea"}, {"role": "user", "content": "I live in Lyon"}]
    lines = lines if first == "memory" else lines[::-1]
    text = "\n".join(map(json.dumps, lines)) if name.endswith("l") else json.dumps(lines)
    (tmp_path / name).write_text(text)
    with MemoryClient(InMemoryStore(), config=MemoryConfig(embeddings="none")) as client:
        with pytest.raises(ImportFileError, match=r"(line 2|\[[01]\]): here stands a .* in a file of its own"):
            client.import_file(tmp_path / name, user_id="alex")
        assert client.store.search(()) == []


def test_odd_pages_of_mem0(client: MemoryClient, tmp_path: Path) -> None:
    """Categories that are no list name nothing."""
    file = write(tmp_path, {"memories": [{"id": "1", "memory": "likes tea"}], "categories": 5})
    assert client.import_file(file, user_id="alex").stored == 1


@pytest.mark.parametrize("newer", [0, 1, None])
def test_an_id_that_stands_twice_is_settled_once(client: MemoryClient, tmp_path: Path, newer: int | None) -> None:
    """The newest is taken, else the last; the other is told, and further imports change nothing."""
    entries: list[dict[str, Any]] = [{"id": "1", "memory": "likes tea"}, {"id": "1", "memory": "hates tea"}]
    if newer is not None:
        for place, entry in enumerate(entries):
            entry["updated_at"] = f"2026-01-0{2 if place == newer else 1}T00:00:00Z"
    file = write(tmp_path, entries)
    reports = [client.import_file(file, user_id="alex") for _ in range(3)]
    assert [(each.stored, each.updated, each.known) for each in reports] == [(1, 0, 0), (0, 0, 1), (0, 0, 1)]
    assert ["says something newer" in each.skipped[0].reason for each in reports] == [True] * 3
    assert texts(client, "alex") == {"likes tea" if newer == 0 else "hates tea"}


def test_what_cant_be_written_costs_only_itself(client: MemoryClient) -> None:
    """A value that holds itself, or is thousands deep, as only a store in memory can have it."""
    cycle: dict[str, Any] = {}
    cycle["again"] = cycle
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"in": deep}
    source = InMemoryStore()
    for key, value in (("a", {"content": cycle}), ("b", {"content": deep}), ("c", {"content": "x", "more": deep})):
        source.put(("memories", "alex"), key, value)
    source.put(("memories", "alex"), "d", {"content": "likes tea"})
    report = client.import_store(source)
    assert (report.stored, [each.id for each in report.skipped]) == (1, ["a", "b", "c"])
    assert all("plain JSON" in each.reason for each in report.skipped)


def test_two_imports_at_once_double_nothing() -> None:
    """What another one stores while this one runs is known from then on, and so are its words."""
    source, store = InMemoryStore(), InMemoryStore()
    for number in range(1200):
        source.put(("memories", "alex"), f"k{number:04}", {"content": f"fact {number % 600} of many"})
    config = MemoryConfig(embeddings="none", background=False)
    with MemoryClient(store, config=config) as one, MemoryClient(store, config=config) as two:
        batches: list[int] = []

        def stop(done: int) -> None:
            batches.append(done)
            if len(batches) == 2:
                raise InterruptedError

        def meanwhile(done: int) -> None:
            if not batches:
                with pytest.raises(InterruptedError):
                    two.import_store(source, progress=stop)

        report = one.import_store(source, progress=meanwhile)
        assert (report.read, report.stored, report.known, report.repeated) == (1200, 500, 500, 200)
        assert len(one.list(user_id="alex", role="memory")) == 600


def test_a_store_with_nothing_to_read_says_so(client: MemoryClient, source: InMemoryStore) -> None:
    """A template that fits nothing, a user who isn't there, and a template without a user."""
    (warning,) = client.import_store(source, namespace=("notes", "{user_id}")).warnings
    assert "no namespace that fits ('notes', '{user_id}')" in warning
    (warning,) = client.import_store(source, user_id="Alex").warnings
    assert "no namespace of 'Alex'" in warning
    assert "2 of other users" in warning
    assert client.import_store(source, user_id="alex").warnings == []
    with pytest.raises(MissingIdentityError, match=r"the template \('memories', 'alex'\) has no \{user_id\}.*or pass"):
        client.import_store(source, namespace=("memories", "alex"))
