"""A batch of LangGraph ops, checked and sorted, pure: the part of a store's `batch` that doesn't touch anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp, validate_op_namespace

from langmem_plus.errors import InvalidValueError
from langmem_plus.store.markdown.frontmatter import check_value
from langmem_plus.store.search import check_filter

Namespace = tuple[str, ...]


@dataclass
class Batch:
    """The ops in order, and the writes that remain after the last put of each key has won.

    Attributes:
        ops: all of them.
        writes: namespace → key → the op.
        queries: the distinct texts that searches ask for.
    """

    ops: list[Op] = field(default_factory=list)
    writes: dict[Namespace, dict[str, PutOp]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)


def read_batch(ops: Iterable[Op]) -> Batch:
    """Check every op before anything is read or written.

    Raises:
        InvalidNamespaceError: a namespace is empty, not text, or has a ``.`` or NUL in a label.
        InvalidValueError: a value isn't plain JSON, or a namespace can't be written in UTF-8.
        NotImplementedError: an op asks for a time to live.
        ValueError: an op or a filter's operator is unknown, a limit or offset is negative.
    """
    batch = Batch()
    for given in ops:
        op = given
        if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
            raise ValueError(f"unknown operation {type(op).__name__}: {op!r}.")
        validate_op_namespace(op)
        if isinstance(op, SearchOp):
            check_filter(op.filter)
            if op.query and op.query.strip():
                batch.queries.append(op.query)
        if isinstance(op, SearchOp | ListNamespacesOp) and (op.limit < 0 or op.offset < 0):
            raise ValueError(f"limit={op.limit} and offset={op.offset} can't be negative.")
        if isinstance(op, PutOp):
            if isinstance(op.value, Mapping):
                op = op._replace(value=dict(op.value))
            _check_put(op)
            batch.writes.setdefault(op.namespace, {})[str(op.key)] = op
        batch.ops.append(op)
    batch.queries = list(dict.fromkeys(batch.queries))
    return batch


def _check_put(op: PutOp) -> None:
    if op.ttl is not None:
        raise NotImplementedError(f"ttl={op.ttl!r}: this store doesn't support time to live yet; leave it out.")
    if op.index is not None and op.index is not False and not isinstance(op.index, list):
        raise InvalidValueError(f"index={op.index!r}: give a list of paths, False, or nothing.")
    if op.value is not None:
        check_value(op.value)


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
