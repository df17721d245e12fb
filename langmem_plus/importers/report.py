"""What an import did, entry by entry where something was left out or came over differently."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Remark(BaseModel):
    """One entry of a source, and why it was left out or came over differently.

    ``place`` says where it stands: a file's place, or a namespace and key. ``id`` is the source's own.
    """

    place: str
    id: str | None = None
    reason: str


class ImportReport(BaseModel):
    """Counts of an import. Every entry that was read is counted once: ``read`` is the sum of ``stored``, ``updated``,
    ``known``, ``repeated``, ``retired`` and the number of ``skipped``.

    Args:
        read: entries in the source.
        stored: new records.
        updated: records of an earlier import, brought to what the source says now.
        known: nothing to do: an earlier import stored the same.
        repeated: another active record says the same words; it gained their source, tags and metadata.
        retired: forgotten, or replaced by something newer, since an earlier import; they stay so.
        skipped: not taken over, each with its reason.
        noted: taken over, but not quite as they were, each with what differs.
        ignored: what isn't a memory and was passed over, such as ``relations``, by kind.
        users: entries that were taken over or known, by the user whose memory they are.
        warnings: what to know about the whole.
        conversations: conversations of the file, where it holds messages; then ``read`` counts messages, and ``known``
            those that were there already.
        dry_run: whether nothing was written.
    """

    read: int = 0
    stored: int = 0
    updated: int = 0
    known: int = 0
    repeated: int = 0
    retired: int = 0
    skipped: list[Remark] = Field(default_factory=list)
    noted: list[Remark] = Field(default_factory=list)
    ignored: dict[str, int] = Field(default_factory=dict)
    users: dict[str, int] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    conversations: int = 0
    dry_run: bool = False
