"""A batch of LangGraph ops, checked and sorted, pure: the part of a store's `batch` that doesn't touch anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    validate_op_namespace,
)

from langmem_plus.errors import InvalidValueError
from langmem_plus.store.search import check_filter
from langmem_plus.store.ttl import check_minutes
from langmem_plus.store.values import check_value

Namespace = tuple[str, ...]


class ExactSearchOp(SearchOp):
    """A recall's search: of one namespace alone, without the others that begin with its labels, and with token bits."""

    __slots__ = ()


class NarrowedSearchOp(ExactSearchOp):
    """The same, chosen from more candidates by their token bits; without these, more than the limit says are found."""

    __slots__ = ()


@dataclass
class Batch:
    """The ops in order, and the writes that remain after the last put of each key has won.

    Attributes:
        ops: all of them.
        writes: namespace → key → the op.
        queries: the distinct texts that searches ask for.
        searched: the distinct prefixes below which they ask, each with whether it is meant as a namespace alone.
    """

    ops: list[Op] = field(default_factory=list)
    writes: dict[Namespace, dict[str, PutOp]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    searched: list[tuple[Namespace, bool]] = field(default_factory=list)


def read_batch(ops: Iterable[Op]) -> Batch:
    """Check every op before anything is read or written.

    Raises:
        InvalidNamespaceError: a namespace is empty, not text, or has a ``.`` or NUL in a label.
        InvalidValueError: a value isn't plain JSON, ``index`` isn't a list of paths, or ``ttl`` isn't minutes.
        ValueError: an op or a filter's operator is unknown, a limit or offset is negative.
    """
    batch = Batch()
    for given in ops:
        op = _with_namespace(given)
        if isinstance(op, SearchOp):
            check_filter(op.filter)
            if op.query and op.query.strip():
                batch.queries.append(op.query)
                batch.searched.append((op.namespace_prefix, isinstance(op, ExactSearchOp)))
        if isinstance(op, SearchOp | ListNamespacesOp) and (op.limit < 0 or op.offset < 0):
            raise ValueError(f"limit={op.limit} and offset={op.offset} can't be negative.")
        if isinstance(op, PutOp):
            op = _checked(op)
            batch.writes.setdefault(op.namespace, {})[str(op.key)] = op
        batch.ops.append(op)
    batch.queries, batch.searched = list(dict.fromkeys(batch.queries)), list(dict.fromkeys(batch.searched))
    return batch


def _with_namespace(op: Op) -> Op:
    """The op with its namespace checked; a list is taken for a tuple."""
    if isinstance(op, GetOp | PutOp):
        op = op._replace(namespace=_as_tuple(op.namespace))
        if isinstance(op, PutOp) and not op.namespace:
            raise InvalidNamespaceError(f"a namespace needs a label; {op.key!r} was put into ().")
    elif isinstance(op, SearchOp):
        op = op._replace(namespace_prefix=_as_tuple(op.namespace_prefix))
    elif not isinstance(op, ListNamespacesOp):
        raise ValueError(f"unknown operation {type(op).__name__}: {op!r}.")
    validate_op_namespace(op)
    return op


def _as_tuple(namespace: Any) -> Namespace:
    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        raise InvalidNamespaceError(f"a namespace is a tuple of texts, not {namespace!r}.")
    return tuple(namespace)


def _checked(op: PutOp) -> PutOp:
    """The op with a copy of its value, so that what was checked is what is stored, whatever the caller does to it."""
    index = op.index
    if index is not None and index is not False:
        if not isinstance(index, list | tuple) or not all(isinstance(path, str) for path in index):
            raise InvalidValueError(f"index={index!r}: give a list of paths such as ['text'], False, or nothing.")
        index = list(index)
    value = None if op.value is None else check_value(op.value)
    return op._replace(value=value, index=index, ttl=check_minutes(op.ttl, "ttl"))


def list_namespaces(found: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """The namespaces that meet an op's conditions: distinct, cut to its depth, sorted, one page of them."""
    kept = {namespace for namespace in found if all(_meets(namespace, c) for c in op.match_conditions or ())}
    if op.max_depth is not None:
        kept = {namespace[: op.max_depth] for namespace in kept}
    return sorted(kept)[op.offset : op.offset + op.limit]


def _meets(namespace: Namespace, condition: MatchCondition) -> bool:
    path: Sequence[str] = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unknown match type {condition.match_type!r}; use 'prefix' or 'suffix'.")
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
