"""What a namespace's database says of its files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.records import MemoryRecord
from langmem_plus.store.markdown import connection
from langmem_plus.store.markdown.connection import Connection, from_sql, is_busy, is_outside, to_sql
from langmem_plus.store.markdown.describe import describe, text_hash
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.files import Stamp
from langmem_plus.store.markdown.index import DUPLICATE, UNREADABLE, Index
from langmem_plus.store.markdown.windows import write_windows

STAMP = Stamp(1, 2, 3)
EARLY, LATE = "2026-05-01T10:00:00.000000Z", "2026-05-02T10:00:00.000000Z"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    index = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    yield index
    index.close()


def _entry(key: str, value: dict[str, Any], updated_at: str = EARLY) -> Entry:
    return Entry(key, value, EARLY, updated_at)


def _put(index: Index, key: str, value: dict[str, Any], path: str | None = None, updated_at: str = EARLY) -> int:
    entry = _entry(key, value, updated_at)
    with index.writing():
        row_id = index.put(entry, describe(entry, None), path or f"items/{key}.md", STAMP)
        write_windows(index, [row_id])
    return row_id


def _turn(index: Index, key: str, text: str, turn: int, thread: str = "t", **fields: Any) -> int:
    value = {"role": "user", "status": "active", "thread_id": thread, "text": text, "metadata": {"turn": turn}}
    return _put(index, key, {**value, **fields})


def _drop(index: Index, *keys: str) -> None:
    with index.writing():
        for key in keys:
            index.remove(key)
        write_windows(index, [])


def _words(index: Index) -> dict[str, str]:
    """Key → the words of its second view."""
    rows = dict(index.db.execute("SELECT id, key FROM items"))
    return {rows[row_id]: text for row_id, text in index.tokens(list(rows), "windows").items()}


def test_an_update_is_a_new_version(index: Index) -> None:
    """With a higher id; the old one is gone in every table, and told to who follows."""
    first = _put(index, "k", {"text": "green tea"})
    before = index.position()
    second = _put(index, "k", {"text": "black coffee"})
    assert second > first
    assert index.count() == 1
    assert index.dropped(before[1]) == [first]
    assert [outline[0] for outline in index.outlines(before[0])] == [second]
    assert index.match("words", ["tea"], 10) == []
    assert [row_id for row_id, _ in index.match("words", ["coffe"], 10)] == [second]
    assert index.vectors.texts([text_hash("green tea"), text_hash("black coffee")]) == ["black coffee"]


def test_ids_are_never_used_twice(index: Index) -> None:
    """Not even the highest one of a removed item: a follower would take the new item for the old one."""
    first = _put(index, "a", {"text": "tea"})
    _drop(index, "a")
    assert _put(index, "b", {"text": "milk"}) > first


def test_a_file_holds_one_item(index: Index) -> None:
    """A new key in a file takes the place of the old one, and nothing of it."""
    record = MemoryRecord(id="a", text="tea", user_id="ann").to_value()
    _put(index, "a", record, "facts/x.md")
    with index.writing():
        index.set_scores({"a": '{"total": 0.5}'})
    _put(index, "b", {**record, "id": "b"}, "facts/x.md")
    row = index.get("b")
    assert index.get("a") is None
    assert row is not None
    assert row.load_value()["last_scores"] is None


def test_scores_are_the_indexs_own(index: Index) -> None:
    """They stay over an update without scores; an update with scores brings its own; a foreign value has none."""
    value = MemoryRecord(id="k", text="tea", user_id="ann").to_value()
    _put(index, "k", value)
    with index.writing():
        index.set_scores({"k": '{"total": 0.5}', "nobody": "{}"})
    _put(index, "k", {**value, "text": "coffee"})
    assert index.get("k").load_value()["last_scores"] == {"total": 0.5}  # type: ignore[union-attr]
    own = {"relevance": 0.0, "recency": 0.0, "importance": 0.0, "total": 0.25, "computed_at": None}
    _put(index, "k", {**value, "last_scores": own})
    assert index.get("k").load_value()["last_scores"] == own  # type: ignore[union-attr]
    _put(index, "k", {"text": "foreign", "last_scores": 7})
    assert index.get("k").load_value() == {"text": "foreign", "last_scores": 7}  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["tea", "", "a\0b", "\ud800", "x\udcff.md", "用户"])
def test_any_text_is_a_key_a_path_and_a_thread(index: Index, text: str) -> None:
    """Also one that has no UTF-8."""
    _put(index, text, {"role": "user", "status": "active", "thread_id": text, "text": f"about {text}"}, f"items/{text}")
    row = index.get(text)
    assert row is not None
    assert (row.key, row.path) == (text, f"items/{text}")
    assert list(index.paths()) == [f"items/{text}"]
    assert index.holder(f"items/{text}") == (text, EARLY)
    assert index.outlines(0)[0][3] == text
    assert index.vectors.texts([text_hash(f"about {text}")]) == [f"about {text}"]
    with index.writing():
        index.skip(f"items/{text}", STAMP, UNREADABLE, text)
    assert index.skipped() == {f"items/{text}": (UNREADABLE, text)}
    assert index.count() == 0


@pytest.mark.parametrize("text", [None, "", "tea", "\ud83d\ude00", "\udc80"])
def test_sql_texts_are_reversible(text: str | None) -> None:
    """What has no UTF-8 is kept as bytes."""
    assert from_sql(to_sql(text)) == text


def test_newest_first_page_by_page(index: Index) -> None:
    """By the last update, then by the id; a position continues where a page ended."""
    ids = {key: _put(index, key, {"n": 1}, updated_at=time) for key, time in [("a", LATE), ("b", EARLY), ("c", EARLY)]}
    assert [row.key for row in index.newest(None, "1", [])] == ["a", "c", "b"]
    assert [row.key for row in index.newest((EARLY, ids["c"]), "1", [])] == ["b"]
    assert index.newest(None, "role IS ?", ["user"]) == []


def test_matches_are_ranked_and_cut(index: Index) -> None:
    """Larger is better; a negative limit gives all of them; no term finds nothing."""
    for n in range(5):
        _put(index, f"k{n}", {"text": " ".join(["tea"] * n + ["milk"] * 5)})
    found = index.match("words", ["tea", "tea"], 10)
    assert len(found) == 4
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert index.match("words", ["tea"], 2) == found[:2]
    assert len(index.match("words", ["tea", "milk"], -1)) == 5
    assert index.match("words", [], 10) == []


def test_rarity_is_above_zero_and_falls(index: Index) -> None:
    """Also for a word that every item holds; a word that nobody holds is the rarest."""
    for n in range(4):
        _put(index, f"k{n}", {"text": "tea milk" if n else "tea"})
    rarity = index.rarity(["tea", "milk", "wine"])
    assert 0 < rarity["tea"] < rarity["milk"] < rarity["wine"]
    assert index.rarity([]) == {}


def test_a_write_is_all_or_nothing(index: Index) -> None:
    """An error takes it back, ids and all."""
    _put(index, "a", {"text": "tea"})
    before = index.position()
    with pytest.raises(ZeroDivisionError), index.writing():
        entry = _entry("b", {"text": "milk"})
        index.put(entry, describe(entry, None), "items/b.md", STAMP)
        index.remove("a")
        raise ZeroDivisionError
    assert (index.position(), index.count()) == (before, 1)
    assert [row_id for row_id, _ in index.match("words", ["tea"], 10)] == [1]


def test_reading_sees_one_state(index: Index, tmp_path: Path) -> None:
    """What another connection commits meanwhile shows afterwards."""
    other = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    with index.reading():
        assert index.position() == (0, 0)
        _put(other, "k", {"text": "tea"})
        with index.reading():
            assert index.position() == (0, 0)
        assert index.outlines(0) == []
    assert index.position()[0] == 1
    assert index.identity == other.identity
    other.close()


def test_drops_are_remembered_for_a_while(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for more than is remembered is told so."""
    for module in ("connection", "index"):
        monkeypatch.setattr(f"langmem_plus.store.markdown.{module}.REMEMBERED_DROPS", 3)
    ids = [_put(index, "k", {"n": n}) for n in range(6)]
    assert index.dropped(0) is None
    assert index.dropped(2) == ids[2:5]
    assert index.db.execute("SELECT count(*) FROM gone").fetchone() == (3,)


def test_an_index_built_anew_has_another_identity(tmp_path: Path) -> None:
    """Its ids mean other items."""
    names = []
    for number in range(2):
        index = Index(tmp_path / f"{number}.db", tmp_path / "vectors.db")
        names.append(index.identity)
        index.close()
    assert names[0] != names[1]
    again = Index(tmp_path / "0.db", tmp_path / "vectors.db")
    assert again.identity == names[0]
    again.close()


def test_an_index_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is built anew."""
    Index(tmp_path / "index.db", tmp_path / "vectors.db").close()
    monkeypatch.setattr(connection, "VERSION", 999)
    with pytest.raises(sqlite3.DatabaseError, match="version"):
        Index(tmp_path / "index.db", tmp_path / "vectors.db")


def test_its_condition_tells_what_became_of_its_files(index: Index, tmp_path: Path) -> None:
    """Removed, replaced, or without its log."""
    assert index.condition() == "current"
    log = tmp_path / "index.db-wal"
    kept = log.rename(tmp_path / "kept")
    assert index.condition() == "torn"
    kept.rename(log)
    assert index.condition() == "current"
    (tmp_path / "vectors.db-wal").unlink()
    assert index.condition() == "torn"
    (tmp_path / "vectors.db").rename(tmp_path / "other.db")
    assert index.condition() == "gone"
    (tmp_path / "vectors.db").touch()
    assert index.condition() == "gone"


def test_an_index_in_memory_keeps_vectors_on_disk(index: Index, tmp_path: Path) -> None:
    """They are paid for; the index isn't, and leaves nothing."""
    index.close()
    memory = Index(None, tmp_path / "vectors.db")
    assert (memory.in_memory, memory.condition()) == (True, "current")
    memory.vectors.put("m", {b"a": b"1234"})
    _put(memory, "k", {"text": "tea"})
    memory.close()
    again = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    assert again.vectors.known("m", [b"a"]) == {b"a"}
    assert again.count() == 0
    again.close()


def test_where_vectors_cannot_be_written_a_copy_stands_in(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with those on disk, if there are any."""
    index.vectors.put("m", {b"a": b"1234"})
    index.close()

    def refuse(self: Connection, vectors: Path) -> None:
        self.db.execute("ATTACH ? AS paid", (str(tmp_path / "nowhere" / "x.db"),))

    monkeypatch.setattr(Connection, "_attach_vectors", refuse)
    memory = Index(None, tmp_path / "vectors.db")
    assert memory.vectors.get("m", [b"a", b"b"]) == {b"a": b"1234"}
    memory.vectors.put("m", {b"b": b"5678"})
    memory.close()
    missing = Index(None, tmp_path / "nothing.db")
    assert missing.vectors.known("m", [b"a"]) == set()
    missing.close()
    monkeypatch.undo()
    again = Index(tmp_path / "index.db", tmp_path / "vectors.db")
    assert again.vectors.known("m", [b"a", b"b"]) == {b"a"}
    again.close()


def test_vectors_are_kept_by_model_and_text(index: Index) -> None:
    """The version changes with every write, here or elsewhere."""
    seen = {index.vectors.version()}
    index.vectors.put("m", {b"a": b"1"})
    seen.add(index.vectors.version())
    index.vectors.put("m", {b"a": b"2"})
    index.vectors.put("n", {b"a": b"3"})
    assert index.vectors.get("m", [b"a"]) == {b"a": b"2"}
    assert index.vectors.get("n", [b"a"]) == {b"a": b"3"}
    assert index.vectors.known("m", [bytes([n]) for n in range(256)] * 5 + [b"a"]) == {b"a"}
    other = sqlite3.connect(index.db.execute("PRAGMA database_list").fetchall()[1][2])
    with other:
        other.execute("INSERT INTO vectors VALUES('m', x'62', x'34')")
    other.close()
    seen.add(index.vectors.version())
    assert len(seen) == 3


def test_the_texts_of_items_come_with_their_vectors(index: Index) -> None:
    """None where one waits; those of a removed item are gone."""
    first = _put(index, "a", {"text": "tea", "content": "milk"})
    second = _put(index, "b", {"text": "tea"})
    index.vectors.put("m", {text_hash("tea"): b"1234"})
    tea, milk = text_hash("tea"), text_hash("milk")
    assert index.vectors.of_items(0, "m") == [(first, tea, b"1234"), (first, milk, None), (second, tea, b"1234")]
    _drop(index, "a")
    assert index.vectors.of_items(0, "m") == [(second, tea, b"1234")]


def test_errors_of_the_disk_and_of_others_are_told_from_a_broken_database(tmp_path: Path) -> None:
    """Only a broken one is thrown away."""
    one, other = (sqlite3.connect(tmp_path / "x.db", timeout=0, isolation_level=None) for _ in range(2))
    one.execute("CREATE TABLE t(a)")
    one.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as caught:
        other.execute("BEGIN IMMEDIATE")
    assert is_busy(caught.value)
    assert not is_outside(caught.value)
    other.execute("PRAGMA query_only=1")
    one.execute("COMMIT")
    one.execute("PRAGMA max_page_count=2")
    with pytest.raises(sqlite3.OperationalError) as caught:
        one.execute("INSERT INTO t VALUES(zeroblob(100000))")
    assert is_outside(caught.value)
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(tmp_path / "nowhere" / "x.db")
    assert is_outside(caught.value)
    (tmp_path / "bad.db").write_bytes(b"x" * 5000)
    bad = sqlite3.connect(tmp_path / "bad.db")
    with pytest.raises(sqlite3.DatabaseError) as broken:
        bad.execute("SELECT * FROM t")
    assert not is_outside(broken.value)
    assert not is_busy(broken.value)
    for database in (one, other, bad):
        database.close()


# the second view


def test_a_turn_is_found_by_its_neighbours_words(index: Index) -> None:
    """One before and one after, in the order of the thread and not of the writing."""
    _turn(index, "3", "third", 3)
    _turn(index, "1", "first", 1)
    _turn(index, "2", "second", 2)
    _turn(index, "4", "fourth", 4)
    _turn(index, "x", "elsewhere", 2, thread="other")
    _put(index, "lone", {"text": "lonely"})
    assert _words(index) == {
        "1": "first second",
        "2": "first second third",
        "3": "second third fourth",
        "4": "third fourth",
        "x": "elsewher",
        "lone": "lone",
    }


def test_when_a_turn_goes_its_neighbours_become_neighbours(index: Index) -> None:
    """Removed, moved to another thread, retired, or said at another time."""
    for n in range(1, 6):
        _turn(index, str(n), f"word{n}", n)
    _drop(index, "3")
    assert _words(index)["2"] == "word1 word2 word4"
    _turn(index, "2", "word2", 2, thread="other")
    assert _words(index) == {"1": "word1 word4", "2": "word2", "4": "word1 word4 word5", "5": "word4 word5"}
    _turn(index, "4", "word4", 4, status="superseded")
    assert _words(index) == {"1": "word1 word5", "2": "word2", "4": "word4", "5": "word1 word5"}
    _turn(index, "1", "word1", 9)
    assert _words(index)["5"] == "word5 word1"
    _drop(index, "1", "5")
    assert _words(index) == {"2": "word2", "4": "word4"}


def test_a_changed_turn_keeps_its_place_among_equals(index: Index) -> None:
    """Turns that say nothing of their order stand in that of their first writing."""
    for key in "abc":
        _put(
            index,
            key,
            {"role": "user", "status": "active", "thread_id": "t", "text": f"word{key}", "created_at": EARLY},
        )
    _put(index, "a", {"role": "user", "status": "active", "thread_id": "t", "text": "new", "created_at": EARLY})
    assert _words(index) == {"a": "new wordb", "b": "new wordb wordc", "c": "wordb wordc"}


def test_a_turn_without_words_still_stands_between(index: Index) -> None:
    """It has none of its own, and is found by those of its neighbours."""
    for n, text in enumerate(["tea", "…", "milk"]):
        _turn(index, str(n), text, n)
    assert _words(index) == {"0": "tea", "1": "tea milk", "2": "milk"}
    _put(index, "empty", {"text": "…"})
    assert "empty" not in _words(index)


def test_a_value_is_kept_as_json(index: Index) -> None:
    """Each reading gives a fresh one; a row says the same as an entry by type, not by Python's equality."""
    _put(index, "k", {"n": 1, "list": [True]})
    row = index.get("k")
    assert row is not None
    row.load_value()["list"].append(2)
    assert row.load_value() == {"n": 1, "list": [True]}
    assert row.says(_entry("k", {"list": [True], "n": 1}))
    for other in ({"n": True, "list": [True]}, {"n": 1.0, "list": [True]}, {"n": 1, "list": [1]}):
        assert not row.says(_entry("k", other))
    assert not row.says(Entry("k", {"n": 1, "list": [True]}, EARLY, EARLY, index=False))
    assert not row.says(Entry("k", {"n": 1, "list": [True]}, LATE, EARLY))
    assert json.loads(row.json) == {"n": 1, "list": [True]}


def test_a_connection_that_cannot_be_set_up_is_closed(tmp_path: Path) -> None:
    """Its file can be removed at once, everywhere."""
    (tmp_path / "vectors.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(sqlite3.DatabaseError):
        Connection(tmp_path / "index.db", tmp_path / "vectors.db")
    assert index_closed(tmp_path / "index.db")


def index_closed(path: Path) -> bool:
    """Whether no connection keeps a log of the database."""
    return not path.with_name(path.name + "-wal").exists()


def test_duplicates_are_told_from_unreadable_files(index: Index) -> None:
    """With the words for it."""
    with index.writing():
        index.skip("facts/a.md", STAMP, DUPLICATE, "as b")
        index.skip("facts/a.md", STAMP, UNREADABLE, "no YAML")
    assert index.skipped() == {"facts/a.md": (UNREADABLE, "no YAML")}
