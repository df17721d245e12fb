"""The contract over LangGraph's own InMemoryStore, with what that one is known not to do."""

from __future__ import annotations

from typing import ClassVar

from langgraph.store.base import BaseStore, IndexConfig
from langgraph.store.memory import InMemoryStore

from langmem_plus.testing.contract import StoreContract

KNOWN_FAILURES = {
    "test_04_created_at_survives_an_update": "each put makes a new item with a new created_at",
    "test_11_what_the_caller_changes_later_is_not_stored": "the value is copied one level deep only",
    "test_11_what_a_reader_changes_is_not_stored": "get gives out the stored item itself",
    "test_12_what_is_not_json_is_refused": "any object is taken; JSON is never tried",
    "test_15_raw_operations_are_checked_too": "batch doesn't call validate_op_namespace",
    "test_15_a_joined_label_is_not_its_parts": "batch doesn't call validate_op_namespace",
    "test_19_a_listing_is_newest_update_first": "a listing is in the order of the first put",
    "test_19_a_filtered_listing_is_newest_update_first": "a listing is in the order of the first put",
    "test_21_booleans_are_not_numbers": "values are compared with Python's ==, for which True is 1",
    "test_21_equality_is_by_type_inside_of_lists_and_objects": "the same, inside of lists and objects",
    "test_22_iso_times_compare_as_text": "ranges call float() on both sides, which raises for a text",
    "test_22_a_missing_field_is_no_match": "ranges call float(None), which raises",
    "test_22_what_cannot_be_compared_is_no_match": "ranges call float(), which raises for words, lists and objects",
    "test_22_large_whole_numbers_keep_every_digit": "ranges call float(), which rounds 2**53 + 1",
    "test_25_an_object_in_a_list_is_equal_as_a_whole": "objects in a list are matched by a part",
    "test_26_an_unknown_operator_is_refused_where_nothing_is": "operators are looked at only when an item reaches them",
    "test_34_the_whole_value_as_a_path_of_one_put": "'$' in a put's index is read as a field's name",
    "test_36_pages_do_not_repeat_what_is_not_ranked": "unranked items fill every page that has room",
    "test_37_an_update_drops_vectors_that_it_does_not_replace": "old vectors stay under paths that the update lacks",
    "test_37_an_update_without_index_drops_the_vectors": "old vectors stay",
    "test_38_equal_texts_in_a_batch_are_embedded_once": "the number of vectors is compared with that of the places",
    "test_38_equal_texts_in_one_item_are_embedded_once": "the number of vectors is compared with that of the places",
    "test_39_a_wrong_embedding_writes_nothing[dims]": "the length of vectors is never compared with dims",
    "test_39_a_wrong_embedding_keeps_what_was_there[dims]": "the length of vectors is never compared with dims",
    "test_42_an_emptied_namespace_is_not_listed": "an emptied namespace stays in the dict",
    "test_42_a_namespace_that_was_only_read_is_not_listed": "reading makes the namespace: it is a defaultdict",
    "test_42_a_put_that_is_taken_back_in_its_batch_leaves_nothing": "deleting makes the namespace",
}


class TestInMemoryStore(StoreContract):
    known_failures: ClassVar[dict[str, str]] = KNOWN_FAILURES
    not_offered: ClassVar[dict[int, str]] = {43: "it has no time to live, and says so"}

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh store."""
        return InMemoryStore(index=index)


def test_every_known_failure_names_a_test() -> None:
    """A failure whose test was renamed would be expected of nothing."""
    names = {name.partition("[")[0] for name in KNOWN_FAILURES}
    assert sorted(name for name in names if not hasattr(TestInMemoryStore, name)) == []
