"""Identities: what may name somebody, and how names become the labels of a namespace, reversibly."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from langmem_plus.errors import ConfigError, MissingIdentityError
from langmem_plus.shown import shown

_SPELT = (
    'config={"configurable": {"user_id": "alice"}}, context={"user_id": "alice"} where the graph has a context_schema '
    'with user_id, or Scope(user_id="alice")'
)


def read_user(value: Any) -> str:
    """The text of a user's id.

    Raises:
        MissingIdentityError: nobody is named, or the value is no name.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        raise MissingIdentityError(f"user_id is {value!r}: memory belongs to somebody, so name them, e.g. {_SPELT}.")
    try:
        return read_id("user_id", value)
    except ConfigError as error:
        raise MissingIdentityError(f"{error} Name one user, e.g. {_SPELT}.") from error


def read_space(value: Any) -> str:
    """The name of a space.

    Raises:
        MissingIdentityError: it is blank, or no text.
    """
    if not isinstance(value, str) or not value.strip():
        raise MissingIdentityError(f'space is {shown(value)}: leave it out for "default", or give it a name.')
    return value


def read_id(name: str, value: Any) -> str:
    """The text of an id; numbers and UUIDs, which LangGraph takes for threads, are read as their text.

    Raises:
        ConfigError: it is something else, which names nobody.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, uuid.UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise ConfigError(f"{name} is {shown(value)}, a {type(value).__name__}: give a text, a number or a UUID.")


def encode_label(text: str) -> str:
    """Turn any text into a namespace label, reversibly: LangGraph forbids ``.`` and NUL in labels.

    >>> encode_label("ann@x.org")
    'ann@x%2eorg'
    """
    return re.sub(r"[%.\0]", lambda m: f"%{ord(m[0]):02x}", text)


def decode_label(label: str) -> str:
    """The text that `encode_label` was given.

    >>> decode_label("ann@x%2eorg")
    'ann@x.org'
    """
    return re.sub(r"%([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), label)


def read_template(name: str, value: Any) -> tuple[str, ...]:
    """The labels of a namespace template.

    Args:
        name: what it is called where it was given.
        value: labels, with fields in braces.

    Raises:
        ConfigError: it is no list of labels, or one that no namespace can have.
    """
    labels = list(value) if isinstance(value, list | tuple) else []  # of a text, each letter would be a label
    if not labels or not all(isinstance(label, str) and label for label in labels):
        raise ConfigError(
            f'{name} is {shown(value)}: pass Scope(user_id), a namespace template such as ("memories", "{{user_id}}"), '
            "or nothing."
        )
    if any(mark in label for label in labels for mark in ".\0") or labels[0] == "langgraph":
        raise ConfigError(
            f"{name} is {shown(value)}: LangGraph allows no dot in a label, and no namespace that begins with "
            "'langgraph'. Write a field in braces, such as {user_id}: what fills it may be any text."
        )
    return tuple(labels)


def fill_template(template: Sequence[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    """Fill ``{field}`` in a namespace template; a field that nobody fills is an error, never a shared bucket.

    >>> fill_template(("memories", "{user_id}"), {"user_id": "a.b"})
    ('memories', 'a%2eb')

    Raises:
        MissingIdentityError: a field has no value, or a blank one, or can't be read as a field (``{user-id}``).
    """
    for label in template:
        if re.search(r"[{}]", re.sub(r"\{\w+\}", "", label)):
            raise MissingIdentityError(
                f"the label {label!r} of the namespace template {tuple(template)!r} has braces that aren't a field: "
                "write {name}, of letters, digits and underscores."
            )

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None or not str(value).strip():
            raise MissingIdentityError(
                f"the namespace template {tuple(template)!r} needs {match[1]!r}, which is {shown(value)}: "
                f'pass it in the context or in config={{"configurable": {{"{match[1]}": …}}}}.'
            )
        return encode_label(str(value))

    return tuple(re.sub(r"\{(\w+)\}", fill, label) for label in template)
