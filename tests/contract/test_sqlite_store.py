"""The contract over LangGraph's SqliteStore, with what that one is known not to do.

Its vectors need a Python whose SQLite loads extensions, which many don't, so it runs without them everywhere. Its async
methods are another class's.
"""

from __future__ import annotations

import sqlite3
from typing import ClassVar

import pytest
from langgraph.store.base import BaseStore, IndexConfig, TTLConfig
from langgraph.store.sqlite import SqliteStore

from langmem_plus.testing.contract import StoreContract
from langmem_plus.testing.contract.base import name_of
from langmem_plus.testing.contract.filters import INJECTIONS

_NO_VECTORS = "its vectors need sqlite-vec, and a Python whose SQLite loads extensions"
_SECONDS = "its times are whole seconds"
_NO_ASYNC = "its async methods raise: AsyncSqliteStore is another class"
_REFUSED_KEYS = [name_of(key) for key in INJECTIONS if key != "_"]
KNOWN_FAILURES = {
    "test_04_created_at_survives_an_update": "a put replaces the row, and its created_at",
    "test_05_times_are_aware_and_in_utc": _SECONDS,
    "test_06_times_are_finer_than_a_second": _SECONDS,
    "test_12_what_is_not_json_is_refused[time]": "a time is written as text",
    "test_12_numbers_that_json_lacks_survive_or_are_refused[nan]": "it is stored, and can't be read again",
    "test_12_numbers_that_json_lacks_survive_or_are_refused[inf]": "it is stored, and can't be read again",
    "test_16_labels_are_literal": "a prefix is a LIKE pattern, in which % and _ match anything",
    "test_19_a_listing_is_newest_update_first": _SECONDS,
    "test_19_a_filtered_listing_is_newest_update_first": _SECONDS,
    "test_21_booleans_are_not_numbers": "SQLite's JSON has true and 1 equal",
    "test_21_equality_is_by_type_inside_of_lists_and_objects": "an object's fields are read as operators",
    "test_22_what_cannot_be_compared_is_no_match[$lt]": "SQLite orders values of any kind",
    "test_22_what_cannot_be_compared_is_no_match[$lte]": "SQLite orders values of any kind",
    "test_22_large_whole_numbers_keep_every_digit": "ranges are cast to REAL",
    "test_24_unequal_matches_a_missing_field": "NULL != x isn't true in SQL",
    "test_25_lists_are_equal_as_a_whole[[1]-found2]": "[1] is equal to 1",
    "test_25_a_nested_object_needs_its_part_only": "an object's fields are read as operators",
    "test_27_a_dotted_key_is_literal": "a dotted key is a path",
    **{f"test_27_a_filter_key_is_literal[{name}]": "such a key is refused" for name in _REFUSED_KEYS},
    "test_40_an_unknown_operation_is_refused": "it is passed over",
    "test_43_expired_items_are_not_read": "they are read until they are swept: it knows no omit_expired",
    "test_43_a_read_prolongs": "only where refresh_on_read is given as True",
    "test_43_a_call_counts_more_than_the_settings": "refresh_on_read has to be True besides",
    "test_44_the_async_methods_mirror_the_sync_ones": _NO_ASYNC,
    "test_44_a_store_made_in_one_loop_works_in_another": _NO_ASYNC,
    "test_44_one_failing_task_fails_alone": _NO_ASYNC,
    "test_45_an_async_node_reaches_the_store": _NO_ASYNC,
}


class TestSqliteStore(StoreContract):
    known_failures: ClassVar[dict[str, str]] = KNOWN_FAILURES
    not_offered: ClassVar[dict[int, str]] = dict.fromkeys((28, *range(30, 40)), _NO_VECTORS)
    twins = ("sync",)
    moment = 60.0
    connections: list[sqlite3.Connection]

    @pytest.fixture(autouse=True)
    def _no_connections_yet(self) -> None:
        self.connections = []

    def make_store(self, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> BaseStore:
        """A fresh store in memory."""
        if index is not None:
            pytest.skip(_NO_VECTORS)
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.connections.append(connection)
        store = SqliteStore(connection, ttl=ttl)
        store.setup()
        return store

    def make_store_with_ttl(self, ttl: TTLConfig) -> BaseStore:
        """A fresh store with these settings."""
        return self.make_store(ttl=ttl)

    def pass_time(self, seconds: float) -> None:
        """Its clock is SQLite's, which knows seconds: what it has written moves back instead."""
        for connection in self.connections:
            connection.execute(
                "UPDATE store SET expires_at = strftime('%Y-%m-%d %H:%M:%S', expires_at, ?) "
                "WHERE expires_at IS NOT NULL",
                (f"-{seconds} seconds",),
            )


def test_every_known_failure_names_a_test() -> None:
    """A failure whose test was renamed would be expected of nothing."""
    names = {name.partition("[")[0] for name in KNOWN_FAILURES}
    assert sorted(name for name in names if not hasattr(TestSqliteStore, name)) == []
