"""What a person answers when a graph asks which decisions are to be carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langmem_plus.errors import InvalidValueError
from langmem_plus.remember.review import REJECTED, WAITS
from langmem_plus.shown import shown

APPROVED = "approved"
HOW = "True approves all, False rejects all, {'approve': [ids], 'reject': [ids]} some; what isn't named stays pending"
_ALL = {"approve": True, "approved": True, "yes": True, "reject": False, "rejected": False, "no": False}


@dataclass(frozen=True)
class Answer:
    """What is approved and what is rejected, by id; what is named in neither waits as a pending record."""

    approved: frozenset[str]
    rejected: frozenset[str] = frozenset()

    def of(self, key: str) -> str:
        """The word for one thing that waits."""
        return APPROVED if key in self.approved else REJECTED if key in self.rejected else WAITS


def read_answer(value: Any, keys: Sequence[str]) -> Answer:
    """Read what a graph was resumed with.

    Args:
        value: True or False for everything, or ``{"approve": [ids], "reject": [ids]}``; an id may be the beginning of
            one that no other has, and a list may be True for all that the other doesn't name.
        keys: the ids of what waits.

    Raises:
        InvalidValueError: it can't be read; the message says what to answer.
    """
    if isinstance(value, str):
        value = _ALL.get(value.strip().casefold(), value)
    if isinstance(value, bool):
        return Answer(frozenset(keys)) if value else Answer(frozenset(), frozenset(keys))
    if not isinstance(value, Mapping) or not value or not value.keys() <= {"approve", "reject"}:
        raise InvalidValueError(f"the answer {shown(value)} can't be read: {HOW}.")
    approve, reject = value.get("approve") or (), value.get("reject") or ()
    if approve is True and reject is True:
        raise InvalidValueError(f"the answer approves and rejects everything: {HOW}.")
    approved, rejected = (frozenset[str]() if each is True else _read(each, keys) for each in (approve, reject))
    approved = frozenset(keys) - rejected if approve is True else approved
    rejected = frozenset(keys) - approved if reject is True else rejected
    if both := approved & rejected:
        raise InvalidValueError(f"the answer approves and rejects {', '.join(sorted(both))}: {HOW}.")
    return Answer(approved, rejected)


def _read(ids: Any, keys: Sequence[str]) -> frozenset[str]:
    given = [ids] if isinstance(ids, str) else ids
    if not isinstance(given, list | tuple | set | frozenset):
        raise InvalidValueError(f"{shown(ids)} is no list of ids: {HOW}.")
    found: set[str] = set()
    for id in given:
        meant = [key for key in keys if isinstance(id, str) and id and key.startswith(id)]
        meant = [key for key in meant if key == id] or meant
        if len(meant) != 1:
            raise InvalidValueError(f"{shown(id)} names {len(meant)} of what waits ({', '.join(keys)}): {HOW}.")
        found.update(meant)
    return frozenset(found)
