"""The words of an erasure: what is to go, what stays without it, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, Field

from langmem_plus import display

Namespace: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Erasure:
    """What an erasure does to a namespace.

    Attributes:
        keys: the items that go.
        rewritten: the items that stay without what they had of them, with their new values.
    """

    keys: frozenset[str] = frozenset()
    rewritten: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


Held: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Everything that a namespace holds, deleted items too: keys and values; a key may occur more than once."""
Choose: TypeAlias = Callable[[Held], Erasure]
"""Says what goes out of all that is there; called while nobody else can write, perhaps more than once."""


class EraseReceipt(BaseModel):
    """What an erasure did. It holds ids and paths, and nothing of what was erased.

    Attributes:
        asked: what was to be erased: ``user_id``, ``space``, ``id`` or ``thread_id``.
        looked: the places that were searched.
        removed: how much went, by kind: a record's role, ``item`` for other programs' values, ``file``, ``vector``, …
        rewritten: how much stayed without what it had of the erased, by kind.
        paths: the files that went.
        unreached: what could not be reached, each with what to do about it.
    """

    asked: dict[str, str] = Field(default_factory=dict)
    looked: list[str] = Field(default_factory=list)
    removed: dict[str, int] = Field(default_factory=dict)
    rewritten: dict[str, int] = Field(default_factory=dict)
    paths: list[str] = Field(default_factory=list)
    unreached: list[str] = Field(default_factory=list)

    def count(self, kind: str, number: int = 1) -> None:
        """Note that so many of a kind went."""
        if number:
            self.removed[kind] = self.removed.get(kind, 0) + number

    def look(self, place: str) -> None:
        """Note that a place was searched."""
        if place not in self.looked:
            self.looked.append(place)

    def miss(self, what: str) -> None:
        """Note what can't be reached."""
        if what not in self.unreached:
            self.unreached.append(what)

    def _repr_html_(self) -> str:
        return display.receipt_html(self.model_dump(mode="json"))


@runtime_checkable
class SupportsErasure(Protocol):
    """A store that can erase for good, down to the bytes of its files."""

    def erase(self, namespace: Namespace, choose: Choose | None = None) -> EraseReceipt:
        """Erase what is chosen of a namespace; without a choice, everything at and below it."""
        ...


def kind_of(value: Mapping[str, Any]) -> str:
    """What a value counts as in a receipt: its role, where it is a record."""
    role = value.get("role")
    return role if isinstance(role, str) and {"id", "user_id", "status"} <= value.keys() else "item"
