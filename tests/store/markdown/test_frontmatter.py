"""One entry as a Markdown file, both ways."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langmem_plus.records import MemoryRecord, Scores, parse_time
from langmem_plus.store.markdown.entry import RECORD_FIELDS, Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.frontmatter import parse, render
from langmem_plus.store.markdown.layout import file_path

NAMESPACE = ("memories", "ann@x%2eorg", "home")
THEN, NOW = "2026-05-01T10:00:00.000000Z", "2026-11-28T09:00:00.000000Z"
ANY_TEXT = st.text(st.characters(codec=None))
TIMES = st.datetimes(timezones=st.timezones() | st.none())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)
UNIT = st.floats(0, 1)
RECORDS = st.builds(
    MemoryRecord,
    id=ANY_TEXT,
    role=st.sampled_from(["memory", "user", "assistant", "summary", "archive", "document"]),
    text=ANY_TEXT,
    user_id=ANY_TEXT,
    space=ANY_TEXT,
    thread_id=st.none() | ANY_TEXT,
    agent_id=st.none() | ANY_TEXT,
    importance=UNIT,
    pinned=st.booleans(),
    tags=st.lists(ANY_TEXT, max_size=3),
    source_ids=st.lists(ANY_TEXT, max_size=3),
    metadata_confidence=UNIT,
    repeat_count=st.integers(0, 10**9),
    replaced_by=st.none() | ANY_TEXT,
    status=st.sampled_from(["active", "pending", "superseded", "deleted"]),
    extracted=st.none() | st.booleans(),
    metadata=st.dictionaries(st.text(), JSON.filter(lambda value: "\\ud" not in json.dumps(value)), max_size=3),
)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _path(entry: Entry) -> PurePosixPath:
    said = entry.value["created_at"] if entry.role else entry.created_at
    thread = entry.value.get("thread_id") if entry.role else None
    return PurePosixPath(file_path(entry.role, entry.key, said, thread, entry.is_tombstone))


@given(RECORDS)
def test_a_record_comes_back_as_it_was(record: MemoryRecord) -> None:
    """Any text in any field, in the folder of its role and status."""
    value = _plain(record.to_value())
    entry = Entry(value["id"], value, THEN, NOW)
    assert entry.role == record.role
    found = parse(render(entry, NAMESPACE), _path(entry), NAMESPACE, "2000-01-01T00:00:00.000000Z")
    assert json.dumps(found.value) == json.dumps(value)
    assert found == entry


@given(ANY_TEXT, st.dictionaries(ANY_TEXT, JSON, max_size=4), st.none() | st.just(False) | st.lists(ANY_TEXT))
@example("k", {"text": "---\n"}, None)
@example("k", {"content": "a\r\nb\rc"}, None)
@example("k", {"text": "\n\n"}, None)
@example("k", {"text": ""}, None)
@example("k", {"text": 5, "content": "\ufeff"}, False)
@example("k", {"value": {}, "stored": {}}, ["text"])
def test_a_foreign_value_comes_back_as_it_was(key: str, value: dict[str, Any], index: Any) -> None:
    """Any JSON under any key, with what its put asked for."""
    key, value, index = _plain(key), _plain(value), _plain(index)
    entry = Entry(key, value, THEN, NOW, index)
    found = parse(render(entry, NAMESPACE), _path(entry), NAMESPACE, "2000-01-01T00:00:00.000000Z")
    assert json.dumps(found.value) == json.dumps(value)
    assert found == entry


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_a_text_is_the_body(text: str) -> None:
    """What can be printed stands below the front matter as it is, so that a person can edit it."""
    value = MemoryRecord(id="k", text=text, user_id="ann").to_value()
    if text.strip() and text.isprintable():
        assert render(Entry("k", value, THEN, NOW)).endswith(f"\n---\n{text}\n")


def test_a_file_is_short() -> None:
    """Fields that have their default are left out, and so are the scores, which change on reading."""
    then = parse_time(THEN)
    record = MemoryRecord(id="k", text="Green tea.", user_id="ann", created_at=then, updated_at=then)
    value = record.model_copy(update={"last_scores": Scores(total=0.5)}).to_value()
    assert render(Entry("k", _plain(value), THEN, NOW)) == (
        f"---\nid: k\nrole: memory\nuser_id: ann\nspace: default\ncreated_at: {THEN}\nupdated_at: {THEN}\n"
        f'stored: {{"created_at": "{THEN}", "updated_at": "{NOW}"}}\n---\nGreen tea.\n'
    )


def _read(text: str, path: str = "facts/note.md", **more: Any) -> Entry:
    return parse(text, PurePosixPath(path), NAMESPACE, NOW, **more)


@pytest.mark.parametrize("text", ["Ann likes tea.", "Ann likes tea.\n", "\ufeffAnn likes tea.\n", "Ann likes tea.\r\n"])
def test_a_text_alone_is_a_record(text: str) -> None:
    """Its folder gives the role, its namespace the owner, its own time the times; the same file has the same id."""
    entry = _read(text)
    assert (entry.value["text"], entry.value["role"]) == ("Ann likes tea.", "memory")
    assert (entry.value["user_id"], entry.value["space"]) == ("ann@x.org", "home")
    assert entry.created_at == entry.updated_at == entry.value["created_at"] == entry.value["updated_at"] == NOW
    assert entry.key == entry.value["id"] == _read("changed").key
    assert entry.key != _read(text, "facts/other.md").key
    assert _read(text, "turns/assistant/a.md").value["role"] == "assistant"


def test_a_file_without_a_time_keeps_the_one_it_was_first_seen_at() -> None:
    """Otherwise every edit would make the memory younger."""
    entry = _read("Ann likes tea.", born_at=THEN)
    assert (entry.created_at, entry.value["created_at"], entry.updated_at) == (THEN, THEN, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntags: [tea, green]\n---\nAnn likes tea.\n",
        "---\r\ntags: [tea, green]\r\n---\r\nAnn likes tea.\r\n",
        "\ufeff---\ntags: [tea, green]\n---\nAnn likes tea.",
        "---  \ntags:\n  - tea\n  - green\n---\t\nAnn likes tea.\n",
        "---\rtags: [tea, green]\r---\rAnn likes tea.\r",
        "---\ntags: tea, green\n---\nAnn likes tea.\n",
        "---\ntags: [tea, green]\ntext: Ann likes tea.\n---",
        "---\ntags: [tea, green]\ntext: Ann likes tea.\n---\n",
        "\n---\ntags: [tea, green]\n---\nAnn likes tea.\n",
        "\ufeff\r\n \r\n---\r\ntags: [tea, green]\r\n---\r\nAnn likes tea.\r\n",
    ],
    ids=repr,
)
def test_whatever_the_editor_a_front_matter_is_read(text: str) -> None:
    """Line ends, a byte order mark, blank lines above the fence, blanks after it, a missing last line end."""
    entry = _read(text)
    assert (entry.value["text"], entry.value["tags"]) == ("Ann likes tea.", ["tea", "green"])


def test_line_ends_of_a_longer_text_are_the_editors() -> None:
    """Windows' line ends in the body become line ends, whatever the front matter has."""
    assert _read("---\nrole: memory\n---\none\r\ntwo\r\n").value["text"] == "one\ntwo"


def test_an_empty_front_matter_is_read_and_an_empty_file_is_named() -> None:
    """The text is what follows; where there is nothing at all, an editor may only be about to write."""
    assert _read("---\n---\nAnn likes tea.\n").value["text"] == "Ann likes tea."
    for text in ("", "\ufeff", " \r\n\n"):
        with pytest.raises(UnreadableFileError, match="is empty"):
            _read(text)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-05-01", "2026-05-01T00:00:00.000000Z"),
        ("2026-05-01 10:30", "2026-05-01T10:30:00.000000Z"),
        ("2026-05-01T10:30:00", "2026-05-01T10:30:00.000000Z"),
        ("2026-05-01T10:30:00Z", "2026-05-01T10:30:00.000000Z"),
        ("2026-05-01T10:30:00+02:00", "2026-05-01T08:30:00.000000Z"),
        ("'2999-01-01'", "2999-01-01T00:00:00.000000Z"),
    ],
)
def test_times_are_read_as_people_write_them(written: str, read: str) -> None:
    """A naive time is UTC, a date alone midnight; the future is allowed."""
    assert _read(f"---\nobserved_at: {written}\ncreated_at: {written}\n---\nx").value["observed_at"] == read
    assert _read(f"---\nstored: {{created_at: {written}}}\n---\nx").created_at == read


@pytest.mark.parametrize(
    ("line", "name", "read"),
    [
        ("thread_id: 42", "thread_id", "42"),
        ("agent_id: 7.5", "agent_id", "7.5"),
        ("user_id: bob\nspace: work", "user_id", "ann@x.org"),
        ("tags: tea", "tags", ["tea"]),
        ("tags: 2024", "tags", ["2024"]),
        ("tags: [2024, tea]", "tags", ["2024", "tea"]),
        ("tags:", "tags", []),
        ("source_ids: a, b", "source_ids", ["a", "b"]),
        ("pinned: yes", "pinned", True),
        ("importance: 1", "importance", 1.0),
        ("importance:", "importance", 0.0),
        ("metadata: {2024: Lyon}", "metadata", {"2024": "Lyon"}),
        ("aliases: [a]\nmood: good", "metadata", {"aliases": ["a"], "mood": "good"}),
        ("mood: good\nmetadata: {mood: bad}", "metadata", {"mood": "bad"}),
    ],
)
def test_fields_are_read_as_people_mean_them(line: str, name: str, read: Any) -> None:
    """A number for a text, a text for a list, nothing for the default, a field of one's own for metadata."""
    assert _read(f"---\n{line}\n---\nx").value[name] == read


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("---\nimportance: 7\n---\nx", "importance is 7"),
        ("---\nimportance: much\n---\nx", "importance is 'much'"),
        ("---\nrole: friend\n---\nx", "role is 'friend'"),
        ("---\nstatus: gone\n---\nx", "status is 'gone'"),
        ("---\ncreated_at: yesterday\n---\nx", "created_at is 'yesterday'"),
        ("---\ncreated_at: 0001-01-01T00:00:00+23:00\n---\nx", "created_at is"),
        ("---\nimportance: .nan\n---\nx", "importance is"),
        ("---\nmetadata: [a]\n---\nx", "metadata is"),
        ("---\nmood: x\nmetadata: [a]\n---\nx", "metadata is"),
        ("---\nstored: 5\n---\nx", "'stored' is 5"),
        ("---\nrole: memory\nx", "no closing line"),
        ("\n---\nrole: memory\nstored: {}\nx", "no closing line"),
        ("---\nrole: memory\n---\n", "it has no text"),
        ("---\nrole: memory\n---\n \n\n", "it has no text"),
        ("role: memory\nid: k\n---\nx", "not between two lines"),
        ("---\n---\nrole: memory\nid: k\n---\nx", "not between two lines"),
        ("\n\n---\nid: k\nrole: [memory\n---\nx", "line 5: "),
        ("---\nrole: [memory\n---\nx", "isn't YAML"),
    ],
)
def test_what_contradicts_itself_is_reported(text: str, named: str) -> None:
    """The message names the field and what stands there."""
    with pytest.raises(UnreadableFileError) as caught:
        _read(text)
    assert named in str(caught.value)


def test_a_time_out_of_the_calendar_in_the_stores_own_line_is_passed_over() -> None:
    """The file's own time stands in for it."""
    entry = _read("---\nstored: {created_at: '0001-01-01T00:00:00+23:00', updated_at: never}\n---\nx")
    assert (entry.created_at, entry.updated_at) == (NOW, NOW)


def test_an_id_is_read_from_the_name_where_the_front_matter_has_none() -> None:
    """From a name that the store gave, not from any name with two underscores."""
    assert _read("x", "facts/20260501T100000-000000Z__a~2fb__c.md").key == "a/b__c"
    assert _read("x", "facts/my__note.md").key == _read("x", "facts/my__note.md").key != "note"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("facts/20260501T100000-000000Z__k.md", "active"),
        ("facts/family/k.md", "active"),
        ("items/k.md", "active"),
        ("deleted/facts/k.md", "deleted"),
        ("deleted/k.md", "deleted"),
    ],
)
def test_where_a_person_puts_a_record_counts(path: str, status: str) -> None:
    """It keeps its id and role wherever it lies, and in ``deleted/`` it is deleted."""
    value = MemoryRecord(id="k", text="tea", user_id="ann").to_value()
    found = _read(render(Entry("k", value, THEN, NOW), NAMESPACE), path)
    assert found == Entry("k", {**value, "status": status}, THEN, NOW)


def test_a_removed_item_is_back_when_its_file_is_moved_back() -> None:
    """In ``deleted/`` it is a tombstone, elsewhere an item."""
    text = render(Entry("k", {"text": "tea", "n": 1}, THEN, NOW, removed_at=NOW))
    assert _read(text, "deleted/items/k.md").removed_at == NOW
    assert _read(text, "items/k.md") == Entry("k", {"n": 1, "text": "tea"}, THEN, NOW)
    assert _read("just words", "deleted/items/k.md").removed_at == NOW


def test_an_item_by_hand() -> None:
    """Its name is the key, its fields are the value, its body the text; what the store wrote is kept."""
    entry = _read("---\nn: 1\nlist: [a]\n---\nGreen tea.\n", "items/my note.md")
    assert (entry.key, entry.value) == ("my note", {"n": 1, "list": ["a"], "text": "Green tea."})
    assert _read("---\nn: 1\n---\nx", "items/a~2fb.md").key == "a/b"
    assert _read("---\nn: 1\n---\nx", "items/~ff.md").key == "~ff"
    assert _read("---\ntext: kept\n---\n", "items/k.md").value == {"text": "kept"}
    added = render(Entry("k", {"n": 1}, THEN, NOW)) + "a body\n"
    assert _read(added, "items/other name.md") == Entry("k", {"n": 1, "text": "\na body"}, THEN, NOW)


def test_every_field_of_a_record_is_written_or_has_its_default() -> None:
    """A field that is added to records is stored without a change here."""
    value = MemoryRecord(id="k", text="tea", user_id="ann").to_value()
    assert tuple(value) == RECORD_FIELDS
