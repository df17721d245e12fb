"""What may be stored: plain JSON."""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections import OrderedDict, UserDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.errors import InvalidValueError
from langmem_plus.store.values import MAX_DEPTH, check_value, to_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Size(enum.IntEnum):
    LARGE = 3


@given(st.dictionaries(st.text(), JSON))
def test_any_json_object_passes_unchanged(value: dict[str, Any]) -> None:
    """The copy is equal, types and all."""
    copy = check_value(value)
    assert json.dumps(copy) == json.dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        *(1, "text", None, ["a"], {1: "a"}, {"a": {2: "b"}}, {"a": [{None: 1}]}),
        *({"a": float("nan")}, {"a": [float("inf")]}, {"a": {1, 2}}, {"a": b"x"}, {"a": object}),
        {"a": dt.datetime(2026, 1, 1)},
    ],
    ids=repr,
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    """The caller is told before anything is written."""
    with pytest.raises(InvalidValueError):
        check_value(value)


def test_a_circle_is_refused() -> None:
    """A value that contains itself has no JSON."""
    value: dict[str, Any] = {}
    value["self"] = [value]
    with pytest.raises(InvalidValueError):
        check_value(value)


def test_a_value_too_deep_to_be_read_again_is_refused() -> None:
    """What a shallow caller could write and a deep one not read isn't stored; all else is."""

    def nested(levels: int) -> dict[str, Any]:
        value: Any = "leaf"
        for _ in range(levels):
            value = {"a": value}
        return value

    assert check_value(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(InvalidValueError, match="deep"):
        check_value(nested(MAX_DEPTH + 1))
    with pytest.raises(InvalidValueError, match="deep"):
        check_value(nested(50_000))


def test_the_copy_is_plain_and_apart() -> None:
    """Tuples become lists, enums numbers, any mapping a dict; later changes to the original don't reach it."""
    inner = ["a"]
    copy = check_value(MappingProxyType({"inner": inner, "pair": (1, 2), "size": Size.LARGE, "o": OrderedDict(b=1)}))
    inner.append("b")
    assert copy == {"inner": ["a"], "pair": [1, 2], "size": 3, "o": {"b": 1}}
    assert type(copy["size"]) is int
    assert type(copy["o"]) is dict
    assert check_value(UserDict(a=1)) == {"a": 1}


def test_json_is_on_one_line() -> None:
    """Whatever line breaks a text has."""
    assert "\n" not in to_json({"a": "b\nc\r\u2028"})
