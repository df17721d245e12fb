"""What may be stored, pure: objects of plain JSON, of which a reader gets back exactly what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langmem_plus.errors import InvalidValueError

# A value must be readable from any depth of the caller's stack, and Python's JSON reader recurses.
MAX_DEPTH = 200


def to_json(value: Any) -> str:
    """JSON text of a value, exact and on one line.

    Raises:
        InvalidValueError: the value isn't plain JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"the value can't be stored, since it isn't plain JSON: {error}.") from error


def check_value(value: Any) -> dict[str, Any]:
    """A copy of a value that may be stored: an object of plain JSON whose keys are all texts.

    Raises:
        InvalidValueError: it isn't an object, isn't plain JSON, or is nested too deeply.
    """
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"a value must be a dict, not {type(value).__name__}.")
    _check_inside(value, 1)
    copy: dict[str, Any] = json.loads(to_json(dict(value)))
    return copy


def _check_inside(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidValueError(f"the value is nested more than {MAX_DEPTH} levels deep: store it as a text.")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InvalidValueError(f"the key {key!r} in a value isn't a text, so it would change on reading.")
            if isinstance(inner, dict | list | tuple):
                _check_inside(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            if isinstance(inner, dict | list | tuple):
                _check_inside(inner, depth + 1)
