"""Points 8, 14–17, 41 and 42: namespaces, who is in them, and which there are."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from langmem_plus.testing.contract.base import PLAIN, ContractBase, keys, pages

BAD_LABELS: dict[str, Any] = {
    "empty": ("a", ""),
    "number": ("a", 1),
    "none": (None, "a"),
    "dot": ("a.b",),
    "dots": ("a", ".."),
    "nul": ("a\0b",),
}
LOOK_ALIKES = (
    *("app", "App", "APP", "app-corp", "app_corp", "appXcorp", "ap", "app ", "a*", "a%", "a_", "a?", "a[p]", "a\\p"),
    *("*", "%", "_", "?", "\\", "'", '"', "a/b", "a:b", "a|b", "用户", "é", "e\u0301", "~", "con", "l" * 300),
)
TREE: tuple[tuple[str, ...], ...] = (
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("a",),
    ("b", "b", "c"),
    ("ab", "c"),
)


class Namespaces(ContractBase):
    """Namespaces: who is in them, and which there are."""

    def test_08_the_same_key_is_independent_elsewhere(self, store: BaseStore) -> None:
        """One key in a namespace, in its sibling, its child and its parent are four items."""
        places = [("a",), ("a", "b"), ("a", "c"), ("a", "b", "c")]
        store.batch([PutOp(place, "k", {"place": list(place)}) for place in places])
        for place in places:
            item = store.get(place, "k")
            assert item is not None
            assert item.value == {"place": list(place)}
        store.delete(("a", "b"), "k")
        assert [store.get(place, "k") is None for place in places] == [False, True, False, False]

    @pytest.mark.parametrize("namespace", BAD_LABELS.values(), ids=BAD_LABELS.keys())
    def test_14_bad_labels_are_refused(self, store: BaseStore, namespace: Any) -> None:
        """Every method refuses labels that are empty, no text, or hold a full stop or NUL."""
        for call in (
            lambda: store.put(namespace, "k", {"a": 1}),
            lambda: store.get(namespace, "k"),
            lambda: store.delete(namespace, "k"),
            lambda: store.search(namespace),
            lambda: store.list_namespaces(prefix=namespace),
            lambda: store.list_namespaces(suffix=namespace),
        ):
            with pytest.raises(InvalidNamespaceError):
                call()
        assert store.list_namespaces() == []

    @pytest.mark.parametrize("namespace", [(), ("langgraph",), ("langgraph", "a")], ids=["empty", "root", "below"])
    def test_14_bad_roots_are_refused_on_put(self, store: BaseStore, namespace: tuple[str, ...]) -> None:
        """Nothing can be put at the root of everything, or under LangGraph's own label."""
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"a": 1})
        assert store.search(()) == []

    @pytest.mark.parametrize("namespace", BAD_LABELS.values(), ids=BAD_LABELS.keys())
    @pytest.mark.parametrize("kind", ["get", "put", "search", "list"])
    def test_15_raw_operations_are_checked_too(self, store: BaseStore, namespace: Any, kind: str) -> None:
        """A batch refuses bad labels as the methods do, before anything of it is written."""
        ops: dict[str, Op] = {
            "get": GetOp(namespace, "k"),
            "put": PutOp(namespace, "k", {"a": 1}),
            "search": SearchOp(namespace),
            "list": ListNamespacesOp((MatchCondition("prefix", namespace),)),
        }
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(PLAIN, "before", {"a": 1}), ops[kind]])
        assert store.search(()) == []

    def test_15_a_joined_label_is_not_its_parts(self, store: BaseStore) -> None:
        """A raw operation on ``("a.b",)`` never reaches what stands in ``("a", "b")``."""
        store.put(("a", "b"), "k", {"a": 1})
        with pytest.raises(InvalidNamespaceError):
            store.batch([GetOp(("a.b",), "k")])
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a.b",), "k", None)])
        assert store.get(("a", "b"), "k") is not None

    def test_16_labels_are_literal(self, store: BaseStore) -> None:
        """Labels are case-sensitive, and no character is a pattern, a path or another's spelling."""
        store.batch([PutOp((label, "x"), "k", {"label": label}) for label in LOOK_ALIKES])
        for label in LOOK_ALIKES:
            (found,) = store.search((label,))
            assert (found.namespace, found.value) == ((label, "x"), {"label": label})
            item = store.get((label, "x"), "k")
            assert item is not None
            assert item.value == {"label": label}
        assert store.list_namespaces() == sorted((label, "x") for label in LOOK_ALIKES)

    @pytest.mark.parametrize("label", ["app", "a%", "a_", "_", "%", "*", "a[p]", "\\"])
    def test_16_a_deletion_stays_in_its_namespace(self, store: BaseStore, label: str) -> None:
        """Deleting under one label leaves its look-alikes alone."""
        store.batch([PutOp((each,), "k", {"a": 1}) for each in LOOK_ALIKES])
        store.delete((label,), "k")
        assert {item.namespace[0] for item in store.search((), limit=1000)} == set(LOOK_ALIKES) - {label}

    def test_17_a_prefix_is_compared_label_by_label(self, store: BaseStore) -> None:
        """A search finds its namespace and what is below it, and nothing that merely begins alike."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE])
        assert _places(store, ("a",)) == sorted(place for place in TREE if place[0] == "a")
        assert _places(store, ("a", "b", "d")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
        assert _places(store, ("ab",)) == [("ab", "c")]
        assert _places(store, ("b",)) == [("b", "b", "c")]
        assert _places(store, ("c",)) == []

    def test_17_the_empty_prefix_is_everything(self, store: BaseStore) -> None:
        """A search below ``()`` goes through the whole store."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE])
        assert _places(store, ()) == sorted(TREE)

    def test_41_namespaces_are_listed_once_and_in_order(self, store: BaseStore) -> None:
        """Each namespace that holds something is listed once, in the order of tuples."""
        store.batch([PutOp(place, key, {"a": 1}) for place in TREE for key in ("k", "l")])
        assert store.list_namespaces() == sorted(TREE)

    @pytest.mark.parametrize(
        ("prefix", "suffix"),
        [
            (("a",), None),
            (("a", "b"), None),
            (("a", "*"), None),
            (("*", "b"), None),
            (("*", "*", "*", "*"), None),
            (("a", "*", "f"), None),
            (None, ("c",)),
            (None, ("b", "c")),
            (None, ("b", "*")),
            (None, ("*",)),
            (("a",), ("f",)),
            (("*",), ("b", "*", "*")),
            (("x",), None),
        ],
        ids=str,
    )
    def test_41_prefix_suffix_and_wildcard(
        self, store: BaseStore, prefix: tuple[str, ...] | None, suffix: tuple[str, ...] | None
    ) -> None:
        """Prefix and suffix are both obeyed, and ``*`` stands for exactly one label."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE])
        wanted = [
            place
            for place in sorted(TREE)
            if _fits(prefix or (), place) and _fits(tuple(reversed(suffix or ())), tuple(reversed(place)))
        ]
        assert store.list_namespaces(prefix=prefix, suffix=suffix) == wanted

    @pytest.mark.parametrize("depth", [1, 2, 3, 4, 9])
    def test_41_depth_cuts_and_what_becomes_equal_is_listed_once(self, store: BaseStore, depth: int) -> None:
        """Deeper namespaces are cut to ``max_depth``, and then each is listed once."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE])
        assert store.list_namespaces(max_depth=depth) == sorted({place[:depth] for place in TREE})

    def test_41_the_documented_example(self, store: BaseStore) -> None:
        """The example in LangGraph's documentation gives what it says."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE[:5]])
        found = store.list_namespaces(prefix=("a", "b"), max_depth=3)
        assert found == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]

    def test_41_conditions_come_before_depth_and_depth_before_pages(self, store: BaseStore) -> None:
        """First the conditions, on whole namespaces, then the depth, then limit and offset."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in TREE])
        assert store.list_namespaces(suffix=("f",), max_depth=2) == [("a", "b"), ("a", "c")]
        assert store.list_namespaces(max_depth=1, limit=2) == [("a",), ("ab",)]
        assert store.list_namespaces(max_depth=1, limit=2, offset=1) == [("ab",), ("b",)]
        assert store.list_namespaces(limit=0) == []
        assert store.list_namespaces(offset=99) == []

    def test_41_pages_partition_the_list(self, store: BaseStore) -> None:
        """All pages together are the whole list, in order."""
        store.batch([PutOp((f"n{n:02}",), "k", {"a": 1}) for n in range(23)])
        listed = pages(lambda limit, offset: store.list_namespaces(limit=limit, offset=offset), 5, 23)
        assert listed == [(f"n{n:02}",) for n in range(23)]

    def test_41_the_default_limit_is_a_hundred(self, store: BaseStore) -> None:
        """Without a limit, the first hundred namespaces are listed."""
        store.batch([PutOp((f"n{n:03}",), "k", {"a": 1}) for n in range(101)])
        assert len(store.list_namespaces()) == 100

    def test_42_an_emptied_namespace_is_not_listed(self, store: BaseStore) -> None:
        """A namespace whose last item was deleted is gone; its parent and its children are not."""
        store.batch([PutOp(place, "k", {"a": 1}) for place in (("a",), ("a", "b"), ("a", "b", "c"))])
        store.delete(("a", "b"), "k")
        assert store.list_namespaces() == [("a",), ("a", "b", "c")]

    def test_42_a_namespace_that_was_only_read_is_not_listed(self, store: BaseStore) -> None:
        """Reading, searching and deleting in a namespace don't make it."""
        assert store.get(("read",), "k") is None
        assert store.search(("searched",)) == []
        store.delete(("deleted",), "k")
        assert store.list_namespaces() == []

    def test_42_a_put_that_is_taken_back_in_its_batch_leaves_nothing(self, store: BaseStore) -> None:
        """A namespace whose only put is deleted in the same batch isn't listed."""
        store.batch([PutOp(("a",), "k", {"a": 1}), PutOp(("a",), "k", None)])
        assert store.list_namespaces() == []
        assert keys(store.search(())) == []


def _places(store: BaseStore, prefix: tuple[str, ...]) -> list[tuple[str, ...]]:
    return sorted(item.namespace for item in store.search(prefix, limit=100))


def _fits(pattern: tuple[str, ...], place: tuple[str, ...]) -> bool:
    return len(place) >= len(pattern) and all(
        wanted in ("*", label) for wanted, label in zip(pattern, place, strict=False)
    )
