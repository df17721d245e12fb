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

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from langmem_plus.errors import InvalidValueError
from langmem_plus.recall.filter_fields import FIELDS, Test, find_field
from langmem_plus.records import MemoryRecord
from langmem_plus.shown import shown

Filter: TypeAlias = Mapping[str, Any]

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
_DEEPEST = 20
_MOST = 10_000  # conditions, and values in them


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
    return RecordFilter(tuple(_Reading().tests(filter)), _pushed(filter)) if filter else None


class _Reading:
    """The reading of one filter, which counts what it holds: a part that stands in many places is read in each."""

    def __init__(self) -> None:
        self._left = _MOST

    def tests(self, filter: Filter, depth: int = 0) -> list[Test]:
        """The conditions of a filter, or of a part of it."""
        if depth > _DEEPEST:
            raise InvalidValueError(f"the filter nests deeper than {_DEEPEST} times: write it flatter.")
        found: list[Test] = []
        for name, condition in filter.items():
            self._count()
            if name in ("or", "$or"):
                found.append(partial(_any_of, self._branches(name, condition, depth)))
            elif name in ("and", "$and"):
                found += [test for branch in self._branches(name, condition, depth) for test in branch]
            else:
                known = find_field(name)
                for op, operand in _operations(name, condition):
                    self._count(len(operand) if isinstance(operand, Collection) else 1)
                    found.append(known.test(op, operand, name))
        return found

    def _branches(self, name: str, condition: object, depth: int) -> list[list[Test]]:
        if not isinstance(condition, list | tuple) or not condition:
            raise InvalidValueError(
                f'"{name}" is {shown(condition)}: give a list of filters, e.g. {{"{name}": [{{"pinned": True}}, …]}}.'
            )
        for branch in condition:
            if not isinstance(branch, Mapping) or not branch:
                raise InvalidValueError(
                    f'"{name}" holds {shown(branch)}: each of its filters is a dict with a condition.'
                )
        return [self.tests(branch, depth + 1) for branch in condition]

    def _count(self, number: int = 1) -> None:
        self._left -= number
        if self._left < 0:
            raise InvalidValueError(f"the filter has more than {_MOST} conditions and values: ask for less at once.")


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
        known = FIELDS.get(name)
        if known is None or known.name not in ("role", "thread_id", "agent_id"):
            continue
        for op, operand in _operations(name, condition):
            if op == "eq" and operand is not None and (known.name, operand) != ("role", "memory"):
                pushed[known.name] = str(known.read(operand, name))
    return pushed
