"""What a memory was before, as a call of the client; with an async twin."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Any

from langgraph.store.base import BaseStore

from langmem_plus.client.stored import begins_with, everything, exact, gets
from langmem_plus.errors import NotFoundError
from langmem_plus.records import Scope, format_time
from langmem_plus.shown import shown
from langmem_plus.store.versions import Version, past_of

Past = list[Version]


class PastCalls:
    """The part of `MemoryClient` that looks back."""

    store: BaseStore

    def history(self, id: str, *, user_id: str, space: str = "default") -> Past:
        """A memory's past, the oldest state first: its own, of what it replaced, and of what replaced it.

        Where files are kept in git (``versioning``) every version that was committed is there; else what the records
        tell by themselves: when each came to be, and what became of it.

        Args:
            id: the record's id, or a beginning of it that no other record has; of a deleted item, the whole.
            user_id: whose memory.
            space: which part of it; the user's ``global`` one is looked in, too.

        Raises:
            NotFoundError: there was never such a record, or several begin so, or it was erased.
        """
        scope = Scope(user_id, space)
        if exact(self.store.batch(gets(scope, id)), scope) is None:
            with contextlib.suppress(NotFoundError):  # a deleted one is known by its files alone
                id = begins_with(self.store.batch(everything(scope)), scope, id).id
        return find_past(self.store, scope, id)

    async def ahistory(self, id: str, *, user_id: str, space: str = "default") -> Past:
        """A memory's past, as `history`."""
        scope = Scope(user_id, space)
        if exact(await self.store.abatch(gets(scope, id)), scope) is None:
            with contextlib.suppress(NotFoundError):
                id = begins_with(await self.store.abatch(everything(scope)), scope, id).id
        return await asyncio.to_thread(find_past, self.store, scope, id)


def find_past(store: BaseStore, scope: Scope, key: str) -> Past:
    """The past of a memory of the space, else of the user's ``global`` one.

    Raises:
        NotFoundError: neither has one.
    """
    tell = getattr(store, "history", None)
    for namespace in scope.namespaces:
        found: Past = tell(namespace, key) if callable(tell) else past_of(key, partial(_item, store, namespace))
        if found:
            return found
    raise NotFoundError(
        f"nothing is known of a record {shown(key)} in the space {scope.space!r} of {scope.user_id!r}; `list` shows "
        "what there is; of a deleted one, give the whole id."
    )


def _item(store: BaseStore, namespace: tuple[str, ...], key: str) -> tuple[dict[str, Any], str, str] | None:
    item = store.get(namespace, key, refresh_ttl=False)
    return (item.value, format_time(item.created_at), format_time(item.updated_at)) if item else None
