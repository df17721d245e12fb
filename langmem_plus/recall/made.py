"""Hits and choices made of parts that are known to be right: nothing is validated again, of which a recall's time was
mostly made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from langmem_plus.records import Choice, MemoryHit, MemoryRecord

ModelT = TypeVar("ModelT", bound=BaseModel)

_new, _set = object.__new__, object.__setattr__
_HIT = ("record", "namespace", "scores", "vector", "bits", "former")
_DOCUMENT_CHARACTERS = 200
_CHOICE = ("id", "text", "kept", "reason", "scores")


def assembled(kind: type[ModelT], fields: dict[str, Any], given: Collection[str]) -> ModelT:
    """A model of fields that are right as they are; all of them, those with defaults too.

    Args:
        kind: a model without private attributes or extra fields.
        fields: its fields; the model holds this very dictionary.
        given: those that count as set. Source: what pydantic's ``model_construct`` does, without its search for
            aliases and defaults.
    """
    made = _new(kind)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", set(given))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def make_hit(
    record: MemoryRecord,
    namespace: tuple[str, ...],
    scores: dict[str, float],
    vector: Any = None,
    bits: Any = None,
    former: tuple[MemoryHit, ...] = (),
) -> MemoryHit:
    """A hit; it holds these very scores."""
    values = (record, namespace, scores, vector, bits, former)
    return assembled(MemoryHit, dict(zip(_HIT, values, strict=True)), _HIT)


def with_former(hit: MemoryHit, former: tuple[MemoryHit, ...]) -> MemoryHit:
    """The hit with what it replaced."""
    return hit.model_copy(update={"former": former})


def with_scores(hit: MemoryHit, scores: dict[str, float]) -> MemoryHit:
    """The hit with other scores; it holds these very ones."""
    if type(hit) is not MemoryHit:
        return hit.model_copy(update={"scores": scores})
    return make_hit(hit.record, hit.namespace, scores, hit.vector, hit.bits, hit.former)


def told(record: MemoryRecord) -> str:
    """What a report says of a record: its text; of a piece of a document its beginning, for a recall sees dozens."""
    long = record.role == "document" and len(record.text) > _DOCUMENT_CHARACTERS
    return f"{record.text[:_DOCUMENT_CHARACTERS]}…" if long else record.text


def make_choice(record: MemoryRecord, reason: str, *, kept: bool, scores: Mapping[str, float] | None = None) -> Choice:
    """Why a record was chosen or dropped; the scores are copied."""
    fields = {"id": record.id, "text": told(record), "kept": kept, "reason": reason, "scores": dict(scores or {})}
    return assembled(Choice, fields, _CHOICE)
