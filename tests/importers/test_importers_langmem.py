"""langmem's memories are read out of any store, whoever's they are, and nothing of them is lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingIdentityError
from langmem_plus.graph import make_services
from langmem_plus.importers import Template, read_steps
from langmem_plus.importers import langmem as reading
from langmem_plus.importers.foreign import IMPORTED, OTHERS, Found
from langmem_plus.importers.langmem import read_value
from langmem_plus.records import MemoryRecord, parse_time
from langmem_plus.remember.steps import run_steps
from langmem_plus.store import MarkdownStore

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
SERVICES = make_services(store=None, config=MemoryConfig(embeddings="none"))


@pytest.fixture(params=["memory", "sqlite", "markdown"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """The stores that langmem is used with."""
    if request.param == "memory":
        yield InMemoryStore()
    elif request.param == "markdown":
        with MarkdownStore(tmp_path, index=None) as store:
            yield store
    else:
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            yield store


def read(store: BaseStore, *labels: str, user_id: str | None = None, space: str | None = None) -> Found:
    """Read a store by a template."""
    return run_steps(read_steps(Template.of(labels), user_id, space), SERVICES, store)


def test_every_users_memories_are_read_page_by_page(source: BaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their keys, their own times, and whose they are; each once."""
    monkeypatch.setattr(reading, "PAGE", 2)
    for user in ("alice", "bob", "cleo"):
        for number in range(3):
            source.put(("memories", user), f"k{number}", {"content": f"{user} {number}"})
    source.put(("other", "alice"), "k", {"content": "elsewhere"})
    found = read(source, "memories", "{user_id}")
    assert sorted((each.user_id, each.id, each.text, each.space) for each in found.memories) == [
        (user, f"k{number}", f"{user} {number}", "default") for user in ("alice", "bob", "cleo") for number in range(3)
    ]
    assert len({each.key for each in found.memories}) == found.report.read == 9
    item = source.get(("memories", "bob"), "k1")
    assert item is not None
    (one,) = (each for each in found.memories if (each.user_id, each.id) == ("bob", "k1"))
    assert (one.created_at, one.updated_at) == (parse_time(item.created_at), parse_time(item.updated_at))
    assert found.report.warnings == []


def test_one_user_alone_is_read(source: BaseStore) -> None:
    """Where somebody is named, nobody else's memory becomes theirs."""
    source.put(("memories", "alice"), "k", {"content": "hers"})
    source.put(("memories", "bob"), "k", {"content": "his"})
    found = read(source, "memories", "{langgraph_user_id}", user_id="alice")
    assert [(each.user_id, each.text) for each in found.memories] == [("alice", "hers")]
    assert read(source, "memories", "{langgraph_user_id}", user_id="zoe").report.read == 0


def test_fields_of_a_template_become_spaces_threads_and_labels(source: BaseStore) -> None:
    """The space that is given wins; a field of one's own is kept; labels that we encoded are decoded."""
    source.put(("org", "acme", "ann@x%2eorg", "mem-work", "t1"), "k", {"content": "likes tea"})
    labels = ("org", "{org}", "{user_id}", "mem-{space}", "{thread_id}")
    (one,) = read(source, *labels).memories
    assert (one.user_id, one.space, one.thread_id) == ("ann@x.org", "work", "t1")
    assert one.origin["labels"] == {"org": "acme"}
    assert read(source, *labels, space="home").memories[0].space == "home"


def test_what_lies_below_the_template_is_told_and_not_read(source: BaseStore) -> None:
    """A deeper namespace may be anything; the report names one, so that nobody misses it."""
    source.put(("memories", "alice"), "k", {"content": "likes tea"})
    source.put(("memories", "alice", "profile"), "k", {"content": "deep"})
    found = read(source, "memories", "{user_id}")
    assert [each.text for each in found.memories] == ["likes tea"]
    assert "('memories', 'alice', 'profile')" in found.report.warnings[0]
    assert [each.text for each in read(source, "memories", "{user_id}", "profile").memories] == ["deep"]


def test_what_is_no_memory_is_left_out_with_its_reason(source: BaseStore) -> None:
    """Values without text, and our own records; each is named by its place."""
    own = MemoryRecord(id="own", text="ours", user_id="alice")
    values: dict[str, dict[str, Any]] = {"none": {"content": None}, "count": {"n": 5}, "own": own.to_value()}
    for key, value in values.items():
        source.put(("memories", "alice"), key, value)
    found = read(source, "memories", "{user_id}")
    reasons = {each.id: (each.place, each.reason) for each in found.report.skipped}
    assert reasons["none"] == ("memories / alice / none", "there is no text in it: {'content': None}")
    assert "no text" in reasons["count"][1]
    assert "export_user" in reasons["own"][1]
    assert (found.memories, found.report.read) == ([], 3)


def test_reading_doesnt_prolong_lives() -> None:
    """A search refreshes what expires by default; an import only looks."""
    asked: list[Any] = []

    class Watched(InMemoryStore):
        def batch(self, ops: Any) -> list[Any]:
            asked.extend(ops)
            return super().batch(ops)

    store = Watched()
    store.put(("memories", "alice"), "k", {"content": "likes tea"})
    read(store, "memories", "{user_id}")
    assert [op.refresh_ttl for op in asked if hasattr(op, "refresh_ttl")] == [False]


@pytest.mark.parametrize(
    ("labels", "user_id"), [(("memories",), None), (("memories", "{org}"), None), (("memories", "{user_id}"), " ")]
)
def test_memory_is_somebodys(labels: tuple[str, ...], user_id: str | None) -> None:
    """Without a user in the template or in the call there is an error that says what to pass."""
    with pytest.raises(MissingIdentityError, match="user_id"):
        read(InMemoryStore(), *labels, user_id=user_id)


@pytest.mark.parametrize("labels", [(), ("memories", ""), ("memories", 5), 7])
def test_a_template_has_labels(labels: Any) -> None:
    """Anything else is named, with what would be right."""
    with pytest.raises(ConfigError, match="give labels such as"):
        Template.of(labels)


@pytest.mark.parametrize(
    ("value", "text", "fields"),
    [
        ({"content": "likes tea"}, "likes tea", {}),
        ({"content": "likes tea", "at": 1}, "likes tea", {"at": 1}),
        ({"kind": "Memory", "content": {"content": "likes tea"}}, "likes tea", {"kind": "Memory"}),
        ({"kind": "M", "content": {"content": "a", "kind": 2}}, "a", {"kind": "M", "content": {"kind": 2}}),
        ({"kind": "P", "content": {"b": 1, "a": "x"}}, 'P: {"a": "x", "b": 1}', {"kind": "P", "a": "x", "b": 1}),
        ({"content": ["a", "b"]}, '["a", "b"]', {"content": ["a", "b"]}),
        ({"text": "a", "content": "b"}, "a", {"content": "b"}),
        ({"content": "  "}, None, {}),
        ({"content": {"content": ""}}, None, {}),
        ({"content": {}}, None, {}),
        ({"content": []}, None, {}),
        ({"content": 5}, None, {}),
        ({}, None, {}),
    ],
)
def test_the_shapes_of_a_value(value: dict[str, Any], text: str | None, fields: dict[str, Any]) -> None:
    """What is its text, and what else it says."""
    assert read_value(value) == (text, fields)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(["kind", "content", "text", "name", "turn", "category", "imported", "forgotten"]) | st.text()
_fields = st.dictionaries(_names, _json, max_size=4)
_values = _fields | st.builds(lambda kind, content: {"kind": kind, "content": content}, _json, _fields)


@given(_values)
def test_nothing_is_lost(value: dict[str, Any]) -> None:
    """Of any JSON value, each field but the text stands in the record's metadata, or the value is left out with a
    reason; text and metadata alone give the value back.
    """
    store = InMemoryStore()
    store.put(("memories", "alice"), "k", value)
    found = read(store, "memories", "{user_id}")
    assert len(found.memories) + len(found.report.skipped) == 1
    if not found.memories:
        return
    record = found.memories[0].to_record(NOW)
    assert MemoryRecord.model_validate(record.to_value()) == record
    held = {name: each for name, each in record.metadata.items() if name != IMPORTED}
    held |= record.metadata[IMPORTED].get(OTHERS, {})
    for name, each in value.items():
        if name in held and held[name] == each:
            continue
        if each == record.text:
            continue
        assert name == "content" and isinstance(each, dict)
        for inner, one in each.items():
            below = held.get("content")
            assert (
                (inner in held and held[inner] == one)
                or (isinstance(below, dict) and inner in below and below[inner] == one)
                or one == record.text
            )
