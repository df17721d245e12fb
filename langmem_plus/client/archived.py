"""Archives of conversations, and what was deleted, brought back, as calls of the client; each has an async twin."""

from __future__ import annotations

from typing import TypeVar

from langgraph.store.base import BaseStore

from langmem_plus.client.stored import check_id
from langmem_plus.labels import read_id
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.archive import Archiving, archive_steps
from langmem_plus.remember.steps import Steps, arun_steps, run_steps
from langmem_plus.remember.undelete import check_thread, restore_steps, undelete_steps
from langmem_plus.services import Services
from langmem_plus.telemetry import audit

T = TypeVar("T")


class ArchiveCalls:
    """The part of `MemoryClient` that archives conversations and brings deleted memories back."""

    store: BaseStore
    _services: Services

    def archive(self, thread_id: str, *, user_id: str, space: str = "default") -> MemoryRecord | None:
        """Archive a conversation that has come to its end, whatever ``archive_conversations`` says: what it was about,
        what was decided, what is open. Other threads find it where a message asks for an earlier conversation.

        Made by the client's model, or, without one and where it fails, by rules. A conversation has one archive: what
        was said since the last time is merged into it. What was said stays stored; `clear_conversation` deletes it.

        Args:
            thread_id: the conversation.
            user_id: whose memory.
            space: which part of it.

        Returns:
            The archive; None where nothing was said that is worth one.

        Raises:
            NotFoundError: there is no such conversation.
        """
        return self._archived(self._take(_archive(self._services, _scope(user_id, space, thread_id))))

    async def aarchive(self, thread_id: str, *, user_id: str, space: str = "default") -> MemoryRecord | None:
        """Archive a conversation, as `archive`."""
        return self._archived(await self._atake(_archive(self._services, _scope(user_id, space, thread_id))))

    def undelete(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Bring back a record that was deleted softly at most ``tombstone_hours`` ago, by `forget`, a tool or eviction.
        Turns that were withheld because they say it are recalled again, and the archive of its conversation tells it
        again; a summary that lost it doesn't regain it, nor does an archive of which nothing else was left.

        Args:
            id: the record's id, or a beginning of it that no other record has.
            user_id: whose memory.
            space: which part of it; the user's ``global`` one is looked in, too.

        Returns:
            The record; one that is active stays as it is. Where a fact is in force that says the same, nothing is
            added, and it is that one.

        Raises:
            NotFoundError: there is no such record, it was replaced by another, tells nothing but what is forgotten, or
                was deleted too long ago.
            ConflictError: another fact is in force in its place, or one that says the same was forgotten later; the
                message names it and says what to do.
        """
        return self._take(undelete_steps(self._services, Scope(user_id, space), check_id(id)))

    async def aundelete(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Bring a deleted record back, as `undelete`."""
        return await self._atake(undelete_steps(self._services, Scope(user_id, space), check_id(id)))

    def restore_conversation(self, thread_id: str, *, user_id: str, space: str = "default") -> int:
        """Bring back what `clear_conversation` deleted at most ``tombstone_hours`` ago. What was forgotten meanwhile
        isn't recalled again: turns that say it stay withheld, and the summary doesn't tell it.

        Args:
            thread_id: the conversation.
            user_id: whose memory.
            space: which part of it.

        Returns:
            How many records are back: the messages, and the summary where there was one; 0 where nothing was cleared.

        Raises:
            NotFoundError: there is no such conversation, it was cleared too long ago, or ``turn_ttl_days`` are over for
                all that was cleared.
        """
        return len(self._take(restore_steps(self._services, Scope(user_id, space), thread_id)))

    async def arestore_conversation(self, thread_id: str, *, user_id: str, space: str = "default") -> int:
        """Bring a cleared conversation back, as `restore_conversation`."""
        return len(await self._atake(restore_steps(self._services, Scope(user_id, space), thread_id)))

    def _archived(self, done: Archiving) -> MemoryRecord | None:
        if done.written and done.record is not None:
            record = done.record
            audit("archive", user_id=record.user_id, space=record.space, thread_id=record.thread_id, id=record.id)
        return done.record

    def _take(self, steps: Steps[T]) -> T:
        return run_steps(steps, self._services, self.store)

    async def _atake(self, steps: Steps[T]) -> T:
        return await arun_steps(steps, self._services, self.store)


def _archive(services: Services, scope: Scope) -> Steps[Archiving]:
    done = yield from archive_steps(services, scope)
    if done.record is None and scope.thread_id is not None:
        yield from check_thread(scope, scope.thread_id)
    return done


def _scope(user_id: str, space: str, thread_id: str) -> Scope:
    return Scope(user_id, space, thread_id=read_id("thread_id", thread_id))
