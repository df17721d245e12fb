"""Which records a search may find: conditions on role, tags, time, thread and the rest, read once, before any search.

::

    {"role": "memory", "tags": {"in": ["tea"]}, "observed_at": {"gte": "2026-01-01"}, "or": [{…}, {…}]}

All conditions hold at once; so do all operators of a field. `OPERATORS` may be written with a ``$``.

- **Tags** are compared whole, whatever their case; tags and ``source_ids`` are lists, and ``eq`` and ``in`` ask whether
  one of their entries fits, ``ne`` and ``nin`` whether none does.
- **Times** are compared as times: ISO texts, dates, `datetime` objects, seconds since 1970. Without a zone they are in
  UTC. A date alone is that whole day: ``lte`` includes it, ``gt`` begins after it, ``eq`` is any time of it. ``time``
  is when something was said, as far as that is known, else when it was written.
- **Ids** and roles are compared whole. ``None`` stands for a thread, an agent or a time that isn't known.
- **metadata.<name>** is compared as JSON: numbers with numbers, texts with texts; against a `date` or a `datetime`, as
  times. Of a list in it, ``eq`` and ``in`` ask for one of its entries, or for the whole list.
"""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.labels import read_id
from langmem_plus.records import ROLES, MemoryRecord, parse_epoch, parse_time
from langmem_plus.shown import shown

Filter: TypeAlias = Mapping[str, Any]
Test: TypeAlias = Callable[[MemoryRecord], bool]

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
_ORDERS = frozenset({"gt", "gte", "lt", "lte"})
_SEVERAL = frozenset({"in", "nin"})
_DEEPEST = 20
_METADATA = "metadata."


@dataclass(frozen=True)
class RecordFilter:
    """Conditions that were read; `read_filter` makes them.

    Attributes:
        tests: what a record must meet.
        pushed: those of the conditions that any store's own filter can tell: equality of fields that every record has
            in the same form. They let nothing out that meets all the conditions, so they may be asked for first.
    """

    tests: tuple[Test, ...]
    pushed: Mapping[str, str] = field(default_factory=dict)

    def matches(self, record: MemoryRecord) -> bool:
        """Whether a record meets every condition."""
        return all(test(record) for test in self.tests)


def read_filter(filter: Filter | RecordFilter | None) -> RecordFilter | None:
    """Read a filter; None where it has no conditions. One that was read already is handed back.

    Raises:
        InvalidValueError: a field or an operator doesn't exist, or a value doesn't fit its field; the message names it
            and what to write instead.
    """
    if filter is None or isinstance(filter, RecordFilter):
        return filter
    if not isinstance(filter, Mapping):
        raise InvalidValueError(f'the filter {shown(filter)} isn\'t a dict such as {{"role": "memory"}}.')
    return RecordFilter(tuple(_tests(filter, 0)), _pushed(filter)) if filter else None


def _tests(filter: Filter, depth: int) -> list[Test]:
    if depth > _DEEPEST:
        raise InvalidValueError(f"the filter nests deeper than {_DEEPEST} times: write it flatter.")
    found: list[Test] = []
    for name, condition in filter.items():
        if name in ("or", "$or"):
            found.append(partial(_any_of, _branches(name, condition, depth)))
        elif name in ("and", "$and"):
            found += [test for branch in _branches(name, condition, depth) for test in branch]
        else:
            known = _field(name)
            found += [known.test(op, operand, name) for op, operand in _operations(name, condition)]
    return found


def _branches(name: str, condition: object, depth: int) -> list[list[Test]]:
    if not isinstance(condition, list | tuple) or not condition:
        raise InvalidValueError(
            f'"{name}" is {shown(condition)}: give a list of filters, e.g. {{"{name}": [{{"pinned": True}}, …]}}.'
        )
    for branch in condition:
        if not isinstance(branch, Mapping) or not branch:
            raise InvalidValueError(f'"{name}" holds {shown(branch)}: each of its filters is a dict with a condition.')
    return [_tests(branch, depth + 1) for branch in condition]


def _any_of(branches: list[list[Test]], record: MemoryRecord) -> bool:
    return any(all(test(record) for test in branch) for branch in branches)


def _operations(name: str, condition: object) -> list[tuple[str, Any]]:
    """A field's operators and their operands; a value alone is ``eq``."""
    if isinstance(condition, list | tuple | set | frozenset):
        raise InvalidValueError(
            f'{name}={shown(condition)} is a list: write {{"{name}": {{"in": […]}}}} for any of it.'
        )
    if not isinstance(condition, Mapping):
        return [("eq", condition)]
    unknown = next((op for op in condition if str(op).removeprefix("$") not in OPERATORS), None)
    if unknown is not None or not condition:
        raise InvalidValueError(
            f"{name}={shown(condition)} has no operator {shown(unknown)}: use {', '.join(OPERATORS)}."
            if condition
            else f"{name} has no condition: give a value, or an operator such as {', '.join(OPERATORS)}."
        )
    return [(str(op).removeprefix("$"), operand) for op, operand in condition.items()]


def _pushed(filter: Filter) -> dict[str, str]:
    """What every store can tell by itself. Values of other programs have no role, which reads as ``memory``: that one
    stays out, and so do numbers and truths, which they may write in other forms.
    """
    pushed: dict[str, str] = {}
    for name, condition in filter.items():
        known = _FIELDS.get(name)
        if known is None or known.name not in ("role", "thread_id", "agent_id"):
            continue
        for op, operand in _operations(name, condition):
            if op == "eq" and operand is not None and (known.name, operand) != ("role", "memory"):
                pushed[known.name] = str(known.read(operand, name))
    return pushed


@dataclass(frozen=True)
class _Span:
    """A moment, or a day: its first and its last microsecond."""

    first: dt.datetime
    last: dt.datetime


@dataclass(frozen=True)
class _Field:
    """One field of a record: how an operand for it is read, and how its values are compared.

    Attributes:
        name: as the record spells it.
        get: its value in a record.
        read: an operand, checked; raises InvalidValueError.
        equals: whether a value is what an operand says.
        ordered: -1, 0 or 1 as a value comes before, in, or after an operand; None where they can't be compared.
        nothing: whether None may be asked for.
    """

    name: str
    get: Callable[[MemoryRecord], Any]
    read: Callable[[Any, str], Any]
    equals: Callable[[Any, Any], bool]
    ordered: Callable[[Any, Any], int | None] | None = None
    nothing: bool = False

    def test(self, op: str, operand: Any, name: str) -> Test:
        """One condition, ready to be asked of records."""
        if op in _SEVERAL:
            if isinstance(operand, str | bytes | Mapping) or not isinstance(operand, Iterable):
                raise InvalidValueError(f'"{op}" of {name} is {shown(operand)}: give a list of values.')
            return partial(self._is_one_of, [self._operand(each, name) for each in operand], op == "in")
        if op not in _ORDERS:
            return partial(self._is_one_of, [self._operand(operand, name)], op == "eq")
        if self.ordered is None:
            raise InvalidValueError(f'{name} has no order, so "{op}" can\'t be asked of it: use eq, ne, in or nin.')
        if operand is None or (self.nothing and isinstance(operand, bool | Mapping | list | tuple)):
            raise InvalidValueError(f'"{op}" of {name} is {shown(operand)}: give something that has an order.')
        return partial(self._is_beside, op, self.read(operand, name))

    def _operand(self, operand: Any, name: str) -> Any:
        return None if operand is None and self.nothing else self.read(operand, name)

    def _is_one_of(self, operands: list[Any], wanted: bool, record: MemoryRecord) -> bool:
        value = self.get(record)
        return wanted == any(value is None if one is None else self.equals(value, one) for one in operands)

    def _is_beside(self, op: str, operand: Any, record: MemoryRecord) -> bool:
        value = self.get(record)
        side = None if value is None or self.ordered is None else self.ordered(value, operand)
        if side is None:
            return False
        return {"gt": side > 0, "gte": side >= 0, "lt": side < 0, "lte": side <= 0}[op]


def _field(name: object) -> _Field:
    if isinstance(name, str) and name.startswith(_METADATA) and name != _METADATA:
        return _Field(name, partial(_of_metadata, name.removeprefix(_METADATA)), _read_free, _same, _order_free, True)
    known = _FIELDS.get(name) if isinstance(name, str) else None
    if known is None:
        raise InvalidValueError(f"the filter has no field {shown(name)}: use {', '.join(_FIELDS)} or metadata.<name>.")
    return known


def _of_metadata(name: str, record: MemoryRecord) -> Any:
    """What stands under a name, taken literally, else as a path through objects."""
    if name in record.metadata:
        return record.metadata[name]
    found: Any = record.metadata
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _read_text(operand: Any, name: str) -> str:
    try:
        return read_id(name, operand)
    except ConfigError as error:
        raise InvalidValueError(f"{error} It stands in the filter.") from error


def _read_role(operand: Any, name: str) -> str:
    if not isinstance(operand, str) or operand not in ROLES:
        raise InvalidValueError(f"the filter asks for the {name} {shown(operand)}: choose from {', '.join(ROLES)}.")
    return operand


def _read_tag(operand: Any, name: str) -> str:
    if not isinstance(operand, str) or not operand.strip():
        raise InvalidValueError(f'the filter asks for the {name} {shown(operand)}: give a text, or {{"in": […]}}.')
    return fold_tag(operand)


def fold_tag(tag: str) -> str:
    """A tag without its case and the space around it.

    >>> fold_tag(" Tea")
    'tea'
    """
    return unicodedata.normalize("NFC", tag.strip().casefold())


def _read_flag(operand: Any, name: str) -> bool:
    if not isinstance(operand, bool):
        raise InvalidValueError(f"the filter's {name} is {shown(operand)}: give True or False.")
    return operand


def _read_number(operand: Any, name: str) -> float:
    if not _is_number(operand) or not math.isfinite(operand):
        raise InvalidValueError(f"the filter's {name} is {shown(operand)}: give a number.")
    return float(operand)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_span(operand: Any, name: str) -> _Span:
    """A time, or the whole of a day.

    Raises:
        InvalidValueError: it is neither.
    """
    try:
        time = parse_epoch(operand) if _is_number(operand) else parse_time(operand)
    except ValueError:
        time = None
    if not isinstance(time, dt.datetime):
        raise InvalidValueError(
            f"the filter's {name} is {shown(operand)}, which isn't a time: write it like 2026-01-31 or "
            "2026-01-31T13:56:00Z, in seconds since 1970, or as a datetime."
        )
    return _Span(time, time + dt.timedelta(days=1, microseconds=-1) if _is_day(operand) else time)


def _is_day(operand: Any) -> bool:
    if not isinstance(operand, str):
        return isinstance(operand, dt.date) and not isinstance(operand, dt.datetime)
    try:
        dt.date.fromisoformat(operand.strip())
    except ValueError:
        return False
    return True


def _read_free(operand: Any, name: str) -> Any:
    return read_span(operand, name) if isinstance(operand, dt.date) else operand


def _order_span(value: Any, span: _Span) -> int:
    return 1 if value > span.last else -1 if value < span.first else 0


def _order(value: Any, operand: Any) -> int:
    return int(value > operand) - int(value < operand)


def _order_free(value: Any, operand: Any) -> int | None:
    if isinstance(operand, _Span):
        time = _time_of(value)
        return None if time is None else _order_span(time, operand)
    alike = (_is_number(value) and _is_number(operand)) or (isinstance(value, str) and isinstance(operand, str))
    return _order(value, operand) if alike else None


def _time_of(value: Any) -> dt.datetime | None:
    try:
        time = parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if isinstance(time, dt.datetime) else None


def _same(value: Any, operand: Any) -> bool:
    """Equality as JSON has it: ``true`` is not 1; of a list, one of its entries may be meant."""
    if isinstance(operand, _Span):
        return _order_free(value, operand) == 0
    if isinstance(value, bool) or isinstance(operand, bool):
        return value is operand or (isinstance(value, list) and any(each is operand for each in value))
    if isinstance(operand, tuple):
        operand = list(operand)
    return bool(value == operand) or (isinstance(value, list) and any(_same(each, operand) for each in value))


def _holds(values: Any, operand: Any) -> bool:
    return operand in values


def _text(name: str, *, nothing: bool = False, read: Callable[[Any, str], str] = _read_text) -> _Field:
    return _Field(name, lambda record: getattr(record, name), read, _order_equal, nothing=nothing)


def _order_equal(value: Any, operand: Any) -> bool:
    return value is not None and bool(value == operand)


def _moment(name: str, get: Callable[[MemoryRecord], Any] | None = None) -> _Field:
    def equals(value: Any, span: _Span) -> bool:
        return value is not None and _order_span(value, span) == 0

    return _Field(
        name, get or (lambda record: getattr(record, name)), read_span, equals, _order_span, name == "observed_at"
    )


def _flag(name: str) -> _Field:
    return _Field(name, lambda record: getattr(record, name), _read_flag, _order_equal)


_TAGS = _Field("tags", lambda record: {fold_tag(tag) for tag in record.tags}, _read_tag, _holds)
_THREAD = _text("thread_id", nothing=True)
_FIELDS: dict[str, _Field] = {
    "role": _text("role", read=_read_role),
    "tags": _TAGS,
    "tag": _TAGS,
    "thread_id": _THREAD,
    "thread": _THREAD,
    "time": _moment("time", lambda record: record.said_at),
    "observed_at": _moment("observed_at"),
    "created_at": _moment("created_at"),
    "updated_at": _moment("updated_at"),
    "id": _text("id"),
    "agent_id": _text("agent_id", nothing=True),
    "importance": _Field("importance", lambda record: record.importance, _read_number, _order_equal, _order),
    "pinned": _flag("pinned"),
    "manually_saved": _flag("manually_saved"),
    "source_ids": _Field("source_ids", lambda record: record.source_ids, _read_text, _holds),
}
