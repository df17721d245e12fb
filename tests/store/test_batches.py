"""A batch of ops, checked and sorted."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from langmem_plus.errors import InvalidValueError
from langmem_plus.store.batches import list_namespaces, read_batch


def test_the_last_put_of_a_key_wins() -> None:
    """Keys are texts, and each namespace has its own."""
    batch = read_batch(
        [
            PutOp(("a",), "k", {"n": 1}),
            PutOp(("b",), "k", {"n": 2}),
            PutOp(("a",), "k", {"n": 3}),
            PutOp(("a",), "x", None),
        ]
    )
    written = {ns: {key: op.value for key, op in puts.items()} for ns, puts in batch.writes.items()}
    assert written == {("a",): {"k": {"n": 3}, "x": None}, ("b",): {"k": {"n": 2}}}
    assert len(batch.ops) == 4


def test_equal_questions_are_asked_once() -> None:
    """Blank ones aren't asked; the prefixes of those that are, are noted."""
    ops = [SearchOp(("a",), query="tea"), SearchOp(("b",), query="tea"), SearchOp(("a",), query=" "), SearchOp(("c",))]
    batch = read_batch(ops)
    assert batch.queries == ["tea"]
    assert batch.searched == [(("a",), False), (("b",), False)]


def test_a_list_is_taken_for_a_namespace() -> None:
    """JSON knows no tuples."""
    ops = cast("list[Op]", [PutOp(["a", "b"], "k", {}), GetOp(["a", "b"], "k"), SearchOp(["a"])])  # type: ignore[arg-type]
    batch = read_batch(ops)
    assert list(batch.writes) == [("a", "b")]
    assert [getattr(op, "namespace", None) or op.namespace_prefix for op in batch.ops] == [
        ("a", "b"),
        ("a", "b"),
        ("a",),
    ]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (PutOp((), "k", {}), InvalidNamespaceError),
        (PutOp(("a", ""), "k", {}), InvalidNamespaceError),
        (PutOp(("a.b",), "k", {}), InvalidNamespaceError),
        (PutOp(("a\0",), "k", {}), InvalidNamespaceError),
        (PutOp("abc", "k", {}), InvalidNamespaceError),
        (GetOp(("a", 1), "k"), InvalidNamespaceError),
        (SearchOp(("a.b",)), InvalidNamespaceError),
        (SearchOp("a"), InvalidNamespaceError),
        (PutOp(("a",), "k", {"a": object}), InvalidValueError),
        (PutOp(("a",), "k", 5), InvalidValueError),
        (PutOp(("a",), "k", {}, index=True), InvalidValueError),
        (PutOp(("a",), "k", {}, index="text"), InvalidValueError),
        (PutOp(("a",), "k", {}, index=[1]), InvalidValueError),
        (PutOp(("a",), "k", {}, ttl=-1.0), InvalidValueError),
        (PutOp(("a",), "k", {}, ttl=float("nan")), InvalidValueError),
        (PutOp(("a",), "k", {}, ttl=True), InvalidValueError),
        (SearchOp(("a",), filter={"x": {"$no": 1}}), ValueError),
        (SearchOp(("a",), limit=-1), ValueError),
        (ListNamespacesOp(offset=-1), ValueError),
        ("get", ValueError),
        (None, ValueError),
    ],
    ids=repr,
)
def test_a_wrong_op_is_refused_by_name(op: Any, error: type[Exception]) -> None:
    """Whatever stands beside it in the batch."""
    with pytest.raises(error):
        read_batch([PutOp(("good",), "k", {}), op])


def test_what_was_checked_is_what_is_stored() -> None:
    """A caller that changes its value after the check, while the texts are embedded, changes nothing."""
    value: dict[str, Any] = {"tags": ["a"]}
    batch = read_batch([PutOp(("a",), "k", value)])
    value["tags"].append(object())
    assert batch.writes[("a",)]["k"].value == {"tags": ["a"]}


def _listed(found: list[tuple[str, ...]], **conditions: Any) -> list[tuple[str, ...]]:
    matches = [
        MatchCondition(kind, path)  # type: ignore[arg-type]
        for kind, path in conditions.pop("where", ())
    ]
    return list_namespaces(found, ListNamespacesOp(match_conditions=tuple(matches) or None, **conditions))


def test_conditions_come_before_depth_and_pages() -> None:
    """Prefix and suffix look at the whole namespace, then it is cut, then the distinct ones are sorted and paged."""
    found = [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("b",), ("a", "b", "c")]
    assert _listed(found, where=[("prefix", ("a",))]) == [("a", "b", "c"), ("a", "b", "d"), ("a", "x")]
    assert _listed(found, where=[("prefix", ("a",)), ("suffix", ("d",))]) == [("a", "b", "d")]
    assert _listed(found, where=[("prefix", ("*", "b"))], max_depth=2) == [("a", "b")]
    assert _listed(found, max_depth=1) == [("a",), ("b",)]
    assert _listed(found, limit=2, offset=1) == [("a", "b", "d"), ("a", "x")]
    assert _listed(found, where=[("suffix", ("a", "b", "c", "d"))]) == []


def test_an_unknown_kind_of_condition_is_refused() -> None:
    """Its name is told."""
    with pytest.raises(ValueError, match="infix"):
        _listed([("a",)], where=[("infix", ("a",))])


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple)), st.integers(1, 4))
def test_pages_of_namespaces_partition_them(found: list[tuple[str, ...]], size: int) -> None:
    """No namespace is on two pages or on none."""
    pages = [_listed(found, limit=size, offset=at) for at in range(0, 20, size)]
    assert [namespace for page in pages for namespace in page] == sorted(set(found))
