"""What the owner decides, as calls of the client: pin, forget, clear, erase, export; each has an async twin, ``a…``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from langgraph.store.base import BaseStore

from langmem_plus.client.stored import check_id
from langmem_plus.controls import FORGOT, Target, clear_steps, erase_steps, forget_steps, pin_steps
from langmem_plus.erasure import EraseReceipt
from langmem_plus.errors import ConfigError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.steps import Steps, arun_steps, run_steps
from langmem_plus.services import Services
from langmem_plus.telemetry import audit

if TYPE_CHECKING:
    from langmem_plus.store import MarkdownStore
    from langmem_plus.store.markdown.archive import ArchiveReport

T = TypeVar("T")


class OwnerCalls:
    """The part of `MemoryClient` that is the owner's."""

    store: BaseStore
    _services: Services

    def pin(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Keep a record: no model replaces it, and it is never evicted.

        Args:
            id: the record's id, or a beginning of it that no other record has.
            user_id: whose memory.
            space: which part of it; the user's ``global`` one is looked in, too.

        Raises:
            NotFoundError: there is no such record, or several begin so, or it is deleted.
            InvalidValueError: the id is no text.
        """
        return self._do(pin_steps(self._services, Scope(user_id, space), check_id(id), pinned=True))

    async def apin(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Keep a record, as `pin`."""
        return await self._ado(pin_steps(self._services, Scope(user_id, space), check_id(id), pinned=True))

    def unpin(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Let a record be replaced and evicted again; the arguments are those of `pin`."""
        return self._do(pin_steps(self._services, Scope(user_id, space), check_id(id), pinned=False))

    async def aunpin(self, id: str, *, user_id: str, space: str = "default") -> MemoryRecord:
        """Let a record go again, as `unpin`."""
        return await self._ado(pin_steps(self._services, Scope(user_id, space), check_id(id), pinned=False))

    def forget(self, id: str, *, user_id: str, space: str = "default", reason: str = FORGOT) -> MemoryRecord:
        """Delete a record softly: a tombstone with the reason stays. The turns that say it are kept, and withheld from
        recall; summaries lose it. `erase` is for good.

        Args:
            id: the record's id, or a beginning of it that no other record has.
            user_id: whose memory.
            space: which part of it; the user's ``global`` one is looked in, too.
            reason: kept in the tombstone's metadata.

        Returns:
            The tombstone.

        Raises:
            NotFoundError: there is no such record, or several begin so.
        """
        return self._do(forget_steps(self._services, Scope(user_id, space), check_id(id), reason))

    async def aforget(self, id: str, *, user_id: str, space: str = "default", reason: str = FORGOT) -> MemoryRecord:
        """Delete a record softly, as `forget`."""
        return await self._ado(forget_steps(self._services, Scope(user_id, space), check_id(id), reason))

    def clear_conversation(self, thread_id: str, *, user_id: str, space: str = "default") -> int:
        """Delete softly what was said in a conversation, and its summary; the facts that are known from it stay, and so
        do pinned messages and its archive, which ``archive_conversations`` makes, or brings up to date, first. `forget`
        or `erase` of an id removes these, too.

        Args:
            thread_id: the conversation.
            user_id: whose memory.
            space: which part of it.

        Returns:
            How many records were deleted now: the messages, and the summary where there was one. Pinned ones aren't
            counted; the audit trail names their number.

        Raises:
            ConflictError: others kept rewriting the conversation while it was archived; nothing was deleted.
        """
        return len(self._do(clear_steps(self._services, Scope(user_id, space), thread_id)))

    async def aclear_conversation(self, thread_id: str, *, user_id: str, space: str = "default") -> int:
        """Delete a conversation softly, as `clear_conversation`."""
        return len(await self._ado(clear_steps(self._services, Scope(user_id, space), thread_id)))

    def erase(
        self, *, user_id: str, space: str | None = None, thread_id: str | None = None, id: str | None = None
    ) -> EraseReceipt:
        """Erase for good: one record, a conversation, a space, or, with nothing but ``user_id``, all of a user.

        With a **record** go its earlier versions, the turns that it was drawn from or that say it, and the replies to
        them; other facts that were drawn from those turns stay. With a **conversation** go the facts that nothing else
        stands for. Summaries are made anew without it. Over a `MarkdownStore`, nothing is left in files, tombstones,
        index, vectors or journal; other stores delete their items.

        Args:
            user_id: whose memory.
            space: which part of it; for a record or a conversation, None is ``default``.
            thread_id: the conversation.
            id: the record's id, or a beginning of it that no other record has.

        Returns:
            What was asked, where it looked, what it removed, and what it could not reach.

        Raises:
            NotFoundError: there is no such record.
            InvalidValueError: a record and a conversation at once.
            StoreError: a file can't be written; nothing was erased.
        """
        return self._do(
            erase_steps(self._services, Target(user_id, space, thread_id, id if id is None else check_id(id)))
        )

    async def aerase(
        self, *, user_id: str, space: str | None = None, thread_id: str | None = None, id: str | None = None
    ) -> EraseReceipt:
        """Erase for good, as `erase`."""
        return await self._ado(
            erase_steps(self._services, Target(user_id, space, thread_id, id if id is None else check_id(id)))
        )

    def export_user(self, path: str | os.PathLike[str], *, user_id: str) -> ArchiveReport:
        """Write all of a user's memory into one archive: a zip of their Markdown files, of all spaces, tombstones too,
        and a manifest with their hashes.

        Args:
            path: the archive; one that is there is replaced.
            user_id: whose memory.

        Returns:
            How many files went in, and which were left out, since they can't be read or say that they are another's.

        Raises:
            ConfigError: the store keeps no files.
            StoreError: the archive can't be written.
        """
        scope = Scope(user_id)
        report = self._files().export(scope.namespace[:2], path)
        audit("export", user_id=scope.user_id, records=report.files)
        return report

    async def aexport_user(self, path: str | os.PathLike[str], *, user_id: str) -> ArchiveReport:
        """Write an archive, as `export_user`, in a thread."""
        return await asyncio.to_thread(self.export_user, path, user_id=user_id)

    def import_user(self, path: str | os.PathLike[str], *, user_id: str | None = None) -> ArchiveReport:
        """Take in an archive. All of it is checked before anything is written: names and sizes, hashes, whose it is.

        A memory that is here already stays where it says the same or is newer, and is replaced where the archive's is
        newer; what was deleted here later stays deleted. What was erased comes back, since nothing of it is left here.

        Args:
            path: the archive.
            user_id: who it has to belong to; None for whoever it names.

        Returns:
            How many files were written, were here already, or are newer here.

        Raises:
            ConfigError: the store keeps no files.
            ImportFileError: something in the archive is wrong; nothing was written.
        """
        from langmem_plus.store.markdown.archive import user_of

        store = self._files()
        user_id = user_of(Path(path)) if user_id is None else user_id
        scope = Scope(user_id)
        report = store.restore(scope.namespace[:2], path)
        audit("import", user_id=scope.user_id, records=report.written)
        return report

    async def aimport_user(self, path: str | os.PathLike[str], *, user_id: str | None = None) -> ArchiveReport:
        """Take in an archive, as `import_user`, in a thread."""
        return await asyncio.to_thread(self.import_user, path, user_id=user_id)

    def _files(self) -> MarkdownStore:
        from langmem_plus.store import MarkdownStore

        if not isinstance(self.store, MarkdownStore):
            raise ConfigError(f"a {type(self.store).__name__} keeps no files to export or import: use a MarkdownStore.")
        return self.store

    def _do(self, steps: Steps[T]) -> T:
        return run_steps(steps, self._services, self.store)

    async def _ado(self, steps: Steps[T]) -> T:
        return await arun_steps(steps, self._services, self.store)
