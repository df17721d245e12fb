"""What the index keeps about an entry."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import Item

from langmem_plus.recall.items import read_item
from langmem_plus.recall.overlap import spoken
from langmem_plus.records import Scope
from langmem_plus.store.markdown.describe import describe, own_texts, searched_texts, texts_at
from langmem_plus.store.markdown.entry import Entry

NOW = "2026-11-28T09:00:00.000000Z"


def _describe(value: dict[str, Any], index: Any = None, fields: list[str] | None = None) -> Any:
    return describe(Entry("k", value, NOW, NOW, index), fields)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"text": "tea"}, ("tea",)),
        ({"content": "tea"}, ("tea",)),
        ({"text": "tea", "content": "milk"}, ("tea", "milk")),
        ({"text": "", "content": "milk"}, ("milk",)),
        ({"kind": "m", "content": {"content": "tea"}}, ("tea",)),
        ({"kind": "m", "content": {"likes": "茶"}}, ('m: {"likes": "茶"}',)),
        ({"text": "milk", "content": {"content": "tea"}}, ("milk", "tea")),
        ({"content": {"content": " "}}, ('{"content": " "}',)),
        ({"content": ["tea"]}, ('["tea"]',)),
        ({"n": 1}, ('{"n": 1}',)),
        ({"text": "  "}, ('{"text": "  "}',)),
        ({}, ("{}",)),
        ({"text": "tea", "metadata": {"name": "Ann"}}, ("Ann: tea",)),
        ({"text": "Ann: tea", "metadata": {"name": " Ann "}}, ("Ann: tea",)),
        ({"text": "tea", "metadata": {"name": " "}}, ("tea",)),
        ({"text": "tea", "metadata": {"name": 5}}, ("tea",)),
        ({"text": "tea", "metadata": ["name"]}, ("tea",)),
        ({"text": "tea", "metadata": "name"}, ("tea",)),
        ({"text": 5}, ("5",)),
    ],
    ids=repr,
)
def test_the_text_or_content_is_searched_or_else_everything(value: dict[str, Any], texts: tuple[str, ...]) -> None:
    """After the speaker's name, where the metadata have one and are what they should be."""
    assert own_texts(value) == texts


_WORDS = st.sampled_from(["", " ", "tea", " tea\n", "Ann: tea", "茶", "\ud800"])
_NAMES = st.sampled_from([None, "", " ", "Ann", " Ann ", "Ann:", "A\nB", 5, ["Ann"]])
_CONTENTS = st.one_of(_WORDS, st.dictionaries(st.sampled_from(["content", "likes"]), _WORDS, max_size=2))


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "text": _WORDS,
            "content": _CONTENTS,
            "kind": st.sampled_from(["Memory", "", 5]),
            "metadata": st.one_of(st.fixed_dictionaries({"name": _NAMES}), st.just("Ann")),
        },
    )
)
def test_what_a_recall_compares_is_what_is_indexed(value: dict[str, Any]) -> None:
    """Word for word, whoever wrote the value: so vectors and token bits that are kept are those of these words."""
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    record = read_item(Item(value=value, key="k", namespace=("ann",), created_at=at, updated_at=at), Scope("ann"))
    assert record is None or spoken(record) in own_texts(value)


def test_the_puts_own_paths_come_first() -> None:
    """False searches nothing, a list its paths, nothing the store's paths."""
    value = {"a": "one", "b": ["two", " ", "three"]}
    assert searched_texts(value, False, ["a"]) == ()
    assert searched_texts(value, ["b[*]"], ["a"]) == ("two", "three")
    assert searched_texts(value, None, ["a"]) == ("one",)
    assert searched_texts(value, [], ["a"]) == ()
    assert texts_at(value, ["b[-1]", "c", "[0]", ""]) == ("three", '{"a": "one", "b": ["two", " ", "three"]}')


def test_tags_are_found_by_their_words() -> None:
    """With the text, in one run of words each; not where nothing is searched."""
    assert _describe({"text": "green tea", "tags": ["Drinks", 5, "茶"]}).words.split() == [
        "green",
        "tea",
        "drink",
        "茶",
    ]
    assert _describe({"text": "tea", "tags": "drinks"}).words == "tea"
    assert _describe({"text": "tea", "tags": ["drinks"]}, index=False).words == ""


def test_texts_of_two_fields_make_no_pair() -> None:
    """The last character of one and the first of the next aren't neighbours."""
    assert "都大" not in _describe({"text": "京都", "content": "大阪"}).words


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"role": "user", "thread_id": "t", "status": "active"}, f"{NOW}|000000000|000000"),
        (
            {"role": "assistant", "thread_id": "t", "status": "active", "metadata": {"turn": 3, "position": 1}},
            f"{NOW}|000000003|000001",
        ),
        ({"role": "user", "thread_id": "t", "status": "active", "observed_at": "2020"}, "2020|000000000|000000"),
        ({"role": "user", "thread_id": "t", "status": "active", "metadata": {"turn": "x"}}, f"{NOW}|000000000|000000"),
        ({"role": "user", "thread_id": "t", "status": "active", "metadata": 5}, f"{NOW}|000000000|000000"),
        ({"role": "user", "thread_id": "t", "status": "superseded"}, None),
        ({"role": "memory", "thread_id": "t", "status": "active"}, None),
        ({"role": "user", "thread_id": 5, "status": "active"}, None),
        ({"role": ["user"], "thread_id": "t", "status": "active"}, None),
    ],
)
def test_an_active_turn_has_a_place_in_its_thread(value: dict[str, Any], place: str | None) -> None:
    """By when it was said, then by its numbers, whatever else stands in their place."""
    assert _describe(value).place == place


@pytest.mark.parametrize(
    ("changes", "pending"),
    [({}, True), ({"extracted": True}, False), ({"role": "assistant"}, False), ({"status": "deleted"}, False)],
)
def test_a_users_turn_waits_for_its_facts(changes: dict[str, Any], pending: bool) -> None:
    """Until it is extracted."""
    assert _describe({"role": "user", "status": "active", "extracted": False, **changes}).pending is pending
