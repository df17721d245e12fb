"""What waits for the owner's approval, as calls of the client: pending, approve, reject; each has an async twin."""

from __future__ import annotations

from typing import TypeVar

from langgraph.store.base import BaseStore

from langmem_plus.client.listed import Records
from langmem_plus.client.stored import check_id
from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.approve import approve_steps, find_waiting, pending_steps, reject_steps, targets_steps
from langmem_plus.remember.steps import Steps, arun_steps, run_steps
from langmem_plus.services import Services
from langmem_plus.shown import shown

T = TypeVar("T")


class ReviewCalls:
    """The part of `MemoryClient` in which the owner answers what waits (``review`` in the settings says what does)."""

    store: BaseStore
    _services: Services

    def pending(self, *, user_id: str, space: str | None = None) -> Records:
        """What waits for the owner's approval, the oldest first. Nothing of it is recalled, listed or compared with.

        A record's text is the new fact; ``metadata["review"]`` says what happens when it is approved (``event``), to
        which memories (``targets``, by id; `contested` gives them), why, and who decided. An ``event`` of ``DELETE``
        asks to forget its target.

        Args:
            user_id: whose memory.
            space: which part of it, and the user's ``global`` one; None for all.
        """
        return Records(self._review(pending_steps(self._services, _scope(user_id, space), everywhere=space is None)))

    async def apending(self, *, user_id: str, space: str | None = None) -> Records:
        """What waits for the owner's approval, as `pending`."""
        steps = pending_steps(self._services, _scope(user_id, space), everywhere=space is None)
        return Records(await self._areview(steps))

    def contested(self, record: MemoryRecord | str, *, user_id: str | None = None, space: str | None = None) -> Records:
        """The memories that a pending record would replace or forget, as they are now, or what stands in their place;
        what is gone is left out.

        Args:
            record: the record, or its id, or a beginning of it that no other has.
            user_id: whose memory; needed with an id.
            space: with an id, which part of it, and the user's ``global`` one; None for all.

        Raises:
            InvalidValueError: it is neither, or an id without its user.
            NotFoundError: there is no such record, or several begin so.
        """
        return Records(self._review(_contested_steps(self._services, record, user_id, space)))

    async def acontested(
        self, record: MemoryRecord | str, *, user_id: str | None = None, space: str | None = None
    ) -> Records:
        """The memories that a pending record would replace or forget, as `contested`."""
        return Records(await self._areview(_contested_steps(self._services, record, user_id, space)))

    def approve(self, id: str, *, user_id: str, space: str | None = None, beside: bool = False) -> MemoryRecord:
        """Let what waits come into force, and retire what it replaces, or forget what it asks to forget. Where that was
        replaced meanwhile, by something that wasn't said later, what stands there now is retired. Once more, it changes
        nothing.

        Args:
            id: the pending record's id, or a beginning of it that no other has.
            user_id: whose memory.
            space: which part of it, and the user's ``global`` one; None for all.
            beside: store the fact also where a memory that it would replace was edited, pinned or forgotten since, or
                replaced by what was said later; that one stays as it is.

        Returns:
            The record that is in force: where the same is known already, the known one, strengthened. Of a request to
            forget, its tombstone.

        Raises:
            NotFoundError: there is no such record, or several begin so.
            ConflictError: it never waited, it was rejected, or a memory that it would retire has changed since;
                nothing was written, and the message says what to do.
        """
        scope = _scope(user_id, space)
        return self._review(approve_steps(self._services, scope, check_id(id), beside=beside, everywhere=space is None))

    async def aapprove(self, id: str, *, user_id: str, space: str | None = None, beside: bool = False) -> MemoryRecord:
        """Let what waits come into force, as `approve`."""
        scope = _scope(user_id, space)
        return await self._areview(
            approve_steps(self._services, scope, check_id(id), beside=beside, everywhere=space is None)
        )

    def reject(self, id: str, *, user_id: str, space: str | None = None) -> MemoryRecord:
        """Turn down what waits: a tombstone stays, and what it would have retired stays in force. The turn that says it
        is kept and isn't recalled. Once more, it changes nothing.

        Args:
            id: the pending record's id, or a beginning of it that no other has.
            user_id: whose memory.
            space: which part of it, and the user's ``global`` one; None for all.

        Returns:
            The tombstone.

        Raises:
            NotFoundError: there is no such record, or several begin so.
            ConflictError: it is in force already, or never waited.
        """
        scope = _scope(user_id, space)
        return self._review(reject_steps(self._services, scope, check_id(id), everywhere=space is None))

    async def areject(self, id: str, *, user_id: str, space: str | None = None) -> MemoryRecord:
        """Turn down what waits, as `reject`."""
        scope = _scope(user_id, space)
        return await self._areview(reject_steps(self._services, scope, check_id(id), everywhere=space is None))

    def _review(self, steps: Steps[T]) -> T:
        return run_steps(steps, self._services, self.store)

    async def _areview(self, steps: Steps[T]) -> T:
        return await arun_steps(steps, self._services, self.store)


def _scope(user_id: str, space: str | None) -> Scope:
    return Scope(user_id, "default" if space is None else space)


def _contested_steps(
    services: Services, record: MemoryRecord | str, user_id: str | None, space: str | None
) -> Steps[list[MemoryRecord]]:
    if isinstance(record, str):
        if user_id is None:
            raise InvalidValueError(f"contested({shown(record)}) needs user_id: an id alone says not whose it is.")
        record = yield from find_waiting(_scope(user_id, space), record, everywhere=space is None)
    if not isinstance(record, MemoryRecord):
        raise InvalidValueError(f"{shown(record)} is no pending record: pass one of `pending`, or its id.")
    return (yield from targets_steps(services, Scope(record.user_id, record.space), record))
