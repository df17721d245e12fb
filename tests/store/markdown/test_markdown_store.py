"""The store as a whole: what goes in comes out, again and again."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, InvalidValueError, StoreError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

ANY_TEXT = st.text(st.characters(codec=None), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
IDENTITIES = st.text(min_size=1, max_size=60).filter(str.strip)
_numbers = itertools.count()


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _same(store: BaseStore, namespace: tuple[str, ...], expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        item = store.get(namespace, key)
        assert item is not None
        assert item.key == key
        assert json.dumps(item.value) == json.dumps(value)
    found = store.search(namespace, limit=100)
    assert {item.key: json.dumps(item.value) for item in found} == {k: json.dumps(v) for k, v in expected.items()}


@settings(max_examples=60)
@given(
    st.dictionaries(
        ANY_TEXT.map(_plain), st.dictionaries(ANY_TEXT, JSON, max_size=3).map(_plain), min_size=1, max_size=4
    )
)
@example({"": {"text": ""}})
@example({"k": {"text": "\ud800", "content": "\0"}})
@example({"\ud800": {"thread_id": "\udfff", "role": "user", "status": "active", "text": "x"}})
@example({"a": {"value": {"stored": 1}}, "A": {"n": 1}, "ä": {}, "a\u0308": {}})
def test_any_json_under_any_key_lasts(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, dict[str, Any]]
) -> None:
    """Through file and index, reopened, and with the index built anew."""
    root, namespace = tmp_path_factory.mktemp("any"), ("n", "s")
    with MarkdownStore(root, index=None) as store:
        store.batch([PutOp(namespace, key, value) for key, value in values.items()])
        _same(store, namespace, values)
    with MarkdownStore(root, index=None) as store:
        _same(store, namespace, values)
    shutil.rmtree(root / ".index")
    with MarkdownStore(root, index=None) as store:
        _same(store, namespace, values)
        for key in values:
            store.delete(namespace, key)
        assert store.search(namespace) == []


@settings(max_examples=60)
@given(IDENTITIES, IDENTITIES, st.text(max_size=200))
@example("..", "a/b", "---\n---\n")
@example("ann@x.org", "用户", "\ufeff\r\n")
@example("a" * 300, "COM1", "x\ny\n\n")
@example("A", "a", "\u2028")
@example("%2e", "~~", "")
def test_any_user_and_space_keep_any_text(
    tmp_path_factory: pytest.TempPathFactory, user: str, space: str, text: str
) -> None:
    """From the identity to the namespace, the folder and the list of namespaces, and back; nobody else sees it."""
    root, scope = tmp_path_factory.mktemp("user"), Scope(user, space)
    value = MemoryRecord(id="k", text=text, user_id=user, space=space).to_value()
    with MarkdownStore(root, index=None) as store:
        store.put(scope.namespace, "k", value)
    shutil.rmtree(root / ".index")
    with MarkdownStore(root, index=None) as store:
        assert store.list_namespaces() == [scope.namespace]
        assert store.get(scope.namespace, "k").value == value  # type: ignore[union-attr]
        for other in (Scope(user + "x", space), Scope(user, space + "x"), Scope(user.swapcase(), space)):
            if other.namespace != scope.namespace:
                assert store.search(other.namespace) == []
    path = next((root / "entries").rglob("*.md"))
    assert path.resolve().is_relative_to((root / "entries").resolve())


def test_ids_that_look_alike_stay_apart(tmp_path: Path) -> None:
    """A path, a prefix, a case, a wildcard or a normal form lets nobody read another's memory."""
    users = ["acme", "acme-corp", "ACME", "a_me", "a%me", "..", "a/b", "a_b", "é", "e\u0301", "*", "facts", "deleted"]
    with MarkdownStore(tmp_path, index=None) as store:
        for user in users:
            store.put(Scope(user).namespace, "k", {"text": f"secret of {user}", "user": user})
        for user in users:
            found = store.search(Scope(user).namespace[:2], query="secret", limit=100)
            assert [item.value["user"] for item in found] == [user]
        assert len(store.list_namespaces(limit=100)) == len(users)


def test_two_stores_on_one_folder_see_each_other(open_store: Any, ns: tuple[str, ...], record: Any) -> None:
    """Each acknowledged write at once, in both directions."""
    one, other = open_store(BagOfWordsEmbeddings()), open_store(BagOfWordsEmbeddings())
    for n in range(20):
        writer, reader = (one, other) if n % 2 else (other, one)
        writer.put(ns, f"k{n % 7}", record(f"k{n % 7}", f"tea number{n}"))
        assert reader.get(ns, f"k{n % 7}").value["text"] == f"tea number{n}"
        assert reader.search(ns, query=f"number{n}", limit=1)[0].value["text"] == f"tea number{n}"
    one.delete(ns, "k3")
    assert other.get(ns, "k3") is None
    assert "k3" not in {item.key for item in other.search(ns, query="tea")}


def test_six_threads_lose_nothing(open_store: Any, ns: tuple[str, ...], record: Any) -> None:
    """Writing, reading, searching, deleting in the same namespace and in others."""
    store = open_store(BagOfWordsEmbeddings())
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(15):
                key = f"{number}-{n}"
                store.batch([PutOp(ns, key, record(key, f"tea {key}")), PutOp((*ns, str(number)), key, {"n": n})])
                assert store.search(ns, query=f"tea {key}", limit=3)
                if n % 3 == 0:
                    store.delete(ns, key)
                    assert store.get(ns, key) is None
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(store.search(ns, limit=500, filter={"role": "memory"})) == 60
    assert len(store.search(ns, query="tea", limit=500, filter={"role": "memory"})) == 60


def test_any_event_loop_will_do(open_store: Any, ns: tuple[str, ...], record: Any) -> None:
    """One after the other, two at once in two threads, and sync calls in between."""
    store = open_store(BagOfWordsEmbeddings())

    async def write(name: str) -> None:
        await asyncio.gather(*(store.aput(ns, f"{name}{n}", record(f"{name}{n}", f"tea {name}")) for n in range(8)))
        store.put(ns, f"{name}-sync", record(f"{name}-sync", f"tea {name}"))

    asyncio.run(write("a"))
    asyncio.run(write("b"))
    threads = [threading.Thread(target=lambda name=name: asyncio.run(write(name))) for name in "cd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(store.asearch(ns, query="tea", limit=100))) == 36


async def test_one_callers_bad_value_is_nobody_elses(open_store: Any, ns: tuple[str, ...]) -> None:
    """Of concurrent writes each has its own outcome."""
    store = open_store(BagOfWordsEmbeddings())
    outcomes = await asyncio.gather(
        store.aput(ns, "a", {"text": "tea"}),
        store.aput(ns, "bad", {"text": object()}),
        store.aput(ns, "b", {"text": "milk"}),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), InvalidValueError, type(None)]
    assert len(await store.asearch(ns)) == 2


async def test_a_store_is_an_async_context_manager(tmp_path: Path) -> None:
    """And a sync one; closed, it opens again when it is used."""
    async with MarkdownStore(tmp_path, index=None) as store:
        await store.aput(("a",), "k", {"n": 1})
    assert await store.aget(("a",), "k") is not None
    store.close()


def test_a_large_batch_is_one(open_store: Any, ns: tuple[str, ...]) -> None:
    """Thousands of writes over namespaces, with later ones winning, and reads of all."""
    store = open_store(sync_interval=60)
    ops = [PutOp((*ns, str(n % 5)), f"k{n % 1500}", {"n": n}) for n in range(4000)]
    assert store.batch(ops) == [None] * 4000
    found = store.search(ns, limit=5000)
    assert sorted(item.value["n"] for item in found) == list(range(2500, 4000))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ttl": {"default_tll": 5}}, "default_tll"),
        ({"ttl": {"default_ttl": "5"}}, "default_ttl"),
        ({"ttl": {"sweep_interval_minutes": 0}}, "sweep_interval_minutes"),
        ({"ttl": {"refresh_on_read": 1}}, "refresh_on_read"),
        ({"ranking": "best"}, "ranking"),
        ({"index": {"dims": 5}}, "embed"),
        ({"index": "local"}, "index"),
        ({"index": {"embed": "local", "fields": "text"}}, "fields"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path: Path, options: Any, named: str) -> None:
    """At once, not at the first use."""
    with pytest.raises(ConfigError, match=named):
        MarkdownStore(tmp_path, **options)


def test_a_path_that_cannot_hold_a_store_is_named(tmp_path: Path) -> None:
    """With what to do about it."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="choose another path"):
        MarkdownStore(tmp_path / "file")


def test_the_settings_give_path_and_embedder(tmp_path: Path) -> None:
    """Where the arguments don't."""
    config = MemoryConfig(memory_path=tmp_path / "here", embeddings="none")
    with MarkdownStore(config=config) as store:
        store.put(("a",), "k", {"text": "tea"})
        assert store.path == tmp_path / "here"
        assert store.search(("a",), query="tea")[0].vector is None


def test_a_namespace_too_long_for_any_path_is_refused(tmp_path: Path) -> None:
    """Reading, searching and writing say so; nothing is made."""
    namespace = tuple("x" * 100 for _ in range(60))
    with MarkdownStore(tmp_path, index=None) as store:
        for use in (
            lambda: store.get(namespace, "k"),
            lambda: store.search(namespace, query="tea"),
            lambda: store.put(namespace, "k", {"n": 1}),
        ):
            with pytest.raises(StoreError, match="60 labels is too long"):
                use()
        assert list((tmp_path / "entries").iterdir()) == []


def test_a_put_with_paths_of_its_own_keeps_them(open_store: Any, ns: tuple[str, ...], root: Path) -> None:
    """Also when the index is built anew from the file."""
    embedder = BagOfWordsEmbeddings()
    store = open_store(embedder)
    store.put(ns, "k", {"text": "tea", "notes": ["green", "black"]}, index=["notes[*]"])
    assert embedder.texts == ["green", "black"]
    shutil.rmtree(root / ".index")
    shutil.rmtree(root / ".vectors")
    assert store.search(ns, query="black")[0].scores["cosine"] == pytest.approx(1.0)
    assert sorted(embedder.texts) == ["black", "black", "green", "green"]
    assert store.search(ns, query="black", filter=cast("Any", {"text": "tea"}))


@pytest.mark.parametrize("what", ["root", "entries"])
def test_a_file_in_the_folders_place_is_an_error(tmp_path, what) -> None:
    """Nobody is told that nothing is remembered: a folder that is gone is empty, one that a file took the place of is a
    mistake.
    """
    with MarkdownStore(tmp_path / "memories", index=None) as store:
        store.put(("notes",), "a", {"text": "tea"})
        folder = tmp_path / "memories" if what == "root" else tmp_path / "memories" / "entries"
        folder.rename(tmp_path / "elsewhere")
        assert store.search(("notes",)) == []
        folder.write_text("x")
        for read in (lambda: store.search(("notes",)), lambda: store.get(("notes",), "a"), store.list_namespaces):
            with pytest.raises(StoreError, match=r"is a file.*put the folder back"):
                read()
        folder.unlink()
        (tmp_path / "elsewhere").rename(folder)
        assert store.get(("notes",), "a").value == {"text": "tea"}
