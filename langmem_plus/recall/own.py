"""Read the values that this package writes: what has exactly a record's fields, each of its own type, is a record and
needs no conversion. Everything else is for `items.read_item`, which is tolerant.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from langmem_plus.recall.made import assembled
from langmem_plus.records import ROLES, MemoryRecord, Scores, Status, parse_time

_STATUSES: tuple[str, ...] = get_args(Status)
_NAMES = tuple(MemoryRecord.model_fields)
_NOTHING: type = type(None)
_TEXTS = ("thread_id", "agent_id", "replaced_by", "summary_kind")  # beside those that every record has
_TIMES = ("created_at", "updated_at", "observed_at", "expires_at", "covers_until")
_LISTS = ("tags", "source_ids", "replaces")
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "role", "text", "user_id", "space", "created_at", "updated_at", "status"), (str,)),
    **dict.fromkeys((*_TEXTS, "observed_at", "expires_at", "covers_until", "simhash"), (str, _NOTHING)),
    **dict.fromkeys(("importance", "metadata_confidence"), (float,)),
    **dict.fromkeys(("pinned", "manually_saved"), (bool,)),
    **dict.fromkeys(_LISTS, (list,)),
    "repeat_count": (int,),
    "extracted": (bool, _NOTHING),
    "metadata": (dict,),
    "last_scores": (dict, _NOTHING),
}
_ONLY_TEXTS = {str}
_SIMHASH = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class _Shape:
    """Which fields of a value hold something.

    Attributes:
        given: their names.
        texts: those of them that are texts of any kind but the id, whose characters are checked.
        times: those that are times.
    """

    given: frozenset[str]
    texts: tuple[str, ...]
    times: tuple[str, ...]


def own_record(key: str, value: Mapping[str, Any]) -> MemoryRecord | None:
    """The record that a value of our own holds, as `MemoryRecord` itself reads it; None for any other value, also for
    one that may be read all the same.

    Args:
        key: its place in the store, which is the record's id.
        value: is left as it is; the record has lists and dictionaries of its own.
    """
    if tuple(value) != _NAMES:
        return None
    shape = _shape(tuple(map(type, value.values())))
    if shape is None:
        return None
    fields = dict(value)
    fields["id"] = key
    try:
        return assembled(MemoryRecord, fields, shape.given) if _settle(fields, shape) else None
    except (TypeError, ValueError):
        return None


@functools.lru_cache(maxsize=1024)
def _shape(types: tuple[type, ...]) -> _Shape | None:
    """For values of these types in the order of the names; None where one doesn't fit."""
    found = dict(zip(_NAMES, types, strict=True))
    if not all(kind in _TYPES[name] for name, kind in found.items()):
        return None
    given = frozenset(name for name, kind in found.items() if kind is not _NOTHING)
    texts = ("text", "user_id", "space", *(name for name in _TEXTS if name in given))
    return _Shape(given, texts, tuple(name for name in _TIMES if name in given))


def _settle(fields: dict[str, Any], shape: _Shape) -> bool:
    """Read the times, and take what is the caller's own; whether the fields, of the right types, are right.

    Raises:
        TypeError, ValueError: they aren't.
    """
    text, simhash, scores = fields["text"], fields["simhash"], fields["last_scores"]
    if text.isspace() or not text or fields["role"] not in ROLES or fields["status"] not in _STATUSES:
        return False
    if not (0 <= fields["importance"] <= 1 and 0 <= fields["metadata_confidence"] <= 1 and fields["repeat_count"] >= 0):
        return False
    if simhash is not None and not _SIMHASH.fullmatch(simhash):
        return False
    tags, sources, replaces, metadata = fields["tags"], fields["source_ids"], fields["replaces"], fields["metadata"]
    inner = [*tags, *sources, *replaces, *metadata]
    if inner and {*map(type, inner)} != _ONLY_TEXTS:
        return False
    said = "".join([fields["id"], *inner, *map(fields.__getitem__, shape.texts)])
    if not said.isascii():
        said.encode()  # half a surrogate pair is no text
    for name in shape.times:
        fields[name] = _read_time(fields[name])
    fields["tags"], fields["source_ids"], fields["replaces"] = tags[:], sources[:], replaces[:]
    fields["metadata"] = metadata.copy()
    if scores is not None:
        fields["last_scores"] = Scores.model_validate(scores)
    return True


@functools.lru_cache(maxsize=20_000)
def _read_time(text: str) -> dt.datetime:
    """A time as a record holds it.

    Raises:
        ValueError: it is none.
    """
    time = parse_time(text)
    if not isinstance(time, dt.datetime):
        raise ValueError(f"{text!r} is no time")
    return time
