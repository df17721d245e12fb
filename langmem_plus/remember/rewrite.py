"""Change records that others may change too: read, decide, and write only if they are still what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from langgraph.store.base import Item, PutOp

from langmem_plus.errors import ConflictError
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.steps import Exchange, Namespace, Steps, get_items, read_records, write

_TRIES = 5

Change = Callable[[dict[str, MemoryRecord]], Sequence[PutOp]]


def rewrite(namespace: Namespace, keys: Iterable[str], change: Change) -> Steps[None]:
    """Read some records, let ``change`` say what to write, and write it in one batch; from the start where somebody
    else wrote meanwhile, by hand too.

    Args:
        namespace: where the records are.
        keys: everything that the writes depend on.
        change: the writes, made of the records as they are now; what is missing is gone. Called once a try.

    Raises:
        ConflictError: others were faster, again and again.
    """
    wanted = list(dict.fromkeys(keys))
    for _ in range(_TRIES):
        items = yield from get_items(namespace, wanted)
        records = read_records([item for item in items.values() if item], namespace)
        if (yield from _exchange(namespace, items, change({record.id: record for record in records}))):
            return
    raise ConflictError(
        f"{len(wanted)} memories of {namespace} were to be changed, and others rewrote some of them {_TRIES} times "
        "meanwhile; nothing was written, and the next run tries again."
    )


def _exchange(namespace: Namespace, read: Mapping[str, Item | None], ops: Sequence[PutOp]) -> Steps[bool]:
    """Write all in one batch if the items are still what was read, by a person's hand too; gives whether they were.

    A store that can't do both at once is read once more just before it is written.

    Args:
        namespace: where the items are.
        read: what the writes were made of, as `get_items` gave it.
        ops: the writes.
    """
    if not ops:
        return True
    expected = {key: item.value if item else None for key, item in read.items()}
    written: bool | None = yield Exchange(namespace, expected, ops)
    if written is not None:
        return written
    current = yield from get_items(namespace, read)
    if {key: item.value if item else None for key, item in current.items()} != expected:
        return False
    yield from write(ops)
    return True
