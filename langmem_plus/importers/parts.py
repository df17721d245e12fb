"""What every reader shares: a message, a conversation, where in a file something stands, and how times are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from langmem_plus.errors import ImportFileError
from langmem_plus.records import parse_epoch, parse_time
from langmem_plus.shown import shown

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class ImportedMessage(TypedDict):
    """One message, as `MemoryClient.add` takes it; what the file doesn't say is None."""

    role: str
    content: str
    name: str | None
    id: str | None
    created_at: dt.datetime | None


@dataclass(frozen=True)
class Conversation:
    """One thread of a file.

    Args:
        thread_id: the file's own name for it, or one made of the file's name and the conversation's number.
        messages: in order; times are aware UTC.
        sample_id: which of several independent groups of threads it belongs to (a LoCoMo sample, i.e. two people), so
            that an importer can give each a user or a space of its own; None where a file has no such groups.
    """

    thread_id: str
    messages: list[ImportedMessage]
    sample_id: str | None = None


@dataclass(frozen=True)
class Place:
    """Where in a file something stands, for messages that help."""

    path: Path
    spot: str = ""

    def __truediv__(self, spot: str) -> Place:
        return Place(self.path, f"{self.spot}{'.' if self.spot and not spot.startswith('[') else ''}{spot}")

    def error(self, problem: str) -> ImportFileError:
        """The error to raise here."""
        return ImportFileError(f"{self.path}: {self.spot + ': ' if self.spot else ''}{problem}.")


def read_label(data: Mapping[str, Any], field: str, place: Place) -> str | None:
    """A name or an id: a text, or a number as its text."""
    value = data.get(field)
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise (place / field).error(f"expected a text or a number, found {shown(value)}")
    return str(value)


def read_time(value: Any, place: Place) -> dt.datetime:
    """A time as people and programs write it: ISO 8601, or seconds or milliseconds since 1970."""
    try:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        time = parse_epoch(value) if number else parse_time(value)
    except ValueError as error:
        raise place.error(f"{shown(value)} isn't a time: {error}") from error
    if not isinstance(time, dt.datetime):
        raise place.error(f"{shown(value)} isn't a time; write it like 2023-05-08T13:56:00Z")
    return time
