"""The fields that a filter may name: how what is asked of each is read, and how a record is compared with it."""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.labels import read_id
from langmem_plus.records import ROLES, MemoryRecord, parse_epoch, parse_time
from langmem_plus.shown import shown

Test: TypeAlias = Callable[[MemoryRecord], bool]

_ORDERS = frozenset({"gt", "gte", "lt", "lte"})
_SEVERAL = frozenset({"in", "nin"})
_METADATA = "metadata."


@dataclass(frozen=True)
class Span:
    """A moment, or a day: its first and its last microsecond."""

    first: dt.datetime
    last: dt.datetime


@dataclass(frozen=True)
class Field:
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


def find_field(name: object) -> Field:
    """The field of that name.

    Raises:
        InvalidValueError: there is none.
    """
    if isinstance(name, str) and name.startswith(_METADATA) and name != _METADATA:
        return Field(name, partial(_of_metadata, name.removeprefix(_METADATA)), _read_free, _same, _order_free, True)
    known = FIELDS.get(name) if isinstance(name, str) else None
    if known is None:
        raise InvalidValueError(f"the filter has no field {shown(name)}: use {', '.join(FIELDS)} or metadata.<name>.")
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
    except ValueError as error:  # a number of more digits than Python writes
        raise InvalidValueError(f"the filter's {name} is {shown(operand)}: give a text.") from error


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
    try:
        number = float(operand) if _is_number(operand) else math.nan
    except OverflowError:  # a whole number that no float can hold
        number = math.inf
    if not math.isfinite(number):
        raise InvalidValueError(f"the filter's {name} is {shown(operand)}: give a number.")
    return number


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_span(operand: Any, name: str) -> Span:
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
    return Span(time, time + dt.timedelta(days=1, microseconds=-1) if _is_day(operand) else time)


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


def _order_span(value: Any, span: Span) -> int:
    return 1 if value > span.last else -1 if value < span.first else 0


def _order(value: Any, operand: Any) -> int:
    return int(value > operand) - int(value < operand)


def _order_free(value: Any, operand: Any) -> int | None:
    if isinstance(operand, Span):
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
    if isinstance(operand, Span):
        return _order_free(value, operand) == 0
    if isinstance(value, bool) or isinstance(operand, bool):
        return value is operand or (isinstance(value, list) and any(each is operand for each in value))
    if isinstance(operand, tuple):
        operand = list(operand)
    return bool(value == operand) or (isinstance(value, list) and any(_same(each, operand) for each in value))


def _holds(values: Any, operand: Any) -> bool:
    return operand in values


def _text(name: str, *, nothing: bool = False, read: Callable[[Any, str], str] = _read_text) -> Field:
    return Field(name, lambda record: getattr(record, name), read, _order_equal, nothing=nothing)


def _order_equal(value: Any, operand: Any) -> bool:
    return value is not None and bool(value == operand)


def _moment(name: str, get: Callable[[MemoryRecord], Any] | None = None) -> Field:
    def equals(value: Any, span: Span) -> bool:
        return value is not None and _order_span(value, span) == 0

    return Field(
        name, get or (lambda record: getattr(record, name)), read_span, equals, _order_span, name == "observed_at"
    )


def _flag(name: str) -> Field:
    return Field(name, lambda record: getattr(record, name), _read_flag, _order_equal)


_TAGS = Field("tags", lambda record: {fold_tag(tag) for tag in record.tags}, _read_tag, _holds)
_THREAD = _text("thread_id", nothing=True)
FIELDS: dict[str, Field] = {
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
    "importance": Field("importance", lambda record: record.importance, _read_number, _order_equal, _order),
    "pinned": _flag("pinned"),
    "manually_saved": _flag("manually_saved"),
    "source_ids": Field("source_ids", lambda record: record.source_ids, _read_text, _holds),
}
