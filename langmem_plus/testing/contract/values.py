"""Points 1–7 and 9–13: one value under one key."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from types import MappingProxyType
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Item, PutOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, keys, name_of

VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "scalars": {"text": "a", "empty": "", "int": 1, "float": 0.1, "negative": -2.5e-7, "yes": True, "null": None},
    "big-numbers": {"beyond_a_double": 2**53 + 1, "negative": -(2**53) - 1, "large": 1e300},
    "unicode": {"多": "用户 🙂 é é", "rtl": "שלום", "zero_width": "a\u200bb\ufeff"},
    "nesting": {"a": {"b": [{"c": [1, [2, [None]]]}, [], {}]}},
    "lines": {"text": "---\nid: x\n---\n\n# Title\r\n\ttab  \n\n", "spaces": "  x  "},
    "look-alikes": {"bool": "true", "null": "null", "date": "2024-01-01", "float": "1e3", "yaml": "- [a: b]", "n": "~"},
    "odd-names": {"": 1, "a.b": 2, "$x": 3, "'\"": 4, "a b": 5, "id": 6, "namespace": 7, "key": 8, "value": 9},
}
ODD_KEYS = (
    *("", " ", "*", "%", "_", "?", "[a]", ".", "..", "../up", "/root", "a/b", "a\\b", "'", '"', "';--", "a\nb", "C:"),
    *("con", "Key", "key", "é", "e\u0301", "🙂", "~", "$", "x" * 500, "x" * 499 + "y", "用户" * 100),
)


class Values(ContractBase):
    """One value under one key."""

    def test_01_a_missing_key_is_none(self, store: BaseStore) -> None:
        """Reading a key that isn't there gives None, in a used namespace and in one that nobody has ever seen."""
        store.put(PLAIN, "there", {"a": 1})
        assert store.get(PLAIN, "missing") is None
        assert store.get(("never", "seen"), "there") is None

    def test_01_get_gives_a_plain_item(self, store: BaseStore) -> None:
        """What get gives is exactly an ``Item``, with its namespace and its key."""
        store.put(("a", "b"), "k", {"a": 1})
        item = store.get(("a", "b"), "k")
        assert type(item) is Item
        assert (item.namespace, item.key, item.value) == (("a", "b"), "k", {"a": 1})

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
    def test_02_json_round_trips(self, store: BaseStore, value: dict[str, Any]) -> None:
        """Any JSON value comes back as it was, from get and from search, with its types."""
        store.put(PLAIN, "k", value)
        item, (found,) = store.get(PLAIN, "k"), store.search(PLAIN)
        assert item is not None
        assert item.value == value
        assert found.value == value
        assert _types(item.value) == _types(value)

    def test_02_any_mapping_is_accepted(self, store: BaseStore) -> None:
        """A value may be any mapping; it comes back as a dict."""
        store.put(PLAIN, "k", MappingProxyType({"a": [1]}))
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"a": [1]}
        assert type(item.value) is dict

    def test_03_put_replaces_the_whole_value(self, store: BaseStore) -> None:
        """A second put leaves nothing of the first value."""
        store.put(PLAIN, "k", {"old": 1, "both": {"x": 1, "y": 2}})
        store.put(PLAIN, "k", {"new": 2, "both": {"x": 3}})
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"new": 2, "both": {"x": 3}}
        assert len(store.search(PLAIN)) == 1

    def test_04_created_at_survives_an_update(self, store: BaseStore) -> None:
        """An update keeps the time of creation, and the time of the update grows."""
        first = _put_and_get(store, {"n": 1})
        time.sleep(0.002)
        second = _put_and_get(store, {"n": 2})
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at
        assert second.updated_at > second.created_at

    def test_04_search_gives_the_same_times_as_get(self, store: BaseStore) -> None:
        """Both ways of reading agree on the times, after an update too."""
        _put_and_get(store, {"n": 1})
        time.sleep(0.002)
        item = _put_and_get(store, {"n": 2})
        (found,) = store.search(PLAIN)
        assert (found.created_at, found.updated_at) == (item.created_at, item.updated_at)

    def test_05_times_are_aware_and_in_utc(self, store: BaseStore) -> None:
        """Both times carry UTC, and are the time of now."""
        before = dt.datetime.now(dt.UTC)
        item = _put_and_get(store, {"n": 1})
        for moment in (item.created_at, item.updated_at):
            assert moment.utcoffset() == dt.timedelta(0)
            assert before - dt.timedelta(seconds=1) <= moment <= dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)

    def test_06_times_are_finer_than_a_second(self, store: BaseStore) -> None:
        """Two updates within one second are told apart."""
        moments = []
        for n in range(3):
            time.sleep(0.002)
            moments.append(_put_and_get(store, {"n": n}).updated_at)
        assert moments == sorted(set(moments))
        assert any(moment.microsecond for moment in moments)

    def test_07_delete_is_idempotent(self, store: BaseStore) -> None:
        """Deleting removes, and deleting what isn't there does nothing."""
        store.put(PLAIN, "k", {"a": 1})
        store.put(PLAIN, "other", {"a": 2})
        store.delete(PLAIN, "k")
        store.delete(PLAIN, "k")
        store.delete(("never", "seen"), "k")
        assert store.get(PLAIN, "k") is None
        assert keys(store.search(PLAIN)) == ["other"]

    def test_07_putting_none_deletes(self, store: BaseStore) -> None:
        """A put of None is a deletion, and is one for a missing key too."""
        store.put(PLAIN, "k", {"a": 1})
        store.batch([PutOp(PLAIN, "k", None), PutOp(PLAIN, "missing", None)])
        assert store.get(PLAIN, "k") is None
        assert store.search(PLAIN) == []

    def test_07_what_was_deleted_can_be_put_again(self, store: BaseStore) -> None:
        """A key that was deleted is free, and nothing of its old value comes back."""
        store.put(PLAIN, "k", {"old": 1})
        store.delete(PLAIN, "k")
        store.put(PLAIN, "k", {"new": 2})
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"new": 2}
        assert keys(store.search(PLAIN)) == ["k"]

    @pytest.mark.parametrize("key", [42, 1.5, uuid.UUID(int=7)], ids=["int", "float", "uuid"])
    def test_09_a_key_becomes_text(self, store: BaseStore, key: Any) -> None:
        """A key that isn't text is the same key as its text."""
        store.put(PLAIN, key, {"a": 1})
        for same in (key, str(key)):
            item = store.get(PLAIN, same)
            assert item is not None
            assert item.key == str(key)
        store.delete(PLAIN, key)
        assert store.get(PLAIN, str(key)) is None

    def test_10_odd_keys_are_literal(self, store: BaseStore) -> None:
        """Empty, long and odd keys each hold their own value; none is a pattern or a path."""
        store.batch([PutOp(PLAIN, key, {"key": key}) for key in ODD_KEYS])
        for key in ODD_KEYS:
            item = store.get(PLAIN, key)
            assert item is not None, key
            assert (item.key, item.value) == (key, {"key": key})
        assert sorted(keys(store.search(PLAIN, limit=1000))) == sorted(ODD_KEYS)

    @pytest.mark.parametrize("key", ["", "*", "%", "_", "key", "..", "'", "x" * 500])
    def test_10_deleting_an_odd_key_deletes_that_key(self, store: BaseStore, key: str) -> None:
        """A deletion takes the key that it names, and no other."""
        store.batch([PutOp(PLAIN, each, {"key": each}) for each in ODD_KEYS])
        store.delete(PLAIN, key)
        assert sorted(keys(store.search(PLAIN, limit=1000))) == sorted(set(ODD_KEYS) - {key})

    def test_11_what_the_caller_changes_later_is_not_stored(self, store: BaseStore) -> None:
        """The stored value is a copy: the caller may change theirs afterwards."""
        value: dict[str, Any] = {"list": [1], "dict": {"a": 1}}
        store.put(PLAIN, "k", value)
        value["list"].append(2)
        value["dict"]["a"] = 2
        value["new"] = True
        item = store.get(PLAIN, "k")
        assert item is not None
        assert item.value == {"list": [1], "dict": {"a": 1}}

    def test_11_what_a_reader_changes_is_not_stored(self, store: BaseStore) -> None:
        """What get and search give are copies: a reader may change them."""
        store.put(PLAIN, "k", {"list": [1]})
        for item in (store.get(PLAIN, "k"), *store.search(PLAIN)):
            assert item is not None
            item.value["list"].append(2)
            item.value["new"] = True
        again, (found,) = store.get(PLAIN, "k"), store.search(PLAIN)
        assert again is not None
        assert again.value == found.value == {"list": [1]}

    def test_11_an_item_that_was_read_stays_as_it_was(self, store: BaseStore) -> None:
        """A later put doesn't change an item that somebody already holds."""
        store.put(PLAIN, "k", {"n": 1})
        item = store.get(PLAIN, "k")
        store.put(PLAIN, "k", {"n": 2})
        assert item is not None
        assert item.value == {"n": 1}

    @pytest.mark.parametrize(
        "value",
        [{"a": object()}, {"a": {1, 2}}, {"a": b"x"}, {"a": [dt.datetime.now(dt.UTC)]}, {"a": {"b": 1j}}, {1: "a"}],
        ids=["object", "set", "bytes", "time", "complex", "number-as-name"],
    )
    def test_12_what_is_not_json_is_refused(self, store: BaseStore, value: Any) -> None:
        """A value that isn't JSON raises, and nothing is written: not itself, not the rest of its batch."""
        store.put(PLAIN, "k", {"kept": 1})
        with pytest.raises((TypeError, ValueError)):
            store.put(PLAIN, "k", value)
        with pytest.raises((TypeError, ValueError)):
            store.batch([PutOp(PLAIN, "before", {"a": 1}), PutOp(PLAIN, "k", value), PutOp(PLAIN, "after", {"a": 1})])
        assert [(item.key, item.value) for item in store.search(PLAIN)] == [("k", {"kept": 1})]

    @pytest.mark.parametrize("number", [float("nan"), float("inf")], ids=["nan", "inf"])
    def test_12_numbers_that_json_lacks_survive_or_are_refused(self, store: BaseStore, number: float) -> None:
        """NaN and infinity come back as they were, or are refused; they never become something else."""
        try:
            store.put(PLAIN, "k", {"n": number})
        except (TypeError, ValueError):
            assert store.get(PLAIN, "k") is None
        else:
            item = store.get(PLAIN, "k")
            assert item is not None
            assert repr(item.value) == repr({"n": number})

    @pytest.mark.parametrize("text", ["a\0b", "\0", "a\ud800b", "\x1b\x7f\x85\u2028"], ids=name_of)
    def test_13_control_characters_survive_or_fail_cleanly(self, store: BaseStore, text: str) -> None:
        """NUL, half a surrogate pair and control characters come back as they were, or nothing is written."""
        store.put(PLAIN, "other", {"a": 1})
        try:
            store.put(PLAIN, "k", {"text": text, text: 1})
        except (TypeError, ValueError):
            assert store.get(PLAIN, "k") is None
        else:
            item = store.get(PLAIN, "k")
            assert item is not None
            assert item.value == {"text": text, text: 1}
        assert store.get(PLAIN, "other") is not None


def _put_and_get(store: BaseStore, value: dict[str, Any]) -> Item:
    store.put(PLAIN, "k", value)
    item = store.get(PLAIN, "k")
    assert item is not None
    return item


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _types(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_types(inner) for inner in value]
    return type(value)
