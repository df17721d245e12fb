"""Points 21–27: filters, exact by JSON type, the same in every store."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import BaseStore, PutOp, SearchOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, keys, name_of

SCALARS: dict[str, Any] = {
    "true": True,
    "false": False,
    "one": 1,
    "one-point": 1.0,
    "zero": 0,
    "two": 2,
    "text-one": "1",
    "text-true": "true",
    "text-null": "null",
    "empty": "",
    "word": "Word",
}
NUMBERS: dict[str, Any] = {"minus": -3, "nine": 9, "ten": 10, "ten-and-half": 10.5, "hundred": 100}
TIMES = {
    "2023": "2023-12-31T23:59:59+00:00",
    "2024": "2024-01-01T00:00:00+00:00",
    "2024-05": "2024-05-01T08:30:00+00:00",
    "2025": "2025-02-01T00:00:00+00:00",
}
INJECTIONS = (
    *("v' OR '1'='1", "v') OR 1=1 --", 'v" OR "1"="1', "v; DROP TABLE store", "v`", "v\\'", "%", "_", "*"),
    *("v[0]", "v->>'x'", "v, 1) OR (1=1", "", " ", "v\n", "v?", ":v", "v::text", "{v}", "naïve 用户"),
)


def _stable(value: Any) -> str | None:
    """A parameter's name that is the same in every process; sets, whose order isn't, are only numbered."""
    return None if isinstance(value, set) else ascii(value)


class Filters(ContractBase):
    """Filters, exact by JSON type."""

    @pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"$eq": v}], ids=["plain", "$eq"])
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (True, {"true"}),
            (False, {"false"}),
            (1, {"one", "one-point"}),
            (1.0, {"one", "one-point"}),
            (0, {"zero"}),
        ],
        ids=_stable,
    )
    def test_21_booleans_are_not_numbers(self, store: BaseStore, wanted: Any, found: set[str], wrap: Any) -> None:
        """True isn't 1, and 1 is 1.0: JSON has booleans and one kind of number."""
        assert _matching(store, SCALARS, wrap(wanted)) == found

    @pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"$eq": v}], ids=["plain", "$eq"])
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (2, {"two"}),
            ("1", {"text-one"}),
            ("true", {"text-true"}),
            ("null", {"text-null"}),
            ("", {"empty"}),
            ("Word", {"word"}),
            ("word", set()),
            ("%", set()),
            (3, set()),
        ],
        ids=_stable,
    )
    def test_21_texts_are_nothing_but_texts(self, store: BaseStore, wanted: Any, found: set[str], wrap: Any) -> None:
        """A text equals the same text, letter by letter; "1" isn't 1, "true" isn't true, "null" isn't null."""
        assert _matching(store, SCALARS, wrap(wanted)) == found

    def test_21_equality_is_by_type_inside_of_lists_and_objects(self, store: BaseStore) -> None:
        """The types count at every depth."""
        values = {"bools": [True, False], "numbers": [1, 0], "texts": ["1", "0"]}
        assert _matching(store, values, [1, 0]) == {"numbers"}
        assert _matching(store, values, [True, False]) == {"bools"}
        nested = {"bool": {"x": True}, "number": {"x": 1}}
        assert _matching(store, nested, {"x": 1}) == {"number"}

    def test_21_an_explicit_null_is_found(self, store: BaseStore) -> None:
        """A field that is null equals None; zero, false and empty text don't."""
        values: dict[str, Any] = {"null": None, "zero": 0, "false": False, "empty": "", "list": [], "object": {}}
        assert _matching(store, values, None) == {"null"}
        assert _matching(store, values, {"$eq": None}) == {"null"}

    def test_21_several_fields_are_all_required(self, store: BaseStore) -> None:
        """An item passes when every field passes; an empty filter passes everything."""
        store.batch([PutOp(PLAIN, f"{a}{b}", {"a": a, "b": b}) for a in (1, 2) for b in (1, 2)])
        assert keys(store.search(PLAIN, filter={"a": 1, "b": 2})) == ["12"]
        assert len(store.search(PLAIN, filter={})) == 4

    @pytest.mark.parametrize(
        ("operator", "bound", "found"),
        [
            ("$gt", 9, {"ten", "ten-and-half", "hundred"}),
            ("$gte", 9, {"nine", "ten", "ten-and-half", "hundred"}),
            ("$lt", 10, {"minus", "nine"}),
            ("$lte", 10, {"minus", "nine", "ten"}),
            ("$gt", 10.25, {"ten-and-half", "hundred"}),
            ("$lt", -3, set()),
        ],
    )
    def test_22_numbers_compare_as_numbers(
        self, store: BaseStore, operator: str, bound: float, found: set[str]
    ) -> None:
        """100 is more than 9, and integers and fractions are of one kind."""
        assert _matching(store, NUMBERS, {operator: bound}) == found

    @pytest.mark.parametrize(
        ("operator", "found"),
        [
            ("$gt", {"2024-05", "2025"}),
            ("$gte", {"2024", "2024-05", "2025"}),
            ("$lt", {"2023"}),
            ("$lte", {"2023", "2024"}),
        ],
    )
    def test_22_iso_times_compare_as_text(self, store: BaseStore, operator: str, found: set[str]) -> None:
        """Texts are ordered as texts, so that times written in ISO 8601 are ordered as times."""
        assert _matching(store, TIMES, {operator: TIMES["2024"]}) == found

    @pytest.mark.parametrize("operator", ["$gt", "$gte", "$lt", "$lte"])
    def test_22_a_missing_field_is_no_match(self, store: BaseStore, operator: str) -> None:
        """A range neither raises nor matches where the field is missing or null."""
        store.put(PLAIN, "missing", {"other": 1})
        store.put(PLAIN, "null", {"v": None})
        assert store.search(PLAIN, filter={"v": {operator: 1}}) == []
        assert store.search(PLAIN, filter={"v": {operator: "2024-01-01"}}) == []

    @pytest.mark.parametrize("operator", ["$gt", "$gte", "$lt", "$lte"])
    def test_22_what_cannot_be_compared_is_no_match(self, store: BaseStore, operator: str) -> None:
        """Words, lists and objects are neither more nor less than a number, and that is no error."""
        values = {"word": "abc", "list": [5], "object": {"n": 5}}
        assert _matching(store, values, {operator: 5}) == set()

    def test_22_large_whole_numbers_keep_every_digit(self, store: BaseStore) -> None:
        """Numbers that a double can't tell apart are told apart."""
        assert _matching(store, {"equal": 2**53, "more": 2**53 + 1}, {"$gt": 2**53}) == {"more"}

    def test_23_two_operators_on_one_field_are_both_required(self, store: BaseStore) -> None:
        """Two bounds make a range."""
        assert _matching(store, NUMBERS, {"$gte": 9, "$lt": 100}) == {"nine", "ten", "ten-and-half"}
        assert _matching(store, NUMBERS, {"$gt": 9, "$ne": 10.5}) == {"ten", "hundred"}
        assert _matching(store, NUMBERS, {"$gt": 100, "$lt": 9}) == set()

    def test_24_unequal_matches_a_missing_field(self, store: BaseStore) -> None:
        """What has no such field isn't equal to anything, null included."""
        store.put(PLAIN, "missing", {"other": 1})
        store.put(PLAIN, "null", {"role": None})
        store.put(PLAIN, "summary", {"role": "summary"})
        store.put(PLAIN, "user", {"role": "user"})
        found = store.search(PLAIN, filter={"role": {"$ne": "summary"}})
        assert sorted(keys(found)) == ["missing", "null", "user"]

    def test_24_unequal_is_the_opposite_of_equal(self, store: BaseStore) -> None:
        """By JSON type, for every kind of value."""
        values = {**SCALARS, "list": [1], "object": {"x": 1}}
        for wanted in (True, 1, "1", 0, ""):
            assert _matching(store, values, {"$ne": wanted}) == set(values) - _matching(store, values, wanted)

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ([1, 2], {"one-two"}),
            ([2, 1], {"two-one"}),
            ([1], set()),
            ([], {"empty"}),
            ([[1], [2]], {"lists"}),
        ],
        ids=_stable,
    )
    def test_25_lists_are_equal_as_a_whole(self, store: BaseStore, wanted: Any, found: set[str]) -> None:
        """A list equals the same elements in the same order, no more and no fewer."""
        values = {"one-two": [1, 2], "two-one": [2, 1], "empty": [], "one": 1, "text": "[1]"}
        values |= {"lists": [[1], [2]], "nested": [[1, 2]]}
        assert _matching(store, values, wanted) == found

    def test_25_an_object_in_a_list_is_equal_as_a_whole(self, store: BaseStore) -> None:
        """A list's equality is exact for the objects in it, too."""
        values = {"objects": [{"a": 1}], "more": [{"a": 1, "b": 2}], "other": [{"a": 2}]}
        assert _matching(store, values, [{"a": 1}]) == {"objects"}

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({"a": 1}, {"a", "ab", "deep"}),
            ({"a": 1, "b": 2}, {"ab"}),
            ({"c": {"d": 1}}, {"deep"}),
            ({"c": {"d": 1, "e": 2}}, {"deep"}),
            ({"c": {"d": 2}}, set()),
            ({"l": [1]}, set()),
            ({"l": [1, 2]}, {"list"}),
        ],
        ids=_stable,
    )
    def test_25_a_nested_object_needs_its_part_only(self, store: BaseStore, wanted: Any, found: set[str]) -> None:
        """An object in a filter matches objects that hold at least that, at every depth."""
        values = {"a": {"a": 1}, "ab": {"a": 1, "b": 2}, "deep": {"a": 1, "c": {"d": 1, "e": 2}}}
        values |= {"list": {"l": [1, 2]}, "text": "a", "none": None, "in-list": [{"a": 1}]}
        assert _matching(store, values, wanted) == found

    @pytest.mark.parametrize("operator", ["$in", "$regex", "$exists", "$and", "$GT", "$"])
    def test_26_an_unknown_operator_is_refused(self, store: BaseStore, operator: str) -> None:
        """An operator that doesn't exist is a ValueError."""
        store.put(PLAIN, "k", {"v": 1})
        with pytest.raises(ValueError):
            store.search(PLAIN, filter={"v": {operator: 1}})
        assert keys(store.search(PLAIN, filter={"v": 1})) == ["k"]

    @pytest.mark.parametrize("operator", ["$in", "$regex", "$"])
    def test_26_an_unknown_operator_is_refused_where_nothing_is(self, store: BaseStore, operator: str) -> None:
        """The mistake shows at once: on an empty store, and where another condition already excludes everything."""
        with pytest.raises(ValueError):
            store.search(PLAIN, filter={"v": {operator: 1}})
        store.put(PLAIN, "k", {"v": 1})
        with pytest.raises(ValueError):
            store.search(("never", "seen"), filter={"v": {operator: 1}})
        with pytest.raises(ValueError):
            store.search(PLAIN, filter={"v": {"$gt": 100, operator: 1}})
        with pytest.raises(ValueError):
            store.batch([SearchOp(PLAIN, {"v": 2, "w": {operator: 1}})])

    @pytest.mark.parametrize("name", INJECTIONS, ids=name_of)
    def test_27_a_filter_key_is_literal(self, store: BaseStore, name: str) -> None:
        """A key is a field's name and nothing else, whatever it looks like; so is a value."""
        store.batch([PutOp(PLAIN, "plain", {"v": 1, "x": [1]}), PutOp(PLAIN, "named", {name: "x"})])
        assert keys(store.search(PLAIN, filter={name: "x"})) == ["named"]
        assert store.search(PLAIN, filter={name: "y"}) == []
        assert store.search(PLAIN, filter={"v": name}) == []
        assert store.search(PLAIN, filter={"v": 1, name: 1}) == []
        assert len(store.search(PLAIN)) == 2

    def test_27_a_dotted_key_is_literal(self, store: BaseStore) -> None:
        """A full stop in a key doesn't lead into an object."""
        store.put(PLAIN, "dotted", {"a.b": 1})
        store.put(PLAIN, "nested", {"a": {"b": 1}})
        assert keys(store.search(PLAIN, filter={"a.b": 1})) == ["dotted"]
        assert keys(store.search(PLAIN, filter={"a": {"b": 1}})) == ["nested"]


def _matching(store: BaseStore, values: dict[str, Any], wanted: Any) -> set[str]:
    """The keys that a filter on the field ``v`` finds, among one item a value."""
    store.batch([PutOp(PLAIN, key, {"v": value}) for key, value in values.items()])
    return set(keys(store.search(PLAIN, filter={"v": wanted}, limit=100)))
