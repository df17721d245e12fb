"""mem0's memories are read out of the JSON that it gives, in all its forms; what isn't taken over is told."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.errors import ImportFileError
from langmem_plus.importers import Export, Whose, read_file, read_memories
from langmem_plus.importers.foreign import IMPORTED, OTHERS, Found
from langmem_plus.importers.mem0 import is_export, read_export
from langmem_plus.importers.parts import Place

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
VEGAN = {
    "id": "f4cbdb08",
    "memory": "Alex is vegan",
    "hash": "5c1f",
    "metadata": {"type": "diet", "deep": {"er": [1, None]}},
    "categories": ["food", "health"],
    "created_at": "2024-07-26T08:44:41.039788-07:00",
    "updated_at": "2024-08-01T10:00:00Z",
    "user_id": "alex",
    "agent_id": "chef",
    "run_id": "r1",
    "expiration_date": None,
}


def read(data: Any, user_id: str | None = "alex", from_user: str | None = None) -> Found:
    """What a document gives."""
    place = Place(Path("mem0.json"))
    return read_memories(read_export(iter([(data, place)]), place), Whose(user_id, from_user, "default", NOW))


def entry(**fields: Any) -> dict[str, Any]:
    """A memory of Alex's."""
    return {"id": "1", "memory": "likes tea", "user_id": "alex", **fields}


def write(folder: Path, text: str, name: str = "mem0.json") -> Path:
    """A file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_field_finds_its_place() -> None:
    """Times, thread, agent, tags and metadata; the hash is kept, and the id tells where it came from."""
    (one,) = read({"results": [VEGAN]}).memories
    assert (one.user_id, one.thread_id, one.agent_id, one.tags) == ("alex", "r1", "chef", ("food", "health"))
    assert one.created_at == dt.datetime(2024, 7, 26, 15, 44, 41, 39788, tzinfo=dt.UTC)
    assert one.updated_at == dt.datetime(2024, 8, 1, 10, tzinfo=dt.UTC)
    record = one.to_record(NOW)
    assert (record.text, record.source_ids, record.said_at) == ("Alex is vegan", ["f4cbdb08"], one.created_at)
    origin = record.metadata.pop(IMPORTED)
    assert record.metadata == {"type": "diet", "deep": {"er": [1, None]}, "hash": "5c1f"}
    assert (origin["from"], origin["id"]) == ("mem0", "f4cbdb08")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"results": [VEGAN]}),
        json.dumps({"results": [VEGAN], "relations": []}),
        json.dumps({"count": 1, "next": None, "previous": None, "results": [VEGAN]}),
        json.dumps([VEGAN]),
        json.dumps([{"results": [VEGAN]}, {"results": []}]),
        json.dumps({"memories": [VEGAN]}),
        json.dumps(VEGAN),
        json.dumps(VEGAN) + "\n\n" + json.dumps(VEGAN),
        "\ufeff" + json.dumps({"results": [VEGAN]}),
    ],
)
def test_all_forms_of_a_file(tmp_path: Path, text: str) -> None:
    """get_all's, old and new, pages of it, one memory a line; the form is told by the file, whatever its name."""
    for name in ("mem0.json", "mem0.txt"):
        export = read_file(write(tmp_path, text, name))
        assert isinstance(export, Export)
        found = read_memories(export, Whose("alex", None, "default", NOW))
        assert {each.text for each in found.memories} == {"Alex is vegan"}


def test_the_backup_of_openmemory() -> None:
    """Its users and categories have names of their own, and what isn't active is left out."""
    backup = {
        "user": {"id": "u-1", "user_id": "alex"},
        "categories": [{"id": "c-1", "name": "food"}],
        "memories": [
            {"id": "1", "user_id": "u-1", "content": "is vegan", "state": "active", "category_ids": ["c-1", "c-2"]},
            {"id": "2", "user_id": "u-1", "content": "gone", "state": "deleted"},
        ],
    }
    assert is_export(backup)
    found = read(backup)
    assert [(each.text, each.user_id, each.tags) for each in found.memories] == [("is vegan", "alex", ("food", "c-2"))]
    assert found.report.skipped[0].reason == "its state is 'deleted'"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (entry(memory=""), "its memory is empty"),
        (entry(memory="  \n"), "its memory is empty"),
        (entry(memory=None), "its memory is empty"),
        (entry(memory={"a": 1}), "its memory is {'a': 1}, no text"),
        ("likes tea", "expected a memory with id and memory, found 'likes tea'"),
        (None, "expected a memory with id and memory, found None"),
        (entry(user_id="bob"), "it belongs to 'bob', not to 'alex'"),
        (entry(user_id=["bob"]), "its user_id is ['bob'], no text or number"),
        (entry(expiration_date="2026-04-30"), "it expired: its expiration_date is '2026-04-30'"),
        (entry(metadata={"expiration_date": "2020-01-01"}), "it expired: its expiration_date is '2020-01-02"),
    ],
)
def test_what_is_left_out_has_its_reason(bad: Any, reason: str) -> None:
    """And the place where it stands; the others are taken."""
    found = read({"results": [VEGAN, bad]})
    (left,) = found.report.skipped
    assert left.place == "results[1]"
    assert left.reason.startswith(reason)
    assert (found.report.read, len(found.memories)) == (2, 1)


def test_a_day_of_expiration_is_included() -> None:
    """It is true all through that day in UTC; a moment is a moment; what is no date never ends it."""
    days = {"2026-05-01": dt.datetime(2026, 5, 2, tzinfo=dt.UTC), "2026-05-01T12:00:00Z": NOW.replace(hour=12)}
    for written, end in days.items():
        assert read([entry(expiration_date=written)]).memories[0].expires_at == end
    found = read([entry(expiration_date="someday"), entry(expiration_date="9999-12-31")])
    assert [each.expires_at for each in found.memories] == [None, None]
    assert found.memories[0].metadata == {"expiration_date": "someday"}
    assert "no time; kept in the metadata" in found.report.noted[0].reason


@pytest.mark.parametrize(
    ("fields", "kept", "noted"),
    [
        ({"created_at": "yesterday"}, {"created_at": "yesterday"}, "created_at is 'yesterday', no time"),
        ({"created_at": True}, {"created_at": True}, "created_at is True, no time"),
        ({"run_id": ["r"]}, {"run_id": ["r"]}, "run_id is ['r'], no text or number"),
        ({"id": None}, {}, "it has no id"),
        ({"categories": [{"name": "x"}]}, {"categories": [{"name": "x"}]}, None),
        ({"metadata": "x"}, {"metadata": "x"}, None),
        ({"metadata": {"hash": 1}, "hash": 2}, {"hash": 1, "memory": {"hash": 2}}, None),
        ({"score": 0.5, "structured_attributes": None}, {}, None),
        ({"immutable": True, "actor_id": "sam"}, {"immutable": True, "actor_id": "sam"}, None),
    ],
)
def test_odd_fields_are_kept_as_metadata(fields: dict[str, Any], kept: dict[str, Any], noted: str | None) -> None:
    """One odd field doesn't cost the memory; the report tells what came over differently."""
    found = read([entry(**fields)])
    (one,) = found.memories
    assert one.metadata == kept
    assert one.pinned == ("immutable" in fields)
    assert [each.reason.startswith(noted or "") for each in found.report.noted] == ([True] if noted else [])


def test_times_without_a_zone_or_as_numbers() -> None:
    """Naive times are UTC; numbers are seconds or milliseconds since 1970."""
    for written in ("2024-07-26T15:44:41", 1722008681, 1722008681000, "2024-07-26T15:44:41Z"):
        (one,) = read([entry(created_at=written)]).memories
        assert one.created_at == dt.datetime(2024, 7, 26, 15, 44, 41, tzinfo=dt.UTC)


def test_the_graph_is_counted_not_taken() -> None:
    """Relations and entities say nothing by themselves; the report tells how many there were."""
    found = read({"results": [entry(relations=[{}], entities=[{}, {}])], "relations": [{}, {}]})
    assert found.report.ignored == {"relations": 3, "entities": 2}


def test_one_page_of_several_is_told() -> None:
    """Nobody takes the first page for the whole."""
    found = read({"count": 250, "next": "https://…?page=2", "results": [VEGAN]})
    assert "more follow" in found.report.warnings[0]


def test_whose_the_memories_become() -> None:
    """Theirs and nobody's; or everybody's, each to whom it names; or those of another name."""
    listed = [entry(), entry(id="2", user_id="bob", memory="b"), entry(id="3", user_id=None, memory="n")]
    assert [each.id for each in read(listed, "alex").memories] == ["1", "3"]
    everybody = read(listed, None)
    assert [(each.id, each.user_id) for each in everybody.memories] == [("1", "alex"), ("2", "bob")]
    assert "--user" in everybody.report.skipped[0].reason
    renamed = read(listed, "robert", "bob")
    assert [(each.id, each.user_id) for each in renamed.memories] == [("2", "robert"), ("3", "robert")]
    assert [(each.id, each.user_id) for each in read([entry(user_id=7)], "7").memories] == [("1", "7")]


def test_a_file_of_others_alone_is_an_error() -> None:
    """It names whom the file speaks of, and what to do."""
    with pytest.raises(ImportFileError, match=r"nothing in it is for 'zoe'.*belongs to 'alex'.*--from-user"):
        read({"results": [VEGAN]}, "zoe")


@pytest.mark.parametrize(
    "data",
    [
        [{"role": "user", "content": "hi", "memory": None}],
        {"messages": [{"role": "user", "content": "hi"}], "memories": ["x"], "results": []},
    ],
)
def test_conversations_arent_taken_for_memories(tmp_path: Path, data: Any) -> None:
    """Messages stay messages, whatever else stands beside them."""
    (found,) = read_file(write(tmp_path, json.dumps(data)))  # type: ignore[misc]  # conversations are a list
    assert [message["content"] for message in found.messages] == ["hi"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results": [{"id": "1", "memory": "li', "line 1, column 36: not JSON"),
        ('{"results": 5}', r"results: expected a list of memories, found 5"),
        ('{"full_name": "Dev", "company": "TechCorp"}', r'memories of mem0, {"results": \[\.\.\.\]}'),
        ('{"id": "1", "memory": "a"}\n{"id": ', "line 2: column 8: not JSON"),
    ],
)
def test_files_that_cant_be_read(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file and the place; an export by a schema of one's own isn't taken for memories."""
    path = write(tmp_path, text)
    with pytest.raises(ImportFileError, match=message) as raised:
        read_file(path)
    assert str(path) in str(raised.value)


def test_missing_ids_are_told_by_text_and_time() -> None:
    """So that the same file twice is the same; equal texts of different times are two."""
    listed = [{"memory": "a"}, {"memory": "b"}, {"memory": "a", "created_at": "2024-01-01"}]
    first, again = ([each.key for each in read(listed).memories] for _ in range(2))
    assert first == again
    assert len(set(first)) == 3


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from(
    ["metadata", "categories", "created_at", "updated_at", "expiration_date", "run_id", "agent_id", "hash", "name"]
)
_KNOWN = {"id", "memory", "user_id", "relations", "entities", "score", "score_details", "state", "category_ids"}


@given(st.dictionaries(_names | st.text(), _json, max_size=6))
def test_nothing_is_lost(fields: dict[str, Any]) -> None:
    """Whatever the fields are, a memory is taken with each of them, or left out with a reason."""
    given = {name: value for name, value in fields.items() if name not in _KNOWN}
    found = read([{**given, "id": "1", "memory": "likes tea"}])
    assert len(found.memories) + len(found.report.skipped) == 1
    if not found.memories:
        return
    (one,) = found.memories
    record = one.to_record(NOW)
    held = {name: value for name, value in record.metadata.items() if name != IMPORTED}
    held |= record.metadata[IMPORTED].get(OTHERS, {})
    mine = held.get("memory", {}) if isinstance(held.get("memory"), dict) else {}
    other = held.get("mem0", {}) if isinstance(held.get("mem0"), dict) else {}
    told: dict[str, Any] = {
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "expiration_date": one.expires_at,
    }
    told |= {"run_id": one.thread_id, "agent_id": one.agent_id, "categories": one.tags}
    for name, value in given.items():
        if value is None or (name in told and told[name] not in (None, ())) or value in ("", []):
            continue
        if name == "metadata" and isinstance(value, dict):
            assert all(held[inner] == each for inner, each in value.items() if inner not in ("memory", "mem0"))
            continue
        blank = name in ("run_id", "agent_id") and isinstance(value, str) and not value.strip()
        never = name == "expiration_date" and "9999" in str(value)
        tags = name == "categories" and isinstance(value, list) and all(isinstance(each, str) for each in value)
        assert blank or never or tags or value in (held.get(name), mine.get(name), other.get(name))
