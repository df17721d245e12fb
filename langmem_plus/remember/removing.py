"""Erase what is chosen of a namespace, in stores that can erase for good and in those that only delete."""

from __future__ import annotations

from langgraph.store.base import Item, PutOp, SearchOp

from langmem_plus.erasure import Choose, EraseReceipt, Erasure, kind_of
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.steps import PAGE, Batch, Erase, Namespace, Steps, put, write


def erase_chosen(namespace: Namespace, choose: Choose | None) -> Steps[EraseReceipt]:
    """Erase what is chosen of a namespace, or, without a choice, everything at and below it."""
    receipt: EraseReceipt | None = yield Erase(namespace, choose)
    return receipt if receipt is not None else (yield from _delete(namespace, choose))


def _delete(namespace: Namespace, choose: Choose | None) -> Steps[EraseReceipt]:
    """In a store that can't erase: delete the items."""
    receipt, items = EraseReceipt(), list[Item]()
    receipt.look(f"the items of {namespace}")
    while True:
        (page,) = yield Batch([SearchOp(namespace, limit=PAGE, offset=len(items))])
        items += page
        if len(page) < PAGE:
            break
    if choose is not None:
        items = [item for item in items if tuple(item.namespace) == namespace]
    held = [(item.key, item.value) for item in items]
    erasure = choose(held) if choose else Erasure(frozenset(key for key, _ in held))
    gone = [item for item in items if item.key in erasure.keys]
    for item in gone:
        receipt.count(kind_of(item.value))
    changed = [MemoryRecord.model_validate(value) for value in erasure.rewritten.values()]
    for record in changed:
        receipt.rewritten[record.role] = receipt.rewritten.get(record.role, 0) + 1
    yield from write([put(namespace, record) for record in changed])
    yield from write([PutOp(tuple(item.namespace), item.key, None) for item in gone])
    receipt.miss(
        "the store itself: its items are deleted, but what it keeps beside them (logs, backups, freed space, vectors "
        "in other places) is out of reach; see its documentation"
    )
    return receipt
