"""Moving in: what langmem and mem0 knew, and conversations in files, as calls of the client; each has an async twin."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langgraph.store.base import BaseStore

from langmem_plus.errors import ConfigError, InvalidValueError, MissingIdentityError
from langmem_plus.importers import (
    NAMESPACE,
    Conversation,
    Export,
    ImportReport,
    Remark,
    Template,
    Whose,
    read_file,
    read_memories,
    read_steps,
    store_steps,
)
from langmem_plus.labels import read_space, read_user
from langmem_plus.records import TURN_ROLES
from langmem_plus.remember.steps import arun_steps, run_steps
from langmem_plus.services import Services
from langmem_plus.shown import shown

if TYPE_CHECKING:
    from langmem_plus.client.memory import MemoryClient

File = str | os.PathLike[str] | Export
Progress = Callable[[int], None]


class ImportCalls:
    """The part of `MemoryClient` that takes in what other systems knew."""

    store: BaseStore
    _services: Services

    def import_store(
        self,
        source: BaseStore,
        *,
        namespace: str | Sequence[str] = NAMESPACE,
        user_id: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take in what langmem wrote into any LangGraph store; the source is only read, and may be this client's own.

        Each memory becomes a fact with its own times, its key as source id, and its other fields in the metadata. The
        same import twice adds nothing; a memory that changed in the source is brought up to date; one that was deleted
        in the source since stays here; what was forgotten here stays forgotten.

        Args:
            source: the store that langmem's tools or managers were given.
            namespace: the template that they were given. ``{user_id}`` or ``{langgraph_user_id}`` names whose memory
                it is, ``{space}`` which part, ``{thread_id}`` the conversation; other fields are kept in the metadata.
            user_id: whose memory is taken, or, where the template has no user, whose it becomes; None takes that of
                every user of the template.
            space: where it goes; None takes the template's ``{space}``, else ``default``.
            dry_run: only tell what would happen.
            progress: called with the number of memories that are done, after each batch.

        Raises:
            ConfigError: the source is no store, or the template can't be read.
            MissingIdentityError: nobody says whose memory it is.
        """
        reading = read_steps(Template.of(namespace), user_id, _room(space), here=source is self.store)
        found = run_steps(reading, self._services, _check(source))
        steps = store_steps(self._services, found.memories, found.report, dry_run=dry_run, progress=progress)
        return run_steps(steps, self._services, self.store)

    async def aimport_store(
        self,
        source: BaseStore,
        *,
        namespace: str | Sequence[str] = NAMESPACE,
        user_id: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take in what langmem wrote, as `import_store`."""
        reading = read_steps(Template.of(namespace), user_id, _room(space), here=source is self.store)
        found = await arun_steps(reading, self._services, _check(source))
        steps = store_steps(self._services, found.memories, found.report, dry_run=dry_run, progress=progress)
        return await arun_steps(steps, self._services, self.store)

    def import_file(
        self,
        file: File,
        *,
        user_id: str | None,
        from_user: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take in a file: mem0's memories, as facts with their own times, or conversations, as `add` takes them.

        The form is told by the file; see `langmem_plus.importers`. The same import twice adds nothing, and a memory
        that changed in the source is brought up to date.

        Args:
            file: its path, or what `importers.read_file` read.
            user_id: whose memory it becomes; of mem0's memories, theirs and those that name nobody are taken. None
                gives each to the user whom it names. Conversations need it.
            from_user: what the file calls the user, where it is another name.
            space: where it goes; None is ``default``, and for conversations the sample's name, where there is one.
            dry_run: only tell what would happen; for memories alone.
            progress: called with the number of memories or messages that are done, after each batch.

        Raises:
            ImportFileError: the file can't be read, or holds nothing of this user; the message says where.
            MissingIdentityError: conversations are nobody's.
        """
        found = file if isinstance(file, Export) else read_file(file)
        if not isinstance(found, Export):
            return self._add_all(found, _user(user_id, from_user, dry_run), space, progress)
        ready = read_memories(found, _whose(user_id, from_user, space, self._services))
        steps = store_steps(self._services, ready.memories, ready.report, dry_run=dry_run, progress=progress)
        return run_steps(steps, self._services, self.store)

    async def aimport_file(
        self,
        file: File,
        *,
        user_id: str | None,
        from_user: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take in a file, as `import_file`."""
        found = file if isinstance(file, Export) else await asyncio.to_thread(read_file, file)
        if not isinstance(found, Export):
            return await self._aadd_all(found, _user(user_id, from_user, dry_run), space, progress)
        ready = read_memories(found, _whose(user_id, from_user, space, self._services))
        steps = store_steps(self._services, ready.memories, ready.report, dry_run=dry_run, progress=progress)
        return await arun_steps(steps, self._services, self.store)

    def _add_all(
        self, found: Sequence[Conversation], user_id: str, space: str | None, progress: Progress | None
    ) -> ImportReport:
        client, report = cast("MemoryClient", self), ImportReport()
        for each in found:
            stored = client.add(each.messages, **_target(each, user_id, space))
            _count(report, each, len(stored), user_id, progress)
        return report

    async def _aadd_all(
        self, found: Sequence[Conversation], user_id: str, space: str | None, progress: Progress | None
    ) -> ImportReport:
        client, report = cast("MemoryClient", self), ImportReport()
        for each in found:
            stored = await client.aadd(each.messages, **_target(each, user_id, space))
            _count(report, each, len(stored), user_id, progress)
        return report


def _target(conversation: Conversation, user_id: str, space: str | None) -> dict[str, Any]:
    room = space or conversation.sample_id or "default"
    return {"user_id": user_id, "space": room, "thread_id": conversation.thread_id}


def _count(
    report: ImportReport, conversation: Conversation, stored: int, user_id: str, progress: Progress | None
) -> None:
    messages = conversation.messages
    for number, message in enumerate(messages):
        reason = f"what a {message['role']} says isn't kept" if message["role"] not in TURN_ROLES else "it has no text"
        if message["role"] not in TURN_ROLES or not message["content"].strip():
            place = f"{conversation.thread_id}: messages[{number}]"
            report.skipped.append(Remark(place=place, id=message["id"], reason=reason))
    report.conversations += 1
    report.read += len(messages)
    report.stored += stored
    report.known = report.read - report.stored - len(report.skipped)
    report.users[user_id] = report.stored + report.known
    if progress is not None:
        progress(len(messages))


def _user(user_id: str | None, from_user: str | None, dry_run: bool) -> str:
    if user_id is None:
        raise MissingIdentityError("a file of conversations doesn't say whose memory they are: pass user_id=….")
    if dry_run or from_user is not None:
        what = "dry_run" if dry_run else "from_user"
        raise InvalidValueError(f"{what} is for files of memories, and this one holds conversations: leave it out.")
    return user_id


def _whose(user_id: str | None, from_user: str | None, space: str | None, services: Services) -> Whose:
    owner = None if user_id is None else read_user(user_id)
    return Whose(owner, from_user, _room(space) or "default", services.clock())


def _room(space: str | None) -> str | None:
    return None if space is None else read_space(space)


def _check(source: BaseStore) -> BaseStore:
    if not isinstance(source, BaseStore):
        raise ConfigError(
            f"the source is {shown(source)}: pass the LangGraph store that langmem wrote to, or a file to import_file."
        )
    return source
