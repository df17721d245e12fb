"""Find a record of a user by its id, or by the beginning of it, in the space and in ``global``."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import GetOp, Item, SearchOp

from langmem_plus.errors import InvalidValueError, NotFoundError
from langmem_plus.records import Scope
from langmem_plus.remember.steps import PAGE, Batch, Namespace, Steps
from langmem_plus.shown import shown


def find(scope: Scope, id: str) -> Steps[tuple[Namespace, str]]:
    """Where a record lies, and its key.

    Raises:
        NotFoundError: there is none, or several begin so.
    """
    found = yield from find_key(scope, id)
    if found is None:
        raise not_found(scope, id)
    return found


def find_key(scope: Scope, id: str) -> Steps[tuple[Namespace, str] | None]:
    """As `find`; None where there is none."""
    if not isinstance(id, str):
        raise InvalidValueError(f"the id {shown(id)} is no text: give a record's id, or the beginning of it.")
    items: Sequence[Item | None] = yield Batch([GetOp(namespace, id) for namespace in scope.namespaces])
    for item in items:
        if item is not None:
            return tuple(item.namespace), item.key
    found: list[tuple[Namespace, str]] = []
    for namespace in scope.namespaces if id else ():
        offset = 0
        while True:
            (page,) = yield Batch([SearchOp(namespace, limit=PAGE, offset=offset)])
            here = [item for item in page if tuple(item.namespace) == namespace]
            found += [(namespace, item.key) for item in here if item.key.startswith(id)]
            offset += PAGE
            if len(page) < PAGE:
                break
    if len(found) > 1:
        raise NotFoundError(f"{len(found)} records of {scope.user_id!r} begin with {shown(id)}; give more of the id.")
    return found[0] if found else None


def not_found(scope: Scope, id: str) -> NotFoundError:
    """The error that there is no such record."""
    return NotFoundError(
        f"there is no record {shown(id)} in the space {scope.space!r} of {scope.user_id!r}; `list` shows what there is."
    )
