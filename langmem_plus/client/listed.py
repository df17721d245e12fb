"""What the client's calls give: lists, which a notebook shows as tables."""

from __future__ import annotations

from typing import Self, SupportsIndex, TypeVar, overload

from langmem_plus import display
from langmem_plus.records import MemoryHit, MemoryRecord

Entry = TypeVar("Entry")


class _Listed(list[Entry]):
    """A list whose slices are such lists, too."""

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Entry: ...

    @overload
    def __getitem__(self, place: slice, /) -> Self: ...

    def __getitem__(self, place: SupportsIndex | slice, /) -> Entry | Self:
        found = super().__getitem__(place)
        return type(self)(found) if isinstance(place, slice) else found  # type: ignore[arg-type,return-value] # of a slice it is a list


class Records(_Listed[MemoryRecord]):
    """Records in an order."""

    def _repr_html_(self) -> str:
        return display.records_html([record.to_value() for record in self])


class Hits(_Listed[MemoryHit]):
    """What a search found, best first."""

    def _repr_html_(self) -> str:
        return display.hits_html([hit.model_dump(mode="json") for hit in self])
